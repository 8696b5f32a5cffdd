"""Reads tables of sentence pairs into validated frames; every error names the file, the row and the column."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd

from explorer.errors import DataError

SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")


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
    required = ["sentence1", "sentence2"] + (["score"] if score_range else [])
    for column in required:
        if column not in frame.columns:
            raise DataError(
                f"{path.name} has no column {column!r}; its columns are {', '.join(map(str, frame.columns))}."
            )
    if frame.empty:
        raise DataError(f"{path.name} has a header but no rows; at least one pair is needed.")
    for column in ("sentence1", "sentence2"):
        texts = frame[column].map(lambda value: value.strip() if isinstance(value, str) else "")
        empty = texts.index[texts == ""]
        if len(empty):
            raise DataError(f"{path.name}, row {_line(empty[0])}: {column} is empty; give a sentence or drop the row.")
        frame[column] = texts
    if "score" in frame.columns:
        frame["score"] = _scores(frame["score"], path, score_range)
    return frame


def read_frame(path: Path) -> pd.DataFrame:
    """Returns a table as it is, rows numbered from 0; csv and tsv as text throughout.

    Raises:
        DataError: The file is missing, damaged, not UTF-8 or of another kind.
    """
    if not path.is_file():
        raise DataError(f"No file at {str(path)!r}; check the path.")
    suffix = path.suffix.lower()
    try:
        if suffix in (".csv", ".tsv"):
            separator = "," if suffix == ".csv" else "\t"
            frame = pd.read_csv(path, sep=separator, dtype=str, keep_default_na=False, encoding="utf-8")
            if not isinstance(frame.index, pd.RangeIndex):
                raise DataError(f"{path.name} has more fields in its rows than in its header; name every column.")
            return frame
        if suffix == ".jsonl":
            return pd.read_json(path, lines=True, dtype=False, encoding="utf-8")
        if suffix == ".parquet":
            return pd.read_parquet(path).reset_index(drop=True)
    except UnicodeDecodeError as error:
        raise DataError(f"{path.name} is not UTF-8 text (byte {error.start}); save it as UTF-8.") from error
    except pd.errors.EmptyDataError as error:
        raise DataError(f"{path.name} is empty; a header line and at least one pair are needed.") from error
    except (ValueError, OSError, csv.Error) as error:
        raise DataError(f"{path.name} cannot be read as {suffix[1:]}: {str(error).strip()}.") from error
    raise DataError(f"{path.name} is of no known kind; use one of {', '.join(SUFFIXES)}.")


def _scores(column: pd.Series, path: Path, score_range: tuple[float, float] | None) -> pd.Series:
    scores = pd.to_numeric(column, errors="coerce")
    bad = scores.index[scores.isna()]
    if len(bad):
        raise DataError(f"{path.name}, row {_line(bad[0])}: score {column[bad[0]]!r} is not a number.")
    if score_range:
        low, high = score_range
        bad = scores.index[(scores < low) | (scores > high)]
        if len(bad):
            raise DataError(
                f"{path.name}, row {_line(bad[0])}: score {column[bad[0]]} is outside {low:g} to {high:g}; rescale it."
            )
    return scores.astype("float64")


def _line(index: int) -> int:
    """Row number a person counts: the first row under the header is 1."""
    return int(index) + 1
