"""How scores are written, for the page, the reports and the command line alike. Numbers in, text out."""

from __future__ import annotations

from typing import Protocol

DASH = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"


class Bounds(Protocol):
    """What has two ends, as statistics.Interval."""

    @property
    def low(self) -> float:
        """The lower one."""

    @property
    def high(self) -> float:
        """The upper one."""


def figure(value: float | None) -> str:
    """Returns a score x 100 with two decimals and a real minus sign, never minus zero; a dash for None."""
    if value is None:
        return DASH
    written = f"{value:.2f}"
    return written.replace("-", MINUS) if float(written) else "0.00"


def interval_text(found: Bounds | None) -> str:
    """Returns an interval in words, or a dash."""
    return DASH if found is None else f"{figure(found.low)} to {figure(found.high)}"
