"""The evaluation's figures draw the numbers they are given, and keep what is published apart."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from explorer.analysis.anatomy import PRESETS, count
from explorer.figures.evaluate import GainPoint, ScorePoint, anatomy_figure, gains_figure, score_figure
from explorer.figures.theme import BLUE, ORANGE, identities


@dataclass
class Stub:
    name: str
    family: str
    pooling: str


POINTS = [
    GainPoint("bert", "STSb", 1.06, -0.5, -1.2, 0.3, 1379),
    GainPoint("bert", "STS12", -2.57),
    GainPoint("albert", "STSb", 7.97, 0.2, None, None, 1379),
]


def test_gains_figure_has_a_panel_a_family_and_intervals() -> None:
    figure = gains_figure(POINTS)
    published, ours, published_albert, ours_albert = figure.data
    assert list(published.x) == [1.06, -2.57]
    assert list(ours.x) == [-0.5]
    assert ours.error_x.array == (pytest.approx(0.8),)
    assert ours.error_x.arrayminus == (pytest.approx(0.7),)
    assert ours_albert.error_x.array == (0,)
    assert (ours.marker.color, ours_albert.marker.color) == (BLUE.plain, ORANGE.plain)
    assert published.marker.symbol == published_albert.marker.symbol == "diamond-open"
    assert [trace.showlegend for trace in (published, published_albert)] == [True, False]
    assert "with 95 % interval" in ours.name
    assert "with 95 % interval" not in ours_albert.name


def test_score_figure_keeps_the_published_layer_apart() -> None:
    looks = identities([Stub("bert-cnn", "bert", "cnn"), Stub("<b>", "bert", "mean")])
    ours = [ScorePoint("bert-cnn", 22_000_000, 85, 84, 86), ScorePoint("<b>", 10_000_000, 80)]
    figure = score_figure(ours, looks, [ScorePoint("SBERT", 110_000_000, 84.66)])
    assert [trace.name for trace in figure.data] == ["bert-cnn", "&lt;b&gt;", "published, the paper's own encoders"]
    assert figure.data[-1].marker.symbol == "diamond-open"
    assert figure.data[-1].mode == "markers+text"


def test_anatomy_figure_adds_up() -> None:
    models = {name: count(shape) for name, shape in PRESETS.items()}
    figure = anatomy_figure(models)
    for row, anatomy in enumerate(models.values()):
        assert sum(trace.customdata[row] for trace in figure.data) == anatomy.total
        assert sum(trace.x[row] for trace in figure.data) == pytest.approx(anatomy.total / 1e6)
    assert len({trace.marker.color for trace in figure.data}) == len(figure.data)
    shares = anatomy_figure(models, shares=True)
    assert sum(trace.x[0] for trace in shares.data) == pytest.approx(100)
