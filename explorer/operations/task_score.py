"""What an evaluation yields: one encoder on one task, over all pairs or a subset. Facts only; computes nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from explorer.analysis.accuracy import Accuracy
from explorer.analysis.scoring import TableScore
from explorer.analysis.statistics import Interval
from explorer.analysis.sts import Aggregation, Correlation
from explorer.encoders.folder import ENCODER
from explorer.operations.contamination import Contamination

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Subset(StrEnum):
    """Which pairs of a table: every one, those not in the training data, or those in it."""

    ALL = "all"
    CLEAN = "clean"
    OVERLAP = "overlap"


def _no_flags() -> Flags:
    return np.zeros(0, dtype=bool)


@dataclass(frozen=True)
class Place:
    """What was scored on what.

    Args:
        encoder: Its name.
        task: For instance "stsb".
        split: For instance "test".
        precision: Arithmetic of the encoder, "float32" or "bfloat16".
        subset: Which pairs.
        contamination: What the whole table shares with the encoder's training data.
        rows: (n_pairs,) bool, which rows of the task's table are in the subset.
        weights_hash: Of the encoder when it was scored; a retrained one of the same name has another.
        kind: "encoder", or "cross-encoder", which reads both sentences at once.
    """

    encoder: str
    task: str
    split: str
    precision: str
    subset: Subset
    contamination: Contamination
    rows: Flags = field(default_factory=_no_flags, repr=False, compare=False)
    weights_hash: str = ""
    kind: str = ENCODER

    @property
    def title(self) -> str:
        """The encoder's name, with its kind where that is another."""
        return self.encoder if self.kind == ENCODER else f"{self.encoder} ({self.kind})"


@dataclass(frozen=True, kw_only=True)
class TaskScore(Place):
    """A correlation with gold scores.

    Args:
        table: Every aggregation and part, with intervals.
        cosines: (n_pairs,) float64, of every row of the task's table; what a cross-encoder says of a pair, in 0..1.
    """

    table: TableScore
    cosines: Floats = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)

    @property
    def correlation(self) -> Correlation:
        """Over all pairs of the subset at once."""
        return self.table.all_pairs.correlation

    @property
    def n(self) -> int:
        """Number of pairs."""
        return self.correlation.n

    @property
    def spearman(self) -> float | None:
        """Of cosine and gold, x 100; None where undefined."""
        return self.correlation.spearman

    @property
    def pearson(self) -> float | None:
        """Likewise."""
        return self.correlation.pearson

    @property
    def why(self) -> str:
        """Why a figure is undefined; empty otherwise."""
        return self.correlation.why

    @property
    def interval(self) -> Interval | None:
        """95 % interval of Spearman."""
        return self.table.all_pairs.spearman_interval

    @property
    def aggregation(self) -> Aggregation:
        """What spearman, pearson and interval are of."""
        return Aggregation.ALL


@dataclass(frozen=True, kw_only=True)
class LabelScore(Place):
    """How often an encoder's NLI softmax head names the right label.

    Args:
        accuracy: Share of right labels x 100, or why there is none.
        remark: What to know of the head; empty for nothing.
        right: (n_pairs,) bool, of every row of the task's table; empty where nothing could be asked.
    """

    accuracy: Accuracy
    remark: str = ""
    right: Flags = field(default_factory=_no_flags, repr=False, compare=False)

    @property
    def n(self) -> int:
        """Number of pairs."""
        return self.accuracy.n

    @property
    def interval(self) -> Interval | None:
        """95 % interval of the accuracy."""
        return self.accuracy.interval

    @property
    def why(self) -> str:
        """Why there is no accuracy; empty otherwise."""
        return self.accuracy.why


AnyScore = TaskScore | LabelScore
