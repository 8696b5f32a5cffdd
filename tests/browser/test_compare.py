"""The Compare tab in a real browser, on the shipped encoders, served by `python app.py` as a person starts it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from conftest import ROOT

from explorer.data.examples import read_examples
from explorer.encoders.registry import Registry
from explorer.operations.score import score_pair
from explorer.ui import words

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FOUR = ["bert-mean", "bert-cnn", "albert-mean", "albert-cnn"]
HOSTILE = '<img src=x onerror="window.hacked=1"> {{1+1}} ${2+2} <b>bold</b> & so on'
# Runs app.py as it is, and writes down every look-up and connection that leaves this machine.
WATCHED = """
import runpy, sys
record, *arguments = sys.argv[1:]
def watch(event, values):
    if event in ("socket.connect", "socket.getaddrinfo"):
        host = values[0] if event == "socket.getaddrinfo" else values[1]
        host = host[0] if isinstance(host, tuple) else host
        if host not in (None, "", "127.0.0.1", "localhost", "::1", "0.0.0.0") and not str(host).startswith("/"):
            with open(record, "a", encoding="utf-8") as file:
                file.write(f"{event} {host}\\n")
sys.addaudithook(watch)
sys.argv = ["app.py", *arguments]
runpy.run_path("app.py", run_name="__main__")
"""
# Milliseconds until a wait counts as failed; the first one includes loading four encoders on a busy machine.
PATIENCE = 180_000


@dataclass(frozen=True)
class App:
    """A running app: its address, the processor seconds used until the page was first served, and where it reports calls."""

    address: str
    seconds: float
    outside: Path


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    outside = tmp_path_factory.mktemp("app") / "outside.txt"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-c", WATCHED, str(outside), "--port", str(port)], cwd=ROOT)
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for(address, process)
        yield App(address, processor_seconds(process.pid), outside)
    finally:
        process.terminate()
        process.wait(timeout=30)


def wait_for(address: str, process: subprocess.Popen[bytes], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert process.poll() is None, "the app ended before it answered"
        try:
            with urllib.request.urlopen(address, timeout=10):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise AssertionError(f"no answer at {address} within {seconds:g} s")


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.fixture
def open_page(app: App, browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens the page at some width and mode, waits for its first scores, and closes it after the test."""
    pages = []

    def make(query: str = "", width: int = 1280, mode: str = "light") -> Page:
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=mode)
        page.set_default_timeout(PATIENCE)
        pages.append(page)
        page.goto(app.address + query)
        page.wait_for_function("document.querySelector('.card') && !document.querySelector('.card.empty')")
        return page

    yield make
    for page in pages:
        page.close()


def type_pair(page: Page, first: str, second: str) -> None:
    page.get_by_label("Sentence 1", exact=True).fill(first)
    page.get_by_label("Sentence 2", exact=True).fill(second)


def expected(first: str, second: str) -> dict[str, str]:
    return {score.encoder: words.cosine(score.cosine) for score in score_pair(Registry(), first, second)}


def wait_for_scores(page: Page, scores: dict[str, str]) -> None:
    """Waits until the cards show just these cosines, by encoder."""
    page.wait_for_function(
        """(scores) => {
            const shown = {};
            for (const card of document.querySelectorAll('.card'))
                shown[card.dataset.encoder] = card.querySelector('output').textContent;
            return JSON.stringify(Object.entries(shown).sort()) === JSON.stringify(Object.entries(scores).sort());
        }""",
        arg=scores,
    )


def test_startup_takes_under_ten_seconds_of_processor_time(app: App) -> None:
    assert app.seconds < 10


def test_first_screen_has_two_sentences_and_their_four_scores(open_page: Callable[..., Page]) -> None:
    page = open_page()
    example = read_examples()[0]
    assert page.get_by_label("Sentence 1", exact=True).input_value() == example.sentence1
    assert [card.get_attribute("data-encoder") for card in page.locator(".card").all()] == FOUR
    wait_for_scores(page, expected(example.sentence1, example.sentence2))
    assert page.locator(".encoders tbody tr").count() == 4


def test_a_typed_pair_is_scored_on_enter_and_on_the_button(open_page: Callable[..., Page]) -> None:
    page = open_page()
    pair = ("The drummer taps a slow rhythm.", "Somebody is making music.")
    type_pair(page, *pair)
    page.keyboard.press("Enter")
    wait_for_scores(page, expected(*pair))
    type_pair(page, pair[0], "Nobody here likes soup.")
    page.get_by_role("button", name="Score", exact=True).click()
    wait_for_scores(page, expected(pair[0], "Nobody here likes soup."))
    page.wait_for_function("window.location.search.includes('s2=Nobody+here+likes+soup.')")


def test_an_example_is_one_click_away(open_page: Callable[..., Page]) -> None:
    page = open_page()
    example = next(example for example in read_examples() if example.kind == "Negation")
    page.get_by_role("button", name="Negation").click()
    wait_for_scores(page, expected(example.sentence1, example.sentence2))
    assert page.get_by_label("Sentence 2", exact=True).input_value() == example.sentence2
    assert example.note in page.locator("#status").inner_text()


