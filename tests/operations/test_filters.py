"""The use cases on one sentence or a pair: every encoder, awkward texts, and one clear sentence for each bad input."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from explorer.encoders.registry import Registry
from explorer.errors import DataError, EncoderError, SettingError
from explorer.operations import filter_tables as tables
from explorer.operations.filters import (
    ablate_pair,
    align_sentence,
    cnn_encoders,
    explain_pair,
    look_at_cell,
    look_at_filter,
    look_at_layers,
    weigh_words,
)
from explorer.operations.score import score_pair
from explorer.training.export import save_encoder

AWKWARD = [
    "a",
    "the dog runs",
    "a dog " * 150,
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 runs",
    "\u05e9\u05dc\u05d5\u05dd",
    "\u4f60\u597d \u4e16\u754c",
    "cafe\u0301 <b>red</b>",
]


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory, tiny_encoder: Callable) -> Registry:
    root = tmp_path_factory.mktemp("encoders")
    for family in ("bert", "albert"):
        for pooling in ("mean", "cnn"):
            save_encoder(tiny_encoder(family, pooling), root / f"{family}-{pooling}", {}, half=False)
    return Registry([root])


@pytest.mark.parametrize("encoder", ["bert-cnn", "albert-cnn"])
@pytest.mark.parametrize("text", AWKWARD)
def test_every_depth_agrees_on_every_text(registry: Registry, encoder: str, text: str) -> None:
    whole = look_at_layers(registry, encoder, text)
    length = len(whole.pieces.pieces)
    assert [m.shape[0] for m in whole.maps] == [32, 64, 128, 128, 1]
    assert [m.shape[1] for m in whole.maps] == [len(spans) for spans in whole.spans]
    one = look_at_filter(registry, encoder, text, 2, 5)
    np.testing.assert_array_equal(one.values, whole.maps[1][5])
    position = len(one.values) - 1
    cell = look_at_cell(registry, encoder, text, 2, 5, position, dimension=7)
    assert cell.arithmetic.activation == pytest.approx(cell.arithmetic.forward, abs=1e-12)
    assert cell.span == one.spans[position]
    shown = look_at_layers(registry, encoder, text, "dimension", 7)
    assert shown.maps[1][5, position] == pytest.approx(cell.arithmetic.activation, abs=1e-9)
    assert bool(whole.notes) == (length == 32)


def test_tap_spans_are_what_each_place_in_the_window_sees(registry: Registry) -> None:
    cell = look_at_cell(registry, "bert-cnn", "the dog runs in the street with two cats", 1, 0, 2)
    assert [tap.text if tap else None for tap in cell.tap_spans] == ["in the"]
    edge = look_at_cell(registry, "bert-cnn", "the dog runs in the street with two cats", 2, 0, 0)
    assert [tap.text if tap else None for tap in edge.tap_spans] == [
        None,
        None,
        "the dog runs",
        "in the street with",
        "two cats",
    ]


def test_meaning_is_written_out(registry: Registry) -> None:
    assert look_at_layers(registry, "bert-cnn", "a dog").meaning == "the signed mean over the hidden dimensions"
    assert look_at_layers(registry, "bert-cnn", "a dog", "dimension", 3).meaning == "hidden dimension 3 alone"
    assert look_at_layers(registry, "bert-cnn", "a dog", "mean", 3).dimension is None


@pytest.mark.parametrize("encoder", ["bert-mean", "bert-cnn", "albert-mean", "albert-cnn"])
def test_explain_pair_sums_to_the_cosine_that_score_shows(registry: Registry, encoder: str) -> None:
    pair = "the dog runs in the street", "a cat sleeps"
    words = explain_pair(registry, encoder, *pair)
    (score,) = score_pair(registry, *pair, [encoder])
    assert words.result.cosine == pytest.approx(score.cosine, abs=1e-6)
    assert words.result.total == pytest.approx(score.cosine, abs=1e-6 if encoder.endswith("mean") else 0.01)
    assert "The contributions sum to" in words.notes[0]
    assert ("baseline" in words.notes[1]) == encoder.endswith("cnn")
    labels = tables.pair_labels(words)
    assert words.result.matrix.shape == (len(labels[0]), len(labels[1]))


def test_weights_are_equal_for_average_pooling_and_sum_to_one(registry: Registry) -> None:
    mean, cnn = (weigh_words(registry, name, "the dog runs in the street") for name in ("bert-mean", "bert-cnn"))
    np.testing.assert_allclose(mean.parts.weights, 1 / len(mean.pieces.pieces))
    assert cnn.parts.weights.sum() == pytest.approx(1)
    assert cnn.parts.weights.std() > 0


def test_ablate_pair_starts_from_the_score(registry: Registry) -> None:
    result = ablate_pair(registry, "albert-cnn", "the dog runs", "a cat sleeps", 3)
    (score,) = score_pair(registry, "the dog runs", "a cat sleeps", ["albert-cnn"])
    assert result.result.cosine == pytest.approx(score.cosine, abs=1e-6)
    assert result.result.changes.shape == (128,)


def test_align_says_that_both_tokenizers_are_the_same(registry: Registry) -> None:
    view = align_sentence(registry, "the dogs run", "bert-mean", "albert-cnn")
    assert view.result.same
    assert "same" in view.result.summary


def test_cnn_encoders_come_from_metadata_alone(registry: Registry) -> None:
    assert cnn_encoders(Registry(registry.roots)) == ["bert-cnn", "albert-cnn"]
    assert cnn_encoders(registry, ["bert-mean"]) == []


def test_bad_input_has_one_clear_sentence(registry: Registry) -> None:
    with pytest.raises(EncoderError, match="bert-mean has no filters"):
        look_at_layers(registry, "bert-mean", "a dog")
    with pytest.raises(DataError, match="The sentence is empty"):
        look_at_layers(registry, "bert-cnn", "  ")
    with pytest.raises(DataError, match="Sentence 2 is missing"):
        ablate_pair(registry, "bert-cnn", "a dog", None, 1)
    with pytest.raises(DataError, match="Sentence 1 is empty"):
        explain_pair(registry, "bert-cnn", "", "a dog")
    with pytest.raises(SettingError, match="no filter in layer 1 32"):
        look_at_filter(registry, "bert-cnn", "a dog", 1, 32)
    with pytest.raises(EncoderError, match="no encoder 'gone'"):
        weigh_words(registry, "gone", "a dog")


def test_tables_hold_the_same_facts(registry: Registry) -> None:
    text, pair = "the dog runs in the street", ("the dog runs", "a cat sleeps")
    whole = look_at_layers(registry, "bert-cnn", text)
    table = tables.layers_table(whole)
    assert len(table) == sum(m.size for m in whole.maps)
    row = table[(table.layer == 3) & (table["filter"] == 100) & (table.position == 0)].iloc[0]
    assert row["value"] == whole.maps[2][100, 0]
    cell = look_at_cell(registry, "bert-cnn", text, 2, 5, 0)
    products = tables.cell_table(cell).set_index("term")["product"]
    assert products.loc["product"].sum() == pytest.approx(products["sum of products"])
    assert np.tanh(products["sum of products"] + products["bias"]) == pytest.approx(products["activation"])
    words = explain_pair(registry, "bert-cnn", *pair)
    rows = tables.words_table(words).set_index(["word_piece1", "word_piece2"])["contribution"]
    assert rows[("(all)", "(all)")] == pytest.approx(words.result.total)
    assert rows[("dog", "(all)")] == pytest.approx(words.result.matrix[2].sum())
    weights = tables.weights_table([weigh_words(registry, name, text) for name in ("bert-mean", "bert-cnn")])
    sums = weights.groupby("encoder")[["weight", "contribution"]].sum()
    np.testing.assert_allclose(sums, 1.0, atol=1e-9)
    ablation = tables.ablation_table(ablate_pair(registry, "bert-cnn", *pair, 1))
    assert ablation.change.abs().is_monotonic_decreasing
    aligned = tables.tokenizations_table(align_sentence(registry, text, "bert-cnn", "albert-cnn"))
    assert aligned["bert-cnn"].tolist() == aligned["albert-cnn"].tolist()
    assert len(tables.fields_table(whole)) == sum(len(spans) for spans in whole.spans)
    assert tables.filter_table(look_at_filter(registry, "bert-cnn", text, 1, 0)).shape[0] == len(whole.spans[0])


def test_what_was_cut_off_is_counted_without_special_pieces(registry: Registry) -> None:
    # The tiny encoders read 32 pieces, [CLS] and [SEP] among them.
    assert look_at_layers(registry, "bert-cnn", "dog " * 40).notes == (
        "Longer than this encoder reads: the first 30 word pieces count, the last 10 are left out.",
    )
