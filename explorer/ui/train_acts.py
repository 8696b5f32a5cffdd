"""What the buttons of a run do, and the look at what is new. Each asks first whether this page may train."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.utils import get_upload_folder

from explorer.errors import TrainingError
from explorer.jobs.job import Job
from explorer.operations.jobs import export_zip, rename
from explorer.operations.training_request import drop_tables
from explorer.ui import train_form
from explorer.ui.cards import message, notice
from explorer.ui.errors import for_person
from explorer.ui.html import tag
from explorer.ui.train_allowed import training_allowed, where_allowed
from explorer.ui.train_live import Bench, Live

FOLLOW = "(file) => { if (file) setTimeout(() => document.querySelector('#train-zip-file').click(), 50); }"
_ACTS = ("choose", "stop", "resume", "rename", "delete")


@where_allowed
def news(bench: Bench, seen: dict[str, str]) -> Live:
    """Returns the parts of the tab that are not what the page has.

    Args:
        bench: Whose runs.
        seen: What train_bridge.told returns.

    Raises:
        TrainingError: There may be no training here.
    """
    return bench.watch.look(bench.watch.choose(seen["job"] or None), seen)


@for_person(lambda text, *_: Live(history=tag("div", message(text), data_stamp="error")))
def look(bench: Bench, seen: dict[str, str]) -> Live:
    """Returns the same for an event of the page, with a sentence in place of the list if that cannot be had."""
    return news(bench, seen)


def _refused(text: str, bench: Bench, asked: dict[str, str]) -> tuple[Any, ...]:
    """What an act that failed shows: why, which lets the script switch the button on again, and what is new by now."""
    said = tag("div", message(text), data_at=time.time_ns())  # the same words twice are news too
    if training_allowed(bench.page) is not None:
        return said, *Live()
    bench.watch.forget()
    return said, *bench.watch.look(bench.watch.choose(asked["job"]), asked)


@for_person(_refused)
@where_allowed
def act(bench: Bench, asked: dict[str, str]) -> tuple[Any, ...]:
    """Does what a button of a run says; returns (what was done, the live parts)."""
    what, id, jobs = asked["what"], asked["job"], bench.watch.jobs
    if what not in _ACTS:
        raise TrainingError(f"{what[:40]!r} is nothing that can be done to a run.")
    said: Any = gr.skip()
    if what == "stop":
        said = notice(_stopped(jobs.stop(id)))
    elif what == "resume":
        said = notice(_resumed(jobs.resume(id)))
    elif what == "rename":
        new = rename(jobs, id, asked["text"].strip()).id
        said, id = notice(f"{id} is called {new} now, as a run and as an encoder."), new
    elif what == "delete":
        jobs.delete(id)
        drop_tables(jobs)
        said = notice(f"{id} is deleted.")
    bench.watch.forget()
    return said, *bench.watch.look(bench.watch.choose(id))


@for_person(lambda text, *_: (message(text), *(gr.skip() for _ in range(2 + len(train_form.FIELDS)))))
@where_allowed
def clone(bench: Bench, asked: dict[str, str]) -> tuple[Any, ...]:
    """Puts a run's settings into the form and opens it; returns (status, inner tabs, preset chooser, fields)."""
    job = bench.watch.jobs.get(asked["job"])
    values = train_form.filled_from_config(job.config, train_form.usable(bench.page))
    sources = gr.Radio(train_form.source_choices(bench.page, again=True), value=train_form.Source.SAME.value)
    said = notice(f"The settings of {job.id} are in the form below; change what you like, and start.")
    fields = train_form.updates({**values, "source": sources})
    return said, gr.Tabs(selected="own"), train_form.OWN, *fields


@for_person(lambda text, *_: (message(text), gr.skip()))
@where_allowed
def export(bench: Bench, asked: dict[str, str]) -> tuple[Any, Any]:
    """Writes a finished run's encoder as a zip file; returns (status, the file)."""
    folder = Path(get_upload_folder()) / "exported"
    folder.mkdir(parents=True, exist_ok=True)
    path = export_zip(bench.watch.jobs, asked["job"], folder)
    config = bench.watch.jobs.get(asked["job"]).config
    own_code = config.get("pooling") == "cnn" and config.get("objective") != "cross-encoder"
    how = ", with trust_remote_code=True for the CNN's code in it" if own_code else ""
    return notice(f"{path.name} holds a folder that sentence-transformers loads{how}."), str(path)


def _stopped(job: Job) -> str:
    where = f"; its last checkpoint is of step {job.checkpoint:,}" if job.checkpoint is not None else ""
    return f"{job.id} is {job.state}{where}."


def _resumed(job: Job) -> str:
    return f"{job.id} goes on from its last checkpoint." if job.checkpoint is not None else f"{job.id} starts again."
