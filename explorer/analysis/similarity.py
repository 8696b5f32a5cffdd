"""Cosines of pairs, their place in a reference distribution, and what may honestly be said of them. Pure numpy."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def cosine_of_pairs(first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
    """Returns the cosine of each row of `first` with the same row of `second`.

    Args:
        first: (n, H) float.
        second: (n, H) float.

    Returns:
        (n,) float64 in [-1, 1]; nan where a vector is zero or not finite.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        cosines = np.einsum("ij,ij->i", a, b) / np.where(norms > 0, norms, np.nan)
    return np.clip(cosines, -1.0, 1.0)


def percentile(value: float, quantiles: ArrayLike) -> float:
    """Returns the share of a reference distribution below `value`, in 0..100, by linear interpolation.

    Args:
        value: A cosine.
        quantiles: (m,) ascending, evenly spaced quantiles of the distribution from its minimum to its maximum, m >= 2.
    """
    points = np.asarray(quantiles, dtype=np.float64)
    levels = np.linspace(0.0, 100.0, len(points))
    # Equal quantiles (many pairs with one cosine) count from their middle, as in a mid-rank.
    below = np.interp(value, points, levels, left=0.0, right=100.0)
    equal = levels[points == value]
    return float(equal.mean()) if len(equal) > 1 else float(below)


def quantiles_of(cosines: ArrayLike, count: int = 201) -> NDArray[np.float64]:
    """Returns `count` evenly spaced quantiles of (n,) cosines, minimum and maximum included."""
    return np.quantile(np.asarray(cosines, dtype=np.float64), np.linspace(0.0, 1.0, count))


def reading(percentile_stsb: float | None, percentile_random: float | None) -> str:
    """Returns one plain sentence on a cosine, from where it stands among reference pairs and never from its raw size.

    Args:
        percentile_stsb: Percentile among the STSb dev pairs, 0..100; None without a reference.
        percentile_random: Percentile among random pairs, 0..100; None without a reference.
    """
    if percentile_random is None:
        return "No reference distribution for this encoder: the cosine alone says little."
    if percentile_random < 95:
        return "No clear relation: random sentences often score as high."
    if percentile_stsb is None:
        return (
            "More than chance: few random sentences score as high. How close, no reference of related pairs says here."
        )
    if percentile_stsb < 25:
        return "A weak relation: more than chance, less than most related pairs."
    if percentile_stsb < 50:
        return "Somewhat related: in the lower half of the related pairs."
    if percentile_stsb < 75:
        return "Related: in the upper half of the related pairs."
    if percentile_stsb < 90:
        return "Close in meaning: among the top quarter of the related pairs."
    return "Very close in meaning for this encoder: among the top tenth of the related pairs."
