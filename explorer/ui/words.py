"""How numbers and names are written on the page. Text in, text out."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from explorer.analysis import writing

# The page writes scores as the reports do.
DASH, MINUS = writing.DASH, writing.MINUS
score, interval_text = writing.figure, writing.interval_text
POOLINGS = {"mean": "average pooling", "cnn": "CNN pooling", "cls": "[CLS] vector"}
SHORT_POOLINGS = {"mean": "average", "cnn": "CNN", "cls": "[CLS]"}
FAMILIES = {"bert": "BERT", "albert": "ALBERT"}


def cosine(value: float) -> str:
    """Returns a cosine with three decimals and a real minus sign; never minus zero."""
    written = f"{value:.3f}"
    return written.replace("-", MINUS) if float(written) else "0.000"


def percent(value: float) -> str:
    """Returns a percentile, 0..100, as whole per cents, with one decimal where a whole number would hide the end."""
    near_an_end = 0 < value < 1 or 99 < value < 100
    return f"{min(max(value, 0.1), 99.9):.1f} %" if near_an_end else f"{value:.0f} %"


def millions(count: int) -> str:
    """Returns a number of weights in millions, two decimals."""
    return f"{count / 1e6:.2f}"


def duration(seconds: float | None) -> str:
    """Returns a time span in its two largest units, at least a second, or a dash."""
    if seconds is None or seconds < 0:
        return DASH
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def mebibytes(size: int) -> str:
    """Returns a file size in MiB, one decimal."""
    return f"{size / 2**20:.1f}"


def pooling(name: str) -> str:
    """Returns a sentence layer in words."""
    return POOLINGS.get(name, name)


def short_pooling(name: str) -> str:
    """Returns a sentence layer in one word, for a column headed "Pooling"."""
    return SHORT_POOLINGS.get(name, name)


def family(name: str) -> str:
    """Returns a backbone family as it is usually written."""
    return FAMILIES.get(name, name)


def direction(pieces: Iterable[str]) -> str:
    """Returns the writing direction of a text, "ltr" or "rtl", from its first letter that has one."""
    for character in "".join(pieces):
        kind = unicodedata.bidirectional(character)
        if kind in ("L", "R", "AL"):
            return "ltr" if kind == "L" else "rtl"
    return "ltr"
