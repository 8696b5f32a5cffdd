"""Scores encoders on STS tables: reads pairs, encodes each sentence once an encoder, correlates with gold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from explorer.analysis.similarity import cosine_of_pairs
from explorer.analysis.sts import correlate
from explorer.data.tables import read_pairs
from explorer.encoders.encode import Precision, Progress, encode, resolve_precision
from explorer.encoders.registry import Registry
from explorer.errors import SettingError

TASKS = {"stsb": ("dev", "test")}


@dataclass(frozen=True)
class TaskScore:
    """One encoder on one split of one task.

    Args:
        encoder: Its name.
        task: For instance "stsb".
        split: For instance "test".
        n: Number of pairs.
        spearman: Of cosine and gold over all pairs, x 100; None where undefined.
        pearson: Likewise.
        precision: Arithmetic of the encoder, "float32" or "bfloat16".
        why: Why a figure is undefined; empty otherwise.
    """

    encoder: str
    task: str
    split: str
    n: int
    spearman: float | None
    pearson: float | None
    precision: str
    why: str = ""


def evaluate(
    registry: Registry,
    data: Path,
    *,
    tasks: Sequence[str] = ("stsb",),
    split: str = "test",
    encoders: Sequence[str] | None = None,
    precision: Precision | str = Precision.AUTO,
    progress: Callable[[str, int, int], None] | None = None,
) -> Iterator[TaskScore]:
    """Yields a TaskScore for each encoder and task, as each is done.

    Args:
        registry: Where the encoders are.
        data: Folder with stsb/dev.tsv and stsb/test.tsv.
        tasks: Names in TASKS.
        split: "dev" or "test".
        encoders: Names; None for all.
        precision: See Precision.
        progress: Called with (what is being done, sentences done, sentences in all).

    Raises:
        SettingError: An unknown task or split.
        DataError: A table is missing or cannot be used.
        EncoderError: An encoder is unknown or damaged.
    """
    for task in tasks:
        if task not in TASKS:
            raise SettingError(f"Unknown task {task!r}; the tasks are {', '.join(TASKS)}.")
        if split not in TASKS[task]:
            raise SettingError(f"Task {task} has no split {split!r}; use {' or '.join(TASKS[task])}.")
    tables = {task: read_pairs(data / task / f"{split}.tsv", score_range=(0, 5)) for task in tasks}
    chosen = resolve_precision(precision)
    for info in registry.choose(encoders):
        encoder = registry.load(info.name)
        for task, pairs in tables.items():
            report: Progress | None = None
            if progress:
                label = f"{info.name} on {task} {split}"
                report = lambda done, total, label=label: progress(label, done, total)  # noqa: E731
            result = correlate(cosines_of(encoder, pairs, chosen, report), pairs["score"])
            yield TaskScore(info.name, task, split, result.n, result.spearman, result.pearson, chosen.value, result.why)


def cosines_of(
    encoder: SentenceTransformer, pairs: pd.DataFrame, precision: Precision, progress: Progress | None = None
) -> NDArray[np.float64]:
    """Returns the (n_pairs,) cosines of a frame with sentence1 and sentence2."""
    n = len(pairs)
    texts = [*pairs["sentence1"], *pairs["sentence2"]]
    vectors = encode(encoder, texts, precision=precision, progress=progress)
    return cosine_of_pairs(vectors[:n], vectors[n:])
