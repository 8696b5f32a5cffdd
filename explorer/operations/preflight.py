"""Looks at a run before it starts: its tables, what it would take here, and what would surprise. Trains nothing for keeps."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import pandas as pd

from explorer.data.overlap import Known, find_overlap
from explorer.data.tables import LABELS
from explorer.errors import DataError, EncoderError
from explorer.jobs.events import State
from explorer.jobs.job import Job
from explorer.jobs.manager import Jobs
from explorer.jobs.queue import share_device
from explorer.operations.jobs import local_backbone
from explorer.paths import ROOT
from explorer.training.config import TrainConfig

_TIMEOUT_SECONDS = 180.0
_POLL_SECONDS = 0.5
_KILLED = (-9, 137)
_TIGHT, _TOO_MUCH = 0.7, 0.95
_LONG_SECONDS = 3600.0
Progress = Callable[[int, int], None]
Stages = list[tuple[str, pd.DataFrame]]


class Level(StrEnum):
    """How much a finding matters: nothing to do, worth knowing, the run would fail."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True)
class Check:
    """One finding.

    Args:
        name: What was looked at, in a word or two.
        level: How much it matters.
        sentence: What was found and, unless all is well, how to mend it.
    """

    name: str
    level: Level
    sentence: str


@dataclass(frozen=True)
class Preflight:
    """Everything found.

    Args:
        checks: In the order in which they were made.
        steps: Steps of the run; None if it was not measured.
        seconds: How long it will take here; an estimate; None if it was not measured.
        memory_mb: What its largest batch needs; None if it was not measured.
        disk_mb: What it writes at most; None if it was not measured.
    """

    checks: tuple[Check, ...]
    steps: int | None = None
    seconds: float | None = None
    memory_mb: float | None = None
    disk_mb: float | None = None

    @property
    def ready(self) -> bool:
        """Whether nothing was found that would make the run fail."""
        return all(check.level is not Level.ERROR for check in self.checks)


def preflight(
    config: TrainConfig,
    *,
    runs: Path,
    test: str = "",
    measured: bool = True,
    jobs: Jobs | None = None,
    progress: Progress | None = None,
) -> Preflight:
    """Checks a run.

    Args:
        config: The run's; its output is not used.
        runs: Folder it will be written to, for its disk.
        test: Table scored at the end; empty for none.
        measured: Also do a few steps in a process of its own, for memory and time; takes from 10 seconds to a minute. None
            are done on a device that a job uses.
        jobs: Those jobs; None: of the folder `runs`.
        progress: Called with (done, in all) while a backbone is fetched, then about twice a second; may raise to end it.
    """
    checks = _table_checks(config, test)
    if any(check.level is Level.ERROR for check in checks) or not measured:
        return Preflight(tuple(checks))
    try:
        config = replace(config, backbone=local_backbone(config.backbone, progress))
    except EncoderError as error:
        return Preflight((*checks, Check("backbone", Level.ERROR, str(error))))
    other = _user_of(config.device, jobs or Jobs(runs))
    if other is not None:
        sentence = (
            f"Memory and time are not measured while {other.id} uses {other.device}; check again once it has ended."
        )
        return Preflight((*checks, Check("first steps", Level.WARNING, sentence)))
    found = _measure(config, progress or _untold)
    if isinstance(found, Check):
        return Preflight((*checks, found))
    checks += [*([_lengths(config, found)] if found["texts"] else []), _memory(found), _disk(found, runs), _time(found)]
    return Preflight(tuple(checks), found["steps"], found["seconds"], found["memory_mb"], found["disk_mb"])


def validate(config: TrainConfig, *, test: str = "") -> None:
    """Reads a run's tables, as the run itself would, and does nothing if they can be used; quick, no step is done.

    Raises:
        DataError: One cannot; the sentence names it, the row and the column.
    """
    stages, graded = _read(config, test)
    for check in [*_checks_of_rows(stages, config), *_checks_of_graded(graded, [])]:
        if check.level is Level.ERROR:
            raise DataError(check.sentence)


def in_words(seconds: float) -> str:
    """Returns a duration as people say it: "about 40 seconds", "about 3 hours"."""
    for size, name in ((86400.0, "day"), (3600.0, "hour"), (60.0, "minute")):
        if seconds >= 1.5 * size:
            return f"about {round(seconds / size)} {name}s"
    return f"about {round(seconds)} seconds" if seconds >= 1.5 else "about a second"


def _table_checks(config: TrainConfig, test: str) -> list[Check]:
    """What can be said from the tables alone."""
    try:
        stages, graded = _read(config, test)
    except DataError as error:
        return [Check("tables", Level.ERROR, str(error))]
    return [*_checks_of_rows(stages, config), *_checks_of_graded(graded, stages)]


