"""How alike two encoders see the same sentences: linear CKA, rank correlation of all similarities, aligned maps. Pure.

Nothing here looks at a picture except `align`, which turns one map onto another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from explorer.analysis.neighbours import check_vectors, unit_rows
from explorer.errors import DataError

Floats = NDArray[np.float64]
_MOST_PAIRS = 1_000_000
# Picking the two rows of one pair takes about as long as this many pairs of a product of matrices.
_PICKING_COSTS = 30


@dataclass(frozen=True, eq=False)
class RankAgreement:
    """Spearman correlations of the encoders' cosines.

    Args:
        matrix: (e, e) float64 in [-1, 1]; nan where an encoder's cosines are all equal.
        pairs: How many pairs of sentences were compared.
        of_pairs: How many there are; more than `pairs` where they were sampled.
    """

    matrix: Floats
    pairs: int
    of_pairs: int


@dataclass(frozen=True, eq=False)
class Aligned:
    """A map turned onto another.

    Args:
        points: (n, 2) float64, moved, turned, mirrored and brought to the other map's size.
        distance: Procrustes distance, 0 (the same shape) to 1; nan where all points of a map are one.
    """

    points: Floats
    distance: float


def linear_cka(first: ArrayLike, second: ArrayLike) -> float:
    """Returns the linear centred kernel alignment of two sets of vectors, 0..1: |X'Y|^2 / (|X'X| |Y'Y|), centred.

    Args:
        first: (n, H1) float.
        second: (n, H2) float, the same sentences in the same order.

    Returns:
        nan where all vectors of one are equal.

    Raises:
        DataError: Not as many rows, none, or values that are not finite.

    Source:
        Kornblith et al., Similarity of Neural Network Representations Revisited, 2019, section 3.
    """
    x, y = _same_rows(first, second)
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    spread = np.linalg.norm(x.T @ x) * np.linalg.norm(y.T @ y)
    return min(1.0, float(np.linalg.norm(x.T @ y) ** 2 / spread)) if spread > 0 else float("nan")


def cka_matrix(encoders: Sequence[ArrayLike]) -> Floats:
    """Returns the linear CKA of every pair of encoders, (e, e) float64; see linear_cka."""
    tables = _centred(encoders)
    own = [float(np.linalg.norm(table.T @ table)) for table in tables]
    matrix = np.full((len(tables), len(tables)), np.nan)
    for i, first in enumerate(tables):
        for j in range(i + 1):
            if own[i] * own[j] > 0:
                together = own[i] ** 2 if i == j else float(np.linalg.norm(first.T @ tables[j]) ** 2)
                matrix[i, j] = matrix[j, i] = min(1.0, together / (own[i] * own[j]))
    return matrix


def rank_agreement(encoders: Sequence[ArrayLike], most_pairs: int = _MOST_PAIRS, seed: int = 42) -> RankAgreement:
    """Returns the Spearman correlation, for every pair of encoders, of the cosines of all pairs of sentences.

    Args:
        encoders: Each (n, H) float, the same sentences in the same order. Sentences that are a zero vector in one are
            left out.
        most_pairs: With more pairs of sentences than that, so many are drawn at random.
        seed: Of the draw.

    Raises:
        DataError: Not as many rows, none, or values that are not finite.
    """
    tables = [unit_rows(check_vectors(vectors)) for vectors in encoders]
    if len({len(units) for units, _ in tables}) > 1:
        raise DataError(f"The encoders have {_counts(encoders)} vectors; give the same sentences to all.")
    sound = np.flatnonzero(np.all([directed for _, directed in tables], axis=0))
    total = len(sound) * (len(sound) - 1) // 2
    chosen = np.arange(total)
    if total > most_pairs:
        chosen = np.sort(np.random.default_rng(seed).choice(total, most_pairs, replace=False, shuffle=False))
    first, second = _pair(chosen)
    ranks = [_ranks(units[sound], first, second) for units, _ in tables]
    return RankAgreement(_correlations(ranks), len(chosen), total)


def align(reference: ArrayLike, moved: ArrayLike) -> Aligned:
    """Returns `moved` shifted, turned, mirrored and scaled onto `reference`, as close as its shape allows.

    It gets the reference's size whatever its shape, so that a map unlike the reference does not shrink. Only rows without
    nan in both are compared; what else has a place in `moved` is moved along.

    Args:
        reference: (n, 2) float, or of any other width; nan where a row has no place.
        moved: As wide, the same sentences in the same order.

    Raises:
        DataError: Not as many rows, none, none with a place in both, or values that are infinite.

    Source:
        The distance is that of scipy.spatial.procrustes.
    """
    whole = np.asarray(moved, dtype=np.float64)
    x, y = np.asarray(reference, dtype=np.float64), whole
    if len(x) != len(y):
        raise DataError(f"The encoders have {_counts([x, y])} vectors; give the same sentences to all.")
    both = ~(np.isnan(x).any(axis=1) | np.isnan(y).any(axis=1))
    x, y = check_vectors(x[both]), check_vectors(y[both])
    centre_x, centre_y = x.mean(axis=0), y.mean(axis=0)
    x, y = x - centre_x, y - centre_y
    size_x, size_y = np.linalg.norm(x), np.linalg.norm(y)
    if size_x == 0 or size_y == 0:
        return Aligned(whole - centre_y + centre_x, float("nan"))
    left, alike, right = np.linalg.svd((y / size_y).T @ (x / size_x))
    turned = ((whole - centre_y) / size_y) @ (left @ right) * size_x + centre_x
    return Aligned(turned, float(max(0.0, 1.0 - alike.sum() ** 2)))


def procrustes_matrix(encoders: Sequence[ArrayLike]) -> Floats:
    """Returns the Procrustes distance of every pair of encoders in the full space, (e, e) float64, 0 (the same shape) to 1.

    Tables of different widths are compared as if the narrower were filled up with zeros, which changes no distance in it.

    Args:
        encoders: Each (n, H) float, the same sentences in the same order.
    """
    tables = _centred(encoders)
    sizes = [float(np.linalg.norm(table)) for table in tables]
    matrix = np.zeros((len(tables), len(tables)))
    for i, first in enumerate(tables):
        for j in range(i):
            alike = np.linalg.svd(first.T @ tables[j], compute_uv=False).sum()
            sound = sizes[i] * sizes[j] > 0
            distance = 1.0 - (alike / (sizes[i] * sizes[j])) ** 2 if sound else float("nan")
            matrix[i, j] = matrix[j, i] = distance if math.isnan(distance) else max(0.0, distance)
    return matrix


def _centred(encoders: Sequence[ArrayLike]) -> list[Floats]:
    tables = [check_vectors(vectors) for vectors in encoders]
    if len({len(table) for table in tables}) > 1:
        raise DataError(f"The encoders have {_counts(encoders)} vectors; give the same sentences to all.")
    return [table - table.mean(axis=0) for table in tables]


def _same_rows(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    x, y = check_vectors(first), check_vectors(second)
    if len(x) != len(y):
        raise DataError(f"The encoders have {_counts([x, y])} vectors; give the same sentences to all.")
    return x, y


def _counts(encoders: Sequence[ArrayLike]) -> str:
    return " and ".join(f"{len(np.asarray(vectors)):,}" for vectors in encoders)


def _pair(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the rows (i, j), j < i, of pairs numbered 0 for (1, 0), 1 for (2, 0), 2 for (2, 1) and so on."""
    i = ((1 + np.sqrt(1 + 8 * numbers.astype(np.float64))) / 2).astype(np.int64)
    # The root may be off by one in its last digit.
    i -= i * (i - 1) // 2 > numbers
    i += i * (i + 1) // 2 <= numbers
    return i, numbers - i * (i - 1) // 2


