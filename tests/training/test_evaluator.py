"""DevEvaluator: the figures by hand, the spread, and being broken off."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from conftest import DATA

from explorer.data.tables import read_pairs
from explorer.training.config import TrainConfig
from explorer.training.evaluator import PEARSON, SPEARMAN, SPREAD, DevEvaluator, figures
from explorer.training.train import build_model


def test_figures_by_hand() -> None:
    found = figures(np.array([0.1, 0.2, 0.9]), np.array([1.0, 3.0, 2.0]))
    assert found[SPEARMAN] == pytest.approx(0.5)
    assert found[PEARSON] == pytest.approx(0.1147, abs=1e-4)
    assert found[SPREAD] == pytest.approx(0.3559, abs=1e-4)


@pytest.mark.parametrize(
    ("predictions", "gold"), [([0.5, 0.5], [1, 2]), ([0.1, 0.2], [3, 3]), ([0.1], [1]), ([float("nan"), 0.2], [1, 2])]
)
def test_figures_are_undefined_without_differences(predictions: list[float], gold: list[float]) -> None:
    assert np.isnan(figures(np.array(predictions), np.array(gold))[SPEARMAN])


def test_dev_evaluator_leaves_the_model_as_it_was_and_equals_plain_cosines(
    configure: Callable[..., TrainConfig],
) -> None:
    pairs = read_pairs(DATA / "pairs.tsv")
    model = build_model(configure("sts"), "cpu").train()
    found = DevEvaluator(pairs)(model)
    assert model.training
    model.eval()
    first, second = (model.encode(pairs[name].tolist()) for name in ("sentence1", "sentence2"))
    cosines = (first * second).sum(1) / np.linalg.norm(first, axis=1) / np.linalg.norm(second, axis=1)
    assert found[SPREAD] == pytest.approx(cosines.std(), abs=1e-5)


@pytest.mark.parametrize("objective", ["sts", "cross-encoder"])
def test_dev_evaluator_can_be_broken_off(configure: Callable[..., TrainConfig], objective: str) -> None:
    pairs = pd.DataFrame({"sentence1": ["a dog"] * 3, "sentence2": ["a", "the cat", "snow"], "score": [1.0, 2.0, 3.0]})
    model = build_model(configure(objective), "cpu")
    assert np.isnan(DevEvaluator(pairs, lambda: True)(model)[SPEARMAN])
    assert DevEvaluator(pairs, lambda: False)(model)[SPREAD] > 0
