"""The runs as markup: the list, one run with its numbers and buttons, its log and papers. Values in, markup out.

A button says in data-train what it asks for and in data-job of which run; the script in train_bridge.py passes it on.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from explorer.jobs.commands import command_arguments
from explorer.jobs.events import RESUMABLE, State
from explorer.jobs.job import Job
from explorer.operations.preflight import Level, Preflight
from explorer.training.config import TrainConfig
from explorer.ui import train_text, words
from explorer.ui.data_table import Column, data_table
from explorer.ui.html import Html, join, tag

_COLUMNS = (
    Column("Run"),
    Column("State"),
    Column("Objective"),
    Column("Started", "UTC"),
    Column("Took"),
    Column("Dev score", "Spearman × 100", number=True),
    Column("Device"),
)
_LEVELS = {Level.OK: "OK", Level.WARNING: "Warning", Level.ERROR: "Error"}
_POOLINGS = {"cls": "[CLS]", "mean": "average", "cnn": "CNN"}


def history(jobs: Sequence[Job], chosen: str | None, every: int) -> Html:
    """Returns the list of runs, the newest first, the chosen one marked.

    Args:
        jobs: The runs.
        chosen: The one that is shown.
        every: After how many milliseconds the page should look again while a run is alive.
    """
    if not jobs:
        return tag("p", train_text.NO_RUNS, cls="nothing")
    table = data_table(_COLUMNS, [_row(job, chosen) for job in jobs], "All runs, the newest first")
    return tag("div", table, data_busy=every if any(job.alive for job in jobs) else None)


def chip(state: State) -> Html:
    """Returns a state as a word in a frame; the colour only repeats it."""
    return tag("span", train_text.STATES[state][0], cls=f"chip {state.value}")


def job_view(job: Job) -> Html:
    """Returns a run's head: state, what it is doing, buttons, numbers."""
    title = tag("div", tag("h2", job.id), chip(job.state), cls="title")
    return tag(
        "section",
        title,
        tag("p", _now(job), cls="now"),
        _bar(job),
        *(tag("p", text, cls="warned") for text in job.warnings[-3:]),
        _buttons(job),
        _numbers(job),
        cls="job",
        data_job=job.id,
    )


def papers(job: Job, log: str, command: str, card: str) -> Html:
    """Returns what a run leaves on paper: the log's end, the command, the settings, the model card."""
    settings = json.dumps(dict(job.config), indent=2, ensure_ascii=False)
    return join(
        _paper("log", "Log, its last lines", tag("pre", log or "Nothing is printed yet.", cls="log", tabindex="0")),
        _paper(
            "command",
            "The exact command, and its settings",
            tag("p", "Runs the same again from a terminal, in the explorer's folder.", cls="small"),
            copyable(command),
            tag("pre", settings, cls="code", tabindex="0"),
        ),
        _paper("card", "Model card", tag("pre", card, cls="code", tabindex="0")) if card else None,
    )


def checks(found: Preflight) -> Html:
    """Returns what a check found, a line each, its weight in words."""
    lines = [
        tag("li", tag("span", _LEVELS[check.level], cls="mark"), tag("span", check.sentence), cls=check.level.value)
        for check in found.checks
    ]
    return tag("ul", *lines, cls="checks")


def command_of(config: TrainConfig, test: str = "", seeds: int = 1) -> Html:
    """Returns the command of runs that are not started yet, with the table they score at the end."""
    words_of = command_arguments(asdict(config) | {"test": test})
    if seeds > 1:
        words_of += ["--seeds", ",".join(str(config.seed + number) for number in range(seeds))]
    return tag("div", tag("p", "The same from a terminal:", cls="small"), copyable(shlex.join(words_of)), cls="part")


def copyable(text: str) -> Html:
    """Returns a line of code with a button that copies it."""
    button = tag("button", "Copy", type="button", cls="copy", data_train="copy", aria_label="Copy the command")
    return tag("div", tag("code", text, tabindex="0"), button, cls="copyable")


def moment(seconds: float | None) -> str:
    """Returns a time in seconds UTC as day and minute, or a dash."""
    return words.DASH if seconds is None else time.strftime("%d %b %H:%M", time.gmtime(seconds))


def spearman(value: float | None) -> str:
    """Returns a Spearman in [-1, 1] times 100, or a dash."""
    return words.score(None if value is None else 100 * value)


def saved_score(job: Job) -> float | None:
    """Returns the dev Spearman of a finished run's encoder, measured as it was saved; None if there is none yet."""
    value = job.scores.get("dev_spearman")
    return value if isinstance(value, int | float) else None


def objective(config: Any) -> str:
    """Returns objective and sentence layer in a few words."""
    named = {item.value: title for item, (title, _) in train_text.OBJECTIVES.items()}
    title = named.get(str(config.get("objective", "sts")), str(config.get("objective", "")))
    layer = _POOLINGS.get(str(config.get("pooling", "")), "")
    return title if config.get("objective") == "cross-encoder" or not layer else f"{title}, {layer}"


