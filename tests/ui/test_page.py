"""What every tab is given: opening late, and the address."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import gradio as gr

from explorer.encoders.registry import Registry
from explorer.ui.app import LARGEST_UPLOAD, launch_settings
from explorer.ui.page import Page, from_address, keep_choices, load_on_open, remember_in_address


def test_load_on_open_runs_the_handler_once_a_session(tmp_path: Path) -> None:
    calls = []

    def make() -> str:
        calls.append(1)
        return "made"

    with gr.Blocks() as blocks, gr.Tab("Late") as tab:
        text = gr.Textbox()
        load_on_open(Page(blocks, tab, Registry([tmp_path])), make, [text])
    (event,) = blocks.fns.values()
    assert event.api_visibility == "private"
    assert event.fn(False) == (True, "made")
    opened, left = event.fn(True)
    assert opened is True
    assert left == gr.skip()
    assert calls == [1]


def test_keep_choices_ticks_what_is_new_and_drops_what_is_gone(tmp_path: Path) -> None:
    names = ["one", "two"]
    with gr.Blocks() as blocks, gr.Tab("Late") as tab:
        page = Page(blocks, tab, Registry([tmp_path]))
        boxes, one = gr.CheckboxGroup(names, value=names), gr.Dropdown(names, value="one")
        for component in (boxes, one):
            keep_choices(page, component, lambda: list(names))
    several, single = (event.fn for event in blocks.fns.values())
    assert several(["one", "two"], ["one"]) == (gr.skip(), False, gr.skip())
    names[:] = ["two", "new"]
    known, changed, update = several(["one", "two"], ["one"])
    assert (known, changed, update.value) == (["two", "new"], True, ["new"])
    assert single(["one", "two"], "one")[2].value == "two"
    assert single(["one", "two"], "two")[2].value == "two"


def test_from_address_reads_one_name() -> None:
    request = SimpleNamespace(query_params={"s1": "a b", "s2": ""})
    assert from_address(request, "s1") == "a b"
    assert from_address(request, "s2") is None
    assert from_address(None, "s1") is None


def test_remember_in_address_names_its_parameters() -> None:
    assert "['s1', 's2']" in remember_in_address(("s1", "s2"))


def test_the_page_takes_no_large_uploads() -> None:
    assert launch_settings()["max_file_size"] == LARGEST_UPLOAD
