"""The tab Evaluate in a real browser: run, watch, reload, read; a person's own tables; nothing leaves the machine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from explorer.encoders.registry import Registry
from explorer.training.export import save_encoder
from explorer.ui.app import build_app, launch_settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# Milliseconds until a wait counts as failed.
PATIENCE = 40_000
ANIMALS, VERBS = ("dog", "cat", "bird", "horse", "child"), ("runs", "eats", "sleeps", "sings")
# Every number stands for another sentence.
SENTENCES = [f"the {animal} {verb} {end}" for animal in ANIMALS for verb in VERBS for end in ("fast", "and reads")]


class Gate:
    """Holds the second encoder's loading until it is opened, so that there is a run to watch."""

    def __init__(self, registry: Registry) -> None:
        self.open = threading.Event()
        self._load = registry.load

    def load(self, name: str) -> object:
        if name == "albert-cnn":
            assert self.open.wait(PATIENCE / 1000)
        return self._load(name)


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory, tiny_encoder: Callable) -> Iterator[tuple[str, Gate]]:
    root = tmp_path_factory.mktemp("evaluate")
    for family, pooling in (("bert", "mean"), ("albert", "cnn")):
        save_encoder(tiny_encoder(family, pooling), root / "encoders" / f"{family}-{pooling}", {})
    (root / "data" / "stsb").mkdir(parents=True)
    rows = [f"main-news\t{n % 6}\t{SENTENCES[n]} <img src=x>\t{SENTENCES[n * 7 % 11]}" for n in range(40)]
    table = "\n".join(["genre\tscore\tsentence1\tsentence2", *rows]) + "\n"
    (root / "data" / "stsb" / "test.tsv").write_text(table)
    registry = Registry([root / "encoders"])
    held = Gate(registry)
    registry.load = held.load
    blocks = build_app(registry, data=root / "data")
    _, address, _ = blocks.launch(prevent_thread_lock=True, quiet=True, **launch_settings())
    yield address, held
    held.open.set()
    blocks.close()


@pytest.fixture(scope="module")
def page(gate: tuple[str, Gate], browser: Browser) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(PATIENCE)
    hosts: list[str] = []
    page.on("request", lambda request: hosts.append(request.url))
    page.goto(f"{gate[0]}?tab=evaluate")
    page.locator("#evaluate").wait_for()
    yield page
    assert [url for url in hosts if not url.startswith((gate[0], "data:", "blob:"))] == []
    page.close()


def part(page: Page, name: str) -> None:
    tab = page.locator("#evaluate-parts").get_by_role("tab", name=name)
    if not tab.count():  # on a narrow screen the last tabs are in a menu
        page.locator("#evaluate-parts").get_by_label("More tabs").click()
        tab = page.locator("#evaluate-parts .overflow-dropdown").get_by_text(name, exact=True)
    tab.click()


def status_says(page: Page, text: str) -> None:
    page.locator("#evaluate-status", has_text=text).wait_for()


def test_a_run_is_watched_over_a_reload_and_read(page: Page, gate: tuple[str, Gate]) -> None:
    page.locator("#evaluate-scores", has_text="No scores yet").wait_for()
    page.get_by_role("button", name="Evaluate", exact=True).click()
    status_says(page, "albert-cnn on stsb test")
    page.locator("#evaluate-scores table", has_text="bert-mean").wait_for()
    page.reload()
    status_says(page, "sentences")
    assert page.locator("#evaluate-status progress").count() == 1
    assert page.get_by_role("button", name="Evaluate", exact=True).is_disabled()
    assert page.get_by_role("button", name="Stop").first.is_visible()
    gate[1].open.set()
    status_says(page, "done in")
    page.locator("#evaluate-scores table", has_text="albert-cnn").wait_for()
    page.locator("#evaluate-words", has_text="at n = 40.").wait_for()
    assert page.get_by_role("button", name="Stop").first.is_hidden()
    assert "nan" not in page.locator("#evaluate-parts").inner_text().lower()


def test_unknown_training_data_is_said(page: Page) -> None:
    part(page, "Overlap")
    page.locator("#evaluate-overlap", has_text="does not say what it was trained on").wait_for()


@pytest.mark.parametrize(("table", "figure"), [("Table 2", "90.13"), ("Table 3", "81.76"), ("Table 1", "85.72")])
def test_the_papers_tables_are_a_click_away(page: Page, table: str, figure: str) -> None:
    part(page, "The paper")
    page.locator("#gains-plot .scatterlayer .point").first.wait_for(state="attached")
    page.locator("#paper-table").get_by_text(table, exact=True).click()
    page.locator("#evaluate-paper", has_text=figure).wait_for()


def test_slices_cost_and_anatomy_are_there(page: Page) -> None:
    part(page, "Slices")
    page.locator("#evaluate-slices", has_text="in neither sentence").wait_for()
    part(page, "Cost")
    page.locator("#padding", has_text="ignores padding").wait_for()
    page.locator("#score-plot .point").first.wait_for(state="attached")
    part(page, "Anatomy")
    page.locator("#anatomy-plot .barlayer").first.wait_for(state="attached")
    page.get_by_label("Layers", exact=True).fill("3")
    page.locator("#anatomy-table", has_text="Feed-forward").wait_for()
    page.locator("#evaluate-parts", has_text="these sizes: 11.68 million").wait_for()


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        (
            [1, 2, 3, "four", 5, 1, 2, 3, 4, 5],
            "own.csv, row 4: score 'four' is not a number; write one, or remove the row.",
        ),
        ([3] * 10, "undefined: all gold scores are equal"),
        ([3], "undefined: 1 pair, at least 2 are needed"),
        ([0, 1, 2, 3, 4, 5, 4, 3, 2, 1], "at n = 10."),
    ],
)
def test_a_persons_table_gets_clear_words(page: Page, tmp_path: Path, scores: list, said: str) -> None:
    path = tmp_path / "own.csv"
    rows = [f"{SENTENCES[i]},a cat sleeps,{score}" for i, score in enumerate(scores)]
    path.write_text("\n".join(["sentence1,sentence2,score", *rows]) + "\n")
    part(page, "Your own table")
    clear = page.get_by_role("button", name="Clear")
    if clear.count():
        clear.first.click()
    page.locator("#own-file input[type=file]").set_input_files(path)
    page.locator("#own-status, #own-result").filter(has_text=said).first.wait_for()
    assert "nan" not in page.locator("#own-result").inner_text().lower()


def test_the_tab_fits_a_telephone(gate: tuple[str, Gate], browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
    page.set_default_timeout(PATIENCE)
    page.goto(f"{gate[0]}?tab=evaluate")
    page.locator("#evaluate-scores table").wait_for()
    for name in ("Overlap", "The paper", "Anatomy"):
        part(page, name)
        page.wait_for_timeout(500)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()
