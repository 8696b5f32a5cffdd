"""Encoders of other folders and of the hub, and the hub's STSb, are evaluated like those that are here."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from loopback_hub import LoopbackHub

from explorer.cli import main
from explorer.data.sts_tasks import TASKS, read_task
from explorer.encoders.registry import Registry
from explorer.errors import DataError, EncoderError
from explorer.operations.evaluate import evaluate
from explorer.operations.evaluation_sources import add_encoder, add_named, stsb_from_hub
from explorer.training.export import save_encoder

SENTENCES = [f"the {animal} {verb}" for animal in ("dog", "cat", "bird", "horse") for verb in ("runs", "eats", "sings")]


@pytest.fixture
def registry(tmp_path: Path, tiny_encoder: Callable) -> Registry:
    save_encoder(tiny_encoder("bert", "cnn"), tmp_path / "here" / "bert-cnn", {}, half=False)
    return Registry([tmp_path / "here"])


@pytest.fixture
def served(hub: LoopbackHub, tmp_path: Path) -> LoopbackHub:
    (tmp_path / "served" / "data").mkdir(parents=True)
    for split in ("train", "validation", "test"):
        rows = {"sentence1": SENTENCES, "sentence2": SENTENCES[::-1], "score": [n % 5 / 5 for n in range(12)]}
        pd.DataFrame(rows).to_parquet(tmp_path / "served" / "data" / f"{split}-00000-of-00001.parquet")
    hub.add("sentence-transformers/stsb", tmp_path / "served", kind="dataset")
    return hub


def test_an_encoder_and_the_table_of_the_hub_are_evaluated(
    registry: Registry, served: LoopbackHub, hub_encoder: str
) -> None:
    data, names = stsb_from_hub(), add_named(registry, [hub_encoder, "bert-cnn"])
    assert names == ["tiny-lab--mean-encoder", "bert-cnn"]
    scores = list(evaluate(registry, data, encoders=names))
    assert [(score.encoder, score.n) for score in scores] == [("tiny-lab--mean-encoder", 12), ("bert-cnn", 12)]
    assert read_task(TASKS["stsb"], "dev", data).pairs["score"].max() == 4
    served.requests.clear()
    assert stsb_from_hub() == data
    assert add_encoder(registry, hub_encoder).name == names[0]
    assert served.requests == []
    assert len(registry.scan()[0]) == 2


def test_the_command_line_evaluates_what_only_the_hub_has(
    registry: Registry, served: LoopbackHub, hub_encoder: str, capsys: pytest.CaptureFixture
) -> None:
    assert main(["evaluate", "--encoders", hub_encoder, "--hub", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["encoder"], row["task"], row["n"]) == ("tiny-lab--mean-encoder", "stsb", 12)
    assert row["interval"][0] <= row["spearman"] <= row["interval"][1]


def test_an_encoder_of_another_folder_is_added_alone(
    registry: Registry, tmp_path: Path, tiny_encoder: Callable
) -> None:
    for name in ("mine", "not-asked-for"):
        save_encoder(tiny_encoder("albert", "mean"), tmp_path / "there" / name, {})
    assert add_named(registry, [str(tmp_path / "there" / "mine")]) == ["mine"]
    add_encoder(registry, str(tmp_path / "there" / "mine"))
    assert [info.name for info in registry.scan()[0]] == ["bert-cnn", "mine"]
    assert add_named(registry, None) is None
    save_encoder(tiny_encoder("albert", "mean"), tmp_path / "elsewhere" / "mine", {})
    with pytest.raises(EncoderError, match="An encoder named mine is here already"):
        add_encoder(registry, str(tmp_path / "elsewhere" / "mine"))


def test_what_cannot_be_had_is_named(registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXPLORER_CACHE", str(tmp_path / "cache"))
    for asked, said in (
        (" ", "Name a folder"),
        ("/no/such/folder", "There is no folder '/no/such/folder' here"),
        (str(tmp_path), "modules.json is missing"),
        ("someone/something", "start with --hub"),
    ):
        with pytest.raises(EncoderError, match=said):
            add_encoder(registry, asked)
    with pytest.raises(DataError, match="start with --hub"):
        stsb_from_hub()
