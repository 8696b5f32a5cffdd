"""The presets: every row of the paper's table 1 is there, and each is a valid configuration."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import absent
from training_runs import run

from explorer.data.paper import read_table
from explorer.paths import CHECKPOINTS
from explorer.training.config import Objective
from explorer.training.presets import SAMPLE_PAIRS, Preset, preset, presets


def test_every_row_of_table_1_has_a_preset() -> None:
    rows = {tuple(map(str, row)) for row in read_table("table1")[["training", "backbone", "embedding"]].values}
    found = [item.row[1:] for item in presets() if item.row and item.row[0] == "table 1"]
    assert set(found) == rows
    assert len(found) == len(rows) == 28


def test_presets_have_names_of_their_own() -> None:
    names = [item.name for item in presets()]
    assert len(set(names)) == len(names)
    found = preset("stsb-albert-siamese-cnn")
    assert found is not None
    assert found.settings["pooling"] == "cnn"
    assert preset("stsb-gpt") is None


@pytest.mark.parametrize("item", presets(), ids=lambda item: item.name)
def test_preset_is_a_valid_configuration(item: Preset, tmp_path: Path) -> None:
    config = item.config("out", **item.tables(tmp_path))
    assert config.backbone == item.backbone
    assert bool(config.nli) == (config.objective == Objective.NLI_STS)
    assert item.sentence.endswith(".")
    assert len(item.sentence) < 160


def test_preset_config_takes_changes(tmp_path: Path) -> None:
    found = preset("nli-bert-siamese-mean")
    assert found is not None
    config = found.config("out", train="nli.tsv", dev="dev.tsv", backbone="mine", seed=7, max_steps=10)
    assert (config.backbone, config.train, config.seed, config.max_steps) == ("mine", "nli.tsv", 7, 10)


def test_preset_tables_take_the_labelled_pairs_that_are_there(tmp_path: Path) -> None:
    found = preset("nli-stsb-bert-siamese-cnn")
    assert found is not None
    (tmp_path / "sick").mkdir()
    (tmp_path / "sick" / "train.tsv").touch()
    assert found.tables(tmp_path)["nli"] == str(tmp_path / "sick" / "train.tsv")


def test_classroom_uses_the_shipped_pairs(tmp_path: Path) -> None:
    found = preset("classroom")
    assert found is not None
    config = found.config("out")
    assert config.train == config.dev == str(SAMPLE_PAIRS)


@pytest.mark.usefixtures("every_step")
@pytest.mark.parametrize("item", [item for item in presets() if item.row], ids=lambda item: item.name)
def test_preset_starts_and_makes_ten_steps_on_a_tiny_backbone(
    item: Preset, tables: dict[str, str], tiny_backbone: Callable[[str], Path], tmp_path: Path
) -> None:
    assert item.row is not None
    paths = {"train": tables["labelled" if item.data == "nli" else "graded"], "dev": tables["graded"]}
    nli = {"nli": tables["labelled"]} if item.data == "nli+stsb" else {}
    few = {"max_steps": 10, "batch_size": 2, "max_length": 32, "evaluations_per_epoch": 1}
    backbone = str(tiny_backbone(item.row[2]))
    config = item.config(str(tmp_path / "run"), backbone=backbone, **paths, **nli, **few)
    result, events = run(config)
    assert len(events.of("step")) == {"none": 0, "nli+stsb": 20}.get(item.data, 10)
    assert result.dev_spearman is not None


@pytest.mark.usefixtures("every_step")
@pytest.mark.parametrize("name", ["bert-mean", "bert-cnn", "albert-mean", "albert-cnn"])
def test_preset_makes_ten_steps_on_a_shipped_encoder(name: str, tables: dict[str, str], tmp_path: Path) -> None:
    if not (CHECKPOINTS / name / "model.safetensors").is_file():
        absent(f"no encoder at {CHECKPOINTS / name}", "EXPLORER_REQUIRE_DATA")
    family, layer = name.split("-")
    item = preset(f"nli-{family}-siamese-{layer}")
    assert item is not None
    few = {"max_steps": 10, "batch_size": 2, "max_length": 32, "evaluations_per_epoch": 1}
    config = item.config(
        str(tmp_path / "run"),
        backbone=str(CHECKPOINTS / name),
        train=tables["labelled"],
        dev=tables["graded"],
        **few,
    )
    result, events = run(config)
    assert len(events.of("step")) == 10
    assert result.nli_head is not None
    assert tuple(result.nli_head["weight"].shape) == (3, 3 * 384)
