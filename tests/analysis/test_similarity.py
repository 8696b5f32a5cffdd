"""Cosines, percentiles and readings, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.analysis.similarity import cosine_of_pairs, percentile, quantiles_of, reading


def test_cosine_of_pairs_by_hand() -> None:
    a = np.array([[3.0, 4.0], [1.0, 0.0], [1.0, 1.0], [2.0, 0.0]])
    b = np.array([[4.0, 3.0], [0.0, 5.0], [-2.0, -2.0], [7.0, 0.0]])
    # (12 + 12) / 25, orthogonal, opposite, same direction
    np.testing.assert_allclose(cosine_of_pairs(a, b), [0.96, 0.0, -1.0, 1.0])


def test_cosine_of_pairs_is_symmetric_and_bounded() -> None:
    a, b = np.random.default_rng(0).normal(size=(2, 100, 8)).astype(np.float32)
    np.testing.assert_array_equal(cosine_of_pairs(a, b), cosine_of_pairs(b, a))
    assert np.abs(cosine_of_pairs(a, a * 3)).max() <= 1.0


def test_cosine_of_pairs_of_a_zero_vector_is_not_a_number() -> None:
    assert np.isnan(cosine_of_pairs([[0.0, 0.0]], [[1.0, 0.0]])).all()


def test_percentile_by_hand() -> None:
    quantiles = [0.0, 0.2, 0.4, 0.6, 1.0]  # levels 0, 25, 50, 75, 100
    assert percentile(0.2, quantiles) == pytest.approx(25)
    assert percentile(0.3, quantiles) == pytest.approx(37.5)
    assert percentile(-1, quantiles) == 0
    assert percentile(2, quantiles) == 100


def test_percentile_of_a_value_many_pairs_have_is_in_the_middle() -> None:
    assert percentile(0.5, [0.1, 0.5, 0.5, 0.5, 0.9]) == pytest.approx(50)


def test_percentile_of_quantiles_equals_the_share_below() -> None:
    values = np.random.default_rng(1).beta(2, 3, size=5000)
    quantiles = quantiles_of(values)
    for value in (0.1, 0.4, 0.7):
        assert percentile(value, quantiles) == pytest.approx(100 * (values < value).mean(), abs=0.5)


def test_reading_never_speaks_without_a_reference() -> None:
    assert reading(None, None).startswith("No reference")
    assert reading(None, 100.0).startswith("More than chance: few random sentences score as high")
    assert reading(None, 50.0).startswith("No clear relation")


def test_reading_rises_with_the_percentile() -> None:
    levels = [reading(10, 50), reading(10, 99), reading(30, 99), reading(60, 99), reading(80, 99), reading(95, 99)]
    assert len(set(levels)) == len(levels)
    assert reading(95, 60) == reading(5, 60)  # what random pairs reach is not a relation
