"""The sample corpus shipped with the project: our own sentences, in groups of contrasts. Reads only."""

from __future__ import annotations

import csv

import pandas as pd

from explorer.errors import DataError
from explorer.paths import ASSETS

FILE = ASSETS / "corpus.tsv"
COLUMNS = ["sentence", "topic", "group", "contrast"]


def read_sample_corpus() -> pd.DataFrame:
    """Returns the sample corpus in file order: sentence, topic, group and contrast, all text.

    A group holds three or four sentences: its base, whose contrast is empty, and a paraphrase and other variants of it.

    Raises:
        DataError: The file is missing or lacks a column.
    """
    if not FILE.is_file():
        raise DataError(f"The sample corpus {FILE.name} is missing; restore the file in {FILE.parent.name}/.")
    corpus = pd.read_csv(FILE, sep="\t", dtype=str, keep_default_na=False, quoting=csv.QUOTE_NONE, encoding="utf-8")
    if missing := [column for column in COLUMNS if column not in corpus]:
        raise DataError(f"{FILE.name} has no column {missing[0]}; it needs sentence, topic, group and contrast.")
    return corpus[COLUMNS]
