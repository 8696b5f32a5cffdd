"""The overlap key by hand, and the counts on the real tables."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from explorer.data.overlap import Known, find_overlap, pair_keys, sentence_key
from explorer.data.sts_tasks import TASKS, read_task
from explorer.data.tables import read_pairs


def frame(*pairs: tuple[str, str]) -> pd.DataFrame:
    return pd.DataFrame(pairs, columns=["sentence1", "sentence2"])


def test_sentence_key_keeps_letters_and_digits_only() -> None:
    assert sentence_key("Don't buy 2 Äpfel, \t please!") == "dontbuy2äpfelplease"
    assert sentence_key("don ' t buy 2 äpfel , please !") == sentence_key("Don't buy 2 Äpfel, please!")
    assert sentence_key("... !") == ""


def test_pair_keys_do_not_depend_on_the_order() -> None:
    assert pair_keys(frame(("A b", "C"), ("c", "ab"))) == [("ab", "c"), ("ab", "c")]


def test_find_overlap_by_hand() -> None:
    training = frame(("The dog runs.", "A cat sleeps."), ("Rain.", "Snow."), ("...", "!"))
    test = frame(
        ("a cat sleeps", "the dog runs"),
        ("The dog runs", "Snow"),
        ("Rain", "Sun"),
        ("Sun", "Moon"),
        ("?", "..."),
    )
    found = find_overlap(test, Known.of(training))
    assert found.pairs.tolist() == [True, False, False, False, False]
    assert found.both.tolist() == [True, True, False, False, False]
    assert found.either.tolist() == [True, True, True, False, False]


def test_overlaps_add_up() -> None:
    test = frame(("a", "b"), ("c", "d"))
    found = find_overlap(test, Known.of(frame(("a", "b")))) | find_overlap(test, Known.of(frame(("d", "c"))))
    assert found.pairs.all()


@pytest.mark.parametrize(
    ("task", "n", "pairs", "either", "both"),
    [
        ("sts12", 3108, 1003, 1141, 1030),
        ("sts13", 1500, 597, 612, 597),
        ("sts14", 3750, 1861, 2009, 1900),
        ("sts15", 3000, 1102, 1167, 1108),
        ("sts16", 1186, 197, 201, 197),
        ("stsb", 1379, 12, 250, 62),
        ("sick-r", 4927, 55, 1142, 96),
    ],
)
def test_overlap_of_the_tasks_with_stsb_train(
    shared_data: Path, task: str, n: int, pairs: int, either: int, both: int
) -> None:
    table = read_task(TASKS[task], "test", shared_data)
    found = find_overlap(table.pairs, Known.of(read_pairs(shared_data / "stsb" / "train.tsv")))
    assert len(table.pairs) == n
    assert (found.pairs.sum(), found.either.sum(), found.both.sum()) == (pairs, either, both)
