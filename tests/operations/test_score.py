"""Scoring pairs: symmetric, in context, and with one clear sentence for each bad input."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from explorer.analysis.similarity import percentile
from explorer.data.texts import MAX_CHARACTERS
from explorer.encoders.registry import Registry
from explorer.errors import DataError, EncoderError
from explorer.operations.reference import reference_table
from explorer.operations.score import RANDOM, STSB, read_references, score_pair
from explorer.training.export import save_encoder

PAIRS = pd.DataFrame(
    {
        "sentence1": ["a dog runs", "a man eats bread", "rain on the street", "two cats", "the boy reads"],
        "sentence2": ["a dog walks", "a woman eats soup", "snow on the house", "two birds", "a girl sings"],
    }
)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory, tiny_encoder: Callable) -> Registry:
    root = tmp_path_factory.mktemp("encoders")
    for family, pooling in (("bert", "mean"), ("albert", "cnn")):
        encoder = tiny_encoder(family, pooling)
        table = reference_table(encoder, PAIRS).to_csv(sep="\t", index=False)
        save_encoder(encoder, root / f"{family}-{pooling}", {"reference_cosines.tsv": table})
    save_encoder(tiny_encoder("bert", "cnn"), root / "plain", {})
    return Registry([root])


def test_score_pair_is_symmetric(registry: Registry) -> None:
    forward = score_pair(registry, "a dog runs", "the big red ball sleeps")
    backward = score_pair(registry, "the big red ball sleeps", "a dog runs")
    assert [a.cosine for a in forward] == pytest.approx([b.cosine for b in backward], abs=1e-7)
    assert [score.encoder for score in forward] == ["bert-mean", "albert-cnn", "plain"]


def test_score_pair_of_a_sentence_with_itself_is_one(registry: Registry) -> None:
    assert [s.cosine for s in score_pair(registry, "a dog", " a dog ")] == pytest.approx([1.0] * 3, abs=1e-6)


def test_score_pair_has_percentiles_where_there_is_a_reference(registry: Registry) -> None:
    first, second, plain = score_pair(registry, "a dog runs", "a cat runs")
    reference = read_references(registry.info("bert-mean"))
    assert first.percentile_stsb == percentile(first.cosine, reference[STSB].quantiles)
    assert first.percentile_random == percentile(first.cosine, reference[RANDOM].quantiles)
    assert (first.n_stsb, first.n_random) == (5, 5)
    assert second.percentile_stsb is not None
    assert (plain.percentile_stsb, plain.percentile_random, plain.n_stsb) == (None, None, 0)
    assert plain.reading.startswith("No reference")


def test_score_pair_takes_the_named_encoders_in_their_order(registry: Registry) -> None:
    scores = score_pair(registry, "a", "b", ["plain", "bert-mean", "plain"])
    assert [score.encoder for score in scores] == ["plain", "bert-mean"]
    with pytest.raises(EncoderError, match="no encoder 'other'"):
        score_pair(registry, "a", "b", ["other"])
    with pytest.raises(EncoderError, match="No encoder is chosen"):
        score_pair(registry, "a", "b", [])


def test_score_pair_tells_what_was_cut_off(registry: Registry) -> None:
    # The encoder reads 32, [CLS] and [SEP] among them; 30 and 24,970 are the 25,000 of the text.
    for score in score_pair(registry, "dog " * 25_000, "a dog"):
        assert len(score.pieces1.pieces) == 32
        assert score.notes == (
            "Sentence 1 is longer than this encoder reads: its first 30 word pieces count, the last 24,970 are left out.",
        )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Sentence 1 is empty"),
        (" \t\n ", "Sentence 1 is empty"),
        (None, "Sentence 1 is missing"),
        (3.5, "Sentence 1 is 3.5, which is not text"),
        (["a"], "which is not text"),
        ("a\0b", "NUL character at position 2"),
        ("a\ud800b", "half of a surrogate pair"),
        ("x" * (MAX_CHARACTERS + 1), "at most 1,000,000"),
    ],
)
def test_score_pair_refuses_what_is_no_sentence(registry: Registry, text: object, words: str) -> None:
    with pytest.raises(DataError, match=words):
        score_pair(registry, text, "a dog")
    with pytest.raises(DataError, match="Sentence 2"):
        score_pair(registry, "a dog", text)


@pytest.mark.parametrize(
    "text", ["🙂", "مرحبا بالعالم", "שלום", "<img src=x onerror=alert(1)>", "é́", "\u200d", "...", "你好"]
)
def test_score_pair_takes_any_script(registry: Registry, text: str) -> None:
    assert all(-1 <= score.cosine <= 1 for score in score_pair(registry, text, "a dog"))


def test_score_pair_leaves_a_broken_encoder_out_unless_named(tmp_path: Path, tiny_encoder: Callable) -> None:
    for name in ("good", "broken"):
        save_encoder(tiny_encoder("bert", "mean"), tmp_path / name, {})
    config = tmp_path / "broken" / "config.json"
    config.write_text(config.read_text().replace('"intermediate_size": 32', '"intermediate_size": 33'))
    registry = Registry([tmp_path])
    assert [score.encoder for score in score_pair(registry, "a", "b")] == ["good"]
    assert [problem.name for problem in registry.scan()[1]] == ["broken"]
    with pytest.raises(EncoderError, match="broken"):
        score_pair(registry, "a", "b", ["broken"])


def test_read_references_names_a_damaged_table(tmp_path: Path, tiny_encoder: Callable) -> None:
    save_encoder(
        tiny_encoder("bert", "mean"), tmp_path / "x", {"reference_cosines.tsv": "distribution\tn\nrandom\tmany\n"}
    )
    with pytest.raises(EncoderError, match="reference_cosines.tsv is damaged"):
        read_references(Registry([tmp_path]).info("x"))


def test_reference_table_never_pairs_a_sentence_with_its_own(tiny_encoder: Callable) -> None:
    same = pd.DataFrame({"sentence1": PAIRS["sentence1"], "sentence2": PAIRS["sentence1"]})
    table = reference_table(tiny_encoder("bert", "mean"), same)
    by_name = {name: rows["cosine"].to_numpy() for name, rows in table.groupby("distribution")}
    np.testing.assert_allclose(by_name[STSB], 1.0, atol=1e-6)
    assert by_name[RANDOM].max() < 0.9999
    assert len(table) == 2 * 201
    assert set(table["n"]) == {5}


def test_a_vector_without_direction_has_no_cosine_and_no_reading(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = registry.scan()[0][0].name
    monkeypatch.setattr("explorer.operations.score.encode", lambda *_, **__: np.zeros((2, 16), dtype=np.float32))
    with pytest.raises(EncoderError, match="without a direction"):
        score_pair(registry, "a dog", "a cat", [name])
