"""The tab Filters: what the CNN of each encoder computes on one sentence, in three depths. Wires only.

All layers as heat maps, one filter over the sentence, one cell's arithmetic; a click goes down, the three buttons above the
picture go anywhere. What filters like and matter is in filters_corpus.py and filters_pair.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import gradio as gr

from explorer.encoders.registry import Registry
from explorer.errors import SettingError
from explorer.ui import filters_api, filters_corpus, filters_pair
from explorer.ui.cards import message, notice, working
from explorer.ui.downloads import csv_button
from explorer.ui.errors import for_person
from explorer.ui.filters_text import SUMMARIES, cell_view, filter_view, intro, layers_caption
from explorer.ui.page import BARE, ON_MODEL, PRIVATE, Page, keep_choices, load_on_open
from explorer.ui.plot_clicks import on_point_click
from explorer.ui.waiting import say_working

if TYPE_CHECKING:
    import pandas as pd

EXAMPLE = "Two small dogs chase a red ball along the windy beach."
_LAYERS = [(f"Layer {n}", n) for n in range(1, 6)]
LAYERS, FILTER, CELL = "layers", "filter", "cell"
NO_CNN = "No encoder here has a CNN, so there are no filters to look at."


@dataclass(frozen=True)
class Choice:
    """What is looked at, as the controls have it; a field that a person emptied is None.

    Args:
        sentence: As typed.
        encoder: Name.
        layer: 1 to 5.
        filter: From 0.
        position: From 0.
        dimension: Hidden dimension, from 0.
        summary: See analysis.filters.Summary.
    """

    sentence: str | None
    encoder: str | None
    layer: int | None
    filter: int | None
    position: int | None
    dimension: int | None
    summary: str

    def whole(self) -> Choice:
        """Returns the choice with zero for what was emptied."""
        return replace(self, filter=self.filter or 0, position=self.position or 0, dimension=self.dimension or 0)


class Shown(NamedTuple):
    """What the tab shows after an event, in the order of its components."""

    status: Any = gr.skip()
    depth: Any = gr.skip()
    to_layers: Any = gr.skip()
    to_filter: Any = gr.skip()
    to_cell: Any = gr.skip()
    at_layers: Any = gr.skip()
    at_filter: Any = gr.skip()
    at_cell: Any = gr.skip()
    layers_plot: Any = gr.skip()
    layers_text: Any = gr.skip()
    filter_plot: Any = gr.skip()
    filter_text: Any = gr.skip()
    cell_plot: Any = gr.skip()
    cell_text: Any = gr.skip()
    encoder: Any = gr.skip()
    layer: Any = gr.skip()
    filter: Any = gr.skip()
    position: Any = gr.skip()


def build(page: Page) -> None:
    """Places the tab's components and wires them."""
    registry = page.registry
    gr.HTML(intro(), **BARE)
    with gr.Row(elem_classes="typed"):
        sentence = gr.Textbox(
            EXAMPLE, label="Sentence", lines=1, max_lines=5, placeholder="Type a sentence", elem_classes="sentence"
        )
    with gr.Row(elem_classes="act"):
        button = gr.Button("Look inside", variant="primary", elem_id="look", elem_classes="go", scale=0, min_width=140)
        status = gr.HTML(working("Loading the encoders, once after each start."), elem_id="filters-status", **BARE)
    fields = _fields(names_now(registry))
    choice = [sentence, *fields]
    encoder, layer, filter, position, _, _ = fields
    depth = gr.State(LAYERS)
    with gr.Row(elem_classes="pills crumbs", elem_id="crumbs"):
        crumbs = [
            gr.Button(text, size="sm", elem_classes="pill", min_width=0)
            for text in ("All layers", "One filter", "One cell")
        ]
    with gr.Column(elem_classes="depth") as at_layers:
        layers_plot = _plot("layers-plot", "wide tall")
        layers_text = gr.HTML(elem_classes="words", **BARE)
        csv_button("layers-csv", "activations", partial(_layers_table, registry), choice)
    with gr.Column(visible=False, elem_classes="depth") as at_filter:
        filter_plot = _plot("filter-plot", "wide")
        filter_text = gr.HTML(**BARE)
        csv_button("filter-csv", "filter", partial(_filter_table, registry), choice)
    with gr.Column(visible=False, elem_classes="depth") as at_cell:
        cell_text = gr.HTML(elem_id="cell", **BARE)
        cell_plot = _plot("cell-plot", "wide")
        csv_button("cell-csv", "cell", partial(_cell_table, registry), choice)
    outputs = [
        *(status, depth, *crumbs, at_layers, at_filter, at_cell, layers_plot, layers_text, filter_plot, filter_text),
        *(cell_plot, cell_text, encoder, layer, filter, position),
    ]

    again = {"fn": partial(show, registry), "inputs": [depth, *choice], "outputs": outputs, **ON_MODEL, **PRIVATE}
    for listen in (button.click, sentence.submit, *(field.input for field in fields)):
        say_working(listen, status)
        listen(**again, trigger_mode="always_last")
    for crumb, goal in zip(crumbs, (LAYERS, FILTER, CELL), strict=True):
        say_working(crumb.click, status)
        crumb.click(partial(show, registry, goal), choice, outputs, **ON_MODEL, **PRIVATE)
    on_point_click("layers-plot", partial(open_filter, registry), choice, outputs, 4, status)
    on_point_click("filter-plot", partial(open_cell, registry), choice, outputs, 1, status)
    load_on_open(page, partial(show, registry, LAYERS), outputs, choice)
    keep_choices(page, encoder, partial(names_now, registry))
    filters_corpus.build(page, choice, again)
    filters_pair.build(page)
    filters_api.build(registry)