def _read(config: TrainConfig, test: str) -> tuple[Stages, dict[str, pd.DataFrame]]:
    """The rows of every stage, and the graded pairs of dev and test."""
    from explorer.training.data import DEV, read_graded
    from explorer.training.objectives import plan

    stages = [(stage.name, stage.rows.to_pandas()) for stage in plan(config)]
    graded = {"dev": read_graded(config.dev, config.score_scale, DEV)}
    if test:
        graded["test"] = read_graded(test, config.score_scale, "test")
    return stages, graded


def _checks_of_rows(stages: Stages, config: TrainConfig) -> Iterable[Check]:
    for name, rows in stages:
        yield Check(f"{name} table", Level.OK, f"{len(rows):,} rows to train on, with {', '.join(rows.columns)}.")
        yield from _targets(rows, config)
        yield _duplicates(rows)
        if len(rows) < config.batch_size:
            sentence = f"There are {len(rows):,} rows, fewer than a batch of {config.batch_size}; an epoch is one step."
            yield Check("batches", Level.WARNING, sentence)


def _checks_of_graded(graded: dict[str, pd.DataFrame], stages: Stages) -> Iterable[Check]:
    for use, pairs in graded.items():
        yield _graded(use, pairs)
        for name, rows in stages:
            yield _overlap(use, pairs, name, rows)


def _targets(rows: pd.DataFrame, config: TrainConfig) -> Iterable[Check]:
    if "label" in rows:
        counts = [int((rows["label"] == number).sum()) for number in range(len(LABELS))]
        shown = ", ".join(f"{count:,} {label}" for count, label in zip(counts, LABELS, strict=True))
        missing = [label for count, label in zip(counts, LABELS, strict=True) if not count]
        if missing:
            yield Check("labels", Level.WARNING, f"No row is labelled {missing[0]} ({shown}); it cannot be learnt.")
        else:
            yield Check("labels", Level.OK, f"{shown}.")
    if "score" in rows:
        low, high = (config.score_scale * rows["score"].agg(kind) for kind in ("min", "max"))
        if low == high:
            yield Check("scores", Level.ERROR, f"Every score is {low:g}; there is nothing to learn from equal scores.")
        elif high <= config.score_scale / 2:
            yield Check(
                "scores",
                Level.WARNING,
                f"The highest score is {high:g}, of {config.score_scale:g} possible; is score_scale {high:g} meant?",
            )
        else:
            yield Check("scores", Level.OK, f"Scores from {low:g} to {high:g} on a scale to {config.score_scale:g}.")


def _duplicates(rows: pd.DataFrame) -> Check:
    keys = rows[[column for column in rows.columns if column not in ("score", "label")]].map(
        lambda cell: cell if isinstance(cell, str) else "\t".join(cell)
    )
    doubled = int(keys.duplicated().sum())
    if doubled:
        sentence = f"{doubled:,} of {len(rows):,} rows stand there more than once, and count more than once."
        return Check("duplicates", Level.WARNING, sentence)
    return Check("duplicates", Level.OK, "No row stands there twice.")


def _graded(use: str, pairs: pd.DataFrame) -> Check:
    if pairs["score"].nunique() < 2:
        return Check(use, Level.ERROR, f"All {len(pairs):,} pairs of {use} have the same score; Spearman is undefined.")
    if len(pairs) < 100:
        sentence = f"{len(pairs):,} pairs in {use} are few: their Spearman may be off by several points."
        return Check(use, Level.WARNING, sentence)
    return Check(use, Level.OK, f"{len(pairs):,} graded pairs in {use}.")


def _overlap(use: str, pairs: pd.DataFrame, name: str, rows: pd.DataFrame) -> Check:
    shared = int(find_overlap(pairs, Known.of(_as_pairs(rows))).pairs.sum())
    if shared:
        sentence = (
            f"{shared:,} of {len(pairs):,} pairs in {use} are also in the {name} table; its figures will be too good. "
            "Take those pairs out of the table trained on."
        )
        return Check(f"overlap with {use}", Level.WARNING, sentence)
    return Check(f"overlap with {use}", Level.OK, f"No pair of {use} is in the {name} table.")


def _as_pairs(rows: pd.DataFrame) -> pd.DataFrame:
    """Training rows as pairs: two sentences read at once are one, of a triplet the anchor goes with either other."""
    if "pair" in rows:
        return pd.DataFrame(rows["pair"].map(list).tolist(), columns=["sentence1", "sentence2"])
    if "sentence1" in rows:
        return rows
    others = [column for column in ("positive", "negative") if column in rows]
    return pd.concat([pd.DataFrame({"sentence1": rows["anchor"], "sentence2": rows[other]}) for other in others])


