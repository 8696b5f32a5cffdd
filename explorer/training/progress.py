"""Tells what a run is doing: a step about once a second, every evaluation, every checkpoint, and what looks wrong."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import isnan
from typing import Any

import torch
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from explorer.encoders.memory import peak_bytes
from explorer.errors import TrainingError
from explorer.training.callback import StopOnSignal
from explorer.training.config import TrainConfig
from explorer.training.detectors import bad_loss, collapsed, no_progress
from explorer.training.evaluator import PEARSON, SPEARMAN, SPREAD
from explorer.training.objectives import Stage

# Called with a kind ("step", "dev", "warning", "checkpoint", "saving") and its facts.
Report = Callable[..., None]
SECONDS_BETWEEN_STEPS = 1.0
# The loss is told as means of equally many steps, so that equal runs tell equal curves, however fast they went.
MOST_LOSSES = 400


def silent(kind: str, **facts: Any) -> None:
    """A report that goes nowhere."""


class Losses:
    """The loss of the last step, as the trainer leaves it here."""

    def __init__(self) -> None:
        self.last = 0.0

    def add(self, loss: float) -> None:
        """Takes the loss of one step."""
        self.last = loss


class LossMeans:
    """The means of a run's losses over blocks of steps; which block a step is in depends on its number alone.

    Args:
        steps: Of the whole run, which has at most MOST_LOSSES blocks.
    """

    def __init__(self, steps: int) -> None:
        self._size = max(1, -(-steps // MOST_LOSSES))
        self._block: list[float] = []
        self._means: list[tuple[int, float]] = []

    def add(self, step: int, loss: float, *, last: bool = False) -> None:
        """Takes the loss of a step; the last one of a stage ends its block."""
        self._block.append(loss)
        if last or step % self._size == 0:
            mean = sum(self._block) / len(self._block)
            self._means.append((step, float(f"{mean:.5g}")))
            self._block = []

    def take(self) -> list[tuple[int, float]]:
        """Returns (last step, mean) of the blocks that were finished since the last call."""
        taken, self._means = self._means, []
        return taken


class Progress(TrainerCallback):
    """Reports a stage's steps, evaluations and checkpoints.

    Args:
        report: See Report.
        stage: The stage.
        steps: Steps of all stages; those reported count through all of them.
        losses: Where the trainer leaves each step's loss.
        batch_size: Rows of a batch.
    """

    def __init__(self, report: Report, stage: Stage, steps: int, losses: Losses, batch_size: int) -> None:
        self.report, self.stage, self.steps, self.losses = report, stage, steps, losses
        self._sentences = batch_size * stage.sentences_per_row
        self._means = LossMeans(steps)
        self._begun = self._last = self._told = self._resting = self._pause = 0.0
        self._first_step = self._last_step = 0

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Starts the clock."""
        self._begun = self._last = self._told = time.monotonic()
        self._first_step = self._last_step = state.global_step

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Reports the step if the last one reported was a second ago, or if it is the last; its loss counts in any case."""
        now, ends = time.monotonic(), state.global_step >= state.max_steps
        self._pause = now
        step = self.stage.done_before + state.global_step
        self._means.add(step, self.losses.last, last=ends)
        if now - self._told < SECONDS_BETWEEN_STEPS and not ends:
            return
        done = state.global_step - self._first_step
        pace = done / max(now - self._begun, 1e-9)
        self.report(
            "step",
            step=step,
            steps=self.steps,
            epoch=round(state.epoch or 0.0, 4),
            loss=self.losses.last,
            losses=self._means.take(),
            learning_rate=kwargs["lr_scheduler"].get_last_lr()[0],
            sentences_per_second=self._sentences * (state.global_step - self._last_step) / max(now - self._last, 1e-9),
            mean_sentences_per_second=self._sentences * done / max(now - self._begun - self._resting, 1e-9),
            memory_mb=memory_mb(),
            eta_seconds=(self.steps - step) / pace,
            stage=self.stage.name,
        )
        self._told = self._last = now
        self._last_step = state.global_step

    def on_evaluate(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Reports dev."""
        figures = {name.removeprefix("eval_"): value for name, value in kwargs["metrics"].items()}
        self.dev(self.stage.done_before + state.global_step, figures)
        self._rest()

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Reports a checkpoint."""
        self.report("checkpoint", step=self.stage.done_before + state.global_step)
        self._rest()

    def _rest(self) -> None:
        """Counts the time since a step, which went into evaluating and saving, as none of the steps'."""
        now = time.monotonic()
        self._resting += now - self._pause
        self._last += now - self._pause
        self._pause = now

    def dev(self, step: int, figures: dict[str, float]) -> None:
        """Reports dev figures; what is undefined is None."""
        known = {name: value if value == value else None for name, value in figures.items()}
        self.report(
            "dev",
            step=step,
            spearman=known[SPEARMAN],
            pearson=known[PEARSON],
            cosine_spread=known[SPREAD],
            stage=self.stage.name,
        )


class Watch(TrainerCallback):
    """Warns of what the detectors see, once each, or stops the run where its configuration asks for it.

    Args:
        config: What to stop on.
        report: Where warnings go.
        losses: Where the trainer leaves each step's loss.
        stop: Whether the run is to stop, which breaks an evaluation off.
        done_before: Steps of the stages before this one.
    """

    def __init__(
        self, config: TrainConfig, report: Report, losses: Losses, stop: StopOnSignal, done_before: int
    ) -> None:
        self.config, self.report, self.losses, self.stop = config, report, losses, stop
        self.done_before = done_before
        self._warned: set[str] = set()

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Looks at the loss."""
        self._tell(
            "loss", bad_loss(self.losses.last, self.done_before + state.global_step), fail=self.config.stop_on_nan
        )

    def on_evaluate(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> TrainerControl:
        """Looks at the dev figures, unless a stop broke them off."""
        spread = kwargs["metrics"][f"eval_{SPREAD}"]
        if self.stop.stopped and isnan(spread):
            return control
        self._tell("spread", collapsed(spread, self.done_before + state.global_step), fail=self.config.stop_on_collapse)
        history = [entry[f"eval_{SPEARMAN}"] for entry in state.log_history if f"eval_{SPEARMAN}" in entry]
        plateau = no_progress(history, self.config.patience, self.done_before + state.global_step)
        self._tell("plateau", plateau, fail=False)
        if plateau and self.config.stop_on_plateau:
            control.should_training_stop = True
        return control

    def _tell(self, what: str, message: str | None, *, fail: bool) -> None:
        if message and fail:
            raise TrainingError(message)
        if message and what not in self._warned:
            self._warned.add(what)
            self.report("warning", message=message)


def memory_mb() -> float:
    """Returns the most memory this process has held, in MB: the GPU's where one is in use, else the computer's."""
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        return torch.cuda.max_memory_reserved() / 2**20
    return peak_bytes() / 2**20
