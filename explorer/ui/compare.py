"""The first tab: two sentences, the score of every encoder, and why to read it with care. Wires only."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from explorer.data.examples import Example, read_examples
from explorer.encoders.folder import EncoderInfo
from explorer.encoders.registry import Registry
from explorer.errors import EncoderError
from explorer.paths import runs_folder
from explorer.ui import add_encoder, explanations, pair_words
from explorer.ui.cards import cards, message, notice, working
from explorer.ui.encoder_table import encoder_table
from explorer.ui.errors import for_person, refuse
from explorer.ui.html import Html
from explorer.ui.page import BARE, ON_MODEL, PRIVATE, Page, from_address, keep_choices, remember_in_address
from explorer.ui.pieces import aligned_pieces

if TYPE_CHECKING:  # importing it for real brings torch, which the page must not wait for
    from explorer.operations.score import PairScore

Shown = tuple[Any, Any, Any]
# Seconds without news after which unfinished results are shown.
_PATIENCE = 0.3
# A lesson leaves dozens of runs; scoring with all of them would keep everyone waiting.
_RUNS_FIRST = 2


def build(page: Page) -> None:
    """Places the tab's components and wires them."""
    registry, examples = page.registry, read_examples()
    infos, problems = registry.encoders(), registry.scan()[1]
    names, ticked = [info.name for info in infos], names_first(infos)
    with gr.Row(elem_classes="typed"):
        first, second = _field("Sentence 1", examples[0].sentence1), _field("Sentence 2", examples[0].sentence2)
    with gr.Row(elem_classes="act"):
        button = gr.Button("Score", variant="primary", elem_id="score", scale=0, min_width=140)
        status = gr.HTML(note_on(first.value, second.value, examples), elem_id="status", **BARE)
    with gr.Row(elem_classes="contrasts"):
        gr.HTML(explanations.try_label(), **BARE)
        with gr.Row(elem_classes="pills", elem_id="examples"):
            pills = [gr.Button(example.kind, size="sm", elem_classes="pill", min_width=0) for example in examples]
    results = gr.HTML(
        cards(
            [info for info in infos if info.name in ticked], {}, waiting="Loading the encoders, once after each start."
        ),
        elem_id="results",
        **BARE,
    )
    with gr.Accordion("Choose encoders", open=False, elem_classes="quiet"):
        chosen = gr.CheckboxGroup(names, value=ticked, label="Encoders to score with", elem_id="encoders")
    gr.HTML(explanations.why(), **BARE)
    gr.HTML(explanations.pieces_heading(), **BARE)
    aligned = gr.HTML(aligned_pieces([]), elem_id="aligned", **BARE)
    taken_apart = pair_words.build(registry, first, second)
    table = gr.HTML(encoder_table(infos, problems), elem_id="table", **BARE)
    add_encoder.build(page, table, chosen)
    gr.HTML(explanations.small_print(), **BARE)

    pair, scored = [first, second, chosen], partial(score_for_page, registry, examples)
    score = {"fn": scored, "inputs": pair, "outputs": [status, results, aligned], **ON_MODEL, **PRIVATE}
    address = {"fn": None, "inputs": pair, "js": remember_in_address(("s1", "s2", "encoders"))}
    for pill, example in zip(pills, examples, strict=True):
        fill = pill.click(partial(_sentences, example), None, [first, second], queue=False, **PRIVATE)
        fill.then(**score).then(**address)
    for event in (button.click, first.submit, second.submit, chosen.input):
        event(**score, trigger_mode="always_last").then(**address)
    opened = page.blocks.load(_restore(registry, examples), None, pair, queue=False, **PRIVATE)
    opened.then(**score).then(partial(table_now, registry), None, table, queue=False, **PRIVATE)
    keep_choices(page, taken_apart, partial(names_now, registry))
    fresh, changed = keep_choices(page, chosen, partial(names_now, registry))
    fresh.then(partial(table_now, registry), None, table, queue=False, **PRIVATE)
    again = {**score, "fn": partial(score_if_changed, registry, examples), "inputs": [changed, *pair]}
    fresh.then(**again)
    gr.api(_endpoint(registry), api_name="compare", **ON_MODEL)


def on_error(text: str, registry: Registry, _examples: object, _first: object, _second: object, names: object) -> Shown:
    """Returns the state of the tab when a pair cannot be scored: the reason, and cards without scores."""
    infos = [info for info in registry.encoders() if not isinstance(names, list) or not names or info.name in names]
    return message(text), cards(infos, {}), aligned_pieces([])


