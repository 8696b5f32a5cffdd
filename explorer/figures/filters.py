"""Pictures of the CNN's filters and of word contributions: arrays and labels in, go.Figure out. Decides nothing but looks.

Word pieces lie along x at 0, 1, 2 and so on; a layer's position stands over the 2^l pieces it was pooled from, so that all
layers line up. Values below zero are purple and above it green, on one scale for all encoders in a picture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray
from plotly.subplots import make_subplots

from explorer.analysis.filters import CellArithmetic
from explorer.analysis.receptive_fields import Span
from explorer.analysis.writing import MINUS
from explorer.figures.theme import DIVERGING, SANS, SEQUENTIAL, TEMPLATE, Identity

_BELOW, _ABOVE = DIVERGING[1][1], DIVERGING[3][1]
# Pixels a filter: 128 of them stay on one screen.
_FILTER_PIXELS, _LEAST_ROW = 3, 40
# Word pieces that can be named along the whole picture; panels beside each other share them.
_MOST_NAMES = 40


def layers_figure(
    maps: Mapping[str, Sequence[NDArray[np.float64]]],
    pieces: Mapping[str, Sequence[str]],
    spans: Mapping[str, Sequence[Sequence[Span]]],
    signed: bool = True,
    layer: int | None = None,
) -> go.Figure:
    """Returns heat maps of filters by word pieces, a row a layer and a column an encoder.

    A point's customdata is [encoder, layer, filter, position].

    Args:
        maps: For each encoder one (C_l, T_l) array a layer.
        pieces: For each encoder its word pieces.
        spans: For each encoder and layer the receptive field of every position.
        signed: Whether values may be below zero.
        layer: Draw this layer alone, 1 to 5; None draws all.
    """
    encoders = list(maps)
    layers = range(1, len(maps[encoders[0]]) + 1) if layer is None else [layer]
    heights = [max(_LEAST_ROW, _FILTER_PIXELS * len(maps[encoders[0]][number - 1])) for number in layers]
    figure = make_subplots(
        rows=len(heights),
        cols=len(encoders),
        row_heights=heights,
        column_titles=[_text(name) for name in encoders],
        vertical_spacing=0.03 if len(heights) > 1 else 0.0,
        horizontal_spacing=0.05,
        shared_xaxes="columns",
    )
    for row, number in enumerate(layers, start=1):
        limit = max(float(np.abs(maps[name][number - 1]).max()) for name in encoders) or 1.0
        axis = f"coloraxis{'' if row == 1 else row}"
        bottom, top = figure.get_subplot(row, 1).yaxis.domain
        middle, share = (bottom + top) / 2, top - bottom
        figure.update_layout({axis: _scale(limit, signed, middle, share)})
        for column, name in enumerate(encoders, start=1):
            values, length = maps[name][number - 1], len(pieces[name])
            heat = _layer_heat(name, number, values, length, spans[name][number - 1])
            figure.add_trace(heat.update(coloraxis=axis), row=row, col=column)
            ticks = {"tickvals": [0]} if len(values) == 1 else {"nticks": 4}
            title = f"layer {number}" if column == 1 else None
            figure.update_yaxes(**ticks, title_text=title, row=row, col=column)
    for column, name in enumerate(encoders, start=1):
        _piece_axis(figure, pieces[name], row=len(heights), col=column, most=_MOST_NAMES // len(encoders))
    figure.update_yaxes(autorange="reversed")
    return _finish(figure, height=sum(heights) + 30 * len(heights) + 130)


def filter_figure(values: ArrayLike, spans: Sequence[Span], pieces: Sequence[str], layer: int) -> go.Figure:
    """Returns one filter over a sentence: bars over the word pieces, and below them what each position can see.

    Args:
        values: (T_l,) in [-1, 1].
        spans: The receptive field of each position.
        pieces: The word pieces.
        layer: 1 to 5.
    """
    heights = np.asarray(values, dtype=np.float64)
    edges = _edges(layer, len(heights), len(pieces))
    widths, middles = np.diff(edges), (edges[:-1] + edges[1:]) / 2
    colours = [_BELOW if value < 0 else _ABOVE for value in heights]
    hovers = [_span_text(t, value, span) for t, (value, span) in enumerate(zip(heights, spans, strict=True))]
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.06, row_heights=[0.55, 0.45])
    common: dict[str, Any] = {
        "marker": {"color": colours},
        "hovertext": hovers,
        "hoverinfo": "text",
        "customdata": list(range(len(heights))),
    }
    figure.add_trace(go.Bar(x=middles, y=heights, width=widths * 0.9, **common), row=1, col=1)
    starts = np.array([span.start_piece for span in spans], dtype=np.float64) - 0.5
    lengths = np.array([span.stop_piece - span.start_piece for span in spans], dtype=np.float64)
    rows = np.arange(len(heights))
    fields = go.Bar(base=starts, x=lengths, y=rows, orientation="h", width=0.7, **common)
    figure.add_trace(fields, row=2, col=1)
    figure.update_yaxes(title_text="activation", row=1, col=1)
    every = max(1, -(-len(heights) // 8))
    ticks = {"tickvals": list(rows[::every]), "range": [len(heights) - 0.5, -0.5]}
    figure.update_yaxes(title_text="position", **ticks, row=2, col=1)
    _piece_axis(figure, pieces, row=2, col=1)
    return _finish(figure, height=330 + min(14 * len(heights), 300))


def cell_figure(cell: CellArithmetic) -> go.Figure:
    """Returns a cell's inputs, weights and products, each a heat map of window places by input filters.

    Args:
        cell: Its arithmetic.
    """
    taps, channels = cell.products.shape
    titles = ("inputs", "weights", f"products: sum {cell.total:+.4f}")
    figure = make_subplots(rows=3, cols=1, shared_xaxes=True, vertical_spacing=0.12, subplot_titles=titles)
    for row, values in enumerate((cell.inputs, cell.weights, cell.products), start=1):
        axis = f"coloraxis{'' if row == 1 else row}"
        bottom, top = figure.get_subplot(row, 1).yaxis.domain
        middle, share = (bottom + top) / 2, top - bottom
        figure.update_layout({axis: _scale(float(np.abs(values).max()) or 1.0, True, middle, share)})
        heat = go.Heatmap(
            z=values,
            x=list(range(channels)),
            y=[tap - taps // 2 for tap in range(taps)],
            coloraxis=axis,
            hovertemplate="place %{y:+d}, input filter %{x}<br>%{z:.5f}<extra></extra>",
        )
        figure.add_trace(heat, row=row, col=1)
    what = "hidden dimension" if cell.layer == 1 else f"filter of layer {cell.layer - 1}"
    figure.update_xaxes(title_text=f"input {what}" if cell.layer > 1 else f"{what} {cell.dimension}", row=3, col=1)
    figure.update_yaxes(dtick=1, autorange="reversed", title_text="place")
    return _finish(figure, height=240 + 3 * max(50, 22 * taps))


def ranking_figure(
    filters: Sequence[str], selectivity: ArrayLike, dead: Sequence[bool], saturated: Sequence[bool], title: str
) -> go.Figure:
    """Returns filters by selectivity as bars, dead and saturated ones named so.

    Args:
        filters: Names in the order to be drawn.
        selectivity: (n,) standard deviations.
        dead: Whether each is dead.
        saturated: Whether each is saturated.
        title: What the filters are.
    """
    states = ["dead" if d else "saturated" if s else "" for d, s in zip(dead, saturated, strict=True)]
    bars = go.Bar(
        x=list(filters),
        y=np.asarray(selectivity, dtype=np.float64),
        text=states,
        customdata=list(filters),
        marker={"color": [_BELOW if state else _ABOVE for state in states]},
        hovertemplate="filter %{x}<br>selectivity %{y:.2f} standard deviations<br>%{text}<extra></extra>",
    )
    figure = go.Figure(bars)
    figure.update_xaxes(type="category", title_text=_text(title))
    figure.update_yaxes(title_text="selectivity (standard deviations)", rangemode="tozero")
    return _finish(figure, height=320)


def contributions_figure(matrix: ArrayLike, rows: Sequence[str], columns: Sequence[str]) -> go.Figure:
    """Returns the matrix of contributions to a cosine, with the sums of its rows and columns as bars beside it.

    Args:
        matrix: (n_rows, n_columns); its sum is the cosine.
        rows: Labels of the first sentence's word pieces, a baseline included.
        columns: Labels of the second's.
    """
    values = np.asarray(matrix, dtype=np.float64)
    figure = make_subplots(
        rows=2,
        cols=2,
        shared_xaxes=True,
        shared_yaxes=True,
        row_heights=[0.18, 0.82],
        column_widths=[0.82, 0.18],
        horizontal_spacing=0.02,
        vertical_spacing=0.03,
    )
    labels = [[f"{_text(a)} x {_text(b)}" for b in columns] for a in rows]
    heat = go.Heatmap(z=values, text=labels, coloraxis="coloraxis", hovertemplate="%{text}<br>%{z:.4f}<extra></extra>")
    figure.add_trace(heat, row=2, col=1)
    for sums, names, place, across in ((values.sum(0), columns, (1, 1), True), (values.sum(1), rows, (2, 2), False)):
        index = np.arange(len(sums))
        bars = go.Bar(
            x=index if across else sums,
            y=sums if across else index,
            orientation="v" if across else "h",
            marker={"color": [_BELOW if value < 0 else _ABOVE for value in sums]},
            hovertext=[f"{_text(name)}: sum {value:.4f}" for name, value in zip(names, sums, strict=True)],
            hoverinfo="text",
        )
        figure.add_trace(bars, row=place[0], col=place[1])
    _piece_axis(figure, columns, row=2, col=1)
    figure.update_yaxes(**_piece_ticks(rows) | {"tickangle": 0}, range=[len(rows) - 0.5, -0.5], row=2, col=1)
    figure.update_yaxes(title_text="sum", row=1, col=1)
    figure.update_xaxes(title_text="sum", row=2, col=2)
    figure.update_layout(coloraxis=_scale(float(np.abs(values).max()) or 1.0, True))
    return _finish(figure, height=220 + 22 * len(rows))


def weights_figure(
    weights: Mapping[str, ArrayLike], pieces: Sequence[str], looks: Mapping[str, Identity], title: str = "weight"
) -> go.Figure:
    """Returns the weight of each word piece in the sentence vector, a bar an encoder, for encoders with the same pieces.

    Args:
        weights: For each encoder (T,) numbers.
        pieces: The word pieces they share.
        looks: Each encoder's colour and pattern.
        title: What the numbers are.
    """
    figure = go.Figure()
    for name, values in weights.items():
        shares = np.asarray(values, dtype=np.float64)
        look = looks[name]
        figure.add_bar(
            name=_text(name),
            x=np.arange(len(shares)),
            y=shares,
            marker={"color": look.hue.plain, "pattern": {"shape": look.pattern}},
            hovertext=[
                f"{_text(name)}, {_text(piece)}: {share:.4f}" for piece, share in zip(pieces, shares, strict=True)
            ],
            hoverinfo="text",
        )
    figure.update_layout(barmode="group", legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"})
    figure.update_xaxes(**_piece_ticks(pieces))
    figure.update_yaxes(title_text=_text(title))
    return _finish(figure, height=340, legend=True)


def _layer_heat(
    encoder: str, layer: int, values: NDArray[np.float64], length: int, spans: Sequence[Span]
) -> go.Heatmap:
    filters, positions = values.shape
    return go.Heatmap(
        z=values,
        x=_edges(layer, positions, length),
        y=list(range(filters)),
        customdata=[[[encoder, layer, f, t] for t in range(positions)] for f in range(filters)],
        text=[[_shortened(span) for span in spans]] * filters,
        hovertemplate=f"layer {layer}, filter %{{y}}<br>%{{z:.4f}}<br>sees: %{{text}}<extra>{_text(encoder)}</extra>",
    )


def _edges(layer: int, positions: int, length: int) -> NDArray[np.float64]:
    """Returns the (positions + 1,) borders of a layer's positions over word pieces 0 to length - 1."""
    return np.minimum(np.arange(positions + 1) * 2**layer, length) - 0.5


