"""The part Anatomy of the tab Evaluate: where a backbone's parameters are, for the published models, ours and any sizes."""

from __future__ import annotations

from functools import partial
from typing import Any

import gradio as gr

from explorer.analysis.anatomy import Anatomy, Shape, Sharing, count
from explorer.data.paper import read_table
from explorer.operations.anatomy import shapes
from explorer.ui import evaluate_text, words
from explorer.ui.cards import message, notice
from explorer.ui.data_table import Column, data_table
from explorer.ui.errors import for_person
from explorer.ui.filters_text import caption
from explorer.ui.html import Html
from explorer.ui.page import BARE, PRIVATE, Page, load_on_open

SHARINGS = [
    ("none", Sharing.NONE),
    ("attention", Sharing.ATTENTION),
    ("feed-forward", Sharing.FEED_FORWARD),
    ("all", Sharing.ALL),
]
UNITS = ["millions", "per cent"]
FIRST, OWN = "ALBERT-base", "these sizes"
# Words in a published change -> the control it belongs to.
_CONTROLS = (
    ("share", "Sharing"),
    ("embedding size", "E"),
    ("layers", "Layers"),
    ("ALBERT-xxlarge instead", "H, layers, sharing"),
)


def build(page: Page) -> None:
    """Places the part's components and wires them."""
    known = shapes(page.registry.scan()[0])
    first = known[FIRST]
    gr.HTML(evaluate_text.heading("Where the parameters are"), **BARE)
    with gr.Row(elem_classes="controls"):
        preset = gr.Dropdown(
            list(known),
            value=FIRST,
            label="Start from",
            info="a known backbone",
            min_width=170,
            elem_id="anatomy-preset",
        )
        numbers = [
            gr.Number(value, label=label, info=info, precision=0, minimum=1, min_width=105)
            for label, info, value in (
                ("Vocabulary", "word pieces", first.vocabulary),
                ("E", "stored word vectors", first.embedding),
                ("H", "vectors in the layers", first.hidden),
                ("Layers", "one after another", first.layers),
                ("Intermediate", "feed-forward size", first.intermediate),
            )
        ]
        sharing = gr.Dropdown(
            SHARINGS, value=first.sharing, label="Layers share", info="the same weights", min_width=130
        )
    status = gr.HTML(elem_classes="status", **BARE)
    unit = gr.Radio(UNITS, value=UNITS[0], label="Bars in", elem_classes="narrow")
    figure = gr.Plot(elem_id="anatomy-plot", elem_classes="figure", show_label=False, container=False)
    gr.HTML(caption(*evaluate_text.ANATOMY), **BARE)
    table = gr.HTML(elem_id="anatomy-table", **BARE)
    gr.HTML(
        evaluate_text.heading(
            "What such changes did to scores",
            "Published by ALBERT's authors (arXiv 1909.11942), with the control above that each change belongs to; nothing here "
            "was measured by this program.",
        ),
        **BARE,
    )
    gr.HTML(ablations(), **BARE)

    sizes: list[Any] = [*numbers, sharing]
    outputs = [status, figure, table]
    inputs = [unit, preset, *sizes]
    filled = preset.input(partial(fill, page), preset, sizes, **PRIVATE)
    filled.then(partial(draw, page), inputs, outputs, **PRIVATE)
    for control in (unit, *sizes):
        control.input(partial(draw, page), inputs, outputs, trigger_mode="always_last", **PRIVATE)
    load_on_open(page, partial(draw, page), outputs, inputs)


def fill(page: Page, preset: str) -> tuple[Any, ...]:
    """Returns a known backbone's sizes for the controls."""
    shape = shapes(page.registry.scan()[0])[preset]
    return shape.vocabulary, shape.embedding, shape.hidden, shape.layers, shape.intermediate, shape.sharing


@for_person(lambda text, *_: (message(text), gr.skip(), gr.skip()))
def draw(page: Page, unit: str, preset: str, *sizes: Any) -> tuple[Any, ...]:
    """Returns a sentence, the figure and the table of a backbone of the given sizes, beside the known ones.

    Args:
        page: Whose encoders.
        unit: One of UNITS.
        preset: A known backbone; what the controls do not say is taken from it.
        sizes: Vocabulary, E, H, layers, intermediate, sharing.
    """
    from explorer.figures.evaluate import anatomy_figure

    known = shapes(page.registry.scan()[0])
    shape = shape_from(known[preset], *sizes)
    own = count(shape)
    changed = shape != known[preset]
    models = {name: count(other) for name, other in known.items()}
    drawn = ({OWN: own} if changed else {}) | models
    total = f"{own.total / 1e6:.2f} million parameters ({own.total:,})"
    work = f"{own.multiply_adds / 1e6:.1f} million multiply-adds for each word piece"
    figure = anatomy_figure(drawn, shares=unit == UNITS[1])
    return notice(f"{total}, {work}.", OWN if changed else preset), figure, part_table(own)


def shape_from(base: Shape, *sizes: Any) -> Shape:
    """Returns the shape the controls describe; an emptied number counts as 0, which `count` refuses with a reason."""
    vocabulary, embedding, hidden, layers, intermediate = (int(size or 0) for size in sizes[:5])
    return Shape(
        vocabulary,
        embedding,
        hidden,
        layers,
        intermediate,
        Sharing(sizes[5]),
        mapping=base.mapping or embedding != hidden,
        positions=base.positions,
        token_types=base.token_types,
        pooler=base.pooler,
        sentence_layer=base.sentence_layer,
    )


def part_table(anatomy: Anatomy) -> Html:
    """Returns the parts with their parameters and shares."""
    columns = [Column("Part"), Column("Sets of weights", number=True), Column("Parameters", number=True)]
    columns.append(Column("Share", "per cent", number=True))
    rows = [
        [part.name, str(part.sets), f"{part.parameters:,}", f"{100 * part.parameters / anatomy.total:.1f}"]
        for part in anatomy.parts
    ]
    return data_table(columns, rows, "Parameters by part", foot=["All", "", f"{anatomy.total:,}", "100.0"])


def ablations() -> Html:
    """Returns the published ablations, each with the control it belongs to."""
    columns = [Column("Control"), Column("Change"), Column("Measured on")]
    columns += [Column("Before", number=True), Column("After", number=True), Column("Effect")]
    rows = []
    for row in read_table("albert_ablations").itertuples():
        control = next((name for word, name in _CONTROLS if word in row.change), "pre-training, not in the anatomy")
        before, after = (words.DASH if value != value else f"{value:.1f}" for value in (row.before, row.after))
        effect = row.effect if isinstance(row.effect, str) else words.DASH
        rows.append([control, row.change, row.setting, before, after, effect])
    return data_table(columns, rows, "Published ablations")