def names_now(registry: Registry) -> list[str]:
    """Returns the names of the encoders with a CNN that are here now."""
    return [info.name for info in registry.scan()[0] if info.pooling == "cnn"]


def on_error(text: str, *_: object) -> Shown:
    """Returns the reason, and leaves everything else as it is."""
    return Shown(status=message(text))


@for_person(on_error)
def show(registry: Registry, depth: str, *controls: Any) -> Shown:
    """Returns the tab at one depth.

    Args:
        registry: The encoders.
        depth: LAYERS, FILTER or CELL.
        controls: The fields of a Choice.
    """
    return _show(registry, depth, Choice(*controls), Choice(*controls))


@for_person(on_error)
def open_filter(registry: Registry, point: Sequence[Any], *controls: Any) -> Shown:
    """Returns one filter, after a click on a cell of the heat maps: point is [encoder, layer, filter, position]."""
    typed = Choice(*controls)
    encoder, layer, filter, position = str(point[0]), *map(int, point[1:])
    there = replace(typed, encoder=encoder, layer=layer, filter=filter, position=position)
    return _show(registry, FILTER, there, typed)


@for_person(on_error)
def open_cell(registry: Registry, point: Sequence[Any], *controls: Any) -> Shown:
    """Returns one cell, after a click on a bar of the filter's picture: point is [position]."""
    typed = Choice(*controls)
    return _show(registry, CELL, replace(typed, position=int(point[0])), typed)


def _show(registry: Registry, depth: str, choice: Choice, typed: Choice) -> Shown:
    from explorer.operations import filters as use

    names = use.cnn_encoders(registry)
    if not names:
        raise SettingError(NO_CNN)
    choice = choice.whole()
    if choice.encoder not in names:
        choice = replace(choice, encoder=names[0])
    seen = names if depth == LAYERS else [str(choice.encoder)]
    views = {
        name: use.look_at_layers(registry, name, choice.sentence, choice.summary, choice.dimension) for name in seen
    }
    view = views[str(choice.encoder)]
    if choice.layer not in range(1, len(view.maps) + 1):
        choice = replace(choice, layer=1)
    assert choice.layer is not None
    filters, positions = view.maps[choice.layer - 1].shape
    choice, remark = _within(choice, filters, positions)
    shown = Shown(
        status=notice(remark or _SAYS[depth]),
        depth=depth,
        **_crumbs(depth, choice),
        encoder=gr.Dropdown(choices=names, **_new(typed.encoder, choice.encoder)),
        layer=gr.Dropdown(choices=_LAYERS, **_new(typed.layer, choice.layer)),
        filter=gr.Number(label=f"Filter (0 to {filters - 1})", **_new(typed.filter, choice.filter)),
        position=gr.Number(label=f"Position (0 to {positions - 1})", **_new(typed.position, choice.position)),
    )
    if depth == LAYERS:
        return _with_layers(shown, views)
    return _with_filter(shown, registry, choice) if depth == FILTER else _with_cell(shown, registry, choice)


_SAYS = {
    LAYERS: "Click a cell of a picture to see its filter, or choose one in the fields below.",
    FILTER: "Click a bar to see the arithmetic behind it, or choose a position.",
    CELL: "Every number behind one activation. Choose another hidden dimension to see the same filter there.",
}


def _within(choice: Choice, filters: int, positions: int) -> tuple[Choice, str]:
    """Returns the choice with filter and position inside the layer, and what was changed for that."""
    kept = replace(
        choice,
        filter=min(max(choice.filter or 0, 0), filters - 1),
        position=min(max(choice.position or 0, 0), positions - 1),
    )
    remarks = []
    if kept.filter != choice.filter:
        remarks.append(f"Layer {choice.layer} has filters 0 to {filters - 1}; filter {kept.filter} is shown.")
    if kept.position != choice.position:
        remarks.append(
            f"Layer {choice.layer} has positions 0 to {positions - 1} for this sentence; position {kept.position} is shown."
        )
    return kept, " ".join(remarks)


