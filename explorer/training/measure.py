"""Measures what a run will cost by doing a few of its steps: memory on the longest batch, time on ordinary ones.

Meant for a process of its own, python -m explorer.training.measure CONFIG RESULT: its memory is given back when it ends,
and its peak is its own. Leaves nothing behind but RESULT.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from math import inf
from pathlib import Path
from statistics import median
from typing import Any

import torch
from datasets import Dataset
from transformers import TrainerCallback

from explorer.errors import ExplorerError
from explorer.training.callback import StopOnSignal
from explorer.training.config import TrainConfig
from explorer.training.data import DEV, read_graded
from explorer.training.devices import one_device
from explorer.training.evaluator import DevEvaluator
from explorer.training.objectives import Stage, plan
from explorer.training.progress import Losses, memory_mb, silent
from explorer.training.train import Run, build_model

_LONGEST_STEPS = 2
_ORDINARY_STEPS = 5
_BUDGET_SECONDS = 20.0
_DEV_PAIRS = 128
_MOST_TEXTS = 20_000
_TARGETS = ("score", "label")
_SCORED_AS_SAVED = 2  # what was saved encodes dev for its figures, and once more for its percentiles
_OPTIMISER = 2  # AdamW keeps two numbers a weight
_CHECKPOINTS = 4  # the best, the newest, the one being written, and the finished encoder


@dataclass(frozen=True)
class Measurement:
    """What a run will cost here.

    Args:
        device: "cpu", "mps" or "cuda:<number>".
        steps: Of all stages.
        seconds: The whole run from the loaded model on, evaluations and saving included; an estimate.
        ready: When the model was loaded, in seconds UTC; what came before it, every run needs too.
        seconds_per_step: Of an ordinary batch; the median of a few, of several stages the mean over all steps.
        memory_mb: Most memory held while a step was done on the longest batch: the GPU's, or the process's.
        memory_free_mb: What the device has free beside that.
        disk_mb: What checkpoints and the finished encoder take at most.
        parameters: Number of weights trained.
        texts: How many texts were counted in word pieces.
        max_length: Longest input that is read: the run's setting, at most what the backbone's positions allow.
        too_long: How many of them are longer than that.
        longest: Word pieces of the longest, special ones included.
    """

    device: str
    steps: int
    seconds: float
    ready: float
    seconds_per_step: float
    memory_mb: float
    memory_free_mb: float
    disk_mb: float
    parameters: int
    texts: int
    max_length: int
    too_long: int
    longest: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Reads CONFIG, writes RESULT: {"measurement": ...} or {"error": one sentence}."""
    config_file, result_file = map(Path, sys.argv[1:] if arguments is None else arguments)
    with suppress(OSError):
        os.nice(5)
    try:
        config = TrainConfig.from_mapping(json.loads(config_file.read_text(encoding="utf-8")))
        result: dict[str, Any] = {"measurement": asdict(measure(config))}
    except ExplorerError as error:
        result = {"error": str(error)}
    except torch.OutOfMemoryError:
        result = {"error": "The GPU has not enough memory for one batch; take a smaller batch_size or max_length."}
    result_file.write_text(json.dumps(result), encoding="utf-8")
    return 0


def measure(config: TrainConfig) -> Measurement:
    """Does a few steps of every stage on copies in a temporary folder.

    Raises:
        DataError, EncoderError, TrainingError: As the run itself would.
    """
    stages = plan(config)
    dev = read_graded(config.dev, config.score_scale, DEV)
    device = one_device(config.device)
    begun = time.time()
    model = build_model(config, device)
    ready = time.time()
    steps, training = sum(stage.steps for stage in stages), 0.0
    seconds = ready - begun  # what was saved is read back
    with tempfile.TemporaryDirectory(prefix="explorer-preflight-") as folder:
        for stage in stages:
            _steps(config, stage, model, device, _longest(stage, config.batch_size), _LONGEST_STEPS, folder)
            times = _steps(config, stage, model, device, _some(stage, config.batch_size), _ORDINARY_STEPS, folder)
            training += stage.steps * median(times)
            seconds += (stage.steps / stage.every + 2) * _seconds_of_dev(dev, model)
        seconds += _SCORED_AS_SAVED * _seconds_of_dev(dev, model)
    parameters = sum(weights.numel() for weights in model.parameters() if weights.requires_grad)
    lengths = _pieces(model, [text for stage in stages for text in _texts(stage.rows)])
    most = model.max_seq_length or config.max_length
    return Measurement(
        device=device,
        steps=steps,
        seconds=training + seconds,
        ready=ready,
        seconds_per_step=training / max(1, steps),
        memory_mb=memory_mb(),
        memory_free_mb=_free_mb(device),
        disk_mb=_CHECKPOINTS * 4 * (1 + _OPTIMISER) * parameters / 2**20,
        parameters=parameters,
        texts=len(lengths),
        max_length=most,
        too_long=sum(length > most for length in lengths),
        longest=max(lengths, default=0),
    )


