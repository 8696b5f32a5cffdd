"""The tab Map: one corpus seen by several encoders as linked maps, with neighbours, disagreement and trust. Wires only.

The maps themselves are drawn in the browser (assets/map/); the server sends what they show.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import gradio as gr

from explorer.errors import DataError, SettingError
from explorer.figures.map import script
from explorer.ui import map_api, map_controls, map_downloads, map_text
from explorer.ui.cards import message, notice, working
from explorer.ui.errors import for_person
from explorer.ui.html import Html
from explorer.ui.map_desk import SAMPLE, MapDesk, Wanted
from explorer.ui.map_job import MapJob
from explorer.ui.page import BARE, ON_MODEL, PRIVATE, Page, from_address, keep_choices

if TYPE_CHECKING:
    from explorer.operations.project import Maps

# Maps take long. Each browser has one job, which starts at once and says what it waits for; UMAP goes one by one further in.
ON_MAPS: dict[str, Any] = {"concurrency_id": "map-page", "concurrency_limit": 24}
# Seconds between two words on how far it is.
_LOOK = 0.3
_ON_LOAD = """
const atlas = new Atlas(element.appendChild(make("div", {className: "atlas"})), (wanted) => trigger("ask", wanted));
const show = () => { if (props.value) atlas.show(JSON.parse(props.value)); };
watch("value", show);
watch("answer", () => { if (props.answer) atlas.answer(JSON.parse(props.answer)); });
show();
// A mouse draws when it lets go; keys, for which gradio has no event, a little after the last one.
let soon = 0;
document.addEventListener("keyup", (event) => {
    if (!event.target.matches("#map-k input") || !/^(Arrow|Page|Home|End|Enter)/.test(event.key)) return;
    clearTimeout(soon);
    soon = setTimeout(() => document.querySelector("#map-redraw").click(), 500);
});
"""


class Shown(NamedTuple):
    """What an event changes, in the order of the components."""

    status: Any = gr.skip()
    stop: Any = gr.skip()
    notes: Any = gr.skip()
    maps: Any = gr.skip()
    key: Any = gr.skip()
    below: Any = gr.skip()
    settled: Any = gr.skip()


def build(page: Page) -> None:
    """Places the tab's components and wires them."""
    desk = MapDesk(page.registry, page.demo)
    gr.HTML(map_text.intro(page.demo), **BARE)
    controls = map_controls.place(desk)
    with gr.Row(elem_classes="act"):
        button = gr.Button(
            "Draw the maps", variant="primary", elem_id="draw", elem_classes="go", scale=0, min_width=170
        )
        stop = gr.Button("Stop", visible=False, elem_id="map-stop", elem_classes="go", scale=0, min_width=100)
        status = gr.HTML(working("Loading the encoders, once after each start."), elem_id="map-status", **BARE)
    notes = gr.HTML(elem_id="map-notes", **BARE)
    maps = _maps()
    key, opened = gr.Textbox("", visible="hidden", elem_id="map-key"), gr.State(False)
    settled = gr.Textbox("", visible="hidden", elem_id="map-settled")
    again = gr.Button(visible="hidden", elem_id="map-redraw")
    with gr.Column(visible=False) as below:
        map_downloads.build(desk, key)
    outputs = [status, stop, notes, maps, key, below, settled]

    inputs = controls.inputs
    draw = {"fn": _of_session(desk), "inputs": inputs, "outputs": outputs, **ON_MAPS, **PRIVATE}
    remember = {"fn": None, "inputs": settled, "outputs": None, "js": map_controls.remember()}
    for listen in (button.click, again.click, controls.method.input, controls.encoders.input, controls.k.release):
        # A newer wish replaces the one being worked at; none may wait in the browser, where Stop does not reach it.
        listen(**draw, trigger_mode="multiple").then(**remember)
    opening = page.tab.select(_open(desk), [opened, *inputs], [opened, *outputs], **ON_MAPS, **PRIVATE)
    opening.then(**remember)
    page.blocks.load(_restore(desk), None, controls.restored, queue=False, **PRIVATE)
    keep_choices(page, controls.encoders, lambda: [info.name for info in desk.registry.encoders()], tick=False)
    stop.click(_stop(desk), None, None, queue=False, **PRIVATE)
    page.blocks.unload(_stop(desk))
    asked = maps.ask  # type: ignore[attr-defined]
    asked(_answers(desk), key, maps, trigger_mode="multiple", **ON_MODEL, **PRIVATE)
    map_api.build(desk)


def on_error(text: str, *_: object) -> Shown:
    """Returns the reason, and leaves the maps as they are."""
    return Shown(message(text), gr.Button(visible=False))


@for_person(on_error)
def draw_maps(desk: MapDesk, session: str, *controls: Any) -> Iterator[Shown]:
    """Yields how far the maps are, and then the maps.

    Args:
        desk: Makes them.
        session: Of the browser; its earlier maps are not made further.
        controls: The fields of Wanted.
    """
    wanted = Wanted(*controls)
    if wanted.encoders == [] and desk.registry.encoders():
        raise SettingError(map_text.NO_ENCODER)
    yield from _draw(desk, session, wanted)


