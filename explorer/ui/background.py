"""Long work in a thread of its own, so that a handler can say meanwhile how far it is, and stop it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar

from explorer.ui.cards import working
from explorer.ui.html import Html
from explorer.ui.words import duration

T = TypeVar("T")


class Stopped(Exception):
    """Raised inside the work when nobody waits for it any more."""


class Work(Generic[T]):
    """Runs `work(progress)`; leaving the `with` block stops it at its next call of `progress`.

    Args:
        work: Calls progress now and then; its result or error is given by `result`.
        note: Takes what progress is called with.
    """

    def __init__(self, work: Callable[[Callable[..., None]], T], note: Callable[..., None]) -> None:
        self._work = work
        self._note = note
        self._stop = threading.Event()
        self._outcome: list[T] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()

    def wait(self, seconds: float) -> bool:
        """Returns whether the work has ended, after waiting at most so long."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def result(self) -> T:
        """Returns what the work returned, or raises what it raised. Call it after `wait` said it has ended."""
        if self._error is not None:
            raise self._error
        return self._outcome[0]

    def _run(self) -> None:
        try:
            self._outcome.append(self._work(self._look))
        except BaseException as error:  # noqa: BLE001 - handed on to whoever asks for the result
            self._error = error

    def _look(self, *told: Any) -> None:
        if self._stop.is_set():
            raise Stopped
        self._note(*told)


class Background(Work[T]):
    """Work that counts something.

    Args:
        work: Calls progress(done, total).
        what: What is counted, in the plural.
    """

    def __init__(self, work: Callable[[Callable[[int, int], None]], T], what: str) -> None:
        super().__init__(work, self._count)
        self._what = what
        self._progress = (0, 0)
        self._started = time.monotonic()

    def status(self) -> Html:
        """Returns how far the work is, and about how long it still takes."""
        done, total = self._progress
        if not done:
            return working(f"Getting ready to read the {self._what}.")
        left = duration((time.monotonic() - self._started) * (total - done) / done)
        return working(f"Read {done:,} of {total:,} {self._what}, about {left} left.", done, total)

    def _count(self, done: int, total: int) -> None:
        self._progress = (done, total)
