"""Scores several encoders on one table of pairs: every aggregation, every part, each with its interval. Pure numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from explorer.analysis.statistics import FEWEST, RESAMPLES, SEED, Difference, Interval, difference, interval, resample
from explorer.analysis.sts import Aggregation, Correlation, combine, correlate

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Score:
    """A correlation and where it may lie by chance.

    Args:
        correlation: On the pairs themselves.
        spearman_interval: 95 % bootstrap interval of Spearman x 100; None with fewer than 10 pairs or where undefined.
        pearson_interval: Likewise.
        drawn: (2, B) Spearman and Pearson x 100 in each resample; None where there is no interval. The resamples of two
            encoders on one table are the same, so these can be subtracted.
    """

    correlation: Correlation
    spearman_interval: Interval | None = None
    pearson_interval: Interval | None = None
    drawn: Floats | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class TableScore:
    """One encoder on one table.

    Args:
        aggregations: A Score each; only ALL where the table has fewer than two parts.
        parts: A Score for each part; empty where the table has fewer than two.
    """

    aggregations: Mapping[Aggregation, Score]
    parts: Mapping[str, Score] = field(default_factory=dict)

    @property
    def all_pairs(self) -> Score:
        """The score over all pairs at once, the paper's aggregation."""
        return self.aggregations[Aggregation.ALL]


def score_table(
    cosines: ArrayLike,
    gold: ArrayLike,
    parts: Sequence[str] | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    part_intervals: bool = True,
) -> list[TableScore]:
    """Returns one TableScore an encoder.

    Args:
        cosines: (E, n) float64.
        gold: (n,) float.
        parts: The part of each pair; None for a table without parts.
        resamples: Of the bootstrap; each part is drawn by itself, so that a mean of parts keeps every part's size.
        seed: See `resample`.
        part_intervals: Whether the parts and their means get intervals too, which doubles the work.
    """
    x, y = np.atleast_2d(np.asarray(cosines, dtype=np.float64)), np.asarray(gold, dtype=np.float64)
    together = score_pairs(x, y, resamples=resamples, seed=seed)
    names = list(dict.fromkeys(parts)) if parts is not None else []
    if len(names) < 2:
        return [TableScore({Aggregation.ALL: score}) for score in together]
    labels = np.asarray(parts, dtype=object)
    draws = resamples if part_intervals else 0
    split = [
        score_pairs(x[:, labels == name], y[labels == name], resamples=draws, seed=seed + 1 + i)
        for i, name in enumerate(names)
    ]
    return [
        _with_parts(score, dict(zip(names, of_parts, strict=True)))
        for score, *of_parts in zip(together, *split, strict=True)
    ]


def score_pairs(cosines: Floats, gold: Floats, *, resamples: int = RESAMPLES, seed: int = SEED) -> list[Score]:
    """Returns one Score an encoder over all pairs; see `score_table`. With no resamples there are no intervals."""
    scores = [Score(correlate(row, gold)) for row in cosines]
    defined = [e for e, score in enumerate(scores) if score.correlation.spearman is not None]
    if len(gold) >= FEWEST and defined and resamples:
        drawn = resample(cosines[defined], gold, resamples=resamples, seed=seed)
        for row, e in enumerate(defined):
            scores[e] = _interval(replace(scores[e], drawn=np.stack([drawn.spearman[row], drawn.pearson[row]])))
    return scores


def compare(first: Score, second: Score) -> Difference | None:
    """Returns the difference of two encoders' Spearman on the same table, paired; None where one is undefined."""
    a, b = first.correlation, second.correlation
    if a.spearman is None or b.spearman is None:
        return None
    if first.drawn is None or second.drawn is None:
        return Difference(a.spearman - b.spearman, None, a.n)
    return difference(first.drawn[0], second.drawn[0], a.spearman - b.spearman, a.n)


def _interval(score: Score) -> Score:
    if score.drawn is None or score.correlation.spearman is None or score.correlation.pearson is None:
        return score
    spearman, pearson = score.drawn
    return replace(
        score,
        spearman_interval=interval(spearman, score.correlation.spearman),
        pearson_interval=interval(pearson, score.correlation.pearson),
    )


def mean_of(scores: Mapping[str, Score], how: Aggregation = Aggregation.MEAN) -> Score:
    """Returns the mean of the scores of separate sets of pairs, with its interval if each of them has one.

    Args:
        scores: By name; of one encoder.
        how: MEAN or WEIGHTED by the number of pairs.
    """
    weights = [score.correlation.n if how is Aggregation.WEIGHTED else 1 for score in scores.values()]
    drawn = [score.drawn for score in scores.values() if score.drawn is not None]
    mean = np.average(np.stack(drawn), axis=0, weights=weights) if len(drawn) == len(scores) else None
    return _interval(Score(combine({name: score.correlation for name, score in scores.items()}, how), drawn=mean))


def _with_parts(together: Score, parts: Mapping[str, Score]) -> TableScore:
    means = {how: mean_of(parts, how) for how in (Aggregation.MEAN, Aggregation.WEIGHTED)}
    return TableScore({Aggregation.ALL: together, **means}, parts)
