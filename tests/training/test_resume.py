"""A run that was stopped and resumed has the losses of one that was not, whatever its objective; it is resumed as it was."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from training_runs import Events, run

from explorer.errors import TrainingError
from explorer.training.config import Objective, TrainConfig
from explorer.training.evaluator import DevEvaluator
from explorer.training.train import train
from explorer.training.trainers import EncoderTrainer

# Objective, sentence layer, siamese, and the step stopped after: within an epoch, between two evaluations.
CASES = [
    ("sts", "cnn", True, 3),
    ("sts", "mean", False, 6),
    ("nli", "cnn", True, 5),
    ("nli", "cls", False, 4),
    ("triplet", "cnn", True, 3),
    ("ranking", "cnn", True, 4),
    ("nli-sts", "cnn", True, 4),  # in the first stage
    ("nli-sts", "cnn", True, 7),  # at the end of the first stage
    ("nli-sts", "cnn", True, 10),  # in the second
    ("cross-encoder", "cls", True, 6),
]


@pytest.mark.usefixtures("every_step")
@pytest.mark.parametrize(("objective", "pooling", "siamese", "stop_at"), CASES)
def test_losses_after_a_stop_equal_those_of_one_run(
    configure: Callable[..., TrainConfig], objective: str, pooling: str, siamese: bool, stop_at: int
) -> None:
    options = {"pooling": pooling, "siamese": siamese}
    whole, all_events = run(configure(objective, "whole", **options))
    config = configure(objective, "halved", **options)
    stopped, before = run(config, stop_at=stop_at)
    assert stopped.stopped
    assert max(before.losses()) == stop_at
    resumed, after = run(config, resume=True)
    assert not resumed.stopped
    assert min(after.losses()) == stop_at + 1
    assert before.losses() | after.losses() == all_events.losses()
    assert resumed.best_step == whole.best_step
    assert resumed.dev_spearman == pytest.approx(whole.dev_spearman, abs=1e-6)
    for (name, one), (_, other) in zip(
        whole.encoder.named_parameters(), resumed.encoder.named_parameters(), strict=True
    ):
        assert torch.allclose(one, other, atol=1e-6), name
    assert (whole.nli_head is None) == (objective not in ("nli", "nli-sts") or not siamese)
    if whole.nli_head and resumed.nli_head:
        assert torch.allclose(whole.nli_head["weight"], resumed.nli_head["weight"], atol=1e-6)


@pytest.mark.usefixtures("every_step")
def test_a_run_killed_while_it_wrote_goes_on_from_the_checkpoint_before(
    configure: Callable[..., TrainConfig], tmp_path: Path
) -> None:
    whole, all_events = run(configure("nli", "whole"))
    config = configure("nli", "killed")
    run(config, stop_at=9)
    newest = tmp_path / "killed" / ".training" / "checkpoint-9"
    (newest / "trainer_state.json").unlink()
    resumed, after = run(config, resume=True)
    assert 1 < min(after.losses()) <= 9
    assert after.losses().items() <= all_events.losses().items()
    assert resumed.dev_spearman == pytest.approx(whole.dev_spearman, abs=1e-6)


@pytest.mark.usefixtures("every_step")
def test_a_run_whose_folder_has_moved_can_be_resumed(configure: Callable[..., TrainConfig], tmp_path: Path) -> None:
    whole, _ = run(configure("sts", "whole"))
    run(configure("sts", "here"), stop_at=8)
    (tmp_path / "here").rename(tmp_path / "there")
    resumed, _ = run(configure("sts", "there"), resume=True)
    assert (resumed.best_step, resumed.dev_spearman) == (whole.best_step, pytest.approx(whole.dev_spearman))


@pytest.mark.usefixtures("every_step")
def test_a_run_stopped_before_its_first_checkpoint_starts_again(
    configure: Callable[..., TrainConfig], tmp_path: Path
) -> None:
    config = configure("sts")
    work = tmp_path / "run" / ".training"
    run(config, stop_at=1)
    for folder in work.glob("checkpoint-*"):
        (folder / "trainer_state.json").unlink()
    result, events = run(config, resume=True)
    assert not result.stopped
    assert events.of("dev")[0]["step"] == 0


def _stop_early(config: TrainConfig) -> None:
    assert run(config, stop_at=2)[0].stopped


@pytest.mark.usefixtures("every_step")
def test_resume_is_refused_where_data_or_settings_are_others(
    configure: Callable[..., TrainConfig], tables: dict[str, str]
) -> None:
    config = configure("nli-sts")
    with pytest.raises(TrainingError, match="Nothing to resume"):
        run(config, resume=True)
    _stop_early(config)
    with pytest.raises(TrainingError, match="holds an unfinished run"):
        run(config)
    with pytest.raises(TrainingError, match="started with learning_rate 0.001, not 0.5"):
        run(replace(config, learning_rate=0.5), resume=True)
    with pytest.raises(TrainingError, match="started with objective 'nli-sts', not 'sts'"):
        run(replace(config, objective=Objective.STS.value, nli=""), resume=True)
    file = Path(tables["labelled"])
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("neutral", "entailment", 1), encoding="utf-8")
    with pytest.raises(TrainingError, match="table nli .* has changed since the run was started"):
        run(config, resume=True)
    file.write_text(text, encoding="utf-8")
    relabelled, _ = run(replace(config, backbone_label="Tiny"), resume=True)
    assert not relabelled.stopped


@pytest.mark.usefixtures("every_step")
def test_work_folder_keeps_the_fingerprints(configure: Callable[..., TrainConfig], tmp_path: Path) -> None:
    _stop_early(configure("nli-sts"))
    assert set(json.loads((tmp_path / "run" / ".training" / "data.json").read_text())) == {"train", "dev", "nli"}


@pytest.mark.usefixtures("every_step")
def test_a_stop_while_dev_is_scored_keeps_a_checkpoint_at_once(
    configure: Callable[..., TrainConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, all_events = run(configure("sts", "whole"))
    config = configure("sts", "halved")
    scored = DevEvaluator.predictions

    def predictions(self: DevEvaluator, model: Any) -> Any:
        if before.losses():
            signal.raise_signal(signal.SIGTERM)
        return scored(self, model)

    before = Events()
    with monkeypatch.context() as patch:
        patch.setattr(DevEvaluator, "predictions", predictions)
        assert train(config, report=before).stopped
    assert before.of("dev")[-1]["spearman"] is None
    _, after = run(config, resume=True)
    assert before.losses() | after.losses() == all_events.losses()


@pytest.mark.usefixtures("every_step")
@pytest.mark.parametrize("objective", ["sts", "cross-encoder"])
def test_a_stop_where_the_best_was_to_be_scored_loses_nothing(
    configure: Callable[..., TrainConfig], tmp_path: Path, objective: str
) -> None:
    whole, all_events = run(configure(objective, "whole"))
    config = configure(objective, "halved")
    assert run(config, stop_at=whole.best_step)[0].stopped
    resumed, after = run(config, resume=True)
    assert (resumed.best_step, resumed.dev_spearman) == (whole.best_step, pytest.approx(whole.dev_spearman, abs=1e-6))
    assert after.of("dev")[0]["step"] == whole.best_step
    expected = {facts["step"]: facts["spearman"] for facts in all_events.of("dev")}
    assert {facts["step"]: facts["spearman"] for facts in after.of("dev")} == pytest.approx(
        {step: value for step, value in expected.items() if step >= (whole.best_step or 0)}, abs=1e-6
    )


@pytest.mark.usefixtures("every_step")
def test_a_stop_while_the_only_score_is_measured_ends_in_an_encoder(configure: Callable[..., TrainConfig]) -> None:
    options = {"epochs": 1.0, "evaluations_per_epoch": 1}
    whole, _ = run(configure("sts", "whole", **options))
    config = configure("sts", "halved", **options)
    last = whole.best_step
    assert run(config, stop_at=last)[0].stopped
    with stopping_in_evaluation(1):  # and again while that is made up for
        assert run(config, resume=True)[0].stopped
    resumed, after = run(config, resume=True)
    assert after.losses() == {}
    assert (resumed.best_step, resumed.dev_spearman) == (last, pytest.approx(whole.dev_spearman, abs=1e-6))
    for (name, one), (_, other) in zip(
        whole.encoder.named_parameters(), resumed.encoder.named_parameters(), strict=True
    ):
        assert torch.allclose(one, other, atol=1e-6), name


@pytest.mark.parametrize("epochs", [0.0, 1.0])
def test_a_stop_while_the_best_is_measured_is_no_failure(configure: Callable[..., TrainConfig], epochs: float) -> None:
    config = configure("sts", epochs=epochs)
    whole, events = run(configure("sts", "whole", epochs=epochs))
    with stopping_in_evaluation(len(events.of("dev")) + 1):
        assert run(config)[0].stopped
    resumed, after = run(config, resume=True)
    assert (resumed.stopped, after.losses()) == (False, {})
    assert (resumed.best_step, resumed.dev_spearman) == (whole.best_step, pytest.approx(whole.dev_spearman, abs=1e-6))


@contextmanager
def stopping_in_evaluation(number: int) -> Iterator[None]:
    """Signals the process, as a stop would, as it begins to score dev for the n-th time."""
    scored, count = DevEvaluator.predictions, 0

    def predictions(self: DevEvaluator, model: Any) -> Any:
        nonlocal count
        count += 1
        if count == number:
            signal.raise_signal(signal.SIGTERM)
        return scored(self, model)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DevEvaluator, "predictions", predictions)
        yield


@pytest.mark.usefixtures("every_step")
def test_a_disk_that_is_full_leaves_the_checkpoint_before(
    configure: Callable[..., TrainConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, all_events = run(configure("nli", "whole"))
    config = configure("nli", "full")
    written = EncoderTrainer._save_rng_state

    def save(self: EncoderTrainer, folder: str) -> None:
        if self.state.global_step == 6:
            raise OSError(28, "No space left on device")
        written(self, folder)

    with monkeypatch.context() as patch:
        patch.setattr(EncoderTrainer, "_save_rng_state", save)
        with pytest.raises(TrainingError, match="checkpoint of step 6 could not be written: .*No space left"):
            run(config)
    work = tmp_path / "full" / ".training"
    assert not (work / "checkpoint-6").exists()
    assert (work / "checkpoint-3" / "trainer_state.json").is_file()
    _, after = run(config, resume=True)
    assert min(after.losses()) == 4
    assert after.losses().items() <= all_events.losses().items()


@pytest.mark.usefixtures("every_step")
@pytest.mark.parametrize(("objective", "max_steps"), [("sts", 7), ("nli-sts", 4), ("cross-encoder", 7)])
def test_a_run_whose_steps_are_all_done_does_none_when_it_is_resumed(
    configure: Callable[..., TrainConfig], objective: str, max_steps: int
) -> None:
    config = configure(objective, "done", max_steps=max_steps)
    whole, all_events = run(config)  # its checkpoints lie there until it is saved
    resumed, after = run(config, resume=True)
    assert not after.losses() and not after.of("checkpoint")
    assert max(all_events.losses()) == max_steps * (2 if objective == "nli-sts" else 1)
    assert resumed.best_step == whole.best_step
    assert resumed.dev_spearman == whole.dev_spearman
    for (name, one), (_, other) in zip(
        whole.encoder.state_dict().items(), resumed.encoder.state_dict().items(), strict=True
    ):
        assert torch.equal(one, other), name
    assert (whole.nli_head is None) == (resumed.nli_head is None)
    if whole.nli_head and resumed.nli_head:
        assert torch.equal(whole.nli_head["weight"], resumed.nli_head["weight"])


def test_a_disk_full_at_the_first_checkpoint_promises_none_before_it(
    configure: Callable[..., TrainConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: EncoderTrainer, folder: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(EncoderTrainer, "_save_rng_state", full)
    with pytest.raises(TrainingError, match="It was the first; make room and resume, which starts again[.]"):
        run(configure("nli", "full"))
