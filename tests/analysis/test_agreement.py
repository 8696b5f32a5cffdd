"""CKA against its formula, rank correlations and alignment against scipy and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import procrustes
from scipy.stats import spearmanr

from explorer.analysis import agreement
from explorer.analysis.agreement import align, cka_matrix, linear_cka, procrustes_matrix, rank_agreement
from explorer.errors import DataError

RANDOM = np.random.default_rng(0)


def rotation(angle: float) -> np.ndarray:
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def test_linear_cka_by_hand() -> None:
    # Centred: x = (-1, 0, 1), y = (-1, 2, -1); x'y = 0. With z = (0, 0, 3), centred (-1, -1, 2): 3^2 / (2 * 6).
    assert linear_cka([[0], [1], [2]], [[0], [3], [0]]) == pytest.approx(0)
    assert linear_cka([[0], [1], [2]], [[0], [0], [3]]) == pytest.approx(9 / 12)


def test_linear_cka_equals_the_hsic_of_centred_gram_matrices() -> None:
    x, y = RANDOM.normal(size=(6, 3)), RANDOM.normal(size=(6, 2))
    centring = np.eye(6) - 1 / 6
    k, m = centring @ x @ x.T @ centring, centring @ y @ y.T @ centring
    expected = np.trace(k @ m) / np.sqrt(np.trace(k @ k) * np.trace(m @ m))
    assert linear_cka(x, y) == pytest.approx(expected)
    assert cka_matrix([x, y]) == pytest.approx(np.array([[1, expected], [expected, 1]]))


def test_linear_cka_does_not_see_turns_sizes_and_shifts() -> None:
    x = RANDOM.normal(size=(9, 2))
    assert linear_cka(x, 5 * x @ rotation(1.0) + 3) == pytest.approx(1)
    assert np.isnan(linear_cka(x, np.ones((9, 2))))


def test_different_numbers_of_rows_are_refused() -> None:
    for compare in (linear_cka, align, lambda a, b: rank_agreement([a, b])):
        with pytest.raises(DataError, match="2 and 3 vectors"):
            compare(np.ones((2, 2)), np.ones((3, 2)))


def test_rank_agreement_equals_spearman_of_all_pairs() -> None:
    a, b = RANDOM.normal(size=(12, 4)), RANDOM.normal(size=(12, 5))
    a[3] = 0  # has no direction: left out of both
    rows = [row for row in range(12) if row != 3]
    below = np.tril_indices(11, -1)

    def cosines(vectors: np.ndarray) -> np.ndarray:
        units = vectors[rows] / np.linalg.norm(vectors[rows], axis=1, keepdims=True)
        return (units @ units.T)[below]

    found = rank_agreement([a, b])
    assert found.matrix[0, 1] == pytest.approx(spearmanr(cosines(a), cosines(b)).statistic)
    assert found.matrix[0, 0] == pytest.approx(1)
    assert (found.pairs, found.of_pairs) == (55, 55)


def test_rank_agreement_samples_with_a_seed_and_says_so() -> None:
    a, b = RANDOM.normal(size=(40, 4)), RANDOM.normal(size=(40, 4))
    first, again, other = (rank_agreement([a, b], most_pairs=100, seed=seed) for seed in (1, 1, 2))
    assert (first.pairs, first.of_pairs) == (100, 780)
    assert np.array_equal(first.matrix, again.matrix)
    assert not np.array_equal(first.matrix, other.matrix)


def test_rank_agreement_is_the_same_whichever_way_cosines_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = RANDOM.normal(size=(1100, 4)), RANDOM.normal(size=(1100, 4))
    blocks = rank_agreement([a, b], most_pairs=50_000).matrix
    monkeypatch.setattr(agreement, "_PICKING_COSTS", 0)
    assert rank_agreement([a, b], most_pairs=50_000).matrix == pytest.approx(blocks, abs=1e-9)


def test_rank_agreement_of_one_sentence_is_unknown() -> None:
    found = rank_agreement([[[1.0, 0]], [[1.0, 2]]])
    assert found.pairs == 0
    assert np.isnan(found.matrix).all()
    assert rank_agreement([np.zeros((3, 2)), np.ones((3, 2))]).pairs == 0


def test_pairs_are_numbered_without_a_gap() -> None:
    i, j = agreement._pair(np.arange(10))
    assert list(zip(i.tolist(), j.tolist(), strict=True)) == [(a, b) for a in range(5) for b in range(a)]
    far = np.array([10**12])
    i, j = agreement._pair(far)
    assert 0 <= j[0] < i[0] and i[0] * (i[0] - 1) // 2 + j[0] == far[0]


def test_align_undoes_turn_mirror_size_and_shift() -> None:
    reference = RANDOM.normal(size=(8, 2))
    moved = (reference * [1, -1]) @ rotation(0.7) * 4 + [5, -2]
    before = moved.copy()
    aligned = align(reference, moved)
    assert aligned.points == pytest.approx(reference)
    assert aligned.distance == pytest.approx(0, abs=1e-12)
    assert np.array_equal(moved, before)


def test_align_distance_equals_scipys_and_size_is_kept() -> None:
    a, b = RANDOM.normal(size=(15, 2)), RANDOM.normal(size=(15, 2))
    aligned = align(a, b)
    assert aligned.distance == pytest.approx(procrustes(a, b)[2])
    assert align(b, a).distance == pytest.approx(aligned.distance)
    assert np.linalg.norm(aligned.points - aligned.points.mean(axis=0)) == pytest.approx(
        np.linalg.norm(a - a.mean(axis=0))
    )


def test_align_by_hand() -> None:
    # A line onto a square: of the unit square's (1/2, 1/2) spread only one half can be met.
    square = [[0, 0], [0, 1], [1, 0], [1, 1]]
    line = [[0, 0], [0, 0], [1, 0], [1, 0]]
    assert align(square, line).distance == pytest.approx(1 / 2)


def test_align_of_points_that_are_one_has_no_distance() -> None:
    aligned = align([[0, 0], [2, 2]], [[7, 7], [7, 7]])
    assert np.isnan(aligned.distance)
    assert aligned.points.tolist() == [[1, 1], [1, 1]]


def test_procrustes_matrix_equals_scipys_and_fills_narrower_vectors_up() -> None:
    x, y, z = RANDOM.normal(size=(9, 3)), RANDOM.normal(size=(9, 3)), RANDOM.normal(size=(9, 2))
    found = procrustes_matrix([x, y, z])
    assert found[0, 1] == found[1, 0] == pytest.approx(procrustes(x, y)[2])
    assert found[0, 2] == pytest.approx(procrustes(x, np.pad(z, ((0, 0), (0, 1))))[2])
    assert found.diagonal().tolist() == [0, 0, 0]
    assert np.isnan(procrustes_matrix([x, np.ones((9, 3))])[0, 1])
    with pytest.raises(DataError, match="9 and 8"):
        procrustes_matrix([x, y[:8]])


def test_cka_matrix_equals_linear_cka_of_every_pair() -> None:
    tables = [RANDOM.normal(size=(12, width)) for width in (3, 5, 2)]
    assert cka_matrix(tables) == pytest.approx(np.array([[linear_cka(a, b) for b in tables] for a in tables]))


def test_align_moves_along_what_only_the_second_map_shows() -> None:
    x = RANDOM.normal(size=(6, 2))
    y = x @ rotation(1.0) * 3 + [5, 5]
    lacking = x.copy()
    lacking[2] = np.nan
    found = align(lacking, y)
    assert found.distance == pytest.approx(0, abs=1e-12)
    assert found.points == pytest.approx(x, abs=1e-9)
    hidden = y.copy()
    hidden[4] = np.nan
    assert np.isnan(align(x, hidden).points[4]).all()
