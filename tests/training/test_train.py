"""train on a tiny backbone and a dozen pairs: it ends, keeps the best, stops and resumes to the same weights."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import DATA
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer

from explorer.data.tables import read_pairs
from explorer.encoders.build import build_encoder
from explorer.errors import DataError, EncoderError, TrainingError
from explorer.training.callback import StopOnSignal
from explorer.training.config import CONFIG_FILE, TrainConfig
from explorer.training.train import train

PAIRS = DATA / "pairs.tsv"


@pytest.fixture
def make_config(tiny_backbone: Callable[[str], Path], tmp_path: Path) -> Callable[..., TrainConfig]:
    def make(name: str = "run", family: str = "bert", pooling: str = "mean", **options: Any) -> TrainConfig:
        defaults: dict[str, Any] = {"epochs": 2, "batch_size": 4, "learning_rate": 1e-3, "max_length": 32}
        paths = {"backbone": str(tiny_backbone(family)), "pooling": pooling, "output": str(tmp_path / name)}
        tables = {"train": str(PAIRS), "dev": str(PAIRS)}
        return TrainConfig(**{**defaults, **paths, **tables, **options})

    return make


def spearman_on_dev(encoder: SentenceTransformer) -> float:
    pairs = read_pairs(PAIRS)
    first, second = (
        encoder.encode(pairs[column].tolist(), convert_to_tensor=True, show_progress_bar=False)
        for column in ("sentence1", "sentence2")
    )
    return float(spearmanr(torch.cosine_similarity(first, second).tolist(), pairs["score"])[0])


def weights(encoder: SentenceTransformer) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in encoder.parameters()])


@pytest.mark.parametrize(
    ("family", "pooling"), [("bert", "mean"), ("bert", "cnn"), ("albert", "cnn"), ("albert", "cls")]
)
def test_train_ends_with_the_best_checkpoint_and_its_configuration(
    make_config: Callable[..., TrainConfig], tmp_path: Path, family: str, pooling: str
) -> None:
    config = make_config(family=family, pooling=pooling)
    result = train(config)
    assert not result.stopped
    assert result.dev_spearman == pytest.approx(spearman_on_dev(result.encoder.eval()), abs=1e-3)
    assert result.best_step in range(1, 7)
    assert TrainConfig.load(tmp_path / "run") == config
    result.encoder.save(str(tmp_path / "saved"), create_model_card=False)
    assert (tmp_path / "saved" / "model.safetensors").is_file()


def test_train_learns(make_config: Callable[..., TrainConfig]) -> None:
    config = make_config(epochs=12, learning_rate=4e-3, evaluations_per_epoch=1)
    before = spearman_on_dev(build_encoder(config.backbone, "mean", max_length=32))
    result = train(config)
    assert result.dev_spearman is not None
    assert result.dev_spearman > before + 0.3


def test_train_stopped_and_resumed_ends_like_one_run(
    make_config: Callable[..., TrainConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = train(make_config("whole", pooling="cnn"))
    config = make_config("halved", pooling="cnn")
    with monkeypatch.context() as patch:
        stop_at_step(patch, 4)
        stopped = train(config)
    assert stopped.stopped
    assert stopped.dev_spearman is None
    assert (tmp_path / "halved" / ".training" / "checkpoint-4").is_dir()
    with pytest.raises(TrainingError, match="unfinished run"):
        train(config)
    with pytest.raises(TrainingError, match="started with epochs 2, not 3"):
        train(replace(config, epochs=3), resume=True)
    resumed = train(config, resume=True)
    assert not resumed.stopped
    assert resumed.best_step == whole.best_step
    assert resumed.dev_spearman == pytest.approx(whole.dev_spearman, abs=1e-6)
    assert torch.allclose(weights(resumed.encoder), weights(whole.encoder), atol=1e-6)


def test_train_is_decided_by_its_seed(make_config: Callable[..., TrainConfig]) -> None:
    one, same, other = (
        weights(train(make_config(name, epochs=1, seed=seed)).encoder) for name, seed in (("a", 5), ("b", 5), ("c", 6))
    )
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_train_gives_the_head_its_own_learning_rate(make_config: Callable[..., TrainConfig]) -> None:
    still = make_config("still", pooling="cnn", epochs=1, head_learning_rate=0.0, weight_decay=0.0, warmup_ratio=0.0)
    before = build_encoder(still.backbone, "cnn", max_length=32, seed=still.seed)
    after = train(still).encoder
    assert torch.equal(before[1].convolutions[1].weight, after[1].convolutions[1].weight.cpu())
    assert not torch.equal(weights(before), weights(after))


def test_train_with_less_than_an_evaluation_interval_still_scores_dev(make_config: Callable[..., TrainConfig]) -> None:
    assert train(make_config(epochs=0.3, batch_size=2, evaluations_per_epoch=1)).best_step is not None


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"backbone": "nowhere"}, EncoderError, "Backbone 'nowhere' cannot be loaded"),
        ({"score_scale": 1.0}, DataError, "pairs.tsv, row 1: score 4.5 is outside 0 to 1"),
    ],
)
def test_train_refuses_before_it_writes(
    make_config: Callable[..., TrainConfig], tmp_path: Path, options: dict, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        train(make_config(**options))
    assert not (tmp_path / "run" / CONFIG_FILE).exists()


def test_train_refuses_to_resume_nothing(make_config: Callable[..., TrainConfig]) -> None:
    with pytest.raises(TrainingError, match="Nothing to resume"):
        train(make_config(), resume=True)


def stop_at_step(patch: pytest.MonkeyPatch, step: int) -> None:
    """Makes the process signal itself, as Ctrl-C would, at the end of that step."""
    original = StopOnSignal.on_step_end

    def on_step_end(self: StopOnSignal, args: Any, state: Any, control: Any, **kwargs: Any) -> Any:
        if state.global_step == step:
            signal.raise_signal(signal.SIGINT)
        return original(self, args, state, control, **kwargs)

    patch.setattr(StopOnSignal, "on_step_end", on_step_end)
