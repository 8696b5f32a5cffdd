"""The section "Which filters matter": a pair's cosine without each filter in turn. Part of the tab Filters."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import gradio as gr

from explorer.data.examples import read_examples
from explorer.encoders.registry import Registry
from explorer.errors import SettingError
from explorer.ui.cards import message, notice
from explorer.ui.data_table import Column, data_table, decimals
from explorer.ui.downloads import csv_button
from explorer.ui.errors import for_person
from explorer.ui.filters_text import caption
from explorer.ui.html import Html, tag
from explorer.ui.page import BARE, ON_MODEL, PRIVATE, Page
from explorer.ui.waiting import say_working

if TYPE_CHECKING:
    import pandas as pd

    from explorer.operations.filters import PairAblation

_HEADING = (
    "Every filter of a layer is set to zero in turn, in both sentences, and the cosine of the pair is computed again. Layer 5 "
    "has a single filter, so there is nothing to leave out."
)


def build(page: Page) -> None:
    """Places the section and wires it."""
    registry, example = page.registry, read_examples()[0]
    gr.HTML(tag("div", tag("h2", "Which filters matter"), tag("p", _HEADING, cls="small"), cls="heading"), **BARE)
    with gr.Row(elem_classes="typed"):
        first = _field("Sentence 1 of the pair", example.sentence1)
        second = _field("Sentence 2 of the pair", example.sentence2)
    with gr.Row(elem_classes="controls"):
        layer = gr.Radio([(f"Layer {n}", n) for n in range(1, 5)], value=2, label="Layer", elem_id="ablate-layer")
    with gr.Row(elem_classes="act"):
        button = gr.Button(
            "Leave each out", variant="primary", elem_id="ablate", elem_classes="go", scale=0, min_width=180
        )
        status = gr.HTML(
            notice("Press the button to see which filters this pair depends on."), elem_id="ablate-status", **BARE
        )
    with gr.Column(visible=False) as found:
        plot = gr.Plot(elem_id="ablation-plot", elem_classes="figure wide", show_label=False, container=False)
        table = gr.HTML(elem_id="ablation", **BARE)
        csv_button("ablation-csv", "ablation", partial(_table, registry), [first, second, layer])
    settings = {
        "fn": partial(leave_out, registry),
        "inputs": [first, second, layer],
        "outputs": [status, found, plot, table],
        **ON_MODEL,
        **PRIVATE,
    }
    for listen in (button.click, first.submit, second.submit, layer.input):
        say_working(listen, status)
        listen(**settings, trigger_mode="always_last")


@for_person(lambda text, *_: (message(text), gr.skip(), gr.skip(), gr.skip()))
def leave_out(registry: Registry, first: str | None, second: str | None, layer: int) -> tuple[Any, ...]:
    """Returns (status, column, figure, table) for a pair."""
    from explorer.figures.ablations import ablations_figure

    views = _views(registry, first, second, layer)
    figure = ablations_figure({name: view.result for name, view in views.items()})
    done = notice(
        f"Each of the {len(next(iter(views.values())).result.changes)} filters of layer {layer} was left out once."
    )
    return done, gr.Column(visible=True), figure, ablation_view(list(views.values()))


def ablation_view(views: Sequence[PairAblation]) -> Html:
    """Returns the words under the bars and one table an encoder."""
    words = caption(
        "the change in cosine when a filter is left out, the largest first. Below zero, purple: the filter makes the two "
        "sentences more alike; above, green: it tells them apart.",
        "what the filter does for other pairs, or what happens when two are left out together: their effects do not add up.",
        list(dict.fromkeys(f"{view.encoder}: {note}" for view in views for note in view.notes)),
    )
    return tag("div", words, tag("div", *(_one(view) for view in views), cls="sides"))


def _one(view: PairAblation) -> Html:
    a = view.result
    columns = (
        Column("Filter", number=True),
        Column("Cosine without it", number=True),
        Column("Change", number=True),
    )
    rows = [(str(n), decimals(float(a.cosines[n]), 4), _signed(float(a.changes[n]))) for n in a.ranking()]
    title = f"{view.encoder}: cosine {decimals(a.cosine, 4)} with all"
    return tag("div", tag("h4", title), data_table(columns, rows, f"Filters of {view.encoder} by what they matter"))


def _signed(value: float) -> str:
    written = decimals(value, 5)
    return f"+{written}" if value > 0 and float(f"{value:.5f}") else written


def _views(registry: Registry, first: str | None, second: str | None, layer: int) -> dict[str, PairAblation]:
    from explorer.operations.filters import ablate_pair, cnn_encoders

    names = cnn_encoders(registry)
    if not names:
        raise SettingError("No encoder here has a CNN, so there are no filters to leave out.")
    return {name: ablate_pair(registry, name, first, second, layer) for name in names}


def _table(registry: Registry, first: str | None, second: str | None, layer: int) -> pd.DataFrame:
    import pandas as pd

    from explorer.operations.filter_tables import ablation_table

    return pd.concat(
        [ablation_table(view) for view in _views(registry, first, second, layer).values()], ignore_index=True
    )


def _field(label: str, value: str) -> gr.Textbox:
    return gr.Textbox(value, label=label, lines=1, max_lines=5, placeholder="Type a sentence", elem_classes="sentence")
