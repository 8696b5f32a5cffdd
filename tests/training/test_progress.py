"""What a run reports, and what it warns of or stops on."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor
from training_runs import Events, run
from transformers import TrainerControl

from explorer.analysis.curves import CurveReader, Line
from explorer.errors import TrainingError
from explorer.training.config import Objective, TrainConfig
from explorer.training.evaluator import PEARSON, SPEARMAN, SPREAD, DevEvaluator
from explorer.training.objectives import Stage
from explorer.training.progress import Losses, LossMeans, Progress
from explorer.training.trainers import EncoderTrainer


@pytest.mark.usefixtures("every_step")
def test_a_run_reports_steps_dev_and_checkpoints(configure: Callable[..., TrainConfig]) -> None:
    _, events = run(configure("nli-sts"))
    steps = events.of("step")
    assert [facts["step"] for facts in steps] == list(range(1, 18))
    assert {facts["steps"] for facts in steps} == {17}
    assert [facts["stage"] for facts in steps] == ["nli"] * 7 + ["sts"] * 10
    assert all(facts["learning_rate"] >= 0 and facts["loss"] > 0 and facts["memory_mb"] > 50 for facts in steps)
    assert all(facts["sentences_per_second"] > 0 for facts in steps)
    assert steps[0]["eta_seconds"] > steps[-1]["eta_seconds"] == 0
    dev = events.of("dev")
    assert dev[0]["step"] == 0
    assert dev[-1]["step"] == 17
    assert all(-1 <= facts["spearman"] <= 1 and facts["cosine_spread"] > 0 for facts in dev)
    assert {facts["step"] for facts in events.of("checkpoint")} == {facts["step"] for facts in dev[1:]}


def test_steps_between_are_not_reported_but_the_last_is(
    configure: Callable[..., TrainConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.training.progress.SECONDS_BETWEEN_STEPS", 1e9)
    _, events = run(configure("sts"))
    assert [facts["step"] for facts in events.of("step")] == [10]


def curve(events: Events) -> Line:
    reader = CurveReader()
    reader.feed({"kind": "step", **facts} for facts in events.of("step"))
    return reader.curves().loss


@pytest.mark.parametrize(("most", "at"), [(400, tuple(range(1, 11))), (4, (3, 6, 9, 10))])
def test_the_loss_curve_is_the_same_however_often_steps_are_reported(
    configure: Callable[..., TrainConfig], monkeypatch: pytest.MonkeyPatch, most: int, at: tuple[int, ...]
) -> None:
    monkeypatch.setattr("explorer.training.progress.MOST_LOSSES", most)
    drawn = []
    for name, seconds in (("seldom", 1e9), ("often", 0.0)):
        monkeypatch.setattr("explorer.training.progress.SECONDS_BETWEEN_STEPS", seconds)
        drawn.append(curve(run(configure("sts", name))[1]))
    assert drawn[0] == drawn[1]
    assert drawn[0].steps == at


def test_losses_are_told_as_means_of_blocks() -> None:
    means = LossMeans(801)  # blocks of three
    for step in range(1, 5):
        means.add(step, float(step))
    assert means.take() == [(3, 2.0)]
    assert means.take() == []
    means.add(5, 1.123456789, last=True)
    assert means.take() == [(5, 2.5617)]


@pytest.mark.usefixtures("every_step")
def test_the_mean_speed_leaves_out_what_evaluations_take(
    configure: Callable[..., TrainConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluated = DevEvaluator.__call__

    def slow(self: DevEvaluator, *args: Any, **options: Any) -> dict[str, float]:
        time.sleep(0.5)
        return evaluated(self, *args, **options)

    monkeypatch.setattr(DevEvaluator, "__call__", slow)
    begun = time.monotonic()
    _, events = run(configure("sts"))
    # 80 sentences in what is left of the time without five evaluations of half a second, on however slow a machine.
    assert events.of("step")[-1]["mean_sentences_per_second"] >= 80 / (time.monotonic() - begun - 5 * 0.5)


def test_the_speed_leaves_out_what_evaluations_and_checkpoints_take(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[dict[str, Any]] = []
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("explorer.training.progress.time", SimpleNamespace(monotonic=lambda: clock.now))
    stage = Stage("sts", Objective.STS, [], 30, 30, 10, 0, 2)  # type: ignore[arg-type]
    progress = Progress(lambda kind, **facts: told.append({"kind": kind, **facts}), stage, 30, Losses(), 16)
    state, control = SimpleNamespace(global_step=0, max_steps=30, epoch=0.0), TrainerControl()
    given: Any = {"args": None, "state": state, "control": control}
    progress.on_train_begin(**given)
    for step in range(1, 31):
        clock.now, state.global_step = clock.now + 0.1, step
        progress.on_step_end(lr_scheduler=SimpleNamespace(get_last_lr=lambda: [0.1]), **given)
        if step % 10 == 0:
            clock.now += 3
            progress.on_evaluate(metrics={"eval_" + name: 0.5 for name in (SPEARMAN, PEARSON, SPREAD)}, **given)
            clock.now += 3
            progress.on_save(**given)
    speeds = [facts["sentences_per_second"] for facts in told if facts["kind"] == "step"]
    assert speeds == pytest.approx([320.0] * len(speeds)) and len(speeds) >= 3


def break_loss(patch: pytest.MonkeyPatch, value: float) -> None:
    original = EncoderTrainer.compute_loss

    def compute_loss(self: EncoderTrainer, *args: Any, **options: Any) -> Tensor:
        loss = original(self, *args, **options)
        return loss * value if self.state.global_step == 2 else loss

    patch.setattr(EncoderTrainer, "compute_loss", compute_loss)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_ends_the_run_and_leaves_the_checkpoint_before(
    configure: Callable[..., TrainConfig], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: float
) -> None:
    break_loss(monkeypatch, value)
    with pytest.raises(TrainingError, match=f"The loss is {value} at step 3"):
        run(configure("sts"))
    assert (tmp_path / "run" / ".training" / "checkpoint-2" / "trainer_state.json").is_file()


def test_a_loss_that_is_no_number_is_a_warning_where_it_should_not_stop(
    configure: Callable[..., TrainConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    break_loss(monkeypatch, float("nan"))
    config = configure("sts", stop_on_nan=False)
    result, events = run(config)
    assert len(events.of("warning")) == 1
    assert "lower learning rate" in events.of("warning")[0]["message"]
    assert result.best_step == 2


def collapse(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        "explorer.training.evaluator.encode",
        lambda encoder, texts, **_: torch.ones(len(texts), 16).numpy() + 1e-9 * len(texts),
    )


def test_collapsed_embeddings_are_told_and_stop_the_run_where_asked(
    configure: Callable[..., TrainConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    collapse(monkeypatch)
    with pytest.raises(TrainingError, match="has collapsed at step 2"):
        run(configure("sts", "stops", stop_on_collapse=True))
    with pytest.raises(TrainingError, match="Spearman on dev was undefined"):
        run(configure("sts", "goes-on"))


def test_a_plateau_warns_or_ends_the_stage(
    configure: Callable[..., TrainConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"learning_rate": 0.0, "head_learning_rate": 0.0, "epochs": 4.0, "patience": 2}
    result, events = run(configure("sts", "warns", **options))
    assert len(events.of("warning")) == 1
    assert events.of("step")[-1]["step"] == 20
    ended, stopped = run(configure("sts", "ends", stop_on_plateau=True, **options))
    assert not ended.stopped
    assert stopped.of("dev")[-1]["step"] == 6
    assert ended.best_step == result.best_step == 2
