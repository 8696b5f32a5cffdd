"""Lays several divisions of one text into pieces under each other, by the characters they stand for. Plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

Span = tuple[int, int]


def align(divisions: Sequence[Sequence[Span]]) -> tuple[int, list[list[Span]]]:
    """Returns how many columns the common grid has, and for each piece the columns [first, last) it covers.

    Args:
        divisions: For each reader of the text the characters [start, end) of each of its pieces, in order; a piece of no
            characters (a special one) is not allowed here.

    The text is cut wherever any division begins or ends a piece; a cut part that no piece covers (white space) gets no
    column.
    """
    cuts = sorted({cut for division in divisions for span in division for cut in span})
    spans = {span for division in divisions for span in division}
    column, columns = {}, 0
    for start, end in pairwise(cuts):
        column[start] = columns
        columns += any(first <= start and end <= last for first, last in spans)
    if cuts:
        column[cuts[-1]] = columns
    return columns, [[(column[start], column[end]) for start, end in division] for division in divisions]
