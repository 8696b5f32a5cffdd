"""The tables of a run, checked, and their fingerprints: a run is resumed only on the data it was started with."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pandas as pd
from datasets import Dataset

from explorer.data.tables import LABELS, read_frame, read_nli, read_pairs, read_triplets, triplets_of_nli
from explorer.errors import DataError
from explorer.training.config import Objective, TrainConfig

TRAIN, DEV = "train", "dev"
SPLIT = "split"


def read_graded(path: str, score_scale: float, split: str) -> pd.DataFrame:
    """Returns graded pairs: sentence1, sentence2, score (0 to `score_scale`); a table's split alone if it has splits."""
    return _of_split(read_pairs(path, score_range=(0, score_scale)), path, split)


def training_rows(objective: Objective, path: str, config: TrainConfig) -> Dataset:
    """Returns what a stage trains on: the columns of sentences in order, then score (0..1) or label (0, 1, 2).

    Ordinary fine-tuning (see TrainConfig.siamese) has one column "pair" of two sentences instead of two columns.

    Raises:
        DataError: The table cannot be used for this objective.
    """
    match objective:
        case Objective.NLI:
            frame = _of_split(read_nli(path), path, TRAIN)
            target = {"label": frame["label"].map(LABELS.index).tolist()}
            return Dataset.from_dict(_sentences(frame, config.siamese) | target)
        case Objective.TRIPLET:
            return _from_frame(_triplets(path), ["anchor", "positive", "negative"])
        case Objective.RANKING:
            frame = _ranking(path)
            return _from_frame(frame, [name for name in ("anchor", "positive", "negative") if name in frame])
        case _:
            frame = read_graded(path, config.score_scale, TRAIN)
            target = {"score": (frame["score"] / config.score_scale).tolist()}
            return Dataset.from_dict(_sentences(frame, config.siamese) | target)


def fingerprints(config: TrainConfig) -> dict[str, str]:
    """Returns the SHA-256 of each table of a run, by setting."""
    tables = {"train": config.train if config.epochs > 0 else "", "dev": config.dev, "nli": config.nli}
    return {name: hash_of(path) for name, path in tables.items() if path}


def hash_of(path: str | Path) -> str:
    """Returns a file's SHA-256.

    Raises:
        DataError: There is no such file.
    """
    if not Path(path).is_file():
        raise DataError(f"No file at {str(path)!r}; check the path.")
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _of_split(frame: pd.DataFrame, path: str, split: str) -> pd.DataFrame:
    if SPLIT not in frame.columns:
        return frame
    rows = frame[frame[SPLIT] == split].reset_index(drop=True)
    if rows.empty:
        found = ", ".join(map(str, frame[SPLIT].unique()[:5]))
        raise DataError(f"{Path(path).name} has no rows of split {split!r}; its splits are {found}.")
    return rows


def _triplets(path: str) -> pd.DataFrame:
    if "anchor" in read_frame(Path(path)).columns:
        return _of_split(read_triplets(path), path, TRAIN)
    frame = triplets_of_nli(_of_split(read_nli(path), path, TRAIN))
    if frame.empty:
        raise DataError(
            f"{Path(path).name} gives no triplets: no first sentence has both an entailment and a contradiction."
        )
    return frame


def _ranking(path: str) -> pd.DataFrame:
    """Anchors with positives: of a table of triplets with its negatives too, of labelled pairs what is entailed."""
    if "anchor" in read_frame(Path(path)).columns:
        return _of_split(read_triplets(path), path, TRAIN)
    frame = _of_split(read_nli(path), path, TRAIN)
    frame = frame[frame["label"] == "entailment"].drop_duplicates(["sentence1", "sentence2"])
    if len(frame) < 2:
        raise DataError(f"{Path(path).name} has {len(frame)} entailments; ranking needs at least two.")
    return frame.rename(columns={"sentence1": "anchor", "sentence2": "positive"})[["anchor", "positive"]]


def _from_frame(frame: pd.DataFrame, columns: list[str]) -> Dataset:
    return Dataset.from_dict({name: frame[name].tolist() for name in columns})


def _sentences(frame: pd.DataFrame, apart: bool) -> dict[str, list]:
    first, second = frame["sentence1"].tolist(), frame["sentence2"].tolist()
    if apart:
        return {"sentence1": first, "sentence2": second}
    return {"pair": [list(pair) for pair in zip(first, second, strict=True)]}
