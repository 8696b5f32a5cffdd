"""The words and tables beside the pictures of the filters. Values in, markup out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from explorer.ui.data_table import Column, data_table, decimals
from explorer.ui.html import Html, tag

if TYPE_CHECKING:  # importing these for real brings torch, which the page must not wait for
    from explorer.analysis.receptive_fields import Span
    from explorer.operations.filters import Cell, FilterOnSentence

SUMMARIES = (
    ("Signed mean", "mean"),
    ("Mean magnitude", "magnitude"),
    ("Largest magnitude", "maximum"),
    ("One of them", "dimension"),
)
_INTRO = (
    "CNN pooling is five layers of small filters over the word pieces' embeddings: 32, 64, 128, 128 and 1 of them. Each "
    "layer halves the number of positions, so a position of a deep layer can see a longer stretch of the sentence, its "
    "receptive field. Every filter works on each hidden dimension of the embedding alone, with the same weights."
)


def intro() -> Html:
    """Returns what the tab is about."""
    return tag("p", _INTRO, cls="small lead")


def caption(shows: str, warns: str, more: Sequence[str] = ()) -> Html:
    """Returns what a picture shows, what one may not conclude from it, and notes.

    Args:
        shows: A sentence or two.
        warns: Likewise.
        more: Such as what was cut off.
    """
    return tag(
        "div",
        tag("p", tag("strong", "Shown: "), shows),
        tag("p", tag("strong", "Not shown: "), warns),
        *(tag("p", note) for note in more),
        cls="caption small",
    )


def layers_caption(meaning: str, notes: Sequence[str]) -> Html:
    """Returns the words under the heat maps."""
    return caption(
        f"{meaning}, for every filter (up and down) and position (along the word pieces). Green is above zero, purple below; "
        "each layer has one colour scale for all encoders. Click a cell to see its filter.",
        "whether a filter matters for a score; that is at the foot of this tab. A filter's number is no meaning: two encoders "
        "may use the same number for different things, unless, as the shipped ones, both began with the same random filters.",
        notes,
    )


def filter_view(view: FilterOnSentence) -> Html:
    """Returns the words and the table under one filter's picture."""
    words = caption(
        f"{view.meaning}, for filter {view.filter} of layer {view.layer} of {view.encoder}: above, its value at each position; "
        "below, the word pieces each position can see. Click a bar to see its arithmetic.",
        "which of the words in the band the value comes from; and every word piece already carries something of the whole "
        "sentence, since the backbone has mixed them.",
        view.notes,
    )
    columns = (
        Column("Position", number=True),
        Column("Value", number=True),
        Column("Word pieces", "numbered from 0"),
        Column("Characters", "in your text"),
        Column("Text it can see"),
    )
    rows = [
        (str(t), decimals(float(value), 4), _piece_range(span), _character_range(span), _seen(span))
        for t, (value, span) in enumerate(zip(view.values, view.spans, strict=True))
    ]
    return tag("div", words, data_table(columns, rows, "Receptive fields of the filter's positions"), cls="fields")


def cell_view(cell: Cell) -> Html:
    """Returns the arithmetic of one cell, step by step."""
    a = cell.arithmetic
    title = f"{cell.encoder}, layer {a.layer}, filter {a.filter}, position {a.position}, hidden dimension {a.dimension}"
    note = caption(
        "every number that goes into one activation. The window's values are the larger of two neighbours in the layer before "
        "(max pooling); beyond the sentence's ends they are zero.",
        "why the weights are as they are, or what the other hidden dimensions do: the pictures of the layers and of the "
        "filter may show a mean over all of them.",
        cell.notes,
    )
    return tag(
        "div",
        tag("h3", title),
        tag("div", _steps(cell), _places(cell), cls="cell"),
        note,
        tag("h4", "All products"),
        _products(cell),
    )


def _steps(cell: Cell) -> Html:
    a = cell.arithmetic
    lines = (
        ("total", "the only product" if a.products.size == 1 else f"sum of {a.products.size:,} products", a.total),
        ("bias", "+ bias", a.bias),
        ("convolved", "= before tanh", a.convolved),
        ("activation", "tanh of it = activation", a.activation),
        ("forward", "the same cell when the sentence was encoded", a.forward),
    )
    rows = [
        tag("tr", tag("th", name, scope="row"), tag("td", decimals(value), cls="number"), data_step=key, cls=key)
        for key, name, value in lines
    ]
    return tag("table", tag("tbody", *rows), cls="data steps")


def _places(cell: Cell) -> Html:
    a = cell.arithmetic
    middle = len(a.inputs) // 2
    columns = (Column("Place in the window"), Column("Text it can see"), Column("Sum of products", number=True))
    rows = [
        (
            _offset(tap - middle),
            _seen(span) if span else "beyond the sentence's end",
            decimals(float(a.products[tap].sum())),
        )
        for tap, span in enumerate(cell.tap_spans)
    ]
    return data_table(columns, rows, "The places of the window", foot=("Sum", "", decimals(a.total)))


def _products(cell: Cell) -> Html:
    a = cell.arithmetic
    taps, channels = np.unravel_index(np.argsort(-np.abs(a.products), axis=None, kind="stable"), a.products.shape)
    middle = len(a.inputs) // 2
    source = "word piece" if a.layer == 1 else f"position in layer {a.layer - 1}"
    columns = (
        Column("Place"),
        *(() if a.layer == 1 else (Column("Input filter", f"of layer {a.layer - 1}", number=True),)),
        Column("Taken from", source, number=True),
        Column("Value", number=True),
        Column("× weight", number=True),
        Column("= product", number=True),
    )
    rows = [
        (
            _offset(int(tap) - middle),
            *(() if a.layer == 1 else (str(channel),)),
            str(a.sources[tap, channel]) if a.sources[tap, channel] >= 0 else "outside",
            *(decimals(float(x[tap, channel])) for x in (a.inputs, a.weights, a.products)),
        )
        for tap, channel in zip(taps, channels, strict=True)
    ]
    foot = ("Sum", *[""] * (len(columns) - 2), decimals(a.total))
    return data_table(columns, rows, "All products of the window, the largest first", foot=foot)


def _offset(places: int) -> str:
    if places == 0:
        return "middle"
    return f"{abs(places)} {'left' if places < 0 else 'right'}"


def _piece_range(span: Span) -> str:
    last = span.stop_piece - 1
    return str(last) if last == span.start_piece else f"{span.start_piece} to {last}"


def _character_range(span: Span) -> str:
    if not span.text:
        return "none"
    last = span.stop - 1
    return str(last) if last == span.start else f"{span.start} to {last}"


def _seen(span: Span) -> str:
    return span.text or "special pieces alone"
