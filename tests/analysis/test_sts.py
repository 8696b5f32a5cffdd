"""Correlations by hand, against SciPy, and what is undefined."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from explorer.analysis.sts import Aggregation, Correlation, combine, correlate, mid_ranks


def test_correlate_by_hand_with_ties() -> None:
    # Ranks of the cosines 1, 2, 3, 4; of gold 1, 2.5, 2.5, 4: Spearman = 4.5 / sqrt(5 * 4.5).
    result = correlate([0.1, 0.2, 0.3, 0.9], [0, 2, 2, 5])
    assert result.spearman == pytest.approx(100 * 4.5 / np.sqrt(5 * 4.5))
    # Pearson: deviations (-.275, -.175, -.075, .525) and (-2.25, -.25, -.25, 2.75).
    assert result.pearson == pytest.approx(100 * 2.125 / np.sqrt(0.3875 * 12.75))


@pytest.mark.parametrize(
    ("cosines", "gold", "why"),
    [
        ([0.1, 0.2], [3, 3], "all gold scores are equal"),
        ([0.1, 0.1], [1, 3], "all cosines are equal"),
        ([0.1], [3], "1 pair"),
        ([], [], "0 pair"),
        ([0.1, float("nan")], [1, 3], "not a number"),
        ([0.1, 0.2], [1, float("inf")], "gold score is not a finite number"),
    ],
)
def test_correlate_says_why_it_is_undefined(cosines: list, gold: list, why: str) -> None:
    result = correlate(cosines, gold)
    assert result.spearman is None
    assert result.pearson is None
    assert why in result.why


@pytest.mark.parametrize("seed", range(5))
def test_correlate_equals_scipy_ties_included(seed: int) -> None:
    rng = np.random.default_rng(seed)
    gold = np.round(rng.uniform(0, 5, 500), 0)
    cosines = np.round(0.1 * gold + rng.normal(0, 0.2, 500), 1)
    result = correlate(cosines, gold)
    assert result.spearman == pytest.approx(100 * stats.spearmanr(cosines, gold).statistic, abs=1e-9)
    assert result.pearson == pytest.approx(100 * stats.pearsonr(cosines, gold).statistic, abs=1e-9)


def test_mid_ranks_by_hand() -> None:
    assert mid_ranks([3, 1, 3, 2, 3]).tolist() == [4, 1, 4, 2, 4]


def test_combine_by_hand() -> None:
    parts = {"news": Correlation(6, 80.0, 70.0), "forum": Correlation(4, 60.0, 40.0)}
    assert combine(parts, Aggregation.MEAN) == Correlation(10, 70.0, 55.0)
    # (6 x 80 + 4 x 60) / 10 and (6 x 70 + 4 x 40) / 10
    assert combine(parts, Aggregation.WEIGHTED) == Correlation(10, pytest.approx(72.0), pytest.approx(58.0))


def test_combine_names_the_part_that_is_undefined() -> None:
    parts = {"news": Correlation(6, 80.0, 70.0), "forum": Correlation(1, None, None, "undefined: 1 pair")}
    assert combine(parts, Aggregation.MEAN) == Correlation(7, None, None, "undefined: 1 pair (in the part forum)")


def test_the_papers_aggregation_comes_first() -> None:
    assert next(iter(Aggregation)) is Aggregation.ALL == "all pairs"
