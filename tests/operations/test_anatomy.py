"""Our encoders' sizes, read from their folders, add up to the parameters in their weight files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from explorer.analysis.anatomy import PRESETS, count
from explorer.encoders.registry import Registry
from explorer.operations.anatomy import shapes
from explorer.training.export import save_encoder


def test_shapes_add_up_to_the_weights(tmp_path: Path, tiny_encoder: Callable) -> None:
    for family, pooling in (("bert", "mean"), ("albert", "cnn")):
        save_encoder(tiny_encoder(family, pooling), tmp_path / f"{family}-{pooling}", {})
    infos = Registry([tmp_path]).scan()[0]
    found = shapes(infos)
    assert list(found) == [*PRESETS, "bert-mean", "albert-cnn"]
    for info in infos:
        assert count(found[info.name]).total == info.parameters
