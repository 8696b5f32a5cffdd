"""Scores encoders on tasks: asks each sentence once, compares with gold, apart from what was in the training data.

What the page, the command line and the API all call. With every embedding in the cache no encoder is loaded. Torch is imported
only when something is evaluated.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.analysis.accuracy import Accuracy, accuracy
from explorer.analysis.scoring import Score, TableScore, score_table
from explorer.analysis.statistics import RESAMPLES, SEED
from explorer.analysis.sts import Aggregation, Correlation
from explorer.data.overlap import Overlap
from explorer.data.sts_tasks import TaskTable, choose_tasks, read_task
from explorer.encoders.cache import EmbeddingCache
from explorer.encoders.folder import CROSS_ENCODER, EncoderInfo
from explorer.encoders.registry import Registry
from explorer.errors import EncoderError
from explorer.operations.contamination import (
    Contamination,
    Training,
    overlap_with,
    seen_in,
    summarise,
    training_of,
)
from explorer.operations.judge import NO_HEAD, Judgement, Question, judge
from explorer.operations.task_score import AnyScore, LabelScore, Place, Subset, TaskScore

if TYPE_CHECKING:
    from explorer.encoders.encode import Precision, Progress

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Reporter = Callable[[str, int, int], None]


@dataclass(frozen=True)
class _Judged:
    """An encoder, what it was trained on, and what it says of each table."""

    info: EncoderInfo
    training: Training
    answers: Sequence[Judgement]


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
) -> Iterator[AnyScore]:
    """Yields a score for each encoder, task and subset, once every encoder has judged every pair.

    A subset that needs the training data has no figure where that is unknown, but the reason; likewise labels where an
    encoder has no NLI head.

    Args:
        registry: Where the encoders are.
        data: Folder with stsb/, sts/, sick/ and snli/.
        tasks: Names of tasks, or "all".
        split: "dev" or "test".
        encoders: Names; None for all that can be loaded (one that cannot is then left to `registry.scan`).
        precision: See Precision.
        subsets: Which pairs.
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
    questions = [Question(table.pairs, table.task.labels) for table in tables]
    chosen, judged = resolve_precision(precision), []
    for info in choose_encoders(registry, encoders):
        report = _labelled(progress, f"{info.name} on {_what(tables)}")
        try:
            answers = judge(registry, info, questions, chosen, cache, report)
        except EncoderError:
            if encoders is not None:
                raise
            continue
        judged.append(_Judged(info, training_of(info, data), answers))
    if not judged:
        raise EncoderError("None of the encoders can be loaded; see the list of problems.")
    wanted = [Subset(subset) for subset in subsets]
    by_task = [_score_task(table, t, judged, wanted, chosen.value, resamples) for t, table in enumerate(tables)]
    for e in range(len(judged)):
        for scores in by_task:
            yield from scores[e]


def choose_encoders(registry: Registry, names: Sequence[str] | None) -> list[EncoderInfo]:
    """Returns the encoders of these names, in the order given; for None all of them and the cross-encoders after them.

    Raises:
        EncoderError: A name is unknown, or there is nothing to evaluate.
    """
    if names is not None:
        return registry.choose(names)
    found = sorted(registry.scan()[0], key=lambda info: info.kind == CROSS_ENCODER)
    return found or registry.choose()


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
    gold = table.pairs["score"].to_numpy(dtype=np.float64)
    whole, seed = subset is Subset.ALL, seed_of(table.task.name, table.split)
    return score_table(cosines[:, rows], gold[rows], parts, resamples=resamples, seed=seed, part_intervals=whole)


def seed_of(task: str, split: str) -> int:
    """Returns the seed of a task's resamples."""
    return SEED + zlib.crc32(f"{task}/{split}".encode())


def _score_task(
    table: TaskTable, number: int, judged: Sequence[_Judged], wanted: Sequence[Subset], precision: str, resamples: int
) -> list[list[AnyScore]]:
    """Returns for each encoder its scores on one task; encoders of the same training data are scored together.

    Args:
        table: The task.
        number: Its place among the tables.
        judged: The encoders.
        wanted: Subsets.
        precision: Of the encoders.
        resamples: Of the bootstrap.
    """
    found: list[list[AnyScore]] = [[] for _ in judged]
    groups: dict[tuple[object, ...], list[int]] = {}
    for e, one in enumerate(judged):
        groups.setdefault((one.training.tables, one.training.unknown, one.training.hashes), []).append(e)
    for members in groups.values():
        training, n = judged[members[0]].training, len(table.pairs)
        overlap = overlap_with(training, table.pairs)
        known = seen_in(training, table.pairs) if overlap is None else summarise(training, overlap, n)
        for subset, rows in _rows(wanted, overlap, n).items():
            places = [_place(judged[e].info, table, precision, subset, known, rows) for e in members]
            answers = [judged[e].answers[number] for e in members]
            for e, score in zip(members, _scores(table, answers, places, resamples), strict=True):
                found[e].append(score)
    return found


def _scores(
    table: TaskTable, answers: Sequence[Judgement], places: Sequence[Place], resamples: int
) -> Iterator[AnyScore]:
    """Yields the encoders' scores on one subset of a task."""
    subset, rows, unknown = places[0].subset, places[0].rows, places[0].contamination.unknown
    hidden = f"unknown: {unknown}" if unknown and subset is not Subset.ALL else ""
    if table.task.labels:
        for place, answer in zip(places, answers, strict=True):
            yield _label_score(table, answer, place, hidden)
        return
    cosines = np.stack([answer.cosines for answer in answers])
    if hidden:
        nothing = TableScore({Aggregation.ALL: Score(Correlation(0, None, None, hidden))})
        made = [nothing] * len(answers)
    else:
        made = score_rows(table, cosines, rows, subset, resamples)
    for place, score, row in zip(places, made, cosines, strict=True):
        yield TaskScore(**vars(place), table=score, cosines=row)


def _label_score(table: TaskTable, answer: Judgement, place: Place, hidden: str) -> LabelScore:
    if hidden:
        return LabelScore(**vars(place), accuracy=Accuracy(0, why=hidden))
    if not len(answer.labels):
        return LabelScore(**vars(place), accuracy=Accuracy(int(place.rows.sum()), why=answer.remark or NO_HEAD))
    right = answer.labels == table.pairs["label"].to_numpy(dtype=str)
    return LabelScore(**vars(place), accuracy=accuracy(right[place.rows]), remark=answer.remark, right=right)


def _place(
    info: EncoderInfo, table: TaskTable, precision: str, subset: Subset, known: Contamination, rows: Mask
) -> Place:
    where = info.name, table.task.name, table.split, precision
    return Place(*where, subset, known, rows, info.weights_hash, info.kind)


def _rows(wanted: Sequence[Subset], overlap: Overlap | None, n: int) -> Mapping[Subset, Mask]:
    """Which rows are in each wanted subset; none in those that are unknown."""
    every, none = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
    clean, seen = (none, none) if overlap is None else (~overlap.pairs, overlap.pairs)
    rows = {Subset.ALL: every, Subset.CLEAN: clean, Subset.OVERLAP: seen}
    return {subset: rows[subset] for subset in wanted}


def _what(tables: Sequence[TaskTable]) -> str:
    return f"{tables[0].task.name} {tables[0].split}" if len(tables) == 1 else f"{len(tables)} tasks"


def _labelled(progress: Reporter | None, label: str) -> Progress | None:
    return (lambda done, total: progress(label, done, total)) if progress else None
