"""The tab Train in a real browser: a run outlives the page, the browser and the app; stop and resume; its encoder in Compare."""

from __future__ import annotations

import json
import os
import shutil
import signal
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

from explorer.jobs import locks
from tests.ui.train_helpers import add_steps, finished, living, write_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# Milliseconds until a wait counts as failed; a busy machine trains slowly.
PATIENCE = 300_000


class App:
    """`python app.py` on a port of its own, which can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.runs = folder / "runs"
        self._environment = {**os.environ, "EXPLORER_RUNS": str(self.runs), "EXPLORER_CACHE": str(folder / "cache")}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "app.py", "--port", str(self.port)]
        self._process = subprocess.Popen(command, cwd=ROOT, env=self._environment)
        end = time.monotonic() + 120
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(self.address, timeout=10):
                    return
            except (urllib.error.URLError, OSError):
                assert self._process.poll() is None, "the app ended before it answered"
                time.sleep(0.1)
        raise AssertionError("the app did not answer")

    def end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(timeout=30)
            self._process = None

    def events(self, run: str) -> list[dict]:
        return [json.loads(line) for line in (self.runs / run / "events.jsonl").read_text().splitlines()]

    def alive(self) -> list[int]:
        """The workers that still live or wait, by what their lock files name."""
        owners = [locks.read_owner(path) for path in self.runs.glob("*/lock") if locks.is_held(path)]
        return [owner.pid for owner in owners if owner is not None]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    made = App(tmp_path_factory.mktemp("train"))
    made.start()
    try:
        yield made
    finally:
        made.end(signal.SIGTERM)
        for pid in made.alive():
            os.killpg(pid, signal.SIGKILL)


def open_page(browser: Browser, address: str, **how: object) -> Page:
    page = browser.new_page(viewport={"width": 1280, "height": 900}, **how)
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    page.locator("#train-classroom").wait_for()
    return page


def steps_drawn(page: Page) -> int:
    """The last step of the loss curve on the page; 0 without one."""
    return page.evaluate(
        "() => { const t = document.querySelector('#train-plot .js-plotly-plot')?.data?.[0]; return t?.x?.at(-1) ?? 0 }"
    )


def wait_for_steps(page: Page, more_than: int) -> int:
    page.wait_for_function(
        "(n) => (document.querySelector('#train-plot .js-plotly-plot')?.data?.[0]?.x?.at(-1) ?? 0) > n", arg=more_than
    )
    return steps_drawn(page)


def chip_says(page: Page, state: str) -> None:
    page.locator("#train-job .title .chip", has_text=state).wait_for()


def test_a_run_outlives_page_browser_and_app_and_its_encoder_scores_a_pair(app: App, browser: Browser) -> None:
    page = open_page(browser, f"{app.address}/?tab=train")
    page.get_by_role("button", name="Start the one-minute classroom run").click()
    page.locator("#train-job section[data-job='classroom-1']").wait_for()
    drawn = wait_for_steps(page, wait_for_steps(page, 0))
    page.reload()
    chip_says(page, "Running")
    assert wait_for_steps(page, 0) >= drawn
    page.close()

    app.end(signal.SIGKILL)
    before = len(app.events("classroom-1"))
    app.start()
    page = open_page(browser, f"{app.address}/?tab=train")
    page.locator("#train-job section[data-job='classroom-1']").wait_for()
    assert wait_for_steps(page, drawn) > drawn
    assert len(app.events("classroom-1")) > before

    chip_says(page, "Finished")
    page.locator("#train-history .chip.finished").wait_for()
    page.get_by_role("tab", name="Compare", exact=True).click()
    page.locator(".card[data-encoder='classroom-1']:not(.empty) output").wait_for()
    page.close()


def test_a_run_is_stopped_resumed_renamed_and_deleted(app: App, browser: Browser) -> None:
    page = open_page(browser, f"{app.address}/?tab=train")
    page.locator("#train-classroom").click()
    page.locator("#train-job section[data-job='classroom-2']").wait_for()
    # A checkpoint to go on from.
    page.locator("#train-job dt", has_text="Last checkpoint").wait_for()
    page.get_by_role("button", name="Stop", exact=True).click()
    chip_says(page, "Stopped")
    assert app.alive() == []
    stopped_at = max(event["step"] for event in app.events("classroom-2") if event["kind"] == "step")
    page.get_by_role("button", name="Resume", exact=True).click()
    wait_for_steps(page, stopped_at)
    page.get_by_role("button", name="Stop", exact=True).click()
    chip_says(page, "Stopped")
    page.get_by_role("button", name="Rename…").click()
    page.get_by_label("New name").fill("kept")
    page.get_by_role("button", name="Rename it").click()
    page.locator("#train-job section[data-job='kept']").wait_for()
    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("button", name="Delete it").click()
    page.locator("#train-status", has_text="kept is deleted").wait_for()
    assert not (app.runs / "kept").exists()
    page.close()


def test_a_page_follows_a_run_without_an_event_of_gradios(app: App, browser: Browser) -> None:
    folder = write_run(app.runs, "watched", steps=3)
    finished(app.runs, "older", 0.7)
    asked: list[str] = []
    with living(folder):
        page = open_page(browser, f"{app.address}/?tab=train&job=watched")
        assert wait_for_steps(page, 2) == 3
        page.locator("#train-papers summary", has_text="Log").click()
        page.locator("#train-job [data-train='stop']").focus()
        page.on("request", lambda request: asked.append(f"{request.url} {request.post_data or ''}"))
        add_steps(folder, 4, 6)
        page.locator("#train-job", has_text="Step 6 of 100").wait_for()
        assert wait_for_steps(page, 3) == 6
        assert page.evaluate("document.activeElement.dataset.train") == "stop"
        assert page.locator("#train-papers pre.log").is_visible()
        for name in ("older", "watched"):
            page.locator(f"#train-history [data-train='choose'][data-job='{name}']").first.click()
            page.locator(f"#train-job section[data-job='{name}']").wait_for()
        add_steps(folder, 7, 8)
        page.locator("#train-job", has_text="Step 8 of 100").wait_for()
        assert wait_for_steps(page, 6) == 8
        page.close()
    assert sum("/train/news" in url for url in asked) >= 2
    assert [url.count('"what":"choose"') for url in asked if '"viewer"' in url] == [1, 1], "no other event of the tab"
    for name in ("watched", "older"):
        shutil.rmtree(app.runs / name)


def test_a_bad_upload_gets_one_sentence_and_a_check_tells_each_finding(
    app: App, browser: Browser, tmp_path: Path
) -> None:
    page = open_page(browser, f"{app.address}/?tab=train")
    page.locator("#train-parts").get_by_role("tab", name="Your own").click()
    page.locator("#train-source").get_by_text("Upload", exact=True).click()
    table = tmp_path / "own.csv"
    table.write_text("sentence1,sentence2,score\nA cat sleeps.,A <img src=x> dog.,3\nA cat runs.,A dog runs.,9\n")
    page.locator("#train-file input[type=file]").set_input_files(table)
    page.locator("#train-file", has_text="own").wait_for()
    page.get_by_role("button", name="Start", exact=True).click()
    page.locator("#train-said", has_text="row 2: score 9").wait_for()
    page.get_by_role("button", name="Check first").click()
    page.locator("#train-checks .error", has_text="row 2: score 9").wait_for()
    assert page.locator("#train-checks img").count() == 0
    page.close()


def test_the_tab_fits_a_telephone(app: App, browser: Browser) -> None:
    page = open_page(browser, f"{app.address}/?tab=train", color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 844})
    for name in ("Runs", "Your own", "Compare runs"):
        page.locator("#train-parts").get_by_role("tab", name=name, exact=True).click()
        page.wait_for_timeout(300)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()
