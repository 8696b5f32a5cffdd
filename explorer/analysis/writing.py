"""How scores are written, for the page, the reports and the command line alike. Numbers in, text out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from explorer.analysis.statistics import Interval

DASH = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"


def figure(value: float | None) -> str:
    """Returns a score x 100 with two decimals and a real minus sign, never minus zero; a dash for None."""
    if value is None:
        return DASH
    written = f"{value:.2f}"
    return written.replace("-", MINUS) if float(written) else "0.00"


def interval_text(found: Interval | None) -> str:
    """Returns an interval in words, or a dash."""
    return DASH if found is None else f"{figure(found.low)} to {figure(found.high)}"
