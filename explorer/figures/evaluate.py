"""Pictures of an evaluation: what the CNN adds, score against parameters, a backbone's parts. Numbers in, go.Figure out.

Published figures are hollow and grey and have a legend entry of their own; they are never joined to what was measured here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from explorer.analysis.anatomy import Anatomy
from explorer.figures.theme import BLUE, ORANGE, RUN_HUES, TEMPLATE, Hue, Identity

_PUBLISHED = "#7b838d"
_FAMILIES: Mapping[str, tuple[str, Hue]] = {"bert": ("BERT", BLUE), "albert": ("ALBERT", ORANGE)}
_SYMBOLS = {"": "circle", "/": "diamond", ".": "square"}
_TEAL, _PURPLE, _ROSE, _OLIVE, _GREY = RUN_HUES
_DARK_LINES, _LIGHT_LINES = "#1f2328", "#ffffff"
# Colour, pattern and the pattern's colour of each part of a backbone; what belongs together has one hue, in other shades.
_PARTS: Mapping[str, tuple[str, str, str]] = {
    "Word embeddings": (_TEAL.plain, "", _LIGHT_LINES),
    "Position embeddings": (_TEAL.strong_dark, "/", _DARK_LINES),
    "Segment embeddings and norm": (_TEAL.strong, ".", _LIGHT_LINES),
    "Mapping E to H": (_OLIVE.plain, "", _LIGHT_LINES),
    "Attention": (_PURPLE.plain, "", _LIGHT_LINES),
    "Feed-forward": (_ROSE.plain, "", _LIGHT_LINES),
    "Pooler": (_GREY.plain, "", _LIGHT_LINES),
    "Sentence layer": (_GREY.strong_dark, "x", _DARK_LINES),
}


@dataclass(frozen=True)
class GainPoint:
    """What the CNN adds on one task, Spearman x 100.

    Args:
        family: "bert" or "albert".
        task: As written on the axis.
        published: In the paper.
        value: Ours; None if not measured.
        low: Lower end of its 95 % interval; None without one.
        high: Upper end.
        n: Number of pairs.
    """

    family: str
    task: str
    published: float
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0


@dataclass(frozen=True)
class ScorePoint:
    """One encoder's parameters and score.

    Args:
        name: Its name.
        parameters: Number of weights.
        score: Spearman x 100.
        low: Lower end of its 95 % interval; None without one.
        high: Upper end.
    """

    name: str
    parameters: int
    score: float
    low: float | None = None
    high: float | None = None


def gains_figure(points: Sequence[GainPoint]) -> go.Figure:
    """Returns what the CNN adds to average pooling, task by task, a panel a backbone family, on one scale.

    Args:
        points: In the order of the tasks, top to bottom.
    """
    families = [family for family in _FAMILIES if any(point.family == family for point in points)]
    figure = make_subplots(
        rows=len(families),
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.12,
        subplot_titles=[f"{_FAMILIES[family][0]}: CNN less average pooling" for family in families],
    )
    for row, family in enumerate(families, start=1):
        ours = [point for point in points if point.family == family]
        figure.add_trace(_published_gains(ours, first=row == 1), row=row, col=1)
        figure.add_trace(_our_gains([point for point in ours if point.value is not None], family), row=row, col=1)
        figure.update_yaxes(autorange="reversed", row=row, col=1)
        figure.add_vline(x=0, line={"color": _PUBLISHED, "width": 1}, row=row, col=1)
    figure.update_xaxes(title_text="Spearman x 100 gained by the CNN", row=len(families), col=1)
    figure.update_annotations(x=0, xanchor="left", font={"size": 14})
    return _finish(figure, height=150 + 235 * len(families))


def score_figure(
    points: Sequence[ScorePoint], looks: Mapping[str, Identity], published: Sequence[ScorePoint]
) -> go.Figure:
    """Returns score against parameters, on a logarithmic scale of parameters.

    Args:
        points: Our encoders.
        looks: Their looks, by name.
        published: The paper's encoders, a layer of its own.
    """
    figure = go.Figure()
    for point in points:
        look = looks[point.name]
        figure.add_trace(
            go.Scatter(
                x=[point.parameters],
                y=[point.score],
                error_y=_error([point]),
                mode="markers",
                marker={"size": 12, "color": look.hue.plain, "symbol": _SYMBOLS.get(look.pattern, "square")},
                name=escape(point.name),
                hovertemplate=f"{escape(point.name)}<br>%{{x:,}} parameters<br>%{{y:.2f}}<extra></extra>",
            )
        )
    figure.add_trace(
        go.Scatter(
            x=[point.parameters for point in published],
            y=[point.score for point in published],
            mode="markers+text",
            # A no-break space keeps the name off its mark.
            text=[f"\N{NO-BREAK SPACE}{point.name}" for point in published],
            textposition="middle right",
            cliponaxis=False,
            marker={"size": 11, "color": _PUBLISHED, "symbol": "diamond-open", "line": {"width": 2}},
            name="published, the paper's own encoders",
            hovertemplate="%{text}, published<br>%{x:,} parameters<br>%{y:.2f}<extra></extra>",
        )
    )
    figure.update_xaxes(type="log", title_text="Parameters", range=[6.4, 8.6], tickvals=_TICKS, ticktext=_TICK_NAMES)
    figure.update_yaxes(title_text="STSb test, Spearman x 100")
    return _finish(figure, height=460)


def anatomy_figure(models: Mapping[str, Anatomy], *, shares: bool = False) -> go.Figure:
    """Returns the parameters of each backbone as a bar of its parts.

    Args:
        models: Top to bottom, by name.
        shares: Whether bars are in per cent of each backbone's own parameters rather than in millions.
    """
    figure = go.Figure()
    names = [escape(name) for name in models]
    units = [anatomy.total / 100 if shares else 1e6 for anatomy in models.values()]
    for part, (colour, pattern, lines) in _PARTS.items():
        counts = [sum(p.parameters for p in anatomy.parts if p.name == part) for anatomy in models.values()]
        if not any(counts):
            continue
        figure.add_trace(
            go.Bar(
                y=names,
                x=[value / unit for value, unit in zip(counts, units, strict=True)],
                orientation="h",
                name=part,
                marker={"color": colour, "pattern": {"shape": pattern, "fgcolor": lines, "size": 6}},
                customdata=counts,
                hovertemplate=f"%{{y}}<br>{part}: %{{customdata:,}}<extra></extra>",
            )
        )
    figure.update_yaxes(autorange="reversed")
    figure.update_xaxes(title_text="Per cent of its parameters" if shares else "Parameters, million")
    _finish(figure, height=230 + 34 * len(models))
    return figure.update_layout(barmode="stack", legend_traceorder="normal")


_INTERVAL, _NO_INTERVAL = ", with 95 % interval", ", as the card says (interval after Evaluate)"
_TICKS = [3e6, 1e7, 3e7, 1e8, 2e8]
_TICK_NAMES = ["3 M", "10 M", "30 M", "100 M", "200 M"]


def _published_gains(points: Sequence[GainPoint], first: bool) -> go.Scatter:
    return go.Scatter(
        x=[point.published for point in points],
        y=[point.task for point in points],
        mode="markers",
        marker={"size": 11, "color": _PUBLISHED, "symbol": "diamond-open", "line": {"width": 2}},
        name="published, the paper's own encoders",
        legendgroup="published",
        showlegend=first,
        hovertemplate="%{y}, published<br>%{x:+.2f}<extra></extra>",
    )


def _our_gains(points: Sequence[GainPoint], family: str) -> go.Scatter:
    name, hue = _FAMILIES[family]
    values = [ScorePoint(point.task, 0, point.value or 0.0, point.low, point.high) for point in points]
    return go.Scatter(
        x=[point.score for point in values],
        y=[point.name for point in values],
        error_x=_error(values),
        mode="markers",
        marker={"size": 10, "color": hue.plain, "symbol": "circle"},
        name=f"measured here, {name}{_INTERVAL if any(point.low is not None for point in points) else _NO_INTERVAL}",
        customdata=[point.n for point in points],
        hovertemplate="%{y}, measured here<br>%{x:+.2f} (n = %{customdata:,})<extra></extra>",
    )


def _error(points: Sequence[ScorePoint]) -> dict[str, object]:
    """Plotly's words for the intervals; a point without one gets a bar of no length."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [(p.high if p.high is not None else p.score) - p.score for p in points],
        "arrayminus": [p.score - (p.low if p.low is not None else p.score) for p in points],
        "thickness": 2,
        "width": 5,
    }


def _finish(figure: go.Figure, height: int) -> go.Figure:
    legend = {"orientation": "h", "y": 1, "yanchor": "bottom", "x": 0, "yref": "container", "font": {"size": 13}}
    figure.update_layout(template=TEMPLATE, height=height, legend={**legend, "y": 0.995, "yanchor": "top"})
    return figure.update_layout(margin={"t": 116, "r": 24}, bargap=0.25)
