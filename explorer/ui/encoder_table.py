"""The table of the encoders, the paper's row of the same kind beside each, and the list of folders that cannot be used."""

from __future__ import annotations

from collections.abc import Sequence

from explorer.data.paper import PublishedScore, published_score
from explorer.encoders.folder import EncoderInfo
from explorer.encoders.registry import Problem
from explorer.figures.theme import identities
from explorer.ui import words
from explorer.ui.cards import name_plate
from explorer.ui.html import Html, tag

_CAPTION = (
    "Parameters leave out the transformer's pooler, which no sentence layer reads. STSb columns: Spearman × 100 between "
    "cosine and gold score. A dash: not measured, or not in the paper."
)
_PAPER_GROUP = "The paper, not these weights"
_PAPER = (
    "The two last columns are the paper's own encoder of the same kind, trained on STSb, and its published figure "
    "(arXiv 2101.10642, table 1). It is larger, and not the encoder on this page."
)
_COLUMNS = (
    ("Encoder", ""),
    ("Backbone", ""),
    ("Pooling", ""),
    ("Parameters", "million"),
    ("Embedding", "numbers"),
    ("Files", "MiB"),
    ("STSb dev", "ρ × 100"),
    ("STSb test", "ρ × 100"),
)
_TEXT_COLUMNS = 3


def encoder_table(infos: Sequence[EncoderInfo], problems: Sequence[Problem]) -> Html:
    """Returns the section below the scores."""
    return tag(
        "section",
        tag("h2", "The encoders"),
        _problems(problems),
        _table(infos) if infos else _nothing(),
        tag("p", _CAPTION, cls="small"),
        tag("p", _PAPER, cls="small"),
        cls="encoders",
    )


def _table(infos: Sequence[EncoderInfo]) -> Html:
    looks = identities(infos)
    rows = [tag("tr", tag("th", name_plate(info.name, looks[info.name]), scope="row"), *_cells(info)) for info in infos]
    table = tag("table", _head(), tag("tbody", *rows))
    return tag("div", table, cls="scroll", tabindex="0", role="region", aria_label="Table of the encoders")


def _head() -> Html:
    groups = tag(
        "tr", tag("th", colspan=len(_COLUMNS)), tag("th", _PAPER_GROUP, colspan=2, scope="colgroup", cls="paper")
    )
    names = [
        tag("th", name, tag("small", unit) if unit else None, scope="col", cls="" if i < _TEXT_COLUMNS else "number")
        for i, (name, unit) in enumerate(_COLUMNS)
    ]
    paper = [
        tag("th", "Encoder", scope="col", cls="paper"),
        tag("th", "STSb test", tag("small", "\N{GREEK SMALL LETTER RHO} × 100"), scope="col", cls="number paper"),
    ]
    return tag("thead", groups, tag("tr", *names, *paper))


def _cells(info: EncoderInfo) -> list[Html]:
    numbers = (
        words.millions(info.parameters),
        f"{info.embedding_dimension:,}",
        words.mebibytes(info.size_bytes),
        words.score(info.scores.get("stsb_dev_spearman")),
        words.score(info.scores.get("stsb_test_spearman")),
    )
    published = published_score(info.family, info.pooling)
    backbone, _, remark = info.backbone.partition(" (")
    return [
        tag("td", backbone, tag("small", f"({remark}") if remark else None),
        tag("td", words.short_pooling(info.pooling)),
        *(tag("td", number, cls="number") for number in numbers),
        _paper_kind(published),
        tag("td", words.score(published.spearman if published else None), cls="number paper"),
    ]


def _paper_kind(published: PublishedScore | None) -> Html:
    if published is None:
        return tag("td", "none of this kind", cls="paper")
    return tag("td", f"{published.backbone}-base", tag("small", published.embedding), cls="paper")


def _problems(problems: Sequence[Problem]) -> Html | None:
    if not problems:
        return None
    lines = [
        tag(
            "li",
            None if problem.message.startswith(problem.name) else tag("strong", f"{problem.name}: "),
            problem.message,
        )
        for problem in problems
    ]
    plural = "1 folder" if len(problems) == 1 else f"{len(problems)} folders"
    return tag(
        "div",
        tag("p", f"{plural} beside these cannot be used:"),
        tag("ul", *lines),
        cls="problems",
    )


def _nothing() -> Html:
    return tag(
        "p",
        "No encoder is here. Put a sentence-transformers folder into checkpoints/ and reload the page.",
        cls="nothing",
    )
