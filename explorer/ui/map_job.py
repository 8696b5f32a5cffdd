"""Maps made in a thread of their own, so that the page can say meanwhile what is done, how far it is and how long it takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from explorer.ui.background import Work
from explorer.ui.cards import working
from explorer.ui.html import Html
from explorer.ui.map_text import count
from explorer.ui.words import duration

if TYPE_CHECKING:
    from explorer.operations.project import Maps, Progress

Made = tuple[str, "Maps"]


class MapJob(Work[Made]):
    """Maps in the making.

    Args:
        work: See MapDesk.make.
        encoders: The encoders' names, in their order.
    """

    def __init__(self, work: Callable[[Progress], Made], encoders: list[str]) -> None:
        super().__init__(work, self._say)
        self._encoders = encoders
        self.replaced = False
        self._at = ("", 0, 0)
        self._since = time.monotonic()
        self._first = 0

    @property
    def stopped(self) -> bool:
        """Whether it was asked to stop, which it does at its next look."""
        return self._stop.is_set()

    def stop(self, *, replaced: bool = False) -> None:
        """Asks it to stop.

        Args:
            replaced: Whether another job of the same person takes its place, which then does the talking.
        """
        self.replaced = self.replaced or replaced
        self._stop.set()

    def status(self) -> Html:
        """Returns what is being done, how much of it is done, and about how long it still takes."""
        what, done, total = self._at
        text = say(what, done, total, self._encoders)
        elapsed, moved = time.monotonic() - self._since, done - self._first
        if moved > 0 and done < total and elapsed > 0.5:
            text += f", about {duration(elapsed * (total - done) / moved)} left"
        return working(f"{text}.", done, total)

    def _say(self, what: str, done: int, total: int) -> None:
        if what != self._at[0]:
            self._since, self._first = time.monotonic(), done
        self._at = (what, done, total)


class Waiting:
    """Passes progress on, and measures how long each map waited: for its turn, or for UMAP to get ready.

    Args:
        progress: Is told everything; None for nobody.
        clock: Returns seconds.
    """

    def __init__(self, progress: Progress | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._progress = progress
        self._clock = clock
        self._since: tuple[str, float] | None = None
        self.seconds: dict[str, float] = {}

    def __call__(self, what: str, done: int, total: int) -> None:
        """Takes note, and passes on; see operations.project.Progress."""
        stage, _, name = what.rpartition(" of ")
        now = self._clock()
        if self._since is not None:
            waited, since = self._since
            self.seconds[waited] = self.seconds.get(waited, 0.0) + now - since
        self._since = (name, now) if stage in ("wait", "start") else None
        if self._progress is not None:
            self._progress(what, done, total)


def say(what: str, done: int, total: int, encoders: list[str]) -> str:
    """Returns in words what is being done, without a full stop.

    Args:
        what: See operations.project.Progress and MapWorker.
        done: How much of it is done.
        total: How much there is.
        encoders: The encoders' names, in their order.
    """
    stage, _, name = what.rpartition(" of ")
    place = f" ({encoders.index(name) + 1} of {len(encoders)})" if name in encoders and len(encoders) > 1 else ""
    if stage == "map":
        return f"UMAP for {name}{place}: round {done:,} of {total:,}"
    if stage == "graph":
        return f"UMAP for {name}{place}: looking for neighbours"
    if stage == "trust":
        return f"Measuring how far the map of {name}{place} can be believed"
    if stage == "start":
        return "UMAP is getting ready: some 15 seconds, more on a busy machine"
    if stage == "wait":
        return "Waiting: a map of another visitor, or of another window, is being made"
    if what in encoders:
        return f"Encoding with {what}{place}: {done:,} of {count(total, 'sentence')}"
    return "Comparing the encoders" if what == "maps" else "Getting ready"
