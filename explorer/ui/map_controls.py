"""What a person chooses before maps are drawn: corpus, encoders, method, settings; kept in the page's address."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr

from explorer.data.corpora import CORPUS_SUFFIXES, read_corpus
from explorer.data.corpus import read_sample_corpus
from explorer.errors import SettingError
from explorer.ui import map_text as text
from explorer.ui.cards import message, notice
from explorer.ui.errors import for_person
from explorer.ui.map_desk import FILE, LINES, MOST_NEIGHBOURS, SAMPLE, MapDesk, Wanted
from explorer.ui.page import BARE, PRIVATE, from_address, remember_in_address

_FIELDS = ("encoders", "method", "neighbours", "min_dist", "metric", "seed", "k", "most")
# What the address calls them, after the key of the maps.
_NAMES = ("maps", "map_encoders", "method", "n_neighbors", "min_dist", "metric", "seed", "k", "most")


@dataclass(frozen=True)
class Controls:
    """The components.

    Args:
        inputs: In the order of map_desk.Wanted.
        encoders: Which encoders.
        method: PCA or UMAP.
        k: Neighbours compared.
        restored: What an opened page gets: kind of corpus, row of the file, pasted lines, then _FIELDS.
    """

    inputs: Sequence[Any]
    encoders: gr.CheckboxGroup
    method: gr.Radio
    k: gr.Slider
    restored: Sequence[Any]


def place(desk: MapDesk) -> Controls:
    """Places the components."""
    names = [info.name for info in desk.registry.encoders()]
    corpora = [
        (f"Sample, {len(read_sample_corpus()):,} sentences", SAMPLE),
        ("A file", FILE),
        ("Pasted lines", LINES),
    ]
    with gr.Row(elem_classes="controls choices map-choice"):
        kind = gr.Radio(corpora, value=SAMPLE, label="Sentences", elem_id="map-corpus", min_width=300)
        encoders = gr.CheckboxGroup(names, value=names, label="Encoders", elem_id="map-encoders", min_width=300)
        method = gr.Radio(text.METHODS, value="pca", label="Kind of map", elem_id="map-method", min_width=240)
    row, file, column, label = _file_fields()
    lines = gr.Textbox(
        label="Sentences, one a line",
        lines=6,
        max_lines=12,
        visible=False,
        elem_id="map-lines",
        elem_classes="sentence",
        placeholder="Paste or type sentences, one a line",
    )
    kind.input(
        lambda chosen: (gr.Row(visible=chosen == FILE), gr.Textbox(visible=chosen == LINES)),
        kind,
        [row, lines],
        queue=False,
        **PRIVATE,
    )
    with gr.Accordion(text.SETTINGS, open=False, elem_classes="quiet", elem_id="map-settings"):
        neighbours, min_dist, metric, seed, k, most = _settings(desk)
    settings = [method, neighbours, min_dist, metric, seed, k, most]
    inputs = [kind, lines, file, column, label, encoders, *settings]
    return Controls(inputs, encoders, method, k, [kind, row, lines, encoders, *settings])


def _file_fields() -> tuple[gr.Row, gr.File, gr.Dropdown, gr.Dropdown]:
    with gr.Row(visible=False, elem_id="map-file-row") as row, gr.Column():
        file = gr.File(label="File of sentences", file_types=list(CORPUS_SUFFIXES), height=150, elem_id="map-file")
        with gr.Row():
            column = gr.Dropdown([], label="Column of sentences", elem_id="map-column", interactive=True)
            label = gr.Dropdown([], label="Column of labels, for colours", elem_id="map-label", interactive=True)
        said = gr.HTML(elem_id="map-file-said", **BARE)
    file.upload(look_at_file, file, [said, column, label], queue=True, **PRIVATE)
    file.clear(no_file, None, [said, column, label], queue=False, **PRIVATE)
    return row, file, column, label


def _settings(desk: MapDesk) -> list[Any]:
    # Bounds of the fields' own would be told in a corner, without the field's name; see map_desk.settings_of.
    with gr.Row():
        neighbours = gr.Number(15, label="n_neighbors", info=text.N_NEIGHBORS, precision=0)
        min_dist = gr.Number(0.1, label="min_dist", info=text.MIN_DIST, step=0.05)
        metric = gr.Dropdown(text.METRICS, value="cosine", label="Metric", info=text.METRIC)
    with gr.Row():
        seed = gr.Number(42, label="Seed", info=text.SEED, precision=0)
        k = gr.Slider(1, MOST_NEIGHBOURS, value=10, step=1, label="Neighbours, k", info=text.K, elem_id="map-k")
        caps = [(f"{cap:,}", cap) for cap in desk.caps]
        value = max(cap for cap in desk.caps if cap <= 2_000)
        most = gr.Dropdown(caps, value=value, label="Most sentences on a map", info=text.MOST, elem_id="map-most")
    return [neighbours, min_dist, metric, seed, k, most]


@for_person(lambda text, *_: (message(text), gr.Dropdown(choices=[], value=None), gr.Dropdown(choices=[], value=None)))
def look_at_file(path: str | None) -> tuple[Any, Any, Any]:
    """Returns what a file holds, and its columns to choose from."""
    if path is None:
        raise SettingError("No file was uploaded; choose one of " + ", ".join(CORPUS_SUFFIXES) + ".")
    found = read_corpus(path, most=1)
    said = notice(
        f"{found.name}: {text.count(found.distinct, 'different sentence')} in {text.count(found.given, 'row')}. "
        "Draw the maps to see them."
    )
    columns = gr.Dropdown(choices=list(found.columns), value=found.column or None)
    labels = [(text.NO_LABEL, ""), *((name, name) for name in found.label_columns)]
    return said, columns, gr.Dropdown(choices=labels, value="")


def no_file() -> tuple[Any, Any, Any]:
    """Returns nothing said and nothing to choose, once the file was taken away."""
    return "", gr.Dropdown(choices=[], value=None), gr.Dropdown(choices=[], value=None)


def settled(key: str, wanted: Wanted) -> str:
    """Returns what the page's address keeps of maps that are shown, for `remember`."""
    return json.dumps([key, *(getattr(wanted, field) for field in _FIELDS)])


