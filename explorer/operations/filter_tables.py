"""The facts behind each filter picture as a table, for download and for the command line. Computes nothing new."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict

import pandas as pd

from explorer.analysis.receptive_fields import Span
from explorer.encoders.encode import WordPieces
from explorer.operations.filter_corpus import FilterFacts, FilterLikes
from explorer.operations.filters import (
    Cell,
    FilterOnSentence,
    PairAblation,
    PairWords,
    SentenceLayers,
    SentenceWords,
    TwoTokenizations,
)

BASELINE, ALL = "baseline", "(all)"


def layers_table(view: SentenceLayers) -> pd.DataFrame:
    """Returns one row a cell of every layer: its value, and the pieces and the text it can see."""
    rows = [
        {"layer": layer, "filter": number, "position": t, "value": float(value), **_field(view.spans[layer - 1][t])}
        for layer, values in enumerate(view.maps, start=1)
        for number, line in enumerate(values)
        for t, value in enumerate(line)
    ]
    return _with_encoder(view.encoder, rows)


def fields_table(view: SentenceLayers) -> pd.DataFrame:
    """Returns one row a position of every layer: its receptive field."""
    rows = [
        {"layer": layer, "position": t, **_field(span), "word_pieces": _joined(view.pieces, span)}
        for layer, spans in enumerate(view.spans, start=1)
        for t, span in enumerate(spans)
    ]
    return _with_encoder(view.encoder, rows)


def filter_table(view: FilterOnSentence) -> pd.DataFrame:
    """Returns one row a position of one filter."""
    rows = [
        {"position": t, "value": float(value), **_field(span), "word_pieces": _joined(view.pieces, span)}
        for t, (value, span) in enumerate(zip(view.values, view.spans, strict=True))
    ]
    return _with_encoder(view.encoder, rows)


def cell_table(view: Cell) -> pd.DataFrame:
    """Returns one row a product of the window, then the sum, the bias, their sum and its tanh, in the column product."""
    a = view.arithmetic
    taps, channels = a.products.shape
    rows: list[dict[str, object]] = [
        {
            "term": "product",
            "tap": tap,
            "input_filter": channel,
            "source_position": int(a.sources[tap, channel]) if a.sources[tap, channel] >= 0 else None,
            "input": float(a.inputs[tap, channel]),
            "weight": float(a.weights[tap, channel]),
            "product": float(a.products[tap, channel]),
        }
        for tap in range(taps)
        for channel in range(channels)
    ]
    for term, value in (
        ("sum of products", a.total),
        ("bias", a.bias),
        ("before tanh", a.convolved),
        ("activation", a.activation),
        ("activation in the forward pass", a.forward),
    ):
        rows.append({"term": term, "product": value})
    table = pd.DataFrame(rows)
    return table.astype({"tap": "Int64", "input_filter": "Int64", "source_position": "Int64"})


def ranking_table(facts: Iterable[FilterFacts]) -> pd.DataFrame:
    """Returns one row a filter, in the order given."""
    return pd.DataFrame([asdict(fact) for fact in facts])


def likes_table(likes: FilterLikes) -> pd.DataFrame:
    """Returns one row an n-gram, the highest first, then the lowest."""
    return pd.DataFrame(
        [
            {
                "side": side,
                "rank": rank,
                "value": gram.value,
                "text": gram.text,
                "centre": gram.centre.text,
                "word_pieces": " ".join(gram.pieces),
                "count": gram.count,
                "start": gram.span.start,
                "stop": gram.span.stop,
                "sentence": gram.sentence,
            }
            for side, grams in (("highest", likes.highest), ("lowest", likes.lowest))
            for rank, gram in enumerate(grams, start=1)
        ]
    )


def ablation_table(view: PairAblation) -> pd.DataFrame:
    """Returns one row a filter, the largest change of either sign first."""
    a = view.result
    order = a.ranking()
    return pd.DataFrame(
        {
            "encoder": view.encoder,
            "layer": a.layer,
            "filter": order,
            "cosine": a.cosine,
            "cosine_without": a.cosines[order],
            "change": a.changes[order],
        }
    )


def words_table(view: PairWords) -> pd.DataFrame:
    """Returns one row a pair of word pieces, and one for each row's, each column's and the whole sum, named ALL."""
    pieces1, pieces2 = pair_labels(view)
    matrix = view.result.matrix
    first, second = list(enumerate(pieces1)), list(enumerate(pieces2))
    everything: tuple[None, str] = (None, ALL)
    cells = [(a, b, matrix[a[0], b[0]]) for a in first for b in second]
    sums = [(a, everything, matrix[a[0]].sum()) for a in first] + [
        (everything, b, matrix[:, b[0]].sum()) for b in second
    ]
    rows: list[dict[str, object]] = [
        {
            "position1": a[0],
            "word_piece1": a[1],
            "position2": b[0],
            "word_piece2": b[1],
            "contribution": float(value),
        }
        for a, b, value in [*cells, *sums, (everything, everything, matrix.sum())]
    ]
    return _with_encoder(view.encoder, rows).astype({"position1": "Int64", "position2": "Int64"})


def weights_table(views: Sequence[SentenceWords]) -> pd.DataFrame:
    """Returns one row a word piece and encoder, and one for each baseline: weights and contributions, each with sum 1."""
    tables = []
    for view in views:
        p = view.parts
        rows: list[dict[str, object]] = [
            {"position": i, "word_piece": piece, "weight": float(weight), "contribution": float(contribution)}
            for i, (piece, weight, contribution) in enumerate(
                zip(view.pieces.pieces, p.weights, p.contributions, strict=True)
            )
        ]
        if p.method != "exact":
            rows.append({"word_piece": BASELINE, "contribution": 1.0 - float(p.contributions.sum())})
        tables.append(_with_encoder(view.encoder, rows).astype({"position": "Int64"}))
    return pd.concat(tables, ignore_index=True)


def tokenizations_table(view: TwoTokenizations) -> pd.DataFrame:
    """Returns one row a stretch of text with the pieces of both encoders."""
    result = view.result
    return pd.DataFrame(
        {
            "text": [group.text for group in result.groups],
            "start": [group.start for group in result.groups],
            "stop": [group.stop for group in result.groups],
            view.encoder1: [" ".join(result.pieces1.pieces[slice(*group.first)]) for group in result.groups],
            f"{view.encoder2} " if view.encoder1 == view.encoder2 else view.encoder2: [
                " ".join(result.pieces2.pieces[slice(*group.second)]) for group in result.groups
            ],
        }
    )


def pair_labels(view: PairWords) -> tuple[list[str], list[str]]:
    """Returns the labels of the matrix's rows and columns: word pieces, then the baseline where there is one."""
    extra = [BASELINE] if view.result.has_baseline else []
    return [*view.pieces1.pieces, *extra], [*view.pieces2.pieces, *extra]


def _field(span: Span) -> dict[str, object]:
    return {
        "start_piece": span.start_piece,
        "stop_piece": span.stop_piece,
        "start": span.start,
        "stop": span.stop,
        "text": span.text,
    }


def _joined(pieces: WordPieces, span: Span) -> str:
    return " ".join(pieces.pieces[span.start_piece : span.stop_piece])


def _with_encoder(encoder: str, rows: list[dict[str, object]]) -> pd.DataFrame:
    table = pd.DataFrame(rows)
    table.insert(0, "encoder", encoder)
    return table
