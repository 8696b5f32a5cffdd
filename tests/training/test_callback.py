"""A clean stop on a signal, and which checkpoint a run goes on from."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from transformers import TrainerControl, TrainerState, TrainingArguments

from explorer.errors import TrainingError
from explorer.training.callback import StopOnSignal, checkpoint_to_resume, last_checkpoint, ready_to_resume


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


def checkpoint(work: Path, step: int, state: str = "{}") -> Path:
    folder = work / f"checkpoint-{step}"
    folder.mkdir(parents=True)
    (folder / "trainer_state.json").write_text(state, encoding="utf-8")
    return folder


def test_checkpoint_to_resume_takes_the_newest(tmp_path: Path) -> None:
    work = tmp_path / "run" / ".training"
    newest = [checkpoint(work, step) for step in (5, 40, 100)][-1]
    assert checkpoint_to_resume(work, resume=True) == str(newest)


def test_checkpoint_to_resume_refuses_to_overwrite_an_unfinished_run(tmp_path: Path) -> None:
    work = tmp_path / "run" / ".training"
    checkpoint(work, 5)
    with pytest.raises(TrainingError, match="unfinished run; add --resume"):
        checkpoint_to_resume(work, resume=False)


def test_last_checkpoint_passes_over_one_that_is_not_whole(tmp_path: Path) -> None:
    whole = checkpoint(tmp_path, 5)
    cut = checkpoint(tmp_path, 10, '{"global_st')
    (tmp_path / "checkpoint-15").mkdir()
    (tmp_path / "checkpoint-new").mkdir()
    assert last_checkpoint(tmp_path) == str(whole)
    ready_to_resume(str(whole))
    assert whole.is_dir()
    assert not cut.exists()
    assert last_checkpoint(tmp_path / "nowhere") is None


def test_ready_to_resume_finds_the_best_in_a_folder_that_has_moved(tmp_path: Path) -> None:
    best = checkpoint(tmp_path, 5)
    state = {"best_global_step": 5, "best_model_checkpoint": "/elsewhere/checkpoint-5", "best_metric": 0.5}
    newest = checkpoint(tmp_path, 10, json.dumps(state))
    ready_to_resume(str(newest))
    assert json.loads((newest / "trainer_state.json").read_text()) == state | {"best_model_checkpoint": str(best)}


def test_checkpoint_to_resume_starts_anew_where_nothing_is(tmp_path: Path) -> None:
    assert checkpoint_to_resume(tmp_path / "run" / ".training", resume=False) is None
    with pytest.raises(TrainingError, match="Nothing to resume"):
        checkpoint_to_resume(tmp_path / "run" / ".training", resume=True)