class _Clock(TrainerCallback):
    """Times the steps after the first, which also warms everything up; ends when the budget is used up."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self._begun = self._last = 0.0

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._last = time.monotonic()
        self._begun = self._begun or self._last

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        now = time.monotonic()
        self.times.append(now - self._last)
        control.should_training_stop = control.should_training_stop or now - self._begun > _BUDGET_SECONDS
        return control


def _steps(
    config: TrainConfig, stage: Stage, model: Any, device: str, rows: Dataset, steps: int, folder: str
) -> list[float]:
    """Does at most `steps` steps on `rows` without evaluating or saving; returns the seconds of each but the first."""
    few = replace(stage, rows=rows, steps=steps, every=steps)
    evaluator = DevEvaluator(read_graded(config.dev, config.score_scale, DEV))
    run = Run(config, [few], model, evaluator, StopOnSignal(), silent, Path(folder), device)
    trainer = run.trainer(few, Path(folder))
    trainer.losses = Losses()
    trainer.args.eval_strategy = trainer.args.save_strategy = "no"
    trainer.args.load_best_model_at_end = False
    trainer.args.disable_tqdm = True
    clock = _Clock()
    trainer.add_callback(clock)
    trainer.train()
    return clock.times[1:] or clock.times


def _longest(stage: Stage, batch_size: int) -> Dataset:
    lengths = [sum(map(len, texts)) for texts in _rows(stage.rows)]
    order = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    return stage.rows.select(order[:batch_size])


def _some(stage: Stage, batch_size: int) -> Dataset:
    rows = stage.rows.shuffle(seed=0)
    return rows.select(range(min(len(rows), batch_size * _ORDINARY_STEPS)))


def _seconds_of_dev(dev: Any, model: Any) -> float:
    some = dev.sample(n=min(_DEV_PAIRS, len(dev)), random_state=0).reset_index(drop=True)
    begun = time.monotonic()
    DevEvaluator(some)(model)
    return (time.monotonic() - begun) * len(dev) / len(some)


def _rows(rows: Dataset) -> list[list[str]]:
    """The sentences of each row; two that are read at once count as two."""
    columns = [rows[name] for name in rows.column_names if name not in _TARGETS]
    return [
        [text for cell in row for text in ([cell] if isinstance(cell, str) else cell)]
        for row in zip(*columns, strict=True)
    ]


def _texts(rows: Dataset) -> list[str]:
    return [text for row in _rows(rows) for text in row]


def _pieces(model: Any, texts: list[str]) -> list[int]:
    """Word pieces of each distinct text, special ones included; of very many texts every n-th."""
    distinct = list(dict.fromkeys(texts))
    distinct = distinct[:: max(1, -(-len(distinct) // _MOST_TEXTS))]
    if not distinct:
        return []
    return [len(ids) for ids in model.tokenizer(distinct, truncation=False, verbose=False)["input_ids"]]


def _free_mb(device: str) -> float:
    if device.startswith("cuda"):
        return torch.cuda.mem_get_info(torch.device(device))[0] / 2**20
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) / 2**20
    free = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable")) / 2**10
    return min(free, _container_mb())


def _container_mb() -> float:
    """What a container's limit leaves; without one, infinite."""
    group = Path("/sys/fs/cgroup")
    try:
        limit, used = ((group / name).read_text(encoding="ascii").strip() for name in ("memory.max", "memory.current"))
    except OSError:
        return inf
    return (int(limit) - int(used)) / 2**20 if limit.isdecimal() else inf


if __name__ == "__main__":
    sys.exit(main())
