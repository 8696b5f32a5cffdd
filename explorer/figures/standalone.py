"""Turns figures into markup for a file that opens without a network: plotly's own script goes in once."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go


def inline(figures: Sequence[go.Figure]) -> list[str]:
    """Returns each figure as markup; the first one carries the script that all need."""
    return [
        figure.to_html(full_html=False, include_plotlyjs=number == 0, config={"displayModeBar": False})
        for number, figure in enumerate(figures)
    ]
