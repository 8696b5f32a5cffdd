"""What the training loops share around transformers' Trainer: a clean stop on a signal, and the last whole checkpoint."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from explorer.errors import TrainingError

STATE_FILE = "trainer_state.json"


class StopOnSignal(TrainerCallback):
    """On SIGINT or SIGTERM: finish the step, write a checkpoint, leave the loop. `stopped` tells that it happened."""

    def __init__(self) -> None:
        self.stopped = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Answers the two signals within the block; the former handlers come back after it. Main thread only."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

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

    on_evaluate = on_step_end  # the signal may come while dev is scored


def checkpoint_to_resume(work: Path, resume: bool) -> str | None:
    """Returns the newest whole checkpoint folder under `work` if `resume`, else None.

    Raises:
        TrainingError: There is nothing to resume from, or there is something that a new start would overwrite.
    """
    newest = last_checkpoint(work)
    if resume and newest is None:
        raise TrainingError(
            f"Nothing to resume in {str(work.parent)!r}: it holds no checkpoint. Start without --resume."
        )
    if newest is not None and not resume:
        raise TrainingError(
            f"{str(work.parent)!r} holds an unfinished run; add --resume to go on, or choose another --output."
        )
    return newest


def last_checkpoint(work: Path) -> str | None:
    """Returns the newest whole checkpoint folder under `work`; None if there is none."""
    steps = {int(path.name[11:]): path for path in work.glob("checkpoint-*") if path.name[11:].isdecimal()}
    for step in sorted(steps, reverse=True):
        if _state_of(steps[step]) is not None:
            return str(steps[step])
    return None


def ready_to_resume(checkpoint: str) -> None:
    """Removes what was half written after `checkpoint`, and lets it find its best where the run's folder has moved."""
    folder = Path(checkpoint)
    for other in folder.parent.glob("checkpoint-*"):
        if _state_of(other) is None:
            shutil.rmtree(other, ignore_errors=True)
    state = _state_of(folder) or {}
    best = folder.parent / f"checkpoint-{state.get('best_global_step')}"
    if state.get("best_global_step") and best.is_dir() and state.get("best_model_checkpoint") != str(best):
        state["best_model_checkpoint"] = str(best)
        _write_state(folder, state)


def enter_score(checkpoint: str, figures: Mapping[str, float], metric: str) -> None:
    """Enters an evaluation into a checkpoint whose own was broken off, as if it had been made.

    Args:
        checkpoint: The folder.
        figures: By name, each as the trainer logs it: "eval_" and what the evaluator calls it.
        metric: The one that decides which checkpoint is best; a greater one is better, one that is nan never best.
    """
    folder = Path(checkpoint)
    state = _state_of(folder) or {}
    step = state["global_step"]
    others = [entry for entry in state["log_history"] if metric not in entry or entry.get("step") != step]
    state["log_history"] = [*others, {"epoch": state["epoch"], **figures, "step": step}]
    best = state.get("best_metric")
    if figures[metric] > (-inf if best is None else best):
        better = {"best_metric": figures[metric], "best_global_step": step, "best_model_checkpoint": str(folder)}
        state |= better
    _write_state(folder, state)


def read_state(checkpoint: str) -> TrainerState:
    """Returns the state that a whole checkpoint was written in."""
    return TrainerState.load_from_json(str(Path(checkpoint) / STATE_FILE))


def _write_state(folder: Path, state: dict[str, Any]) -> None:
    """Never leaves half a file; each of several processes may write the same."""
    aside = folder / f".{STATE_FILE}.{os.getpid()}"
    aside.write_text(json.dumps(state, indent=2) + "\n", encoding="utf-8")
    aside.replace(folder / STATE_FILE)


def _state_of(checkpoint: Path) -> dict[str, Any] | None:
    """What a checkpoint says of itself; it is written last, so None means that the checkpoint is not whole."""
    try:
        state = json.loads((checkpoint / STATE_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return state if isinstance(state, dict) else None
