"""Gradio's own components in the project's colours, and figures under a finger.

Colours come from figures/theme.py; rules from assets/app.css.
"""

from __future__ import annotations

import gradio as gr

from explorer.figures.theme import DARK, LIGHT, MONO, SANS

# A finger that moves over a figure scrolls the page, or the box the figure is in; plotly, which would hold it to zoom, hears
# of taps alone, as of clicks. Zooming with a mouse is as it was.
TOUCH = """() => {
    const pass = (event) => event.target.closest?.(".figure") && event.stopPropagation();
    document.addEventListener("touchstart", pass, {capture: true, passive: true});
}"""

# Gradio's variable -> one of ours; both modes follow, since ours change with the mode.
_VARIABLES = {
    "body_text_color_subdued": "muted",
    "background_fill_primary": "surface",
    "background_fill_secondary": "sunken",
    "border_color_primary": "line",
    "border_color_accent": "edge",
    "color_accent": "ink",
    "color_accent_soft": "sunken",
    "link_text_color": "ink",
    "link_text_color_hover": "ink",
    "link_text_color_active": "ink",
    "link_text_color_visited": "ink",
    "block_background_fill": "surface",
    "block_border_color": "line",
    "block_label_text_color": "muted",
    "block_title_text_color": "muted",
    "block_info_text_color": "muted",
    "accordion_text_color": "ink",
    "table_text_color": "ink",
    "input_background_fill": "surface",
    "input_background_fill_focus": "surface",
    "input_border_color": "edge",
    "input_border_color_focus": "ink",
    "input_border_color_hover": "ink",
    "input_placeholder_color": "muted",
    "checkbox_background_color": "surface",
    "checkbox_background_color_selected": "action",
    "checkbox_border_color": "edge",
    "checkbox_border_color_selected": "action",
    "checkbox_label_background_fill": "surface",
    "checkbox_label_background_fill_hover": "sunken",
    "checkbox_label_background_fill_selected": "sunken",
    "checkbox_label_border_color": "line",
    "checkbox_label_text_color": "ink",
    "button_primary_background_fill": "action",
    "button_primary_background_fill_hover": "action-hover",
    "button_primary_border_color": "action",
    "button_primary_text_color": "action-ink",
    "button_secondary_background_fill": "surface",
    "button_secondary_background_fill_hover": "sunken",
    "button_secondary_border_color": "line",
    "button_secondary_border_color_hover": "edge",
    "button_secondary_text_color": "ink",
    "error_background_fill": "alert-paper",
    "error_border_color": "alert-line",
    "error_text_color": "alert",
    "error_icon_color": "alert",
    "slider_color": "action",
    "loader_color": "action",
}
_PLAIN = {
    # As values, since the empty page is painted before our variables arrive.
    "body_background_fill": LIGHT.paper,
    "body_background_fill_dark": DARK.paper,
    "body_text_color": LIGHT.ink,
    "body_text_color_dark": DARK.ink,
    "block_shadow": "none",
    "input_shadow": "none",
    "input_shadow_focus": "none",
    "button_primary_shadow": "none",
    "button_secondary_shadow": "none",
    "checkbox_label_shadow": "none",
    "shadow_drop": "none",
    "block_border_width": "0px",
    "block_radius": "8px",
    "input_radius": "8px",
    "input_border_width": "1px",
    "button_large_radius": "8px",
    "button_small_radius": "999px",
    "button_transition": "none",
}


def theme() -> gr.themes.Base:
    """Returns gradio's base theme with our variables, system fonts and no shadows."""
    base = gr.themes.Base(font=SANS.split(", "), font_mono=MONO.split(", "))
    colours = {name: f"var(--{ours})" for name, ours in _VARIABLES.items()}
    dark = {f"{name}_dark": value for name, value in colours.items() if hasattr(base, f"{name}_dark")}
    known = {name: value for name, value in {**colours, **dark, **_PLAIN}.items() if hasattr(base, name)}
    return base.set(**known)