def _row(job: Job, chosen: str | None) -> list[str]:
    name = tag(
        "button",
        job.id,
        type="button",
        cls="pick" + (" chosen" if job.id == chosen else ""),
        data_train="choose",
        data_job=job.id,
        aria_pressed="true" if job.id == chosen else "false",
    )
    progress = tag("small", f"{job.step:,} of {job.steps:,}") if job.alive and job.step and job.steps else None
    # Whole tens of seconds: while a run goes on, the list need not be new at every look.
    span = job.took(time.time() // 10 * 10)
    return [
        name,
        tag("span", chip(job.state), progress, cls="stacked"),
        objective(job.config),
        moment(job.started or job.created),
        words.duration(None if span is None else max(0, span)),
        spearman(job.dev_spearman),
        job.device or words.DASH,
    ]


def _now(job: Job) -> str:
    """One sentence on where the run is."""
    if job.reason:
        # A loss or an encoder that is lost, as the detectors say, is lost again after a resume.
        useless = "lower learning rate" in job.reason
        end = train_text.SAME_AGAIN if useless else train_text.GOES_ON if job.checkpoint else ""
        return f"{job.reason} {end}".strip() if job.state in RESUMABLE else job.reason
    if job.state is State.STOPPED:
        return train_text.GOES_ON if job.checkpoint else train_text.BEGINS_ANEW
    if job.state is State.RUNNING and job.steps:
        stage = f"Stage {job.stage}, step" if job.stage else "Step"
        left = f", about {words.duration(job.eta_seconds)} left" if job.eta_seconds is not None else ""
        return f"{stage} {job.step or 0:,} of {job.steps:,}{left}."
    if job.state is State.STARTING and job.fetched is not None and job.fetched[0] < job.fetched[1]:
        return f"It downloads what it starts from: {job.fetched[0]:,.1f} of {job.fetched[1]:,.1f} MB."
    if job.state is State.FINISHED and not job.has_encoder:
        return "It has finished, but its encoder is no longer in its folder."
    if job.state is State.FINISHED and job.config.get("objective") == "cross-encoder":
        return "Its cross-encoder is in the tab Evaluate; it makes no sentence vectors, so the other tabs leave it out."
    return train_text.STATES[job.state][1]


def _bar(job: Job) -> Html | None:
    if not job.alive:
        return None
    label = f"{job.step or 0} of {job.steps or 0} steps"
    return tag("progress", value=job.step or 0, max=job.steps or 1, aria_label=label)


def _buttons(job: Job) -> Html:
    alive, finished = job.alive, job.state is State.FINISHED
    return tag(
        "div",
        _act("stop", "Stop", job) if alive and job.state is not State.STOPPING else None,
        _act("resume", "Resume", job) if job.state in RESUMABLE else None,
        _act("clone", "Run again", job, title="Puts its settings into the form, to start another")
        if job.config
        else None,
        _act("export", "Export zip", job) if finished and job.has_encoder else None,
        _asked("rename", "Rename", job, _rename(job)) if not alive else None,
        _asked("delete", "Delete", job, _delete(job)) if not alive else None,
        cls="acts",
    )


def _act(what: str, text: str, job: Job, *, title: str | None = None, cls: str = "") -> Html:
    return tag("button", text, type="button", cls=f"do {cls}".strip(), title=title, data_train=what, data_job=job.id)


def _asked(what: str, text: str, job: Job, inner: Html) -> Html:
    summary = tag("summary", f"{text}…", cls="do", role="button")
    return tag("details", summary, tag("div", inner, cls="asked"), cls="ask", data_keep=f"{what}-{job.id}")


def _rename(job: Job) -> Html:
    field = tag(
        "input", type="text", value=job.id, maxlength=60, data_text=True, aria_label="New name", autocomplete="off"
    )
    return join(field, _act("rename", "Rename it", job), tag("p", "Small letters, digits and hyphens.", cls="small"))


def _delete(job: Job) -> Html:
    also = " and its encoder, which leaves every tab" if job.has_encoder else ", its log and its checkpoints"
    return join(
        tag("p", f"Delete {job.id}{also}? This cannot be undone."), _act("delete", "Delete it", job, cls="danger")
    )


def _numbers(job: Job) -> Html:
    saved = saved_score(job)
    memory = None if job.memory_mb is None else f"{job.memory_mb:,.0f} MB"
    span = job.took(time.time() // 10 * 10)
    rows = [
        ("Best dev Spearman × 100" if saved is None else "Dev Spearman × 100, as saved", spearman(job.dev_spearman)),
        (
            "Loss of the newest step" if job.alive else "Loss of the last step",
            None if job.loss is None else f"{job.loss:.4f}",
        ),
        _speed(job),
        ("Memory of the run", memory),
        ("Took" if not job.alive else "So far", words.duration(None if span is None else max(0, span))),
        ("Last checkpoint", None if job.checkpoint is None else f"step {job.checkpoint:,}"),
        ("Device", job.device or words.DASH),
        ("Seed", str(job.config.get("seed", words.DASH))),
    ]
    cells = [tag("div", tag("dt", name), tag("dd", value)) for name, value in rows if value is not None]
    return tag("dl", *cells, cls="numbers")


def _speed(job: Job) -> tuple[str, str | None]:
    """The speed of the newest steps, or, once it has ended, the mean of all: the last steps say little of a run."""
    name, value = "Sentences a second", job.sentences_per_second
    if not job.alive:
        stage = f" in stage {job.stage}" if job.config.get("objective") == "nli-sts" else ""
        name, value = f"{name}, on average{stage}", job.mean_sentences_per_second
    return name, None if value is None else f"{value:,.0f}"


def _paper(key: str, title: str, *inner: Html) -> Html:
    return tag("details", tag("summary", title), *inner, cls="paper-of", data_keep=key)
