"""A job as a reader sees it, and a reader that reads only what is new. Changes nothing on disk."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import Any

from explorer.jobs import events, locks
from explorer.jobs.events import ALIVE, State, Summary
from explorer.jobs.paths import JobPaths

Signature = tuple[int, int, int]


@dataclass(frozen=True)
class Job:
    """A job as it is now. Times are seconds UTC; None: not known yet.

    Args:
        id: Its folder's name, which is the finished encoder's name too.
        folder: Where it is.
        state: Where it stands.
        reason: Why it failed or is lost, or what is odd; empty otherwise.
        config: What was asked for; empty if config.json cannot be read.
        device: "cpu", "cuda:0", "cuda:0,cuda:1", "mps" or "auto".
        created: When it was first asked for.
        queued: When it was last asked for (first, or to resume).
        started: When its worker first began to work.
        leg: When its worker last began to work; None while it waits for its turn.
        worked: Seconds worked before that, by workers that were stopped, failed or were lost.
        ended: When it finished, failed, was stopped or last said something.
        step: Steps done.
        steps: Steps in all.
        loss: Of the newest step told of.
        dev_spearman: Best on dev so far, in [-1, 1]; of a finished job its encoder's, measured as it was saved.
        eta_seconds: Time left.
        sentences_per_second: Speed of the newest steps.
        mean_sentences_per_second: Of all steps since its worker, or its stage, began; evaluations left out.
        memory_mb: Memory of the worker, on its device.
        stage: Of a job of several stages, the one it is in.
        checkpoint: Step of its newest checkpoint.
        warnings: What its detectors said.
        fetched: Megabytes come from the hub, and in all, while it downloads; None where it does not.
        scores: Of the finished encoder.
        has_encoder: Whether a finished encoder lies in it.
    """

    id: str
    folder: Path
    state: State
    reason: str
    config: Mapping[str, Any]
    device: str
    created: float | None
    queued: float | None
    started: float | None
    leg: float | None
    worked: float
    ended: float | None
    step: int | None
    steps: int | None
    loss: float | None
    dev_spearman: float | None
    eta_seconds: float | None
    sentences_per_second: float | None
    mean_sentences_per_second: float | None
    memory_mb: float | None
    stage: str | None
    checkpoint: int | None
    warnings: tuple[str, ...]
    fetched: tuple[float, float] | None
    scores: Mapping[str, Any]
    has_encoder: bool

    @property
    def alive(self) -> bool:
        """Whether it waits or works."""
        return self.state in ALIVE

    def took(self, now: float) -> float | None:
        """Returns the seconds it has worked until `now`, or worked in all, waits left out; None if it has not begun."""
        if self.started is None:
            return None
        return self.worked + (0.0 if self.leg is None else max(0.0, (self.ended or now) - self.leg))


class JobReader:
    """Reads jobs from a folder of job folders. Safe to share between threads."""

    def __init__(self, runs_folder: Path) -> None:
        self._runs_folder = runs_folder
        self._known: dict[str, _Known] = {}
        self._lock = threading.Lock()

    def read(self, name: str) -> Job | None:
        """Returns the job in the folder of that name; None if the folder holds none."""
        paths = JobPaths(self._runs_folder / name)
        with self._lock:
            known = self._known.setdefault(name, _Known())
            # Asked for before the events are read: a worker tells of its end before it lets go of its lock.
            held = locks.is_held(paths.lock)
            if not known.refresh(paths):
                del self._known[name]
                return None
            summary, config = known.summary, known.config
        return _job(paths, summary, config, held)

    def forget_all_but(self, names: set[str]) -> None:
        """Drops what is kept of jobs that are gone."""
        with self._lock:
            for gone in self._known.keys() - names:
                del self._known[gone]


@dataclass
class _Known:
    """What was read of a job so far; `config` is None while config.json cannot be read."""

    offset: int = 0
    events_signature: Signature | None = None
    summary: Summary = Summary()
    config_signature: Signature | None = None
    config: Mapping[str, Any] | None = None

    def refresh(self, paths: JobPaths) -> bool:
        """Reads what was added since; returns whether there is a job at all, which is to say a diary."""
        now = _signature(paths.events)
        if now is None:
            return False
        if now != self.events_signature:
            replaced = self.events_signature is not None and self.events_signature[0] != now[0]
            if replaced or now[1] < self.offset:
                self.offset, self.summary = 0, Summary()
            new, self.offset = events.read(paths.folder, self.offset)
            self.summary = events.summarize(new, self.summary)
            self.events_signature = now
        signature = _signature(paths.config)
        if signature != self.config_signature or signature is None:
            self.config_signature = signature
            self.config = None if signature is None else _read_config(paths.config)
        return True


def _signature(path: Path) -> Signature | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    if not S_ISREG(stat.st_mode):  # opening a pipe would wait for ever
        return None
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def _read_config(path: Path) -> Mapping[str, Any] | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _dev_score(summary: Summary) -> float | None:
    """The saved encoder's, which is rounded to half precision and measured exactly, or else the best that was logged."""
    saved = summary.scores.get("dev_spearman")
    return saved if isinstance(saved, int | float) else summary.dev_spearman


def _job(paths: JobPaths, summary: Summary, config: Mapping[str, Any] | None, held: bool) -> Job:
    state, reason = events.judge(summary, held, time.time())
    latest = summary.latest
    return Job(
        id=paths.folder.name,
        folder=paths.folder,
        state=state,
        reason=reason or ("Its config.json cannot be read." if config is None else ""),
        config=config or {},
        device=summary.device or str((config or {}).get("device", "")),
        created=summary.created,
        queued=summary.queued,
        started=summary.started,
        leg=summary.leg,
        worked=summary.worked,
        ended=None if state in ALIVE else (summary.ended or summary.last),
        step=latest.get("step"),
        steps=latest.get("steps"),
        loss=latest.get("loss"),
        dev_spearman=_dev_score(summary),
        eta_seconds=latest.get("eta_seconds") if state is State.RUNNING else None,
        sentences_per_second=latest.get("sentences_per_second"),
        mean_sentences_per_second=latest.get("mean_sentences_per_second"),
        memory_mb=latest.get("memory_mb"),
        stage=latest.get("stage"),
        checkpoint=summary.checkpoint,
        warnings=summary.warnings,
        fetched=summary.fetched,
        scores=summary.scores,
        has_encoder=(paths.encoder / "modules.json").is_file(),
    )
