"""The tab Map in a real browser on the shipped encoders: linked maps, neighbours, uploads, the file that stands alone."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from explorer.encoders.registry import Registry
from explorer.operations.map_corpus import sample_corpus
from explorer.operations.project import Maps, project
from explorer.ui.app import build_app, launch_settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# Milliseconds until a wait counts as failed; the first one includes encoding the corpus four times on a busy machine.
PATIENCE = 180_000
FOUR = ["bert-mean", "bert-cnn", "albert-mean", "albert-cnn"]
HOSTILE = '<img src=x onerror="window.hacked=1"> {{1+1}} ${2+2}'
# Where a point of a map is on the screen.
SPOT = """([map, row]) => {
    const atlas = document.querySelector('.atlas').atlas, box = atlas.plots[map].face.getBoundingClientRect();
    const [x, y] = atlas.plots[map].at(row);
    return [box.left + x, box.top + y];
}"""
# A sentence that no other one hides.
ALONE = """(map) => {
    const plot = document.querySelector('.atlas').atlas.plots[map];
    return [...Array(plot.n).keys()].find((row) => plot.nearest(...plot.at(row)) === row &&
        [...Array(plot.n).keys()].every((other) => other === row ||
            Math.hypot(plot.at(other)[0] - plot.at(row)[0], plot.at(other)[1] - plot.at(row)[1]) > 4));
}"""
FACES = "[...document.querySelectorAll('.map-face')].map((face) => [face.dataset.focus, face.dataset.marked])"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    blocks = build_app(Registry())
    _, address, _ = blocks.launch(prevent_thread_lock=True, quiet=True, **launch_settings())
    yield address
    blocks.close()


@pytest.fixture(scope="module")
def maps() -> Maps:
    """The maps of the shipped corpus; the vectors are then in the cache."""
    return project(Registry(), sample_corpus())


@pytest.fixture
def open_map(address: str, maps: Maps, browser: Browser) -> Iterator[Callable[..., Page]]:
    pages = []

    def make(query: str = "", width: int = 1280, mode: str = "light") -> Page:
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=mode)
        page.set_default_timeout(PATIENCE)
        page.wrong = []  # type: ignore[attr-defined]
        page.on("pageerror", lambda error: page.wrong.append(str(error)))  # type: ignore[attr-defined]
        page.on("request", lambda request: outside(page, request.url, address))
        pages.append(page)
        page.goto(f"{address}?tab=map{query}")
        page.locator(".map-face canvas").first.wait_for()
        return page

    yield make
    for page in pages:
        assert page.wrong == []
        page.close()


def outside(page: Page, url: str, address: str) -> None:
    if not url.startswith((address, "data:", "blob:")):
        page.wrong.append(url)  # type: ignore[attr-defined]


def click_point(page: Page, number: int, row: int) -> None:
    page.locator(".map-face").nth(number).scroll_into_view_if_needed()
    x, y = page.evaluate(SPOT, [number, row])
    page.mouse.move(x, y)
    page.mouse.click(x, y)


def status_says(page: Page, pattern: str) -> str:
    page.wait_for_function(
        "(pattern) => new RegExp(pattern).test(document.querySelector('#map-status').innerText)", arg=pattern
    )
    return page.locator("#map-status").inner_text()


def test_four_maps_are_there_within_three_seconds_of_work(open_map: Callable[..., Page]) -> None:
    page = open_map()
    names = [panel.get_attribute("data-encoder") for panel in page.locator(".map-panel").all()]
    assert names == FOUR
    start = time.monotonic()
    page.get_by_role("button", name="Draw the maps").click()
    page.locator("#map-status", has_text="432 sentences on 4 maps").wait_for()
    assert time.monotonic() - start < 3 * float(os.environ.get("EXPLORER_SLOWER", "2"))


def test_the_two_procrustes_distances_have_names_of_their_own(open_map: Callable[..., Page]) -> None:
    page = open_map()
    page.locator("th", has_text="Procrustes distance of the maps").wait_for(state="attached")
    page.get_by_text("Procrustes distance of the vectors", exact=True).wait_for(state="attached")


def test_a_click_marks_the_sentence_on_all_maps_and_lists_its_neighbours(
    open_map: Callable[..., Page], maps: Maps
) -> None:
    page = open_map()
    row = page.evaluate(ALONE, 1)
    click_point(page, 1, row)
    assert page.evaluate(FACES) == [[str(row), "1"]] * 4
    for number, found in enumerate(maps.encoders):
        units = found.vectors / np.linalg.norm(found.vectors, axis=1, keepdims=True)
        cosines = units.astype(np.float64) @ units[row].astype(np.float64)
        cosines[row] = -2
        nearest = np.argsort(-cosines, kind="stable")[:10]
        column = page.locator(".map-near-list").nth(number)
        assert column.locator(".map-sentence").all_inner_texts() == [maps.corpus.sentences[n] for n in nearest]
        assert column.locator(".number").all_inner_texts() == [f"{cosines[n]:.3f}".replace("-", "−") for n in nearest]
        rings = page.locator(".map-face").nth(number).locator(".map-near")
        assert sorted(int(str(ring.get_attribute("data-row"))) for ring in rings.all()) == sorted(nearest.tolist())
    lists = [set(found.neighbours.rows[row].tolist()) for found in maps.encoders]
    shared = len(set.intersection(*lists))
    assert page.locator(".map-shared.of-all").count() == 4 * shared
    assert maps.corpus.sentences[row] in page.locator(".map-tablebox").inner_text()


def test_hover_and_lasso_and_box_are_linked(open_map: Callable[..., Page]) -> None:
    page = open_map()
    page.locator(".map-face").first.scroll_into_view_if_needed()
    row = page.evaluate(ALONE, 0)
    x, y = page.evaluate(SPOT, [0, row])
    page.mouse.move(x, y)
    assert page.locator(".map-hover").count() == 4
    assert page.locator(".map-tip").inner_text()
    for tool in ("Lasso", "Box"):
        page.get_by_role("button", name=tool, exact=True).click()
        box = page.locator(".map-face").first.bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + 20, box["y"] + 20)
        page.mouse.down()
        middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.move(box["x"] + 20, middle[1])
        page.mouse.move(*middle)
        page.mouse.up()
        counts = {marked for _, marked in page.evaluate(FACES)}
        (marked,) = counts
        assert 10 < int(marked) < 400
        assert f"Marked ({marked})" in page.locator(".map-tablebox").inner_text()
    page.get_by_role("button", name="Clear").click()
    assert page.evaluate(FACES) == [["-1", "0"]] * 4


def test_keyboard_and_table_do_what_the_mouse_does(open_map: Callable[..., Page]) -> None:
    page = open_map()
    page.locator(".map-face").nth(2).focus()
    for key in ("ArrowRight", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    ((focus, marked), *others) = page.evaluate(FACES)
    assert marked == "1" and int(focus) >= 0 and others == [[focus, marked]] * 3
    page.keyboard.press("Escape")
    page.get_by_label("Find words in the sentences").fill("dumplings")
    rows = page.locator(".map-tablebox tbody tr")
    assert 0 < rows.count() < 20
    rows.first.get_by_role("checkbox").check()
    assert {marked for _, marked in page.evaluate(FACES)} == {"1"}
    page.get_by_role("button", name=re.compile("Mark these")).click()
    assert {marked for _, marked in page.evaluate(FACES)} != {"1"}


@pytest.mark.parametrize("colour", ["Contrast", "Cluster in bert-cnn", "Length in words", "Neighbours kept by the map"])
def test_every_colour_has_a_legend(open_map: Callable[..., Page], colour: str) -> None:
    page = open_map()
    page.get_by_label("Colour by").select_option(colour)
    assert page.locator(".map-legend").inner_text().strip()
    if colour == "Contrast":
        page.locator(".map-legend button", has_text="negation").click()
        assert page.evaluate(FACES)[0][1] == "46"


def test_umap_comes_back_from_the_cache_and_a_typed_sentence_finds_its_place(open_map: Callable[..., Page]) -> None:
    page = open_map()
    page.get_by_label("UMAP, some seconds").click()
    page.locator(".map-facts", has_text="UMAP, seed 42").first.wait_for()
    status_says(page, "laid out in|read from the cache")
    page.wait_for_function("location.search.includes('method=umap')")
    place = "[...document.querySelector('.atlas').atlas.plots[3].points.slice(0, 40)]"
    before = page.evaluate(place)
    page.locator("#map-typed").fill("My uncle bakes bread on Sundays.")
    page.get_by_role("button", name="Place it").click()
    page.locator(".map-typed").nth(3).wait_for()
    assert "approximate" in page.locator(".map-typing").inner_text()
    page.get_by_label("Colour by").select_option("Cosine to the chosen sentence")
    assert "My uncle bakes bread" in page.locator(".map-legend").inner_text()
    page.get_by_label("Place a sentence").fill(" ")
    page.get_by_role("button", name="Place it").click()
    page.locator(".map-typing .wrong", has_text="is empty").wait_for()
    # From memory, and from disk where the server has forgotten them.
    for query in (page.url.split("?")[1], re.sub(r"maps=[^&]*", "maps=", page.url.split("?")[1])):
        again = open_map(f"&{query}")
        said = status_says(again, "drawn before|read from the cache|laid out")
        assert "laid out" not in said
        assert again.evaluate(place) == before


def upload(page: Page, path: Path) -> None:
    page.get_by_label("A file").click()
    page.locator("#map-file input[type=file]").set_input_files(path)


def test_an_upload_is_cleaned_and_nothing_in_it_is_run(
    open_map: Callable[..., Page], tmp_path: Path, browser: Browser
) -> None:
    path = tmp_path / "own.csv"
    quoted = HOSTILE.replace('"', '""')
    lines = ["mood,text", f'<b>bad</b>,"{quoted}"', 'good,"=1+1 is a formula, they say"', "good,NaN"]
    lines += [f"good,the kite number {n} flies high" for n in range(8)] + ["good,the kite number 1 flies high"]
    path.write_text("\n".join(lines), encoding="utf-8")
    page = open_map()
    upload(page, path)
    page.locator("#map-file-said", has_text="10 different sentences in 12 rows").wait_for()
    page.locator("#map-label input").click()
    page.get_by_role("option", name="mood").click()
    page.get_by_role("button", name="Draw the maps").click()
    page.locator("#map-status", has_text="10 sentences on 4 maps").wait_for()
    assert "1 missing" in page.locator("#map-notes").inner_text()
    assert "1 repeated" in page.locator("#map-notes").inner_text()
    page.get_by_role("button", name=re.compile(r"^All \(")).click()
    assert HOSTILE in page.locator(".map-tablebox").inner_text()
    assert "<b>bad</b>" in page.locator(".map-legend").inner_text()
    with page.expect_download() as taken:
        page.locator("#map-csv").click()
    assert "'=1+1 is a formula" in taken.value.path().read_text(encoding="utf-8")
    with page.expect_download() as taken:
        page.locator("#map-html").click()
    written = tmp_path / "maps.html"
    taken.value.save_as(written)
    assert page.evaluate("window.hacked") is None
    check_file(browser, written)


def check_file(browser: Browser, path: Path) -> None:
    """The file opens without a network, links its maps, and runs nothing that is in it."""
    context = browser.new_context()
    context.set_offline(True)
    page = context.new_page()
    wrong: list[Any] = []
    page.on("pageerror", lambda error: wrong.append(error))
    page.on("request", lambda request: wrong.append(request.url) if not request.url.startswith("file:") else None)
    page.goto(path.as_uri())
    page.locator(".map-face canvas").first.wait_for()
    row = page.evaluate(ALONE, 0)
    click_point(page, 0, row)
    assert page.evaluate(FACES) == [[str(row), "1"]] * 4
    assert page.locator(".map-near-list").count() == 4
    page.get_by_label("Colour by").select_option("Cosine to the chosen sentence")
    assert " to " in f" {page.locator('.map-legend').inner_text()}".replace("\n", " ")
    assert page.evaluate("window.hacked") is None
    assert wrong == []
    page.evaluate("scrollTo(0, 0)")
    box = page.locator("h1").bounding_box()
    assert box is not None and box["x"] >= 16 and box["y"] >= 20
    legend = "[...document.querySelectorAll('.map-legend path')].map((path) => path.getAttribute('fill'))"
    page.get_by_label("Colour by").select_option("Mood")
    light = page.evaluate(legend)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"(light) => String({legend}) !== String(light)", arg=light)
    context.close()


def test_faults_are_told_in_a_sentence(open_map: Callable[..., Page], tmp_path: Path) -> None:
    page = open_map()
    page.get_by_label("Pasted lines").click()
    page.get_by_role("button", name="Draw the maps").click()
    page.locator("#map-status .wrong", has_text="There are no sentences yet").wait_for()
    page.locator("#map-lines textarea").fill("Only one line.")
    page.get_by_role("button", name="Draw the maps").click()
    page.locator("#map-notes", has_text="only one sentence").wait_for()
    (tmp_path / "numbers.csv").write_text("value\n1\n2\n", encoding="utf-8")
    upload(page, tmp_path / "numbers.csv")
    page.locator("#map-file-said .wrong", has_text="no column of sentences").wait_for()


def test_the_tab_fits_a_narrow_screen(open_map: Callable[..., Page]) -> None:
    page = open_map(width=390, mode="dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    click_point(page, 0, page.evaluate(ALONE, 0))
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.fixture(scope="module")
def page(address: str, maps: Maps, browser: Browser) -> Iterator[Page]:
    """One page for all that follows, opened with an address that names maps which are gone and numbers that no control takes."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(PATIENCE)
    page.goto(f"{address}?tab=map&seed=-1&min_dist=nan&k=x&maps=0123456789abcdef")
    page.locator(".map-face canvas").first.wait_for()
    page.first_words = status_says(page, "432 sentences")  # type: ignore[attr-defined]
    page.wait_for_function("!location.search.includes('seed=-1')")
    yield page
    page.close()


