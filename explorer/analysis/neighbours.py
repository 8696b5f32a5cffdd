"""Nearest sentences by cosine in the full space, and how far two encoders' neighbourhoods agree. Pure numpy.

Exact, never approximate; equal cosines go by row order. A zero vector has no direction: it has no neighbours and is no one's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from explorer.errors import DataError, SettingError

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
# Called now and then within long work; raises where nobody waits for it any more.
Look = Callable[[], None]
# Cosines that agree to so many digits are equal; what is beyond is rounding.
_DIGITS = 12
# At most so many similarities are held at once, 64 MB.
_CELLS_A_BLOCK = 8_000_000
# Columns that are looked through together for a row's highest values.
_GROUP = 32


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nearest rows of every row.

    Args:
        rows: (n, k) int64, nearest first; -1 throughout for a zero vector.
        cosines: (n, k) float64 in [-1, 1], falling; nan for a zero vector.
        zero: The rows whose vector is zero.
    """

    rows: Rows
    cosines: Floats
    zero: tuple[int, ...]

    @property
    def k(self) -> int:
        """How many neighbours each row has; fewer than asked for where there are not that many."""
        return int(self.rows.shape[1])


@dataclass(frozen=True)
class Difference:
    """A sentence and how far the encoders agree on its neighbours.

    Args:
        row: Its row.
        overlap: Mean Jaccard overlap over all pairs of encoders, 0..1.
        pair: The two encoders, by their places, that agree least on it.
        pair_overlap: Their overlap, 0..1.
    """

    row: int
    overlap: float
    pair: tuple[int, int]
    pair_overlap: float


def check_vectors(vectors: ArrayLike) -> Floats:
    """Returns the vectors as (n, H) float64.

    Raises:
        DataError: No rows, no table of numbers, or values that are not finite; the rows are named.
    """
    table = np.asarray(vectors, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] == 0:
        raise DataError(f"The vectors have shape {table.shape}; a table of sentences by dimensions is needed.")
    if len(table) == 0:
        raise DataError("There is no sentence; give at least one.")
    bad = np.flatnonzero(~np.isfinite(table).all(axis=1))
    if len(bad):
        raise DataError(f"The vectors of {name_rows(bad)} hold values that are not finite; leave those sentences out.")
    return table


def name_rows(rows: Sequence[int] | Rows, most: int = 5) -> str:
    """Returns "row 3" or "rows 3, 7, 9 and 12 more"; a person counts rows from 1."""
    shown = ", ".join(f"{row + 1:,}" for row in rows[:most])
    more = f" and {len(rows) - most:,} more" if len(rows) > most else ""
    return f"row{'s' if len(rows) > 1 else ''} {shown}{more}"


