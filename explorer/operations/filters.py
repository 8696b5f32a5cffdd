"""See inside the sentence layer: joins an encoder and a person's sentences with the analysis of filters and word pieces.

What the page, the command line and the API endpoints all call. Draws nothing; corpora are in filter_corpus.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from explorer.analysis.ablation import Ablation, ablate
from explorer.analysis.attribution import PairContributions, SentenceParts, pair_contributions, sentence_parts
from explorer.analysis.filters import (
    SUMMARY_WORDS,
    CellArithmetic,
    Summary,
    cell_arithmetic,
    check_choice,
    layer_maps,
    read_summary,
    sentence_activations,
)
from explorer.analysis.receptive_fields import Span, character_span, layer_spans
from explorer.analysis.tokenizations import MatchedTokenizations, match_tokenizations
from explorer.data.texts import check_text
from explorer.encoders.cnn_pooling import CNNActivations, CNNPooling
from explorer.encoders.encode import WordPieces, word_pieces
from explorer.encoders.hidden_states import RecentStates, cnn_layer, sentence_layer
from explorer.encoders.registry import Registry
from explorer.operations.score import own_pieces

# The encoders of a registry never change, so a second look at a sentence, one click deeper, need not read it again.
_STATES = RecentStates()


@dataclass(frozen=True, eq=False)
class SentenceLayers:
    """All layers of one encoder's CNN over one sentence.

    Args:
        encoder: Its name.
        sentence: As read, without white space at its ends.
        pieces: Its word pieces.
        summary: What one number a cell stands for.
        dimension: The hidden dimension shown; None for the other summaries.
        meaning: The summary in words, to be written under the picture.
        maps: One (C_l, T_l) float64 array a layer, in [-1, 1].
        spans: One Span a position, a tuple a layer: the receptive fields.
        notes: What else a person must know, such as what was cut off.
    """

    encoder: str
    sentence: str
    pieces: WordPieces
    summary: Summary
    dimension: int | None
    meaning: str
    maps: tuple[NDArray[np.float64], ...]
    spans: tuple[tuple[Span, ...], ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class FilterOnSentence:
    """One filter over one sentence.

    Args:
        encoder: The encoder's name.
        sentence: As read.
        pieces: Its word pieces.
        layer: 1 to 5.
        filter: From 0.
        meaning: What a value stands for.
        values: (T_l,) float64 in [-1, 1].
        spans: (T_l) receptive fields.
        notes: What else a person must know.
    """

    encoder: str
    sentence: str
    pieces: WordPieces
    layer: int
    filter: int
    meaning: str
    values: NDArray[np.float64]
    spans: tuple[Span, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Cell:
    """One cell's arithmetic and the stretch of text it can see.

    Args:
        encoder: The encoder's name.
        sentence: As read.
        pieces: Its word pieces.
        arithmetic: Every step from the window to the activation.
        span: The cell's receptive field.
        tap_spans: The receptive field of each place in the window; None beyond the sentence's ends.
        notes: What else a person must know.
    """

    encoder: str
    sentence: str
    pieces: WordPieces
    arithmetic: CellArithmetic
    span: Span
    tap_spans: tuple[Span | None, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class PairAblation:
    """What each filter of a layer matters to a pair.

    Args:
        encoder: The encoder's name.
        sentence1: As read.
        sentence2: As read.
        result: The cosines without each filter.
        notes: What else a person must know.
    """

    encoder: str
    sentence1: str
    sentence2: str
    result: Ablation
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class PairWords:
    """Which words make a pair alike, for one encoder.

    Args:
        encoder: Its name.
        sentence1: As read.
        sentence2: As read.
        pieces1: The word pieces of the first.
        pieces2: Of the second.
        parts1: The first sentence's vector by word pieces.
        parts2: The second's.
        result: The matrix of contributions to the cosine.
        notes: How it was made, its residual, and what was cut off.
    """

    encoder: str
    sentence1: str
    sentence2: str
    pieces1: WordPieces
    pieces2: WordPieces
    parts1: SentenceParts
    parts2: SentenceParts
    result: PairContributions
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class SentenceWords:
    """The weight of each word piece in a sentence's vector, for one encoder.

    Args:
        encoder: Its name.
        sentence: As read.
        pieces: Its word pieces.
        parts: The vector by word pieces; its weights and contributions are what to show.
        notes: How it was made, its residual, and what was cut off.
    """

    encoder: str
    sentence: str
    pieces: WordPieces
    parts: SentenceParts
    notes: tuple[str, ...]


@dataclass(frozen=True)
class TwoTokenizations:
    """One sentence in the word pieces of two encoders.

    Args:
        encoder1: Name of the first.
        encoder2: Name of the second.
        sentence: As read.
        result: Both lined up by characters, and in words whether they are the same.
    """

    encoder1: str
    encoder2: str
    sentence: str
    result: MatchedTokenizations


def look_at_layers(
    registry: Registry,
    encoder: str,
    sentence: object,
    summary: Summary | str = Summary.MEAN,
    dimension: int | None = None,
) -> SentenceLayers:
    """Returns every layer's map of filters by positions.

    Args:
        registry: Where the encoders are.
        encoder: Name of one with CNN pooling.
        sentence: What a person typed; checked here.
        summary: See Summary.
        dimension: The hidden dimension for Summary.DIMENSION.

    Raises:
        DataError: The sentence is empty or cannot be read.
        EncoderError: The encoder is unknown, damaged or has no CNN.
        SettingError: An unknown summary or dimension.
    """
    view = _View(registry, encoder, sentence)
    kind = read_summary(summary)
    shown = dimension if kind is Summary.DIMENSION else None
    maps = layer_maps(view.activations, kind, shown)
    kernels = view.head.kernel_sizes
    spans = tuple(layer_spans(layer, view.pieces, view.text, kernels) for layer in range(1, len(kernels) + 1))
    meaning = SUMMARY_WORDS[kind] if shown is None else f"hidden dimension {shown} alone"
    return SentenceLayers(encoder, view.text, view.pieces, kind, shown, meaning, maps, spans, view.notes)


def look_at_filter(
    registry: Registry,
    encoder: str,
    sentence: object,
    layer: int,
    filter: int,
    summary: Summary | str = Summary.MEAN,
    dimension: int | None = None,
) -> FilterOnSentence:
    """Returns one filter's values over a sentence with each position's receptive field; arguments as in look_at_layers.

    Raises:
        DataError: The sentence is empty or cannot be read.
        EncoderError: The encoder is unknown, damaged or has no CNN.
        SettingError: No such layer, filter, summary or dimension.
    """
    check_choice(cnn_layer(registry.load(encoder), encoder), layer, filter)
    whole = look_at_layers(registry, encoder, sentence, summary, dimension)
    values, spans = whole.maps[layer - 1][filter], whole.spans[layer - 1]
    return FilterOnSentence(
        encoder, whole.sentence, whole.pieces, layer, filter, whole.meaning, values, spans, whole.notes
    )


def look_at_cell(
    registry: Registry, encoder: str, sentence: object, layer: int, filter: int, position: int, dimension: int = 0
) -> Cell:
    """Returns the arithmetic of one cell for one hidden dimension.

    Raises:
        DataError: The sentence is empty or cannot be read.
        EncoderError: The encoder is unknown, damaged or has no CNN.
        SettingError: No such layer, filter, position or dimension.
    """
    view = _View(registry, encoder, sentence)
    arithmetic = cell_arithmetic(view.head, view.states, view.activations, layer, filter, position, dimension)
    kernels = view.head.kernel_sizes
    before = (
        layer_spans(layer - 1, view.pieces, view.text, kernels)
        if layer > 1
        else tuple(character_span(view.pieces, i, i + 1, view.text) for i in range(len(view.pieces.pieces)))
    )
    taps: list[Span | None] = []
    for tap in range(len(arithmetic.inputs)):
        pair = before[max(0, 2 * (position + tap - len(arithmetic.inputs) // 2)) :][:2]
        inside = arithmetic.sources[tap, 0] >= 0
        taps.append(
            character_span(view.pieces, pair[0].start_piece, pair[-1].stop_piece, view.text) if inside else None
        )
    span = layer_spans(layer, view.pieces, view.text, kernels)[position]
    return Cell(encoder, view.text, view.pieces, arithmetic, span, tuple(taps), view.notes)


def ablate_pair(registry: Registry, encoder: str, sentence1: object, sentence2: object, layer: int) -> PairAblation:
    """Returns the change in a pair's cosine without each filter of a layer; the backbone runs once a sentence.

    Raises:
        DataError: A sentence is empty or cannot be read.
        EncoderError: The encoder is unknown, damaged or has no CNN.
        SettingError: No such layer, or the last one.
    """
    views = [_View(registry, encoder, s, f"Sentence {n}") for n, s in ((1, sentence1), (2, sentence2))]
    result = ablate(views[0].head, views[0].states, views[1].states, layer)
    return PairAblation(encoder, views[0].text, views[1].text, result, views[0].notes + views[1].notes)


def explain_pair(registry: Registry, encoder: str, sentence1: object, sentence2: object) -> PairWords:
    """Returns what each pair of word pieces adds to the cosine; any sentence layer but max pooling and the like.

    Raises:
        DataError: A sentence is empty or cannot be read.
        EncoderError: The encoder is unknown, damaged or cannot be split by words, or the residual is above 1 %.
    """
    first = weigh_words(registry, encoder, check_text(sentence1, "Sentence 1"))
    second = weigh_words(registry, encoder, check_text(sentence2, "Sentence 2"))
    result = pair_contributions(first.parts, second.parts)
    notes = [
        f"The contributions sum to {result.total:.6f}; the cosine is {result.cosine:.6f} ({result.residual:.2%} apart)."
    ]
    if result.has_baseline:
        notes.append(
            f"Integrated gradients on the last hidden states, {result.steps} steps from hidden states of zero. What the "
            "network gives for those, by its biases alone, has a row and a column of its own, named baseline."
        )
    else:
        notes.append("This sentence layer is a weighted sum of the last hidden states, so the split is exact.")
    notes += [note for part in (first, second) for note in part.notes[1:]]
    return PairWords(
        encoder,
        first.sentence,
        second.sentence,
        first.pieces,
        second.pieces,
        first.parts,
        second.parts,
        result,
        tuple(notes),
    )


def weigh_words(registry: Registry, encoder: str, sentence: object) -> SentenceWords:
    """Returns the weight of each word piece in one encoder's sentence vector.

    Raises:
        DataError: The sentence is empty or cannot be read.
        EncoderError: The encoder is unknown, damaged or cannot be split by words, or the residual is above 1 %.
    """
    text = check_text(sentence)
    loaded = registry.load(encoder)
    pieces = word_pieces(loaded, text)
    parts = sentence_parts(sentence_layer(loaded), _STATES.get(loaded, text))
    how = (
        "Exact: the coefficient of each word piece in the sentence vector."
        if parts.method == "exact"
        else f"The magnitude of the gradient along the path of integrated gradients, {parts.steps} steps; the parts miss the "
        f"vector by {parts.residual:.2%}."
    )
    return SentenceWords(encoder, text, pieces, parts, (how, *_cut_note(pieces)))


def align_sentence(registry: Registry, sentence: object, encoder1: str, encoder2: str) -> TwoTokenizations:
    """Returns one sentence in the word pieces of two encoders, lined up by characters.

    Raises:
        DataError: The sentence is empty or cannot be read.
        EncoderError: An encoder is unknown or damaged.
    """
    text = check_text(sentence)
    pieces1, pieces2 = (word_pieces(registry.load(name), text) for name in (encoder1, encoder2))
    return TwoTokenizations(encoder1, encoder2, text, match_tokenizations(pieces1, pieces2, text))


def cnn_encoders(registry: Registry, names: Sequence[str] | None = None) -> list[str]:
    """Returns the names of the encoders with a CNN, from metadata alone; of those chosen, or of all."""
    return [info.name for info in registry.choose(names) if info.pooling == "cnn"]


class _View:
    """One sentence gone through one encoder."""

    def __init__(self, registry: Registry, encoder: str, sentence: object, what: str = "The sentence") -> None:
        self.text = check_text(sentence, what)
        loaded: SentenceTransformer = registry.load(encoder)
        self.head: CNNPooling = cnn_layer(loaded, encoder)
        self.pieces = word_pieces(loaded, self.text)
        self.states = _STATES.get(loaded, self.text)
        self.notes = _cut_note(self.pieces)

    @property
    def activations(self) -> CNNActivations:
        return sentence_activations(self.head, self.states)


def _cut_note(pieces: WordPieces) -> tuple[str, ...]:
    if not pieces.truncated:
        return ()
    return (
        f"Longer than this encoder reads: the first {own_pieces(pieces):,} word pieces count, "
        f"the last {pieces.truncated:,} are left out.",
    )
