"""Where training may not be: one question, asked by every handler and endpoint of the tab before it does anything."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from explorer.errors import TrainingError
from explorer.paths import on_space
from explorer.ui.page import Page

_AT_HOME = "On your own machine, python app.py trains; the command line, python -m explorer train, does too."


class HasPage(Protocol):
    """What a handler of the tab works with."""

    @property
    def page(self) -> Page:
        """The page it belongs to."""


def training_allowed(page: Page) -> str | None:
    """Returns why this page may not train, in words for a person; None if it may."""
    if on_space():
        return (
            "This is a public Space: anyone could start a run and take the machine from everyone else, and what was trained "
            f"would be gone with the next restart. {_AT_HOME}"
        )
    if page.demo:
        return (
            f"It was started with --demo, the public mode, in which visitors start no runs and read no logs. {_AT_HOME}"
        )
    if page.shared:
        return (
            "It was started without a password and with --share or for other machines (--host, GRADIO_SERVER_NAME), so anyone "
            "who can open it could start runs here. Set the environment variable EXPLORER_PASSWORD and start it again to train "
            f"over a link or a network. {_AT_HOME}"
        )
    return None


def where_allowed(handler: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a handler that first asks whether its page may train. Its first argument has the page as `page`.

    Raises:
        TrainingError: When called where it may not.
    """

    def check(page: Page) -> None:
        reason = training_allowed(page)
        if reason is not None:
            raise TrainingError(f"Training is switched off on this page. {reason}")

    @functools.wraps(handler)
    def guarded(bench: HasPage, *values: Any, **named: Any) -> Any:
        check(bench.page)
        return handler(bench, *values, **named)

    @functools.wraps(handler)
    def guarded_generator(bench: HasPage, *values: Any, **named: Any) -> Iterator[Any]:
        check(bench.page)
        yield from handler(bench, *values, **named)

    return guarded_generator if inspect.isgeneratorfunction(handler) else guarded