@for_person(on_error)
def open_maps(desk: MapDesk, session: str, key: str | None, wanted: Wanted) -> Iterator[Shown]:
    """Yields the maps that the page's address names if they are still in memory, else makes those of the sample and says so."""
    kind = desk.kind(key)
    if kind is not None:
        name = desk.find(key).corpus.name
        yield _shown(desk, str(key), notice(map_text.before(name, kind != SAMPLE)))
    else:
        yield from _draw(desk, session, replace(wanted, kind=SAMPLE), named=key)
    desk.worker.warm()


def on_refusal(text: str, desk: MapDesk, key: str, asked: object) -> Any:
    """Returns the reason for the browser: beside the field for a sentence, or in the legend where a row was asked for."""
    return _answer({"kind": "refused", "text": text, "about": "row" if isinstance(asked, int) else "text"})


@for_person(on_refusal)
def place_typed(desk: MapDesk, key: str, text: object) -> Any:
    """Returns where a typed sentence goes on every map, and its cosines to all sentences."""
    from explorer.operations.map_payload import cosines_to, typed_answer
    from explorer.operations.project import encode_typed, place_vectors

    found = desk.find(key)
    vectors = encode_typed(desk.registry, found, text)
    k = max(1, *(one.neighbours.k for one in found.encoders))
    cosines = [cosines_to(vector, one.vectors) for vector, one in zip(vectors, found.encoders, strict=True)]
    return _answer(typed_answer(found, str(text).strip(), place_vectors(found, vectors, k), cosines))


@for_person(on_refusal)
def answer_row(desk: MapDesk, key: str, row: object) -> Any:
    """Returns the cosines of a chosen sentence to all others; the browser asks for them to colour the points."""
    from explorer.operations.map_payload import cosine_answer

    found = desk.find(key)
    if not isinstance(row, int) or not 0 <= row < len(found.corpus.sentences):
        raise DataError(f"There is no sentence {str(row)[:40]} on these maps.")
    return _answer(cosine_answer(found, row))


def dump(made: Any) -> str:
    """Returns plain values as json for the browser."""
    # Without this sign no sentence looks like markup to gradio, which would warn of it.
    return json.dumps(made, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")


def _answer(made: dict[str, Any]) -> Any:
    # The browser looks at an answer only if it differs from the one before.
    return gr.HTML(answer=dump({**made, "at": time.time_ns()}))


def _maps() -> gr.HTML:
    js = f"{script()}\n{_ON_LOAD}"
    return gr.HTML("", html_template="", answer="", elem_id="maps", **{**BARE, "js_on_load": js})


def _draw(desk: MapDesk, session: str, wanted: Wanted, named: str | None = None) -> Iterator[Shown]:
    names = list(wanted.encoders or [info.name for info in desk.registry.encoders()])
    with MapJob(lambda progress: desk.make(wanted, progress), names) as job:
        desk.begin(session, job)
        try:
            yield Shown(working("Getting ready."))
            while not job.wait(_LOOK) and not job.stopped:
                yield Shown(job.status(), gr.Button(visible=True))
        finally:
            desk.end(session, job)
        if job.stopped:
            if not job.replaced:
                yield Shown(notice(map_text.STOPPED), gr.Button(visible=False))
            return
        key, maps = job.result()
    gone = f"{map_text.OTHERS} " if named not in (None, key) else ""
    shown = _shown(desk, key, notice(gone + _made(maps)))
    yield shown._replace(settled=map_controls.settled(key, replace(wanted, encoders=names)))


def _made(maps: Maps) -> str:
    cached = all(found.from_cache for found in maps.encoders)
    seconds = sum(found.seconds for found in maps.encoders)
    how = "read from the cache" if cached else f"laid out in {seconds:.1f} s"
    sentences, number = len(maps.corpus.sentences), len(maps.encoders)
    return f"{map_text.count(sentences, 'sentence')} on {map_text.count(number, 'map')}, {how}."


def _shown(desk: MapDesk, key: str, said: Html) -> Shown:
    maps = desk.find(key)
    shown = dump(desk.payload(maps))
    return Shown(said, gr.Button(visible=False), map_text.notes(maps.notes), shown, key, gr.Column(visible=True))


# gradio passes the request only to a plain function that declares it.
def _of_session(desk: MapDesk) -> Any:
    def draw(request: gr.Request, *controls: Any) -> Iterator[Shown]:
        yield from draw_maps(desk, str(request.session_hash), *controls)

    return draw


def _stop(desk: MapDesk) -> Any:
    def stop(request: gr.Request) -> None:
        desk.stop(str(request.session_hash))

    return stop


def _open(desk: MapDesk) -> Any:
    def opened(request: gr.Request, already: bool, *controls: Any) -> Iterator[Any]:
        if already:
            yield (True, *Shown())
            return
        # The controls may not have their values from the address yet.
        wanted = replace(Wanted(*controls), **map_controls.from_page(desk, request))
        for shown in open_maps(desk, str(request.session_hash), from_address(request, "maps"), wanted):
            yield (True, *shown)

    return opened


def _answers(desk: MapDesk) -> Any:
    def asked(event: gr.EventData, key: str) -> Any:
        wanted = event._data if isinstance(event._data, dict) else {}
        return place_typed(desk, key, wanted["text"]) if "text" in wanted else answer_row(desk, key, wanted.get("row"))

    return asked


def _restore(desk: MapDesk) -> Any:
    def restore(request: gr.Request) -> Any:
        return map_controls.restore(desk, request)

    return restore
