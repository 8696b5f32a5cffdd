"""What the filters compute: a small head worked out by hand, every cell's arithmetic against the forward pass."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from explorer.analysis.filters import Summary, cell_arithmetic, layer_maps, sentence_activations, summarise
from explorer.encoders.cnn_pooling import KERNEL_SIZES, CNNPooling
from explorer.errors import SettingError

# Off the centre of a kernel, over a single position, there is only padding: this weight must never be felt.
UNFELT = 99.0


@pytest.fixture(scope="module")
def head() -> CNNPooling:
    torch.manual_seed(3)
    module = CNNPooling(6).eval()
    with torch.no_grad():
        for convolution in module.convolutions:
            convolution.bias.uniform_(-0.3, 0.3)
    return module


@pytest.fixture(scope="module")
def hand_head() -> CNNPooling:
    """H = 2; channels 1, 2, 1, 2, 1, 1 and the figure's kernel sizes; over T = 4 the layers have 2, 1, 1, 1, 1 positions."""
    module = CNNPooling(2, channels=(1, 2, 1, 2, 1, 1), kernel_sizes=KERNEL_SIZES).eval()
    centres: list[list[list[float]]] = [[[1.0], [-1.0]], [[1.0, 2.0]], [[2.0], [-1.0]], [[0.5, -0.5]], [[3.0]]]
    biases = [[0.0, 0.5], [-1.0], [0.0, 0.25], [0.1], [-0.5]]
    with torch.no_grad():
        for convolution, centre, bias in zip(module.convolutions, centres, biases, strict=True):
            convolution.weight.fill_(UNFELT)
            convolution.weight[:, :, convolution.weight.shape[2] // 2] = torch.tensor(centre)
            convolution.bias.copy_(torch.tensor(bias))
        # Layer 2 reads two positions pooled to one, so a real neighbour would be felt.
        module.convolutions[1].weight[:, :, 3] = -7.0
    return module


# T = 4 word pieces by H = 2 hidden dimensions.
STATES = torch.tensor([[[0.5, 0.0], [1.0, -2.0], [-1.0, 3.0], [0.0, 1.0]]])


def test_all_five_layers_by_hand(hand_head: CNNPooling) -> None:
    layers = [layer[0].numpy() for layer in sentence_activations(hand_head, STATES).layers]
    # Layer 1. Maxima of pairs: dimension 0 has 1 and 0, dimension 1 has 0 and 3. Filter 0: tanh(x); filter 1: tanh(0.5 - x).
    expected1 = [[[0.761594, 0.0], [0.0, 0.995055]], [[-0.462117, 0.462117], [0.462117, -0.986614]]]
    np.testing.assert_allclose(layers[0], expected1, atol=1e-6)
    # Layer 2. Maxima: dimension 0 has 0.761594 and 0.462117, dimension 1 has 0.995055 and 0.462117.
    # 0.761594 + 2 x 0.462117 - 1 = 0.685828; 0.995055 + 0.924234 - 1 = 0.919289.
    np.testing.assert_allclose(layers[1], [[[0.595295, 0.725561]]], atol=1e-6)
    # Layer 3. 2 x 0.595295 = 1.190591 and 0.25 - 0.595295 = -0.345295; 1.451122 and -0.475561.
    np.testing.assert_allclose(layers[2], [[[0.830762, 0.895914]], [[-0.332197, -0.442681]]], atol=1e-6)
    # Layer 4. 0.5 x (0.830762 + 0.332197) + 0.1 = 0.681479; 0.5 x (0.895914 + 0.442681) + 0.1 = 0.769298.
    np.testing.assert_allclose(layers[3], [[[0.592480, 0.646521]]], atol=1e-6)
    # Layer 5. 3 x 0.592480 - 0.5 = 1.277441; 3 x 0.646521 - 0.5 = 1.439563.
    np.testing.assert_allclose(layers[4], [[[0.855802, 0.893610]]], atol=1e-6)
    embedding = sentence_activations(hand_head, STATES).embedding
    np.testing.assert_allclose(embedding.numpy(), [[0.855802, 0.893610]], atol=1e-6)


def test_cell_arithmetic_by_hand(hand_head: CNNPooling) -> None:
    cell = cell_arithmetic(hand_head, STATES, sentence_activations(hand_head, STATES), 2, 0, 0, dimension=1)
    np.testing.assert_allclose(cell.inputs[2], [0.995055, 0.462117], atol=1e-6)
    assert cell.sources.tolist() == [[-1, -1], [-1, -1], [1, 0], [-1, -1], [-1, -1]]
    assert cell.weights[2].tolist() == [1.0, 2.0]
    assert cell.weights[3].tolist() == [-7.0, -7.0]
    np.testing.assert_allclose(cell.products[2], [0.995055, 0.924234], atol=1e-6)
    assert cell.total == pytest.approx(1.919289, abs=1e-6)
    assert cell.bias == -1.0
    assert cell.convolved == pytest.approx(0.919289, abs=1e-6)
    assert cell.activation == pytest.approx(0.725561, abs=1e-6)


@pytest.mark.parametrize("length", [1, 2, 3, 9, 40])
def test_cell_arithmetic_equals_the_forward_pass_in_every_layer(head: CNNPooling, length: int) -> None:
    states = torch.randn(1, length, 6, generator=torch.Generator().manual_seed(length))
    activations = sentence_activations(head, states)
    with torch.no_grad():
        plain = head.activations(states, torch.ones(1, length)).layers
    for layer, values in enumerate(activations.layers, start=1):
        filters, positions = values.shape[1:3]
        places = itertools.product((0, filters // 2, filters - 1), range(positions), (0, 5))
        for filter, position, dimension in places:
            if filter >= filters:
                continue
            cell = cell_arithmetic(head, states, activations, layer, filter, position, dimension)
            assert cell.activation == pytest.approx(cell.forward, abs=1e-12)
            assert cell.forward == pytest.approx(float(plain[layer - 1][0, filter, position, dimension]), abs=1e-6)
            assert cell.total == pytest.approx(math.fsum(cell.products.ravel()), abs=1e-12)
            assert cell.inputs.shape == cell.weights.shape == (KERNEL_SIZES[layer - 1], head.channels[layer - 1])


def test_cell_sources_point_at_the_larger_of_two_positions(head: CNNPooling) -> None:
    states = torch.randn(1, 12, 6, generator=torch.Generator().manual_seed(5))
    activations = sentence_activations(head, states)
    cell = cell_arithmetic(head, states, activations, 3, 7, 1, dimension=2)
    before = activations.layers[1][0, :, :, 2].numpy()  # (C_2, T_2)
    for tap, channel in itertools.product(range(3), range(64)):
        source = cell.sources[tap, channel]
        pair = [2 * tap, 2 * tap + 1]
        if tap == 2:
            assert source == -1
        else:
            assert source in pair
            assert (
                cell.inputs[tap, channel] == before[channel, source] == max(before[channel, p] for p in pair if p < 3)
            )


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ((0, 0, 0, 0), "no layer 0; use 1 to 5"),
        ((6, 0, 0, 0), "no layer 6; use 1 to 5"),
        ((1, 32, 0, 0), "no filter in layer 1 32; use 0 to 31"),
        ((1, 0, 5, 0), "no position in layer 1 5; use 0 to 4"),
        ((1, 0, 0, 6), "no hidden dimension 6; use 0 to 5"),
        ((1, 0, 0, "a"), "hidden dimension is 'a'; use a whole number"),
    ],
)
def test_cell_arithmetic_refuses_what_is_not_there(head: CNNPooling, place: tuple, message: str) -> None:
    states = torch.zeros(1, 9, 6)
    with pytest.raises(SettingError, match=message):
        cell_arithmetic(head, states, sentence_activations(head, states), *place)


def test_summarise_by_hand() -> None:
    values = torch.tensor([[0.5, -0.9, 0.1]])
    assert summarise(values, Summary.MEAN).item() == pytest.approx(-0.1)
    assert summarise(values, "magnitude").item() == pytest.approx(0.5)
    assert summarise(values, "maximum").item() == pytest.approx(0.9)
    assert summarise(values, Summary.DIMENSION, 1).item() == pytest.approx(-0.9)


def test_summarise_refuses_unknown_summaries_and_dimensions() -> None:
    with pytest.raises(SettingError, match="Unknown summary 'median'; use mean, magnitude, maximum, dimension"):
        summarise(torch.zeros(1, 3), "median")
    with pytest.raises(SettingError, match="Choose the hidden dimension"):
        summarise(torch.zeros(1, 3), Summary.DIMENSION)
    with pytest.raises(SettingError, match="no hidden dimension 3; use 0 to 2"):
        summarise(torch.zeros(1, 3), Summary.DIMENSION, 3)


@pytest.mark.parametrize("summary", list(Summary))
def test_layer_maps_have_one_value_a_cell_and_leave_padding_out(head: CNNPooling, summary: Summary) -> None:
    states = torch.randn(1, 7, 6, generator=torch.Generator().manual_seed(1))
    padded = torch.cat([states, torch.randn(1, 9, 6)], 1)
    mask = (torch.arange(16) < 7).long()[None]
    maps = layer_maps(sentence_activations(head, states), summary, 4)
    with torch.no_grad():
        same = layer_maps(head.activations(padded, mask), summary, 4)
    assert [m.shape for m in maps] == [(32, 4), (64, 2), (128, 1), (128, 1), (1, 1)]
    for one, other in zip(maps, same, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
