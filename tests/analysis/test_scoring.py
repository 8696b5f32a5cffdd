"""Scores of a whole table: aggregations by hand on ten rows, intervals, and what is undefined."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.analysis.scoring import compare, score_pairs, score_table
from explorer.analysis.sts import Aggregation

# Ten pairs from two sources. In "news" two neighbours are exchanged, in "forum" the order is reversed.
PARTS = ["news"] * 6 + ["forum"] * 4
GOLD = np.array([0, 1, 2, 3, 4, 5, 0, 1, 2, 3], dtype=float)
COSINES = np.array([0.10, 0.20, 0.30, 0.40, 0.60, 0.50, 0.45, 0.35, 0.25, 0.15])


def test_aggregations_by_hand_on_ten_rows() -> None:
    (score,) = score_table(COSINES, GOLD, PARTS, resamples=200)
    found = {how: score.aggregations[how].correlation for how in Aggregation}
    # news: 1 - 6 * 2 / (6 * 35); forum: -1
    news = 100 * (1 - 12 / 210)
    assert score.parts["news"].correlation.spearman == pytest.approx(news)
    assert score.parts["forum"].correlation.spearman == pytest.approx(-100)
    assert found[Aggregation.MEAN].spearman == pytest.approx((news - 100) / 2)
    assert found[Aggregation.WEIGHTED].spearman == pytest.approx((6 * news - 400) / 10)
    # All pairs: cosine ranks 1 3 5 7 10 9 8 6 4 2, gold ranks 1.5 3.5 5.5 7.5 9 10 1.5 3.5 5.5 7.5: the products of the
    # deviations from 5.5 sum to 39.5, the squares to 82.5 and 80.5.
    x = np.array([1, 3, 5, 7, 10, 9, 8, 6, 4, 2]) - 5.5
    y = np.array([1.5, 3.5, 5.5, 7.5, 9, 10, 1.5, 3.5, 5.5, 7.5]) - 5.5
    assert (x @ y, x @ x, y @ y) == (39.5, 82.5, 80.5)
    assert found[Aggregation.ALL].spearman == pytest.approx(100 * 39.5 / np.sqrt(82.5 * 80.5))
    assert {value.n for value in found.values()} == {10}


def test_a_table_of_one_part_has_only_all_pairs() -> None:
    (score,) = score_table(COSINES, GOLD, ["news"] * 10, resamples=200)
    assert list(score.aggregations) == [Aggregation.ALL]
    assert score.parts == {}


def test_every_figure_lies_in_its_interval() -> None:
    rng = np.random.default_rng(0)
    gold = rng.uniform(0, 5, 300)
    scores = score_table(gold + rng.normal(0, 2, (2, 300)), gold, ["a", "b", "c"] * 100)
    for score in (*scores[0].aggregations.values(), *scores[1].parts.values()):
        low, high = score.spearman_interval.low, score.spearman_interval.high
        assert low < score.correlation.spearman < high
        assert score.pearson_interval.low < score.correlation.pearson < score.pearson_interval.high


def test_part_intervals_can_be_left_out() -> None:
    gold = np.tile(np.arange(20.0), 2)
    (score,) = score_table(gold + np.sin(gold), gold, ["a", "b"] * 20, part_intervals=False)
    assert score.all_pairs.spearman_interval is not None
    assert score.parts["a"].spearman_interval is None
    assert score.aggregations[Aggregation.MEAN].correlation.spearman is not None


def test_a_mean_of_parts_has_no_interval_if_a_part_is_too_small() -> None:
    (score,) = score_table(COSINES, GOLD, PARTS)
    assert score.all_pairs.spearman_interval is not None
    assert score.aggregations[Aggregation.MEAN].spearman_interval is None


def test_an_undefined_encoder_does_not_disturb_the_others() -> None:
    rows = np.stack([np.full(10, 0.5), COSINES])
    constant, other = score_pairs(rows, GOLD)
    assert constant.correlation.why == "undefined: all cosines are equal"
    assert other.spearman_interval == score_pairs(COSINES[None], GOLD)[0].spearman_interval
    assert compare(constant, other) is None


def test_compare_is_paired() -> None:
    rng = np.random.default_rng(0)
    gold = rng.uniform(0, 5, 1379)
    cosines = gold + rng.normal(0, 1, 1379)
    first, second = score_pairs(np.stack([cosines, cosines + rng.normal(0, 0.3, 1379)]), gold)
    found = compare(first, second)
    assert found.clear
    # Each encoder's own interval is far wider than that of their difference.
    assert found.interval.high - found.interval.low < (first.spearman_interval.high - first.spearman_interval.low) / 2
    assert compare(second, first).value == -found.value
