"""What starts a run, or looks before it starts: the classroom card, the form with its presets, the check."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import gradio as gr

from explorer.errors import SettingError, TrainingError
from explorer.operations.training_request import (
    Progress,
    Request,
    Source,
    config_of,
    free_name,
    start_runs,
    table_at_end,
)
from explorer.training.config import TrainConfig
from explorer.training.presets import CLASSROOM, preset
from explorer.ui import train_form, train_text, train_views
from explorer.ui.background import Background
from explorer.ui.cards import message, notice, working
from explorer.ui.errors import for_person, toast
from explorer.ui.html import join, tag
from explorer.ui.train_allowed import where_allowed
from explorer.ui.train_live import Bench, Live

_NEWS_SECONDS = 1.0
_NOTHING = tuple(gr.skip() for _ in Live._fields)


def begin(bench: Bench, request: Request, progress: Progress | None = None) -> list[str]:
    """Checks a request and starts its runs; returns their ids.

    Args:
        bench: Where.
        request: What.
        progress: Called with bytes done and in all while tables come from the hub.

    Raises:
        SettingError, DataError, TrainingError, EncoderError: In one sentence, what is wrong.
    """
    from explorer.operations.preflight import validate

    data = bench.page.data
    config = config_of(request, train_form.usable(bench.page), data, progress)
    validate(config, test=table_at_end(request, data))
    try:
        return start_runs(bench.watch.jobs, config, request, data)
    finally:
        bench.watch.forget()


def begin_next(bench: Bench, request: Request, stem: str) -> list[str]:
    """Begins one run under the next free name, whoever else takes one at the same moment; returns its id in a list.

    Args:
        bench: Where.
        request: What; its name is not used.
        stem: The name without its number.

    Raises:
        SettingError, DataError, TrainingError, EncoderError: See `begin`.
    """
    while True:
        name = free_name(bench.watch.jobs, stem)
        try:
            return begin(bench, replace(request, name=name))
        except TrainingError:
            if free_name(bench.watch.jobs, stem) == name:  # it was not for the name
                raise


@for_person(lambda text, *_: (message(text), gr.skip(), *_NOTHING))
@where_allowed
def classroom(bench: Bench) -> tuple[Any, ...]:
    """Starts the classroom preset; returns (status, inner tabs, live parts)."""
    return _started(bench, begin_next(bench, classroom_request(bench), CLASSROOM))


def classroom_request(bench: Bench) -> Request:
    """Returns what the classroom preset asks for, under no name yet.

    Raises:
        SettingError: There is no encoder to start from.
    """
    values = train_form.filled_from_preset(CLASSROOM, train_form.usable(bench.page), False)
    if "backbone" not in values:
        raise SettingError("No encoder is here to start from; put one into checkpoints/.")
    return train_form.request_of([values.get(name) for name in train_form.FIELDS])


@for_person(lambda text, *_: (message(text), gr.skip(), gr.skip(), *_NOTHING))
@where_allowed
def start(bench: Bench, *values: Any) -> Iterator[tuple[Any, ...]]:
    """Starts what the form asks for; yields (its own status, status, inner tabs, live parts), first what is being done."""
    request = train_form.request_of(values)
    with Background(lambda progress: begin(bench, request, progress), "bytes of the hub's tables") as work:
        while not work.wait(_NEWS_SECONDS):
            said = work.status() if request.source == Source.HUB else working("Reading the tables.")
            yield said, gr.skip(), gr.skip(), *_NOTHING
        ids = work.result()
    yield notice(train_text.NOT_CHECKED), *_started(bench, ids)


@for_person(lambda text, *_: (message(text), ""))
@where_allowed
def check(bench: Bench, *values: Any) -> Iterator[tuple[Any, Any]]:
    """Yields (status, the checks), first what is being done."""
    from explorer.operations.preflight import Preflight, preflight

    request, began = train_form.request_of(values), time.monotonic()
    test = table_at_end(request, bench.page.data)

    def look(progress: Progress) -> tuple[Preflight, TrainConfig]:
        config = config_of(request, train_form.usable(bench.page), bench.page.data, progress)
        return preflight(config, runs=bench.watch.jobs.runs_folder, test=test, progress=progress), config

    with Background(look, "checks") as work:
        while not work.wait(_NEWS_SECONDS):
            seconds = f"{time.monotonic() - began:.0f} s so far"
            yield working(f"Reading the tables, then trying a few steps on the longest batch: {seconds}."), gr.skip()
        found, config = work.result()
    said = notice("Ready to start.") if found.ready else message("This run would fail; see the line marked Error.")
    # An upload lies where no terminal finds it for long, until its run starts.
    command = None if request.source == Source.UPLOAD else train_views.command_of(config, test, request.seeds)
    yield said, join(train_views.checks(found), command)


@for_person(toast(1 + len(train_form.FIELDS)))
@where_allowed
def take_preset(bench: Bench, name: str) -> tuple[Any, ...]:
    """Returns the sentence on a preset, and the fields as it sets them."""
    item = preset(name)
    infos = train_form.usable(bench.page)
    values = train_form.filled_from_preset(name, infos, bench.page.data is not None)
    said = [item.sentence if item else "", *train_form.stand_ins(name, values).values()]
    words = tag("p", " ".join(said), cls="small explains")
    return words, *train_form.updates(values)


@for_person(toast(len(train_form.FIELDS)))
@where_allowed
def take_suggestion(bench: Bench, backbone: str, objective: str) -> tuple[Any, ...]:
    """Returns the fields with the settings that suit a backbone and an objective."""
    return tuple(train_form.updates(train_form.suggestions(backbone, objective, train_form.usable(bench.page))))


@for_person(toast(1))
@where_allowed
def backbones_now(bench: Bench) -> Any:
    """Returns the backbones there are now, the chosen one left as it is."""
    return gr.Dropdown(choices=train_form.backbones(train_form.usable(bench.page)))


def _started(bench: Bench, ids: list[str]) -> tuple[Any, ...]:
    text = f"{ids[0]} is started." if len(ids) == 1 else f"{len(ids)} runs are started, one after the other."
    said = notice(f"{text} It goes on if you close this page.")
    return said, gr.Tabs(selected="runs"), *bench.watch.look(ids[0])
