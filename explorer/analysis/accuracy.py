"""How often a softmax head names the right label, how far chance moves that, and a paired comparison. Pure numpy, seeded."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from explorer.analysis.statistics import LEVEL, RESAMPLES, SEED, Difference, Interval, difference

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Accuracy:
    """How many of some pairs got the right label.

    Args:
        n: Number of pairs.
        value: Share of right labels x 100; None where there are no pairs or nothing could be asked.
        interval: 95 % interval of the share x 100; None where there is no value.
        why: Why there is no value; empty otherwise.
    """

    n: int
    value: float | None = None
    interval: Interval | None = None
    why: str = ""


def predict(first: Floats, second: Floats, weight: Floats, bias: Floats) -> NDArray[np.intp]:
    """Returns (n,) the number of the likeliest label of each pair, as a softmax head on two embeddings gives it.

    Args:
        first: (n, H) float32, the embeddings u of the first sentences.
        second: (n, H) float32, the embeddings v of the second ones.
        weight: (L, 3H) float32, applied to [u; v; |u - v|].
        bias: (L,) float32.

    Source: Reimers and Gurevych, Sentence-BERT (2019), section 3.
    """
    of_first, of_second, of_gap = np.split(weight, 3, axis=1)
    logits = first @ of_first.T + second @ of_second.T + np.abs(first - second) @ of_gap.T + bias
    return np.argmax(logits, axis=1)


def accuracy(right: ArrayLike) -> Accuracy:
    """Returns the share of right labels with its score interval.

    Args:
        right: (n,) bool.

    Source: Wilson, Probable inference, the law of succession, and statistical inference (1927).
    """
    flags = np.asarray(right, dtype=bool)
    n = len(flags)
    if not n:
        return Accuracy(0, why="undefined: no pairs")
    share, z = float(flags.mean()), NormalDist().inv_cdf(0.5 + LEVEL / 2)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    found = Interval(100 * max(0.0, centre - half), 100 * min(1.0, centre + half))
    return Accuracy(n, 100 * share, found)


def compare_right(first: Flags, second: Flags, *, resamples: int = RESAMPLES, seed: int = SEED) -> Difference:
    """Returns one encoder's accuracy less another's on the same pairs, x 100, with its paired bootstrap.

    A resample draws pairs; only how many it draws of those that one encoder alone has right matters, so these two numbers
    are drawn at once.

    Args:
        first: (n,) bool, which labels the one encoder has right.
        second: (n,) bool, likewise for the other.
        resamples: Of the bootstrap.
        seed: Of the draws.
    """
    n = len(first)
    alone = np.array([np.count_nonzero(first & ~second), np.count_nonzero(second & ~first)])
    if not n:
        return Difference(0.0, None, 0)
    shares = [*alone / n, 1 - alone.sum() / n]
    drawn = np.random.default_rng(seed).multinomial(n, shares, size=resamples)
    return difference(100 * drawn[:, 0] / n, 100 * drawn[:, 1] / n, 100 * float(alone[0] - alone[1]) / n, n)
