"""What the CNN's filters compute on one sentence: maps of every layer, and one cell's arithmetic step by step.

Works on the activations that made the sentence embedding; computes none of its own. Layers count from 1 as in the paper's
figure; filters, positions and hidden dimensions count from 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.encoders.cnn_pooling import CNNActivations, CNNPooling
from explorer.errors import SettingError


class Summary(StrEnum):
    """What one number stands for all H hidden dimensions of a cell; the last shows a single dimension."""

    MEAN = "mean"
    MAGNITUDE = "magnitude"
    MAXIMUM = "maximum"
    DIMENSION = "dimension"


SUMMARY_WORDS = {
    Summary.MEAN: "the signed mean over the hidden dimensions",
    Summary.MAGNITUDE: "the mean magnitude over the hidden dimensions",
    Summary.MAXIMUM: "the largest magnitude over the hidden dimensions",
    Summary.DIMENSION: "one hidden dimension",
}


@dataclass(frozen=True, eq=False)
class CellArithmetic:
    """How one activation comes about: activation = tanh(sum of inputs x weights + bias).

    Args:
        layer: 1 to the number of blocks.
        filter: Output channel of the layer.
        position: Position in the layer.
        dimension: Hidden dimension; no other one is read.
        inputs: (k, C_in) float64, the max-pooled values in the window; zero beyond the sentence's ends.
        sources: (k, C_in) int64, the position of the layer before that was the larger and gave the input; -1 beyond the
            sentence's ends.
        weights: (k, C_in) float64, the filter's kernel.
        products: (k, C_in) float64, inputs x weights.
        total: The sum of all products.
        bias: The filter's bias.
        convolved: total + bias.
        activation: tanh(convolved), in [-1, 1].
        forward: The same cell in the forward pass that made the embedding.
    """

    layer: int
    filter: int
    position: int
    dimension: int
    inputs: NDArray[np.float64]
    sources: NDArray[np.int64]
    weights: NDArray[np.float64]
    products: NDArray[np.float64]
    total: float
    bias: float
    convolved: float
    activation: float
    forward: float


def sentence_activations(head: CNNPooling, states: Tensor) -> CNNActivations:
    """Returns the head's activations on one sentence in float64, so that sums made in any order agree.

    Args:
        head: The CNN.
        states: (1, T, H), the last hidden states, no padding.
    """
    with torch.no_grad():
        return head.activations(states.double(), torch.ones(states.shape[:2], dtype=torch.long, device=states.device))


def check_choice(head: CNNPooling, layer: int, filter: int | None = None, dimension: int | None = None) -> None:
    """Raises SettingError unless the head has such a layer, filter and hidden dimension; None is not checked."""
    _check_range("layer", layer, 1, len(head.convolutions))
    if filter is not None:
        _check_range(f"filter in layer {layer}", filter, 0, head.channels[layer] - 1)
    if dimension is not None:
        _check_range("hidden dimension", dimension, 0, head.embedding_dimension - 1)


def summarise(values: Tensor, summary: Summary | str, dimension: int | None = None) -> Tensor:
    """Returns one number a cell, (..., H) to (...), in the float type of the values.

    Args:
        values: (..., H) float activations in [-1, 1].
        summary: MEAN and DIMENSION keep the sign; MAGNITUDE and MAXIMUM are at least 0.
        dimension: The hidden dimension for DIMENSION; not read otherwise.

    Raises:
        SettingError: An unknown summary, or no hidden dimension where one is needed.
    """
    kind = read_summary(summary)
    if kind is Summary.MEAN:
        return values.mean(-1)
    if kind is Summary.MAGNITUDE:
        return values.abs().mean(-1)
    if kind is Summary.MAXIMUM:
        return values.abs().amax(-1)
    if dimension is None:
        raise SettingError("Choose the hidden dimension to show, or another summary.")
    _check_range("hidden dimension", dimension, 0, values.shape[-1] - 1)
    return values[..., dimension]


def read_summary(summary: Summary | str) -> Summary:
    """Returns the summary of that name.

    Raises:
        SettingError: There is none.
    """
    try:
        return Summary(summary)
    except ValueError as error:
        raise SettingError(f"Unknown summary {str(summary)[:40]!r}; use {', '.join(Summary)}.") from error


def layer_maps(
    activations: CNNActivations, summary: Summary | str = Summary.MEAN, dimension: int | None = None
) -> tuple[NDArray[np.float64], ...]:
    """Returns, for the first sentence of the activations, one (C_l, T_l) float64 array a layer; see `summarise`."""
    return tuple(
        summarise(layer[0].transpose(0, 1)[mask[0]].transpose(0, 1), summary, dimension).double().cpu().numpy()
        for layer, mask in zip(activations.layers, activations.masks, strict=True)
    )


def cell_values(
    head: CNNPooling,
    states: Tensor,
    layer: int,
    filter: int,
    positions: Sequence[int],
    summary: Summary | str = Summary.MEAN,
    dimension: int | None = None,
) -> NDArray[np.float32]:
    """Returns (B,) float32: one filter's value at one position of each of B sentences; see `summarise`.

    Args:
        head: The CNN.
        states: (B, T, H) float32, the last hidden states of sentences of one length, no padding.
        layer: 1 to the number of blocks.
        filter: 0 to C_l - 1.
        positions: B positions in the layer.
        summary: See Summary.
        dimension: The hidden dimension for Summary.DIMENSION.
    """
    mask = torch.ones(states.shape[:2], dtype=torch.long, device=states.device)
    with torch.no_grad():
        values = head.activations(states.float(), mask).layers[layer - 1]
    chosen = values[torch.arange(len(states)), filter, torch.as_tensor(positions)]
    return summarise(chosen, summary, dimension).numpy(force=True)


def cell_arithmetic(
    head: CNNPooling,
    states: Tensor,
    activations: CNNActivations,
    layer: int,
    filter: int,
    position: int,
    dimension: int,
) -> CellArithmetic:
    """Returns the arithmetic behind one activation, from the values the forward pass handed out.

    Args:
        head: The CNN.
        states: (1, T, H), the hidden states it read, no padding.
        activations: What `sentence_activations` returned for them.
        layer: 1 to the number of blocks.
        filter: 0 to C_l - 1.
        position: 0 to T_l - 1.
        dimension: 0 to H - 1.

    Raises:
        SettingError: No such layer, filter, position or dimension.
    """
    check_choice(head, layer, filter, dimension)
    values = activations.layers[layer - 1]
    _check_range(f"position in layer {layer}", position, 0, values.shape[2] - 1)
    before = states if layer == 1 else activations.layers[layer - 2][0, :, :, dimension].T
    before = before[0, :, dimension, None] if layer == 1 else before  # (T_{l-1}, C_in)
    convolution = cast(torch.nn.Conv1d, head.convolutions[layer - 1])
    weights = _array(convolution.weight[filter].T)
    inputs, sources = _window(_array(before), position, len(weights))
    products = inputs * weights
    total, bias = float(products.sum()), float(_array(cast(Tensor, convolution.bias))[filter])
    return CellArithmetic(
        layer=layer,
        filter=filter,
        position=position,
        dimension=dimension,
        inputs=inputs,
        sources=sources,
        weights=weights,
        products=products,
        total=total,
        bias=bias,
        convolved=total + bias,
        activation=float(np.tanh(total + bias)),
        forward=float(values[0, filter, position, dimension]),
    )


def _window(before: NDArray[np.float64], position: int, kernel: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Max-pools the layer before, (T_{l-1}, C_in), under one kernel; see CellArithmetic for the results."""
    inputs = np.zeros((kernel, before.shape[1]))
    sources = np.full((kernel, before.shape[1]), -1, dtype=np.int64)
    for tap in range(kernel):
        first = 2 * (position + tap - kernel // 2)
        if 0 <= first < len(before):
            pair = before[first : first + 2]
            inputs[tap], sources[tap] = pair.max(0), first + pair.argmax(0)
    return inputs, sources


def _array(values: Tensor) -> NDArray[np.float64]:
    return values.detach().double().cpu().numpy()


def _check_range(what: str, value: int, first: int, last: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise SettingError(f"The {what} is {str(value)[:40]!r}; use a whole number from {first} to {last}.")
    if not first <= value <= last:
        raise SettingError(f"There is no {what} {value}; use {first} to {last}.")
