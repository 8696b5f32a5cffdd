"""TrainConfig: written and read back whole, with the standard library alone."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, asdict
from pathlib import Path

import pytest

from explorer.errors import SettingError
from explorer.training.config import CONFIG_FILE, TrainConfig

CONFIG = TrainConfig("backbone", "cnn", "train.tsv", "dev.tsv", "out", epochs=1.5, seed=3)


def test_load_gives_back_what_save_wrote(tmp_path: Path) -> None:
    CONFIG.save(tmp_path / "new" / "folder")
    assert TrainConfig.load(tmp_path / "new" / "folder") == CONFIG


def test_save_writes_every_field(tmp_path: Path) -> None:
    CONFIG.save(tmp_path)
    assert json.loads((tmp_path / CONFIG_FILE).read_text(encoding="utf-8")) == asdict(CONFIG)


def test_config_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        CONFIG.seed = 4  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("batch_size", 0),
        ("epochs", -1.0),
        ("learning_rate", float("nan")),
        ("evaluations_per_epoch", 0),
        ("warmup_ratio", 1.5),
        ("weight_decay", -0.1),
        ("max_length", 2),
    ],
)
def test_train_config_refuses_a_number_outside_its_range(name: str, value: float) -> None:
    with pytest.raises(SettingError, match=f"{name} is {value}"):
        TrainConfig("b", "mean", "t", "d", "o", **{name: value})
