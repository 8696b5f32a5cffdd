"""Pictures of training runs: loss, dev Spearman and learning rate below each other on one axis of steps.

One run shows its raw loss behind the smoothed one; several runs show their smoothed losses, each in its own colour and dash. A
live picture is drawn every few seconds, so traces are plain dicts in a layout made once,
which takes a fraction of the time.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from explorer.analysis.curves import Curves, Line, smoothed
from explorer.figures.theme import BLUE, ORANGE, RUN_HUES, TEMPLATE

HEIGHT = 500
_GREY = "#7b838d"
_COLOURS = [hue.plain for hue in (BLUE, ORANGE, *RUN_HUES)]
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross")
_LOSS, _DEV, _RATE = ({"xaxis": f"x{n}", "yaxis": f"y{n}"} for n in ("", "2", "3"))
Trace = dict[str, Any]


@dataclass(frozen=True)
class RunCurves:
    """A run to draw.

    Args:
        name: As the page calls it.
        curves: What it has reported.
    """

    name: str
    curves: Curves


@dataclass(frozen=True)
class _Look:
    name: str
    number: int
    alone: bool

    @property
    def colour(self) -> str:
        return _COLOURS[self.number % len(_COLOURS)]

    @property
    def dash(self) -> str:
        return _DASHES[self.number % len(_DASHES)]

    @property
    def symbol(self) -> str:
        return _SYMBOLS[self.number % len(_SYMBOLS)]


def training_figure(runs: Sequence[RunCurves], stamp: str = "") -> go.Figure:
    """Returns the curves of one run, or of several in the same panels.

    Args:
        runs: In the order of the legend; the colour and the dash follow it.
        stamp: Written into the figure's layout, so that a page can tell which state it shows.
    """
    return go.Figure(json.loads(training_json(runs, stamp)))


def training_json(runs: Sequence[RunCurves], stamp: str = "") -> str:
    """Returns the same figure as plotly's json, which is all that a page needs of it."""
    traces: list[Trace] = []
    for number, run in enumerate(runs):
        look = _Look(escape(run.name), number, alone=len(runs) == 1)
        traces += [*_loss(run.curves.loss, look), *_dev(run.curves.dev, look), _rate(run.curves.learning_rate, look)]
    layout = json.loads(_layout())
    layout["meta"] = {"stamp": stamp}
    if all(run.curves.empty for run in runs):
        _leave_empty(layout)
    elif len(runs) == 1:
        shapes, notes = _stages(runs[0].curves)
        layout["shapes"], layout["annotations"] = shapes, [*layout["annotations"], *notes]
    return json.dumps({"data": traces, "layout": layout})


def _loss(line: Line, look: _Look) -> list[Trace]:
    mean = {"width": 2.5, "color": look.colour, "dash": look.dash}
    smooth = _trace(smoothed(line), look, "running mean", "%{y:.4f}", line=mean, showlegend=True, **_LOSS)
    if not look.alone:
        return [smooth]
    raw = {"width": 1, "color": _GREY}
    each = _trace(line, look, "loss", "%{y:.4f}", line=raw, opacity=0.55, showlegend=True, **_LOSS)
    return [each, smooth]


def _dev(line: Line, look: _Look) -> list[Trace]:
    scores = Line(line.steps, tuple(100 * value for value in line.values))
    marks = {"color": look.colour, "size": 7, "symbol": look.symbol}
    stroke = {"color": look.colour, "width": 2, "dash": look.dash}
    shown = {"mode": "lines+markers", "marker": marks, "line": stroke}
    made = [_trace(scores, look, "dev Spearman", "%{y:.2f}", **shown, **_DEV)]
    trained = [index for index, step in enumerate(scores.steps) if step > 0]  # before the first step nothing is kept
    if look.alone and trained:
        best = max(trained, key=lambda index: scores.values[index])
        top = Line((scores.steps[best],), (scores.values[best],))
        ring = {"size": 15, "symbol": "circle-open", "color": look.colour, "line": {"width": 2.5}}
        ringed = {"mode": "markers", "marker": ring, "showlegend": True}
        made.append(_trace(top, look, "best dev score so far", "%{y:.2f}", **ringed, **_DEV))
    return made


def _rate(line: Line, look: _Look) -> Trace:
    stroke = {"color": look.colour, "width": 2, "dash": look.dash}
    return _trace(line, look, "learning rate", "%{y:.2e}", line=stroke, **_RATE)


def _trace(points: Line, look: _Look, what: str, value: str, **more: Any) -> Trace:
    name = what if look.alone else look.name
    return {
        "type": "scatter",
        "mode": "lines",
        "x": points.steps,
        "y": [float(f"{number:.5g}") for number in points.values],
        "name": name,
        "legendgroup": what if look.alone else f"{look.number}",
        "showlegend": False,
        "hovertemplate": f"{name}: {value} at step %{{x:,}}<extra></extra>",
        **more,
    }


def _stages(curves: Curves) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Lines where a stage begins, and its name beside each; a run of one stage has none."""
    if len(curves.stages) < 2:
        return [], []
    steps, names = zip(*curves.stages, strict=True)
    ends = {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "line": {"color": _GREY, "width": 1, "dash": "dot"}}
    words = {"y": 1, "yref": "paper", "xanchor": "left", "yanchor": "top", "showarrow": False, "font": {"size": 12}}
    lines = [{**ends, "x0": step, "x1": step} for step in steps]
    return lines, [
        {**words, "x": step, "text": f" stage {escape(name)}"} for step, name in zip(steps, names, strict=True)
    ]


def _leave_empty(layout: dict[str, Any]) -> None:
    """Says that there is nothing to draw yet, where the curves will be."""
    for name, axis in layout.items():
        if name.startswith(("xaxis", "yaxis")):
            axis |= {"showticklabels": False, "range": [0, 1]}
    place = {"x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper", "showarrow": False, "font": {"size": 15}}
    layout["annotations"].append({**place, "text": "The curves begin with the first step."})


@lru_cache(maxsize=1)
def _layout() -> str:
    """The layout all these figures share, as json."""
    figure = make_subplots(
        rows=3,
        cols=1,
        shared_xaxes=True,
        row_heights=[0.4, 0.4, 0.2],
        vertical_spacing=0.085,
        subplot_titles=["Training loss", "Dev Spearman × 100", "Learning rate"],
    )
    figure.update_annotations(x=0, xanchor="left", font={"size": 14})
    figure.update_xaxes(title_text="Step", row=3, col=1)
    figure.update_xaxes(rangemode="tozero")
    figure.update_yaxes(rangemode="tozero", row=1, col=1)
    figure.update_yaxes(exponentformat="e", rangemode="tozero", nticks=4, row=3, col=1)
    figure.update_layout(
        template=TEMPLATE,
        height=HEIGHT,
        margin={"t": 64, "r": 16, "b": 44, "l": 56},
        legend={"orientation": "h", "x": 0, "y": 1, "yref": "container", "yanchor": "top", "font": {"size": 13}},
        # A person's zoom stays while a run goes on.
        uirevision="training",
        showlegend=True,
        hovermode="closest",
    )
    return str(json.dumps(figure.to_plotly_json()["layout"]))
