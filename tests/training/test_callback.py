"""A clean stop on a signal, and which checkpoint a run goes on from."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from transformers import TrainerControl, TrainerState, TrainingArguments

from explorer.errors import TrainingError
from explorer.training.callback import StopOnSignal, checkpoint_to_resume


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stop_on_signal_asks_to_save_and_stop_after_a_signal_only(tmp_path: Path, number: signal.Signals) -> None:
    stop = StopOnSignal()
    args, state = TrainingArguments(output_dir=str(tmp_path), use_cpu=True), TrainerState()
    before = stop.on_step_end(args, state, TrainerControl())
    assert not (before.should_save or before.should_training_stop or stop.stopped)
    with stop.listening():
        signal.raise_signal(number)
    assert stop.stopped
    after = stop.on_step_end(args, state, TrainerControl())
    assert after.should_save
    assert after.should_training_stop


def test_stop_on_signal_gives_the_handlers_back() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with pytest.raises(RuntimeError), StopOnSignal().listening():
        raise RuntimeError
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_checkpoint_to_resume_takes_the_newest(tmp_path: Path) -> None:
    work = tmp_path / "run" / ".training"
    for step in (5, 40, 100):
        (work / f"checkpoint-{step}").mkdir(parents=True)
    assert checkpoint_to_resume(work, resume=True) == str(work / "checkpoint-100")


def test_checkpoint_to_resume_refuses_to_overwrite_an_unfinished_run(tmp_path: Path) -> None:
    work = tmp_path / "run" / ".training"
    (work / "checkpoint-5").mkdir(parents=True)
    with pytest.raises(TrainingError, match="unfinished run; add --resume"):
        checkpoint_to_resume(work, resume=False)


def test_checkpoint_to_resume_starts_anew_where_nothing_is(tmp_path: Path) -> None:
    assert checkpoint_to_resume(tmp_path / "run" / ".training", resume=False) is None
    with pytest.raises(TrainingError, match="Nothing to resume"):
        checkpoint_to_resume(tmp_path / "run" / ".training", resume=True)
