"""The corpora that can be mapped: the shipped one, pasted lines, a file. Each cleaned, capped, and told so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from explorer.data.corpora import MOST_LABELS, read_corpus
from explorer.data.corpus import read_sample_corpus
from explorer.errors import DataError, SettingError
from explorer.operations.project import LARGEST_MAP, MOST_SENTENCES, Cleaned, clean

SAMPLE_NAME = "sample corpus"
_SAMPLE_LABELS = ("topic", "contrast", "group")
_MOST_CHARACTERS = 5_000_000


def check_most(most: int) -> int:
    """Returns how many sentences may be on a map.

    Raises:
        SettingError: It is below 1 or above 20,000.
    """
    if not 1 <= most <= LARGEST_MAP:
        raise SettingError(f"A map of {most:,} sentences was asked for; use 1 to {LARGEST_MAP:,}.")
    return most


def sample_corpus(most: int = MOST_SENTENCES, seed: int = 42) -> Cleaned:
    """Returns the corpus shipped with the project, with its labels topic, contrast and group."""
    frame = read_sample_corpus()
    cleaned = clean(frame["sentence"].tolist(), most, seed)
    rows = list(cleaned.rows)
    labels = {name: tuple(frame[name].iloc[rows].tolist()) for name in _SAMPLE_LABELS}
    return replace(cleaned, name=SAMPLE_NAME, labels=labels)


def lines_corpus(text: str | None, most: int = MOST_SENTENCES, seed: int = 42) -> Cleaned:
    """Returns the lines of a text.

    Raises:
        DataError: No text, a line that cannot be read, or more than five million characters.
    """
    if text is None or not text.strip():
        raise DataError("There are no sentences yet; type or paste some, one a line.")
    if len(text) > _MOST_CHARACTERS:
        raise DataError(f"The text has {len(text):,} characters; paste at most {_MOST_CHARACTERS:,}, or upload a file.")
    return replace(clean(text.splitlines(), most, seed), name="own sentences")


def file_corpus(
    path: str | Path,
    column: str | None = None,
    label: str | None = None,
    most: int = MOST_SENTENCES,
    seed: int = 42,
) -> Cleaned:
    """Returns the sentences of a .txt, .csv, .tsv, .jsonl or .parquet file.

    Args:
        path: The file.
        column: The column of sentences; None for the one most like text.
        label: A column of labels; None for none.
        most: More are sampled.
        seed: Of the sample.

    Raises:
        DataError: See data.corpora.read_corpus.
    """
    found = read_corpus(path, column, label=label, most=most, seed=seed)
    labels = {found.label: tuple(found.rows["label"].tolist())} if found.label else {}
    notes = [_shown(note, len(found.sentences), found.distinct, seed) for note in found.notes]
    notes += [note for title, values in labels.items() if (note := _colourless(title, values))]
    return Cleaned(
        sentences=tuple(found.sentences),
        rows=tuple(int(row) - 1 for row in found.rows["row"]),
        given=found.given,
        empty=found.empty + found.missing,
        repeated=found.repeated,
        note=" ".join(notes),
        name=found.name,
        labels=labels,
    )


def _shown(note: str, kept: int, distinct: int, seed: int) -> str:
    sampled = kept < distinct and "sampled with seed" in note
    return f"{kept:,} of {distinct:,} are shown, sampled with seed {seed}." if sampled else note


def _colourless(title: str, values: Sequence[str]) -> str:
    """Returns why a column of labels is no colour; nothing where it is one."""
    different = len(set(values) - {""})
    if not different:
        return f"The column {title!r} holds no labels for these sentences, so it is no colour."
    if different > MOST_LABELS:
        return f"The column {title!r} has {different:,} different labels; over {MOST_LABELS} are no colour."
    return ""