def _piece_axis(figure: go.Figure, pieces: Sequence[str], row: int, col: int, most: int = _MOST_NAMES) -> None:
    ends = [-0.5, len(pieces) - 0.5]
    figure.update_xaxes(**_piece_ticks(pieces, most), range=ends, zeroline=False, row=row, col=col)


def _piece_ticks(pieces: Sequence[str], most: int = _MOST_NAMES) -> dict[str, Any]:
    """Returns axis settings that name every word piece, or every n-th where there are more than `most`."""
    step = max(1, -(-len(pieces) // max(1, most)))
    places = list(range(0, len(pieces), step))
    return {"tickmode": "array", "tickvals": places, "ticktext": [_text(pieces[i]) for i in places], "tickangle": -45}


def _scale(limit: float, signed: bool, middle: float = 0.5, share: float = 1.0) -> dict[str, Any]:
    """Returns a colour axis, its bar `share` of the figure's height tall around `middle`."""
    ends = [-limit, 0.0, limit] if signed else [0.0, limit]
    texts = [f"{end:.2g}".replace("-", MINUS) for end in ends]
    ticks = {"tickvals": ends, "ticktext": texts, "tickfont": {"family": SANS, "size": 11}}
    return {
        "colorscale": [list(stop) for stop in (DIVERGING if signed else SEQUENTIAL)],
        "cmin": -limit if signed else 0.0,
        "cmax": limit,
        "colorbar": {"thickness": 8, "len": share, "y": middle, "ypad": 0, **ticks},
    }


def _span_text(position: int, value: float, span: Span) -> str:
    pieces = f"word pieces {span.start_piece} to {span.stop_piece - 1}"
    return f"position {position}: {value:.4f}<br>{pieces}<br>{_shortened(span)}"


def _shortened(span: Span, most: int = 60) -> str:
    if not span.text:
        return "special pieces alone"
    return _text(span.text if len(span.text) <= most else f"{span.text[: most - 1]}…")


def _text(text: str) -> str:
    """Returns a person's text as plotly shows it letter for letter; plotly reads a few tags otherwise."""
    return escape(text, quote=False)


def _finish(figure: go.Figure, height: int, legend: bool = False) -> go.Figure:
    return figure.update_layout(template=TEMPLATE, height=height, showlegend=legend, bargap=0.15)
