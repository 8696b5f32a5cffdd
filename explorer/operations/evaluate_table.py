"""Scores encoders on a person's own table of pairs with gold scores: the same figures as for the tasks, on any scale."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from explorer.analysis.scoring import Score, compare, score_pairs
from explorer.analysis.statistics import in_words
from explorer.data.tables import read_pairs
from explorer.encoders.cache import EmbeddingCache
from explorer.encoders.registry import Registry
from explorer.errors import DataError
from explorer.operations.contamination import Contamination, seen_in, training_of
from explorer.operations.judge import cosines_of_tables

if TYPE_CHECKING:
    from explorer.encoders.encode import Precision

MOST_ROWS = 20_000


@dataclass(frozen=True)
class OwnTable:
    """A person's table, scored.

    Args:
        name: Of the file.
        scores: A Score for each encoder.
        comparisons: For each two encoders in words which is ahead, whether that is clear, and which of them has seen pairs of
            the table in training; empty where undefined.
        pairs: sentence1, sentence2, score and a column of cosines for each encoder.
        seen: For each encoder what the table shares with its training data.
    """

    name: str
    scores: dict[str, Score]
    comparisons: tuple[str, ...]
    pairs: pd.DataFrame
    seen: Mapping[str, Contamination] = field(default_factory=dict)


def evaluate_table(
    registry: Registry,
    path: Path,
    *,
    data: Path | None = None,
    encoders: Sequence[str] | None = None,
    precision: Precision | str = "auto",
    cache: EmbeddingCache | None = None,
    most_rows: int = MOST_ROWS,
    progress: Callable[[str, int, int], None] | None = None,
) -> OwnTable:
    """Returns every encoder's correlation with the gold scores of a table.

    Args:
        registry: Where the encoders are.
        path: A .csv, .tsv, .jsonl or .parquet with sentence1, sentence2 and score, on any scale.
        data: Folder of evaluation data, where the encoders' training tables may lie; None if there is none.
        encoders: Names; None for all.
        precision: See Precision.
        cache: Of embeddings; None encodes everything anew.
        most_rows: A longer table is refused.
        progress: Called with (encoder, sentences done, sentences in all).

    Raises:
        DataError: The table cannot be used; the sentence names the row.
        EncoderError: An encoder is unknown or damaged.
    """
    from explorer.encoders.encode import resolve_precision

    pairs = read_gold(path, most_rows)
    gold, columns, seen = pairs["score"].to_numpy(dtype=np.float64), {}, {}
    for info in registry.choose(encoders):
        report = (lambda done, total, name=info.name: progress(name, done, total)) if progress else None
        (columns[info.name],) = cosines_of_tables(registry, info, [pairs], resolve_precision(precision), cache, report)
        seen[info.name] = seen_in(training_of(info, data, [path]), pairs)
    scores = dict(zip(columns, score_pairs(np.stack(list(columns.values())), gold), strict=True))
    sentences = tuple(
        in_words(a, b, found) + "".join(_mind(name, seen[name]) for name in (a, b))
        for i, (a, first) in enumerate(scores.items())
        for b, second in list(scores.items())[i + 1 :]
        if (found := compare(first, second)) is not None
    )
    return OwnTable(path.name, scores, sentences, pairs.assign(**columns), seen)


def _mind(name: str, found: Contamination) -> str:
    """What a reader of a comparison must know of an encoder that has seen pairs in training; empty for one that has not."""
    if not found.pairs:
        return ""
    least = "at least " if found.unknown else ""
    return f" Mind: {name} was trained on {least}{found.pairs:,} of these {found.n:,} pairs, so it may remember them."


def read_gold(path: Path, most_rows: int = MOST_ROWS) -> pd.DataFrame:
    """Returns the pairs of a table with gold scores, any scale, those three columns only.

    Raises:
        DataError: A column is missing, a row cannot be used, or there are too many.
    """
    pairs = read_pairs(path)
    if "score" not in pairs.columns:
        raise DataError(f"{path.name} has no column 'score'; the gold scores are what the cosines are compared with.")
    if len(pairs) > most_rows:
        raise DataError(f"{path.name} has {len(pairs):,} rows; at most {most_rows:,} are scored here.")
    bad = pairs.index[~np.isfinite(pairs["score"])]
    if len(bad):
        raise DataError(f"{path.name}, row {int(bad[0]) + 1}: the score is infinite; give a number.")
    return pairs[["sentence1", "sentence2", "score"]]
