"""Scores dev during a run: Spearman, Pearson and the spread of the predictions, quickly, and in a way that can be broken off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import pearsonr, spearmanr
from sentence_transformers import CrossEncoder
from sentence_transformers.base.evaluation import BaseEvaluator

from explorer.encoders.cross_encoder import predict_pairs
from explorer.encoders.encode import Precision, encode
from explorer.encoders.precision import bf16_is_fast

SPEARMAN, PEARSON, SPREAD = "dev_spearman", "dev_pearson", "dev_spread"
# Rounding to bfloat16 may swap two neighbours in rank, which among few pairs would show in the figure.
_EXACT_UP_TO = 500


class Interrupted(Exception):
    """Dev is no longer being scored, since the run is to stop."""


class DevEvaluator(BaseEvaluator):
    """Spearman and Pearson (in [-1, 1]) of what a model says of graded pairs, and its standard deviation over them.

    Args:
        pairs: Frame with sentence1, sentence2 and score.
        stopping: Says whether to break off; the three figures are then not numbers (nan).
        exact: Compute in float32 however many pairs there are.
    """

    def __init__(
        self, pairs: pd.DataFrame, stopping: Callable[[], bool] = lambda: False, *, exact: bool = False
    ) -> None:
        super().__init__()
        self.pairs = pairs
        self.exact = exact or len(pairs) <= _EXACT_UP_TO
        self.stopping = stopping
        self.primary_metric = SPEARMAN

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: float = -1, steps: int = -1
    ) -> dict[str, float]:
        """Returns the figures by name."""
        training = model.training
        model.eval()
        # While it is trained accelerate has put a forward of its own, in bfloat16, over the class's.
        wrapped = model.__dict__.pop("forward", None)
        try:
            found = self.predictions(model)
        except Interrupted:
            return dict.fromkeys((SPEARMAN, PEARSON, SPREAD), float("nan"))
        finally:
            model.train(training)
            if wrapped is not None:
                model.forward = wrapped
        return figures(found, self.pairs["score"].to_numpy())

    def predictions(self, model: Any) -> NDArray[np.float64]:
        """Returns (n_pairs,): the cosine of a pair's embeddings, or a cross-encoder's score."""
        bf16 = not self.exact and bf16_is_fast(model.device.type)
        first, second = self.pairs["sentence1"].tolist(), self.pairs["sentence2"].tolist()
        if isinstance(model, CrossEncoder):
            pairs = list(zip(first, second, strict=True))
            return predict_pairs(model, pairs, bf16=bf16, progress=self._look_up).astype(np.float64)
        precision = Precision.BFLOAT16 if bf16 else Precision.FLOAT32
        vectors = encode(model, first + second, precision=precision, progress=self._look_up).astype(np.float64)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return np.einsum("ij,ij->i", vectors[: len(first)], vectors[len(first) :])

    def _look_up(self, done: int, total: int) -> None:
        if self.stopping():
            raise Interrupted


def figures(predictions: NDArray[np.float64], gold: NDArray[np.float64]) -> dict[str, float]:
    """Returns Spearman and Pearson (nan where undefined) and the standard deviation of the predictions."""
    spread = float(predictions.std())
    if len(gold) < 2 or spread == 0 or np.ptp(gold) == 0 or not np.isfinite(predictions).all():
        return {SPEARMAN: float("nan"), PEARSON: float("nan"), SPREAD: spread}
    return {
        SPEARMAN: float(spearmanr(predictions, gold).statistic),
        PEARSON: float(pearsonr(predictions, gold).statistic),
        SPREAD: spread,
    }
