"""A person's own table: scored on any scale, or refused in one clear sentence."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.encoders.folder import FACTS_FILE
from explorer.encoders.registry import Registry
from explorer.errors import DataError
from explorer.figures.theme import identities
from explorer.operations.evaluate_table import evaluate_table
from explorer.training.export import save_encoder
from explorer.ui.evaluate_tables import own_table

ROWS = [(animal, verb) for animal in ("dog", "cat", "bird", "horse", "child") for verb in ("runs", "sleeps")]


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory, tiny_encoder: Callable) -> Registry:
    root = tmp_path_factory.mktemp("encoders")
    for pooling in ("mean", "cnn"):
        save_encoder(tiny_encoder("bert", pooling), root / f"bert-{pooling}", {})
    return Registry([root])


def table(tmp_path: Path, scores: list[object], header: str = "sentence1,sentence2,score") -> Path:
    rows = [f"the {animal} {verb},a {animal},{score}" for (animal, verb), score in zip(ROWS, scores, strict=False)]
    path = tmp_path / "own.csv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def test_evaluate_table_takes_any_scale(registry: Registry, tmp_path: Path) -> None:
    small = evaluate_table(registry, table(tmp_path, [n / 10 for n in range(10)]))
    large = evaluate_table(registry, table(tmp_path, [n * 7 - 20 for n in range(10)]))
    assert list(small.scores) == ["bert-mean", "bert-cnn"]
    for name, score in small.scores.items():
        assert score.correlation.spearman == pytest.approx(large.scores[name].correlation.spearman)
        assert score.spearman_interval is not None
    assert "n = 10." in small.comparisons[0]
    assert list(small.pairs.columns) == ["sentence1", "sentence2", "score", "bert-mean", "bert-cnn"]


@pytest.mark.parametrize(
    ("scores", "why"),
    [
        ([3] * 10, "undefined: all gold scores are equal"),
        ([3], "undefined: 1 pair, at least 2 are needed"),
    ],
)
def test_what_is_undefined_is_said(registry: Registry, tmp_path: Path, scores: list, why: str) -> None:
    found = evaluate_table(registry, table(tmp_path, scores))
    assert {score.correlation.why for score in found.scores.values()} == {why}
    assert found.comparisons == ()


@pytest.mark.parametrize(
    ("scores", "header", "message"),
    [
        ([1, 2, "three"], "sentence1,sentence2,score", r"own\.csv, row 3: score 'three' is not a number"),
        ([1, "", 2], "sentence1,sentence2,score", "row 2: score '' is not a number"),
        ([1, "inf"], "sentence1,sentence2,score", "row 2: the score is infinite"),
        ([1, 2], "sentence1,sentence2,gold", "has no column 'score'"),
        ([1, 2], "first,second,score", "has no column 'sentence1'; its columns are first, second, score"),
        ([], "sentence1,sentence2,score", "has a header but no rows"),
    ],
)
def test_a_bad_table_is_named(registry: Registry, tmp_path: Path, scores: list, header: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        evaluate_table(registry, table(tmp_path, scores, header))


def test_too_long_a_table_is_refused(registry: Registry, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has 10 rows; at most 9 are scored here"):
        evaluate_table(registry, table(tmp_path, list(range(10))), most_rows=9)


def test_pairs_an_encoder_was_trained_on_are_told_beside_its_score(tmp_path: Path, tiny_encoder: Callable) -> None:
    own = table(tmp_path, list(range(10)))
    record = [{"table": "mine/own.csv", "use": "train", "sha256": hashlib.sha256(own.read_bytes()).hexdigest()}]
    facts = [{"training_data": record}, {"training_data": [{"table": "x/gone.tsv", "use": "train", "sha256": "0"}]}]
    for name, known in zip(("seen", "unknown"), facts, strict=True):
        save_encoder(tiny_encoder("bert", "mean"), tmp_path / "e" / name, {FACTS_FILE: json.dumps(known)})
    found = evaluate_table(Registry([tmp_path / "e"]), own, encoders=["seen", "unknown"])
    assert found.seen["seen"].pairs == 10
    assert "x/gone.tsv is not here" in found.seen["unknown"].unknown
    assert "Mind: seen was trained on 10 of these 10 pairs" in found.comparisons[0]
    shown = own_table(found, identities(Registry([tmp_path / "e"]).scan()[0]))
    assert "10 of 10 pairs are in its training data" in shown
    assert "unknown whether these pairs are in its training data" in shown
