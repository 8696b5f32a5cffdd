"""The section "What a filter likes": the stretches of text in a corpus that a filter reacts to most. Part of the tab Filters."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from explorer.data.corpus import read_sample_corpus
from explorer.data.texts import check_text, read_lines
from explorer.encoders.registry import Registry
from explorer.errors import SettingError
from explorer.ui.background import Background
from explorer.ui.cards import message, notice, working
from explorer.ui.data_table import Column, data_table, decimals, significant
from explorer.ui.downloads import csv_button
from explorer.ui.errors import for_person, toast
from explorer.ui.filters_text import caption
from explorer.ui.html import Html, tag
from explorer.ui.page import BARE, ON_MODEL, PRIVATE, Page
from explorer.ui.plot_clicks import on_point_click

if TYPE_CHECKING:
    import pandas as pd

    from explorer.operations.filter_corpus import CorpusScan, FilterFacts, FilterLikes, NGram

SAMPLE, OWN = "The sample sentences", "My own sentences"
PUBLIC_SENTENCES = 500
_BARS = 40
_MOST_RECENT = 8
_HEADING = (
    "Which words make a filter's value highest and lowest? Every sentence of a corpus is read once, for all filters; the second "
    "time the answer is there at once. Encoder, layer, filter and summary are those chosen at the top of this tab."
)


def build(page: Page, choice: Sequence[Any], follow: dict[str, Any]) -> None:
    """Places the section and wires it.

    Args:
        page: Its surroundings.
        choice: The controls of filters.Choice.
        follow: An event's settings: brings the pictures above after the choice was changed here.
    """
    scans, inputs = Scans(page.registry, public=page.demo or page.shared), list(choice[1:4]) + list(choice[5:7])
    gr.HTML(tag("div", tag("h2", "What a filter likes"), tag("p", _HEADING, cls="small"), cls="heading"), **BARE)
    corpus = gr.Radio([SAMPLE, OWN], value=SAMPLE, label="Corpus", elem_id="corpus")
    text = gr.Textbox(
        label="Your sentences, one a line", lines=6, max_lines=12, visible=False, elem_classes="sentence", elem_id="own"
    )
    with gr.Row(elem_classes="act"):
        button = gr.Button(
            "Read the corpus", variant="primary", elem_id="read-corpus", elem_classes="go", scale=0, min_width=190
        )
        stop = gr.Button("Stop", visible=False, size="sm", elem_classes="pill", scale=0, min_width=80)
        upload = gr.UploadButton(
            "Upload a text file", file_types=[".txt"], size="sm", elem_classes="pill", scale=0, min_width=160
        )
        status = gr.HTML(notice("Nothing is read until you ask for it."), elem_id="corpus-status", **BARE)
    with gr.Column(visible=False) as found:
        plot = gr.Plot(elem_id="ranking-plot", elem_classes="figure wide", show_label=False, container=False)
        ranking = gr.HTML(**BARE)
        csv_button("ranking-csv", "selectivity", partial(_ranking_table, scans), [corpus, text, *inputs])
        likes = gr.HTML(elem_id="likes", **BARE)
        csv_button("likes-csv", "n-grams", partial(_likes_table, scans), [corpus, text, *inputs])

    outputs = [status, found, plot, ranking, likes]
    read = partial(read_corpus, scans)
    button.click(lambda: gr.Button(visible=True), None, stop, queue=False, **PRIVATE)
    running = button.click(read, [corpus, text, *inputs], outputs, **ON_MODEL, **PRIVATE)
    running.then(lambda: gr.Button(visible=False), None, stop, queue=False, **PRIVATE)
    stop.click(_stopped, None, [status, stop], cancels=[running], queue=False, **PRIVATE)
    corpus.input(lambda kind: gr.Textbox(visible=kind == OWN), corpus, text, queue=False, **PRIVATE)
    upload.upload(read_upload, upload, [corpus, text], queue=False, **PRIVATE)
    number = choice[3]
    picked = on_point_click("ranking-plot", lambda point, _: gr.Number(value=int(point[0])), [number], [number], 1)
    picked.then(**follow).then(read, [corpus, text, *inputs], outputs, **ON_MODEL, **PRIVATE)


class Scans:
    """Reads corpora for the page. In public mode nothing of a visitor is kept on disk: the last few scans are in memory.

    Args:
        registry: The encoders.
        public: Whether anyone may be asking.
    """

    def __init__(self, registry: Registry, *, public: bool = False) -> None:
        self.registry = registry
        self.public = public
        self._recent: OrderedDict[tuple[Any, ...], CorpusScan] = OrderedDict()

    def scan(self, kind: str, text: str | None, controls: Sequence[Any], progress: Any) -> CorpusScan:
        """Returns the scan of the sample or of someone's own sentences.

        Args:
            kind: SAMPLE or OWN.
            text: The own sentences, one a line.
            controls: Encoder, layer, filter, hidden dimension, summary.
            progress: Called with (sentences done, in all).

        Raises:
            SettingError: No encoder has a CNN, or in public mode there are too many sentences.
        """
        from explorer.operations.filter_corpus import scan_corpus

        encoder, _, _, dimension, summary = controls
        if encoder is None:
            raise SettingError("No encoder here has a CNN, so there are no filters to look at.")
        own = kind == OWN
        sentences = check_text(text, "The text").splitlines() if own else read_sample_corpus()["sentence"].tolist()
        if own and self.public and len(sentences) > PUBLIC_SENTENCES:
            raise SettingError(
                f"There are {len(sentences):,} lines; at most {PUBLIC_SENTENCES} are read in public mode."
            )
        key = (self.registry.info(encoder).weights_hash, dimension, summary, *sentences)
        known = self._recent.get(key)
        if known is not None:
            return replace(known, encoder=encoder, from_cache=True)
        settings = {"summary": summary, "dimension": dimension, "progress": progress, "store": not self.public}
        found = scan_corpus(self.registry, encoder, sentences, **settings)
        if self.public:
            self._recent[key] = found
            while len(self._recent) > _MOST_RECENT:
                self._recent.popitem(last=False)
        return found


@for_person(lambda text, *_: (message(text), *(gr.skip() for _ in range(4))))
def read_corpus(scans: Scans, kind: str, text: str | None, *controls: Any) -> Iterator[tuple[Any, ...]]:
    """Yields (status, column, ranking figure, ranking words, n-grams), the last with everything.

    Args:
        scans: Reads a corpus.
        kind: SAMPLE or OWN.
        text: The own sentences, one a line.
        controls: Encoder, layer, filter, hidden dimension, summary.
    """
    from explorer.figures.filters import ranking_figure
    from explorer.operations.filter_corpus import filter_likes, rank_filters

    encoder, layer, filter, _, _ = controls
    yield working("Getting ready."), *(gr.skip() for _ in range(4))
    with Background(lambda progress: scans.scan(kind, text, controls, progress), "sentences") as job:
        while not job.wait(0.3):
            yield job.status(), *(gr.skip() for _ in range(4))
        scan = job.result()
    facts = rank_filters(scan, layer)
    likes = filter_likes(scans.registry, scan, layer, filter or 0)
    bars = facts[:_BARS]
    title = f"filters of layer {layer} of {encoder}, the most selective first"
    figure = ranking_figure(
        [str(fact.filter) for fact in bars],
        [fact.selectivity for fact in bars],
        [fact.dead for fact in bars],
        [fact.saturated for fact in bars],
        title + (f" ({len(bars)} of {len(facts)})" if len(facts) > len(bars) else ""),
    )
    how = "Read from the cache" if scan.from_cache else "Read"
    done = notice(f"{how}: {len(scan.sentences):,} sentences.")
    yield done, gr.Column(visible=True), figure, ranking_view(scan, facts), likes_view(likes)


@for_person(toast(2))
def read_upload(file: str | None) -> tuple[Any, Any]:
    """Returns the corpus boxes filled with the lines of a file."""
    if file is None:
        raise SettingError("No file was uploaded; choose a text file with one sentence a line.")
    return OWN, gr.Textbox(value="\n".join(read_lines(Path(file))[0]), visible=True)


def ranking_view(scan: CorpusScan, facts: Sequence[FilterFacts]) -> Html:
    """Returns the words under the ranking and its table."""
    lists = [
        tag("p", f"{name}: ", ", ".join(str(n) for n in sorted(numbers)) or "none", ".")
        for name, numbers in (
            ("Dead filters, which give the same value whatever they read", [f.filter for f in facts if f.dead]),
            ("Saturated filters, beyond ±0.99 nearly always", [f.filter for f in facts if f.saturated]),
        )
    ]
    columns = (
        Column("Filter", number=True),
        Column("Selectivity", "standard deviations", number=True),
        Column("Mean", number=True),
        Column("Highest", number=True),
        Column("Lowest", number=True),
        Column("State"),
    )
    rows = [
        (
            str(f.filter),
            decimals(f.selectivity, 2),
            *(_as_exact_as(scan, value) for value in (f.mean, f.highest, f.lowest)),
            "dead" if f.dead else "saturated" if f.saturated else "",
        )
        for f in facts
    ]
    words = caption(
        "how far the ten sentences a filter reacts to most lie from its mean over all positions, in standard deviations. Click a "
        "bar to see its n-grams.",
        f"that a selective filter matters, or has one meaning. With {len(scan.sentences):,} sentences the ranking depends on "
        "which they are.",
    )
    return tag("div", words, tag("div", *lists, cls="small"), data_table(columns, rows, "Filters by selectivity"))


def _as_exact_as(scan: CorpusScan, value: float) -> str:
    """Returns a value of the scan with the figures its precision allows: bfloat16 keeps about three."""
    return decimals(value, 4) if scan.precision == "float32" else significant(value, 3)


def likes_view(likes: FilterLikes) -> Html:
    """Returns the n-grams with the highest and the lowest values, each marked in its sentence."""
    facts = likes.facts
    words = caption(
        "the stretches of text the filter can see where its value is highest and lowest, marked in their sentences; what it "
        "stands over is underlined.",
        "that these words alone cause the value: the backbone has mixed the whole sentence into every word piece.",
    )
    return tag(
        "div",
        tag("h3", f"Filter {facts.filter} of layer {facts.layer} of {likes.encoder}"),
        words,
        tag("div", _grams("Highest", likes.highest), _grams("Lowest", likes.lowest), cls="sides"),
    )


def _grams(title: str, grams: Sequence[NGram]) -> Html:
    columns = (Column("Value", number=True), Column("Where"), Column("Times", "among the strongest", number=True))
    rows = [(decimals(gram.value, 4), _marked(gram), str(gram.count)) for gram in grams]
    return tag("div", tag("h4", title), data_table(columns, rows, f"N-grams with the {title.lower()} values"))


def _marked(gram: NGram) -> Html:
    """Returns the sentence with the n-gram marked, and the middle of it underlined."""
    text, span, middle = gram.sentence, gram.span, gram.centre
    if not span.text:
        return tag("span", text, " ", tag("mark", gram.text))
    start, stop = max(middle.start, span.start), min(middle.stop, span.stop)
    inside: list[str] = [text[span.start : span.stop]]
    if start < stop:
        inside = [text[span.start : start], tag("u", text[start:stop]), text[stop : span.stop]]
    return tag("span", text[: span.start], tag("mark", *inside), text[span.stop :])


def _ranking_table(scans: Scans, kind: str, text: str | None, *controls: Any) -> pd.DataFrame:
    from explorer.operations.filter_corpus import rank_filters
    from explorer.operations.filter_tables import ranking_table

    return ranking_table(rank_filters(scans.scan(kind, text, controls, None)))


def _likes_table(scans: Scans, kind: str, text: str | None, *controls: Any) -> pd.DataFrame:
    from explorer.operations.filter_corpus import filter_likes
    from explorer.operations.filter_tables import likes_table

    scan = scans.scan(kind, text, controls, None)
    return likes_table(filter_likes(scans.registry, scan, controls[1], controls[2] or 0))


def _stopped() -> tuple[Html, Any]:
    return notice("Stopped. What was read so far is not kept."), gr.Button(visible=False)
