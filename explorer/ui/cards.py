"""The answer of each encoder as a card: cosine, its place among known pairs, the reading, the word pieces.

A card without a score yet has the same parts and the same height, so nothing on the page moves when the score arrives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from explorer.encoders.folder import EncoderInfo
from explorer.figures.theme import Identity, identities
from explorer.ui import words
from explorer.ui.html import Html, tag

if TYPE_CHECKING:  # importing it for real brings torch, which the page must not wait for
    from explorer.operations.score import PairScore

NO_REFERENCE = "no reference pairs"


def cards(
    infos: Sequence[EncoderInfo],
    scores: Mapping[str, PairScore],
    failures: Mapping[str, str] | None = None,
    waiting: str = "",
) -> Html:
    """Returns one card an encoder, in the order of `infos`.

    Args:
        infos: The encoders to show.
        scores: Results so far, by name.
        failures: Why an encoder gave no result, by name.
        waiting: What the first encoder without a result is doing; empty if nothing is going on.
    """
    looks, made = identities(infos), []
    for info in infos:
        if failures and info.name in failures:
            made.append(_card(info, looks[info.name], None, failures[info.name], failed=True))
        elif info.name in scores:
            made.append(_card(info, looks[info.name], scores[info.name], scores[info.name].reading))
        else:
            made.append(_card(info, looks[info.name], None, waiting or "No score yet."))
            waiting = waiting and "Waiting for the encoder before it."
    heading = tag("h2", "Scores", cls="unseen")
    return tag("section", heading, _glance(infos, looks, scores), tag("div", *made, cls="cards", role="list"))


def _glance(infos: Sequence[EncoderInfo], looks: Mapping[str, Identity], scores: Mapping[str, PairScore]) -> Html:
    """All cosines at once for narrow screens, where the cards stand below each other; hidden from screen readers."""
    cosines = (
        (info.name, words.cosine(scores[info.name].cosine) if info.name in scores else words.DASH) for info in infos
    )
    made = (
        tag("p", name_plate(name, looks[name]), tag("b", cosine), cls=looks[name].css_class) for name, cosine in cosines
    )
    return tag("div", *made, cls="glance", aria_hidden="true")


def name_plate(name: str, look: Identity) -> Html:
    """Returns an encoder's name with its swatch: how it is named everywhere on the page."""
    swatch = tag("span", cls=f"swatch {look.css_class}", aria_hidden="true")
    return tag("span", swatch, tag("span", name), cls="plate")


def _card(info: EncoderInfo, look: Identity, score: PairScore | None, reading: str, failed: bool = False) -> Html:
    kind = f"{words.family(info.family)}, {words.pooling(info.pooling)}"
    return tag(
        "article",
        tag("header", tag("h3", name_plate(info.name, look)), tag("p", kind, cls="kind")),
        _cosine(score),
        _percentiles(score),
        tag("p", reading, cls="reading failed" if failed else "reading"),
        _pieces(1, score),
        _pieces(2, score),
        tag("div", *(tag("p", note) for note in score.notes), cls="notes") if score else tag("div", cls="notes"),
        cls=f"card {look.css_class}" + ("" if score else " empty"),
        role="listitem",
        data_encoder=info.name,
    )


def _cosine(score: PairScore | None) -> Html:
    value = words.cosine(score.cosine) if score else words.DASH
    return tag(
        "div",
        tag("span", "Cosine", cls="label"),
        tag("output", value, cls="cosine"),
        _scale(score.cosine if score else None),
        cls="measure",
    )


def _scale(cosine: float | None) -> Html:
    """A bar from zero to the cosine on a scale from -1 to 1, with its ends written below."""
    share = abs(cosine or 0.0) * 50
    left = 50 - share if (cosine or 0.0) < 0 else 50
    bar = tag("span", cls="bar", style=f"left:{left:.2f}%;width:{share:.2f}%") if cosine is not None else None
    ends = tag("span", *(tag("span", end) for end in (f"{words.MINUS}1", "0", "1")), cls="ends")
    return tag("div", tag("span", bar, tag("span", cls="zero"), cls="track"), ends, cls="scale", aria_hidden="true")


def _percentiles(score: PairScore | None) -> Html:
    rows = (
        ("of related pairs, STSb dev", score.percentile_stsb if score else None, score.n_stsb if score else 0),
        ("of random pairs", score.percentile_random if score else None, score.n_random if score else 0),
    )
    return tag(
        "div",
        tag("span", "Higher than", cls="label"),
        *(_percentile(what, value, n, known=score is not None) for what, value, n in rows),
        cls="ranks",
    )


def _percentile(what: str, value: float | None, n: int, known: bool) -> Html:
    dot = None if value is None else tag("span", cls="dot", style=f"left:{value:.1f}%")
    count = tag("span", f"(n = {n:,})" if value is not None else f"({NO_REFERENCE})" if known else "", cls="n")
    return tag(
        "p",
        tag("strong", words.DASH if value is None else words.percent(value)),
        tag("span", f" {what} ", count, cls="of"),
        tag("span", dot, cls="rail", aria_hidden="true"),
        cls="rank",
    )


def _pieces(number: int, score: PairScore | None) -> Html:
    read = (score.pieces1 if number == 1 else score.pieces2) if score else None
    inner = [
        tag("span", piece, cls="piece" if end > start else "piece special")
        for piece, (start, end) in (zip(read.pieces, read.offsets, strict=True) if read else ())
    ]
    own = [piece for piece, (start, end) in zip(read.pieces, read.offsets, strict=True) if end > start] if read else []
    count = len(own)
    total = f" of {count + read.truncated:,}" if read and read.truncated else ""
    heading = (
        f"Sentence {number}: {count:,}{total} word piece{'' if count == 1 else 's'}" if read else f"Sentence {number}"
    )
    # Not focusable unless long: a box that scrolls must be reachable by keyboard, others need not be.
    long = count > 14
    box = tag(
        "div",
        *inner,
        cls="pieces",
        dir=words.direction(own),
        tabindex="0" if long else None,
        role="group",
        aria_label=f"Word pieces of sentence {number}",
    )
    return tag("div", tag("span", heading, cls="label"), box, cls="read")


def message(text: str) -> Html:
    """Returns a sentence that says what is wrong."""
    return tag("p", tag("span", text), cls="message wrong", role="alert")


def notice(text: str, lead: str = "") -> Html:
    """Returns a sentence of information, with an emphasised beginning if given."""
    return tag("p", tag("span", tag("strong", f"{lead}: ") if lead else None, text), cls="message")


def working(text: str, done: int = 0, total: int = 0) -> Html:
    """Returns a sentence on what is being done, with a bar if there is a total; shown only after 300 ms."""
    bar = tag("progress", value=done, max=total, aria_label=text) if total else None
    return tag("p", tag("span", text, bar), cls="message working", role="status")
