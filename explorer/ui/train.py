"""The tab Train: start a run, watch it, stop it, go on; every run's curves and papers. Wires only.

Nothing here owns a run: everything that is shown is read from the runs' folders, so a reload, another browser or a restart of
the explorer shows the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import gradio as gr

from explorer.jobs.manager import Jobs
from explorer.paths import runs_folder
from explorer.ui import (
    train_acts,
    train_api,
    train_bridge,
    train_compare,
    train_form,
    train_news,
    train_start,
    train_text,
)
from explorer.ui.cards import notice
from explorer.ui.filters_text import caption
from explorer.ui.page import BARE, PRIVATE, Page
from explorer.ui.train_allowed import training_allowed
from explorer.ui.train_live import Bench, Watch
from explorer.ui.waiting import say_working

# A look costs less without the queue, and a long act keeps nobody waiting.
_AT_ONCE: dict[str, Any] = {"queue": False, **PRIVATE}


def build(page: Page) -> None:
    """Places the tab's components and wires them."""
    bench = Bench(page, Watch(Jobs(runs_folder())))
    reason = training_allowed(page)
    gr.HTML(train_text.intro(), **BARE)
    if reason is not None:
        gr.HTML(train_text.refused(reason), elem_id="train-refused", **BARE)
    with gr.Column(visible=reason is None):
        with gr.Row(elem_classes="classroom"):
            gr.HTML(train_text.classroom(), **BARE)
            classroom = gr.Button(
                "Start the one-minute classroom run", variant="primary", elem_id="train-classroom", elem_classes="go"
            )
        status = gr.HTML(elem_id="train-status", elem_classes="status", **BARE)
        with gr.Tabs(selected="runs", elem_id="train-parts", elem_classes="inner") as parts:
            with gr.Tab("Runs", id="runs"):
                live = _runs()
            with gr.Tab("Your own", id="own"):
                form = _form(page)
            with gr.Tab("Compare runs", id="compare") as tab:
                train_compare.build(bench, tab)
    started = [status, parts, *live]
    say_working(classroom.click, status, "Starting.")
    classroom.click(partial(train_start.classroom, bench), None, started, **PRIVATE)
    _wire_form(bench, form, started)
    _wire_bridge(bench, form, started)
    train_api.build(bench)


def _runs() -> list[Any]:
    """Places the list of runs and the chosen one; returns the live parts, in the order of Live."""
    with gr.Column(elem_id="train-runs"):
        history = gr.HTML(elem_id="train-history", **BARE)
        job = gr.HTML(elem_id="train-job", **BARE)
        plot = gr.Plot(elem_id="train-plot", elem_classes="figure", show_label=False, container=False)
        gr.HTML(caption(*train_text.CURVES), **BARE)
        papers = gr.HTML(elem_id="train-papers", **BARE)
    return [history, job, plot, papers]


def _form(page: Page) -> dict[str, Any]:
    """Places the form with its buttons; returns its fields and, by other names, what stands around them."""
    chooser, words, fields = train_form.place(page)
    with gr.Row(elem_classes="act"):
        check = gr.Button("Check first", elem_id="train-check", elem_classes="go", scale=0, min_width=140)
        start = gr.Button("Start", variant="primary", elem_id="train-start", elem_classes="go", scale=0, min_width=140)
        said = gr.HTML(notice(train_text.NOT_CHECKED), elem_id="train-said", elem_classes="status", **BARE)
    checks = gr.HTML(elem_id="train-checks", **BARE)
    around = {"chooser": chooser, "words": words, "check": check, "start": start, "said": said, "checks": checks}
    return {**around, "fields": [fields[name] for name in train_form.FIELDS]}


def _wire_form(bench: Bench, form: dict[str, Any], started: Sequence[Any]) -> None:
    fields = form["fields"]
    filled = [form["words"], *fields]
    form["chooser"].input(partial(train_start.take_preset, bench), form["chooser"], filled, **_AT_ONCE)
    suited = [fields[train_form.FIELDS.index(name)] for name in ("backbone", "objective")]
    for control in suited:
        control.input(partial(train_start.take_suggestion, bench), suited, fields, **_AT_ONCE)
    say_working(form["check"].click, form["said"], "Checking.")
    checking = form["check"].click(partial(train_start.check, bench), fields, [form["said"], form["checks"]], **PRIVATE)
    say_working(form["start"].click, form["said"], "Starting.")
    outputs = [form["said"], *started]
    form["start"].click(partial(train_start.start, bench), fields, outputs, cancels=[checking], **PRIVATE)
    bench.page.tab.select(partial(train_start.backbones_now, bench), None, suited[0], **_AT_ONCE)


def _wire_bridge(bench: Bench, form: dict[str, Any], started: Sequence[Any]) -> None:
    bridge: Any = train_bridge.bridge(train_news.open_news(bench))
    status, parts, *live = started
    bridge.poll(_heard(partial(train_acts.look, bench)), None, live, **_AT_ONCE)
    bridge.act(_heard(partial(train_acts.act, bench)), None, [status, *live], **_AT_ONCE)
    cloned = [status, parts, form["chooser"], *form["fields"]]
    bridge.clone(_heard(partial(train_acts.clone, bench)), None, cloned, **_AT_ONCE)
    file = gr.DownloadButton(visible="hidden", elem_id="train-zip-file")
    exported = bridge.export(_heard(partial(train_acts.export, bench)), None, [status, file], **PRIVATE)
    exported.success(None, file, None, js=train_acts.FOLLOW, **PRIVATE)


def _heard(handler: Callable[[dict[str, Any]], Any]) -> Callable[..., Any]:
    # gradio hands the event only to a plain function that declares it; a partial hides the declaration.
    def heard(event: gr.EventData) -> Any:
        return handler(train_bridge.told(event))

    return heard
