"""check_text: what a person may type, and one clear sentence for everything else."""

from __future__ import annotations

import pytest

from explorer.data.texts import MAX_CHARACTERS, check_text
from explorer.errors import DataError


@pytest.mark.parametrize(
    "text",
    [
        "A cat sleeps.",
        "x",
        "🐈",
        "👩‍👩‍👧",
        "שלום עולם",
        "你好",
        "<img src=x onerror=alert(1)>",
        "a" * MAX_CHARACTERS,
        "two\nlines",
    ],
)
def test_check_text_gives_the_text_back(text: str) -> None:
    assert check_text(text) == text


def test_check_text_strips_white_space_at_the_ends_only() -> None:
    assert check_text(" \t\u00a0a  b\n ") == "a  b"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "Sentence 1 is missing"),
        ("", "Sentence 1 is empty"),
        (" \t\n\u2003", "Sentence 1 is empty"),
        (7, "Sentence 1 is 7, which is not text"),
        (["a"], "which is not text"),
        ({"a": 1}, "which is not text"),
        (float("nan"), "which is not text"),
        (b"bytes", "which is not text"),
        ("a\0b", "NUL character at position 2"),
        ("a\ud83d", "surrogate"),
        ("a" * (MAX_CHARACTERS + 1), "1,000,001 characters; at most 1,000,000"),
    ],
)
def test_check_text_refuses_in_one_sentence_that_names_the_field(text: object, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        check_text(text, "Sentence 1")
    assert str(caught.value).startswith("Sentence 1")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200
