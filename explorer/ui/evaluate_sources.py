"""The part of the tab Evaluate that brings in more: an encoder of a folder or of the hub, STSb of the hub. Wires only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import gradio as gr

from explorer.errors import SettingError
from explorer.operations.evaluation_run import EvaluationRun
from explorer.paths import hub_allowed
from explorer.ui import evaluate_text
from explorer.ui.background import Background
from explorer.ui.cards import message, notice
from explorer.ui.errors import for_person
from explorer.ui.html import Html
from explorer.ui.page import BARE, PRIVATE

Boxes = Callable[[EvaluationRun], list[tuple[str, str]]]


def build(run: EvaluationRun, encoders: gr.CheckboxGroup, boxes: Boxes) -> None:
    """Places the controls below the list of encoders; none in public mode, where visitors bring in nothing.

    Args:
        run: The server's evaluation.
        encoders: The list, which a new encoder joins, ticked.
        boxes: Returns what is in the list.
    """
    if run.public:
        return
    one_queue: dict[str, Any] = {"concurrency_id": "sources", "concurrency_limit": 1, **PRIVATE}
    with gr.Accordion("More encoders and data", open=False, elem_classes="quiet", elem_id="evaluate-more"):
        gr.HTML(evaluate_text.sources(hub_allowed()), **BARE)
        with gr.Row(elem_classes="act"):
            asked = gr.Textbox(
                label="Folder on this machine, or hub id" if hub_allowed() else "Folder on this machine",
                placeholder="sentence-transformers/all-MiniLM-L6-v2" if hub_allowed() else "/home/me/my-encoder",
                max_lines=1,
                elem_id="evaluate-asked",
            )
            add = gr.Button("Add encoder", scale=0, min_width=140, elem_classes="go")
        status = gr.HTML(elem_id="evaluate-source-status", elem_classes="status", **BARE)
        for listen in (add.click, asked.submit):
            listen(partial(add_for_page, run, boxes), [asked, encoders], [status, encoders], **one_queue)
        if run.data is None and hub_allowed():
            fetch = gr.Button("Fetch STSb from the Hugging Face hub", size="sm", elem_classes="pill", scale=0)
            fetch.click(partial(fetch_for_page, run), None, status, **one_queue)


@for_person(lambda text, *_: (message(text), gr.skip()))
def add_for_page(run: EvaluationRun, boxes: Boxes, asked: str, ticked: list[str]) -> Iterator[tuple[Any, Any]]:
    """Adds an encoder to the list, saying meanwhile how far its download is.

    Args:
        run: The server's evaluation.
        boxes: Returns what is in the list.
        asked: A folder or a hub id.
        ticked: The encoders chosen now.
    """
    from explorer.operations.evaluation_sources import add_encoder

    refuse_in_public(run)
    with Background(partial(add_encoder, run.registry, asked), "bytes") as work:
        while not work.wait(0.5):
            yield work.status(), gr.skip()
        info = work.result()
    choices = boxes(run)
    yield (
        notice(f"{info.name} is in the list: {info.backbone}."),
        gr.CheckboxGroup(choices, value=list(dict.fromkeys([*ticked, info.name]))),
    )


@for_person(lambda text, *_: message(text))
def fetch_for_page(run: EvaluationRun) -> Iterator[Html]:
    """Fetches STSb, which the evaluation then takes its pairs from."""
    from explorer.operations.evaluation_sources import stsb_from_hub

    refuse_in_public(run)
    with Background(stsb_from_hub, "bytes") as work:
        while not work.wait(0.5):
            yield work.status()
        run.data = work.result()
    yield notice("STSb is here; choose it above and press Evaluate. The other tasks need a folder of data.")


def refuse_in_public(run: EvaluationRun) -> None:
    """Keeps visitors from downloading things to someone else's machine, or naming its folders.

    Raises:
        SettingError: In public mode.
    """
    if run.public:
        raise SettingError("In public mode visitors bring in no encoders and no data.")
