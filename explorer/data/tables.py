"""Reads tables into validated frames: graded pairs here, corpora, labelled pairs and triplets beside it.

Every error names the file, the row and the column.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from explorer.data.corpora import Corpus, read_corpus
from explorer.data.frames import SUFFIXES, need_columns, read_frame, row_number, shown
from explorer.data.nli import LABELS, read_nli, read_triplets, triplets_of_nli
from explorer.data.sentences import text_columns
from explorer.errors import DataError

__all__ = [
    "LABELS",
    "SUFFIXES",
    "Corpus",
    "read_corpus",
    "read_frame",
    "read_nli",
    "read_pairs",
    "read_triplets",
    "triplets_of_nli",
]


def read_pairs(path: str | Path, *, score_range: tuple[float, float] | None = None) -> pd.DataFrame:
    """Returns the pairs of a table, in file order.

    Args:
        path: A .csv, .tsv, .jsonl or .parquet file, UTF-8, with columns sentence1 and sentence2; csv and tsv have a
            header line and csv quoting with `"`.
        score_range: Lowest and highest gold score allowed, for instance (0, 5); the column score is then required.
            None: scores are optional and their range is not checked.

    Returns:
        A frame with sentence1 (str), sentence2 (str) and, if the file has it, score (float64); other columns are kept
        as text.

    Raises:
        DataError: The file cannot be read as such a table.
    """
    path = Path(path)
    frame = read_frame(path)
    need_columns(frame, path, ["sentence1", "sentence2"] + (["score"] if score_range else []))
    if frame.empty:
        raise DataError(f"{path.name} has a header but no rows; at least one pair is needed.")
    frame = text_columns(frame, ("sentence1", "sentence2"), path)
    if "score" in frame.columns:
        frame = frame.assign(score=_scores(frame["score"], path, score_range))
    return frame


def _scores(column: pd.Series, path: Path, score_range: tuple[float, float] | None) -> pd.Series:
    scores = _numbers(column)
    bad = scores.index[scores.isna()]
    if len(bad):
        value = column[bad[0]]
        comma = isinstance(value, str) and _decimal_comma(value)
        mend = "write a point instead of the comma" if comma else "write one, or remove the row"
        raise DataError(f"{path.name}, row {row_number(bad[0])}: score {shown(value)} is not a number; {mend}.")
    if score_range:
        low, high = score_range
        bad = scores.index[(scores < low) | (scores > high)]
        if len(bad):
            also = f" (and {len(bad) - 1:,} more rows)" if len(bad) > 1 else ""
            value = str(column[bad[0]])[:40]
            raise DataError(
                f"{path.name}, row {row_number(bad[0])}: score {value} is outside {low:g} to {high:g}{also}; rescale it."
            )
    return scores.astype("float64")


def _numbers(column: pd.Series) -> pd.Series:
    """The column as float64, NaN where a cell is no number; true and false are none."""
    if column.dtype == object:
        column = column.map(lambda value: None if isinstance(value, bool) else value)
    try:
        return pd.to_numeric(column, errors="coerce")
    except OverflowError:  # a whole number beyond all floats
        return pd.to_numeric(column.map(str), errors="coerce")


def _decimal_comma(value: str) -> bool:
    return value.count(",") == 1 and value.replace(",", "").strip().isdigit()
