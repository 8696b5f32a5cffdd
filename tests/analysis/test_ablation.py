"""Ablation: equal to truly zeroing a filter, in every layer, and refused where there is nothing left."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import Tensor

from explorer.analysis.ablation import Ablation, ablate, without_each_filter
from explorer.analysis.similarity import cosine_of_pairs
from explorer.encoders.cnn_pooling import CNNPooling
from explorer.errors import SettingError

HIDDEN = 10


@pytest.fixture(scope="module")
def head() -> CNNPooling:
    torch.manual_seed(4)
    module = CNNPooling(HIDDEN).eval()
    with torch.no_grad():
        for convolution in module.convolutions:
            convolution.bias.uniform_(-0.3, 0.3)
    return module


def make_states(length: int) -> Tensor:
    return torch.randn(1, length, HIDDEN, generator=torch.Generator().manual_seed(length))


def embedding_with_zeroed(head: CNNPooling, states: Tensor, layer: int, filter: int) -> Tensor:
    """The slow way: a head whose filter has neither weights nor bias, so that its activations are tanh(0) = 0."""
    zeroed = copy.deepcopy(head)
    with torch.no_grad():
        zeroed.convolutions[layer - 1].weight[filter] = 0
        zeroed.convolutions[layer - 1].bias[filter] = 0
        return zeroed.activations(states, torch.ones(states.shape[:2])).embedding[0]


@pytest.mark.parametrize("layer", [1, 2, 3, 4])
@pytest.mark.parametrize("length", [1, 2, 5, 19, 70])
def test_without_each_filter_equals_a_head_with_the_filter_zeroed(head: CNNPooling, layer: int, length: int) -> None:
    states = make_states(length)
    with torch.no_grad():
        found = without_each_filter(head, head.activations(states, torch.ones(1, length)), layer)
    assert found.shape == (head.channels[layer], HIDDEN)
    for filter in (0, 1, 17, head.channels[layer] - 1):
        slow = embedding_with_zeroed(head, states, layer, filter)
        torch.testing.assert_close(found[filter], slow, atol=1e-6, rtol=0)


def test_ablate_gives_cosines_and_changes_of_the_pair(head: CNNPooling) -> None:
    first, second = make_states(9), make_states(14)
    result = ablate(head, first, second, 2)
    with torch.no_grad():
        whole = [head.activations(s, torch.ones(s.shape[:2])).embedding.numpy() for s in (first, second)]
    assert result.cosine == pytest.approx(float(cosine_of_pairs(*whole)[0]))
    slow = [embedding_with_zeroed(head, s, 2, 31).numpy()[None] for s in (first, second)]
    assert result.cosines[31] == pytest.approx(float(cosine_of_pairs(*slow)[0]), abs=1e-6)
    np.testing.assert_allclose(result.changes, result.cosines - result.cosine)


def test_ablating_a_filter_that_is_always_zero_changes_nothing(head: CNNPooling) -> None:
    idle = copy.deepcopy(head)
    with torch.no_grad():
        idle.convolutions[0].weight[3] = 0
        idle.convolutions[0].bias[3] = 0
    result = ablate(idle, make_states(8), make_states(6), 1)
    assert result.changes[3] == pytest.approx(0, abs=1e-7)
    assert abs(result.changes).max() > 1e-4


def test_ablate_of_a_sentence_with_itself_keeps_the_cosine_at_one(head: CNNPooling) -> None:
    result = ablate(head, make_states(8), make_states(8), 3)
    np.testing.assert_allclose(result.cosines, 1.0, atol=1e-6)


def test_ranking_puts_the_largest_change_of_either_sign_first() -> None:
    changes = np.array([0.1, -0.3, 0.0, 0.2])
    assert Ablation(1, 0.5, 0.5 + changes, changes).ranking().tolist() == [1, 3, 0, 2]


@pytest.mark.parametrize(("layer", "message"), [(5, "single filter"), (0, "no layer 0"), (6, "no layer 6")])
def test_ablate_refuses_the_last_layer_and_those_that_are_not_there(head: CNNPooling, layer: int, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        ablate(head, make_states(4), make_states(4), layer)
