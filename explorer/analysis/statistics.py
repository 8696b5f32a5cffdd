"""How far chance alone moves a correlation: bootstrap intervals and a paired comparison of encoders. Pure numpy, seeded.

A resample is kept as how often each pair was drawn. Ranks within a resample follow from running sums of those counts, so
nothing is sorted again and a thousand resamples of a few thousand pairs take a fraction of a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEVEL = 0.95
RESAMPLES = 1000
SEED = 42
# Below this many pairs resamples repeat so few pairs that their quantiles mean little.
FEWEST = 10
# About this many counts at once: one block of resamples stays in the processor's cache.
_BLOCK = 400_000

Floats = NDArray[np.float64]


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
    of_gold, of_scores = _Ranks(y), [_Ranks(x) for x in scores]
    moments = [_moments(x, y) for x in scores]
    spearman, pearson = [], []
    for counts in _counts(len(y), resamples, seed):
        grouped = of_gold.sums(counts)
        ranks = of_gold.centred(grouped)
        spread = np.einsum("bg,bg,bg->b", grouped, ranks, ranks)
        weighted = counts * ranks[:, of_gold.group]
        spearman.append([_spearman(one, counts, weighted, spread) for one in of_scores])
        pearson.append([_pearson(counts @ sums, len(y)) for sums in moments])
    return Resampled(100 * np.concatenate(spearman, axis=1), 100 * np.concatenate(pearson, axis=1))


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
    if found.interval is None:
        return f"{first} and {second}: not enough pairs to say (n = {found.n:,}, at least {FEWEST} are needed)."
    low, high = found.interval.low, found.interval.high
    if found.value < 0:
        first, second, low, high = second, first, -high, -low
    ahead = f"{first} is {abs(found.value):.2f} above {second} (95 % interval {_signed(low)} to {_signed(high)})"
    return f"{ahead}: {'clear' if found.clear else 'not clear'} at n = {found.n:,}."


def _signed(value: float) -> str:
    return f"{value:.2f}".replace("-", "\N{MINUS SIGN}")


def _counts(n: int, resamples: int, seed: int) -> Iterator[Floats]:
    """Yields (b, n) float64 blocks: how often each pair is drawn in each of b resamples."""
    rng = np.random.default_rng(seed)
    size = max(1, _BLOCK // n)
    for start in range(0, resamples, size):
        b = min(size, resamples - start)
        drawn = rng.integers(0, n, size=(b, n))
        drawn += n * np.arange(b)[:, None]
        yield np.bincount(drawn.ravel(), minlength=b * n).reshape(b, n).astype(np.float64)


class _Ranks:
    """Mid-ranks of one variable within any resample, from its order in the whole table; ties share a rank.

    Args:
        values: (n,) float64.
    """

    def __init__(self, values: Floats) -> None:
        self.order = np.argsort(values, kind="stable")
        ordered = values[self.order]
        first = np.r_[True, ordered[1:] != ordered[:-1]]
        self.starts = np.flatnonzero(first)
        self.group = np.empty(len(values), dtype=np.intp)
        self.group[self.order] = np.cumsum(first) - 1

    def sums(self, per_pair: Floats) -> Floats:
        """Returns (b, n) values summed over each group of ties, in ascending order of the variable: (b, groups)."""
        ordered = per_pair[:, self.order]
        return ordered if len(self.starts) == len(self.order) else np.add.reduceat(ordered, self.starts, axis=1)

    def centred(self, grouped: Floats) -> Floats:
        """Returns each group's mid-rank less the mean rank, from how often its pairs were drawn; both (b, groups)."""
        ranks = np.cumsum(grouped, axis=1)
        ranks -= grouped / 2
        ranks -= len(self.order) / 2
        return ranks


def _spearman(scores: _Ranks, counts: Floats, gold_ranks: Floats, gold_spread: Floats) -> Floats:
    """Returns (b,) rank correlations.

    Args:
        scores: The ranks of one encoder's cosines.
        counts: (b, n), how often each pair is drawn.
        gold_ranks: (b, n), the centred rank of each pair's gold score, times its count.
        gold_spread: (b,), the sum of squares of the gold ranks.
    """
    grouped = scores.sums(counts)
    ranks = scores.centred(grouped)
    spread = np.einsum("bg,bg,bg->b", grouped, ranks, ranks)
    together = np.einsum("bg,bg->b", scores.sums(gold_ranks), ranks)
    return _ratio(together, spread, gold_spread)


def _moments(x: Floats, y: Floats) -> Floats:
    """Returns (n, 5): what has to be summed over the drawn pairs for Pearson; centred first, to lose no digits."""
    a, b = x - x.mean(), y - y.mean()
    return np.column_stack([a, b, a * a, b * b, a * b])


def _pearson(sums: Floats, n: int) -> Floats:
    a, b, aa, bb, ab = (sums / n).T
    return _ratio(ab - a * b, aa - a * a, bb - b * b)


def _ratio(together: Floats, first: Floats, second: Floats) -> Floats:
    """Returns a correlation from its covariance and variances; nan where a variance is nothing but rounding."""
    product = first * second
    product = np.where(product > 1e-18 * np.max(product, initial=0.0), product, np.nan)
    return together / np.sqrt(product)
