"""Slices by hand: every pair is in exactly one slice of each kind."""

from __future__ import annotations

import numpy as np
import pandas as pd

from explorer.analysis.slices import slices

PAIRS = pd.DataFrame(
    [
        ("main-news", "The dog runs.", "A dog is running over the wide green field of the farmer."),
        ("main-news", "He doesn't eat 3 apples", "he does not eat three apples"),
        ("odd", "they don ' t sing", "They sing."),
        ("odd", "Two cats sleep", "two cats sleep"),
        ("odd", "...", "!"),
    ],
    columns=["genre", "sentence1", "sentence2"],
)


def named(way: str) -> dict[str, list[bool]]:
    return {name: mask.tolist() for name, mask in slices(PAIRS)[way].items()}


def test_source() -> None:
    assert named("Source") == {"news": [True, True, False, False, False], "odd": [False, False, True, True, True]}
    assert "Source" not in slices(PAIRS.drop(columns="genre"))


def test_negation_also_in_tokenised_copies() -> None:
    assert named("Negation") == {
        "in neither sentence": [True, False, False, True, True],
        "in one of the two": [False, False, True, False, False],
        "in both": [False, True, False, False, False],
    }


def test_numbers_in_digits_and_words() -> None:
    assert named("Numbers") == {
        "no number": [True, False, True, False, True],
        "the same numbers": [False, False, False, True, False],
        "different numbers": [False, True, False, False, False],
    }


def test_length_and_shared_words() -> None:
    assert named("Length")["up to 8 words"] == [True, True, True, True, True]
    # the / dog of 12 distinct words; he, eat, apples of 9; they, sing of 4; all; none of none
    assert named("Shared words") == {
        "under a quarter shared": [True, False, False, False, True],
        "a quarter to a half": [False, True, False, False, False],
        "half or more": [False, False, True, True, False],
    }


def test_every_pair_is_in_one_slice_of_each_kind() -> None:
    for masks in slices(PAIRS).values():
        assert (np.sum(list(masks.values()), axis=0) == 1).all()
