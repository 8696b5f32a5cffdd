"""What a filter matters to a pair: the change in cosine when its activations are set to zero in both sentences.

One forward pass of the whole CNN, then only the layers after the filter's own; the backbone is never run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.analysis.similarity import cosine_of_pairs
from explorer.encoders.cnn_pooling import CNNActivations, CNNPooling, convolve, max_pool
from explorer.errors import SettingError

# Filters times positions times hidden dimensions of a run, whose values then stay in the processor's cache.
_ROWS_AT_ONCE = 12_288


@dataclass(frozen=True, eq=False)
class Ablation:
    """A pair's cosine without each filter of a layer.

    Args:
        layer: 1 to one before the last.
        cosine: Of the whole network, in [-1, 1].
        cosines: (C_l,) float64, with one filter's activations zero in both sentences.
        changes: (C_l,) float64, cosines - cosine: negative where the filter makes the sentences more alike.
    """

    layer: int
    cosine: float
    cosines: NDArray[np.float64]
    changes: NDArray[np.float64]

    def ranking(self) -> NDArray[np.int64]:
        """Returns the (C_l,) filters, the largest change of either sign first."""
        return np.argsort(-np.abs(self.changes), kind="stable")


def ablate(head: CNNPooling, states1: Tensor, states2: Tensor, layer: int) -> Ablation:
    """Returns a pair's cosine without each filter of one layer in turn.

    Args:
        head: The CNN both sentences went through.
        states1: (1, T1, H) float, the last hidden states of one sentence, no padding.
        states2: (1, T2, H) float, those of the other.
        layer: 1 to one before the last; the last has a single filter, and without it there is no vector.

    Raises:
        SettingError: No such layer.
    """
    last = len(head.convolutions)
    if layer == last:
        raise SettingError(
            f"Layer {last} has a single filter: without it the sentence vector is zero and has no cosine. Use 1 to {last - 1}."
        )
    if not 1 <= layer < last:
        raise SettingError(f"There is no layer {layer}; use 1 to {last - 1}.")
    with torch.no_grad():
        wholes = [head.activations(states, torch.ones(states.shape[:2])) for states in (states1, states2)]
        without1, without2 = (without_each_filter(head, whole, layer).numpy(force=True) for whole in wholes)
    whole1, whole2 = (whole.embedding.numpy(force=True) for whole in wholes)
    cosine = float(cosine_of_pairs(whole1, whole2)[0])
    cosines = cosine_of_pairs(without1, without2)
    return Ablation(layer, cosine, cosines, cosines - cosine)


def without_each_filter(head: CNNPooling, activations: CNNActivations, layer: int) -> Tensor:
    """Returns (C_l, H) float: one sentence's embedding without each filter of a layer in turn.

    The next convolution is a sum over its input filters, so its output without one filter is the whole output less that
    filter's share; only what follows must be run a filter at a time.

    Args:
        head: The CNN.
        activations: Of one sentence without padding.
        layer: 1 to one before the last.
    """
    convolution = head.convolutions[layer]
    values = activations.layers[layer - 1].permute(2, 0, 3, 1).contiguous()  # (T_l, 1, H, C_l)
    pooled, _ = max_pool(values, None)
    weight, bias = (parameter.to(values.dtype) for parameter in convolution.parameters())
    whole = convolve(pooled, weight, bias)
    size = max(1, _ROWS_AT_ONCE // (len(pooled) * pooled.shape[2]))
    parts = []
    for filters in torch.arange(pooled.shape[-1], device=values.device).split(size):
        parts.append(head.resume(layer + 1, _less_each(whole, pooled, weight, filters)))
    return torch.cat(parts)


def _less_each(whole: Tensor, pooled: Tensor, weight: Tensor, filters: Tensor) -> Tensor:
    """Returns (T, F, H, C_out): the convolution's output less the share of each of F input filters.

    Args:
        whole: (T, 1, H, C_out), the output with all.
        pooled: (T, 1, H, C_in), the input.
        weight: (C_out, C_in, k).
        filters: (F,) int64, which input filters to leave out, one at a time.
    """
    kernel = weight.shape[-1]
    length, _, hidden, _ = pooled.shape
    chosen = pooled[:, 0][..., filters].permute(2, 0, 1)  # (F, T, H)
    window = torch.nn.functional.pad(chosen, (0, 0, kernel // 2, kernel // 2)).unfold(1, length, 1)  # (F, k, H, T)
    columns = window.permute(3, 0, 2, 1).reshape(length * len(filters), hidden, kernel)
    kernels = weight[:, filters].permute(1, 2, 0).repeat(length, 1, 1)  # (T F, k, C_out)
    start = whole.repeat(1, len(filters), 1, 1).view(length * len(filters), hidden, -1)
    return start.baddbmm_(columns, kernels, alpha=-1).view(length, len(filters), hidden, -1)
