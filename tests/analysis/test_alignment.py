"""Pieces of several vocabularies under each other, worked out by hand."""

from __future__ import annotations

from explorer.analysis.alignment import align


def test_align_of_two_divisions_by_hand() -> None:
    # "unhappy dog": un|happy dog  against  unhappy do|g
    columns, (first, second) = align([[(0, 2), (2, 7), (8, 11)], [(0, 7), (8, 10), (10, 11)]])
    assert columns == 4  # un, happy, do, g; the blank has none
    assert first == [(0, 1), (1, 2), (2, 4)]
    assert second == [(0, 2), (2, 3), (3, 4)]


def test_align_of_equal_divisions_has_a_column_a_piece() -> None:
    pieces = [(0, 3), (4, 9), (9, 10)]
    assert align([pieces, pieces]) == (3, [[(0, 1), (1, 2), (2, 3)]] * 2)


def test_align_of_nothing_has_no_columns() -> None:
    assert align([[], []]) == (0, [[], []])
