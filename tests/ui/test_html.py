"""Markup is built from text that cannot become markup."""

from __future__ import annotations

from explorer.ui.html import Html, escape, join, tag


def test_tag_escapes_text_and_attributes() -> None:
    assert tag("p", "<b>&", title='"x"') == '<p title="&quot;x&quot;">&lt;b&gt;&amp;</p>'


def test_tag_keeps_html_and_leaves_out_none() -> None:
    assert tag("p", tag("b", "x"), None, "<") == "<p><b>x</b>&lt;</p>"


def test_tag_writes_attribute_names_and_bare_attributes() -> None:
    assert tag("td", cls="n", aria_label="a", for_="b", hidden=True, open=False) == (
        '<td class="n" aria-label="a" for="b" hidden></td>'
    )
    assert tag("br") == "<br>"


def test_join_and_escape_return_html_that_is_not_escaped_again() -> None:
    assert escape(escape("<")) == "&lt;"
    assert isinstance(join("<", tag("i")), Html)
    assert join("<", tag("i")) == "&lt;<i></i>"
