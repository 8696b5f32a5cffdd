"""Nothing is cut off: what is wider than the screen scrolls in a box of its own; all tabs are in reach of a thumb."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from explorer.encoders.registry import Registry
from explorer.training.export import save_encoder
from explorer.ui.app import TABS, build_app, launch_settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# Milliseconds until a wait counts as failed.
PATIENCE = 60_000
PHONE = {"width": 390, "height": 844}
LONG = "?s1=" + "+".join(["someone+plays+the+old+guitar"] * 9) + "&s2=a+dog+runs"
# Widths of the page and of everything in it that is not in a box that scrolls.
PAGE_WIDTHS = (
    """() => [document.documentElement.scrollWidth, document.querySelector(".gradio-container").scrollWidth]"""
)
BOX = """(box) => ({
    scrolls: getComputedStyle(box).overflowX, own: box.clientWidth, inner: box.scrollWidth,
    end: box.getBoundingClientRect().right,
})"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, tiny_encoder: Callable) -> Iterator[str]:
    root = tmp_path_factory.mktemp("encoders")
    for family in ("bert", "albert"):
        save_encoder(tiny_encoder(family, "cnn"), root / f"{family}-cnn", {})
    save_encoder(tiny_encoder("bert", "mean"), root / "an-encoder-of-ones-own-with-a-long-name", {})
    blocks = build_app(Registry([root]))
    _, address, _ = blocks.launch(prevent_thread_lock=True, quiet=True, **launch_settings())
    yield address
    blocks.close()


@pytest.fixture
def phone(address: str, browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    yield page
    context.close()


def wait_for_scores(page: Page) -> None:
    page.wait_for_function("document.querySelector('.card') && !document.querySelector('.card.empty')")
    page.locator("#aligned .strip").first.wait_for()


def swipe_left(page: Page, x: float, y: float) -> None:
    """Draws a finger 150 px to the left, in steps, as a person does."""
    session = page.context.new_cdp_session(page)
    session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for step in range(1, 11):
        session.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": x - 15 * step, "y": y}]})
        page.wait_for_timeout(20)
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def test_a_long_sentences_pieces_and_the_table_scroll_within_their_boxes(address: str, browser: Browser) -> None:
    for width in (390, 1280):
        page = browser.new_page(viewport={"width": width, "height": 844})
        page.set_default_timeout(PATIENCE)
        page.goto(address + LONG)
        wait_for_scores(page)
        assert max(page.evaluate(PAGE_WIDTHS)) <= width
        pieces = page.locator("#aligned .scroll").first.evaluate(BOX)
        assert pieces["scrolls"] == "auto"
        assert pieces["end"] <= width
        assert pieces["inner"] > pieces["own"]
        table = page.locator(".encoders .scroll").evaluate(BOX)
        assert table["scrolls"] == "auto"
        assert table["end"] <= width
        assert (table["inner"] > table["own"]) or width == 1280
        page.close()


def test_on_a_phone_all_tabs_stay_in_their_places(address: str, phone: Page) -> None:
    phone.goto(address)
    wait_for_scores(phone)
    tabs = phone.locator("#tabs > .tab-wrapper").get_by_role("tab")
    names, places = [spec.title for spec in TABS], [tab.bounding_box() for tab in tabs.all()]
    assert tabs.all_inner_texts() == names
    for name in ("Train", "Map"):
        tabs.filter(has_text=name).tap()
        phone.locator(f"#tabs [role=tab][aria-selected=true]:text-is('{name}')").wait_for()
        assert [tab.bounding_box()["x"] for tab in tabs.all()] == [place["x"] for place in places]
        assert tabs.all_inner_texts() == names
        assert max(phone.evaluate(PAGE_WIDTHS)) <= PHONE["width"]


def test_on_a_phone_a_wide_figure_follows_the_finger(address: str, phone: Page) -> None:
    phone.goto(f"{address}?tab=filters")
    phone.locator("#layers-plot .heatmaplayer").first.wait_for(state="attached")
    box = phone.locator("#layers-plot").evaluate(BOX)
    assert box["scrolls"] == "auto"
    assert box["end"] <= PHONE["width"] < box["inner"]
    assert max(phone.evaluate(PAGE_WIDTHS)) <= PHONE["width"]
    panel = phone.locator("#layers-plot .nsewdrag").first
    panel.evaluate("panel => panel.scrollIntoView({block: 'center', inline: 'start'})")
    phone.wait_for_timeout(500)
    before = phone.locator("#layers-plot").evaluate("box => box.scrollLeft")
    place = panel.bounding_box()
    swipe_left(phone, 200, place["y"] + place["height"] / 2)
    phone.wait_for_function("was => document.querySelector('#layers-plot').scrollLeft > was + 50", arg=before)


def test_the_label_of_a_field_for_files_stands_above_its_icon(address: str, phone: Page) -> None:
    phone.goto(f"{address}?tab=train")
    phone.locator("#train-parts").get_by_role("tab", name="Your own").tap()
    phone.locator("#train-source").get_by_text("Upload").tap()
    field = phone.locator("#train-dev-file")
    label = field.get_by_test_id("block-label").bounding_box()
    assert label["y"] + label["height"] <= field.get_by_test_id("upload-icon").bounding_box()["y"]
    assert max(phone.evaluate(PAGE_WIDTHS)) <= PHONE["width"]
