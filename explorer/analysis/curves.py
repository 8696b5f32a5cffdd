"""The curves of a training run from its events: loss, dev Spearman and learning rate by step. Events in, numbers out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, TypeGuard

MOST_POINTS = 200
_LARGEST = 1e15  # what is beyond stands in damaged diaries alone


@dataclass(frozen=True)
class Line:
    """One quantity by step.

    Args:
        steps: Ascending, from 0, all stages of a run counted together.
        values: One a step; never NaN or infinite, since such steps are left out.
    """

    steps: tuple[int, ...] = ()
    values: tuple[float, ...] = ()


@dataclass(frozen=True)
class Curves:
    """What a run has reported so far.

    Args:
        loss: The training loss.
        dev: Spearman of the dev pairs, in [-1, 1].
        learning_rate: Of the backbone.
        stages: (first step, name) of each stage, where the run names its stages.
    """

    loss: Line = field(default_factory=Line)
    dev: Line = field(default_factory=Line)
    learning_rate: Line = field(default_factory=Line)
    stages: tuple[tuple[int, str], ...] = ()

    @property
    def empty(self) -> bool:
        """Whether there is nothing to draw yet."""
        return not (self.loss.steps or self.dev.steps)


class CurveReader:
    """Builds curves event by event, so that a long run is read once.

    Within a run steps ascend. Where a run was resumed, the steps after its checkpoint are reported again and replace the
    earlier ones; where a second stage counts from one again, it goes on where the first ended.
    """

    def __init__(self) -> None:
        self._points: dict[str, list[tuple[int, float]]] = {"loss": [], "dev": [], "learning_rate": []}
        self._stages: list[tuple[int, str]] = []
        self._offsets: dict[str, int] = {}
        self._offset = 0
        self._last = 0

    def feed(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Takes the next events of the run, in the order they were written; other kinds than step and dev are passed over."""
        for event in events:
            kind, step = event.get("kind"), event.get("step")
            if kind not in ("step", "dev") or not isinstance(step, int):
                continue
            self._enter(str(event.get("stage") or ""), step)
            step += self._offset
            if step < self._last or (kind == "step" and step == self._last):
                self._forget_from(step, kind)
            self._last = step
            if kind == "dev":
                self._add("dev", step, event.get("spearman"))
            else:
                self._add_losses(step, event)
                self._add("learning_rate", step, event.get("learning_rate"))

    def curves(self) -> Curves:
        """Returns the curves so far, thinned to what a picture can show."""
        loss, dev, rate = (_thinned(self._points[name]) for name in ("loss", "dev", "learning_rate"))
        return Curves(loss, dev, rate, tuple(self._stages))

    def _enter(self, stage: str, step: int) -> None:
        """Notes a new stage; one whose steps begin again is moved behind the one before."""
        if not stage or (self._stages and self._stages[-1][1] == stage):
            return
        known = [name for _, name in self._stages]
        if stage in known:  # resumed in an earlier stage
            self._stages = self._stages[: known.index(stage) + 1]
        else:
            again = bool(self._stages) and step + self._offset <= self._last
            self._offsets[stage] = self._last if again else self._offset
            self._stages.append((self._last if self._stages else 0, stage))
        self._offset = self._offsets[stage]

    def _forget_from(self, step: int, kind: str) -> None:
        for name, points in self._points.items():
            # A dev score of the very step is written before or after it; only a later one is of the forgotten part.
            last = step if name == "dev" and kind == "step" else step - 1
            while points and points[-1][0] > last:
                points.pop()

    def _add_losses(self, step: int, event: Mapping[str, Any]) -> None:
        """Takes the losses that a step tells of: means of blocks of steps, in older diaries that of the step alone."""
        told = event.get("losses")
        if not isinstance(told, list):
            self._add("loss", step, event.get("loss"))
            return
        points = self._points["loss"]
        for block in told:
            if isinstance(block, list | tuple) and len(block) == 2 and _is_number(block[0]):
                last = int(block[0]) + self._offset
                while points and points[-1][0] >= last:  # of steps that are done again after a resume
                    points.pop()
                self._add("loss", last, block[1])

    def _add(self, name: str, step: int, value: object) -> None:
        if _is_number(value):
            points = self._points[name]
            if points and points[-1][0] == step:
                points.pop()
            points.append((step, float(value)))


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and abs(value) < _LARGEST  # which nan and infinity are not


def smoothed(line: Line, window: int = 0) -> Line:
    """Returns the running mean of a line over the last `window` points; 0 takes a fifteenth of its length, at least 3.

    One worked by hand: values 4, 2, 0, 6 with window 2 give 4, 3, 1, 3.
    """
    size = window or max(3, len(line.values) // 15)
    means = [fmean(line.values[max(0, end - size) : end]) for end in range(1, len(line.values) + 1)]
    return Line(line.steps, tuple(means))


def _thinned(points: Sequence[tuple[int, float]], most: int = MOST_POINTS) -> Line:
    """The points, or the means of equal runs of them where there are too many; each run stands at its last step."""
    if len(points) > most:
        size = -(-len(points) // most)
        runs = [points[start : start + size] for start in range(0, len(points), size)]
        points = [(run[-1][0], fmean(value for _, value in run)) for run in runs]
    return Line(tuple(step for step, _ in points), tuple(value for _, value in points))
