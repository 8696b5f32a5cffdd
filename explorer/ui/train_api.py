"""The public endpoints of training: start, list, show, stop. Plain values; refused wherever the page refuses."""

from __future__ import annotations

from typing import Any

import gradio as gr

from explorer.errors import SettingError, TrainingError
from explorer.jobs.job import Job
from explorer.operations.training_request import Request, Source
from explorer.training.presets import CLASSROOM, preset, presets
from explorer.ui import train_form
from explorer.ui.errors import for_person, refuse
from explorer.ui.train_allowed import where_allowed
from explorer.ui.train_live import Bench
from explorer.ui.train_start import begin, begin_next

_SOURCES = (Source.SAMPLE, Source.DATA, Source.HUB)


def build(bench: Bench) -> None:
    """Adds the endpoints to the page."""

    def train(
        preset: str | None = "classroom",
        backbone: str | None = None,
        pooling: str | None = None,
        objective: str | None = None,
        source: str | None = None,
        settings: dict[str, Any] | None = None,
        name: str | None = None,
        seeds: int = 1,
    ) -> list[str]:
        """Starts a training run, or several with different seeds, and returns their ids; they go on without the caller.

        A preset gives everything; what else is named replaces its part, and must be named where the preset's own is not
        here. backbone: an encoder's name, a folder or a hub id.
        pooling: cls, mean or cnn. source: sample, data or hub. settings: epochs, batch_size, learning_rate and the like.
        """
        return start_for_api(bench, preset, backbone, pooling, objective, source, settings, name, seeds)

    def training_runs() -> list[dict[str, Any]]:
        """Returns every training run, the newest first: id, state, reason, steps, best dev Spearman in [-1, 1], times UTC."""
        return list_for_api(bench)

    def training_run(id: str) -> dict[str, Any]:
        """Returns one training run: what training_runs says of it, its settings, its curves and the end of its log."""
        return show_for_api(bench, id)

    def stop_training(id: str) -> dict[str, Any]:
        """Stops a training run and returns it; it keeps its last checkpoint. Takes up to ten seconds."""
        return stop_for_api(bench, id)

    for endpoint in (train, training_runs, training_run, stop_training):
        gr.api(endpoint, api_name=endpoint.__name__)


@for_person(refuse)
@where_allowed
def start_for_api(
    bench: Bench,
    named: str | None,
    backbone: str | None,
    pooling: str | None,
    objective: str | None,
    source: str | None,
    settings: dict[str, Any] | None,
    name: str | None,
    seeds: int,
) -> list[str]:
    """Starts runs; returns their ids. See the endpoint for the arguments."""
    _check_texts(preset=named, backbone=backbone, pooling=pooling, objective=objective, source=source, name=name)
    if settings is not None and not isinstance(settings, dict):
        raise SettingError(f"settings is {str(settings)[:60]!r}; it must be an object of names and values.")
    infos = train_form.usable(bench.page)
    values = train_form.filled_from_preset(named, infos, bench.page.data is not None) if named else {}
    if named and preset(named) is None:
        raise SettingError(
            f"There is no preset {named[:60]!r}; there are {', '.join(item.name for item in presets())}."
        )
    if source is not None and source not in list(_SOURCES):
        raise SettingError(f"source is {source[:60]!r}; it must be one of {', '.join(_SOURCES)}.")
    given = {"backbone": backbone, "source": source}
    swapped = [words for what, words in train_form.stand_ins(named or "", values).items() if not given[what]]
    if swapped:
        raise SettingError(f"{' '.join(swapped)} Name backbone and source to start it all the same.")
    base = train_form.request_of([values.get(field) for field in train_form.FIELDS])
    request = Request(
        backbone=backbone or base.backbone,
        pooling=pooling or (base.pooling if named else "mean"),
        objective=objective or (base.objective if named else "sts"),
        source=source or (base.source if named else Source.SAMPLE.value),
        name=name or "",
        seeds=seeds,
        settings={**base.settings, **(settings or {})},
    )
    if named == CLASSROOM and seeds == 1 and not name:
        return begin_next(bench, request, CLASSROOM)
    return begin(bench, request)


def _check_texts(**given: Any) -> None:
    """Callers send any type; nothing is what was not given."""
    for name, value in given.items():
        if value is not None and not isinstance(value, str):
            raise SettingError(f"{name} is {str(value)[:60]!r}; it must be a text.")


@for_person(refuse)
@where_allowed
def list_for_api(bench: Bench) -> list[dict[str, Any]]:
    """Returns every run as plain values."""
    return [plain(job) for job in bench.watch.list()]


@for_person(refuse)
@where_allowed
def show_for_api(bench: Bench, id: str) -> dict[str, Any]:
    """Returns one run as plain values, with settings, curves and the log's end."""
    job = bench.watch.jobs.get(id)
    curves = bench.watch.curves(job.id)[1]
    lines = {"loss": curves.loss, "dev_spearman": curves.dev, "learning_rate": curves.learning_rate}
    drawn = {name: {"step": list(line.steps), "value": list(line.values)} for name, line in lines.items()}
    log, command = bench.watch.jobs.log_tail(job.id), bench.watch.jobs.command(job.id)
    return {**plain(job), "settings": dict(job.config), "curves": drawn, "command": command, "log": log}


@for_person(refuse)
@where_allowed
def stop_for_api(bench: Bench, id: str) -> dict[str, Any]:
    """Stops a run; returns it as it is then."""
    if not isinstance(id, str):
        raise TrainingError("The id of a run is a text; see training_runs.")
    job = bench.watch.jobs.stop(id)
    bench.watch.forget()
    return plain(job)


def plain(job: Job) -> dict[str, Any]:
    """Returns a run as plain values; its folder and its settings are left out."""
    return {
        "id": job.id,
        "state": job.state.value,
        "reason": job.reason,
        "device": job.device,
        "created": job.created,
        "started": job.started,
        "ended": job.ended,
        "step": job.step,
        "steps": job.steps,
        "stage": job.stage,
        "loss": job.loss,
        "best_dev_spearman": job.dev_spearman,
        "sentences_per_second": job.sentences_per_second,
        "memory_mb": job.memory_mb,
        "eta_seconds": job.eta_seconds,
        "checkpoint": job.checkpoint,
        "warnings": list(job.warnings),
        "scores": dict(job.scores),
        "has_encoder": job.has_encoder,
    }
