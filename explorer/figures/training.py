"""Pictures of training runs: loss, dev Spearman and learning rate below each other on one axis of steps.

One run shows its raw loss behind the smoothed one; several runs show their smoothed losses, each in its own colour and dash.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from explorer.analysis.curves import Curves, Line, smoothed
from explorer.figures.theme import BLUE, ORANGE, RUN_HUES, TEMPLATE

HEIGHT = 500
_GREY = "#7b838d"
_COLOURS = [hue.plain for hue in (BLUE, ORANGE, *RUN_HUES)]
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross")
_LOSS, _DEV, _RATE = 1, 2, 3


@dataclass(frozen=True)
class RunCurves:
    """A run to draw.

    Args:
        name: As the page calls it.
        curves: What it has reported.
    """

    name: str
    curves: Curves


def training_figure(runs: Sequence[RunCurves], stamp: str = "") -> go.Figure:
    """Returns the curves of one run, or of several in the same panels.

    Args:
        runs: In the order of the legend; the colour and the dash follow it.
        stamp: Written into the figure's layout, so that a page can tell which state it shows.
    """
    figure = make_subplots(
        rows=3,
        cols=1,
        shared_xaxes=True,
        row_heights=[0.4, 0.4, 0.2],
        vertical_spacing=0.085,
        subplot_titles=["Training loss", "Dev Spearman × 100", "Learning rate"],
    )
    for number, run in enumerate(runs):
        look = _Look(escape(run.name), number, alone=len(runs) == 1)
        _add_loss(figure, run.curves.loss, look)
        _add_dev(figure, run.curves.dev, look)
        _add_rate(figure, run.curves.learning_rate, look)
    if len(runs) == 1:
        _mark_stages(figure, runs[0].curves)
    return _finish(figure, len(runs), stamp)


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


def _add_loss(figure: go.Figure, line: Line, look: _Look) -> None:
    if look.alone:
        raw = {"color": _GREY, "width": 1}
        figure.add_trace(_trace(line, "loss of a step", look, "%{y:.4f}", line=raw, opacity=0.55), row=_LOSS, col=1)
    mean = smoothed(line)
    name = "running mean" if look.alone else look.name
    stroke = {"color": look.colour, "width": 2.5, "dash": look.dash}
    trace = _trace(mean, name, look, "%{y:.4f}", line=stroke, showlegend=True, legendgroup=look.name)
    figure.add_trace(trace, row=_LOSS, col=1)


def _add_dev(figure: go.Figure, line: Line, look: _Look) -> None:
    scores = Line(line.steps, tuple(100 * value for value in line.values))
    marks = {"color": look.colour, "size": 7, "symbol": look.symbol}
    stroke = {"color": look.colour, "width": 2, "dash": look.dash}
    trace = _trace(scores, "dev Spearman", look, "%{y:.2f}", mode="lines+markers", marker=marks, line=stroke)
    figure.add_trace(trace, row=_DEV, col=1)
    if not scores.values or not look.alone:
        return
    best = max(range(len(scores.values)), key=lambda index: scores.values[index])
    figure.add_trace(
        go.Scatter(
            x=[scores.steps[best]],
            y=[scores.values[best]],
            mode="markers",
            marker={"size": 15, "symbol": "circle-open", "color": look.colour, "line": {"width": 2.5}},
            name="best so far",
            hovertemplate="best so far: %{y:.2f} at step %{x:,}<extra></extra>",
        ),
        row=_DEV,
        col=1,
    )


def _add_rate(figure: go.Figure, line: Line, look: _Look) -> None:
    stroke = {"color": look.colour, "width": 2, "dash": look.dash}
    figure.add_trace(_trace(line, "learning rate", look, "%{y:.2e}", line=stroke), row=_RATE, col=1)


def _trace(points: Line, what: str, look: _Look, value: str, **more: object) -> go.Scatter:
    shown = {"mode": "lines", "showlegend": look.alone and what in ("loss of a step",), "legendgroup": look.name}
    of = what if look.alone else look.name
    hover = f"{of}: {value} at step %{{x:,}}<extra></extra>"
    return go.Scatter(x=points.steps, y=points.values, name=what, hovertemplate=hover, **{**shown, **more})


def _mark_stages(figure: go.Figure, curves: Curves) -> None:
    """Lines where a stage begins, with its name; a run of one stage has none."""
    if len(curves.stages) < 2:
        return
    for step, name in curves.stages:
        figure.add_vline(x=step, line={"color": _GREY, "width": 1, "dash": "dot"})
        label = {"text": f" stage {escape(name)}", "showarrow": False, "xanchor": "left", "yanchor": "top"}
        figure.add_annotation(x=step, y=1, yref="y domain", font={"size": 12}, **label)


def _finish(figure: go.Figure, count: int, stamp: str) -> go.Figure:
    titles = list(figure.layout.annotations)[:3]
    for title in titles:
        title.update(x=0, xanchor="left", font={"size": 14})
    figure.update_xaxes(title_text="Step", row=_RATE, col=1, rangemode="tozero")
    figure.update_yaxes(rangemode="tozero", row=_LOSS, col=1)
    figure.update_yaxes(exponentformat="e", rangemode="tozero", nticks=4, row=_RATE, col=1)
    figure.update_layout(
        template=TEMPLATE,
        height=HEIGHT,
        margin={"t": 64, "r": 16, "b": 44, "l": 56},
        legend={"orientation": "h", "x": 0, "y": 1, "yref": "container", "yanchor": "top", "font": {"size": 13}},
        # The same view after an update: a person's zoom stays while a job goes on.
        uirevision="training",
        meta={"stamp": stamp},
        showlegend=True,
        hovermode="closest",
    )
    return figure
