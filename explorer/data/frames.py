"""Tables as they lie in a file, before anyone asks what they mean. Every error names the file, the place and the mend.

Reads csv, tsv, jsonl and parquet; decides encoding and separator, checks the header, and runs nothing a cell holds.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from explorer.data.contents import decode, read_bytes
from explorer.errors import DataError

SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")
# Tried in this order where a header lacks the separator that the file's name promises.
_SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
_RAGGED = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")
_OPEN_QUOTE = re.compile(r"EOF inside string starting at row (\d+)")
_LONGEST_SHOWN = 60


@dataclass(frozen=True, eq=False)
class RawTable:
    """A table as it is.

    Args:
        frame: Rows numbered from 0; columns have distinct names. csv and tsv hold text throughout, "" where nothing is.
        notes: What had to be guessed, a sentence each.
    """

    frame: pd.DataFrame
    notes: tuple[str, ...] = ()


def read_frame(path: Path) -> pd.DataFrame:
    """Returns a table as it is; see RawTable. Text must be UTF-8, or UTF-16 with its mark.

    Raises:
        DataError: The file is missing, damaged, of another encoding or of another kind.
    """
    return read_table(path).frame


def read_table(path: Path, *, guess_encoding: bool = False) -> RawTable:
    """Returns a table as it is, and what had to be guessed.

    Args:
        path: A .csv, .tsv, .jsonl or .parquet file.
        guess_encoding: Read what is not UTF-8 as Windows-1252 or Latin-1, with a note, instead of refusing it.

    Raises:
        DataError: The file is missing, damaged, of another encoding or of another kind.
    """
    suffix = path.suffix.lower()
    if path.is_file() and suffix not in SUFFIXES:
        raise DataError(f"{path.name} is of no known kind; use one of {', '.join(SUFFIXES)}.")
    content = read_bytes(path)
    if suffix == ".parquet":
        return RawTable(_named(_read_parquet(content, path), path))
    text, notes = decode(content, path, guess=guess_encoding)
    if not text.strip():
        raise DataError(f"{path.name} is empty; a header line and at least one row are needed.")
    if suffix == ".jsonl":
        return RawTable(_named(_read_jsonl(text, path), path), notes)
    frame, note = _read_delimited(text, path)
    return RawTable(frame, (*notes, *note))


def need_columns(frame: pd.DataFrame, path: Path, columns: Sequence[str]) -> None:
    """Refuses a frame that lacks one of the columns, naming the nearest one it has.

    Raises:
        DataError: A column is missing.
    """
    have = [str(column) for column in frame.columns]
    for column in columns:
        if column not in have:
            near = [name for name in have if name.lower() == column] or get_close_matches(column, have, 1, 0.7)
            hint = f"; did you mean {near[0]!r}? Rename it" if near else f"; needed are {', '.join(columns)}"
            raise DataError(f"{path.name} has no column {column!r}; its columns are {shown_list(have)}{hint}.")


def row_number(index: int) -> int:
    """Row number a person counts: the first row under the header is 1."""
    return int(index) + 1


def shown(value: object) -> str:
    """Returns a value for a message, cut where it is long."""
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."


def shown_list(names: Sequence[str]) -> str:
    """Returns column names for a message, the first twelve of them."""
    cut = [name if len(name) <= _LONGEST_SHOWN else f"{name[: _LONGEST_SHOWN - 3]}..." for name in names[:12]]
    return ", ".join(cut) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def halved(text: str) -> bool:
    """Whether a text holds half of a surrogate pair, as json can write it: no character, and in no encoding."""
    return not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)


def _read_delimited(text: str, path: Path) -> tuple[pd.DataFrame, tuple[str, ...]]:
    first = text.lstrip().split("\n", 1)[0]
    own = "\t" if path.suffix.lower() == ".tsv" else ","
    separator = own if own in first else next((mark for mark in _SEPARATORS if mark in first), own)
    notes = () if separator == own else (f"Its cells are separated by {_SEPARATORS[separator]}.",)
    names = _header(text, separator, path)
    try:
        frame = pd.read_csv(
            io.StringIO(text), sep=separator, dtype=str, keep_default_na=False, header=0, names=names, low_memory=False
        )
    except (ValueError, csv.Error) as error:
        raise DataError(_mend(str(error), separator, path)) from error
    if not isinstance(frame.index, pd.RangeIndex):
        raise DataError(f"{path.name} has more fields in its rows than in its header; name every column.")
    return frame, notes + _swallowed(text, separator, len(names), path)


def _swallowed(text: str, separator: str, columns: int, path: Path) -> tuple[str, ...]:
    """Returns a note where cells of several lines hold what looks like rows: a double quote may be missing.

    Raises:
        DataError: Behind the quote that closes such a cell there is text, so it is one that was to open another cell.
    """
    mark = re.escape(separator)
    first, found, line, counted = 0, 0, 1, 0
    for cell in re.finditer(rf'"(?<![^{mark}\n]")([^"]*(?:""[^"]*)*)"([^{mark}\n]*)', text):
        if "\n" not in cell[1]:
            continue
        line, counted = line + text.count("\n", counted, cell.start()), cell.start()
        if cell[2].strip():
            last = line + cell[1].count("\n")
            raise DataError(
                f'{path.name}, line {line}: a cell opens with a double quote (") that is closed only in line {last}, before '
                f'{shown(cell[2].strip())}; close it where the cell ends, or write a double quote inside a cell as "".'
            )
        if any(row.count(separator) >= columns - 1 for row in cell[1].split("\n")[1:] if row.strip()):
            first, found = first or line, found + 1
    if not found:
        return ()
    cells, them = ("1 cell holds", "it") if found == 1 else (f"{found:,} cells hold", "them")
    return (
        f"{cells} several lines that could be rows of their own (from line {first}); if they are, take the double quotes "
        f"around {them} away.",
    )


def _header(text: str, separator: str, path: Path) -> list[str]:
    try:
        rows = csv.reader(io.StringIO(text), delimiter=separator)
        header = next(row for row in rows if row and (len(row) > 1 or row[0].strip()))
    except (csv.Error, StopIteration) as error:
        raise DataError(
            f"{path.name}: its first line cannot be read as a header ({error}); name the columns."
        ) from error
    return _distinct([name.strip() for name in header], path)


def _distinct(names: Sequence[str], path: Path) -> list[str]:
    """The names as they are, nameless columns as "column 3"."""
    if not any(names):
        raise DataError(f"{path.name}: its header line names no column; write the columns' names into its first line.")
    full = [name or f"column {number}" for number, name in enumerate(names, start=1)]
    name, count = Counter(full).most_common(1)[0]
    if count > 1:
        raise DataError(f"{path.name} has {count} columns named {shown(name)}; give each a name of its own.")
    return full


def _mend(error: str, separator: str, path: Path) -> str:
    if found := _RAGGED.search(error):
        expected, line, saw = found.groups()
        return (
            f"{path.name} cannot be read as {path.suffix[1:].lower()}: line {line} has {saw} cells where the header has "
            f"{expected}; put a cell that holds {_SEPARATORS[separator]} into double quotes."
        )
    if found := _OPEN_QUOTE.search(error):
        return (
            f'{path.name}, row {found[1]}: a cell opens with a double quote (") that is never closed; close it, or write '
            'a double quote inside a cell as "".'
        )
    return f"{path.name} cannot be read as {path.suffix[1:].lower()}: {error.strip().rstrip('.')}."


def _read_jsonl(text: str, path: Path) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    # Not splitlines: a sentence may hold a line separator of Unicode.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(
                f"{path.name} cannot be read as jsonl: line {number} is {shown(line.strip())}, not a json object "
                f"({error}); write one {{...}} on each line."
            ) from error
        if not isinstance(row, dict):
            raise DataError(
                f"{path.name} cannot be read as jsonl: line {number} is {shown(row)}, not a json object; write "
                'lines like {"sentence": "..."}.'
            )
        if bad := next((name for name in row if halved(name)), None):
            raise DataError(
                f"{path.name}, line {number}: the name {shown(bad)} holds half of a surrogate pair, which is no character; "
                "delete it."
            )
        rows.append(row)
    return pd.DataFrame(rows, dtype=object)


def _read_parquet(content: bytes, path: Path) -> pd.DataFrame:
    from pyarrow import ArrowException

    try:
        frame = pd.read_parquet(io.BytesIO(content)).reset_index(drop=True)
    except (ValueError, OSError, NotImplementedError, TypeError, ArrowException) as error:
        raise DataError(f"{path.name} cannot be read as parquet: {str(error).strip()[:200].rstrip('.')}.") from error
    return frame.astype({name: object for name, kind in frame.dtypes.items() if kind == "category"})


def _named(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    if not len(frame.columns):
        raise DataError(f"{path.name} has no columns; at least one is needed.")
    return frame.set_axis(_distinct([str(name).strip() for name in frame.columns], path), axis="columns")
