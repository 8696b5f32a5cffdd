"""The linked maps' colours, and the file that shows them without a network. The drawing itself is in assets/map/.

No plotly here: four linked maps of thousands of points are drawn on plain canvases, which need neither WebGL nor five megabytes
of script.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from typing import Any

from explorer.figures.theme import BLUE, DARK, LIGHT, ORANGE, RUN_HUES, css_variables
from explorer.paths import ASSETS

_SCRIPTS = ("plot.js", "data.js", "lists.js", "view.js")
_SHEETS = ("app.css", "map.css")
_MODE = """
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark", dark.matches);
dark.addEventListener("change", follow);
follow();
"""
_STYLE = (
    "body { margin: 0; background: var(--paper); color: var(--ink); } "
    ".gradio-container main.html-container { max-width: 1264px; margin: 0 auto; box-sizing: border-box; "
    "padding: 24px clamp(16px, 2.6vw, 32px) 48px; } "
    "h1 { font-size: 28px; } .map-notes { margin: 8px 0 20px; }"
)


def palette() -> dict[str, Any]:
    """Returns the colours of points: categories, a ramp for numbers, and points without a value, for light and dark mode."""
    hues = (BLUE, ORANGE, *RUN_HUES[:4])
    return {
        "categories": {
            "light": [hue.plain for hue in hues] + ["#a8443a", hues[0].strong],
            "dark": [hue.strong_dark for hue in hues] + ["#f19a8e", hues[0].plain],
        },
        "ramp": {"light": ["#cfc4ae", "#4b9091", "#123f47"], "dark": ["#4d4a44", "#4d9a9b", "#d2f7f0"]},
        "none": {"light": LIGHT.edge, "dark": DARK.edge},
    }


def script() -> str:
    """Returns the code that draws the linked maps: it defines Atlas."""
    return "\n".join((ASSETS / "map" / name).read_text(encoding="utf-8") for name in _SCRIPTS)


def document(payload: Mapping[str, Any], made: str) -> str:
    """Returns an HTML file with the linked maps that opens from disk without a network.

    Args:
        payload: See operations.map_payload.payload.
        made: When and by what, one sentence.
    """
    style = "\n".join([css_variables(), *((ASSETS / name).read_text(encoding="utf-8") for name in _SHEETS), _STYLE])
    # Without this sign nothing in a sentence can end the script element it travels in.
    data = json.dumps(payload, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    title = f"Maps of {payload['title']}"
    notes = "".join(f"<p>{html.escape(note)}</p>" for note in [made, *payload["notes"]])
    start = (
        'new Atlas(document.querySelector("#maps")).show(JSON.parse(document.querySelector("#payload").textContent));'
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{html.escape(title)}</title>'
        f"<style>{style}</style><script>{_MODE}</script></head>"
        f'<body class="gradio-container"><main class="html-container"><h1>{html.escape(title)}</h1>'
        f'<div class="map-notes small">{notes}</div><div id="maps" class="atlas"></div></main>'
        f'<script id="payload" type="application/json">{data}</script><script>{script()}\n{start}</script></body></html>\n'
    )
