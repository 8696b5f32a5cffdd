"""The tab Evaluate: encoders on tasks, run in the background, with everything a score needs beside it. Wires only.

The evaluation belongs to the server: the page asks how far it is, shows what is there, and may ask it to stop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import gradio as gr

from explorer.analysis.sts import Aggregation
from explorer.data.sts_tasks import TASKS
from explorer.encoders.folder import ENCODER
from explorer.operations.evaluation_run import EvaluationRun, Phase, RunState
from explorer.ui import evaluate_anatomy, evaluate_cost, evaluate_own, evaluate_report, evaluate_sources, evaluate_text
from explorer.ui import evaluate_views as views
from explorer.ui.cards import message, notice, working
from explorer.ui.downloads import csv_button
from explorer.ui.errors import for_person, refuse
from explorer.ui.filters_text import caption
from explorer.ui.html import Html, join, tag
from explorer.ui.page import BARE, PRIVATE, Page, keep_choices
from explorer.ui.words import duration

if TYPE_CHECKING:
    from collections.abc import Callable

# One after the other: a look that began before a start must not come back after it and put the timer to sleep.
IN_ORDER: dict[str, Any] = {"concurrency_id": "evaluation", "concurrency_limit": 1}
SUBSETS = [("All pairs", "all"), ("Clean pairs", "clean"), ("Overlapping pairs", "overlap")]
MEASURES = [("Spearman", "spearman"), ("Pearson", "pearson")]
PAPER_TABLES = [("Table 1", "table1"), ("Table 2", "table2"), ("Table 3", "table3")]


class Shown(NamedTuple):
    """What an event changes, in the order of the components."""

    status: Any = gr.skip()
    start: Any = gr.skip()
    stop: Any = gr.skip()
    timer: Any = gr.skip()
    seen: Any = gr.skip()
    scores: Any = gr.skip()
    parts: Any = gr.skip()
    words: Any = gr.skip()
    overlap: Any = gr.skip()
    pairs: Any = gr.skip()
    gains: Any = gr.skip()
    paper: Any = gr.skip()
    slices: Any = gr.skip()


def build(page: Page) -> None:
    """Places the tab's components and wires them."""
    run = EvaluationRun(page.registry, page.data, public=page.demo or page.shared)
    names = boxes(run)
    gr.HTML(evaluate_text.intro(), **BARE)
    with gr.Row(elem_classes="controls choices"):
        encoders = gr.CheckboxGroup(
            names, value=[name for _, name in names], label="Encoders", elem_id="evaluate-encoders"
        )
        titles = [(task.title, task.name) for task in TASKS.values()]
        tasks = gr.CheckboxGroup(titles, value=["stsb"], label="Tasks", elem_id="evaluate-tasks")
        split = gr.Radio(
            [("Test pairs", "test"), ("Dev pairs", "dev")], value="test", label="Split", scale=0, min_width=220
        )
    with gr.Row(elem_classes="act"):
        start = gr.Button("Evaluate", variant="primary", elem_id="evaluate", elem_classes="go", scale=0, min_width=140)
        stop = gr.Button("Stop", visible=False, elem_id="evaluate-stop", elem_classes="go", scale=0, min_width=100)
        status = gr.HTML(say(run.state(), run.data is None), elem_id="evaluate-status", elem_classes="status", **BARE)
    evaluate_sources.build(run, encoders, boxes)
    timer, seen = gr.Timer(1, active=False), gr.State(-1)
    with gr.Tabs(elem_id="evaluate-parts", elem_classes="inner", overflow_behavior="wrap"):
        with gr.Tab("Scores"):
            choice, (scores, parts, words) = _scores(run)
        with gr.Tab("Overlap"):
            overlap_task, (overlap, pairs) = _overlap(run)
        with gr.Tab("The paper"):
            paper_table, (gains, paper) = _paper(run)
        with gr.Tab("Slices"):
            slice_task, slices = _slices()
        # These two compute something when they are opened, not before.
        with gr.Tab("Cost") as cost:
            evaluate_cost.build(replace(page, tab=cost), run)
        with gr.Tab("Anatomy") as anatomy:
            evaluate_anatomy.build(replace(page, tab=anatomy))
        with gr.Tab("Your own table"):
            evaluate_own.build(page)
    outputs = [status, start, stop, timer, seen, scores, parts, words, overlap, pairs, gains, paper, slices]
    controls = [*choice, overlap_task, paper_table, slice_task]

    event: dict[str, Any] = {"outputs": outputs, **IN_ORDER, **PRIVATE}
    start.click(partial(begin, run), [encoders, tasks, split], **event)
    stop.click(partial(halt, run), None, **event)
    timer.tick(partial(look, run), [seen, *controls], trigger_mode="once", **event)
    page.tab.select(partial(look, run), [seen, *controls], **event)
    keep_choices(page, encoders, partial(boxes, run))
    for control in controls:
        control.input(partial(look, run, -2), controls, trigger_mode="always_last", **event)
    gr.api(_endpoint(run), api_name="evaluate")


