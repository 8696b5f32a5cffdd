"""How far chance alone moves a correlation: bootstrap intervals and a paired comparison of encoders. Pure numpy, seeded.

A resample is kept as how often each pair was drawn. Ranks within a resample follow from running sums of those counts, so
nothing is sorted again and a thousand resamples of a few thousand pairs take a fraction of a second. Resampled figures are good
to 0.001, far below what chance moves them; the figures themselves come from sts.py, in full precision.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from explorer.analysis.writing import figure

LEVEL = 0.95
RESAMPLES = 1000
SEED = 42
# Below this many pairs resamples repeat so few pairs that their quantiles mean little.
FEWEST = 10
# About this many counts at once: a block of resamples stays in the processor's cache.
_BLOCK = 100_000

# A variance as small as this, where 1 is usual, is what float32 leaves of zero.
_ROUNDING = 1e-5

Floats = NDArray[np.float64]
Small = NDArray[np.float32]


@dataclass(frozen=True)
class Interval:
    """Where a figure lies with the confidence of LEVEL, in the units of the figure (x 100)."""

    low: float
    high: float


@dataclass(frozen=True)
class Resampled:
    """The correlations of E encoders in each of B resamples of the same pairs, x 100; nan where one is undefined.

    Args:
        spearman: (E, B) float64.
        pearson: (E, B) float64.
    """

    spearman: Floats
    pearson: Floats


@dataclass(frozen=True)
class Difference:
    """One encoder's score minus another's on the same pairs.

    Args:
        value: Difference of the scores, x 100.
        interval: Of the difference; None with fewer than FEWEST pairs.
        n: Number of pairs.
    """

    value: float
    interval: Interval | None
    n: int

    @property
    def clear(self) -> bool:
        """Whether the interval leaves zero out."""
        return self.interval is not None and (self.interval.low > 0 or self.interval.high < 0)


def resample(cosines: ArrayLike, gold: ArrayLike, *, resamples: int = RESAMPLES, seed: int = SEED) -> Resampled:
    """Returns Spearman and Pearson x 100 in resamples of the pairs, drawn with replacement, the same for every encoder.

    Args:
        cosines: (E, n) float, finite.
        gold: (n,) float of any scale, finite.
        resamples: B.
        seed: Decides which pairs are drawn; with equal n and seed the same ones.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapters 6 and 13.
    """
    scores, y = np.atleast_2d(np.asarray(cosines, dtype=np.float64)), np.asarray(gold, dtype=np.float64)
    n, of_gold, of_scores = len(y), _Ranks(y), [_Ranks(x) for x in scores]
    moments = np.concatenate([_moments(_standard(x), _standard(y)) for x in scores], axis=1)
    spearman, pearson = [], []
    for counts in _counts(n, resamples, seed):
        grouped, ranks = of_gold.of(counts[:, of_gold.order])
        spread = np.einsum("bg,bg,bg->b", grouped, ranks, ranks)
        of_pairs = ranks[:, of_gold.group]
        spearman.append([_spearman(one, counts, of_pairs, spread) for one in of_scores])
        sums = (counts @ moments).reshape(len(counts), len(scores), -1)
        pearson.append([_pearson(sums[:, e], n) for e in range(len(scores))])
    return Resampled(*(100 * np.concatenate(part, axis=1).astype(np.float64) for part in (spearman, pearson)))


def interval(values: ArrayLike, observed: float, *, level: float = LEVEL) -> Interval | None:
    """Returns the bias-corrected percentile interval of a figure; None where too few resamples define it.

    Args:
        values: (B,) float, the figure in each resample; nan where undefined.
        observed: The figure on the pairs themselves.
        level: Share of such intervals that hold the truth.

    Source: Efron and Tibshirani (1993), section 14.3, with acceleration 0.
    """
    known = np.asarray(values, dtype=np.float64)
    known = known[np.isfinite(known)]
    if len(known) < 100:
        return None
    normal = NormalDist()
    below = (np.count_nonzero(known < observed) + 0.5 * np.count_nonzero(known == observed)) / len(known)
    shift = normal.inv_cdf(min(max(below, 1 / len(known)), 1 - 1 / len(known)))
    tail = normal.inv_cdf(0.5 - level / 2)
    low, high = np.quantile(known, [normal.cdf(2 * shift + tail), normal.cdf(2 * shift - tail)])
    return Interval(float(low), float(high))


def difference(first: ArrayLike, second: ArrayLike, observed: float, n: int) -> Difference:
    """Returns the paired bootstrap of a difference.

    Args:
        first: (B,) float, one encoder's score in each resample.
        second: (B,) float, the other's in the same resamples.
        observed: First minus second on the pairs themselves, x 100.
        n: Number of pairs.
    """
    values = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    return Difference(observed, interval(values, observed) if n >= FEWEST else None, n)


def in_words(first: str, second: str, found: Difference) -> str:
    """Returns a difference in one sentence: who is ahead, by how much, and whether that is clear at this many pairs."""
    at = f"n = {found.n:,}"
    if found.interval is None:
        why = f"at least {FEWEST} are needed" if found.n < FEWEST else "too few of its resamples have a score"
        return f"{first} and {second}: not enough pairs to say ({at}, {why})."
    low, high = found.interval.low, found.interval.high
    if found.value < 0:
        first, second, low, high = second, first, -high, -low
    around = f"95 % interval of the difference {figure(low)} to {figure(high)}"
    if not found.value and low == high == 0:
        return f"{first} and {second} score the same ({around}) at {at}."
    apart = figure(abs(found.value))
    none = apart == figure(0.0)
    ahead = f"{first} and {second} are {apart} apart" if none else f"{first} is {apart} above {second}"
    return f"{ahead} ({around}): {'clear' if found.clear else 'not clear'} at {at}."


def _counts(n: int, resamples: int, seed: int) -> Iterator[Small]:
    """Yields (b, n) float32 blocks: how often each pair is drawn in each of b resamples."""
    rng = np.random.default_rng(seed)
    size = max(1, _BLOCK // n)
    for start in range(0, resamples, size):
        b = min(size, resamples - start)
        drawn = rng.integers(0, n, size=(b, n))
        drawn += n * np.arange(b)[:, None]
        yield np.bincount(drawn.ravel(), minlength=b * n).reshape(b, n).astype(np.float32)


class _Ranks:
    """Mid-ranks of one variable within any resample, from its order in the whole table; ties share a rank.

    Args:
        values: (n,) float64.
    """

    def __init__(self, values: Floats) -> None:
        self.order = np.argsort(values, kind="stable")
        ordered = values[self.order]
        new = np.r_[True, ordered[1:] != ordered[:-1]]
        self.ends = np.r_[np.flatnonzero(new)[1:], len(values)] - 1
        self.group_in_order = np.cumsum(new) - 1
        self.group = np.empty(len(values), dtype=np.intp)
        self.group[self.order] = self.group_in_order

    @property
    def tied(self) -> bool:
        """Whether any two values are equal."""
        return len(self.ends) < len(self.order)

    def of(self, ordered: Small) -> tuple[Small, Small]:
        """Returns each group of ties' count and its mid-rank less the mean rank, both (b, groups), lowest value first.

        Args:
            ordered: (b, n), how often each pair is drawn, in the order of the variable.
        """
        last = np.cumsum(ordered, axis=1)
        if self.tied:
            last = last[:, self.ends]
            ordered = np.diff(last, axis=1, prepend=np.float32(0))
        # Exact in float32: half integers below 2^22.
        return ordered, (last - ordered / 2 - len(self.order) / 2).astype(np.float32, copy=False)


def _spearman(scores: _Ranks, counts: Small, gold_ranks: Small, gold_spread: Small) -> Small:
    """Returns (b,) rank correlations.

    Args:
        scores: The ranks of one encoder's cosines.
        counts: (b, n), how often each pair is drawn.
        gold_ranks: (b, n), the centred rank of each pair's gold score.
        gold_spread: (b,), the sum of squares of the gold ranks.
    """
    ordered = counts[:, scores.order]
    grouped, ranks = scores.of(ordered)
    spread = np.einsum("bg,bg,bg->b", grouped, ranks, ranks)
    of_pairs = ranks[:, scores.group_in_order] if scores.tied else ranks
    together = np.einsum("bn,bn,bn->b", ordered, of_pairs, gold_ranks[:, scores.order])
    scale = np.float32(len(scores.order) ** 3 / 12)
    return _ratio(together / scale, spread / scale, gold_spread / scale)


def _standard(values: Floats) -> Floats:
    centred = values - values.mean()
    spread = np.sqrt(np.mean(centred**2))
    return centred / spread if spread else centred


def _moments(a: Floats, b: Floats) -> Small:
    """Returns (n, 5): what has to be summed over the drawn pairs for Pearson, of two standardised variables."""
    return np.column_stack([a, b, a * a, b * b, a * b]).astype(np.float32)


def _pearson(sums: Small, n: int) -> Small:
    a, b, aa, bb, ab = (sums / n).T
    return _ratio(ab - a * b, aa - a * a, bb - b * b)


def _ratio(together: Small, first: Small, second: Small) -> Small:
    """Returns a correlation from its covariance and variances, which are of size 1; nan where one is mere rounding."""
    sound = (first > _ROUNDING) & (second > _ROUNDING)
    return np.asarray(together / np.sqrt(np.where(sound, first * second, np.nan)), dtype=np.float32)
