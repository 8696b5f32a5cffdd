"""The maps to take away: coordinates as CSV, everything as JSON, the linked maps as one HTML file."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import gradio as gr

from explorer.figures.map import document
from explorer.ui.downloads import write_file
from explorer.ui.errors import for_person, toast
from explorer.ui.evaluate_text import heading
from explorer.ui.map_desk import MapDesk
from explorer.ui.map_text import DOWNLOADS
from explorer.ui.page import BARE, ON_MODEL, PRIVATE

# The button that really downloads cannot be pressed by a person: it has its file only once it is made.
_FOLLOW = "(file) => {{ if (file) setTimeout(() => document.querySelector('#{id}').click(), 50); }}"


def build(desk: MapDesk, key: gr.Textbox) -> None:
    """Places the buttons."""
    gr.HTML(heading("Take it away", DOWNLOADS), **BARE)
    with gr.Row(elem_classes="pills", elem_id="map-downloads"):
        for name, title, make in (
            ("csv", "Coordinates as CSV", csv_file),
            ("json", "Everything as JSON", json_file),
            ("html", "The maps as one HTML file", html_file),
        ):
            _button(desk, key, f"map-{name}", title, make)


def _button(desk: MapDesk, key: gr.Textbox, identifier: str, title: str, make: Callable[[MapDesk, str], str]) -> None:
    button = gr.Button(title, size="sm", elem_classes="pill", elem_id=identifier, scale=0, min_width=150)
    file = gr.DownloadButton(visible="hidden", elem_id=f"{identifier}-file")
    pressed = button.click(partial(_make, make, desk), key, file, **ON_MODEL, **PRIVATE)
    pressed.success(None, file, None, js=_FOLLOW.format(id=f"{identifier}-file"), **PRIVATE)


@for_person(toast(1))
def _make(make: Callable[[MapDesk, str], str], desk: MapDesk, key: str) -> Any:
    return make(desk, key)


def csv_file(desk: MapDesk, key: str) -> str:
    """Returns the path of a table with a row for every encoder and sentence."""
    from explorer.operations.map_report import point_rows
    from explorer.operations.reports import write_csv

    return str(write_file(write_csv(point_rows(desk.find(key))).encode("utf-8"), "maps.csv"))


def json_file(desk: MapDesk, key: str) -> str:
    """Returns the path of everything as json, an object an encoder."""
    from explorer.operations.map_report import map_objects

    made = json.dumps(map_objects(desk.find(key)), indent=1, ensure_ascii=False, allow_nan=False)
    return str(write_file(made.encode("utf-8"), "maps.json"))


def html_file(desk: MapDesk, key: str) -> str:
    """Returns the path of the linked maps as a file that opens without a network."""
    made = document(desk.payload(desk.find(key), vectors=True), made_now())
    return str(write_file(made.encode("utf-8"), "maps.html"))


def made_now(now: datetime | None = None) -> str:
    """Returns when and by what the file was made; `now` in UTC, None for this moment."""
    return f"Made by the Sentence Encoder Explorer, {(now or datetime.now(UTC)).strftime('%Y-%m-%d %H:%M UTC')}."
