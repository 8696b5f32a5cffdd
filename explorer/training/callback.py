"""What both training loops share around transformers' Trainer: a clean stop on a signal, and the last checkpoint."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint

from explorer.errors import TrainingError


class StopOnSignal(TrainerCallback):
    """On SIGINT or SIGTERM: finish the step, write a checkpoint, leave the loop. `stopped` tells that it happened."""

    def __init__(self) -> None:
        self.stopped = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Answers the two signals within the block; the former handlers come back after it. Main thread only."""

        def request(*_: Any) -> None:
            self.stopped = True

        before = {number: signal.signal(number, request) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> TrainerControl:
        """Asks the Trainer to save and stop once a signal has come."""
        if self.stopped:
            control.should_save = True
            control.should_training_stop = True
        return control


def checkpoint_to_resume(work: Path, resume: bool) -> str | None:
    """Returns the newest checkpoint folder under `work` if `resume`, else None.

    Raises:
        TrainingError: There is nothing to resume from, or there is something that a new start would overwrite.
    """
    newest = get_last_checkpoint(str(work)) if work.is_dir() else None
    if resume and newest is None:
        raise TrainingError(
            f"Nothing to resume in {str(work.parent)!r}: it holds no checkpoint. Start without --resume."
        )
    if newest is not None and not resume:
        raise TrainingError(
            f"{str(work.parent)!r} holds an unfinished run; add --resume to go on, or choose another --output."
        )
    return newest
