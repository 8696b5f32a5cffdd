"""Tables of labelled pairs (natural language inference) and of triplets. Reads and checks; trains nothing."""

from __future__ import annotations

from collections import defaultdict
from difflib import get_close_matches
from pathlib import Path

import pandas as pd

from explorer.data.frames import need_columns, read_frame, row_number, shown
from explorer.data.sentences import text_columns
from explorer.errors import DataError

LABELS = ("entailment", "neutral", "contradiction")
# The usual names elsewhere of the same columns.
_COLUMNS = {"premise": "sentence1", "hypothesis": "sentence2", "gold_label": "label"}
_OTHER_WORDS = {
    "entails": "entailment",
    "entailed": "entailment",
    "contradicts": "contradiction",
    "contradictory": "contradiction",
    "contradicted": "contradiction",
}


def read_nli(path: str | Path) -> pd.DataFrame:
    """Returns the labelled pairs of a table, in file order.

    Args:
        path: A .csv, .tsv, .jsonl or .parquet file, UTF-8, with columns label, sentence1 and sentence2 (gold_label,
            premise and hypothesis will do). Labels in capitals are taken too.

    Returns:
        A frame with label ("entailment", "neutral" or "contradiction"), sentence1 and sentence2, all str; other columns
        are kept as text.

    Raises:
        DataError: The file cannot be read as such a table; the row, the label and the nearest right one are named.
    """
    path = Path(path)
    frame = read_frame(path)
    new = {old: new for old, new in _COLUMNS.items() if old in frame.columns and new not in frame.columns}
    frame = frame.rename(columns=new)
    need_columns(frame, path, ["label", "sentence1", "sentence2"])
    if frame.empty:
        raise DataError(f"{path.name} has a header but no rows; at least one labelled pair is needed.")
    frame = text_columns(frame, ("sentence1", "sentence2"), path)
    labels = frame["label"].map(lambda value: value.strip().lower() if isinstance(value, str) else value)
    bad = labels.index[~labels.isin(LABELS)]
    if len(bad):
        also = f" {len(bad):,} rows have no right label." if len(bad) > 1 else ""
        raise DataError(f"{path.name}, row {row_number(bad[0])}: {_wrong_label(frame['label'][bad[0]])}{also}")
    return frame.assign(label=labels.astype("str"))


def read_triplets(path: str | Path) -> pd.DataFrame:
    """Returns the triplets of a table, in file order.

    Args:
        path: A .csv, .tsv, .jsonl or .parquet file, UTF-8, with columns anchor, positive (a sentence close to it) and
            negative (one that is not).

    Returns:
        A frame with anchor, positive and negative, all str; other columns are kept as text.

    Raises:
        DataError: The file cannot be read as such a table, or a positive is also its negative.
    """
    path = Path(path)
    frame = read_frame(path)
    columns = ["anchor", "positive", "negative"]
    need_columns(frame, path, columns)
    if frame.empty:
        raise DataError(f"{path.name} has a header but no rows; at least one triplet is needed.")
    frame = text_columns(frame, columns, path)
    same = frame.index[frame["positive"] == frame["negative"]]
    if len(same):
        raise DataError(
            f"{path.name}, row {row_number(same[0])}: positive and negative are the same sentence; change one or drop "
            "the row."
        )
    return frame


def triplets_of_nli(frame: pd.DataFrame) -> pd.DataFrame:
    """Returns triplets made of labelled pairs: a premise, a sentence it entails, and one that contradicts it.

    The first entailment of a premise goes with its first contradiction, the second with the second and so on; what is left
    over makes no triplet.

    Args:
        frame: As of read_nli.

    Returns:
        A frame with anchor, positive and negative (str), premises in order of first appearance; perhaps empty.
    """
    entailed, contradicted = defaultdict(list), defaultdict(list)
    for label, premise, hypothesis in zip(frame["label"], frame["sentence1"], frame["sentence2"], strict=True):
        if label == "entailment":
            entailed[premise].append(hypothesis)
        elif label == "contradiction":
            contradicted[premise].append(hypothesis)
    rows = [
        (premise, positive, negative)
        for premise in dict.fromkeys(frame["sentence1"])
        for positive, negative in zip(entailed[premise], contradicted[premise], strict=False)
        if positive != negative
    ]
    return pd.DataFrame(rows, columns=["anchor", "positive", "negative"], dtype="str")


def _wrong_label(value: object) -> str:
    if isinstance(value, str):
        text = value.strip().lower()
        if text == "-":
            return "label '-' marks a pair without agreement; drop such rows."
        near = _OTHER_WORDS.get(text) or next(iter(get_close_matches(text, LABELS, 1, 0.6)), None)
        if near:
            return f"label {shown(value)} is unknown; did you mean {near}?"
    words = "entailment, neutral or contradiction"
    if str(value).strip() in ("0", "1", "2", "0.0", "1.0", "2.0"):
        return f"label {shown(value)} is a number, whose meaning differs between tables; write {words} instead."
    return f"label {shown(value)} is unknown; use {words}."
