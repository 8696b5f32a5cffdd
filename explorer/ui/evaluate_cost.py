"""The part Cost of the tab Evaluate: sizes, speeds measured on a click, score against parameters, the padding check."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import gradio as gr

from explorer.analysis.anatomy import CNN_PARAMETERS, PRESETS, count
from explorer.data.paper import published_score
from explorer.encoders.folder import ENCODER, EncoderInfo
from explorer.errors import EncoderError, SettingError
from explorer.figures.theme import identities
from explorer.operations.evaluation_run import EvaluationRun, current
from explorer.operations.padding import PaddingChecks
from explorer.operations.task_score import TaskScore
from explorer.ui import evaluate_tables as tables
from explorer.ui import evaluate_text
from explorer.ui.cards import message, notice, working
from explorer.ui.downloads import csv_button
from explorer.ui.errors import for_person, toast
from explorer.ui.filters_text import caption
from explorer.ui.html import Html, join, tag
from explorer.ui.page import BARE, PRIVATE, Page, load_on_open

if TYPE_CHECKING:
    import pandas as pd

    from explorer.operations.cost import Cost

Costs = dict[str, "Cost"]
_BASE = {"bert": "BERT-base", "albert": "ALBERT-base"}


def build(page: Page, run: EvaluationRun) -> None:
    """Places the part's components and wires them."""
    costs: Costs = {}
    checks = PaddingChecks(page.registry)
    gr.HTML(evaluate_text.heading("Cost on this machine"), **BARE)
    with gr.Row(elem_classes="act"):
        button = gr.Button(
            "Measure",
            variant="primary",
            visible=not page.demo,
            elem_id="measure",
            elem_classes="go",
            scale=0,
            min_width=140,
        )
        stop = gr.Button("Stop", visible=False, elem_classes="go", scale=0, min_width=100)
        said = evaluate_text.NOT_IN_PUBLIC if page.demo else "Takes about ten seconds an encoder."
        status = gr.HTML(notice(said), elem_id="cost-status", elem_classes="status", **BARE)
    table = gr.HTML(tables.cost_table(*_known(page, costs)), elem_id="cost-table", **BARE)
    gr.HTML(caption(*evaluate_text.COST), **BARE)
    csv_button("cost-csv", "cost", partial(_frame, page, costs), [])
    gr.HTML(evaluate_text.heading("Score against parameters"), **BARE)
    figure = gr.Plot(elem_id="score-plot", elem_classes="figure", show_label=False, container=False)
    gr.HTML(caption(*evaluate_text.COST_FIGURE), **BARE)
    gr.HTML(evaluate_text.heading("Padding check"), **BARE)
    padding = gr.HTML(padding_now(checks), elem_id="padding", **BARE)
    gr.HTML(caption(*evaluate_text.PADDING), **BARE)

    outputs = [status, stop, table]
    measuring = button.click(
        partial(measure_all, page, costs), None, outputs, concurrency_id="measure", concurrency_limit=1, **PRIVATE
    )
    stop.click(_stopped, None, [status, stop], cancels=[measuring], queue=False, **PRIVATE)
    load_on_open(page, partial(draw, page, run), [figure])
    # After the tab is there, and in a queue of its own, so that nothing waits for it.
    page.tab.select(partial(check_all, checks), None, padding, concurrency_id="padding", concurrency_limit=1, **PRIVATE)


def on_error(text: str, *_: object) -> Any:
    """Returns the reason, and leaves the table as it is."""
    return message(text), gr.Button(visible=False), gr.skip()


