"""One sentence cut into word pieces by two tokenizers, matched by the characters they stand for. Loads no tokenizer."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.encoders.encode import WordPieces


@dataclass(frozen=True)
class MatchedPieces:
    """The smallest run of pieces of both tokenizations that stands for the same characters.

    Args:
        first: Pieces [start, stop) of the first tokenization; start = stop where it has none here.
        second: The same for the second.
        start: First character.
        stop: One after the last; equal to start for special pieces, which stand for no character.
        text: The characters [start, stop).
    """

    first: tuple[int, int]
    second: tuple[int, int]
    start: int
    stop: int
    text: str


@dataclass(frozen=True)
class MatchedTokenizations:
    """Two tokenizations of one sentence side by side.

    Args:
        same: Whether pieces and offsets are equal throughout.
        groups: In the order of the text; the special pieces at either end are a group of their own. Every piece is in
            exactly one group.
        pieces1: The first tokenization.
        pieces2: The second.
        summary: One plain sentence.
    """

    same: bool
    groups: tuple[MatchedPieces, ...]
    pieces1: WordPieces
    pieces2: WordPieces
    summary: str


@dataclass(frozen=True, order=True)
class _Piece:
    start: int
    stop: int
    side: int
    index: int


def match_tokenizations(pieces1: WordPieces, pieces2: WordPieces, text: str) -> MatchedTokenizations:
    """Returns the two tokenizations of `text` matched by characters.

    Args:
        pieces1: The text as one encoder reads it.
        pieces2: As another reads it; either may be cut off at its encoder's longest input.
        text: What both were made from.
    """
    same = pieces1.pieces == pieces2.pieces and pieces1.offsets == pieces2.offsets
    both = (pieces1, pieces2)
    groups: list[MatchedPieces] = []
    ends = [_first_owner(pieces) for pieces in both]
    if any(ends):
        groups.append(MatchedPieces((0, ends[0]), (0, ends[1]), 0, 0, ""))
    for members in _overlapping([_Piece(*span, side, i) for side in (0, 1) for i, span in _owned(both[side], text)]):
        runs = []
        for side in (0, 1):
            last = max((piece.index + 1 for piece in members if piece.side == side), default=ends[side])
            runs.append((ends[side], last))
            ends[side] = last
        start, stop = min(piece.start for piece in members), max(piece.stop for piece in members)
        groups.append(MatchedPieces(runs[0], runs[1], start, stop, text[start:stop]))
    rest = [(end, len(pieces.pieces)) for end, pieces in zip(ends, both, strict=True)]
    if any(stop > start for start, stop in rest):
        at = groups[-1].stop if groups else 0
        groups.append(MatchedPieces(rest[0], rest[1], at, at, ""))
    return MatchedTokenizations(same, tuple(groups), pieces1, pieces2, _summary(same, groups, pieces1, pieces2))


def _overlapping(pieces: list[_Piece]) -> list[list[_Piece]]:
    """Groups pieces whose characters overlap, directly or through a piece of the other side, in the order of the text."""
    groups: list[list[_Piece]] = []
    reach = 0
    for piece in sorted(pieces):
        if not groups or piece.start >= reach:
            groups.append([])
        groups[-1].append(piece)
        reach = max(reach, piece.stop)
    return groups


def _owned(pieces: WordPieces, text: str) -> list[tuple[int, tuple[int, int]]]:
    """Returns (index, characters) of the pieces that stand for some, without white space at their edges."""
    owned = []
    for index, (start, stop) in enumerate(pieces.offsets):
        inside = text[start:stop]
        if inside.strip():
            start, stop = start + len(inside) - len(inside.lstrip()), stop - (len(inside) - len(inside.rstrip()))
        if stop > start:
            owned.append((index, (start, stop)))
    return owned


def _first_owner(pieces: WordPieces) -> int:
    return next((index for index, (start, stop) in enumerate(pieces.offsets) if stop > start), len(pieces.offsets))


def _summary(same: bool, groups: list[MatchedPieces], pieces1: WordPieces, pieces2: WordPieces) -> str:
    count1, count2 = len(pieces1.pieces), len(pieces2.pieces)
    if same:
        return f"Both tokenizers cut this sentence into the same {count1} word pieces."
    words = [group for group in groups if group.stop > group.start]
    equal = sum(pieces1.pieces[slice(*group.first)] == pieces2.pieces[slice(*group.second)] for group in words)
    return f"{count1} and {count2} word pieces; {equal} of {len(words)} stretches of text are cut into the same pieces."
