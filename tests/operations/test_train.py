"""A whole fine-tuning leaves one complete folder, and its trained weights survive a failure while that is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from explorer.encoders.encode import encode
from explorer.encoders.load import load_encoder
from explorer.encoders.registry import Registry
from explorer.operations import train as operation
from explorer.operations.score import read_references
from explorer.operations.train import fine_tune
from explorer.training.config import TrainConfig

ROWS = "score\tsentence1\tsentence2\n5\ta dog\ta dog runs\n1\ta cat\ta house\n2\tred ball\ta ball\n4\train\tsnow\n"


@pytest.fixture
def config(tmp_path: Path, tiny_backbone: Callable) -> TrainConfig:
    (tmp_path / "stsb").mkdir()
    for name in ("train", "dev", "test"):
        (tmp_path / "stsb" / f"{name}.tsv").write_text(ROWS)
    return TrainConfig(
        backbone=str(tiny_backbone("bert")),
        pooling="cnn",
        train=str(tmp_path / "stsb" / "train.tsv"),
        dev=str(tmp_path / "stsb" / "dev.tsv"),
        output=str(tmp_path / "runs" / "mine"),
        epochs=1,
        batch_size=2,
        max_length=16,
    )


def test_fine_tune_writes_a_complete_encoder(config: TrainConfig, tmp_path: Path) -> None:
    result = fine_tune(config, test=str(tmp_path / "stsb" / "test.tsv"), command="python -m explorer train ...")
    registry = Registry([tmp_path / "runs"])
    info = registry.info("mine")
    assert set(read_references(info)) == {"stsb_dev", "random"}
    assert info.facts["command"] == "python -m explorer train ..."
    assert info.facts["training_data"][0]["n"] == 4
    assert sum(info.facts["architecture"]["parameters"].values()) == info.parameters
    assert not (info.folder / ".training").exists()
    assert TrainConfig.load(info.folder) == config
    texts = ["a dog", "rain in the street"]
    np.testing.assert_allclose(  # float16 storage is all that lies between
        encode(load_encoder(info.folder), texts, precision="float32"),
        encode(result.encoder, texts, precision="float32"),
        atol=5e-3,
    )


def test_an_encoder_trained_further_has_seen_what_the_first_one_saw(config: TrainConfig, tmp_path: Path) -> None:
    fine_tune(config)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "train.tsv").write_text(ROWS)
    more = {"train": str(tmp_path / "more" / "train.tsv"), "output": str(tmp_path / "runs" / "further")}
    fine_tune(replace(config, backbone=config.output, **more))
    record = Registry([tmp_path / "runs"]).info("further").facts["training_data"]
    assert [row["table"] for row in record if row["use"] == "train"] == ["stsb/train.tsv", "more/train.tsv"]


def test_fine_tune_keeps_the_trained_weights_when_writing_fails(
    config: TrainConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(operation, "put_in_place", full)
        with pytest.raises(OSError, match="No space left"):
            fine_tune(config)
    assert list((Path(config.output) / ".training").glob("checkpoint-*"))
    fine_tune(config, resume=True)
    facts = json.loads((Path(config.output) / "explorer.json").read_text())
    assert facts["best_step"] >= 1
