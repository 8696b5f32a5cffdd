"""The detectors, on figures worked out by hand."""

from __future__ import annotations

import pytest

from explorer.training.detectors import bad_loss, collapsed, no_progress

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(("loss", "bad"), [(0.0, False), (3.2, False), (NAN, True), (INF, True), (-INF, True)])
def test_bad_loss(loss: float, bad: bool) -> None:
    assert bool(bad_loss(loss, 7)) == bad


@pytest.mark.parametrize(("spread", "told"), [(0.2, False), (1e-3, False), (9e-4, True), (0.0, True), (NAN, False)])
def test_collapsed(spread: float, told: bool) -> None:
    assert bool(collapsed(spread, 7)) == told


@pytest.mark.parametrize(
    ("history", "patience", "told"),
    [
        ([0.5, 0.6, 0.7], 2, False),
        ([0.7, 0.6], 2, False),  # one evaluation since the best
        ([0.7, 0.6, 0.7], 2, True),  # as good is not better
        ([0.5, 0.7, 0.6, NAN], 2, True),
        ([NAN, NAN, NAN], 2, True),
        ([0.7, 0.6, 0.5], 0, False),
        ([], 1, False),
    ],
)
def test_no_progress(history: list[float], patience: int, told: bool) -> None:
    assert bool(no_progress(history, patience, 9)) == told
