"""The running tally over a corpus equals what all activations together say, whatever the batches."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import Tensor

from explorer.analysis.filter_scan import Extremes, FilterScanner, LayerScan
from explorer.analysis.filters import Summary, layer_maps, summarise
from explorer.encoders.cnn_pooling import CNNPooling

HIDDEN = 6


@pytest.fixture(scope="module")
def head() -> CNNPooling:
    torch.manual_seed(8)
    module = CNNPooling(HIDDEN).eval()
    with torch.no_grad():
        for convolution in module.convolutions:
            convolution.bias.uniform_(-0.3, 0.3)
    return module


@pytest.fixture(scope="module")
def sentences() -> list[Tensor]:
    """Thirty sentences' states (T, H), four of each length and two of another."""
    make = torch.Generator().manual_seed(2)
    return [torch.randn(3 + index // 4 * 5, HIDDEN, generator=make) for index in range(30)]


def scan(head: CNNPooling, sentences: list[Tensor], keep: int, batch: int = 4, **options: object) -> tuple:
    scanner = FilterScanner(head, keep, **options)  # type: ignore[arg-type]
    for length in sorted({len(s) for s in sentences}, reverse=True):
        rows = [i for i, s in enumerate(sentences) if len(s) == length]
        for start in range(0, len(rows), batch):
            some = rows[start : start + batch]
            scanner.add(some, torch.stack([sentences[i] for i in some]))
    return scanner.result()


def one_by_one(head: CNNPooling, sentences: list[Tensor], layer: int) -> list[Tensor]:
    """Each sentence's (C, T_l, H) activations of one layer."""
    with torch.no_grad():
        runs = [head.activations(s[None], torch.ones(1, len(s))) for s in sentences]
    return [run.layers[layer - 1][0] for run in runs]


@pytest.mark.parametrize(
    ("summary", "dimension"),
    [(Summary.MEAN, None), (Summary.MAGNITUDE, None), (Summary.MAXIMUM, None), (Summary.DIMENSION, 3)],
)
def test_scan_equals_all_activations_together(
    head: CNNPooling, sentences: list[Tensor], summary: Summary, dimension: int | None
) -> None:
    result = scan(head, sentences, keep=7, summary=summary, dimension=dimension)
    assert len(result) == 5
    for layer, found in enumerate(result, start=1):
        activations = one_by_one(head, sentences, layer)
        cells = [summarise(values, summary, dimension).numpy() for values in activations]
        together = np.concatenate(cells, 1)
        raw = torch.cat(activations, 1).flatten(1).numpy()
        np.testing.assert_allclose(found.mean, together.mean(1), atol=1e-6)
        np.testing.assert_allclose(found.deviation, together.std(1), atol=1e-5)
        np.testing.assert_allclose(found.spread, raw.std(1), atol=1e-5)
        np.testing.assert_allclose(found.saturated_share, (abs(raw) > 0.99).mean(1), atol=1e-6)
        assert found.cells == together.shape[1]
        best = np.stack([values.max(1) for values in cells], 1)
        worst = np.stack([values.min(1) for values in cells], 1)
        np.testing.assert_allclose(found.highest.values, -np.sort(-best, 1)[:, :7], atol=1e-6)
        np.testing.assert_allclose(found.lowest.values, np.sort(worst, 1)[:, :7], atol=1e-6)


def test_every_extreme_points_at_its_cell(head: CNNPooling, sentences: list[Tensor]) -> None:
    for layer, found in enumerate(scan(head, sentences, keep=5), start=1):
        activations = one_by_one(head, sentences, layer)
        for side in (found.highest, found.lowest):
            assert side.values.shape == (head.channels[layer], 5)
            for filter in range(head.channels[layer]):
                places = zip(side.values[filter], side.sentences[filter], side.positions[filter], strict=True)
                for value, row, position in places:
                    assert float(activations[row][filter, position].mean()) == pytest.approx(value, abs=1e-6)
                assert len(set(side.sentences[filter])) == 5


def test_scan_does_not_depend_on_batches_or_order(head: CNNPooling, sentences: list[Tensor]) -> None:
    for one, other in zip(scan(head, sentences, 5, batch=4), scan(head, sentences, 5, batch=1), strict=True):
        np.testing.assert_allclose(one.highest.values, other.highest.values, atol=1e-6)
        np.testing.assert_array_equal(one.highest.sentences, other.highest.sentences)
        np.testing.assert_allclose(one.deviation, other.deviation, atol=1e-6)


def test_fewer_sentences_than_kept_are_all_kept(head: CNNPooling, sentences: list[Tensor]) -> None:
    (first, *_) = scan(head, sentences[:3], keep=50)
    assert first.highest.values.shape == (32, 3)


def test_equal_values_stand_in_the_order_of_the_corpus(head: CNNPooling, sentences: list[Tensor]) -> None:
    (first, *_) = scan(head, [sentences[0]] * 4, keep=3)
    assert (first.highest.sentences == [[0, 1, 2]]).all()


def test_dead_and_saturated_filters_are_found(head: CNNPooling, sentences: list[Tensor]) -> None:
    broken = copy.deepcopy(head)
    with torch.no_grad():
        broken.convolutions[0].weight[4] = 0.0
        broken.convolutions[0].weight[9] *= 1e4
        broken.convolutions[0].bias[11] = 1e4
    (first, *_) = scan(broken, sentences, keep=10)
    assert np.flatnonzero(first.dead()).tolist() == [4, 11]
    assert np.flatnonzero(first.saturated()).tolist() == [9, 11]
    assert (first.selectivity()[[4, 11]] == 0).all()
    assert (first.selectivity()[[0, 1, 9]] > 0).all()


def test_selectivity_by_hand() -> None:
    def extremes(*values: float) -> Extremes:
        rows = np.array([values], dtype=np.float32)
        return Extremes(rows, np.zeros_like(rows, dtype=np.int32), np.zeros_like(rows, dtype=np.int32))

    one = np.ones(1)
    layer = LayerScan(extremes(0.9, 0.7), extremes(-0.2, 0.0), 0.1 * one, 0.2 * one, one, 0 * one, 9)
    # The strongest are 0.8 on average, 0.7 above the mean: 3.5 deviations; the lowest are 0.2 below it: 1.
    assert layer.selectivity() == pytest.approx(3.5)


def test_bfloat16_scan_is_near_the_float32_one(head: CNNPooling, sentences: list[Tensor]) -> None:
    exact = scan(head, sentences, 5)
    with torch.autocast("cpu", torch.bfloat16):
        rough = scan(head, sentences, 5)
    for one, other in zip(exact, rough, strict=True):
        np.testing.assert_allclose(one.highest.values, other.highest.values, atol=0.02)
        np.testing.assert_allclose(one.mean, other.mean, atol=0.02)


def test_maps_of_one_sentence_agree_with_the_scan(head: CNNPooling, sentences: list[Tensor]) -> None:
    states = sentences[12][None]
    with torch.no_grad():
        maps = layer_maps(head.activations(states, torch.ones(states.shape[:2])))
    for values, found in zip(maps, scan(head, [sentences[12]], keep=1), strict=True):
        np.testing.assert_allclose(values.max(1), found.highest.values[:, 0], atol=1e-6)
