"""The curves of a run: stages follow each other, a resumed run replaces what came after its checkpoint, NaN is left out."""

from __future__ import annotations

from typing import Any

import pytest

from explorer.analysis.curves import MOST_POINTS, CurveReader, Line, smoothed


def step(number: int, loss: float, **more: Any) -> dict[str, Any]:
    return {"kind": "step", "step": number, "loss": loss, "learning_rate": 1e-5 * number, **more}


def dev(number: int, spearman: float | None, **more: Any) -> dict[str, Any]:
    return {"kind": "dev", "step": number, "spearman": spearman, **more}


def curves(*events: dict[str, Any]) -> Any:
    reader = CurveReader()
    for event in events:  # one at a time, as a page that polls sees them
        reader.feed([event])
    return reader.curves()


def test_smoothed_worked_by_hand() -> None:
    line = Line((1, 2, 3, 4), (4.0, 2.0, 0.0, 6.0))
    assert smoothed(line, 2).values == (4.0, 3.0, 1.0, 3.0)
    assert smoothed(Line()).values == ()


def test_feed_keeps_steps_and_scores_and_passes_over_other_events() -> None:
    made = curves({"kind": "queued"}, dev(0, 0.1), step(1, 0.5), step(2, 0.4), dev(2, 0.3), {"kind": "saving"})
    assert made.loss == Line((1, 2), (0.5, 0.4))
    assert made.dev == Line((0, 2), (0.1, 0.3))
    assert made.learning_rate.values == (1e-5, 2e-5)
    assert not made.empty
    assert curves({"kind": "queued"}).empty


def test_what_is_not_a_number_is_left_out() -> None:
    made = curves(step(1, float("nan")), step(2, float("inf")), step(3, 0.2), dev(3, None))
    assert made.loss == Line((3,), (0.2,))
    assert made.dev == Line()


def test_a_resumed_run_replaces_the_steps_after_its_checkpoint() -> None:
    first = [step(1, 0.5), step(2, 0.4), dev(2, 0.3), step(3, 0.35), step(4, 0.3), dev(4, 0.4)]
    made = curves(*first, step(3, 0.33), step(4, 0.31), dev(4, 0.41))
    assert made.loss == Line((1, 2, 3, 4), (0.5, 0.4, 0.33, 0.31))
    assert made.dev == Line((2, 4), (0.3, 0.41))


@pytest.mark.parametrize("restarts", [True, False])
def test_stages_follow_each_other_however_their_steps_are_counted(restarts: bool) -> None:
    second = 0 if restarts else 2
    made = curves(
        step(1, 0.9, stage="nli"),
        step(2, 0.8, stage="nli"),
        dev(2, 0.5, stage="nli"),
        step(second + 1, 0.3, stage="sts"),
        step(second + 2, 0.2, stage="sts"),
        dev(second + 2, 0.7, stage="sts"),
    )
    assert made.loss == Line((1, 2, 3, 4), (0.9, 0.8, 0.3, 0.2))
    assert made.dev == Line((2, 4), (0.5, 0.7))
    assert made.stages == ((0, "nli"), (2, "sts"))


def test_a_run_resumed_in_its_first_stage_forgets_the_second() -> None:
    made = curves(step(1, 0.9, stage="nli"), step(1, 0.3, stage="sts"), step(1, 0.8, stage="nli"))
    assert made.loss == Line((1,), (0.8,))
    assert made.stages == ((0, "nli"),)


def test_a_long_run_is_thinned_to_means() -> None:
    made = curves(*(step(number, float(number % 2)) for number in range(1, 2001)))
    assert len(made.loss.steps) <= MOST_POINTS
    assert made.loss.steps[-1] == 2000
    assert made.loss.values[0] == pytest.approx(0.5, abs=0.1)


def test_losses_told_together_are_spread_over_their_steps() -> None:
    made = curves(step(3, 0.1, losses=[[1, 0.5], [2, 0.4], [3, None]]), step(4, 0.2, losses=[]))
    assert made.loss == Line((1, 2), (0.5, 0.4))
    assert made.learning_rate.steps == (3, 4)


def test_losses_of_a_resumed_run_replace_those_of_the_same_steps() -> None:
    made = curves(
        step(2, 0.4, losses=[[1, 0.5], [2, 0.4]]),
        dev(2, 0.3),
        step(4, 0.3, losses=[[3, 0.35], [4, 0.3]]),
        step(6, 0.2, losses=[[3, 0.33], [4, 0.31], [5, 0.3], [6, 0.2]]),
    )
    assert made.loss == Line((1, 2, 3, 4, 5, 6), (0.5, 0.4, 0.33, 0.31, 0.3, 0.2))
    assert made.dev == Line((2,), (0.3,))


@pytest.mark.parametrize("told", [None, "x", [1, 2], [["1", 0.5]], [[1]], [[1, 0.5, 2]]])
def test_losses_that_are_no_pairs_are_passed_over(told: Any) -> None:
    assert curves(step(1, 0.5, losses=told)).loss in (Line(), Line((1,), (0.5,)))


def test_numbers_that_only_a_damaged_diary_holds_are_passed_over() -> None:
    huge = 10**400
    made = curves(
        step(1, 0.5), {"kind": "step", "step": 2, "losses": [[2, huge], [huge, 0.3], [2, 0.4]]}, step(3, huge)
    )
    assert made.loss == Line((1, 2), (0.5, 0.4))
