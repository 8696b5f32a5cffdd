"""Correlations of cosines with gold scores, x 100 as the field prints them. Pure numpy; equal to SciPy's within rounding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Aggregation(StrEnum):
    """How the parts of a task (the sources of a year's pairs) become one figure; the first is the paper's.

    The three differ by several points on the same cosines, so a figure without its aggregation cannot be compared.
    """

    ALL = "all pairs"
    MEAN = "mean of parts"
    WEIGHTED = "weighted mean"


@dataclass(frozen=True)
class Correlation:
    """How well one encoder's cosines follow the gold scores of one set of pairs.

    Args:
        n: Number of pairs.
        spearman: Rank correlation x 100 (ties get mean ranks); None where undefined.
        pearson: Linear correlation x 100; None where undefined.
        why: Why a figure is undefined; empty otherwise.
    """

    n: int
    spearman: float | None
    pearson: float | None
    why: str = ""


def correlate(cosines: ArrayLike, gold: ArrayLike) -> Correlation:
    """Returns Spearman and Pearson x 100 between (n,) cosines and (n,) gold scores of any scale."""
    a, b = np.asarray(cosines, dtype=np.float64), np.asarray(gold, dtype=np.float64)
    why = _undefined(a, b)
    if why:
        return Correlation(len(a), None, None, why)
    return Correlation(len(a), 100 * _linear(mid_ranks(a), mid_ranks(b)), 100 * _linear(a, b))


def mid_ranks(values: ArrayLike) -> NDArray[np.float64]:
    """Returns the ranks of (n,) values from 1 on; equal values share the mean of their ranks."""
    _, group, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[group], dtype=np.float64)


def combine(parts: Mapping[str, Correlation], how: Aggregation) -> Correlation:
    """Returns the mean of the parts' correlations, plain or weighted by their number of pairs.

    Args:
        parts: One Correlation a part; if one is undefined so is the mean.
        how: MEAN or WEIGHTED; ALL cannot be had from parts.
    """
    assert how is not Aggregation.ALL, "all pairs together are correlated, not combined"
    n = sum(part.n for part in parts.values())
    for name, part in parts.items():
        if part.spearman is None or part.pearson is None:
            return Correlation(n, None, None, f"{part.why} (in the part {name})")
    weights = [part.n if how is Aggregation.WEIGHTED else 1 for part in parts.values()]
    spearman, pearson = (
        float(np.average([getattr(part, kind) for part in parts.values()], weights=weights))
        for kind in ("spearman", "pearson")
    )
    return Correlation(n, spearman, pearson)


def _linear(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    a, b = a - a.mean(), b - b.mean()
    return float(np.clip(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)), -1.0, 1.0))


def _undefined(cosines: np.ndarray, gold: np.ndarray) -> str:
    if len(cosines) < 2:
        return f"undefined: {len(cosines)} pair{'' if len(cosines) == 1 else 's'}, at least 2 are needed"
    if not np.isfinite(cosines).all():
        return "undefined: a cosine is not a number (an embedding is zero)"
    if not np.isfinite(gold).all():
        return "undefined: a gold score is not a finite number"
    if np.ptp(gold) == 0:
        return "undefined: all gold scores are equal"
    if np.ptp(cosines) == 0:
        return "undefined: all cosines are equal"
    return ""