@for_person(on_error)
def score_for_page(
    registry: Registry, examples: Sequence[Example], first: str | None, second: str | None, names: list[str] | None
) -> Iterator[Shown]:
    """Yields (status, cards, aligned word pieces), unfinished ones only while there is something to wait for.

    Args:
        registry: The encoders.
        examples: The sample pairs; one of them brings its note along.
        first: The first sentence as typed.
        second: The second.
        names: The encoders to use; None for all.
    """
    infos, unusable = _usable(registry, names)
    scores: dict[str, PairScore] = {}
    failures: dict[str, str] = {}
    yield working("Working."), gr.skip(), gr.skip()
    shown = time.monotonic()
    for done, info in enumerate(infos):
        if time.monotonic() - shown > _PATIENCE:
            text = f"Scored {done} of {len(infos)} encoders."
            yield (
                working(text, done, len(infos)),
                cards(infos, scores, failures, waiting="Loading this encoder."),
                gr.skip(),
            )
            shown = time.monotonic()
        try:
            scores[info.name] = _score(registry, first, second, info)
        except EncoderError as error:
            failures[info.name] = str(error)
    said = message(" ".join(unusable)) if unusable else note_on(first, second, examples)
    yield said, cards(infos, scores, failures), aligned_pieces(list(scores.values()))


def score_if_changed(
    registry: Registry, examples: Sequence[Example], changed: bool, *pair: Any
) -> Iterator[tuple[Any, Any, Any]]:
    """Yields what score_for_page does if there are other encoders than before, else leaves all as it is."""
    if changed:
        yield from score_for_page(registry, examples, *pair)
    else:
        yield gr.skip(), gr.skip(), gr.skip()


@for_person(refuse)
def score_for_api(
    registry: Registry, sentence1: object, sentence2: object, encoders: list[str] | None
) -> list[dict[str, Any]]:
    """Returns one plain dict an encoder: encoder, cosine, percentile_stsb, percentile_random (None without a reference).

    Raises:
        gr.Error: With the one sentence on what is wrong.
    """
    from explorer.operations.score import score_pair

    return [
        {
            "encoder": score.encoder,
            "cosine": score.cosine,
            "percentile_stsb": score.percentile_stsb,
            "percentile_random": score.percentile_random,
        }
        for score in score_pair(registry, sentence1, sentence2, encoders)
    ]


def restore_page(registry: Registry, examples: Sequence[Example], request: gr.Request | None) -> tuple[str, str, Any]:
    """Returns what the address asks for, or the first example with the encoders of `names_first`: sentences and boxes."""
    infos = registry.encoders()
    names = [info.name for info in infos]
    asked = (from_address(request, "encoders") or "").split(",")
    value = [name for name in names if name in asked] or names_first(infos)
    sentences = from_address(request, "s1"), from_address(request, "s2")
    if sentences == (None, None):
        sentences = examples[0].sentence1, examples[0].sentence2
    return sentences[0] or "", sentences[1] or "", gr.CheckboxGroup(choices=names, value=value)


def names_first(infos: Sequence[EncoderInfo]) -> list[str]:
    """Returns the names of the encoders to score with unless others are asked for: of one's own runs the newest two."""
    runs = runs_folder().resolve()
    own = [info for info in infos if info.folder.resolve().is_relative_to(runs)]
    newest = sorted(own, key=lambda info: _changed(info.folder), reverse=True)[:_RUNS_FIRST]
    return [info.name for info in infos if info not in own or info in newest]


def _changed(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:  # deleted this very moment
        return 0.0


def names_now(registry: Registry) -> list[str]:
    """Returns the names of the encoders that are here now."""
    return [info.name for info in registry.encoders()]


def table_now(registry: Registry) -> Html:
    """Returns the encoders' table as the folders are now."""
    return encoder_table(registry.encoders(), registry.scan()[1])


def note_on(first: str | None, second: str | None, examples: Sequence[Example]) -> Html:
    """Returns what to look for in a sample pair that is scored, or of any other that it is and how to go on."""
    for example in examples:
        if (example.sentence1, example.sentence2) == (first, second):
            return notice(example.note, example.kind)
    return notice("This pair is scored below. Change a sentence and press Enter, or the button, for another.")


def _usable(registry: Registry, names: Sequence[str] | None) -> tuple[list[EncoderInfo], list[str]]:
    """Returns those of the chosen encoders that can be used, and what is wrong with the others, if any can."""
    infos, problems = registry.scan()
    there = [name for name in names or () if name in {info.name for info in infos}]
    if not there:
        return registry.choose(names), []
    return registry.choose(there), [problem.message for problem in problems if problem.name in (names or ())]


def _score(registry: Registry, first: str | None, second: str | None, info: EncoderInfo) -> PairScore:
    from explorer.operations.score import score_pair

    return score_pair(registry, first, second, [info.name])[0]


def _sentences(example: Example) -> tuple[str, str]:
    return example.sentence1, example.sentence2


def _field(label: str, value: str) -> gr.Textbox:
    return gr.Textbox(value, label=label, lines=1, max_lines=5, placeholder="Type a sentence", elem_classes="sentence")


def _restore(registry: Registry, examples: Sequence[Example]) -> Callable[..., Any]:
    # gradio passes the request only to a plain function that declares it; a partial hides the declaration.
    def restore(request: gr.Request) -> tuple[str, str, Any]:
        return restore_page(registry, examples, request)

    return restore


def _endpoint(registry: Registry) -> Callable[..., Any]:
    def compare(sentence1: str, sentence2: str, encoders: list[str] | None = None) -> list[dict[str, Any]]:
        """Scores two sentences with every encoder, or with those named: cosine in [-1, 1] and its percentiles, 0 to 100."""
        return score_for_api(registry, sentence1, sentence2, encoders)

    return compare
