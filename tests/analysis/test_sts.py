"""Correlations by hand, against SciPy, and what is undefined."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.analysis.sts import correlate


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
    ],
)
def test_correlate_says_why_it_is_undefined(cosines: list, gold: list, why: str) -> None:
    result = correlate(cosines, gold)
    assert result.spearman is None
    assert result.pearson is None
    assert why in result.why