def name_of_focus(page: Page) -> str:
    return str(page.evaluate("document.activeElement.dataset.name || document.activeElement.className"))


def test_an_address_that_is_wrong_is_put_right(page: Page) -> None:
    assert "put away meanwhile" in page.first_words  # type: ignore[attr-defined]
    assert "seed=42" in page.url and "min_dist=0.1" in page.url and "0123456789abcdef" not in page.url


def test_the_keyboard_stays_where_it_was(page: Page) -> None:
    page.locator("[data-name=ring]").press("Space")
    assert name_of_focus(page) == "ring"
    first = page.locator(".map-legend button").first
    name = first.get_attribute("data-name")
    first.press("Enter")
    assert name_of_focus(page) == name
    page.locator(".map-clear").press("Enter")
    assert name_of_focus(page) == "ring"
    page.locator("[data-name='listed all']").press("Enter")
    while page.locator("[data-name='step 1']").is_enabled():
        page.locator("[data-name='step 1']").press("Enter")
    assert name_of_focus(page) == "step -1"
    page.get_by_label("Find words in the sentences").fill("dumplings")
    page.locator("[data-name='mark found']").press("Enter")
    assert name_of_focus(page) == "mark found"
    page.locator(".map-tablebox tbody .map-sentence").first.press("Enter")
    assert name_of_focus(page).startswith("row ")
    page.locator(".map-near-list .map-sentence").first.press("Enter")
    assert re.match("near |map-chosen", name_of_focus(page))


