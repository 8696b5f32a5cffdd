"""Columns of sentences, checked as a whole: stripped, none empty, none that is no text. Fast enough for a million rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from explorer.data.frames import halved, row_number, shown
from explorer.data.texts import MAX_CHARACTERS
from explorer.errors import DataError


def text_columns(frame: pd.DataFrame, columns: Sequence[str], path: Path) -> pd.DataFrame:
    """Returns the frame with these columns stripped of white space at their ends.

    Raises:
        DataError: A cell of them is empty or no text; the row is named.
    """
    return frame.assign(**{column: _texts(frame[column], column, path) for column in columns})


def fault_of(value: object) -> str | None:
    """Returns why a stripped cell is no sentence, to be followed by a full stop; None if it is one."""
    if is_missing(value):
        return "is missing; give a sentence or drop the row"
    if not isinstance(value, str):
        return f"is {shown(value)}, which is not text; put it into quotes or drop the row"
    if not value.strip():
        return "is empty; give a sentence or drop the row"
    if "\0" in value:
        return f"holds a NUL character at position {value.index(chr(0)) + 1}; delete it"
    if halved(value):
        return "holds half of a surrogate pair, which is no character; delete it"
    if len(value) > MAX_CHARACTERS:
        return f"has {len(value):,} characters; at most {MAX_CHARACTERS:,} can be read, shorten it"
    return None


def is_missing(value: object) -> bool:
    """Whether a cell stands for nothing: None, NaN, NA or NaT."""
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and value != value)


def _texts(column: pd.Series, name: str, path: Path) -> pd.Series:
    values = [value.strip() if isinstance(value, str) else value for value in column.tolist()]
    for index, value in enumerate(values):
        # What nearly every cell is, told first: the rest is only asked of the others.
        if isinstance(value, str) and value and value.isprintable() and len(value) <= MAX_CHARACTERS:
            continue
        if fault := fault_of(value):
            raise DataError(f"{path.name}, row {row_number(index)}: {name} {fault}.")
    return pd.Series(values, index=column.index, dtype="str", name=name)
