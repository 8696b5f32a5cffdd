"""The sample pairs shipped with the project, each with the contrast it shows. Reads only."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from explorer.errors import DataError
from explorer.paths import ASSETS

FILE = ASSETS / "examples.tsv"


@dataclass(frozen=True)
class Example:
    """A pair worth scoring.

    Args:
        kind: What differs between the two, in a word or two; unique.
        sentence1: The first sentence.
        sentence2: The second.
        note: What to look for in the scores.
    """

    kind: str
    sentence1: str
    sentence2: str
    note: str


def read_examples(path: Path = FILE) -> list[Example]:
    """Returns the sample pairs in file order.

    Raises:
        DataError: The file is missing or lacks a column.
    """
    if not path.is_file():
        raise DataError(f"The sample pairs {path.name} are missing; restore the file in {path.parent.name}/.")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    try:
        return [Example(row["kind"], row["sentence1"], row["sentence2"], row["note"]) for row in rows]
    except KeyError as error:
        raise DataError(f"{path.name} has no column {error}; it needs kind, sentence1, sentence2 and note.") from error
