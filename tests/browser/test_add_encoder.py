"""An encoder of the hub is added on the page, in a real browser, from a hub on loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from conftest import ROOT
from loopback_hub import LoopbackHub

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PATIENCE = 120_000


@pytest.fixture
def address(hub: LoopbackHub) -> Iterator[str]:
    """The app started with --hub, whose hub is the one on loopback."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {key: value for key, value in hub.environment().items() if key != "HF_HUB_OFFLINE"}
    process = subprocess.Popen([sys.executable, "app.py", "--hub", "--port", str(port)], cwd=ROOT, env=environment)
    try:
        wait_for(f"http://127.0.0.1:{port}")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=30)


def wait_for(address: str, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(address, timeout=10):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.3)
    pytest.fail(f"{address} did not answer")


def test_an_encoder_of_the_hub_joins_the_table_and_scores(
    address: str, hub: LoopbackHub, hub_backbone: str, browser: Browser
) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    page.get_by_role("button", name="Add an encoder from the hub").click()
    assert not hub.requests, "nothing is asked before a person names an encoder"
    page.locator("#hub-id textarea, #hub-id input").first.fill("nobody/nothing")
    page.locator("#hub-add").click()
    page.locator("#hub-status .wrong").filter(has_text="There is no model nobody/nothing").wait_for()
    page.locator("#hub-id textarea, #hub-id input").first.fill(hub_backbone)
    page.locator("#hub-add").click()
    page.locator("#hub-status").filter(has_text="tiny-lab--plain_albert is here").wait_for()
    assert page.locator("#table th", has_text="tiny-lab--plain_albert").count() == 1
    if folder := os.environ.get("EXPLORER_SCREENSHOTS"):
        for width in (1280, 390):
            for scheme in ("light", "dark"):
                page.set_viewport_size({"width": width, "height": 1000})
                page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
                page.locator("#add-encoder").scroll_into_view_if_needed()
                page.screenshot(path=Path(folder) / f"add-encoder-{scheme}-{width}.png")
    page.reload()
    page.get_by_role("button", name="Choose encoders").click()
    page.get_by_label("tiny-lab--plain_albert").wait_for()
    page.locator("#results").filter(has_text="tiny-lab--plain_albert").wait_for()
    page.close()
