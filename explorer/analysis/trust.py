"""Whether a map can be believed: trustworthiness and neighbours kept, for the whole and for each point. Pure numpy."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from explorer.analysis.neighbours import (
    Look,
    Neighbours,
    blocks,
    check_k,
    check_vectors,
    highest,
    nearest_neighbours,
    shared_neighbours,
    unit_rows,
)
from explorer.errors import DataError

Floats = NDArray[np.float64]
# Points thrown at random reach about one half.
SUSPECT_BELOW = 0.75


@dataclass(frozen=True, eq=False)
class Trust:
    """How far a map's neighbourhoods are those of the full space, by cosine.

    Args:
        k: How many neighbours were looked at; at most what trustworthiness is defined for, under half of the points.
        trustworthiness: 0..1; 1 where every neighbour on the map is a neighbour; nan with fewer than three points.
        kept: Mean share of the k nearest sentences that are among the k nearest on the map, 0..1; nan likewise.
        trust_of_points: (n,) float64, each point's own trustworthiness; their mean is the map's. It may fall below 0.
            nan where there is no point.
        kept_of_points: (n,) float64, each point's own share.
        suspect: (n,) bool, the points whose neighbours on the map are mostly strangers.
    """

    k: int
    trustworthiness: float
    kept: float
    trust_of_points: Floats
    kept_of_points: Floats
    suspect: NDArray[np.bool_]


def trust_map(
    vectors: ArrayLike,
    points: ArrayLike,
    k: int = 10,
    nearest: Neighbours | None = None,
    look: Look | None = None,
) -> Trust:
    """Returns how far a map can be believed. Equal distances share the best rank; equal points go by row order.

    Args:
        vectors: (n, H) float; zero vectors are left out.
        points: (n, 2) float; points that are nan are left out.
        k: Neighbours to look at, at least 1.
        nearest: The vectors' nearest neighbours, at least k of them, if they are known already.
        look: See neighbours.blocks.

    Raises:
        DataError: Not as many points as vectors, or values that are not finite.
        SettingError: k is below 1.

    Source:
        Venna and Kaski, Neighborhood preservation in nonlinear projection methods, 2001; as in scikit-learn.
    """
    check_k(k)
    table, places = check_vectors(vectors), np.asarray(points, dtype=np.float64)
    if len(table) != len(places):
        raise DataError(f"There are {len(table):,} vectors and {len(places):,} points; give one point a vector.")
    units, sound = unit_rows(table)
    rows = np.flatnonzero(sound & np.isfinite(places).all(axis=1))
    n, k = len(rows), min(k, (len(rows) - 1) // 2)
    trust, kept = np.full(len(table), np.nan), np.full(len(table), np.nan)
    if k < 1:
        return Trust(0, float("nan"), float("nan"), trust, kept, np.zeros(len(table), dtype=bool))
    beside = nearest_on_map(places[rows], k, look)
    beyond = np.maximum(_ranks(units[rows], beside, look) - k, 0).sum(axis=1)
    trust[rows] = 1.0 - 2.0 * beyond / (k * (2 * n - 3 * k - 1))
    if nearest is None or nearest.k < k or n < len(table):
        nearest = nearest_neighbours(table[rows], k, look)
    kept[rows] = shared_neighbours(nearest.rows[:, :k], beside) / k
    suspect = np.nan_to_num(trust, nan=1.0) < SUSPECT_BELOW
    return Trust(k, float(trust[rows].mean()), float(kept[rows].mean()), trust, kept, suspect)


def nearest_on_map(points: ArrayLike, k: int, look: Look | None = None) -> NDArray[np.int64]:
    """Returns each point's k nearest other points on the map, (n, k) int64, equal distances by row order; look: see blocks."""
    places = np.asarray(points, dtype=np.float64)
    n = len(places)
    found = np.empty((n, k), dtype=np.int64)
    for block in blocks(np.arange(n), n, look):
        x, y = (places[block, axis][:, None] - places[:, axis] for axis in (0, 1))
        closeness = -(x * x + y * y)
        closeness[np.arange(len(block)), block] = -np.inf
        found[block] = highest(closeness, k)
    return found


def worst(trust: Trust, share: float = 0.05) -> NDArray[np.int64]:
    """Returns the suspect rows that are to be ringed, the least trustworthy first: at most this share of all points."""
    suspects = np.flatnonzero(trust.suspect)
    most = math.ceil(share * int(np.isfinite(trust.trust_of_points).sum()))
    return suspects[np.argsort(trust.trust_of_points[suspects], kind="stable")[:most]]


def _ranks(units: Floats, beside: NDArray[np.int64], look: Look | None) -> NDArray[np.int64]:
    """Returns the rank, 1 for the nearest, of each row's given neighbours in the full space, (n, k) int64."""
    n = len(units)
    ranks = np.empty(beside.shape, dtype=np.int64)
    for block in blocks(np.arange(n), n, look):
        found = (units[block] @ units.T).round(12)
        given = np.take_along_axis(found, beside[block], axis=1)
        found[np.arange(len(block)), block] = -np.inf
        # Counting what is nearer is several times faster than sorting everything.
        for column in range(beside.shape[1]):
            ranks[block, column] = (found > given[:, column, None]).sum(axis=1) + 1
    return ranks
