"""The diary of a job: json lines added to events.jsonl, and the job's state as a function of them. Starts nothing.

A line is {"time": seconds UTC, "kind": ..., facts}. Readers pass over kinds they do not know and lines they cannot read.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import reduce
from itertools import zip_longest
from pathlib import Path
from typing import Any

from explorer.jobs.paths import JobPaths

Event = dict[str, Any]
QUIET_SECONDS = 600
_FACTS = (
    "step",
    "steps",
    "epoch",
    "loss",
    "learning_rate",
    "sentences_per_second",
    "mean_sentences_per_second",
    "memory_mb",
    "eta_seconds",
    "stage",
)


class State(StrEnum):
    """Where a job stands. The first six and stopping are alive; the others have ended."""

    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    SAVING = "saving"
    STOPPING = "stopping"
    FINISHED = "finished"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"


ALIVE = frozenset({State.QUEUED, State.STARTING, State.RUNNING, State.SAVING, State.STOPPING})
# What an event may say of the end.
ENDED = frozenset({State.FINISHED, State.FAILED, State.STOPPED})
# What can go on from its last checkpoint.
RESUMABLE = frozenset({State.FAILED, State.STOPPED, State.LOST})
_BEGUN = {
    "queued": State.QUEUED,
    "started": State.STARTING,
    "step": State.RUNNING,
    "dev": State.RUNNING,
    "checkpoint": State.RUNNING,
    "saving": State.SAVING,
    "stopping": State.STOPPING,
    "finished": State.FINISHED,
    "failed": State.FAILED,
    "stopped": State.STOPPED,
}
# What a damaged diary may hold in their place would break everyone's list.
_WHOLE = frozenset({"step", "steps"})
_NUMBERS = frozenset(_FACTS) - {"stage"} | {"spearman", "pearson", "cosine_spread", "megabytes", "of"}
_LARGEST, _LAST_MOMENT = 1e15, 1e11


@dataclass(frozen=True)
class Summary:
    """What a job's events come to, without knowing whether its worker lives. Times are seconds UTC; None: not yet.

    Args:
        state: The last state an event told of.
        reason: Why it failed; empty otherwise.
        device: What it trains on.
        created: When it was first asked for.
        queued: When it was last asked for; decides its place in the queue.
        started: When its worker first began.
        leg: When its worker last began; None while it waits for its turn.
        worked: Seconds that its earlier workers worked, until they ended or were last heard of.
        ended: When it finished, failed or was stopped.
        last: Time of the newest event.
        latest: The facts of the newest step: step, steps, epoch, loss, learning_rate, sentences_per_second,
            mean_sentences_per_second, memory_mb, eta_seconds, stage.
        checkpoint: Step of the newest checkpoint.
        dev_spearman: Best on dev so far, in [-1, 1]; of the newest stage. What it started from does not count.
        dev_stage: The stage that figure is of.
        scores: Of the finished encoder, as its worker measured them.
        warnings: What the detectors said, in order.
        fetched: Megabytes come from the hub, and in all, while it downloads what it starts from; None where it does not.
    """

    state: State | None = None
    reason: str = ""
    device: str = ""
    created: float | None = None
    queued: float | None = None
    started: float | None = None
    leg: float | None = None
    worked: float = 0.0
    ended: float | None = None
    last: float | None = None
    latest: Mapping[str, Any] = field(default_factory=dict)
    checkpoint: int | None = None
    dev_spearman: float | None = None
    dev_stage: str | None = None
    scores: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    fetched: tuple[float, float] | None = None


def append(folder: Path, kind: str, **facts: Any) -> None:
    """Adds one event in one write; numbers that are not finite become null.

    Raises:
        OSError: It cannot be written, as on a full disk.
    """
    add_line(JobPaths(folder).events, to_line(kind, facts))


def to_line(kind: str, facts: Mapping[str, Any]) -> bytes:
    """Returns an event of now as it stands in the file."""
    event = {"time": round(time.time(), 3), "kind": kind, **{key: _plain(value) for key, value in facts.items()}}
    return json.dumps(event, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def add_line(path: Path, line: bytes) -> None:
    """Adds a line at the end of a file; what a broken write left there before gets a line of its own.

    Raises:
        OSError: It cannot be written whole.
    """
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        size = os.fstat(file).st_size
        if size and os.pread(file, 1, size - 1) != b"\n":
            line = b"\n" + line
        while line:
            line = line[os.write(file, line) :]
    finally:
        os.close(file)


def read(folder: Path, offset: int = 0) -> tuple[list[Event], int]:
    """Returns the events from `offset` bytes on, and the offset to go on from.

    A last line that is still being written is left for the next time; a file that is gone has no events.
    """
    try:
        with JobPaths(folder).events.open("rb") as file:
            file.seek(offset)
            content = file.read()
    except OSError:
        return [], offset
    whole = content[: content.rfind(b"\n") + 1]
    return [event for line in whole.splitlines() if (event := _parse(line)) is not None], offset + len(whole)


def summarize(events: Iterable[Event], before: Summary | None = None) -> Summary:
    """Returns what the events come to, going on from an earlier summary."""
    told = list(events)
    # Of steps in a row the last says it all; a night's diary is mostly steps.
    kept = [
        event
        for event, following in zip_longest(told, told[1:])
        if following is None or not (event["kind"] == following["kind"] == "step")
    ]
    return reduce(_add, kept, before or Summary())


def judge(summary: Summary, lock_held: bool, now: float) -> tuple[State, str]:
    """Returns a job's state and, where there is one, the reason for it.

    Args:
        summary: What its events come to.
        lock_held: Whether its worker lives; asked for before the events were read.
        now: Seconds UTC.
    """
    state = summary.state or State.QUEUED
    if state in ENDED:
        return state, summary.reason
    if not lock_held and state is State.STOPPING:
        return State.STOPPED, ""
    if not lock_held:
        known = summary.checkpoint is not None
        where = f"; its last checkpoint is of step {summary.checkpoint}" if known else ", before its first checkpoint"
        return State.LOST, f"Its worker process is gone without a word{where}."
    quiet = now - (summary.last or now)
    if state is not State.QUEUED and quiet > QUIET_SECONDS:
        return state, f"No news for {quiet / 60:.0f} minutes; its worker process still lives."
    return state, ""


def _add(summary: Summary, event: Event) -> Summary:
    kind, moment = event["kind"], event["time"]
    state = _BEGUN.get(kind)
    if kind == "queued":
        return _add_queued(summary, event)
    summary = replace(summary, last=moment)
    if kind == "warning":
        return replace(summary, warnings=(*summary.warnings, str(event.get("message", ""))))
    if kind == "fetching" and event.get("of"):
        return replace(summary, fetched=(float(event.get("megabytes") or 0), float(event["of"])))
    if state is None:
        return summary
    if kind == "started":
        begun = moment if summary.started is None else summary.started
        device = str(event.get("device") or summary.device)
        summary = replace(summary, started=begun, leg=moment, device=device)
    elif kind == "step":
        summary = replace(summary, latest={name: event.get(name) for name in _FACTS})
    elif kind == "checkpoint":
        summary = replace(summary, checkpoint=event.get("step", summary.checkpoint))
    elif kind == "dev":
        summary = _add_dev(summary, event)
    # A worker that was asked to stop, or that has ended, may still tell of its last step.
    if summary.state in ENDED or (summary.state is State.STOPPING and state not in ENDED):
        return summary
    if state in ENDED:
        summary = replace(summary, ended=moment, reason=str(event.get("reason", "")), scores=event.get("scores") or {})
    return replace(summary, state=state)


def _add_queued(summary: Summary, event: Event) -> Summary:
    """A job is asked for, first or once more: what it worked before is added up."""
    moment, before = event["time"], summary
    end = before.ended or before.last
    leg = 0.0 if before.leg is None or end is None else max(0.0, end - before.leg)
    return replace(
        before,
        state=State.QUEUED,
        reason="",
        device=str(event.get("device") or before.device),
        created=moment if before.created is None else before.created,
        queued=moment,
        leg=None,
        worked=before.worked + leg,
        ended=None,
        last=moment,
    )


def _add_dev(summary: Summary, event: Event) -> Summary:
    value, stage = event.get("spearman"), event.get("stage")
    # At step 0 nothing was trained yet, and nothing of it is ever saved.
    if not isinstance(value, int | float) or event.get("step") == 0:
        return summary
    best = summary.dev_spearman if stage == summary.dev_stage else None
    return replace(summary, dev_spearman=value if best is None else max(best, value), dev_stage=stage)


def _parse(line: bytes) -> Event | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or not isinstance(event.get("kind"), str):
        return None
    moment = event.get("time")
    if not isinstance(moment, int | float) or not 0 <= moment < _LAST_MOMENT:
        return None
    scores = event.get("scores")
    sound = {name: event[name] for name in event.keys() - _NUMBERS - {"scores"}}
    sound |= {name: _number(event[name], whole=name in _WHOLE) for name in event.keys() & _NUMBERS}
    if isinstance(scores, dict):
        sound["scores"] = {name: _number(value) for name, value in scores.items()}
    return sound


def _number(value: Any, *, whole: bool = False) -> Any:
    """A number as it is; anything else, which only a damaged diary holds, is None."""
    sound = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST
    return value if sound and (not whole or value == int(value)) else None


def _plain(value: Any) -> Any:
    """The value as json has it; a number of another library becomes a plain one."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, str | bool | int):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return number if math.isfinite(number) else None
