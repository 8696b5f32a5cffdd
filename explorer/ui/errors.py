"""The one place where an error becomes words for a person: ExplorerError word for word, anything else logged in full."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import gradio as gr

from explorer.errors import ExplorerError
from explorer.ui.html import escape

LOG = logging.getLogger("explorer")
UNEXPECTED = "Something went wrong that was not foreseen. What you typed is kept; the details are in the program's log."


def for_person(show: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns a decorator for a handler of the page or of the API.

    Args:
        show: Called with the message and the handler's own arguments; returns what the handler then returns (its inputs
            are no outputs, so they stay), or raises. `toast` and `refuse` below are the ready-made ones.
    """

    def decorate(handler: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(handler)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            try:
                return handler(*args, **kwargs)
            except Exception as error:  # noqa: BLE001 - the edge of the process: whatever happened, a person must be told
                return show(_message(error, handler), *args, **kwargs)

        @functools.wraps(handler)
        def guarded_generator(*args: Any, **kwargs: Any) -> Iterator[Any]:
            try:
                yield from handler(*args, **kwargs)
            except Exception as error:  # noqa: BLE001 - likewise
                yield show(_message(error, handler), *args, **kwargs)

        return guarded_generator if inspect.isgeneratorfunction(handler) else guarded

    return decorate


def toast(count: int) -> Callable[..., Any]:
    """Returns a `show` that warns in a corner of the page and leaves all `count` outputs as they are."""

    def show(message: str, *_args: Any, **_kwargs: Any) -> Any:
        gr.Warning(escape(message))
        return gr.skip() if count == 1 else tuple(gr.skip() for _ in range(count))

    return show


def refuse(message: str, *_args: Any, **_kwargs: Any) -> NoReturn:
    """A `show` for API endpoints: the caller gets the sentence as the error.

    Raises:
        gr.Error: Always.
    """
    raise gr.Error(message, print_exception=False)


def _message(error: Exception, handler: Callable[..., Any]) -> str:
    if isinstance(error, ExplorerError):
        return str(error)
    if isinstance(error, gr.Error):
        raise error
    LOG.error("Unexpected error in %s", handler.__qualname__, exc_info=error)
    return UNEXPECTED