def _untold(done: int, total: int) -> None:
    """Progress that nobody wants to know."""


def _user_of(device: str, jobs: Jobs) -> Job | None:
    """A job that uses the device a run would use, or waits for it."""
    if device == "auto":
        from explorer.encoders.machine import best_device

        device = best_device()
    alive = [job for job in jobs.list() if job.alive and share_device(job.device, device)]
    return min(alive, key=lambda job: job.state is State.QUEUED, default=None)


def _measure(config: TrainConfig, progress: Progress) -> dict[str, Any] | Check:
    """What explorer.training.measure finds in a process of its own, or the reason why it found nothing."""
    with tempfile.TemporaryDirectory(prefix="explorer-preflight-") as folder:
        asked, result, errors = (Path(folder) / name for name in ("config.json", "result.json", "errors"))
        asked.write_text(json.dumps(asdict(config)), encoding="utf-8")
        command = [sys.executable, "-m", "explorer.training.measure", str(asked), str(result)]
        begun = time.time()
        with errors.open("wb") as told:
            process = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=told
            )
        if not _ended(process, progress):
            sentence = f"A few steps were not done within {in_words(_TIMEOUT_SECONDS)}; the run will be very long here."
            return Check("time", Level.WARNING, sentence)
        if process.returncode in _KILLED:
            sentence = "The system ended the measurement, most likely for want of memory; take a smaller batch_size."
            return Check("memory", Level.ERROR, sentence)
        if not result.is_file():
            lines = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines() or ["no word"]
            return Check("first steps", Level.ERROR, f"The first steps fail: {lines[-1][:300]}")
        found = json.loads(result.read_text(encoding="utf-8"))
    if "measurement" not in found:
        return Check("first steps", Level.ERROR, found["error"])
    made: dict[str, Any] = found["measurement"]
    return made | {"seconds": made["seconds"] + max(0.0, made["ready"] - begun)}


def _ended(process: subprocess.Popen[bytes], progress: Progress) -> bool:
    """Whether the process ended in time; it is killed if it did not, or if `progress` raises as nobody waits any more."""
    end = time.monotonic() + _TIMEOUT_SECONDS
    try:
        while process.poll() is None and time.monotonic() < end:
            progress(0, 1)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_POLL_SECONDS)
        return process.poll() is not None
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _lengths(config: TrainConfig, found: dict[str, Any]) -> Check:
    most, longest = found["max_length"], found["longest"]
    advice = "A larger max_length reads more and takes longer."
    if most < config.max_length:
        advice = f"This backbone has positions for {most:,}; the {config.max_length:,} of max_length are not to be had."
    if found["too_long"]:
        sentence = (
            f"{found['too_long']:,} of {found['texts']:,} texts are longer than {most} word pieces (the longest "
            f"has {longest:,}); what is past that is not read. {advice}"
        )
        return Check("lengths", Level.WARNING, sentence)
    sentence = f"The longest text has {longest:,} word pieces; all fit into {most}."
    return Check("lengths", Level.OK, f"{sentence} {advice}" if most < config.max_length else sentence)


def _memory(found: dict[str, Any]) -> Check:
    need, free = found["memory_mb"], found["memory_free_mb"]
    share = need / (need + free)
    sentence = f"The largest batch takes {need:,.0f} MB of the {need + free:,.0f} MB that {found['device']} has free."
    if share > _TOO_MUCH:
        return Check("memory", Level.ERROR, f"{sentence} Take a smaller batch_size or max_length.")
    if share > _TIGHT:
        return Check("memory", Level.WARNING, f"{sentence} That is tight; close other programs.")
    return Check("memory", Level.OK, sentence)


def _disk(found: dict[str, Any], runs: Path) -> Check:
    place = next(folder for folder in (runs, *runs.resolve().parents) if folder.is_dir())
    need, free = found["disk_mb"], shutil.disk_usage(place).free / 2**20
    sentence = f"Checkpoints take up to {need:,.0f} MB, and {free:,.0f} MB are free."
    if need > free:
        return Check("disk", Level.ERROR, f"{sentence} Free some space, or set EXPLORER_RUNS to a folder with more.")
    return Check("disk", Level.OK, sentence)


def _time(found: dict[str, Any]) -> Check:
    if not found["steps"]:
        return Check("time", Level.OK, "Nothing is trained: the encoder is scored and written as it is.")
    rest = found["seconds"] - found["steps"] * found["seconds_per_step"]
    sentence = (
        f"{found['steps']:,} steps will take {in_words(found['seconds'])} on {found['device']}: "
        f"{found['seconds_per_step']:.2f} seconds a step; starting, evaluating and saving take {in_words(rest)}."
    )
    return Check("time", Level.WARNING if found["seconds"] > _LONG_SECONDS else Level.OK, sentence)
