"""A button that makes a table only when it is asked for, and then downloads it as CSV."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr
from gradio.utils import get_upload_folder

from explorer.ui.errors import for_person, toast
from explorer.ui.page import ON_MODEL, PRIVATE

if TYPE_CHECKING:
    import pandas as pd

# The button that really downloads cannot be pressed by a person: it has its file only once the table is made.
_FOLLOW = "(file) => {{ if (file) setTimeout(() => document.querySelector('#{id}').click(), 50); }}"


def csv_button(id: str, name: str, make: Callable[..., pd.DataFrame], inputs: Sequence[Any]) -> gr.Button:
    """Places a button that downloads a table.

    Args:
        id: Unique on the page.
        name: Of the file, without its ending.
        make: Called with the values of `inputs`; returns the table.
        inputs: Components.
    """
    button = gr.Button("Download as CSV", size="sm", elem_classes="pill", elem_id=id, scale=0, min_width=150)
    file = gr.DownloadButton(visible="hidden", elem_id=f"{id}-file")
    pressed = button.click(partial(_make_file, make, name), list(inputs), file, **ON_MODEL, **PRIVATE)
    pressed.success(None, file, None, js=_FOLLOW.format(id=f"{id}-file"), **PRIVATE)
    return button


@for_person(toast(1))
def _make_file(make: Callable[..., pd.DataFrame], name: str, *values: Any) -> Any:
    return str(write_csv(make(*values), name))


def write_csv(table: pd.DataFrame, name: str) -> Path:
    """Writes a table where the page may serve it from; equal tables share a file.

    Args:
        table: What to write.
        name: Of the file, without its ending.
    """
    return write_file(table.to_csv(index=False).encode("utf-8"), f"{name}.csv")


def write_file(content: bytes, name: str) -> Path:
    """Writes a file where the page may serve it from; equal contents share one.

    Args:
        content: What to write.
        name: Of the file.
    """
    path = Path(get_upload_folder()) / hashlib.sha256(content).hexdigest()[:32] / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path
