"""Trustworthiness against scikit-learn's and by hand; neighbours kept; points that mislead."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.manifold import trustworthiness

from explorer.analysis import neighbours
from explorer.analysis.trust import trust_map, worst
from explorer.errors import DataError

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("k", [1, 5, 12])
def test_trustworthiness_equals_scikit_learns(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "_CELLS_A_BLOCK", 300)  # several blocks
    vectors, points = RANDOM.normal(size=(30, 8)), RANDOM.normal(size=(30, 2))
    found = trust_map(vectors, points, k)
    assert found.trustworthiness == pytest.approx(trustworthiness(vectors, points, n_neighbors=k, metric="cosine"))
    assert found.trust_of_points.mean() == pytest.approx(found.trustworthiness)


def test_trust_by_hand() -> None:
    # Directions at 0, 10, 30 and 70 degrees, on the map as 0, 10, 70 and 30: the last two have changed places.
    angles = np.radians([0, 10, 30, 70])
    vectors = np.column_stack([np.cos(angles), np.sin(angles)])
    found = trust_map(vectors, [[0, 0], [10, 0], [70, 0], [30, 0]], k=9)
    assert found.k == 1
    # Nearest on the map: 1, 0, 3, 1; in full: 1, 0, 1, 2; the map's rank 1, 1, 3 and 2 in full: 0, 0, 2 and 1 too far.
    assert found.trust_of_points == pytest.approx([1, 1, 1 - 2 * 2 / 4, 1 - 2 * 1 / 4])
    assert found.trustworthiness == pytest.approx(0.625)
    assert found.kept_of_points.tolist() == [1, 1, 0, 0]
    assert found.kept == 0.5
    assert found.suspect.tolist() == [False, False, True, True]


def test_a_true_map_is_trusted_wholly() -> None:
    angles = np.sort(RANDOM.uniform(0, 1.5, size=20))
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    found = trust_map(circle * 3, circle, k=4)
    assert (found.trustworthiness, found.kept) == (1, 1)
    assert not found.suspect.any()


def test_zero_vectors_and_missing_points_are_left_out() -> None:
    vectors, points = RANDOM.normal(size=(12, 4)), RANDOM.normal(size=(12, 2))
    vectors[2], points[5] = 0, np.nan
    rest = [row for row in range(12) if row not in (2, 5)]
    found = trust_map(vectors, points, 3)
    assert found.trustworthiness == pytest.approx(trust_map(vectors[rest], points[rest], 3).trustworthiness)
    assert np.flatnonzero(np.isnan(found.trust_of_points)).tolist() == [2, 5]


def test_copies_of_one_sentence_are_trusted() -> None:
    found = trust_map(np.ones((9, 3)), np.zeros((9, 2)), 3)
    assert (found.trustworthiness, found.kept) == (1, 1)


@pytest.mark.parametrize("n", [1, 2])
def test_fewer_than_three_points_say_nothing(n: int) -> None:
    found = trust_map(np.ones((n, 3)), np.zeros((n, 2)), 3)
    assert np.isnan(found.trustworthiness) and np.isnan(found.kept)
    assert not found.suspect.any()


def test_points_must_be_as_many_as_vectors() -> None:
    with pytest.raises(DataError, match="3 vectors and 2 points"):
        trust_map(np.ones((3, 3)), np.zeros((2, 2)))


def test_trust_map_takes_neighbours_that_are_known() -> None:
    vectors, points = RANDOM.normal(size=(30, 8)), RANDOM.normal(size=(30, 2))
    known = neighbours.nearest_neighbours(vectors, 7)
    assert trust_map(vectors, points, 5, known).kept == trust_map(vectors, points, 5).kept


def test_worst_are_the_least_trustworthy_and_at_most_a_share() -> None:
    found = trust_map(RANDOM.normal(size=(40, 8)), RANDOM.normal(size=(40, 2)), 5)
    assert found.suspect.sum() > 2
    rows = worst(found, share=0.05)
    assert sorted(rows) == sorted(np.argsort(found.trust_of_points)[:2])
    line = np.linspace(1, 2, 20)[:, None] * [1.0, 0.0] + [0.0, 0.3]
    assert len(worst(trust_map(line, line, 3))) == 0


def test_long_work_ends_where_its_look_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "_CELLS_A_BLOCK", 300)  # three blocks of ten rows
    vectors, points = RANDOM.normal(size=(30, 8)), RANDOM.normal(size=(30, 2))
    for work, blocks in (
        (lambda look: neighbours.nearest_neighbours(vectors, 3, look), 3),
        (lambda look: trust_map(vectors, points, 3, look=look), 9),
    ):
        looks: list[int] = []
        work(lambda seen=looks: seen.append(1))
        assert len(looks) == blocks

        def stop(seen: list[int] = looks) -> None:
            seen.pop()
            if len(seen) < 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            work(stop)
        assert len(looks) == 1