def test_the_legend_follows_light_and_dark(page: Page) -> None:
    legend = "String([...document.querySelectorAll('.map-legend path')].map((path) => path.getAttribute('fill')))"
    ramp = "document.querySelector('.map-ramp').style.background"
    for read, colour in ((legend, "Topic"), (ramp, "Length in words")):
        page.get_by_label("Colour by").select_option(colour)
        before = page.evaluate(read)
        for same in ("!==", "==="):
            page.evaluate("document.body.classList.toggle('dark')")
            page.wait_for_function(f"(before) => {read} {same} before", arg=before, timeout=5_000)


def test_a_question_asked_twice_is_answered_twice(page: Page) -> None:
    said = page.locator(".map-typing [role=status]")
    for text, words in (("A dog runs", "approximate"), ("", "is empty")):
        for _ in range(2):
            page.locator("#map-typed").fill(text)
            page.get_by_role("button", name="Place it").click()
            said.filter(has_text=words).wait_for(timeout=20_000)
    page.locator("#map-typed").fill("A dog runs")
    for _ in range(2):
        page.get_by_role("button", name="Place it").click()
        page.locator(".map-typed").nth(3).wait_for(timeout=20_000)
        page.get_by_role("button", name="Clear").click()


def test_why_there_is_no_cosine_stands_in_the_legend(page: Page) -> None:
    click_point(page, 0, page.evaluate(ALONE, 0))
    page.evaluate(
        "(text) => { const { atlas } = document.querySelector('.atlas'); window.asked = atlas.ask; "
        "atlas.ask = () => atlas.answer({ kind: 'refused', about: 'row', text }); }",
        "They were put away.",
    )
    page.get_by_label("Colour by").select_option("Cosine to the chosen sentence")
    page.locator(".map-legend", has_text="They were put away.").wait_for(timeout=5_000)
    page.evaluate("document.querySelector('.atlas').atlas.ask = window.asked")
    page.get_by_label("Colour by").select_option("Topic")


