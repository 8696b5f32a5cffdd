"""The part Compare runs of the tab Train: the curves of several runs in one picture, a table, and seeds together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import gradio as gr

from explorer.errors import TrainingError
from explorer.jobs.job import Job
from explorer.operations.jobs import SeedGroup, seed_groups
from explorer.ui import train_text, train_views, words
from explorer.ui.cards import message, notice
from explorer.ui.data_table import Column, data_table
from explorer.ui.errors import for_person, toast
from explorer.ui.filters_text import caption
from explorer.ui.html import Html, join, tag
from explorer.ui.page import BARE, PRIVATE
from explorer.ui.train_allowed import where_allowed
from explorer.ui.train_live import Bench, plot_data

MOST = 8
_SETTINGS = ("backbone", "pooling", "objective", "epochs", "batch_size", "learning_rate", "head_learning_rate", "seed")
_COLUMNS = (
    Column("Run"),
    Column("State"),
    Column("Dev score", "Spearman × 100", number=True),
    Column("Steps", number=True),
    Column("Took"),
    Column("What differs"),
)
_SEED_COLUMNS = (
    Column("Runs that differ in the seed alone"),
    Column("Seeds"),
    Column("Dev score of each, as saved", "Spearman × 100", number=True),
    Column("Mean", number=True),
    Column("Standard deviation", number=True),
    Column("n", number=True),
)


def build(bench: Bench, tab: gr.Tab) -> None:
    """Places the part's components and wires them."""
    with gr.Row(elem_classes="act"):
        runs = gr.Dropdown(
            [], multiselect=True, max_choices=MOST, label="Runs", elem_id="train-compare-runs", min_width=300
        )
        fresh = gr.Button("Draw again", size="sm", elem_classes="pill", scale=0, min_width=110)
    said = gr.HTML(notice(train_text.NOT_COMPARED), elem_id="train-compare-said", **BARE)
    plot = gr.Plot(elem_id="train-compare-plot", elem_classes="figure", show_label=False, container=False)
    gr.HTML(caption(*train_text.COMPARED), **BARE)
    table = gr.HTML(elem_id="train-compare-table", **BARE)
    seeds = gr.HTML(elem_id="train-seeds", **BARE)
    gr.HTML(caption(*train_text.SEEDS), **BARE)
    at_once: dict[str, Any] = {"queue": False, **PRIVATE}
    drawn = {"fn": partial(compare, bench), "inputs": runs, "outputs": [said, plot, table], **at_once}
    tab.select(partial(choices, bench), runs, [runs, seeds], **at_once).then(**drawn)
    for event in (runs.input, fresh.click):
        event(**drawn)


@for_person(toast(2))
@where_allowed
def choices(bench: Bench, chosen: Sequence[str] | None) -> tuple[Any, Any]:
    """Returns the runs that can be compared, those still there chosen as before or else the newest two, and the seeds."""
    jobs = bench.watch.list()
    names = [job.id for job in jobs]
    newest = [job.id for job in jobs if job.step][:2]
    kept = [name for name in chosen or () if name in names] or newest
    return gr.Dropdown(choices=names, value=kept, multiselect=True), seed_table(jobs)


@for_person(lambda text, *_: (message(text), gr.skip(), gr.skip()))
@where_allowed
def compare(bench: Bench, names: Sequence[str] | None) -> tuple[Any, Any, Any]:
    """Returns (status, figure, table) of the runs named."""
    names = list(dict.fromkeys(names or ()))
    if not names:
        return notice(train_text.NOT_COMPARED), None, ""
    if len(names) > MOST:
        raise TrainingError(f"{len(names)} runs are chosen; at most {MOST} can be told apart in one picture.")
    jobs = [bench.watch.jobs.get(name) for name in names]
    curves = [(job.id, bench.watch.curves(job.id)[1]) for job in jobs]
    said = notice("Choose a second run to compare with.") if len(jobs) == 1 else ""
    return said, plot_data(curves, ""), _table(jobs)


def seed_table(jobs: Sequence[Job]) -> Html:
    """Returns the groups of seeds with mean and spread of the dev scores of what they saved."""
    groups, by_id = seed_groups(jobs), {job.id: job for job in jobs}
    heading = tag("div", tag("h2", "Several seeds"), cls="part")
    if not groups:
        return join(heading, tag("p", train_text.NO_SEEDS, cls="small"))
    rows = [_seed_row(group, by_id) for group in groups]
    return join(heading, data_table(_SEED_COLUMNS, rows, "Runs with several seeds"))


def _seed_row(group: SeedGroup, jobs: Mapping[str, Job]) -> list[str]:
    waiting = len(group.ids) - group.finished
    return [
        ", ".join(group.ids),
        ", ".join(map(str, group.seeds)),
        ", ".join(train_views.spearman(train_views.saved_score(jobs[id])) for id in group.ids),
        words.score(group.mean),
        words.score(group.spread),
        f"{group.finished}" + (f" (and {waiting} not finished)" if waiting else ""),
    ]


def _table(jobs: Sequence[Job]) -> Html:
    differing = [name for name in _SETTINGS if len({str(job.config.get(name)) for job in jobs}) > 1]
    rows = []
    for job in jobs:
        span = job.took(job.ended or job.started or 0.0)
        differs = "; ".join(f"{name.replace('_', ' ')} {_short(job.config.get(name))}" for name in differing)
        rows.append(
            [
                job.id,
                train_views.chip(job.state),
                train_views.spearman(job.dev_spearman),
                words.DASH if job.steps is None else f"{job.step or 0:,} of {job.steps:,}",
                words.duration(span) if not job.alive else words.DASH,
                differs or "nothing of the main settings",
            ]
        )
    return data_table(_COLUMNS, rows, "The runs that are compared")


def _short(value: object) -> str:
    """A setting's value; of a path its last parts."""
    text = str(value)
    return "/".join(text.split("/")[-2:]) if text.startswith("/") else text
