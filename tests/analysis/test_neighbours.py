"""Neighbours, worked out by hand and against a brute-force computation; overlaps of neighbourhoods."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.analysis import neighbours
from explorer.analysis.neighbours import (
    Neighbours,
    highest,
    most_different,
    nearest_neighbours,
    nearest_to,
    overlap,
    overlap_matrix,
)
from explorer.errors import DataError, SettingError


def test_nearest_neighbours_by_hand() -> None:
    # Directions at 0, 90, 45 and 180 degrees; lengths do not count.
    found = nearest_neighbours([[1, 0], [0, 5], [2, 2], [-3, 0]], k=2)
    assert found.rows.tolist() == [[2, 1], [2, 0], [0, 1], [1, 2]]
    half = np.sqrt(0.5)
    assert found.cosines == pytest.approx(np.array([[half, 0], [half, 0], [half, half], [0, -half]]), abs=1e-9)


def test_nearest_neighbours_equal_a_brute_force_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "_CELLS_A_BLOCK", 500)  # several blocks
    vectors = np.random.default_rng(0).normal(size=(60, 7)).astype(np.float32)
    found = nearest_neighbours(vectors, k=5)
    for row in range(60):
        a = vectors.astype(float)
        cosines = [a[row] @ b / np.linalg.norm(a[row]) / np.linalg.norm(b) for b in a]
        order = sorted((other for other in range(60) if other != row), key=lambda other: -cosines[other])
        assert found.rows[row].tolist() == order[:5]
        assert found.cosines[row] == pytest.approx([cosines[other] for other in order[:5]], abs=1e-9)


def test_nearest_neighbours_equal_vectors_go_by_row_order() -> None:
    vector = np.random.default_rng(1).normal(size=384)
    vectors = np.stack([vector * scale for scale in (1, 3, 0.1, 7, 1)] + [-vector])
    found = nearest_neighbours(vectors, k=3)
    assert found.rows.tolist() == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2], [0, 1, 2], [0, 1, 2]]
    assert found.cosines[:5] == pytest.approx(1.0)


@pytest.mark.parametrize("width", [9, 31, 700, 1_003])
@pytest.mark.parametrize("k", [1, 3, 9])
def test_highest_are_those_of_a_full_sort_with_ties_by_column(width: int, k: int) -> None:
    random = np.random.default_rng(width)
    values = random.integers(40, size=(60, width)).astype(float)
    values[random.random(values.shape) < 0.2] = -np.inf
    values[0], values[1] = 1.0, np.arange(width)
    assert np.array_equal(highest(values, k), np.argsort(-values, axis=1, kind="stable")[:, :k])


def test_nearest_neighbours_zero_vectors_are_named_and_are_no_ones_neighbours() -> None:
    found = nearest_neighbours([[1, 0], [0, 0], [0, 1]], k=5)
    assert found.zero == (1,)
    assert found.rows.tolist() == [[2], [-1], [0]]
    assert np.isnan(found.cosines[1]).all()


def test_nearest_neighbours_of_one_row_are_none() -> None:
    assert nearest_neighbours([[1.0, 2.0]], k=3).rows.shape == (1, 0)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nearest_neighbours_name_rows_that_are_not_finite(bad: float) -> None:
    with pytest.raises(DataError, match="row 2 hold"):
        nearest_neighbours([[1, 0], [bad, 0]], k=1)
    with pytest.raises(DataError, match="no sentence"):
        nearest_neighbours(np.zeros((0, 3)), k=1)
    with pytest.raises(SettingError, match="is 0"):
        nearest_neighbours([[1, 0]], k=0)


def test_nearest_neighbours_leave_their_argument_alone() -> None:
    vectors = np.array([[3.0, 4.0], [0.0, -0.0]])
    before = vectors.copy()
    nearest_neighbours(vectors, k=1)
    assert np.array_equal(vectors, before)


def test_nearest_to_by_hand() -> None:
    rows, cosines = nearest_to([0, 2], [[1, 0], [0, 0], [3, 3], [0, 1]], k=9)
    assert rows.tolist() == [3, 2, 0]
    assert cosines == pytest.approx([1, np.sqrt(0.5), 0])
    with pytest.raises(DataError, match="zero"):
        nearest_to([0, 0], [[1, 0]], k=1)


def of(*rows: list[int]) -> Neighbours:
    return Neighbours(np.array(rows), np.ones((len(rows), len(rows[0]))), ())


def test_overlap_by_hand() -> None:
    first, second = of([1, 2], [0, 2], [0, 1], [-1, -1]), of([2, 1], [2, 3], [3, 4], [0, 1])
    # Both shared; one of three; none of four; no neighbours at all.
    assert overlap(first, second) == pytest.approx([1, 1 / 3, 0, np.nan], nan_ok=True)
    assert overlap_matrix([first, second]) == pytest.approx(np.array([[1, 4 / 9], [4 / 9, 1]]))


def test_most_different_puts_the_least_overlap_first_and_names_the_pair() -> None:
    first = of([1, 2], [0, 2], [0, 1])
    second = of([1, 2], [3, 4], [0, 3])
    found = most_different([first, first, second], show=2)
    assert [difference.row for difference in found] == [1, 2]
    assert found[0].overlap == pytest.approx(1 / 3)
    assert (found[0].pair, found[0].pair_overlap) == ((0, 2), 0.0)
    assert most_different([first]) == ()
