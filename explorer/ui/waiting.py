"""Says at once, without a request, that work has begun; what the work then shows takes its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import gradio as gr

from explorer.ui.cards import working
from explorer.ui.page import PRIVATE


def say_working(listen: Callable[..., Any], status: gr.HTML, text: str = "Working.") -> None:
    """Hangs the message on an event, such as `button.click`; it appears after 300 ms, as `working` does."""
    listen(None, None, status, js=f"() => {json.dumps(working(text))}", queue=False, **PRIVATE)
