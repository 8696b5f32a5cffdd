"""What every filter likes over a corpus: its strongest places, and how selective, dead or saturated it is.

A running tally: sentences come in batches and only the strongest places and a few sums are kept. Reads no text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.analysis.filters import Summary, summarise
from explorer.encoders.cnn_pooling import CNNActivations, CNNPooling

# A filter whose values deviate less than this from their mean, over all cells and dimensions, says nothing.
DEAD_DEVIATION = 1e-3
SATURATED_VALUE, SATURATED_SHARE = 0.99, 0.95
# Selectivity compares this many strongest sentences with all cells.
STRONGEST = 10
_TOKENS_AT_ONCE = 256


@dataclass(frozen=True, eq=False)
class Extremes:
    """The sentences where a layer's filters are strongest, each sentence once with its strongest cell.

    Args:
        values: (C, k) float32, the strongest first.
        sentences: (C, k) int32, rows of the corpus.
        positions: (C, k) int32, positions in the layer.
    """

    values: NDArray[np.float32]
    sentences: NDArray[np.int32]
    positions: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class LayerScan:
    """One layer's filters over a corpus. A cell's value is its summary over the hidden dimensions.

    Args:
        highest: Where the cells' values are highest.
        lowest: Where they are lowest.
        mean: (C,) float64, of the cells' values.
        deviation: (C,) float64, their standard deviation.
        spread: (C,) float64, the standard deviation of the activations themselves over cells and hidden dimensions.
        saturated_share: (C,) float64 in 0..1, the share of activations beyond +-0.99.
        cells: Number of cells behind these.
    """

    highest: Extremes
    lowest: Extremes
    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]
    spread: NDArray[np.float64]
    saturated_share: NDArray[np.float64]
    cells: int

    def selectivity(self) -> NDArray[np.float64]:
        """Returns (C,): how many standard deviations the 10 strongest sentences lie from the filter's mean cell.

        The larger of both directions; 0 for a dead filter. With fewer sentences all of them count.
        """
        above = self.highest.values[:, :STRONGEST].mean(1, dtype=np.float64) - self.mean
        below = self.mean - self.lowest.values[:, :STRONGEST].mean(1, dtype=np.float64)
        useful = ~self.dead() & (self.deviation > 0)
        return np.where(useful, np.maximum(above, below) / np.where(useful, self.deviation, 1.0), 0.0)

    def dead(self) -> NDArray[np.bool_]:
        """Returns (C,): whether a filter gives about the same value whatever it reads."""
        return self.spread < DEAD_DEVIATION

    def saturated(self) -> NDArray[np.bool_]:
        """Returns (C,): whether a filter is beyond +-0.99 nearly always."""
        return self.saturated_share >= SATURATED_SHARE


class FilterScanner:
    """Tallies the activations of a corpus; `result` may be asked at any time after the first batch.

    Args:
        head: The CNN.
        keep: Strongest sentences to keep for each filter and direction.
        summary: What a cell's value is; see Summary.
        dimension: The hidden dimension for Summary.DIMENSION.
    """

    def __init__(
        self, head: CNNPooling, keep: int, summary: Summary | str = Summary.MEAN, dimension: int | None = None
    ) -> None:
        self._head = head
        self._summary = Summary(summary)
        self._dimension = dimension
        self._tallies = [_LayerTally(channels, keep) for channels in head.channels[1:]]

    def add(self, rows: Sequence[int], states: Tensor) -> None:
        """Takes in sentences of one length.

        Args:
            rows: Their places in the corpus, B of them.
            states: (B, T, H), their last hidden states, no padding.
        """
        size = max(1, _TOKENS_AT_ONCE // states.shape[1])
        parts: list[list[_Part]] = [[] for _ in self._tallies]
        with torch.no_grad():
            for group in states.split(size):
                activations = self._activations(group)
                for layer, values in enumerate(activations.layers):
                    parts[layer].append(_measure(values, self._summary, self._dimension))
        for tally, measured in zip(self._tallies, parts, strict=True):
            tally.add(np.asarray(rows), measured)

    def result(self) -> tuple[LayerScan, ...]:
        """Returns one LayerScan a layer."""
        return tuple(tally.result() for tally in self._tallies)

    def _activations(self, states: Tensor) -> CNNActivations:
        mask = torch.ones(states.shape[:2], dtype=torch.bool, device=states.device)
        return self._head.activations(states, mask)


@dataclass(frozen=True, eq=False)
class _Part:
    """What is kept of one group's layer.

    Args:
        high: (B, C) float32, the highest cell of each sentence.
        high_at: (B, C) int64, its position.
        low: (B, C) float32, the lowest.
        low_at: (B, C) int64, its position.
        sums: (5, C) float64 over cells: of their values, of these squared, and of each cell's mean square activation, share of
            activations beyond +-0.99, and mean activation.
        cells: Number of cells.
    """

    high: Tensor
    high_at: Tensor
    low: Tensor
    low_at: Tensor
    sums: Tensor
    cells: int


def _measure(values: Tensor, summary: Summary, dimension: int | None) -> _Part:
    """Measures (B, C, T, H) activations."""
    # Positions first, as they lie in memory: sums over H are then several times as fast.
    values = values.permute(2, 0, 1, 3).float()  # (T, B, C, H)
    mean = values.mean(-1)
    cells = mean if summary is Summary.MEAN else summarise(values, summary, dimension)
    squares = values.square().mean(-1)
    beyond = values.abs().gt_(SATURATED_VALUE).mean(-1)
    high, high_at = cells.max(0)
    low, low_at = cells.min(0)
    sums = torch.stack([x.double().sum((0, 1)) for x in (cells, cells.double().square(), squares, beyond, mean)])
    return _Part(high, high_at, low, low_at, sums, cells.shape[0] * cells.shape[1])


class _LayerTally:
    def __init__(self, channels: int, keep: int) -> None:
        self._keep = keep
        self._sums = np.zeros((5, channels))
        self._cells = 0
        self._highest = _no_extremes(channels)
        self._lowest = _no_extremes(channels)

    def add(self, rows: NDArray[np.int64], parts: Sequence[_Part]) -> None:
        for part in parts:
            self._sums += part.sums.numpy(force=True)
            self._cells += part.cells
        high, high_at, low, low_at = (
            torch.cat([getattr(part, name) for part in parts]).T.numpy(force=True)
            for name in ("high", "high_at", "low", "low_at")
        )
        self._highest = _strongest(self._highest, high, high_at, rows, self._keep, sign=1)
        self._lowest = _strongest(self._lowest, low, low_at, rows, self._keep, sign=-1)

    def result(self) -> LayerScan:
        cells, squares, activation_squares, beyond, means = self._sums / max(self._cells, 1)
        return LayerScan(
            highest=self._highest,
            lowest=self._lowest,
            mean=cells,
            deviation=np.sqrt(np.maximum(squares - cells**2, 0.0)),
            spread=np.sqrt(np.maximum(activation_squares - means**2, 0.0)),
            saturated_share=beyond,
            cells=self._cells,
        )


def _no_extremes(channels: int) -> Extremes:
    return Extremes(
        np.zeros((channels, 0), np.float32), np.zeros((channels, 0), np.int32), np.zeros((channels, 0), np.int32)
    )


def _strongest(
    kept: Extremes,
    values: NDArray[np.float32],
    positions: NDArray[np.int64],
    rows: NDArray[np.int64],
    keep: int,
    sign: int,
) -> Extremes:
    """Returns the `keep` strongest of those kept and (C, B) new ones, equal values in the order of the corpus."""
    all_values = np.concatenate([kept.values, values.astype(np.float32)], 1)
    all_rows = np.concatenate([kept.sentences, np.broadcast_to(rows, values.shape).astype(np.int32)], 1)
    all_positions = np.concatenate([kept.positions, positions.astype(np.int32)], 1)
    order = np.lexsort((all_rows, -sign * all_values), axis=1)[:, :keep]
    return Extremes(*(np.take_along_axis(x, order, 1) for x in (all_values, all_rows, all_positions)))