@for_person(on_error)
def measure_all(page: Page, costs: Costs) -> Iterator[Any]:
    """Measures one encoder after the other, showing each as soon as it is done; ends the child when it is stopped.

    Args:
        page: Whose encoders.
        costs: What was measured before; replaced encoder by encoder.
    """
    from explorer.operations.cost import Measurement

    if page.demo:
        raise SettingError(evaluate_text.NOT_IN_PUBLIC)
    infos, failures = _encoders(page.registry.scan()[0]), []
    for done, info in enumerate(infos):
        said = working(f"Measuring {info.name}, {done + 1} of {len(infos)}.", done, len(infos))
        yield said, gr.Button(visible=True), tables.cost_table(*_known(page, costs))
        try:
            with Measurement(page.registry, info.name) as measurement:
                while not measurement.wait(0.5):
                    yield said, gr.skip(), gr.skip()
                costs[info.name] = measurement.result()
        except EncoderError as error:
            failures.append(str(error))
    said = message(" ".join(failures)) if failures else notice("Measured now, on this machine.")
    yield said, gr.Button(visible=False), tables.cost_table(*_known(page, costs))


@for_person(lambda text, *_: message(text))
def check_all(checks: PaddingChecks) -> Iterator[Html]:
    """Does the padding check of every encoder that has none yet, showing each as it comes, and which do not load."""
    failures: list[str] = []
    for info in _encoders(checks.registry.scan()[0]):
        if checks.known(info) is None:
            yield padding_now(checks, failures)
            try:
                checks.check(info)
            except EncoderError as error:
                failures.append(str(error))
    yield padding_now(checks, failures, done=True)


def padding_now(checks: PaddingChecks, failures: Sequence[str] = (), *, done: bool = False) -> Html:
    """Returns the padding checks that are known; encodes nothing."""
    infos = checks.registry.scan()[0]
    found = [check for info in _encoders(infos) if (check := checks.known(info)) is not None]
    return join(
        tables.padding_table(found, identities(infos)) if found or done else None,
        None if done else working("Checking every encoder."),
        *(tag("p", text, cls="small") for text in failures),
    )


@for_person(toast(1))
def draw(page: Page, run: EvaluationRun) -> Any:
    """Returns the figure of score against parameters; scores that were not measured here come from the cards."""
    from explorer.figures.evaluate import ScorePoint, score_figure

    infos = page.registry.scan()[0]
    measured = {
        s.encoder: s
        for s in current(run.state(), infos).scores
        if isinstance(s, TaskScore) and (s.task, s.split, s.subset) == ("stsb", "test", "all") and s.spearman
    }
    points = []
    for info in _encoders(infos):
        score = measured.get(info.name)
        if score is not None and score.spearman is not None and score.interval is not None:
            points.append(
                ScorePoint(info.name, info.parameters, score.spearman, score.interval.low, score.interval.high)
            )
        elif "stsb_test_spearman" in info.scores:
            points.append(ScorePoint(info.name, info.parameters, info.scores["stsb_test_spearman"]))
    return score_figure(points, identities(infos), [ScorePoint(*point) for point in published_points()])


def published_points() -> list[tuple[str, int, float]]:
    """Returns name, parameters and STSb score of the paper's four siamese encoders.

    The score is published; the parameters are computed from the backbone's sizes, the transformer's pooler left out.
    """
    points = []
    for family, size in _BASE.items():
        backbone = sum(part.parameters for part in count(PRESETS[size]).parts if part.name != "Pooler")
        for pooling, name in (("mean", f"S{family.upper()}"), ("cnn", f"CNN-S{family.upper()}")):
            row = published_score(family, pooling)
            assert row is not None
            points.append((name, backbone + (CNN_PARAMETERS if pooling == "cnn" else 0), row.spearman))
    return points


def _known(page: Page, costs: Costs) -> tuple[Sequence[EncoderInfo], Costs, tables.Looks]:
    infos = page.registry.scan()[0]
    return _encoders(infos), costs, identities(infos)


def _encoders(infos: Sequence[EncoderInfo]) -> list[EncoderInfo]:
    """Those that make embeddings; what a cross-encoder costs grows with the pairs, not with the sentences."""
    return [info for info in infos if info.kind == ENCODER]


def _frame(page: Page, costs: Costs) -> pd.DataFrame:
    import pandas as pd

    from explorer.operations.cost import as_row

    return pd.DataFrame([as_row(costs[info.name]) for info in page.registry.scan()[0] if info.name in costs])


def _stopped() -> tuple[Html, Any]:
    return notice("Stopped; what was measured is kept."), gr.Button(visible=False)