def remember() -> str:
    """Returns JavaScript that writes what `settled` returned into the page's address."""
    return f"(settled) => {{ if (settled) ({remember_in_address(_NAMES)})(...JSON.parse(settled)); }}"


def restore(desk: MapDesk, request: gr.Request | None) -> tuple[Any, ...]:
    """Returns the restored components as the page's address has them; what it does not name or misspells stays.

    Where the maps that it names are still in memory, the sentences are those of the maps.
    """
    names = [info.name for info in desk.registry.encoders()]
    asked, key = from_page(desk, request), from_address(request, "maps")
    boxes = gr.CheckboxGroup(choices=names, value=asked.get("encoders", names))
    return *_corpus(desk, key), boxes, *(asked.get(field, gr.skip()) for field in _FIELDS[1:])


def _corpus(desk: MapDesk, key: str | None) -> tuple[Any, Any, Any]:
    kind = desk.kind(key)
    if kind not in (FILE, LINES):
        return gr.skip(), gr.skip(), gr.skip()
    corpus = desk.find(key).corpus
    sampled = len(corpus.sentences) < corpus.given - corpus.empty - corpus.repeated
    lines: dict[str, Any] = {} if kind == FILE or sampled else {"value": "\n".join(corpus.sentences)}
    return kind, gr.Row(visible=kind == FILE), gr.Textbox(visible=kind == LINES, **lines)


def from_page(desk: MapDesk, request: gr.Request | None) -> dict[str, Any]:
    """Returns what the page's address says of the fields of Wanted; what it does not name or misspells is left out."""
    asked = {name: from_address(request, name) for name in _NAMES}
    names = [info.name for info in desk.registry.encoders()]
    number = partial(_number, asked)
    found = {
        "encoders": [name for name in names if name in (asked["map_encoders"] or "").split(",")] or None,
        "method": _one_of(asked["method"], [value for _, value in text.METHODS]),
        "neighbours": number("n_neighbors", int, range(2, 201).__contains__),
        "min_dist": number("min_dist", float, lambda value: 0 <= value <= 1),
        "metric": _one_of(asked["metric"], [value for _, value in text.METRICS]),
        "seed": number("seed", int, range(2**32).__contains__),
        "k": number("k", int, range(1, MOST_NEIGHBOURS + 1).__contains__),
        "most": number("most", int, desk.caps.__contains__),
    }
    return {field: value for field, value in found.items() if value is not None}


def _one_of(value: str | None, choices: Sequence[str]) -> str | None:
    return value if value in choices else None


def _number(asked: dict[str, str | None], name: str, kind: type, allowed: Callable[[Any], bool]) -> Any:
    try:
        value = kind(asked[name] or "")
    except ValueError:
        return None
    return value if allowed(value) else None
