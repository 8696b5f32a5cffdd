"""The page: a table of contents. A new tab is a file with `build(page)` and a line in TABS."""

from __future__ import annotations

import contextlib
import ipaddress
import threading
from pathlib import Path
from typing import Any

import gradio as gr

from explorer.encoders.registry import Registry
from explorer.errors import EncoderError
from explorer.figures.theme import css_variables
from explorer.paths import ASSETS, CHECKPOINTS, encoder_folders, on_space, password, server_name
from explorer.ui import compare, evaluate, explanations, filters, train, train_news
from explorer.ui import map as maps
from explorer.ui.look import TOUCH, theme
from explorer.ui.page import BARE, PRIVATE, Page, TabSpec, from_address

# Tables of corpora come in large files; each tab says its own, smaller caps on rows.
LARGEST_UPLOAD = "100mb"
# Every ten minutes, uploads and downloads older than an hour are deleted, and all of them when the server stops.
FILES_GO = (600, 3600)
# Whom the page asks for where EXPLORER_PASSWORD is set.
USER = "explorer"
_QUEUE_SECONDS, _PROGRESS_SECONDS = 0.05, 1.0

TABS = (
    TabSpec("compare", "Compare", compare.build),
    TabSpec("filters", "Filters", filters.build),
    TabSpec("map", "Map", maps.build),
    TabSpec("evaluate", "Evaluate", evaluate.build),
    TabSpec("train", "Train", train.build),
)


def build_app(registry: Registry, *, demo: bool = False, data: Path | None = None, shared: bool = False) -> gr.Blocks:
    """Returns the page, not yet served.

    Args:
        registry: The encoders to show.
        demo: Public mode: smaller tables from visitors, no training.
        data: Folder of evaluation data; None if not given.
        shared: Whether it will be open to other machines without a password; it then trains nothing.
    """
    with gr.Blocks(title=explanations.TITLE, analytics_enabled=False, delete_cache=FILES_GO) as blocks:
        gr.HTML(explanations.header(), **BARE)
        with gr.Tabs(elem_id="tabs", overflow_behavior="wrap") as tabs:
            for spec in TABS:
                with gr.Tab(spec.title, id=spec.id) as tab:
                    spec.build(Page(blocks, tab, registry, demo, data, shared))
        if len(TABS) > 1:
            blocks.load(open_tab, None, tabs, queue=False, **PRIVATE)
    # gradio looks for queued work a thousand times a second and for progress, of a kind that is not used here, a hundred
    # times, which keeps a twentieth of a core busy from start to end.
    blocks._queue.sleep_when_free = _QUEUE_SECONDS
    blocks._queue.progress_update_sleep_when_free = _PROGRESS_SECONDS
    return blocks


def open_tab(request: gr.Request) -> Any:
    """Returns the tabs with the one open that the page's address names."""
    asked = from_address(request, "tab")
    return gr.Tabs(selected=asked) if asked in {spec.id for spec in TABS} else gr.skip()


def launch_settings() -> dict[str, Any]:
    """Returns the keyword arguments of `launch` that make the look, and keep the page to itself."""
    return {
        "theme": theme(),
        "css": css_variables(),
        "js": TOUCH,
        "css_paths": [ASSETS / "app.css", ASSETS / "map.css", ASSETS / "evaluate.css", ASSETS / "train.css"],
        "favicon_path": ASSETS / "favicon.svg",
        "footer_links": ["api"],
        "ssr_mode": False,
        "app_kwargs": {"routes": [train_news.news_route()]},
        "max_file_size": LARGEST_UPLOAD,
    }


def serve(*, host: str | None, port: int | None, share: bool, demo: bool, data: Path | None) -> None:
    """Serves the page until interrupted; encoders load in the background meanwhile.

    Args:
        host: Address to listen on; None for gradio's choice, which is 127.0.0.1, or what a Space needs.
        port: Port; None for the first free one from 7860.
        share: Whether to open a public link too.
        demo: See build_app; always so on a Space.
        data: See build_app.
    """
    registry, secret = Registry(encoder_folders()), password()
    shared = secret is None and (share or not _stays_here(host or server_name()))
    blocks = build_app(registry, demo=demo or on_space(), data=data, shared=shared)
    settings = launch_settings() | ({"auth": (USER, secret)} if secret else {})
    try:
        blocks.launch(server_name=host, server_port=port, share=share, prevent_thread_lock=True, **settings)
    except OSError as error:
        raise SystemExit(f"Port {port or 7860} cannot be used ({error}). Choose another with --port.") from error
    threading.Thread(target=warm_up, args=(registry,), daemon=True).start()
    blocks.block_thread()


def _stays_here(host: str | None) -> bool:
    """Whether only this machine can reach a server at that address; None for gradio's choice, which is 127.0.0.1."""
    try:
        return host is None or host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:  # a name, whoever it may stand for
        return False


def warm_up(registry: Registry) -> None:
    """Loads the shipped encoders, so that the first score need not wait; one that cannot be loaded the page reports.

    Of one's own there may be dozens: each is loaded when it is first asked for.
    """
    for info in registry.encoders():
        if not info.folder.is_relative_to(CHECKPOINTS):
            continue
        with contextlib.suppress(EncoderError):
            registry.load(info.name)
