"""What is shipped to try things on: pairs worth scoring, and small tables to train on. All sentences are our own. Reads only."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pandas as pd

from explorer.data.tables import read_nli, read_pairs
from explorer.errors import DataError
from explorer.paths import ASSETS

FILE = ASSETS / "examples.tsv"
SAMPLE_PAIRS = ASSETS / "sample_pairs.tsv"
SAMPLE_NLI = ASSETS / "sample_nli.tsv"
Split = Literal["train", "dev"]


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


def sample_pairs(split: Split | None = None) -> pd.DataFrame:
    """Returns the 320 graded pairs to train on, about three of four in "train".

    The grades are one person's, on the STS scale: 5 the same meaning, 4 a detail less, 3 an important one differs, 2 some
    details shared, 1 the same topic, 0 nothing in common.

    Args:
        split: "train" or "dev"; None for both.

    Returns:
        A frame with split, score (float64, 0..5), kind (what differs, "negation" for instance), topic, sentence1 and
        sentence2; rows numbered from 0.

    Raises:
        DataError: The file is missing or damaged.
    """
    return _part(read_pairs(SAMPLE_PAIRS, score_range=(0, 5)), split)


def sample_nli(split: Split | None = None) -> pd.DataFrame:
    """Returns the 309 labelled pairs to train on, about three of four in "train"; see sample_pairs.

    Each premise (sentence1) stands with one sentence it entails, one it contradicts and one it leaves open, and is in one
    split only.

    Args:
        split: "train" or "dev"; None for both.

    Returns:
        A frame with split, label ("entailment", "neutral" or "contradiction"), topic, sentence1 and sentence2.

    Raises:
        DataError: The file is missing or damaged.
    """
    return _part(read_nli(SAMPLE_NLI), split)


def _part(frame: pd.DataFrame, split: Split | None) -> pd.DataFrame:
    return frame if split is None else frame[frame["split"] == split].reset_index(drop=True)
