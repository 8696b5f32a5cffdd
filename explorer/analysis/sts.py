"""Correlations of cosines with gold scores, x 100 as the field prints them. Pure numpy and scipy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats


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
    return Correlation(
        len(a), 100 * float(stats.spearmanr(a, b).statistic), 100 * float(stats.pearsonr(a, b).statistic)
    )


def _undefined(cosines: np.ndarray, gold: np.ndarray) -> str:
    if len(cosines) < 2:
        return f"undefined: {len(cosines)} pair, at least 2 are needed"
    if not np.isfinite(cosines).all():
        return "undefined: a cosine is not a number (an embedding is zero)"
    if np.ptp(gold) == 0:
        return "undefined: all gold scores are equal"
    if np.ptp(cosines) == 0:
        return "undefined: all cosines are equal"
    return ""
