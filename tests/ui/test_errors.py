"""An error of a person's input reaches them word for word; any other is logged and admitted."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import gradio as gr
import pytest

from explorer.errors import DataError
from explorer.ui.errors import UNEXPECTED, for_person, refuse


def test_for_person_shows_an_explorer_error_word_for_word_and_passes_the_arguments() -> None:
    @for_person(lambda message, text: (message, text))
    def handler(text: str) -> tuple[str, str]:
        raise DataError(f"{text} is empty.")

    assert handler("It") == ("It is empty.", "It")


def test_for_person_logs_anything_else_in_full(caplog: pytest.LogCaptureFixture) -> None:
    @for_person(lambda message: message)
    def handler() -> str:
        raise ZeroDivisionError("secret detail")

    with caplog.at_level(logging.ERROR, logger="explorer"):
        assert handler() == UNEXPECTED
    assert "secret detail" in caplog.text
    assert "Traceback" in caplog.text


def test_for_person_ends_a_generator_with_the_message() -> None:
    @for_person(lambda message: message)
    def handler() -> Iterator[str]:
        yield "started"
        raise DataError("No.")

    assert list(handler()) == ["started", "No."]


def test_refuse_raises_the_sentence_for_the_api() -> None:
    @for_person(refuse)
    def handler() -> None:
        raise DataError("Sentence 1 is empty.")

    with pytest.raises(gr.Error, match=r"^'Sentence 1 is empty\.'$"):
        handler()


def test_for_person_returns_what_a_handler_returns() -> None:
    assert for_person(refuse)(lambda: 3)() == 3