def test_an_address_restores_sentences_and_encoders(open_page: Callable[..., Page]) -> None:
    page = open_page("/?s1=Two+cats+sleep.&s2=Two+dogs+bark.&encoders=bert-cnn")
    scores = expected("Two cats sleep.", "Two dogs bark.")
    wait_for_scores(page, {"bert-cnn": scores["bert-cnn"]})
    assert page.get_by_label("Sentence 2", exact=True).input_value() == "Two dogs bark."


def test_markup_is_shown_as_text_and_nothing_runs(open_page: Callable[..., Page]) -> None:
    page = open_page()
    type_pair(page, HOSTILE, "שלום עולם \N{DOG FACE}")
    page.keyboard.press("Enter")
    wait_for_scores(page, expected(HOSTILE, "שלום עולם \N{DOG FACE}"))
    shown = page.locator(".card").first.locator(".pieces").first.inner_text()
    assert "<" in shown
    assert "{" in shown
    assert page.locator("#results img, .card b, #aligned img, #aligned b").count() == 0
    assert page.evaluate("window.hacked") is None
    directions = [box.get_attribute("dir") for box in page.locator(".card").first.locator(".pieces").all()]
    assert directions == ["ltr", "rtl"]


def test_bad_input_gets_one_sentence_and_is_kept(open_page: Callable[..., Page]) -> None:
    page = open_page()
    height = page.locator(".cards").bounding_box()["height"]
    type_pair(page, "   ", "Something typed with care.")
    page.keyboard.press("Enter")
    page.get_by_role("alert").wait_for()
    assert page.get_by_role("alert").inner_text() == "Sentence 1 is empty; type at least one word."
    assert page.get_by_label("Sentence 2", exact=True).input_value() == "Something typed with care."
    assert page.locator(".card.empty").count() == 4
    assert abs(page.locator(".cards").bounding_box()["height"] - height) < 30


def test_a_very_long_sentence_says_what_is_left_out(open_page: Callable[..., Page]) -> None:
    page = open_page()
    type_pair(page, "many words " * 9_000, "A short one.")
    page.keyboard.press("Enter")
    page.locator(".card .notes", has_text="are left out").first.wait_for()
    assert "is longer than this encoder reads" in page.locator(".notes").first.inner_text()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_no_width_or_mode_overflows_the_window(open_page: Callable[..., Page], width: int, mode: str) -> None:
    page = open_page(width=width, mode=mode)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    shade = page.evaluate("getComputedStyle(document.querySelector('.gradio-container')).backgroundColor")
    red = int(shade.removeprefix("rgb(").split(",")[0])
    assert red < 60 if mode == "dark" else red > 200
    columns = page.evaluate("new Set([...document.querySelectorAll('.card')].map(c => c.offsetLeft)).size")
    assert columns == (4 if width == 1280 else 1)


def test_everything_is_reached_by_keyboard(open_page: Callable[..., Page]) -> None:
    page = open_page()
    page.get_by_label("Sentence 1", exact=True).focus()
    reached = []
    for _ in range(18):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("(document.activeElement.innerText || document.activeElement.tagName).trim()"))
    assert reached[:4] == ["TEXTAREA", "Score", "Paraphrase", "Negation"]
    assert "Choose encoders" in " ".join(reached)
    assert "What am I looking at?" in reached
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_no_request_goes_to_another_host(app: App, browser: Browser) -> None:
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(app.address)
    page.wait_for_function("document.querySelector('.card') && !document.querySelector('.card.empty')")
    page.get_by_role("button", name="Negation").click()
    page.wait_for_function("document.querySelector('#status').innerText.startsWith('Negation')")
    page.close()
    assert asked
    assert [url for url in asked if not url.startswith((app.address, "data:", "blob:"))] == []
    assert not app.outside.exists(), app.outside.read_text(encoding="utf-8")


def test_the_api_gives_the_same_scores_and_the_same_sentences(app: App) -> None:
    from gradio_client import Client
    from gradio_client.exceptions import AppError

    client = Client(app.address, verbose=False)
    assert "/compare" in client.view_api(return_format="dict", print_info=False)["named_endpoints"]
    rows = client.predict("A dog runs.", "A cat sleeps.", api_name="/compare")
    assert [row["encoder"] for row in rows] == FOUR
    assert {row["encoder"]: words.cosine(row["cosine"]) for row in rows} == expected("A dog runs.", "A cat sleeps.")
    assert {"percentile_stsb", "percentile_random"} < set(rows[0])
    rows = client.predict("A dog runs.", "A cat sleeps.", ["albert-cnn"], api_name="/compare")
    assert [row["encoder"] for row in rows] == ["albert-cnn"]
    for bad, sentence in (("", "Sentence 1 is empty"), (None, "Sentence 1 is missing"), ("a\0", "NUL character")):
        with pytest.raises(AppError, match=sentence):
            client.predict(bad, "A cat sleeps.", api_name="/compare")
    client.close()


def test_a_busy_port_is_one_sentence(app: App) -> None:
    port = app.address.rsplit(":", 1)[1]
    ended = subprocess.run(
        [sys.executable, str(ROOT / "app.py"), "--port", port], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 1
    assert f"Port {port} cannot be used" in ended.stderr
    assert "Traceback" not in ended.stderr
