"""The bootstrap: ranks within a resample as SciPy has them, the same draw twice, honest coverage, results in words."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from benchmarks.bootstrap import run, speed
from explorer.analysis.statistics import Difference, Interval, _counts, difference, in_words, interval, resample

RNG = np.random.default_rng(3)
GOLD = np.round(RNG.uniform(0, 5, 60) * 5) / 5
COSINES = np.stack([GOLD + RNG.normal(0, 1.5, 60), np.round(GOLD + RNG.normal(0, 1.5, 60))])


def test_every_resample_equals_scipy_on_the_drawn_pairs() -> None:
    drawn = resample(COSINES, GOLD, resamples=40, seed=5)
    counts = np.concatenate(list(_counts(60, 40, 5))).astype(int)
    assert (counts.sum(axis=1) == 60).all()
    for b, count in enumerate(counts):
        rows = np.repeat(np.arange(60), count)
        for e, cosines in enumerate(COSINES):
            assert drawn.spearman[e, b] == pytest.approx(
                100 * stats.spearmanr(cosines[rows], GOLD[rows]).statistic, abs=1e-3
            )
            assert drawn.pearson[e, b] == pytest.approx(
                100 * stats.pearsonr(cosines[rows], GOLD[rows]).statistic, abs=1e-3
            )


def test_resample_by_hand() -> None:
    # Two pairs in the right order: a resample has both (100) or one of them twice (undefined).
    drawn = resample([[0.1, 0.9]], [1, 4], resamples=50, seed=0)
    both = np.concatenate(list(_counts(2, 50, 0)))[:, 0] == 1
    assert drawn.spearman[0, both] == pytest.approx(100)
    assert np.isnan(drawn.spearman[0, ~both]).all()
    assert np.isnan(drawn.pearson[0, ~both]).all()


def test_resample_is_the_same_twice_and_for_each_encoder_alone() -> None:
    both, again = resample(COSINES, GOLD, resamples=20), resample(COSINES, GOLD, resamples=20)
    assert np.array_equal(both.spearman, again.spearman)
    assert np.array_equal(both.spearman[1], resample(COSINES[1], GOLD, resamples=20).spearman[0])
    assert not np.array_equal(both.spearman, resample(COSINES, GOLD, resamples=20, seed=1).spearman)


def test_interval_of_a_symmetric_distribution_is_its_percentiles() -> None:
    values = np.arange(1, 1000, dtype=float)
    found = interval(values, 500.0)
    assert found is not None
    assert (found.low, found.high) == (pytest.approx(25.95), pytest.approx(974.05))


def test_interval_is_none_where_hardly_a_resample_is_defined() -> None:
    assert interval(np.full(1000, np.nan), 1.0) is None


def test_difference_is_clear_only_if_its_interval_leaves_zero_out() -> None:
    draws = np.random.default_rng(0).normal(0, 1, 1000)
    assert difference(draws + 3, np.zeros(1000), 3.0, 1379).clear
    assert not difference(draws + 1, np.zeros(1000), 1.0, 1379).clear
    assert difference(draws, draws, 0.0, 9).interval is None


def test_in_words_says_who_is_ahead_and_whether_it_is_clear() -> None:
    unclear = Difference(-0.3, Interval(-0.9, 0.25), 1379)
    assert in_words("a", "b", unclear) == (
        "b is 0.30 above a (95 % interval of the difference \N{MINUS SIGN}0.25 to 0.90): not clear at n = 1,379."
    )
    assert in_words("a", "b", Difference(1.0, Interval(0.4, 1.6), 200)).endswith(": clear at n = 200.")
    assert in_words("a", "b", Difference(1.0, None, 9)) == (
        "a and b: not enough pairs to say (n = 9, at least 10 are needed)."
    )
    assert "(n = 40, too few of its resamples have a score)" in in_words("a", "b", Difference(1.0, None, 40))
    assert in_words("a", "b", Difference(0.0, Interval(0.0, 0.0), 40)) == (
        "a and b score the same (95 % interval of the difference 0.00 to 0.00) at n = 40."
    )
    equal_by_chance = in_words("a", "b", Difference(0.0, Interval(-15.94, 10.46), 10))
    assert equal_by_chance == (
        "a and b are 0.00 apart (95 % interval of the difference \N{MINUS SIGN}15.94 to 10.46): not clear at n = 10."
    )


def test_intervals_hold_the_truth_and_false_alarms_are_rare() -> None:
    # The full simulation is benchmarks/bootstrap.py: 1,000 tables, 93-97 % and 3-7 %. With 200 tables a share of 95 % is known
    # to within 4.6 points (three standard errors), so the bounds here are wider.
    found = run(200, 120, resamples=400, seed=1, large=200_000)
    assert 0.90 <= found.covered_spearman <= 0.99
    assert 0.90 <= found.covered_pearson <= 0.99
    assert found.false_alarms <= 0.096


def test_an_encoders_intervals_take_less_than_a_second() -> None:
    assert speed() < 1
