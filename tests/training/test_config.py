"""TrainConfig: written and read back whole, with the standard library alone."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, asdict, replace
from pathlib import Path
from typing import Any

import pytest

from explorer.errors import SettingError
from explorer.training.config import CONFIG_FILE, Objective, TrainConfig, suggested_settings

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


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"objective": "sst"}, "objective is 'sst'; it must be one of sts, nli, triplet"),
        ({"objective": "nli-sts"}, "needs a table of labelled pairs as nli"),
        ({"nli": "nli.tsv"}, "give it as train"),
        ({"siamese": False, "objective": "ranking", "pooling": "mean"}, "siamese is False"),
        ({"siamese": False}, "siamese is False"),
        ({"objective": "cross-encoder", "epochs": 0}, "epochs is 0"),
        ({"device": "tpu"}, "device is 'tpu'"),
        ({"device": "cuda:one"}, "device is 'cuda:one'"),
        ({"epochs": "3"}, "epochs is '3'; it must be of kind float"),
        ({"seed": True}, "seed is 'True'"),
        ({"stop_on_nan": 1}, "stop_on_nan is '1'; it must be of kind bool"),
        ({"pooling": "max"}, "pooling is 'max'"),
    ],
)
def test_train_config_refuses_what_does_not_go_together(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        replace(CONFIG, **settings)


def test_load_reads_what_was_written_before_there_were_objectives(tmp_path: Path) -> None:
    old = {
        name: value for name, value in asdict(CONFIG).items() if name in ("backbone", "pooling", "train", "dev", "seed")
    }
    (tmp_path / CONFIG_FILE).write_text(json.dumps({**old, "output": "out", "epochs": 1.5}), encoding="utf-8")
    assert TrainConfig.load(tmp_path) == CONFIG
    assert CONFIG.objective == Objective.STS


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"optimizer": "sgd"}, "Unknown setting 'optimizer'"),
        ({"backbone": "b"}, "'pooling' is missing"),
        (["backbone"], "Unknown setting"),
    ],
)
def test_from_mapping_names_what_is_wrong(settings: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        TrainConfig.from_mapping(settings)


def test_suggested_settings_go_slower_with_albert() -> None:
    bert, albert = suggested_settings("bert"), suggested_settings("albert")
    assert albert["learning_rate"] < bert["learning_rate"]
    assert albert["warmup_ratio"] > bert["warmup_ratio"]


@pytest.mark.parametrize("objective", list(Objective))
def test_suggested_settings_are_settings(objective: Objective) -> None:
    nli = {"nli": "nli.tsv"} if objective is Objective.NLI_STS else {}
    replace(CONFIG, objective=objective.value, **nli, **suggested_settings("albert", objective))


@pytest.mark.parametrize(
    "settings",
    [
        {"seed": 2**32},
        {"learning_rate": 10**400},
        {"epochs": 1e308},
        {"epochs": float("inf")},
        {"max_steps": 10**30},
        {"device": "cuda:٣"},
        {"device": "cuda:1,cuda:²"},
    ],
)
def test_what_no_run_can_use_is_refused_at_once(settings: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match=f"^{next(iter(settings))} is "):
        replace(CONFIG, **settings)


def test_equal_settings_are_equal_in_writing() -> None:
    whole, broken = (replace(CONFIG, epochs=number(4), score_scale=number(5)) for number in (int, float))
    assert json.dumps(asdict(whole)) == json.dumps(asdict(broken))
    assert isinstance(whole.seed, int)
