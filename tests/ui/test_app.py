"""The whole page: what of it the API offers, and that files of visitors do not stay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import gradio as gr
import pytest

from explorer.encoders.registry import Registry
from explorer.training.export import save_encoder
from explorer.ui.app import build_app

PUBLIC = {
    *("compare", "evaluate", "project", "neighbours", "agreement"),
    *("filters_activations", "filters_ablation", "filters_cell"),
    *("train", "training_run", "training_runs", "stop_training"),
}


@pytest.mark.parametrize("demo", [False, True])
def test_the_api_offers_these_endpoints_and_no_others(tmp_path: Path, tiny_encoder: Callable, demo: bool) -> None:
    save_encoder(tiny_encoder("bert", "cnn"), tmp_path / "bert-cnn", {})
    app = build_app(Registry([tmp_path]), demo=demo)
    public = [str(fn.api_name) for fn in app.fns.values() if fn.api_visibility == "public"]
    assert len(public) == len(set(public))
    assert set(public) == PUBLIC
    assert app.delete_cache == (600, 3600)


def test_gradio_still_has_the_waits_that_are_made_longer(tmp_path: Path) -> None:
    with gr.Blocks() as plain:
        pass
    ours = build_app(Registry([tmp_path]))
    for wait in ("sleep_when_free", "progress_update_sleep_when_free"):
        assert vars(ours._queue)[wait] > vars(plain._queue)[wait] > 0
