"""What the tab Train shows of the runs, made once for everyone who looks: a short memory over the job folders.

Twenty pages that watch one run cost little more than one: folders are read at most once a second, more seldom the more look,
a part is drawn once for each state it has, and a page is sent only the parts that changed since it last looked.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import gradio as gr

from explorer.analysis.curves import CurveReader, Curves
from explorer.errors import TrainingError
from explorer.jobs import events
from explorer.jobs.job import Job
from explorer.jobs.manager import Jobs
from explorer.ui import train_text, train_views
from explorer.ui.html import Html, tag
from explorer.ui.page import Page

if TYPE_CHECKING:
    from gradio.components.plot import PlotData

# For how long a reading of the folders serves: for each that is looking, and at least.
_FRESH_PER_VIEWER, _FRESH_SECONDS = 0.15, 1.0
# Drawing a figure anew costs the browser more than anything else, so a live one waits this long.
_FIGURE_SECONDS = 4.0
_MOST_KEPT = 64
# How often a page looks: so many milliseconds for each that is looking, within bounds; who is not heard of is gone.
_PER_VIEWER, _QUICKEST, _SLOWEST, _GONE_SECONDS = 450, 2_500, 10_000, 30.0
_LOG_LINES = 40


class Live(NamedTuple):
    """The live parts of the tab, in the order of their components."""

    history: Any = gr.skip()
    job: Any = gr.skip()
    plot: Any = gr.skip()
    papers: Any = gr.skip()


@dataclass
class _Told:
    """The events of a run that were read so far."""

    began: float | None = None
    offset: int = 0
    reader: CurveReader = field(default_factory=CurveReader)


class Watch:
    """The runs as the page shows them. Safe to share between threads.

    Args:
        jobs: Whose folders are looked at.
    """

    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs
        self._lock = threading.RLock()
        self._listed: tuple[float, list[Job]] = (0.0, [])
        self._told: dict[str, _Told] = {}
        self._figures: OrderedDict[tuple[str, ...], tuple[float, str, PlotData]] = OrderedDict()
        self._viewers: dict[str, float] = {}
        self._parts: OrderedDict[tuple[Any, ...], tuple[str, Html]] = OrderedDict()

    def list(self) -> list[Job]:
        """Returns all runs, the newest first, at most a second old, or three while twenty pages look."""
        with self._lock:
            if time.monotonic() - self._listed[0] > max(_FRESH_SECONDS, _FRESH_PER_VIEWER * len(self._viewers)):
                self._listed = time.monotonic(), self.jobs.list()
            return self._listed[1]

    def forget(self) -> None:
        """Makes the next look read the folders again: something was just started, stopped, renamed or deleted."""
        with self._lock:
            self._listed = 0.0, []
            self._figures.clear()

    def find(self, id: str | None) -> Job | None:
        """Returns the run of that id as last listed; None if there is none."""
        return next((job for job in self.list() if job.id == id), None)

    def choose(self, asked: str | None) -> str | None:
        """Returns the run to show: the one asked for, else the one first in the queue, else the newest; None if none is."""
        jobs = self.list()
        alive = [job.id for job in jobs if job.alive]
        return asked if self.find(asked) else next(iter([*reversed(alive), *(job.id for job in jobs)]), None)

    def every(self, viewer: str) -> int:
        """Returns after how many milliseconds a page should look again: the more look, the later."""
        now = time.monotonic()
        with self._lock:
            self._viewers[viewer] = now
            self._viewers = {name: at for name, at in self._viewers.items() if now - at < _GONE_SECONDS}
            return min(max(_QUICKEST, _PER_VIEWER * len(self._viewers)), _SLOWEST)

    def look(self, chosen: str | None, seen: dict[str, str] | None = None) -> Live:
        """Returns the parts that differ from what a page has.

        Args:
            chosen: The run to show.
            seen: Stamps of the parts it has, by "history", "view", "plot" and "papers", and who looks, by "viewer";
                None for none.
        """
        seen = seen or {}
        with self._lock:
            jobs, job, every = self.list(), self.find(chosen), self.every(seen.get("viewer", ""))
            parts = {
                "history": self._part(
                    ("history", chosen, self._listed[0], every), lambda: train_views.history(jobs, chosen, every)
                ),
                "view": self._part(("view", chosen, self._listed[0]), lambda: _view(job, jobs)),
                "papers": self._part(("papers", chosen, self._listed[0]), lambda: self._papers(job)),
            }
            made = {name: gr.skip() if stamp == seen.get(name) else html for name, (stamp, html) in parts.items()}
            try:
                plot = self._plot(job, seen.get("plot", ""))
            except TrainingError:  # deleted or renamed this very moment
                plot = gr.skip()
                self.forget()
        return Live(made["history"], made["view"], plot, made["papers"])

    def curves(self, id: str) -> tuple[int, Curves]:
        """Returns how many bytes of a run's events were read, and its curves."""
        with self._lock:
            job = self.jobs.get(id)
            told = self._told.get(id)
            if told is None or told.began != job.created:
                told = self._told[id] = _Told(job.created)
            read, told.offset = events.read(job.folder, told.offset)
            told.reader.feed(read)
            return told.offset, told.reader.curves()

    def _plot(self, job: Job | None, seen: str) -> Any:
        if job is None:
            return gr.skip() if not seen else None
        key = (job.id,)
        kept = self._figures.get(key)
        if kept is None or time.monotonic() - kept[0] > (_FIGURE_SECONDS if job.alive else _FRESH_SECONDS):
            kept = self._figures[key] = self._drawn(job, kept)
            while len(self._figures) > _MOST_KEPT:
                self._figures.popitem(last=False)
        return gr.skip() if kept[1] == seen else kept[2]

    def _drawn(self, job: Job, before: tuple[float, str, PlotData] | None) -> tuple[float, str, PlotData]:
        offset, curves = self.curves(job.id)
        stamp = f"{job.id}:{offset}"
        if before is not None and before[1] == stamp:
            return time.monotonic(), stamp, before[2]
        return time.monotonic(), stamp, plot_data([(job.id, curves)], stamp)

    def _part(self, key: tuple[Any, ...], make: Callable[[], Html]) -> tuple[str, Html]:
        """A part with its stamp, which the page sends back; made once for each reading of the folders."""
        if key not in self._parts:
            inner = make()
            stamp = hashlib.sha256(inner.encode()).hexdigest()[:12]
            self._parts[key] = stamp, tag("div", inner, data_stamp=stamp)
            while len(self._parts) > _MOST_KEPT:
                self._parts.popitem(last=False)
        return self._parts[key]

    def _papers(self, job: Job | None) -> Html:
        if job is None:
            return tag("div")
        card = job.folder / "encoder" / "README.md"
        try:
            log, command = self.jobs.log_tail(job.id, _LOG_LINES), self.jobs.command(job.id)
            written = card.read_text(encoding="utf-8") if job.has_encoder and card.is_file() else ""
        except (TrainingError, OSError):  # deleted or renamed this very moment
            return tag("div")
        return train_views.papers(job, log, command, written)


@dataclass(frozen=True)
class Bench:
    """What the tab's handlers work with.

    Args:
        page: The page; decides whether there is any training.
        watch: The runs.
    """

    page: Page
    watch: Watch


def plot_data(runs: Sequence[tuple[str, Curves]], stamp: str) -> PlotData:
    """Returns the figure of some runs' curves, written out once so that every page can be sent the same text."""
    from gradio.components.plot import PlotData

    from explorer.figures.training import RunCurves, training_json

    return PlotData(type="plotly", plot=training_json([RunCurves(name, curves) for name, curves in runs], stamp))


def _view(job: Job | None, jobs: Sequence[Job]) -> Html:
    if job is not None:
        return train_views.job_view(job)
    return tag("p", train_text.NOT_CHOSEN, cls="nothing") if jobs else Html("")
