"""Work for test jobs that needs no torch: what a worker is told to do by `--task`."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from explorer.errors import DataError
from explorer.jobs.paths import JobPaths
from explorer.paths import process_rank

Report = Callable[..., None]


def count(paths: JobPaths, config: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """Takes config["steps"] steps of config["seconds"], one checkpoint each, going on from the last one; then finishes."""
    paths.checkpoints.mkdir(parents=True, exist_ok=True)
    done = max((int(path.name.rpartition("-")[2]) for path in paths.checkpoints.iterdir()), default=0)
    steps = config.get("steps", 3)
    for step in range(done + 1, steps + 1):
        time.sleep(config.get("seconds", 0.05))
        report("step", step=step, steps=steps, loss=1 / step, sentences_per_second=10.0, eta_seconds=steps - step)
        (paths.checkpoints / f"checkpoint-{step}").mkdir()
        report("checkpoint", step=step)
        report("dev", step=step, spearman=0.1 * step)
    report("saving")
    (paths.encoder / "modules.json").write_text("[]")
    return {"dev_spearman": 0.1 * steps}


def fail(paths: JobPaths, config: Mapping[str, Any], report: Report) -> None:
    report("step", step=1, steps=2, loss=1.0)
    raise DataError("train.tsv, row 3: score 'x' is not a number.")


def break_down(paths: JobPaths, config: Mapping[str, Any], report: Report) -> None:
    raise ZeroDivisionError("division by zero\nand a second line")


def leave(paths: JobPaths, config: Mapping[str, Any], report: Report) -> None:
    sys.exit(7)


def stubborn(paths: JobPaths, config: Mapping[str, Any], report: Report) -> None:
    """Swallows every signal and has a child in the group and one in a session of its own that do so too."""
    code = "import signal, time; [signal.signal(n, signal.SIG_IGN) for n in (15, 2)]; time.sleep(600)"
    children = [subprocess.Popen([sys.executable, "-c", code], start_new_session=own) for own in (False, True)]
    (paths.folder / "children").write_text(" ".join(str(child.pid) for child in children))
    time.sleep(0.5)  # until they ignore signals
    report("checkpoint", step=3)
    report("step", step=4, steps=9, loss=0.5)
    while True:
        try:
            time.sleep(600)
        except BaseException:  # noqa: BLE001
            continue


def fill(paths: JobPaths, config: Mapping[str, Any], report: Report) -> None:
    """Writes a good checkpoint, then fills the disk and tells of steps for as long as that works."""
    good = paths.checkpoints / "checkpoint-1"
    good.mkdir(parents=True)
    (good / "weights").write_bytes(b"good" * 1000)
    report("checkpoint", step=1)
    with Path(paths.checkpoints / "checkpoint-2").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 65536)
        except OSError:
            for step in range(2, 400):
                report("step", step=step, steps=400, loss=1.0)
            raise RuntimeError("Error while serializing: I/O error: No space left on device (os error 28)") from None


def ranked(paths: JobPaths, config: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """Leaves a file that names this process and the GPU it was shown; the first of several then works for a while."""
    rank = process_rank()
    (paths.folder / f"rank-{rank}").write_text(f"{os.getpid()} {os.environ['CUDA_VISIBLE_DEVICES']}")
    for step in range(1, config.get("steps", 3) + 1):
        time.sleep(0.05)
        report("step", step=step, steps=3, loss=1.0)
    if rank == config.get("fails"):
        raise DataError("this one fails")
    return {"dev_spearman": 0.5}
