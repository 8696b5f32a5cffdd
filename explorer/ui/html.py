"""Builds HTML from plain text: every string is escaped unless it is Html already, so nothing a person types can be markup."""

from __future__ import annotations

import html

_VOID = frozenset({"br", "hr", "img", "input", "wbr"})


class Html(str):
    """Markup made by this module, safe to place inside other markup."""

    __slots__ = ()


def tag(name: str, /, *children: str | None, cls: str = "", **attributes: str | int | bool | None) -> Html:
    """Returns one element.

    Args:
        name: Tag name.
        children: Text, which is escaped, or Html; None is left out.
        cls: Its class attribute; none if empty.
        attributes: Further attributes, `_` standing for `-` and a final `_` dropped; None and False are left out, True
            gives a bare attribute.
    """
    given = {"class": cls or None, **{key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}}
    written = "".join(_attribute(key, value) for key, value in given.items())
    if name in _VOID:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{join(*children)}</{name}>")


def join(*children: str | None) -> Html:
    """Returns the children one after another, text escaped."""
    return Html("".join(escape(child) for child in children if child is not None))


def escape(text: str) -> Html:
    """Returns text as markup that shows it; Html stays as it is."""
    return text if isinstance(text, Html) else Html(html.escape(text, quote=True))


def _attribute(key: str, value: str | int | bool | None) -> str:
    if value is None or value is False:
        return ""
    return f" {key}" if value is True else f' {key}="{html.escape(str(value), quote=True)}"'
