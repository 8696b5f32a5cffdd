"""Evaluation agrees with sentence-transformers' own evaluator and names what it cannot do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sentence_transformers.sentence_transformer.evaluation import EmbeddingSimilarityEvaluator

from explorer.encoders.registry import Registry
from explorer.errors import DataError, SettingError
from explorer.operations.evaluate import evaluate
from explorer.training.export import save_encoder

ROWS = [
    (5, "a dog runs", "the dog runs"),
    (3, "a man eats bread", "a man eats soup"),
    (3, "rain on the street", "snow on the street"),
    (1, "two cats", "a big house"),
    (0, "the boy reads", "a car"),
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "stsb"
    folder.mkdir(parents=True)
    lines = ["score\tsentence1\tsentence2", *("\t".join(map(str, row)) for row in ROWS)]
    (folder / "test.tsv").write_text("\n".join(lines) + "\n")
    (folder / "dev.tsv").write_text("score\tsentence1\tsentence2\n3\ta\tb\n3\ta dog\tb\n")
    return tmp_path / "data"


@pytest.fixture
def registry(tmp_path: Path, tiny_encoder: Callable) -> Registry:
    for pooling in ("mean", "cnn"):
        save_encoder(tiny_encoder("bert", pooling), tmp_path / "encoders" / f"bert-{pooling}", {}, half=False)
    return Registry([tmp_path / "encoders"])


def test_evaluate_equals_the_evaluator_of_sentence_transformers(registry: Registry, data: Path) -> None:
    scores = list(evaluate(registry, data, precision="float32"))
    assert [(s.encoder, s.task, s.split, s.n, s.precision) for s in scores] == [
        ("bert-mean", "stsb", "test", 5, "float32"),
        ("bert-cnn", "stsb", "test", 5, "float32"),
    ]
    gold, first, second = zip(*ROWS, strict=True)
    evaluator = EmbeddingSimilarityEvaluator(list(first), list(second), list(gold), name="x", write_csv=False)
    for score in scores:
        theirs = evaluator(registry.load(score.encoder))
        assert score.spearman == pytest.approx(100 * theirs["x_spearman_cosine"], abs=1e-4)
        assert score.pearson == pytest.approx(100 * theirs["x_pearson_cosine"], abs=1e-4)


def test_evaluate_says_why_a_score_is_undefined(registry: Registry, data: Path) -> None:
    score = next(evaluate(registry, data, split="dev"))
    assert (score.spearman, score.why) == (None, "undefined: all gold scores are equal")


def test_evaluate_reports_progress(registry: Registry, data: Path) -> None:
    calls: list[tuple[str, int, int]] = []
    list(evaluate(registry, data, encoders=["bert-cnn"], progress=lambda *call: calls.append(call)))
    assert calls[-1] == ("bert-cnn on stsb test", 10, 10)


def test_evaluate_names_what_it_does_not_know(registry: Registry, data: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="Unknown task 'sts99'"):
        list(evaluate(registry, data, tasks=["sts99"]))
    with pytest.raises(SettingError, match="no split 'train'"):
        list(evaluate(registry, data, split="train"))
    with pytest.raises(DataError, match="No file at"):
        list(evaluate(registry, tmp_path / "nowhere"))
