"""Below the table of encoders: one of the Hugging Face hub is added by its id, with progress. Not in public mode."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import gradio as gr

from explorer.encoders.hub import fetch_model
from explorer.errors import SettingError
from explorer.hub import Progress
from explorer.paths import hub_allowed
from explorer.ui import words
from explorer.ui.background import Background
from explorer.ui.cards import message, notice, working
from explorer.ui.encoder_table import encoder_table
from explorer.ui.errors import for_person
from explorer.ui.html import Html, tag
from explorer.ui.page import BARE, PRIVATE, Page

_HOW = (
    "An encoder of the Hugging Face hub is named by its id, as in sentence-transformers/all-MiniLM-L6-v2; a plain BERT or ALBERT "
    "gets average pooling. "
    "Only weights (safetensors), settings and the tokenizer are downloaded, never code."
)
_OFF = "This page downloads nothing, unless it was started with: python app.py --hub"


def build(page: Page, table: gr.HTML, chosen: gr.CheckboxGroup) -> None:
    """Places the section and wires it; places nothing where visitors may not add encoders.

    Args:
        page: Its surroundings.
        table: The table of encoders, which a new one joins.
        chosen: The encoders to score with, likewise.
    """
    if page.demo or page.shared:
        return
    with gr.Accordion("Add an encoder from the hub", open=False, elem_classes="quiet", elem_id="add-encoder"):
        gr.HTML(tag("p", _HOW if hub_allowed() else _OFF, cls="small"), **BARE)
        if not hub_allowed():
            return
        with gr.Row(elem_classes="act"):
            name = gr.Textbox(label="Id on the hub", placeholder="owner/name", max_lines=1, elem_id="hub-id")
            button = gr.Button("Add", scale=0, min_width=110, elem_id="hub-add", elem_classes="go")
            stop = gr.Button("Stop", size="sm", elem_classes="pill", scale=0, min_width=80)
        status = gr.HTML(elem_id="hub-status", elem_classes="status", **BARE)
    outputs = [status, table, chosen]
    add = {"fn": partial(add_for_page, page), "inputs": [name, chosen], "outputs": outputs, **PRIVATE}
    running: Any = [listen(**add, concurrency_id="hub", concurrency_limit=1) for listen in (button.click, name.submit)]
    stop.click(
        lambda: notice("Stopped; files that came whole are kept."),
        None,
        status,
        cancels=running,
        queue=False,
        **PRIVATE,
    )


@for_person(lambda text, *_: (message(text), gr.skip(), gr.skip()))
def add_for_page(page: Page, name: str | None, chosen: list[str]) -> Iterator[tuple[Any, Any, Any]]:
    """Downloads an encoder, saying meanwhile how far it is; yields (status, table, encoders to score with).

    Args:
        page: Where it is to appear.
        name: Its id on the hub.
        chosen: The encoders chosen now.
    """
    if page.demo or page.shared:
        raise SettingError(
            "In public mode visitors add no encoders; start the explorer on your own machine to add one."
        )
    yield working("Asking the hub."), gr.skip(), gr.skip()
    seen = [(0, 0)]
    with Background(partial(_fetch, name, seen), "bytes") as work:
        while not work.wait(0.5):
            yield _status(*seen[-1]), gr.skip(), gr.skip()
        folder = work.result()
    infos, problems = page.registry.encoders(), page.registry.scan()[1]
    info = page.registry.info(folder.name)
    text = f"{info.name} is here: {info.backbone}. Reload the page to find it in the other tabs."
    boxes = gr.CheckboxGroup([one.name for one in infos], value=[*chosen, info.name])
    yield notice(text), encoder_table(infos, problems), boxes


def _fetch(name: str | None, seen: list[tuple[int, int]], progress: Progress) -> Any:
    def report(done: int, total: int) -> None:
        progress(done, total)
        seen[0] = done, total

    return fetch_model(name or "", progress=report)


def _status(done: int, total: int) -> Html:
    if not total:
        return working("Asking the hub.")
    return working(f"Downloaded {words.mebibytes(done)} of {words.mebibytes(total)} MiB.", done, total)
