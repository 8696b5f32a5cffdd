"""A table of values as markup: headed columns, numbers to the right, scrolling inside itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor, isfinite, log10

from explorer.ui import words
from explorer.ui.html import Html, tag


@dataclass(frozen=True)
class Column:
    """One column.

    Args:
        name: Its heading.
        unit: Small print below the heading; none if empty.
        number: Whether its cells are numbers, which stand right-aligned.
    """

    name: str
    unit: str = ""
    number: bool = False


def data_table(
    columns: Sequence[Column], rows: Iterable[Sequence[str]], label: str, *, foot: Sequence[str] = ()
) -> Html:
    """Returns a table in a box that scrolls and can be reached by keyboard.

    Args:
        columns: Left to right.
        rows: Cells as text or markup, one a column.
        label: What the table holds, for those who cannot see it.
        foot: A last row of sums; none if empty.
    """
    head = tag(
        "tr",
        *(
            tag("th", c.name, tag("small", c.unit) if c.unit else None, scope="col", cls="number" if c.number else "")
            for c in columns
        ),
    )
    body = tag("tbody", *(tag("tr", *_cells(columns, row)) for row in rows))
    last = tag("tfoot", tag("tr", *_cells(columns, foot))) if foot else None
    table = tag("table", tag("thead", head), body, last, cls="data")
    return tag("div", table, cls="scroll values", tabindex="0", role="region", aria_label=label)


def decimals(value: float, places: int = 6) -> str:
    """Returns a number with so many decimals and a real minus sign; never minus zero."""
    written = f"{value:.{places}f}"
    return written.replace("-", words.MINUS) if float(written) else f"{0:.{places}f}"


def significant(value: float, figures: int = 3) -> str:
    """Returns a number with so many significant figures, never in powers of ten, and a real minus sign."""
    if not value or not isfinite(value):
        return decimals(value, figures - 1)
    return decimals(value, max(0, figures - 1 - floor(log10(abs(value)))))


def _cells(columns: Sequence[Column], row: Sequence[str]) -> list[Html]:
    return [
        tag("td", cell, cls="number" if column.number else "", dir=None if column.number else "auto")
        for column, cell in zip(columns, row, strict=True)
    ]
