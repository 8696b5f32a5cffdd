"""What every tab is given, and the two things every tab needs: an address that restores it, and opening late.

A tab is a function `build(page)` called inside its gr.Tab; it places components and wires module-level handlers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from explorer.encoders.registry import Registry

# Every event of the page: callable from the page alone; the parts that wait say so themselves.
PRIVATE: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
# Every event that computes with encoders: at most so many at a time, all tabs together.
ON_MODEL: dict[str, Any] = {"concurrency_id": "model", "concurrency_limit": 2}
# Markup of our own in a gr.HTML: no style or script of gradio's around it.
BARE: dict[str, Any] = {"apply_default_css": False, "js_on_load": None, "padding": False, "container": False}
_LONGEST_ADDRESS = 2000
Choice = str | tuple[str, str]


@dataclass(frozen=True)
class Page:
    """The surroundings of a tab.

    Args:
        blocks: The whole page; its `load` event runs when someone opens it.
        tab: The tab being built.
        registry: The encoders.
        demo: Public mode: smaller tables from visitors, no training.
        data: Folder of evaluation data; None if not given.
        shared: Whether it is open to other machines without a password.
    """

    blocks: gr.Blocks
    tab: gr.Tab
    registry: Registry
    demo: bool = False
    data: Path | None = None
    shared: bool = False


@dataclass(frozen=True)
class TabSpec:
    """One entry of the table of contents: id in the address, title, and the function that builds the tab."""

    id: str
    title: str
    build: Callable[[Page], None]


def load_on_open(
    page: Page, handler: Callable[..., Any], outputs: Sequence[gr.components.Component], inputs: Sequence[Any] = ()
) -> None:
    """Runs `handler(*inputs)` into `outputs` when the tab is opened for the first time in a session, not at page load.

    Args:
        page: Whose tab is watched. The first tab of the page is open from the start: use `page.blocks.load` there.
        handler: Returns one value for each output (a single value for one); no generator.
        outputs: Where its values go.
        inputs: Components whose values it takes.
    """
    opened = gr.State(False)

    @functools.wraps(handler)
    def once(already: bool, *values: Any) -> Any:
        if already:
            return (True, *(gr.skip() for _ in outputs))
        made = handler(*values)
        return (True, *(made if len(outputs) > 1 else (made,)))

    # gradio would otherwise count the handler's arguments, which lack the first.
    del once.__wrapped__
    page.tab.select(once, [opened, *inputs], [opened, *outputs], **PRIVATE)


def keep_choices(
    page: Page, component: Any, choices: Callable[[], Sequence[Choice]], *, tick: bool = True
) -> tuple[Any, gr.State]:
    """Makes a choice of encoders that of now whenever the tab is opened: a run may have finished, or be deleted.

    Args:
        page: Whose tab is watched.
        component: A gr.CheckboxGroup or a gr.Dropdown of one value.
        choices: Returns what can be chosen now, each a name or (label, name).
        tick: Whether, in a group of boxes, a new one is ticked.

    Returns:
        The event, to hang more on, and a component that then says whether there was any change.
    """
    several = isinstance(component, gr.CheckboxGroup)
    known, changed = gr.State(_names(choices())), gr.State(False)

    def now(known: list[str], value: Any) -> Any:
        found = choices()
        names = _names(found)
        if names == known:
            return gr.skip(), False, gr.skip()
        kept = [name for name in names if name in (value or ()) or (tick and name not in known)]
        one = value if value in names else next(iter(names), None)
        return names, True, type(component)(choices=list(found), value=kept if several else one)

    event = page.tab.select(now, [known, component], [known, changed, component], queue=False, **PRIVATE)
    return event, changed


def _names(choices: Sequence[Choice]) -> list[str]:
    return [choice if isinstance(choice, str) else choice[1] for choice in choices]


def remember_in_address(names: Sequence[str]) -> str:
    """Returns JavaScript that writes its arguments into the page's address under these names, without a request.

    A list is written with commas between its items. Too long an address is not written: the names are removed instead.
    """
    return f"""(...values) => {{
        const address = new URL(window.location.href);
        {list(names)}.forEach((name, i) => address.searchParams.set(name, values[i] ?? ""));
        if (address.href.length > {_LONGEST_ADDRESS})
            {list(names)}.forEach((name) => address.searchParams.delete(name));
        window.history.replaceState(window.history.state, "", address);
    }}"""


def from_address(request: gr.Request | None, name: str) -> str | None:
    """Returns what the page's address says under a name; None if it says nothing."""
    value = request.query_params.get(name) if request is not None else None
    return str(value) if value else None
