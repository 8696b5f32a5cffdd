"""Runs made by hand for the tests of the tab Train: folders with a diary, and jobs that never start a process."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from explorer.jobs import events, locks
from explorer.jobs.manager import Jobs
from explorer.jobs.paths import JobPaths, check_name

CONFIG = {
    "backbone": "backbones/tiny",
    "pooling": "cnn",
    "train": "train.tsv",
    "dev": "dev.tsv",
    "output": "",
    "objective": "sts",
    "epochs": 2.0,
    "seed": 42,
    "device": "auto",
}


class QuietJobs(Jobs):
    """Writes what a job is, as the real one does, and starts nothing."""

    def submit(self, config: Mapping[str, Any], *, name: str | None = None) -> str:
        made = check_name(name) if name is not None else f"run-{len(self.list()) + 1}"
        write_run(self.runs_folder, made, config=dict(config), kinds=("queued",))
        return made


def write_run(
    runs: Path,
    name: str,
    *,
    config: Mapping[str, Any] | None = None,
    kinds: tuple[str, ...] = ("queued", "started"),
    steps: int = 0,
    end: tuple[str, Mapping[str, Any]] | None = None,
) -> Path:
    """A run's folder: its events are `kinds`, then so many steps with a dev score every second one, then `end`."""
    paths = JobPaths(runs / name)
    paths.folder.mkdir(parents=True)
    paths.config.write_text(json.dumps({**CONFIG, **(config or {})}))
    paths.log.write_text("the <b>first</b> line\nthe last line\n")
    for kind in kinds:
        events.append(paths.folder, kind, device="cpu")
    add_steps(paths.folder, 1, steps)
    if end is not None:
        events.append(paths.folder, end[0], **end[1])
    return paths.folder


def add_steps(folder: Path, first: int, last: int) -> None:
    for step in range(first, last + 1):
        facts = {"loss": 1 / step, "learning_rate": 1e-5, "sentences_per_second": 80.0, "memory_mb": 500.0}
        events.append(folder, "step", step=step, steps=100, eta_seconds=90.0, **facts)
        if step % 2 == 0:
            events.append(folder, "dev", step=step, spearman=0.5 + step / 1000, pearson=0.5, cosine_spread=0.2)
            events.append(folder, "checkpoint", step=step)


@contextmanager
def living(folder: Path) -> Iterator[None]:
    """Holds a run's lock, as its worker would."""
    file = locks.take(JobPaths(folder).lock)
    assert file is not None
    try:
        yield
    finally:
        os.close(file)


def finished(runs: Path, name: str, spearman: float, save: Callable[[Path], None] | None = None, **config: Any) -> None:
    """A finished run, with an encoder if `save` writes one into the folder it is given."""
    folder = write_run(runs, name, config=config, steps=4, end=("finished", {"scores": {"dev_spearman": spearman}}))
    if save is not None:
        save(JobPaths(folder).encoder)