def on_error(text: str, *_: object) -> Shown:
    """Returns the reason, and leaves everything else as it is."""
    return Shown(status=message(text))


@for_person(on_error)
def begin(run: EvaluationRun, encoders: list[str], tasks: list[str], split: str) -> Shown:
    """Starts an evaluation; the timer then shows how far it is."""
    state = run.start(encoders, tasks, split)
    return Shown(say(state), gr.Button(interactive=False), gr.Button(visible=not run.public), gr.Timer(active=True))


@for_person(on_error)
def halt(run: EvaluationRun) -> Shown:
    """Asks the evaluation to stop."""
    return Shown(say(run.stop()), stop=gr.Button(interactive=False))


@for_person(on_error)
def look(run: EvaluationRun, seen: int, *controls: str) -> Shown:
    """Returns the evaluation as it is now; the tables only if there are other scores than were seen.

    Args:
        run: The server's evaluation.
        seen: Number of the state whose tables are on the page; -2 makes all of them anew.
        controls: Subset, aggregation, measure and task of the scores; task of the overlap; table of the paper; task of
            the slices.
    """
    state = run.state()
    shown = Shown(
        say(state, run.data is None),
        gr.Button(interactive=not state.active),
        gr.Button(visible=state.active and not run.public, interactive=state.phase is not Phase.STOPPING),
        gr.Timer(active=state.active),
        state.version,
    )
    if seen == state.version:
        return shown
    return Shown(*shown[:5], *views.everything(run, state, views.Controls(*controls)))


def boxes(run: EvaluationRun) -> list[tuple[str, str]]:
    """Returns what is written beside each encoder's box, and its name."""
    infos = run.registry.scan()[0]
    return [(info.name if info.kind == ENCODER else f"{info.name} ({info.kind})", info.name) for info in infos]


def say(state: RunState, no_data: bool = False) -> Html:
    """Returns in words, and with a bar, how far an evaluation is."""
    if no_data:
        return notice(evaluate_text.NO_DATA)
    if state.active:
        lead = "Stopping after this batch" if state.phase is Phase.STOPPING else state.label
        count = f": {state.done:,} of {state.total:,} sentences" if state.total else ""
        left = "" if state.seconds_left is None else f", about {duration(state.seconds_left)} left"
        bar = working(f"{lead}{count}{left}.", state.done, state.total)
        return join(bar, tag("p", state.left_out, cls="small") if state.left_out else None)
    if state.phase is Phase.FAILED:
        return message(state.message)
    if state.phase is Phase.STOPPED:
        return notice("Stopped. What was encoded is kept: started again, it goes on from there.")
    if state.phase is Phase.DONE:
        titles = ", ".join(TASKS[task].title for task in state.tasks)
        count = "1 encoder" if len(state.encoders) == 1 else f"{len(state.encoders)} encoders"
        done = f"{titles} on {count}, done in {duration(state.seconds)}. {state.left_out}".rstrip()
        return message(f"{done} {state.message}") if state.message else notice(done)
    return notice(evaluate_text.NOTHING_YET)


@for_person(refuse)
def evaluate_for_api(
    run: EvaluationRun, encoders: list[str] | None, tasks: list[str] | None, split: str
) -> dict[str, Any]:
    """Starts an evaluation if encoders or tasks are named; returns the state and every score there is, as plain values."""
    from explorer.operations.evaluate import choose_encoders
    from explorer.operations.reports import as_row

    if encoders or tasks:
        state = run.start([info.name for info in choose_encoders(run.registry, encoders)], tasks or ["stsb"], split)
    else:
        state = run.state()
    said = f"{state.left_out} {state.message}".strip()
    facts = {"phase": state.phase.value, "done": state.done, "total": state.total, "message": said}
    return {**facts, "seconds_left": state.seconds_left, "scores": [as_row(score) for score in views.now(run).scores]}


