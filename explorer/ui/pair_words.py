"""The closed section "Which words make them alike?" of the Compare tab: a pair's cosine taken apart into word pieces."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import gradio as gr

from explorer.encoders.registry import Registry
from explorer.errors import EncoderError
from explorer.figures.theme import identities
from explorer.ui.cards import message, notice
from explorer.ui.downloads import csv_button
from explorer.ui.errors import for_person
from explorer.ui.filters_text import caption
from explorer.ui.html import Html, tag
from explorer.ui.page import BARE, ON_MODEL, PRIVATE
from explorer.ui.waiting import say_working

if TYPE_CHECKING:
    import pandas as pd

    from explorer.operations.filters import PairWords, SentenceWords

_INTRO = (
    "A sentence's embedding is made from its word pieces' embeddings, so the cosine of two sentences can be written "
    "as a sum over all pairs of word pieces, one from each sentence. Average pooling splits exactly; CNN pooling by "
    "integrated gradients, which leaves a small residual."
)
_ALIKE = (
    "how much each pair of word pieces adds to the cosine: green adds, purple takes away. The bars at the edges are "
    "the sums of the rows and columns; all of it together is the cosine."
)
_ALIKE_NOT = (
    "what the words mean to each other on their own. The backbone has let every word piece look at its whole sentence "
    "before, so a piece stands for its context too, and a full stop can carry a lot."
)
_WEIGHT = (
    "how strongly each word piece's embedding enters the sentence's, as shares that sum to 1. Average pooling gives "
    "all the same, by its construction; the CNN does not, and that is what it adds."
)
_WEIGHT_NOT = (
    "which words are important. A large weight on a small embedding changes little, and the CNN's weights are a mean "
    "over the path from an empty sentence to this one."
)


def build(registry: Registry, first: gr.Textbox, second: gr.Textbox) -> gr.Dropdown:
    """Places the section and wires it; returns its choice of an encoder.

    Args:
        registry: The encoders.
        first: The field of sentence 1.
        second: Of sentence 2.
    """
    names = [info.name for info in registry.encoders()]
    with gr.Accordion("Which words make them alike?", open=False, elem_classes="quiet", elem_id="words"):
        gr.HTML(tag("p", _INTRO, cls="small"), **BARE)
        with gr.Row(elem_classes="controls"):
            encoder = gr.Dropdown(names, value=names[0] if names else None, label="Encoder", elem_id="words-encoder")
        with gr.Row(elem_classes="act"):
            button = gr.Button(
                "Take it apart", variant="primary", elem_id="take-apart", elem_classes="go", scale=0, min_width=170
            )
            status = gr.HTML(notice("Takes the pair above; nothing is computed until you ask."), **BARE)
        with gr.Column(visible=False) as found:
            matrix = _plot("matrix-plot")
            matrix_text = gr.HTML(elem_id="matrix-text", **BARE)
            pair = [first, second, encoder]
            csv_button("matrix-csv", "word-contributions", partial(_matrix_table, registry), pair)
            gr.HTML(tag("h3", "The weight of each word piece"), **BARE)
            weights = [_plot("weights-1-plot"), _plot("weights-2-plot")]
            weights_text = gr.HTML(**BARE)
            csv_button("weights-csv", "word-weights", partial(_weights_table, registry), pair)
    outputs = [status, found, matrix, matrix_text, *weights, weights_text]
    for listen in (button.click, encoder.input):
        say_working(listen, status)
        listen(partial(take_apart, registry), pair, outputs, trigger_mode="always_last", **ON_MODEL, **PRIVATE)
    return encoder


@for_person(lambda text, *_: (message(text), *(gr.skip() for _ in range(6))))
def take_apart(registry: Registry, first: str | None, second: str | None, encoder: str | None) -> tuple[Any, ...]:
    """Returns (status, column, matrix figure, its words, the weights of both sentences, their words)."""
    from explorer.figures.filters import contributions_figure, weights_figure
    from explorer.operations.filter_tables import pair_labels
    from explorer.operations.filters import explain_pair

    if encoder is None:
        raise EncoderError("No encoder is here; put one into checkpoints/ and reload the page.")
    view = explain_pair(registry, encoder, first, second)
    figure = contributions_figure(view.result.matrix, *pair_labels(view))
    groups = _alike_cut(registry, view)
    looks = identities(registry.encoders())
    drawn = [
        weights_figure(
            {words.encoder: words.parts.weights for words in group},
            group[0].pieces.pieces,
            looks,
            f"weight, sentence {number}",
        )
        for number, group in enumerate(groups, start=1)
    ]
    return (
        notice(f"The cosine of {encoder} taken apart."),
        gr.Column(visible=True),
        figure,
        caption(_ALIKE, _ALIKE_NOT, view.notes),
        *drawn,
        _weights_caption(registry, view, groups),
    )


def _alike_cut(registry: Registry, view: PairWords) -> tuple[list[SentenceWords], list[SentenceWords]]:
    """Returns both sentences' words for the chosen encoder and for those that cut them into the same word pieces."""
    from explorer.operations.filters import weigh_words

    groups: tuple[list[SentenceWords], list[SentenceWords]] = ([], [])
    for info in registry.choose():
        for group, sentence, pieces in zip(
            groups, (view.sentence1, view.sentence2), (view.pieces1, view.pieces2), strict=True
        ):
            if info.name != view.encoder and not _cuts_alike(registry, info.name, sentence, pieces.pieces):
                continue
            group.append(weigh_words(registry, info.name, sentence))
    return groups


def _cuts_alike(registry: Registry, name: str, sentence: str, pieces: Sequence[str]) -> bool:
    from explorer.encoders.encode import word_pieces

    return word_pieces(registry.load(name), sentence).pieces == tuple(pieces)


def _weights_caption(registry: Registry, view: PairWords, groups: Sequence[Sequence[SentenceWords]]) -> Html:
    shown = {words.encoder for group in groups for words in group}
    left = [info.name for info in registry.choose() if info.name not in shown]
    same = (
        f"Not drawn: {', '.join(left)}, which cut these sentences into other word pieces. Choose one of them above to see it."
        if left
        else "All encoders here cut these sentences into the same word pieces."
    )
    methods = dict.fromkeys(f"{words.encoder}: {words.notes[0]}" for words in groups[0])
    return caption(_WEIGHT, _WEIGHT_NOT, [same, *methods])


def _matrix_table(registry: Registry, first: str | None, second: str | None, encoder: str) -> pd.DataFrame:
    from explorer.operations.filter_tables import words_table
    from explorer.operations.filters import explain_pair

    return words_table(explain_pair(registry, encoder, first, second))


def _weights_table(registry: Registry, first: str | None, second: str | None, encoder: str) -> pd.DataFrame:
    import pandas as pd

    from explorer.operations.filter_tables import weights_table
    from explorer.operations.filters import explain_pair

    tables = []
    for number, group in enumerate(_alike_cut(registry, explain_pair(registry, encoder, first, second)), start=1):
        table = weights_table(group)
        table.insert(1, "sentence", number)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _plot(id: str) -> gr.Plot:
    return gr.Plot(elem_id=id, elem_classes="figure wide", show_label=False, container=False)