def test_stop_ends_all_and_the_address_keeps_what_is_shown(page: Page) -> None:
    before = page.url
    page.locator("#map-settings > button").click()
    page.get_by_label("Seed").fill(str(time.time_ns() % 2**32))
    page.get_by_label("UMAP, some seconds").click()
    draw = page.get_by_role("button", name="Draw the maps")
    draw.click()
    draw.click()
    status_says(page, "UMAP|Waiting")
    page.locator("#map-stop").click()
    status_says(page, "Stopped")
    page.wait_for_timeout(1_000)
    assert "Stopped" in page.locator("#map-status").inner_text() and page.url == before
    # Another choice replaces what runs, without waiting for its end.
    draw.click()
    status_says(page, "UMAP|Waiting")
    page.evaluate("""() => {
        const status = document.querySelector('#map-status');
        window.said = [];
        new MutationObserver(() => window.said.push(status.innerText)).observe(status, {childList: true, subtree: true});
    }""")
    page.get_by_label("Seed").fill("42")
    page.get_by_label("PCA, at once").click()
    status_says(page, "432 sentences on 4 maps, read from the cache")
    assert not [text for text in page.evaluate("window.said") if "laid out" in text]
    slider = page.locator("#map-k input[type=range]")
    slider.press("ArrowRight")
    slider.press("ArrowRight")
    page.wait_for_function("location.search.includes('k=12')", timeout=20_000)
    assert page.evaluate("document.activeElement.type") == "range"


def test_a_file_taken_away_leaves_no_words(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("mood,text\ngood,the kite flies high\nbad,the kite falls down\n", encoding="utf-8")
    upload(page, path)
    page.locator("#map-file-said", has_text="2 different sentences in 2 rows").wait_for()
    page.locator("#map-file button[aria-label='Clear'], #map-file button[aria-label*='emove']").first.click()
    page.wait_for_function("!document.querySelector('#map-file-said').innerText.trim()", timeout=5_000)
    assert page.locator("#map-column input").input_value() == ""


def test_maps_of_ones_own_come_back_with_their_lines(page: Page) -> None:
    page.get_by_label("Pasted lines").click()
    lines = "A kite flies.\nA kite falls."
    page.locator("#map-lines textarea").fill(lines)
    page.get_by_role("button", name="Draw the maps").click()
    status_says(page, "2 sentences on 4 maps")
    page.wait_for_function("(key) => !location.search.includes(key)", arg=re.findall("maps=[^&]*", page.url)[0])
    page.reload()
    page.locator(".map-face canvas").first.wait_for()
    status_says(page, "drawn before, of own sentences")
    assert page.get_by_label("Pasted lines").is_checked()
    assert page.locator("#map-lines textarea").input_value() == lines
