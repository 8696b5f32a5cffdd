"""Which word pieces make two sentences alike: a pair's cosine split into one number for each pair of word pieces.

Each sentence vector is first written as a sum of one vector a word piece; the cosine is then the sum of their dot products.
Average pooling and [CLS] split exactly. The CNN is split by integrated gradients on the last hidden states, which leaves a
residual; more than MAX_RESIDUAL of it is refused. What the backbone did before its last hidden states is not taken apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers.sentence_transformer.modules import Pooling
from torch import Tensor

from explorer.analysis.filters import sentence_activations
from explorer.encoders.cnn_pooling import CNNPooling
from explorer.errors import EncoderError

MAX_RESIDUAL = 0.01
# Steps are doubled until the residual is this small, or there are _MAX_STEPS.
_GOOD_RESIDUAL = 0.005
_FIRST_STEPS, _MAX_STEPS = 16, 512
# Points times word pieces times hidden dimensions of one backward pass.
_VALUES_AT_ONCE = 100_000
# Below this magnitude of a cosine its residual is measured against this instead, as 1 % of nothing is nothing.
_SMALL_COSINE = 0.1


@dataclass(frozen=True, eq=False)
class SentenceParts:
    """A sentence vector as a sum over word pieces: vector = parts.sum(0) + baseline, but for the residual.

    Args:
        parts: (T, H) float64, what each word piece adds.
        baseline: (H,) float64, the vector of hidden states that are all zero: what the CNN's biases give without any word.
            Zero for the other sentence layers.
        vector: (H,) float64, the sentence embedding.
        weights: (T,) float64, at least 0, sum 1: the share of each piece's coefficients in the vector, whatever the hidden
            states hold. Average pooling: equal by construction. CNN: the magnitude of the gradient along the path.
        contributions: (T,) float64, each part's component along the vector as a share of the vector's length. With the
            baseline's share they sum to 1, but for the residual.
        method: "exact" or "integrated gradients".
        steps: Points on the path; 0 where exact.
        residual: |parts.sum(0) + baseline - vector| / |vector|.
    """

    # Hundreds of numbers a word piece: for computing on, not for a report.
    parts: NDArray[np.float64] = field(metadata={"plain": False})
    baseline: NDArray[np.float64] = field(metadata={"plain": False})
    vector: NDArray[np.float64] = field(metadata={"plain": False})
    weights: NDArray[np.float64]
    contributions: NDArray[np.float64]
    method: str
    steps: int
    residual: float


@dataclass(frozen=True, eq=False)
class PairContributions:
    """A pair's cosine as a matrix of contributions.

    Args:
        matrix: (T1, T2) float64, or (T1 + 1, T2 + 1) with the baselines as the last row and column. An entry is the dot
            product of two parts over the product of both vectors' lengths.
        has_baseline: Whether the last row and column are the baselines.
        cosine: Of the two sentence vectors, in [-1, 1].
        total: The sum of the matrix.
        residual: |total - cosine| / max(|cosine|, 0.1).
        method: "exact" or "integrated gradients".
        steps: Most points on a path; 0 where exact.
    """

    matrix: NDArray[np.float64]
    has_baseline: bool
    cosine: float
    total: float
    residual: float
    method: str
    steps: int


def sentence_parts(layer: CNNPooling | Pooling, states: Tensor) -> SentenceParts:
    """Returns one sentence's vector split into its word pieces.

    Args:
        layer: The encoder's sentence layer.
        states: (1, T, H) float, the last hidden states, no padding.

    Raises:
        EncoderError: A sentence layer that is neither average pooling, [CLS] nor the CNN, or a residual above MAX_RESIDUAL.
    """
    if isinstance(layer, CNNPooling):
        return _cnn_parts(layer, states)
    length = states.shape[1]
    if layer.pooling_mode == "mean":
        weights = np.full(length, 1 / length)
    elif layer.pooling_mode == "cls":
        weights = np.eye(1, length)[0]
    else:
        raise EncoderError(
            f"The sentence layer {layer.pooling_mode!r} cannot be split by words; use mean, cls or the CNN."
        )
    parts = weights[:, None] * states[0].double().cpu().numpy()
    return _parts(parts, np.zeros(parts.shape[1]), parts.sum(0), weights, "exact", 0)


def pair_contributions(first: SentenceParts, second: SentenceParts) -> PairContributions:
    """Returns the cosine of two sentence vectors as a matrix, word pieces of the first by word pieces of the second.

    Args:
        first: One sentence.
        second: The other, split by the same encoder.

    Raises:
        EncoderError: The matrix misses the cosine by more than MAX_RESIDUAL, or a vector is zero.
    """
    lengths = float(np.linalg.norm(first.vector) * np.linalg.norm(second.vector))
    if not lengths > 0:
        raise EncoderError("A sentence vector is zero, so the pair has no cosine to take apart.")
    has_baseline = "exact" not in (first.method, second.method)
    rows, columns = (np.vstack([s.parts, s.baseline]) if has_baseline else s.parts for s in (first, second))
    matrix = rows @ columns.T / lengths
    cosine, total = float(first.vector @ second.vector) / lengths, float(matrix.sum())
    residual = abs(total - cosine) / max(abs(cosine), _SMALL_COSINE)
    steps = max(first.steps, second.steps)
    _refuse(residual, steps)
    return PairContributions(matrix, has_baseline, cosine, total, residual, first.method, steps)


def _cnn_parts(head: CNNPooling, states: Tensor) -> SentenceParts:
    """Integrated gradients on the straight path from hidden states of zero, with more steps until the parts add up.

    Source: Sundararajan, Taly, Yan 2017, arXiv 1703.01365. No filter mixes hidden dimensions, so the gradient of the
    vector's sum holds every dimension's own gradient, and one backward pass serves the whole vector.
    """
    # A copy: states may come out of inference mode, where nothing can be differentiated.
    tokens = states.detach().clone()
    vector, baseline = (_array(sentence_activations(head, x).embedding[0]) for x in (tokens, torch.zeros_like(tokens)))
    steps = _FIRST_STEPS
    while True:
        gradient, magnitude = _path_gradients(head, tokens, steps)
        parts = gradient * _array(tokens[0])
        weights = magnitude.sum(1) / max(magnitude.sum(), np.finfo(np.float64).tiny)
        result = _parts(parts, baseline, vector, weights, "integrated gradients", steps)
        if result.residual <= _GOOD_RESIDUAL or steps >= _MAX_STEPS:
            break
        steps *= 2
    _refuse(result.residual, steps)
    return result


def _path_gradients(head: CNNPooling, tokens: Tensor, steps: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns the mean gradient and the mean magnitude of the gradient on the path, each (T, H) float64.

    Args:
        head: The CNN.
        tokens: (1, T, H) float.
        steps: Gauss-Legendre points.
    """
    points, shares = np.polynomial.legendre.leggauss(steps)
    points, shares = (points + 1) / 2, shares / 2
    gradient, magnitude = torch.zeros_like(tokens[0]), torch.zeros_like(tokens[0])
    size = max(1, _VALUES_AT_ONCE // tokens.numel())
    for start in range(0, steps, size):
        at, share = (torch.as_tensor(x[start : start + size]).to(tokens) for x in (points, shares))
        inputs = (at[:, None, None] * tokens).requires_grad_(True)
        mask = torch.ones(inputs.shape[:2], dtype=torch.long, device=tokens.device)
        with torch.enable_grad():
            (slope,) = torch.autograd.grad(head.activations(inputs, mask).embedding.sum(), inputs)
        gradient += torch.einsum("s,sth->th", share, slope)
        magnitude += torch.einsum("s,sth->th", share, slope.abs())
    return _array(gradient), _array(magnitude)


def _parts(
    parts: NDArray[np.float64],
    baseline: NDArray[np.float64],
    vector: NDArray[np.float64],
    weights: NDArray[np.float64],
    method: str,
    steps: int,
) -> SentenceParts:
    square = max(float(vector @ vector), np.finfo(np.float64).tiny)
    residual = float(np.linalg.norm(parts.sum(0) + baseline - vector)) / square**0.5
    return SentenceParts(parts, baseline, vector, weights, parts @ vector / square, method, steps, residual)


def _refuse(residual: float, steps: int) -> None:
    if residual > MAX_RESIDUAL:
        raise EncoderError(
            f"The parts miss the whole by {residual:.1%} after {steps} steps, more than {MAX_RESIDUAL:.0%}; "
            "such a picture would mislead and is not shown."
        )


def _array(values: Tensor) -> NDArray[np.float64]:
    return values.detach().double().cpu().numpy()
