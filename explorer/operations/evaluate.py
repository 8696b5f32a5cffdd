"""Scores encoders on STS tasks: encodes each sentence once, correlates with gold, apart from what was in the training data.

What the page, the command line and the API all call. With every embedding in the cache no encoder is loaded. Torch is imported
only when something is evaluated.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from explorer.analysis.scoring import TableScore, score_table
from explorer.analysis.similarity import cosine_of_pairs
from explorer.analysis.statistics import RESAMPLES, SEED, Interval
from explorer.analysis.sts import Aggregation, Correlation
from explorer.data.overlap import Overlap
from explorer.data.sts_tasks import TaskTable, choose_tasks, read_task
from explorer.encoders.cache import CacheKey, EmbeddingCache, encode_cached
from explorer.encoders.registry import EncoderInfo, Registry
from explorer.errors import EncoderError
from explorer.operations.contamination import Contamination, Training, overlap_with, summarise, training_of

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from explorer.encoders.encode import Precision, Progress

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Reporter = Callable[[str, int, int], None]


class Subset(StrEnum):
    """Which pairs of a table: every one, those not in the training data, or those in it."""

    ALL = "all"
    CLEAN = "clean"
    OVERLAP = "overlap"


@dataclass(frozen=True)
class TaskScore:
    """One encoder on one split of one task, over all pairs or a subset of them.

    Args:
        encoder: Its name.
        task: For instance "stsb".
        split: For instance "test".
        precision: Arithmetic of the encoder, "float32" or "bfloat16".
        subset: Which pairs.
        table: Every aggregation and part, with intervals.
        contamination: What the whole table shares with the encoder's training data.
        rows: (n_pairs,) bool, which rows of the task's table are in the subset.
        cosines: (n_pairs,) float64, of every row of the task's table.
    """

    encoder: str
    task: str
    split: str
    precision: str
    subset: Subset
    table: TableScore
    contamination: Contamination
    rows: Mask = field(default_factory=lambda: np.zeros(0, dtype=bool), repr=False, compare=False)
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


def evaluate(
    registry: Registry,
    data: Path,
    *,
    tasks: Sequence[str] = ("stsb",),
    split: str = "test",
    encoders: Sequence[str] | None = None,
    precision: Precision | str = "auto",
    subsets: Sequence[Subset | str] = (Subset.ALL,),
    cache: EmbeddingCache | None = None,
    resamples: int = RESAMPLES,
    progress: Reporter | None = None,
) -> Iterator[TaskScore]:
    """Yields a TaskScore for each encoder, task and subset, once every encoder has encoded.

    Args:
        registry: Where the encoders are.
        data: Folder with stsb/, sts/ and sick/.
        tasks: Names of tasks, or "all".
        split: "dev" or "test".
        encoders: Names; None for all that can be loaded (one that cannot is then left to `registry.scan`).
        precision: See Precision.
        subsets: Which pairs; those that need the training data are left out where it is unknown.
        cache: Of embeddings; None encodes everything anew.
        resamples: Of the bootstrap.
        progress: Called with (what is being done, sentences done, sentences in all); may raise to stop.

    Raises:
        SettingError: An unknown task or split.
        DataError: A table is missing or cannot be used.
        EncoderError: A named encoder is unknown or damaged, or none can be used.
    """
    from explorer.encoders.encode import resolve_precision

    tables = [read_task(task, split, data) for task in choose_tasks(tasks, split)]
    chosen, infos, cosines = resolve_precision(precision), [], []
    for info in registry.choose(encoders):
        report = _labelled(progress, f"{info.name} on {_what(tables)}")
        try:
            made = cosines_of_tables(registry, info, [table.pairs for table in tables], chosen, cache, report)
        except EncoderError:
            if encoders is not None:
                raise
            continue
        infos.append(info)
        cosines.append(made)
    if not infos:
        raise EncoderError("None of the encoders can be loaded; see the list of problems.")
    trainings = [training_of(info, data) for info in infos]
    by_task = [
        _score_task(table, np.stack([one[t] for one in cosines]), trainings, [Subset(s) for s in subsets], resamples)
        for t, table in enumerate(tables)
    ]
    for e, info in enumerate(infos):
        for t, table in enumerate(tables):
            for subset, (score, known, rows) in by_task[t][e].items():
                where = info.name, table.task.name, split, chosen.value
                yield TaskScore(*where, subset, score, known, rows, cosines[e][t])


def score_rows(table: TaskTable, cosines: Floats, rows: Mask, subset: Subset, resamples: int) -> list[TableScore]:
    """Returns the scores of encoders over some rows of a task.

    Args:
        table: The task.
        cosines: (E, n_pairs) float64, of the whole table.
        rows: (n_pairs,) bool, which of them count.
        subset: What the rows are; only all pairs have intervals for their parts.
        resamples: Of the bootstrap; the draws depend on the task, the split and the number of rows alone, so that the scores
            of two encoders over the same rows can be compared pair by pair.
    """
    parts = np.array(table.parts, dtype=object)[rows].tolist() if table.parts else None
    seed = SEED + zlib.crc32(f"{table.task.name}/{table.split}".encode())
    gold = table.pairs["score"].to_numpy(dtype=np.float64)
    whole = subset is Subset.ALL
    return score_table(cosines[:, rows], gold[rows], parts, resamples=resamples, seed=seed, part_intervals=whole)


def _score_task(
    table: TaskTable, cosines: Floats, trainings: Sequence[Training], wanted: Sequence[Subset], resamples: int
) -> list[dict[Subset, tuple[TableScore, Contamination, Mask]]]:
    """Returns for each encoder its scores on one task; encoders of the same training data are scored together."""
    found: list[dict[Subset, tuple[TableScore, Contamination, Mask]]] = [{} for _ in trainings]
    groups: dict[tuple[object, ...], list[int]] = {}
    for e, training in enumerate(trainings):
        groups.setdefault((training.tables, training.unknown), []).append(e)
    for members in groups.values():
        training = trainings[members[0]]
        overlap = overlap_with(training, table.pairs)
        known = summarise(training, overlap, len(table.pairs))
        for subset, rows in _rows(wanted, overlap, len(table.pairs)).items():
            scores = score_rows(table, cosines[members], rows, subset, resamples)
            for e, score in zip(members, scores, strict=True):
                found[e][subset] = (score, known, rows)
    return found


def cosines_of_tables(
    registry: Registry,
    info: EncoderInfo,
    tables: Sequence[pd.DataFrame],
    precision: Precision,
    cache: EmbeddingCache | None,
    progress: Progress | None = None,
) -> list[Floats]:
    """Returns one encoder's (n_pairs,) cosines for each frame with sentence1 and sentence2; every text is encoded once."""
    from explorer.encoders.encode import encode

    texts = [text for pairs in tables for column in ("sentence1", "sentence2") for text in pairs[column]]
    if cache is None:
        vectors = encode(registry.load(info.name), texts, precision=precision, progress=progress)
    else:
        key = CacheKey.of(info, precision.value)
        vectors = encode_cached(lambda: registry.load(info.name), key, texts, cache, progress)
    cosines, start = [], 0
    for pairs in tables:
        n = len(pairs)
        cosines.append(cosine_of_pairs(vectors[start : start + n], vectors[start + n : start + 2 * n]))
        start += 2 * n
    return cosines


def cosines_of(
    encoder: SentenceTransformer, pairs: pd.DataFrame, precision: Precision, progress: Progress | None = None
) -> Floats:
    """Returns the (n_pairs,) cosines of a frame with sentence1 and sentence2."""
    from explorer.encoders.encode import encode

    n = len(pairs)
    texts = [*pairs["sentence1"], *pairs["sentence2"]]
    vectors = encode(encoder, texts, precision=precision, progress=progress)
    return cosine_of_pairs(vectors[:n], vectors[n:])


def _rows(wanted: Sequence[Subset], overlap: Overlap | None, n: int) -> Mapping[Subset, Mask]:
    every = np.ones(n, dtype=bool)
    if overlap is None:
        return {Subset.ALL: every}
    rows = {Subset.ALL: every, Subset.CLEAN: ~overlap.pairs, Subset.OVERLAP: overlap.pairs}
    return {subset: rows[subset] for subset in wanted}


def _what(tables: Sequence[TaskTable]) -> str:
    return f"{tables[0].task.name} {tables[0].split}" if len(tables) == 1 else f"{len(tables)} tasks"


def _labelled(progress: Reporter | None, label: str) -> Progress | None:
    return (lambda done, total: progress(label, done, total)) if progress else None
