"""The curves' figure: three panels, the best score ringed, several runs told apart by more than colour."""

from __future__ import annotations

from explorer.analysis.curves import Curves, Line
from explorer.figures.training import RunCurves, training_figure


def run(name: str, **more: object) -> RunCurves:
    steps = tuple(range(1, 31))
    loss = Line(steps, tuple(1 / n for n in steps))
    return RunCurves(name, Curves(loss, Line((10, 20, 30), (0.5, 0.8, 0.7)), Line(steps, loss.values), **more))


def test_one_run_shows_raw_and_smoothed_loss_and_its_best_score() -> None:
    figure = training_figure([run("a <b>")], stamp="a:12")
    raw, mean, dev, best, rate = figure.data
    assert raw.y[0] == mean.y[0] == 1
    assert mean.y[-1] > raw.y[-1]
    assert [trace.yaxis for trace in figure.data] == ["y", "y", "y2", "y2", "y3"]
    assert list(dev.y) == [50, 80, 70]
    assert (best.x[0], best.y[0]) == (20, 80)
    assert len(rate.x) == 30
    assert figure.layout.meta == {"stamp": "a:12"}
    assert figure.layout.uirevision == "training"
    assert [trace.name for trace in figure.data if trace.showlegend] == [
        "loss",
        "running mean",
        "best dev score so far",
    ]


def test_what_was_not_trained_is_drawn_but_never_ringed() -> None:
    curves = Curves(dev=Line((0, 10, 20), (0.9, 0.5, 0.6)))
    _, _, dev, best, _ = training_figure([RunCurves("a", curves)]).data
    assert (list(dev.y), best.x[0]) == ([90, 50, 60], 20)
    assert len(training_figure([RunCurves("a", Curves(dev=Line((0,), (0.9,))))]).data) == 4


def test_several_runs_differ_in_colour_and_dash_and_names_are_escaped() -> None:
    figure = training_figure([run("one"), run("<img src=x>")])
    first, second = (trace for trace in figure.data if trace.showlegend)
    assert first.name == "one"
    assert second.name == "&lt;img src=x&gt;"
    assert first.line.color != second.line.color
    assert first.line.dash != second.line.dash


def test_stages_are_marked_and_nothing_at_all_can_be_drawn() -> None:
    figure = training_figure([run("a", stages=((0, "nli"), (15, "sts")))])
    assert [note.text for note in figure.layout.annotations][3:] == [" stage nli", " stage sts"]
    assert training_figure([]).data == ()
    assert len(training_figure([RunCurves("new", Curves())]).data) == 4
