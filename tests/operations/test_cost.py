"""What an encoder costs: measured in a process of its own, every figure a number."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.encoders.registry import Registry
from explorer.errors import EncoderError
from explorer.operations.cost import measure, sample
from explorer.training.export import save_encoder


def test_measure_gives_every_figure(tmp_path: Path, tiny_encoder: Callable) -> None:
    save_encoder(tiny_encoder("bert", "cnn"), tmp_path / "bert-cnn", {})
    cost = measure(Registry([tmp_path]), "bert-cnn")
    info = Registry([tmp_path]).info("bert-cnn")
    assert (cost.encoder, cost.parameters, cost.size_bytes) == ("bert-cnn", info.parameters, info.size_bytes)
    assert 0 < cost.load_seconds < 60
    assert cost.pair_ms > 0
    assert cost.sentences_per_second > 1
    assert cost.peak_bytes > 50 * 2**20
    assert "torch" in cost.machine


def test_measure_names_an_unknown_encoder(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match="no encoder 'gpt'"):
        measure(Registry([tmp_path]), "gpt")


def test_the_sample_has_different_sentences() -> None:
    assert len(set(sample(180))) == 180
