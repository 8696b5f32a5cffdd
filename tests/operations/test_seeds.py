"""Runs that differ in the seed alone are one result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from explorer.encoders.registry import EncoderInfo
from explorer.operations.seeds import Spread, group_by_seed, spread_of
from explorer.training.config import CONFIG_FILE, TrainConfig, for_seeds

CONFIG = TrainConfig("backbone", "mean", "train.tsv", "dev.tsv", "runs/mine")


@pytest.fixture
def finished(tmp_path: Path) -> Callable[..., EncoderInfo]:
    def make(config: TrainConfig, **scores: float) -> EncoderInfo:
        folder = tmp_path / Path(config.output).name
        config.save(folder)
        return EncoderInfo(folder.name, folder, "bert", "Tiny", "mean", 1, 16, 32, 1, "hash", scores)

    return make


def test_spread_of_three_by_hand() -> None:
    assert spread_of([80.0, 82.0, 84.0]) == Spread(82.0, 2.0, 80.0, 84.0, 3)
    assert spread_of([80.0]).deviation is None


def test_group_by_seed_joins_runs_that_differ_in_the_seed_alone(finished: Callable[..., EncoderInfo]) -> None:
    seeds = [finished(config, dev_spearman=80.0 + config.seed) for config in for_seeds(CONFIG, [3, 1, 2])]
    other = finished(replace(CONFIG, output="runs/other", epochs=9.0), dev_spearman=70.0)
    (group,) = group_by_seed([*seeds, other])
    assert group.encoders == ("mine-seed-1", "mine-seed-2", "mine-seed-3")
    assert group.seeds == (1, 2, 3)
    assert group.scores == {"dev_spearman": Spread(82.0, 1.0, 81.0, 83.0, 3)}


def test_group_by_seed_takes_the_figures_all_have(finished: Callable[..., EncoderInfo]) -> None:
    one, two = for_seeds(CONFIG, [1, 2])
    (group,) = group_by_seed([finished(one, dev_spearman=80.0, test_spearman=70.0), finished(two, dev_spearman=81.0)])
    assert list(group.scores) == ["dev_spearman"]


def test_group_by_seed_passes_over_encoders_without_a_configuration(
    finished: Callable[..., EncoderInfo], tmp_path: Path
) -> None:
    one, two = (finished(config) for config in for_seeds(CONFIG, [1, 2]))
    (one.folder / CONFIG_FILE).unlink()
    (two.folder / CONFIG_FILE).write_text('{"colour": "red"}', encoding="utf-8")
    assert group_by_seed([one, two]) == []