def _scores(run: EvaluationRun) -> tuple[Sequence[Any], Sequence[Any]]:
    gr.HTML(evaluate_text.heading("Scores"), **BARE)
    with gr.Row(elem_classes="controls"):
        subset = gr.Radio(SUBSETS, value="all", label="Which pairs", min_width=300)
        aggregation = gr.Dropdown(
            [(how.value.capitalize(), how.value) for how in Aggregation], value="all pairs", label="Parts joined as"
        )
        measure = gr.Radio(MEASURES, value="spearman", label="Figure", min_width=200)
    table = gr.HTML(elem_id="evaluate-scores", **BARE)
    gr.HTML(caption(*evaluate_text.SCORES), **BARE)
    with gr.Row(elem_classes="pills"):
        csv_button("scores-csv", "scores", partial(views.scores_frame, run), [])
        evaluate_report.button(run)
    gr.HTML(evaluate_text.heading("Is one better than another?"), **BARE)
    task = gr.Dropdown(views.TASK_CHOICES, value="stsb", label="Task", elem_classes="narrow")
    words = gr.HTML(elem_id="evaluate-words", **BARE)
    with gr.Accordion("Parts of the tasks", open=False, elem_classes="quiet"):
        parts = gr.HTML(**BARE)
    return (subset, aggregation, measure, task), (table, parts, words)


def _overlap(run: EvaluationRun) -> tuple[Any, Sequence[Any]]:
    gr.HTML(evaluate_text.heading("Test pairs seen in training", evaluate_text.OVERLAP_LEAD), **BARE)
    table = gr.HTML(elem_id="evaluate-overlap", **BARE)
    gr.HTML(caption(*evaluate_text.OVERLAP), **BARE)
    gr.HTML(evaluate_text.heading("The overlapping pairs"), **BARE)
    task = gr.Dropdown(views.GRADED_CHOICES, value="stsb", label="Task", elem_classes="narrow")
    pairs = gr.HTML(**BARE)
    csv_button("overlap-csv", "overlapping_pairs", partial(views.pairs_frame, run), [task])
    return task, (table, pairs)


def _paper(run: EvaluationRun) -> tuple[Any, Sequence[Any]]:
    gr.HTML(evaluate_text.heading("What the CNN adds"), **BARE)
    figure = gr.Plot(elem_id="gains-plot", elem_classes="figure", show_label=False, container=False)
    gr.HTML(caption(*evaluate_text.GAINS), **BARE)
    gr.HTML(evaluate_text.heading("The paper's tables beside ours"), **BARE)
    table = gr.Radio(PAPER_TABLES, value="table1", label="Table", elem_id="paper-table")
    rows = gr.HTML(elem_id="evaluate-paper", **BARE)
    gr.HTML(caption(*evaluate_text.PAPER), **BARE)
    csv_button("paper-csv", "paper", partial(views.paper_frame, run), [table])
    return table, (figure, rows)


def _slices() -> tuple[Any, Any]:
    gr.HTML(evaluate_text.heading("Slices"), **BARE)
    task = gr.Dropdown(views.GRADED_CHOICES, value="stsb", label="Task", elem_classes="narrow")
    table = gr.HTML(elem_id="evaluate-slices", **BARE)
    gr.HTML(caption(*evaluate_text.SLICES), **BARE)
    return task, table


def _endpoint(run: EvaluationRun) -> Callable[..., Any]:
    def evaluate(
        encoders: list[str] | None = None, tasks: list[str] | None = None, split: str = "test"
    ) -> dict[str, Any]:
        """Starts an evaluation if encoders or tasks are named; returns how far it is and every score so far.

        Call it without arguments to look again. Scores are Spearman and Pearson x 100 (NLI tasks: accuracy x 100) with 95 %
        intervals, on all, clean and overlapping pairs.
        """
        return evaluate_for_api(run, encoders, tasks, split)

    return evaluate
