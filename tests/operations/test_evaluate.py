"""Evaluation agrees with sentence-transformers' own evaluator and names what it cannot do."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
from sentence_transformers.sentence_transformer.evaluation import EmbeddingSimilarityEvaluator

from explorer.analysis.scoring import compare
from explorer.analysis.sts import Aggregation
from explorer.encoders.cache import EmbeddingCache
from explorer.encoders.encode import encode
from explorer.encoders.folder import FACTS_FILE
from explorer.encoders.registry import Registry
from explorer.errors import DataError, EncoderError, SettingError
from explorer.operations.evaluate import evaluate
from explorer.operations.task_score import Subset
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


def test_evaluate_equals_that_evaluator_to_a_millionth_on_the_same_vectors(
    registry: Registry, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (score,) = evaluate(registry, data, encoders=["bert-cnn"], precision="float32")
    encoder = registry.load("bert-cnn")
    monkeypatch.setattr(encoder, "encode", lambda texts, **_: encode(encoder, texts, precision="float32"))
    gold, first, second = zip(*ROWS, strict=True)
    theirs = EmbeddingSimilarityEvaluator(list(first), list(second), list(gold), name="x", write_csv=False)(encoder)
    assert score.spearman == pytest.approx(100 * theirs["x_spearman_cosine"], abs=1e-6)
    assert score.pearson == pytest.approx(
        100 * theirs["x_pearson_cosine"], abs=1e-4
    )  # x 100; their cosines are float32


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


TRAINING = [(5, "The dog runs!", "A dog runs."), (2, "two cats", "the river"), (1, "a car", "Rain on the street")]
FORUM = [
    (number % 6, f"the {animal} {verb}", f"a {animal} {other}")
    for number, (animal, verb, other) in enumerate(
        (animal, verb, other)
        for animal in ("dog", "cat", "bird", "horse")
        for verb in ("runs", "sleeps")
        for other in ("sings", "eats")
    )
]


def write_pairs(path: Path, rows: list[tuple], **columns: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    header = "\t".join([*columns, "score", "sentence1", "sentence2"])
    lines = ["\t".join([*columns.values(), *map(str, row)]) for row in rows]
    path.write_text("\n".join([header, *lines]) + "\n")


@pytest.fixture
def known(tmp_path: Path, data: Path, tiny_encoder: Callable) -> Registry:
    """One encoder whose record names its training table, and one that says nothing."""
    write_pairs(data / "stsb" / "train.tsv", TRAINING)
    digest = hashlib.sha256((data / "stsb" / "train.tsv").read_bytes()).hexdigest()
    record = {
        "training_data": [
            {"table": "stsb/train.tsv", "n": 3, "sha256": digest, "use": "train"},
            {"table": "stsb/dev.tsv", "n": 2, "sha256": "x", "use": "selects the checkpoint"},
        ]
    }
    root = tmp_path / "known"
    save_encoder(tiny_encoder("bert", "mean"), root / "bert-mean", {FACTS_FILE: json.dumps(record)}, half=False)
    save_encoder(tiny_encoder("bert", "cnn"), root / "bert-cnn", {}, half=False)
    return Registry([root])


def test_evaluate_separates_clean_from_overlapping_pairs(known: Registry, data: Path) -> None:
    scores = list(evaluate(known, data, subsets=list(Subset)))
    assert [(s.encoder, s.subset, s.n) for s in scores] == [
        ("bert-mean", "all", 5),
        ("bert-mean", "clean", 4),
        ("bert-mean", "overlap", 1),
        ("bert-cnn", "all", 5),
        ("bert-cnn", "clean", 0),
        ("bert-cnn", "overlap", 0),
    ]
    assert asdict(scores[0].contamination) == {
        "training": "stsb/train.tsv",
        "unknown": "",
        "n": 5,
        "pairs": 1,
        "either": 4,
        "both": 1,
    }
    assert scores[4].spearman is None
    assert scores[4].why == "unknown: the encoder's folder does not say what it was trained on"
    assert scores[2].why == "undefined: 1 pair, at least 2 are needed"
    assert scores[3].contamination.training == "unknown"
    assert "does not say what it was trained on" in scores[3].contamination.unknown


def test_another_training_table_of_the_same_name_is_unknown(known: Registry, data: Path) -> None:
    write_pairs(data / "stsb" / "train.tsv", TRAINING[:2])
    score = next(evaluate(known, data, subsets=list(Subset)))
    assert (score.subset, score.contamination.training) == ("all", "unknown")
    assert "is not the file it was trained on" in score.contamination.unknown
    (data / "stsb" / "train.tsv").unlink()
    assert "is not in the data folder" in next(evaluate(known, data)).contamination.unknown


def test_evaluate_gives_every_aggregation_of_a_task_with_parts(registry: Registry, data: Path) -> None:
    path = data / "sts" / "sts12.tsv"
    write_pairs(path, ROWS, file="news")
    with path.open("a") as file:
        file.writelines(f"forum\t{score}\t{first}\t{second}\n" for score, first, second in FORUM)
    mean, cnn = evaluate(registry, data, tasks=["sts12"])
    assert list(mean.table.aggregations) == list(Aggregation)
    assert {name: part.correlation.n for name, part in mean.table.parts.items()} == {"news": 5, "forum": 16}
    assert mean.interval.low < mean.spearman < mean.interval.high
    found = compare(mean.table.all_pairs, cnn.table.all_pairs)
    assert (found.n, found.value) == (21, pytest.approx(mean.spearman - cnn.spearman))


def test_evaluate_from_the_cache_gives_the_same_and_loads_no_encoder(
    registry: Registry, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = EmbeddingCache(tmp_path / "cache")
    plain, first = list(evaluate(registry, data)), list(evaluate(registry, data, cache=cache))
    monkeypatch.setattr(registry, "load", lambda name: pytest.fail("loaded"))
    again = list(evaluate(registry, data, cache=cache))
    assert [s.spearman for s in plain] == [s.spearman for s in first] == [s.spearman for s in again]


def test_an_encoder_that_does_not_load_is_passed_over_unless_it_is_named(
    registry: Registry, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = registry.load

    def broken(name: str) -> object:
        if name == "bert-mean":
            raise EncoderError("bert-mean: its weights do not fit")
        return load(name)

    monkeypatch.setattr(registry, "load", broken)
    assert [score.encoder for score in evaluate(registry, data)] == ["bert-cnn"]
    with pytest.raises(EncoderError, match="do not fit"):
        list(evaluate(registry, data, encoders=["bert-mean", "bert-cnn"]))


def test_evaluate_stops_when_progress_raises(registry: Registry, data: Path) -> None:
    def stop(*_: object) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        list(evaluate(registry, data, progress=stop))
