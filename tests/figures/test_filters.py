"""Figures of filters: the values given, one scale for encoders compared, places that can be clicked, texts shown as typed."""

from __future__ import annotations

import json

import numpy as np
import plotly.graph_objects as go
import pytest

from explorer.analysis.filters import CellArithmetic
from explorer.analysis.receptive_fields import Span
from explorer.figures.filters import (
    cell_figure,
    contributions_figure,
    filter_figure,
    layers_figure,
    ranking_figure,
    weights_figure,
)
from explorer.figures.theme import BLUE, ORANGE, Identity

PIECES = ("[CLS]", "<b>", "dog", "runs", "[SEP]")
CHANNELS = (2, 3)


def make_span(start: int, stop: int, text: str = "<i>dog</i>") -> Span:
    return Span(start, stop, 0, len(text), text)


def make_maps(scale: float) -> list[np.ndarray]:
    generator = np.random.default_rng(1)
    return [
        scale * generator.uniform(-1, 1, (channels, -(-5 // 2**layer))) for layer, channels in enumerate(CHANNELS, 1)
    ]


SPANS = [[make_span(0, 2), make_span(2, 4), make_span(4, 5, "")], [make_span(0, 5)] * 2]


def both_layers(**options: object) -> go.Figure:
    maps = {"bert-cnn": make_maps(0.2), "albert-cnn": make_maps(0.7)}
    names = dict.fromkeys(maps, PIECES)
    return layers_figure(maps, names, dict.fromkeys(maps, SPANS), **options)  # type: ignore[arg-type]


def test_layers_share_one_scale_a_layer_and_line_up_over_the_pieces() -> None:
    figure = both_layers()
    assert len(figure.data) == 4
    assert [trace.coloraxis for trace in figure.data] == ["coloraxis", "coloraxis", "coloraxis2", "coloraxis2"]
    limit = float(np.abs(make_maps(0.7)[0]).max())
    assert (figure.layout.coloraxis.cmin, figure.layout.coloraxis.cmax) == pytest.approx((-limit, limit))
    assert list(figure.data[0].x) == [-0.5, 1.5, 3.5, 4.5]
    assert list(figure.data[2].x) == [-0.5, 3.5, 4.5]
    np.testing.assert_array_equal(figure.data[1].z, make_maps(0.7)[0])


def test_layers_name_each_cell_for_a_click() -> None:
    figure = both_layers()
    assert figure.data[3].customdata[2][1] == ["albert-cnn", 2, 2, 1]
    assert len(both_layers(layer=2).data) == 2


def test_unsigned_summaries_have_a_scale_from_zero() -> None:
    figure = both_layers(signed=False)
    assert figure.layout.coloraxis.cmin == 0


def test_a_map_of_zeros_still_has_a_scale() -> None:
    maps = {"bert-cnn": [np.zeros((2, 3))]}
    figure = layers_figure(maps, {"bert-cnn": PIECES}, {"bert-cnn": SPANS[:1]})
    assert figure.layout.coloraxis.cmax == 1


def test_filter_draws_values_and_fields() -> None:
    figure = filter_figure([0.5, -0.25, 0.1], SPANS[0], PIECES, layer=1)
    bars, fields = figure.data
    assert list(bars.y) == [0.5, -0.25, 0.1]
    assert list(bars.x) == [0.5, 2.5, 4.0]
    assert list(fields.base) == [-0.5, 1.5, 3.5]
    assert list(fields.x) == [2, 2, 1]
    assert bars.marker.color[0] != bars.marker.color[1]
    assert "special pieces alone" in bars.hovertext[2]
    assert list(figure.layout.yaxis2.tickvals) == [0, 1, 2]
    assert list(filter_figure([0.1] * 30, SPANS[0] * 10, PIECES * 10, layer=1).layout.yaxis2.tickvals) == [
        *range(0, 30, 4)
    ]


def test_a_colour_bar_is_as_tall_as_its_panel_so_its_numbers_do_not_touch() -> None:
    layout = both_layers().layout
    assert layout.coloraxis.colorbar.ypad == layout.coloraxis2.colorbar.ypad == 0


def test_cell_draws_inputs_weights_and_products() -> None:
    inputs, weights = np.array([[1.0], [2.0], [0.0]]), np.array([[0.5], [-1.0], [3.0]])
    cell = CellArithmetic(
        3, 0, 1, 4, inputs, np.zeros((3, 1), np.int64), weights, inputs * weights, -1.5, 0.5, -1.0, -0.76, -0.76
    )
    figure = cell_figure(cell)
    np.testing.assert_array_equal(figure.data[2].z, [[0.5], [-2.0], [0.0]])
    assert list(figure.data[0].y) == [-1, 0, 1]
    assert "sum -1.5000" in figure.layout.annotations[2].text


def test_contributions_show_the_sums_of_rows_and_columns() -> None:
    matrix = np.array([[0.1, 0.2, 0.0], [-0.3, 0.4, 0.1]])
    heat, columns, rows = contributions_figure(matrix, ("a", "<b>"), ("c", "d", "e")).data
    np.testing.assert_array_equal(heat.z, matrix)
    np.testing.assert_allclose(columns.y, [-0.2, 0.6, 0.1])
    np.testing.assert_allclose(rows.x, [0.3, 0.2])
    assert heat.text[1][0] == "&lt;b&gt; x c"


def test_weights_look_like_their_encoders() -> None:
    looks = {"bert-mean": Identity(BLUE, ""), "albert-cnn": Identity(ORANGE, "/")}
    figure = weights_figure({"bert-mean": [0.2] * 5, "albert-cnn": [0.1, 0.2, 0.3, 0.3, 0.1]}, PIECES, looks)
    assert [trace.name for trace in figure.data] == ["bert-mean", "albert-cnn"]
    assert [trace.marker.color for trace in figure.data] == [BLUE.plain, ORANGE.plain]
    assert [trace.marker.pattern.shape for trace in figure.data] == ["", "/"]


def test_ranking_names_dead_and_saturated_filters() -> None:
    figure = ranking_figure(["3", "1", "2"], [2.0, 1.0, 0.0], [False, False, True], [False, True, False], "layer 1")
    assert list(figure.data[0].text) == ["", "saturated", "dead"]


def test_panels_beside_each_other_share_the_names_there_is_room_for() -> None:
    spans = [[make_span(0, 2)] * 30]
    named = []
    for names in (["a"], ["a", "b"]):
        maps, pieces = dict.fromkeys(names, [np.zeros((2, 30))]), dict.fromkeys(names, ["x"] * 30)
        figure = layers_figure(maps, pieces, dict.fromkeys(names, spans), layer=1)
        named.append(len(figure.layout.xaxis.ticktext))
    assert named == [30, 15]


def test_long_sentences_name_every_nth_piece_and_texts_are_shown_as_typed() -> None:
    many = ["<b>"] * 128
    figure = filter_figure(np.zeros(64), [make_span(0, 2)] * 64, many, layer=1)
    assert len(figure.layout.xaxis2.ticktext) == 32
    written = json.dumps(json.loads(figure.to_json()))
    assert "<b>" not in written
    assert "&lt;b&gt;" in written
