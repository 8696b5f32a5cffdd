"""The tab Filters in a real browser, on tiny encoders: clicks go down a depth, and the shown sum equals the activation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from explorer.encoders.registry import Registry
from explorer.training.export import save_encoder
from explorer.ui.app import build_app, launch_settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# Milliseconds until a wait counts as failed.
PATIENCE = 90_000
SENTENCES = ["a", "a dog runs", "\N{DOG FACE} שלום \u1200\u1201", "the young girl sees a big bird in the tree " * 30]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, tiny_encoder: Callable, browser: Browser) -> Iterator[Page]:
    root = tmp_path_factory.mktemp("encoders")
    for family in ("bert", "albert"):
        save_encoder(tiny_encoder(family, "cnn"), root / f"{family}-cnn", {})
    blocks = build_app(Registry([root]))
    _, address, _ = blocks.launch(prevent_thread_lock=True, quiet=True, **launch_settings())
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    page.get_by_role("tab", name="Filters").click()
    page.locator("#layers-plot .heatmaplayer").first.wait_for(state="attached")
    yield page
    page.close()
    blocks.close()


def click_first_position(page: Page, picture: str, panel: int) -> None:
    """Clicks at the left end of a panel once the picture listens."""
    page.locator("#filters-status .message:not(.working):not(.wrong)").wait_for()
    area = page.locator(f"{picture} .nsewdrag").nth(panel)
    area.evaluate("area => area.scrollIntoView({block: 'center'})")
    page.wait_for_timeout(700)
    box = area.bounding_box()
    page.mouse.click(box["x"] + 8, box["y"] + box["height"] / 2)


def shown_steps(page: Page) -> dict[str, float]:
    rows = page.locator(".steps tr").evaluate_all("rows => rows.map(r => [r.dataset.step, r.cells[1].innerText])")
    return {name: float(value.replace("\N{MINUS SIGN}", "-")) for name, value in rows}


@pytest.mark.parametrize(("encoder", "panel"), [("bert-cnn", 0), ("albert-cnn", 1)])
def test_clicks_lead_to_a_cell_whose_sum_equals_its_activation(page: Page, encoder: str, panel: int) -> None:
    page.get_by_label("Sentence", exact=True).fill("the old man walks in the snow .")
    page.get_by_role("button", name="Look inside").click()
    page.locator("#filters-status .message:not(.working):not(.wrong)").wait_for()
    page.get_by_role("button", name="All layers").click()
    page.locator("#layers-plot .heatmaplayer").first.wait_for(state="attached")
    click_first_position(page, "#layers-plot", panel)
    page.locator("#filter-plot .barlayer").first.wait_for(state="attached")
    page.get_by_role("button", name="Position 0").click()
    page.locator(f"#cell h3:has-text('{encoder}')").wait_for()
    steps = shown_steps(page)
    assert steps["total"] + steps["bias"] == pytest.approx(steps["convolved"], abs=2e-6)
    assert math.tanh(steps["convolved"]) == pytest.approx(steps["activation"], abs=2e-6)
    assert steps["activation"] == steps["forward"]


def test_a_field_changes_the_cell(page: Page) -> None:
    page.locator("#crumbs button").nth(2).click()
    page.locator("#cell h3").wait_for()
    page.get_by_label("Hidden dimension", exact=True).fill("7")
    page.locator("#cell h3:has-text('hidden dimension 7')").wait_for()
    assert shown_steps(page)["activation"] == shown_steps(page)["forward"]


def test_sentences_of_all_kinds_and_an_empty_one(page: Page) -> None:
    page.get_by_role("button", name="All layers").click()
    field = page.get_by_label("Sentence", exact=True)
    for sentence in SENTENCES:
        field.fill(sentence)
        field.press("Enter")
        page.locator("#filters-status .message:not(.working):not(.wrong)").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    field.fill(" ")
    field.press("Enter")
    page.locator("#filters-status [role=alert]").wait_for()
    assert page.locator("#filters-status").inner_text() == "The sentence is empty; type at least one word."