def _crumbs(depth: str, choice: Choice) -> dict[str, Any]:
    texts = ("All layers", f"Filter {choice.filter} of layer {choice.layer}", f"Position {choice.position}")
    made: dict[str, Any] = {}
    for goal, text in zip((LAYERS, FILTER, CELL), texts, strict=True):
        here = goal == depth
        made[f"to_{goal}"] = gr.Button(text, variant="primary" if here else "secondary")
        made[f"at_{goal}"] = gr.Column(visible=here)
    return made


def _with_layers(shown: Shown, views: dict[str, Any]) -> Shown:
    from explorer.figures.filters import layers_figure

    first = next(iter(views.values()))
    figure = layers_figure(
        {name: view.maps for name, view in views.items()},
        {name: view.pieces.pieces for name, view in views.items()},
        {name: view.spans for name, view in views.items()},
        signed=first.summary in ("mean", "dimension"),
    )
    notes = list(dict.fromkeys(f"{name}: {note}" for name, view in views.items() for note in view.notes))
    return shown._replace(layers_plot=figure, layers_text=layers_caption(first.meaning, notes))


def _with_filter(shown: Shown, registry: Registry, choice: Choice) -> Shown:
    from explorer.figures.filters import filter_figure
    from explorer.operations.filters import look_at_filter

    view = look_at_filter(registry, *_place(choice), choice.summary, choice.dimension)
    figure = filter_figure(view.values, view.spans, view.pieces.pieces, view.layer)
    return shown._replace(filter_plot=figure, filter_text=filter_view(view))


def _with_cell(shown: Shown, registry: Registry, choice: Choice) -> Shown:
    from explorer.figures.filters import cell_figure
    from explorer.operations.filters import look_at_cell

    cell = look_at_cell(registry, *_place(choice), choice.position or 0, choice.dimension or 0)
    # A window of a single product is no picture.
    figure = cell_figure(cell.arithmetic) if cell.arithmetic.products.size > 1 else None
    return shown._replace(cell_plot=gr.Plot(figure, visible=figure is not None), cell_text=cell_view(cell))


def _layers_table(registry: Registry, *controls: Any) -> pd.DataFrame:
    return _table(registry, "layers", Choice(*controls), None)


def _filter_table(registry: Registry, *controls: Any) -> pd.DataFrame:
    choice = Choice(*controls)
    return _table(registry, "filter", choice, [str(choice.encoder)])


def _cell_table(registry: Registry, *controls: Any) -> pd.DataFrame:
    choice = Choice(*controls)
    return _table(registry, "cell", choice, [str(choice.encoder)])


def _table(registry: Registry, view: str, choice: Choice, encoders: list[str] | None) -> pd.DataFrame:
    from explorer.operations.filter_report import FilterRequest, filter_report

    c = choice.whole()
    request = FilterRequest(view, c.sentence, None, encoders, c.layer, c.filter, c.position, c.dimension, c.summary)
    return filter_report(registry, request).table


def _place(choice: Choice) -> tuple[str, str | None, int, int]:
    return str(choice.encoder), choice.sentence, choice.layer or 1, choice.filter or 0


def _new(typed: Any, value: Any) -> dict[str, Any]:
    """Returns the value only where it is not what the control shows already, so that typing is not disturbed."""
    return {} if typed == value else {"value": value}


def _fields(names: list[str]) -> tuple[Any, ...]:
    """Places the controls of a Choice but the sentence, in its order."""
    with gr.Row(elem_classes="controls"):
        encoder = gr.Dropdown(names, value=names[0] if names else None, label="Encoder", min_width=150)
        layer = gr.Dropdown(_LAYERS, value=1, label="Layer", min_width=110)
        filter = gr.Number(0, label="Filter", precision=0, min_width=110, elem_id="filter-number")
        position = gr.Number(0, label="Position", precision=0, min_width=110, elem_id="position-number")
        dimension = gr.Number(0, label="Hidden dimension", precision=0, min_width=130, elem_id="dimension-number")
        summary = gr.Dropdown(list(SUMMARIES), value="mean", label="Over hidden dimensions", min_width=180)
    return encoder, layer, filter, position, dimension, summary


def _plot(id: str, classes: str) -> gr.Plot:
    return gr.Plot(elem_id=id, elem_classes=f"figure {classes}", show_label=False, container=False)
