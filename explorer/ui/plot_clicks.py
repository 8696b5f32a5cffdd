"""Clicks in a plotly figure: gr.Plot has no event for them, so a component without a look listens and passes them on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gradio as gr

from explorer.ui.page import ON_MODEL, PRIVATE
from explorer.ui.waiting import say_working

# The figure's element is a new one after every update, so it is looked for again and again.
_LISTEN = """
let heard = null;
setInterval(() => {
    const plot = document.querySelector(props.target + ' .js-plotly-plot');
    if (!plot || plot === heard || !plot.on) return;
    heard = plot;
    plot.on('plotly_click', (data) => trigger('point_click', {customdata: data.points[0].customdata}));
}, 300);
"""


def on_point_click(
    target: str,
    handler: Callable[..., Any],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    count: int,
    status: gr.HTML | None = None,
) -> Any:
    """Calls `handler(customdata, *inputs)` when a point of a figure is clicked; returns the event, to hang more on.

    Args:
        target: The elem_id of the gr.Plot.
        handler: Gets the clicked point's customdata as a list of `count` values.
        inputs: Components.
        outputs: Components.
        count: How many values a point's customdata has; clicks that bring others are passed over.
        status: Says meanwhile that work has begun.
    """
    bridge = gr.HTML("", js_on_load=_LISTEN, target=f"#{target}", container=False, padding=False, elem_classes="bridge")

    def clicked(event: gr.EventData, *values: Any) -> Any:
        point = event._data.get("customdata") if isinstance(event._data, dict) else None
        point = point if isinstance(point, list) else [point]
        if len(point) != count or None in point:
            return tuple(gr.skip() for _ in outputs) if len(outputs) > 1 else gr.skip()
        return handler(point, *values)

    if status is not None:
        say_working(bridge.point_click, status)  # type: ignore[attr-defined]
    return bridge.point_click(clicked, list(inputs), list(outputs), **ON_MODEL, **PRIVATE)  # type: ignore[attr-defined]
