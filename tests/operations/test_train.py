"""A whole fine-tuning leaves one complete folder, and its trained weights survive a failure while that is written."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import CrossEncoder
from transformers import DistilBertConfig, DistilBertModel

from explorer.encoders.build import build_encoder
from explorer.encoders.encode import encode
from explorer.encoders.folder import EncoderInfo
from explorer.encoders.load import load_encoder
from explorer.encoders.nli_head import read_head
from explorer.encoders.registry import Registry
from explorer.errors import TrainingError
from explorer.operations import train as operation
from explorer.operations.score import read_references
from explorer.operations.train import fine_tune
from explorer.paths import downloads_folder
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


def test_facts_and_card_name_the_length_that_is_read(config: TrainConfig, tmp_path: Path) -> None:
    fine_tune(replace(config, max_length=1000, pooling="mean"))
    info = Registry([tmp_path / "runs"]).info("mine")
    assert info.max_length == info.facts["architecture"]["max_length"] == 64
    card = (info.folder / "README.md").read_text()
    assert "64 word pieces" in card and "Word pieces past 64 are not read" in card


def test_distilbert_is_trained_to_the_end(config: TrainConfig, tmp_path: Path) -> None:
    made = DistilBertConfig(vocab_size=200, dim=16, hidden_dim=32, n_layers=2, n_heads=2, max_position_embeddings=64)
    DistilBertModel(made).save_pretrained(tmp_path / "distilbert")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(Path(config.backbone) / name, tmp_path / "distilbert")
    fine_tune(replace(config, backbone=str(tmp_path / "distilbert")))
    info = Registry([tmp_path / "runs"]).info("mine")
    assert (info.family, info.embedding_dimension) == ("distilbert", 16)
    assert info.facts["architecture"]["intermediate_size"] == 32
    assert encode(load_encoder(info.folder), ["a dog"], precision="float32").shape == (1, 16)


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


LABELLED = "label\tsentence1\tsentence2\n" + "\n".join(
    f"{label}\ta {animal} {verb}\ta {animal} in the {place}"
    for animal, verb in (("dog", "runs"), ("cat", "sleeps"), ("bird", "sings"))
    for label, place in (("entailment", "house"), ("neutral", "snow"), ("contradiction", "river"))
)


@pytest.fixture
def labelled(tmp_path: Path) -> str:
    (tmp_path / "labelled.tsv").write_text(LABELLED + "\n", encoding="utf-8")
    return str(tmp_path / "labelled.tsv")


def encoder_in(tmp_path: Path) -> EncoderInfo:
    return Registry([tmp_path / "runs"]).info("mine")


@pytest.mark.parametrize("objective", ["nli", "nli-sts"])
def test_fine_tune_leaves_the_softmax_head_beside_the_encoder(
    config: TrainConfig, labelled: str, tmp_path: Path, objective: str
) -> None:
    tables = {"train": labelled} if objective == "nli" else {"nli": labelled}
    result = fine_tune(replace(config, objective=objective, **tables))
    head = read_head(encoder_in(tmp_path))
    assert head is not None
    assert result.nli_head is not None
    np.testing.assert_array_equal(head.weight, result.nli_head["weight"].numpy())
    assert head.labels == ("entailment", "neutral", "contradiction")
    assert ("end of the stage NLI" in head.remark) == (objective == "nli-sts")
    card = (tmp_path / "runs" / "mine" / "README.md").read_text(encoding="utf-8")
    assert "nli_head.safetensors holds the softmax layer" in card
    assert "labelled.tsv: 9 pairs" in card


@pytest.mark.parametrize("objective", ["triplet", "ranking"])
def test_fine_tune_on_labelled_pairs(config: TrainConfig, labelled: str, tmp_path: Path, objective: str) -> None:
    fine_tune(replace(config, objective=objective, train=labelled))
    assert objective in encoder_in(tmp_path).facts["hyperparameters"]["objective"]
    assert not (tmp_path / "runs" / "mine" / "nli_head.safetensors").exists()


def test_fine_tune_writes_an_ordinary_cross_encoder(config: TrainConfig, tmp_path: Path) -> None:
    result = fine_tune(replace(config, objective="cross-encoder"))
    info = encoder_in(tmp_path)
    assert info.kind == info.facts["kind"] == "cross-encoder"
    assert info.parameters == sum(info.facts["architecture"]["parameters"].values())
    pairs = [("a dog", "a dog runs"), ("snow", "a cat")]
    plain = CrossEncoder(str(info.folder), device="cpu")
    np.testing.assert_allclose(plain.predict(pairs), result.encoder.predict(pairs), atol=1e-5)
    assert "CrossEncoder(" in (info.folder / "README.md").read_text(encoding="utf-8")
    assert not (info.folder / "reference_cosines.tsv").exists()


def test_fine_tune_in_the_ordinary_way_and_without_training(config: TrainConfig, tmp_path: Path) -> None:
    fine_tune(replace(config, siamese=False, pooling="mean"))
    assert "ordinary way" in encoder_in(tmp_path).facts["objective"]
    fine_tune(replace(config, epochs=0.0, output=str(tmp_path / "runs" / "plain"), pooling="cls"))
    info = Registry([tmp_path / "runs"]).info("plain")
    assert info.facts["best_step"] == 0
    assert [table["use"] for table in info.facts["training_data"]] == ["scored"]
    texts = ["a dog", "rain in the street"]
    backbone = build_encoder(config.backbone, "cls", max_length=16)
    np.testing.assert_allclose(
        encode(load_encoder(info.folder), texts, precision="float32"),
        encode(backbone.eval(), texts, precision="float32"),
        atol=5e-3,
    )


def test_fine_tune_on_another_table_does_not_call_it_stsb(config: TrainConfig, tmp_path: Path) -> None:
    other = tmp_path / "pairs.tsv"
    rows = [line.split("\t", 1) for line in ROWS.splitlines()]
    splits = ["split", "train", "train", "dev", "dev"]
    other.write_text("\n".join("\t".join([s, *row]) for s, row in zip(splits, rows, strict=True)) + "\n")
    events: list[str] = []
    fine_tune(replace(config, train=str(other), dev=str(other)), report=lambda kind, **_: events.append(kind))
    info = encoder_in(tmp_path)
    assert set(info.facts["scores"]) == {"dev_spearman", "dev_pearson"}
    assert [table["n"] for table in info.facts["training_data"]] == [2, 2]
    assert set(read_references(info)) == {"random"}
    assert events[-1] == "saving"


@pytest.mark.parametrize(
    ("split", "path", "name"),
    [
        ("dev", "data/stsb/dev.tsv", "stsb_dev"),
        ("test", "data/stsb/test.tsv", "stsb_test"),
        ("dev", "data/stsb/test.tsv", "dev"),
        ("dev", "data/stsb/train.tsv", "dev"),
        ("dev", "uploads/my_stsb_dev.tsv", "dev"),
        ("dev", "stsb-like/dev.tsv", "dev"),
    ],
)
def test_only_stsbs_own_splits_are_called_stsb(split: str, path: str, name: str) -> None:
    assert operation._named(split, path) == name
    assert operation._named(split, str(downloads_folder("tables") / "stsb.parquet")) == f"stsb_{split}"


def test_fine_tune_refuses_to_put_in_place_what_scores_otherwise(
    config: TrainConfig, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(operation, "_ROUNDING", -2.0)
        with pytest.raises(TrainingError, match="checkpoints are kept"):
            fine_tune(config)
    assert not (tmp_path / "runs" / "mine" / "modules.json").exists()
    fine_tune(config, resume=True)
    assert encoder_in(tmp_path).facts["best_step"] >= 1


def test_a_figure_that_storing_has_changed_is_no_reason_to_resume() -> None:
    with pytest.raises(TrainingError, match="resuming would end the same. Start a new run with a lower learning_rate"):
        operation._check_same_score(-0.0289, -2.18, 240)
