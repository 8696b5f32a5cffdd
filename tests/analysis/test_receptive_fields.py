"""Receptive fields: by hand, against what changes and what gradients say, and in the characters of awkward texts."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from explorer.analysis.receptive_fields import centre, character_span, layer_length, layer_spans, receptive_field
from explorer.encoders.cnn_pooling import CNNPooling
from explorer.encoders.encode import WordPieces, word_pieces
from explorer.errors import SettingError

LENGTHS = range(1, 41)
LAYERS = range(1, 6)
EXACTLY_UNCHANGED = 1e-12


def make_head(hidden: int) -> CNNPooling:
    torch.manual_seed(hidden)
    head = CNNPooling(hidden).eval().double()
    with torch.no_grad():
        for convolution in head.convolutions:
            convolution.bias.uniform_(-0.3, 0.3)
    return head


def make_tokens(length: int, hidden: int, seed: int) -> Tensor:
    return torch.randn(1, length, hidden, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def seen(layer: int, length: int) -> Tensor:
    """(T_l, T) bool: which word pieces the function says each position sees."""
    expected = torch.zeros(layer_length(layer, length), length, dtype=torch.bool)
    for position in range(len(expected)):
        start, stop = receptive_field(layer, position, length)
        expected[position, start:stop] = True
    return expected


def reached_by_gradients(head: CNNPooling, tokens: Tensor) -> list[Tensor]:
    """For each layer (T_l, T) bool: which word pieces have a gradient other than zero in some hidden dimension."""
    tokens = tokens.clone().requires_grad_(True)
    layers = head.activations(tokens, torch.ones(tokens.shape[:2])).layers
    found = []
    for values in layers:
        rows = []
        for position in range(values.shape[2]):
            (slope,) = torch.autograd.grad(values[:, :, position].sum(), tokens, retain_graph=True)
            rows.append((slope[0] != 0).any(-1))
        found.append(torch.stack(rows))
    return found


def test_receptive_field_by_hand() -> None:
    # Layer 1: a pair of word pieces; the last one alone when their number is odd.
    assert [receptive_field(1, t, 5) for t in range(3)] == [(0, 2), (2, 4), (4, 5)]
    # Layer 2: five neighbours of four word pieces each: 20, cut at the ends.
    assert receptive_field(2, 5, 60) == (12, 32)
    assert receptive_field(2, 0, 60) == (0, 12)
    assert receptive_field(2, 14, 60) == (48, 60)
    # Layer 3: three neighbours of eight: 24 pieces are six positions of layer 2; with two more on each side, 40.
    assert receptive_field(3, 4, 90) == (16, 56)
    assert receptive_field(0, 3, 5) == (3, 4)


@pytest.mark.parametrize("length", LENGTHS)
def test_receptive_field_is_exactly_what_can_change_a_cell(length: int) -> None:
    head = make_head(16)
    tokens = make_tokens(length, 16, seed=length)
    changed = tokens.repeat(length, 1, 1)
    everyone = torch.arange(length)
    changed[everyone, everyone] = 2 * make_tokens(length, 16, seed=1000 + length)[0]
    with torch.no_grad():
        before = head.activations(tokens, torch.ones(1, length)).layers
        after = head.activations(changed, torch.ones(length, length)).layers
    for layer in LAYERS:
        moved = ((after[layer - 1] - before[layer - 1]).abs() > EXACTLY_UNCHANGED).any(3).any(1)  # (T, T_l)
        assert torch.equal(moved.T, seen(layer, length)), f"layer {layer}"


@pytest.mark.parametrize("length", LENGTHS)
def test_receptive_field_equals_where_gradients_are_not_zero(length: int) -> None:
    for layer, found in enumerate(reached_by_gradients(make_head(16), make_tokens(length, 16, seed=length)), start=1):
        assert torch.equal(found, seen(layer, length)), f"layer {layer}"


@pytest.mark.parametrize("hidden", [384, 768])
@pytest.mark.parametrize("length", [1, 2, 7, 17, 40])
def test_receptive_field_equals_gradients_at_the_widths_of_real_encoders(hidden: int, length: int) -> None:
    head, tokens = make_head(hidden).float(), make_tokens(length, hidden, seed=length).float()
    for layer, found in enumerate(reached_by_gradients(head, tokens), start=1):
        assert torch.equal(found, seen(layer, length)), f"layer {layer}"


@pytest.mark.parametrize("length", [1, 2, 3, 16, 17, 33, 128])
@pytest.mark.parametrize("layer", LAYERS)
def test_fields_cover_every_word_piece_and_centres_cover_each_once(layer: int, length: int) -> None:
    positions = range(layer_length(layer, length))
    fields = [receptive_field(layer, t, length) for t in positions]
    assert set().union(*(range(*field) for field in fields)) == set(range(length))
    assert [i for t in positions for i in range(*centre(layer, t, length))] == list(range(length))
    for t, (start, stop) in enumerate(fields):
        first, last = centre(layer, t, length)
        assert start <= first < last <= stop


def test_other_kernel_sizes_give_other_fields() -> None:
    assert receptive_field(2, 3, 40, kernel_sizes=(1, 1)) == (12, 16)
    assert receptive_field(1, 3, 40, kernel_sizes=(3,)) == (4, 10)


@pytest.mark.parametrize(("layer", "position", "length"), [(6, 0, 9), (-1, 0, 9), (1, 5, 9), (1, -1, 9), (2, 0, 0)])
def test_receptive_field_refuses_what_is_not_there(layer: int, position: int, length: int) -> None:
    with pytest.raises(SettingError, match="There is no layer|has no position"):
        receptive_field(layer, position, length)


def pieces_of(text: str, *parts: str) -> WordPieces:
    """Word pieces at the places of `parts` in the text, one after the other, between two special ones."""
    offsets, at = [(0, 0)], 0
    for part in parts:
        start = text.index(part, at)
        at = start + len(part)
        offsets.append((start, at))
    offsets.append((0, 0))
    return WordPieces(("[CLS]", *parts, "[SEP]"), tuple(range(len(offsets))), tuple(offsets), 0)


def test_character_span_of_pieces_of_one_word_and_of_what_lies_between_words() -> None:
    text = "unaffable, quite"
    pieces = pieces_of(text, "una", "ffa", "ble", ",", "quite")
    assert character_span(pieces, 1, 3, text).text == "unaffa"
    span = character_span(pieces, 3, 6, text)
    assert (span.start, span.stop, span.text) == (6, 16, "ble, quite")


def test_character_span_of_special_pieces_is_empty_and_they_add_nothing() -> None:
    text = "quite"
    pieces = pieces_of(text, "quite")
    assert character_span(pieces, 0, 1, text).text == ""
    assert character_span(pieces, 0, 3, text).text == "quite"


def test_character_span_keeps_accents_with_their_letters() -> None:
    text = "cafe\u0301s au lait"
    pieces = pieces_of(text, "cafe", "s", "au", "lait")
    assert character_span(pieces, 1, 2, text).text == "cafe\u0301"
    assert character_span(pieces, 2, 3, text).text == "s"


def test_character_span_does_not_take_a_sign_that_is_a_piece_of_its_own() -> None:
    text = "\u0939\u093f\u0928"
    pieces = pieces_of(text, *text)
    assert [character_span(pieces, i, i + 1, text).text for i in (1, 2, 3)] == list(text)


def test_character_span_keeps_emoji_whole() -> None:
    text = "ok \u2764\ufe0f yes"
    pieces = pieces_of(text, "ok", "\u2764", "yes")
    assert character_span(pieces, 2, 3, text).text == "\u2764\ufe0f"


@pytest.mark.parametrize(
    "text",
    [
        "a dog runs",
        "DOGS singing",
        "a \U0001f469\u200d\U0001f469\u200d\U0001f467 runs",
        "\u05e9\u05dc\u05d5\u05dd the dog",
        "na\u00efve cafe\u0301",
        "\u4f60\u597d",
        "x",
        "dog " * 60,
    ],
)
def test_layer_spans_of_a_real_tokenizer_are_slices_of_the_text(text: str, tiny_encoder: object) -> None:
    encoder = tiny_encoder("albert", "cnn")  # type: ignore[operator]
    pieces = word_pieces(encoder, text)
    length = len(pieces.pieces)
    assert (pieces.truncated > 0) == (length == 32)
    for layer in LAYERS:
        spans = layer_spans(layer, pieces, text)
        assert len(spans) == layer_length(layer, length)
        for span in spans:
            assert span.text == text[span.start : span.stop]
    read = text[: pieces.offsets[-2][1]] if pieces.truncated else text
    assert layer_spans(5, pieces, text)[0].text == read
