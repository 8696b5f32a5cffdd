"""Numbers as the page writes them."""

from __future__ import annotations

import pytest

from explorer.ui import words


@pytest.mark.parametrize(
    ("value", "written"), [(0.8731, "0.873"), (1.0, "1.000"), (-0.25, "\N{MINUS SIGN}0.250"), (-0.0001, "0.000")]
)
def test_cosine_has_three_decimals_and_a_minus_sign(value: float, written: str) -> None:
    assert words.cosine(value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [(0, "0 %"), (0.02, "0.1 %"), (0.4, "0.4 %"), (93.4, "93 %"), (99.54, "99.5 %"), (99.99, "99.9 %"), (100, "100 %")],
)
def test_percent_does_not_round_to_the_ends(value: float, written: str) -> None:
    assert words.percent(value) == written


def test_sizes_and_scores_have_fixed_decimals() -> None:
    assert words.millions(22_565_376) == "22.57"
    assert words.mebibytes(46_137_344) == "44.0"
    assert words.score(85.719) == "85.72"
    assert words.score(None) == words.DASH


@pytest.mark.parametrize(
    ("pieces", "written"),
    [(["a", "##b"], "ltr"), (["1", "שלום"], "rtl"), (["سلام"], "rtl"), (["\N{DOG FACE}", "."], "ltr"), ([], "ltr")],
)
def test_direction_is_that_of_the_first_letter(pieces: list[str], written: str) -> None:
    assert words.direction(pieces) == written


@pytest.mark.parametrize(
    ("seconds", "written"),
    [(None, "–"), (-1, "–"), (0.2, "1 s"), (7.4, "7 s"), (65, "1 min 5 s"), (7300, "2 h 1 min")],
)
def test_durations_are_written_in_two_units(seconds: float | None, written: str) -> None:
    assert words.duration(seconds) == written
