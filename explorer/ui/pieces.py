"""The word pieces of both sentences in all vocabularies at once, under each other by the characters they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from explorer.analysis.alignment import align
from explorer.ui import words
from explorer.ui.html import Html, tag

if TYPE_CHECKING:  # importing these for real brings torch, which the page must not wait for
    from explorer.encoders.encode import WordPieces
    from explorer.operations.score import PairScore


def aligned_pieces(scores: Sequence[PairScore]) -> Html:
    """Returns one block a sentence, one row a way of splitting it; encoders that split alike share a row."""
    if not scores:
        return tag("div", cls="aligned")
    blocks = [_sentence(number, scores) for number in (1, 2)]
    return tag("div", *blocks, cls="aligned")


def _sentence(number: int, scores: Sequence[PairScore]) -> Html:
    groups: dict[tuple[str, ...], tuple[WordPieces, list[str]]] = {}
    for score in scores:
        read = score.pieces1 if number == 1 else score.pieces2
        groups.setdefault(read.pieces, (read, []))[1].append(score.encoder)
    reads = [read for read, _ in groups.values()]
    kept = [[i for i, (start, end) in enumerate(read.offsets) if end > start] for read in reads]
    columns, places = align([[read.offsets[i] for i in rows] for read, rows in zip(reads, kept, strict=True)])
    lines = [
        _row(names, len(scores), [read.pieces[i] for i in rows], spans, columns)
        for (read, names), rows, spans in zip(groups.values(), kept, places, strict=True)
    ]
    return tag(
        "div",
        tag("h4", f"Sentence {number}"),
        tag(
            "div",
            *lines,
            cls="scroll",
            tabindex="0",
            role="region",
            aria_label=f"Word pieces of sentence {number}, aligned",
        ),
    )


def _row(names: list[str], total: int, pieces: list[str], spans: list[tuple[int, int]], columns: int) -> Html:
    who = f"all {total} encoders" if len(names) == total > 1 else ", ".join(names)
    cells = [
        tag("span", piece, cls="piece", style=f"grid-column:{start + 1}/{end + 1}")
        for piece, (start, end) in zip(pieces, spans, strict=True)
    ]
    grid = tag(
        "div", *cells, cls="strip", dir=words.direction(pieces), style=f"grid-template-columns:repeat({columns},auto)"
    )
    return tag("div", tag("span", f"{who} ({len(pieces)})", cls="label"), grid, cls="split")
