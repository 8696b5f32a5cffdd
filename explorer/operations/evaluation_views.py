"""Other looks at scores that were made: by slice, and the pairs behind an overlap. Encodes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from explorer.analysis.scoring import Score, compare, score_pairs
from explorer.analysis.slices import slices
from explorer.data.sts_tasks import TASKS, read_task
from explorer.operations.task_score import AnyScore, Subset, TaskScore


@dataclass(frozen=True)
class SliceScore:
    """The encoders on one slice of a task.

    Args:
        way: How the task was divided, for instance "Negation".
        name: The slice.
        n: Number of pairs.
        scores: By encoder.
        best: The encoder that is clearly above every other; empty if none is.
    """

    way: str
    name: str
    n: int
    scores: Mapping[str, Score]
    best: str


def score_slices(scores: Sequence[AnyScore], data: Path, task: str, split: str) -> list[SliceScore]:
    """Returns the scores over all pairs of one task, slice by slice; empty if no encoder was scored on it.

    Raises:
        DataError: The task's table is not there any more.
    """
    chosen = _of_task(scores, task, split, Subset.ALL)
    if not chosen:
        return []
    pairs = read_task(TASKS[task], split, data).pairs
    chosen = [score for score in chosen if len(score.cosines) == len(pairs)]
    if not chosen:
        return []
    cosines, gold = np.stack([score.cosines for score in chosen]), pairs["score"].to_numpy(dtype=np.float64)
    found = []
    for way, masks in slices(pairs).items():
        for name, mask in masks.items():
            made = dict(zip((s.title for s in chosen), score_pairs(cosines[:, mask], gold[mask]), strict=True))
            found.append(SliceScore(way, name, int(mask.sum()), made, _best(made)))
    return found


def overlapping_pairs(scores: Sequence[AnyScore], data: Path, task: str, split: str) -> pd.DataFrame:
    """Returns a task's pairs that are in an encoder's training data: sentence1, sentence2, score, cosines by encoder.

    A cosine is missing where that encoder has not seen the pair, as far as is known.
    """
    chosen = [s for s in _of_task(scores, task, split, Subset.OVERLAP) if not s.contamination.unknown]
    if not chosen:
        return pd.DataFrame(columns=["sentence1", "sentence2", "score"])
    pairs = read_task(TASKS[task], split, data).pairs[["sentence1", "sentence2", "score"]]
    chosen = [score for score in chosen if len(score.rows) == len(pairs)]
    if not chosen:
        return pairs[:0]
    columns = {score.title: np.where(score.rows, score.cosines, np.nan) for score in chosen}
    seen = np.any([score.rows for score in chosen], axis=0)
    return pairs.assign(**columns)[seen].reset_index(drop=True)


def _of_task(scores: Sequence[AnyScore], task: str, split: str, subset: Subset) -> list[TaskScore]:
    """The correlations of one task; those of labels have no cosines to look at."""
    place = (task, split, subset)
    return [s for s in scores if isinstance(s, TaskScore) and (s.task, s.split, s.subset) == place]


def _best(scores: Mapping[str, Score]) -> str:
    for name, score in scores.items():
        others = [compare(score, other) for rival, other in scores.items() if rival != name]
        if others and all(found is not None and found.clear and found.value > 0 for found in others):
            return name
    return ""