def unit_rows(vectors: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Returns (n, H) float64 rows of length 1 (zero rows stay zero), and which rows are not zero, (n,) bool."""
    # By the largest value first: the squares of tiny values would vanish.
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    scaled = vectors / np.where(largest > 0, largest, 1.0)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    return scaled / np.where(lengths > 0, lengths, 1.0), largest[:, 0] > 0


def nearest_neighbours(vectors: ArrayLike, k: int, look: Look | None = None) -> Neighbours:
    """Returns each row's k nearest other rows by cosine.

    Args:
        vectors: (n, H) float.
        k: How many, at least 1; fewer are returned where fewer other rows have a direction.
        look: See blocks.

    Raises:
        DataError: No rows, or values that are not finite.
        SettingError: k is below 1.
    """
    check_k(k)
    units, sound = unit_rows(check_vectors(vectors))
    n = len(units)
    k = max(0, min(k, int(sound.sum()) - 1))
    rows, cosines = np.full((n, k), -1, dtype=np.int64), np.full((n, k), np.nan)
    # Equal vectors share one column, so that their cosines are the same number to the last bit.
    distinct, place = np.unique(units.round(_DIGITS) + 0.0, axis=0, return_inverse=True)
    columns: Rows | slice = place
    if len(distinct) == n:  # in the order of the rows then, which spares gathering columns
        distinct, columns = distinct[place], slice(None)
    kept = np.flatnonzero(sound) if k else np.zeros(0, dtype=np.int64)
    for block in blocks(kept, n, look):
        found = (units[block] @ distinct.T).round(_DIGITS)[:, columns]
        found[:, ~sound] = -np.inf
        found[np.arange(len(block)), block] = -np.inf
        rows[block] = highest(found, k)
        cosines[block] = np.clip(np.take_along_axis(found, rows[block], axis=1), -1.0, 1.0)
    return Neighbours(rows, cosines, tuple(np.flatnonzero(~sound).tolist()))


def nearest_to(query: ArrayLike, vectors: ArrayLike, k: int) -> tuple[Rows, Floats]:
    """Returns the k rows nearest to one vector by cosine, (k,) int64, and their cosines, (k,) float64.

    Args:
        query: (H,) float.
        vectors: (n, H) float; a zero row is never returned.
        k: How many, at least 1.

    Raises:
        DataError: A zero query, no rows, or values that are not finite.
        SettingError: k is below 1.
    """
    check_k(k)
    (unit,), (directed,) = unit_rows(check_vectors(np.asarray(query)[None]))
    if not directed:
        raise DataError("The sentence's vector is zero, so nothing is near it; type another sentence.")
    units, sound = unit_rows(check_vectors(vectors))
    found = np.where(sound, (units @ unit).round(_DIGITS), -np.inf)
    rows = highest(found[None], min(k, int(sound.sum())))[0]
    return rows, np.clip(found[rows], -1.0, 1.0)


def overlap(first: Neighbours, second: Neighbours) -> Floats:
    """Returns the Jaccard overlap of each row's two neighbourhoods, (n,) float64 in [0, 1]: shared / in either.

    nan where a row has no neighbours in one of them.
    """
    shared = shared_neighbours(first.rows, second.rows)
    either = first.k + second.k - shared
    with np.errstate(invalid="ignore"):
        jaccard = shared / np.where(either > 0, either, np.nan)
    alone = (first.rows < 0).all(axis=1) | (second.rows < 0).all(axis=1)
    return np.where(alone, np.nan, jaccard)


def shared_neighbours(first: Rows, second: Rows) -> Rows:
    """Returns how many neighbours each row has in both, (n,) int64; -1 counts as none."""
    equal = (first[:, :, None] == second[:, None, :]) & (first[:, :, None] >= 0)
    return equal.any(axis=2).sum(axis=1)


def overlap_matrix(encoders: Sequence[Neighbours]) -> Floats:
    """Returns the mean overlap of every pair of encoders, (e, e) float64 in [0, 1]; nan where no row has neighbours."""
    matrix = np.full((len(encoders), len(encoders)), np.nan)
    for i, first in enumerate(encoders):
        for j in range(i + 1):
            values = overlap(first, encoders[j])
            if not np.isnan(values).all():
                matrix[i, j] = matrix[j, i] = np.nanmean(values)
    return matrix


def most_different(encoders: Sequence[Neighbours], show: int = 20) -> tuple[Difference, ...]:
    """Returns the sentences whose neighbourhoods differ most between encoders, the most different first, then by row.

    Sentences without neighbours in some encoder are left out; with fewer than two encoders there are none.
    """
    pairs = list(combinations(range(len(encoders)), 2))
    if not pairs:
        return ()
    table = np.stack([overlap(encoders[i], encoders[j]) for i, j in pairs])
    means = table.mean(axis=0)
    order = np.argsort(means, kind="stable")[: int((~np.isnan(means)).sum())]
    return tuple(
        Difference(int(row), float(means[row]), pairs[worst], float(table[worst, row]))
        for row in order[:show]
        for worst in [int(table[:, row].argmin())]
    )


def check_k(k: int) -> None:
    """Raises SettingError unless k is a whole number of at least 1."""
    if k != int(k) or k < 1:
        raise SettingError(f"The number of neighbours is {k}; use a whole number from 1.")


def blocks(rows: Rows, n: int, look: Look | None = None) -> Iterator[Rows]:
    """Yields rows of n similarities each in parts that fit into memory.

    Args:
        rows: (m,) int64.
        n: Similarities of each.
        look: Called before each part; what it raises ends the work.
    """
    for block in np.array_split(rows, max(1, -(-n * len(rows) // _CELLS_A_BLOCK))):
        if look:
            look()
        yield block


def highest(values: Floats, k: int) -> Rows:
    """Returns the columns of each row's k highest values, (m, k) int64, highest first, equal ones by column."""
    if k == 0:
        return np.zeros((len(values), 0), dtype=np.int64)
    chosen = np.empty((len(values), k), dtype=np.int64)
    for number, (row, least) in enumerate(zip(values, _bounds(values, k), strict=True)):
        columns = np.flatnonzero(row >= least)
        chosen[number] = columns[np.argsort(-row[columns], kind="stable")[:k]]
    return chosen


def _bounds(values: Floats, k: int) -> Floats:
    """Returns for each row a value that at least k of its values, and not many more, reach, (m,) float64."""
    n = values.shape[1]
    groups = n // _GROUP
    if groups < 2 * k:
        return np.partition(values, n - k, axis=1)[:, n - k]
    # As many groups of columns have a highest value that reaches it: far fewer to partition, the slow part.
    tops = values[:, : groups * _GROUP].reshape(len(values), _GROUP, groups).max(axis=1)
    return np.partition(tops, groups - k, axis=1)[:, groups - k]