def _ranks(units: Floats, first: NDArray[np.int64], second: NDArray[np.int64]) -> Floats:
    """Returns the centred ranks of the cosines of the pairs, (pairs,) float64, equal cosines sharing a rank."""
    ranks = rankdata(_cosines(units, first, second).round(12))
    return np.asarray(ranks - ranks.mean() if len(ranks) else ranks, dtype=np.float64)


def _cosines(units: Floats, first: NDArray[np.int64], second: NDArray[np.int64]) -> Floats:
    """Returns the cosines of the pairs, (pairs,) float64; `first` is ascending."""
    cosines = np.empty(len(first))
    # Where a good part of all pairs is wanted, whole blocks of the product are faster than picking rows one by one.
    if 0 < len(units) ** 2 <= _PICKING_COSTS * len(first):
        for block in np.array_split(np.arange(len(units)), max(1, len(units) // 500)):
            part = slice(*np.searchsorted(first, [block[0], block[-1] + 1]))
            cosines[part] = (units[block] @ units.T)[first[part] - block[0], second[part]]
        return cosines
    for rows in np.array_split(np.arange(len(first)), max(1, len(first) // 2_000)):
        cosines[rows] = np.einsum("ij,ij->i", units[first[rows]], units[second[rows]])
    return cosines


def _correlations(ranks: Sequence[Floats]) -> Floats:
    table = np.stack(ranks) if ranks else np.zeros((0, 0))
    together = table @ table.T
    spread = np.sqrt(np.outer(np.diag(together), np.diag(together)))
    return np.clip(together / np.where(spread > 0, spread, np.nan), -1.0, 1.0)
