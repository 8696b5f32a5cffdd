"""Adding an encoder of the hub on the page: progress, the table, and the refusals on the server's side."""

from __future__ import annotations

import gradio as gr
import pytest
from loopback_hub import LoopbackHub

from explorer.encoders.registry import Registry
from explorer.paths import downloads_folder
from explorer.ui.add_encoder import add_for_page
from explorer.ui.page import Page


def page(**kwargs: bool) -> Page:
    return Page(gr.Blocks(), gr.Tab(), Registry([downloads_folder()]), **kwargs)


def test_add_for_page_shows_the_new_encoder(hub: LoopbackHub, hub_backbone: str) -> None:
    *_, (status, table, boxes) = add_for_page(page(), hub_backbone, ["bert-mean"])
    assert "tiny-lab--plain_albert is here" in str(status)
    assert "average pooling added" in str(status)
    assert "tiny-lab--plain_albert" in str(table)
    assert boxes.value == ["bert-mean", "tiny-lab--plain_albert"]


@pytest.mark.parametrize("public", [{"demo": True}, {"shared": True}])
def test_add_for_page_refuses_in_public_mode(hub: LoopbackHub, hub_backbone: str, public: dict[str, bool]) -> None:
    ((status, *_),) = add_for_page(page(**public), hub_backbone, [])
    assert "In public mode visitors add no encoders" in str(status)
    assert hub.requests == []


def test_add_for_page_says_what_is_wrong(hub: LoopbackHub) -> None:
    for name in (None, "", "<b>x</b>", "nobody/nothing"):
        *_, (status, _, _) = add_for_page(page(), name, [])
        assert 'role="alert"' in str(status)
        assert "<b>" not in str(status)
