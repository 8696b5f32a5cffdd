"""Corpora: files of single sentences, one a line or one a row. Says what was left out and why; loses nothing silently."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from explorer.data.contents import decode, read_bytes
from explorer.data.frames import SUFFIXES, RawTable, halved, read_table, row_number, shown, shown_list
from explorer.data.sentences import fault_of, is_missing
from explorer.errors import DataError, SettingError

CORPUS_SUFFIXES = (".txt", *SUFFIXES)
# Far beyond what any encoder reads; a longer cell is a document, and the page would carry it about.
LONGEST_SENTENCE = 10_000
# How tables write a value that is not there, in any case; an empty cell is counted as empty.
_MISSING = frozenset({"nan", "null", "none", "na", "n/a", "<na>", "#n/a"})
_LONGEST_MISSING = max(map(len, _MISSING))
_USUAL_NAMES = frozenset(
    {"sentence", "sentences", "text", "texts", "sentence1", "premise", "content", "body", "review"}
)
_LOOKED_AT = 1000
_UNREADABLE = "\N{REPLACEMENT CHARACTER}"
_HALVES = re.compile(r"[\ud800-\udfff]")
# More labels than that cannot be told apart by colour and shape.
MOST_LABELS = 60


@dataclass(frozen=True, eq=False)
class Corpus:
    """The sentences of a file, and what became of its rows.

    Args:
        name: Of the file.
        rows: Frame in file order with row (int, from 1: the line of a .txt, else the row under the header), sentence
            (str, distinct, stripped) and, where a label column was chosen, label (str, "" where it has none).
        column: The column read; "" for a .txt.
        label: The label column; "" for none.
        columns: All columns of the file.
        text_columns: Those that could be the sentences, the likeliest first.
        label_columns: Those with few different values, which can serve as labels.
        given: How many rows the file has.
        empty: How many of them hold nothing.
        missing: How many hold nothing but NaN, NULL, None, NA, N/A, #N/A or <NA>, in any case, or json's null. A label is taken
            as it is written, whatever it says.
        repeated: How many repeat an earlier sentence.
        too_long: How many have more than 10,000 characters.
        not_text: How many hold a number, a list or a character that is none.
        distinct: How many different sentences there are, before the sample.
        notes: All this in sentences, with what was guessed.
    """

    name: str
    rows: pd.DataFrame
    column: str
    label: str
    columns: tuple[str, ...]
    text_columns: tuple[str, ...]
    label_columns: tuple[str, ...]
    given: int
    empty: int
    missing: int
    repeated: int
    too_long: int
    not_text: int
    distinct: int
    notes: tuple[str, ...]

    @property
    def sentences(self) -> list[str]:
        """The sentences, in file order."""
        return self.rows["sentence"].tolist()


def read_corpus(
    path: str | Path,
    column: str | None = None,
    *,
    label: str | None = None,
    most: int | None = None,
    seed: int = 42,
) -> Corpus:
    """Returns the distinct sentences of a file.

    Args:
        path: A .txt with one sentence a line, or a .csv, .tsv, .jsonl or .parquet with a header. What is not UTF-8 is read
            as Windows-1252 or Latin-1, with a note.
        column: The column of sentences; None for the one that looks most like text, which a note names.
        label: A column with a label for each sentence; None for none.
        most: At most so many sentences; more are sampled. None for all. Which ones are drawn depends on the sentences and
            the seed, not on their order in the file.
        seed: Of the sample.

    Raises:
        DataError: The file cannot be read, a column is not there or holds no text, or no sentence is left.
        SettingError: `most` is below 1.
    """
    path = Path(path)
    if most is not None and most < 1:
        raise SettingError(f"At most {most} sentences were asked for; ask for 1 or more.")
    if path.is_file() and path.suffix.lower() not in CORPUS_SUFFIXES:
        raise DataError(f"{path.name} is of no known kind; use one of {', '.join(CORPUS_SUFFIXES)}.")
    if path.suffix.lower() == ".txt":
        return _clean(_File(path, _read_lines(path, column, label)), "", most, seed)
    table = read_table(path, guess_encoding=True)
    if table.frame.empty:
        raise DataError(f"{path.name} has a header but no rows; at least one sentence is needed.")
    names = [str(name) for name in table.frame.columns]
    if label is not None and label not in names:
        raise DataError(f"{path.name} has no column {shown(label)}; its columns are {shown_list(names)}.")
    likeness = {name: _text_likeness(table.frame[name], name) for name in names}
    name = _choose_column(likeness, table.frame, column, path)
    return _clean(_File(path, table, likeness, guessed=column is None, label=label or ""), name, most, seed)


@dataclass(frozen=True, eq=False)
class _File:
    """A file as read: its table, how text-like each column is, and what was asked for."""

    path: Path
    table: RawTable
    likeness: Mapping[str, float] = field(default_factory=dict)
    guessed: bool = False
    label: str = ""


def _read_lines(path: Path, column: str | None, label: str | None) -> RawTable:
    if column or label:
        raise DataError(f"{path.name} has lines, no columns; leave the column {shown(column or label)} away.")
    text, notes = decode(read_bytes(path), path, guess=True)
    if not text:
        raise DataError(f"{path.name} is empty; give at least one sentence, one a line.")
    lines = text.split("\n")
    return RawTable(pd.DataFrame({"": lines[:-1] if not lines[-1] else lines}, dtype=object), notes)


def _choose_column(likeness: dict[str, float], frame: pd.DataFrame, column: str | None, path: Path) -> str:
    if column is not None and column not in likeness:
        raise DataError(f"{path.name} has no column {shown(column)}; its columns are {shown_list(list(likeness))}.")
    best = max(likeness, key=likeness.__getitem__)
    if column is not None:
        if likeness[column] == 0 and (first := _first_value(frame[column])) is not None:
            other = f"; choose {best!r}" if likeness[best] else ""
            raise DataError(
                f"{path.name}: the column {column!r} holds no sentences, its first value is {shown(first)}{other}."
            )
        return column
    if likeness[best] == 0:
        firsts = [f"{name} ({shown(first)})" for name in likeness if (first := _first_value(frame[name])) is not None]
        held = (
            f"; its columns and their first values are {shown_list(firsts)}"
            if firsts
            else "; all its cells are empty or missing"
        )
        raise DataError(f"{path.name} has no column of sentences{held}. Give it a column of text.")
    return best


def _first_value(column: pd.Series) -> object | None:
    return next((value for value in _filled(column)), None)


def _filled(column: pd.Series) -> list[object]:
    """The first thousand cells that hold something."""
    filled = []
    for value in column:
        text = value.strip() if isinstance(value, str) else "?"
        if text and not is_missing(value) and not _says_missing(text):
            filled.append(value)
            if len(filled) == _LOOKED_AT:
                break
    return filled


def _text_likeness(column: pd.Series, name: str) -> float:
    """How much a column looks like sentences: 0 for none, more for many different cells of many words."""
    values = _filled(column)
    words = [
        len(value.split())
        for value in values
        if isinstance(value, str) and _has_words(value[:LONGEST_SENTENCE]) and not _is_number(value)
    ]
    if len(words) * 2 < len(values) or not words:
        return 0.0
    different = len({value for value in values if isinstance(value, str)}) / len(values)
    return float(np.mean(np.minimum(words, 40))) * different * (2.0 if name.lower() in _USUAL_NAMES else 1.0)


def _has_words(text: str) -> bool:
    """Whether there is a letter, or a sign of the kinds that emoji are, beyond dates and amounts."""
    return any(character.isalpha() or character > "\u2600" for character in text)


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _clean(file: _File, name: str, most: int | None, seed: int) -> Corpus:
    frame = file.table.frame
    found: dict[str, int] = {}
    counts = dict.fromkeys(("empty", "missing", "too_long", "not_text", "repeated"), 0)
    first: dict[str, int] = {}
    for index, value in enumerate(frame[name].tolist()):
        text = value.strip() if isinstance(value, str) else value
        fault = _fault(text)
        if not fault and found.setdefault(text, index) == index:
            continue
        fault = fault or "repeated"
        counts[fault] += 1
        first.setdefault(fault, row_number(index))
    said = _said(counts, first, len(frame), "row" if name else "line")
    if not found:
        raise DataError(f"{file.path.name} holds no sentence. {said} Give at least one.")
    kept = _sample(found, most, seed)
    rows = pd.DataFrame({"row": list(map(row_number, kept.values())), "sentence": pd.Series(list(kept), dtype="str")})
    if file.label:
        labels = frame[file.label].tolist()
        rows["label"] = pd.Series([_label(labels[index]) for index in kept.values()], dtype="str")
        if rows["label"].str.contains(_UNREADABLE, regex=False).any():
            said += f" A label holds what is no character, shown as {_UNREADABLE}."
    notes = [*file.table.notes, *_column_note(name, file), said]
    if len(kept) < len(found):
        notes.append(f"{len(kept):,} of {len(found):,} different sentences, sampled with seed {seed}.")
    columns = tuple(file.likeness)
    by_likeness = sorted((column for column in columns if file.likeness[column]), key=lambda c: -file.likeness[c])
    return Corpus(
        name=file.path.name,
        rows=rows,
        column=name,
        label=file.label,
        columns=columns,
        text_columns=tuple(by_likeness),
        label_columns=tuple(column for column in columns if column != name and _few_values(frame[column])),
        given=len(frame),
        distinct=len(found),
        notes=tuple(notes),
        **counts,
    )


def _fault(value: object) -> str | None:
    """Which of the counts a stripped cell falls under; None for a sentence."""
    if not isinstance(value, str):
        return "missing" if is_missing(value) else "not_text"
    if not value:
        return "empty"
    if _says_missing(value):
        return "missing"
    if len(value) > LONGEST_SENTENCE:
        return "too_long"
    return None if value.isprintable() or not fault_of(value) else "not_text"


def _says_missing(text: str) -> bool:
    return len(text) <= _LONGEST_MISSING and text.lower() in _MISSING


def _said(counts: dict[str, int], first: dict[str, int], given: int, what: str) -> str:
    words = {
        "empty": "empty",
        "missing": "missing (NaN, null, None or N/A)",
        "too_long": f"longer than {LONGEST_SENTENCE:,} characters",
        "not_text": "no text",
        "repeated": "repeated",
    }
    left = [
        f"{count:,} {words[fault]} (the first is {what} {first[fault]:,})" for fault, count in counts.items() if count
    ]
    total = f"{given:,} {what}" + ("s" if given != 1 else "")
    return f"{total}; left out: {', '.join(left)}." if left else f"{total}, all of them used."


def _column_note(name: str, file: _File) -> list[str]:
    notes = []
    if file.guessed and len(file.likeness) > 1:
        notes.append(f"The column {name!r} was read, the most text-like of {len(file.likeness)}.")
    if len(name.split()) > 3:
        notes.append(
            f"The first line, {shown(name)}, was taken as the column's name; if it is a sentence, add a header."
        )
    return notes


def _sample(found: dict[str, int], most: int | None, seed: int) -> dict[str, int]:
    """Returns `most` sentences, those of the lowest hash, in their order in the file."""
    if most is None or len(found) <= most:
        return found
    key = f"{seed % 10**16:016d}"
    hashes = pd.util.hash_array(np.array(list(found), dtype=object), hash_key=key, categorize=False)
    drawn = np.sort(np.argsort(hashes, kind="stable")[:most])
    sentences = list(found)
    return {sentences[number]: found[sentences[number]] for number in drawn}


def _label(value: object) -> str:
    """A label as text, "" for none; halves of surrogate pairs, which nothing can show or store, become U+FFFD."""
    text = "" if is_missing(value) else str(value).strip()
    return _HALVES.sub(_UNREADABLE, text) if halved(text) else text


def _few_values(column: pd.Series) -> bool:
    """Whether a column could name classes: two to sixty values, most of them more than once."""
    values = [_label(value) for value in column.head(_LOOKED_AT * 10).tolist()]
    distinct = len({value[:100] for value in values if value})
    return 2 <= distinct <= min(MOST_LABELS, max(2, len(values) // 2))
