"""How much of a test table stood in an encoder's training data, as far as that is known. Computes no score.

An encoder's facts name its training tables and their hashes, never their text; the text is read from the data folder, from the
tables shipped or fetched, or from where a run's settings say it lay, and only if it is the very file the encoder was trained
on. Anything else is "unknown", which does not mean "none".
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from operator import or_
from pathlib import Path
from typing import Any

import pandas as pd

from explorer.data.overlap import Known, Overlap, find_overlap
from explorer.data.tables import read_frame
from explorer.encoders.folder import EncoderInfo
from explorer.errors import DataError
from explorer.paths import ROOT, downloads_folder
from explorer.training.config import CONFIG_FILE

UNKNOWN = "unknown"
NOTHING = "nothing"
_NO_RECORD = "the encoder's folder does not say what it was trained on"
# How many runs that started from each other's encoders are followed back.
_MOST_STARTS = 8


@dataclass(frozen=True)
class Training:
    """The tables an encoder was trained on.

    Args:
        tables: Names like "stsb/train.tsv", in the order of the record; also those that were not found.
        known: The keys of their pairs, table by table, of those tables that were found.
        unknown: Why the pairs of a table are not known; empty if all are.
        hashes: The sha256 of every table.
    """

    tables: tuple[str, ...] = ()
    known: tuple[Known, ...] = field(default=(), repr=False, compare=False)
    unknown: str = ""
    hashes: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The tables in a few words; "unknown" where their pairs are."""
        return UNKNOWN if self.unknown else ", ".join(self.tables)


@dataclass(frozen=True)
class Contamination:
    """What one test table shares with one encoder's training data.

    Args:
        training: The training tables, or "unknown".
        unknown: Why it is unknown of a table; empty otherwise. The counts are then of the tables that are known, if any.
        n: Pairs of the test table.
        pairs: Of these, how many stand in training as a pair.
        either: How many have at least one sentence that does.
        both: How many have two.
    """

    training: str
    unknown: str
    n: int
    pairs: int = 0
    either: int = 0
    both: int = 0


def training_of(info: EncoderInfo, data: Path | None, beside: Sequence[Path] = ()) -> Training:
    """Returns what an encoder was trained on, with the pairs of the tables whose very files are here.

    Args:
        info: Its `facts["training_data"]` is a list of tables, each with a name, a sha256 and a use; those of another use
            than "train" (dev tables) are passed over.
        data: Folder of evaluation data; None if there is none.
        beside: Further files that may be one of the tables, whatever they are called.
    """
    tables = _tables(info.facts)
    if not tables:
        return Training((NOTHING,)) if is_untrained(info) else Training(unknown=_NO_RECORD)
    known, unknown, others = [], [], [*_named_in_settings(info.folder), *beside]
    for name, digest in tables.items():
        found = _find(name, digest, data, others)
        if isinstance(found, Known):
            known.append(found)
        else:
            unknown.append(found)
    return Training(tuple(tables), tuple(known), "; ".join(unknown), tuple(tables.values()))


def is_untrained(info: EncoderInfo) -> bool:
    """Whether an encoder's record says that its backbone was fine-tuned on nothing."""
    settings, record = info.facts.get("hyperparameters"), info.facts.get("training_data")
    return isinstance(settings, Mapping) and settings.get("epochs") == 0 and isinstance(record, list)


def overlap_with(training: Training, test: pd.DataFrame) -> Overlap | None:
    """Returns which pairs of a test frame stand in the training tables; None where these are unknown."""
    if training.unknown:
        return None
    found = [find_overlap(test, known) for known in training.known or (Known(frozenset(), frozenset()),)]
    return reduce(or_, found)


def seen_in(training: Training, test: pd.DataFrame) -> Contamination:
    """Returns how many pairs of a test frame stand in the training tables, as far as these are known."""
    if not training.known:
        return summarise(training, overlap_with(training, test), len(test))
    return summarise(training, reduce(or_, (find_overlap(test, known) for known in training.known)), len(test))


def summarise(training: Training, overlap: Overlap | None, n: int) -> Contamination:
    """Returns the counts of an overlap over n pairs."""
    if overlap is None:
        return Contamination(training.label, training.unknown, n)
    counts = (int(flags.sum()) for flags in (overlap.pairs, overlap.either, overlap.both))
    return Contamination(training.label, training.unknown, n, *counts)


def in_words(found: Contamination) -> str:
    """Returns what an encoder has seen of a table, as a remark without a full stop."""
    of = f"{found.pairs:,} of {found.n:,} pairs are in its training data"
    if not found.unknown:
        return of if found.pairs else "none of these pairs is in its training data"
    if found.pairs:
        return f"at least {of}, the rest is unknown: {found.unknown}"
    return f"unknown whether these pairs are in its training data: {found.unknown}"


def _tables(facts: Mapping[str, Any]) -> dict[str, str]:
    """Name -> sha256 of the training tables; empty where the record is missing or not of this form."""
    record = facts.get("training_data")
    if not isinstance(record, Sequence) or isinstance(record, str):
        return {}
    rows = [row for row in record if isinstance(row, Mapping) and row.get("use", "train") == "train"]
    return {str(row.get("table", "")): str(row.get("sha256", "")) for row in rows if _is_name(row.get("table"))}


def _find(name: str, digest: str, data: Path | None, others: Sequence[Path]) -> Known | str:
    """Returns the pairs of a table of this name and hash, or why they are not known."""
    named = [root / name for root in _roots(data) if (root / name).is_file()]
    same = [path for path in (*named, *others) if _is_same(path, digest)]
    if same:
        try:
            return _read(same[0])
        except DataError as error:
            return f"{name} cannot be compared: {error}"
    if not named:
        return f"{name} is not {'in the data folder' if data else 'here, and no data folder is given'}"
    return f"{name} {'in the data folder' if data else 'here'} is not the file it was trained on"


def _named_in_settings(folder: Path) -> list[Path]:
    """The training tables that a run's settings name, and those of the encoders that it started from."""
    found: list[Path] = []
    for _ in range(_MOST_STARTS):
        try:
            settings = json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return found
        if not isinstance(settings, dict):
            return found
        found += [Path(path) for name in ("train", "nli") if isinstance(path := settings.get(name), str) and path]
        folder = Path(str(settings.get("backbone")))
    return found


def _is_name(name: object) -> bool:
    """Whether a record's table is a path inside the data folder."""
    return isinstance(name, str) and bool(name) and not Path(name).is_absolute() and ".." not in Path(name).parts


def _is_same(path: Path, digest: str) -> bool:
    """Whether a file that may be read has this sha256; settings may name one in another person's folder."""
    try:
        return path.is_file() and _digest(path) == digest
    except OSError:
        return False


def _digest(path: Path) -> str:
    return _digest_of(path, *_version(path))


def _read(path: Path) -> Known:
    return _known_of(path, *_version(path))


def _version(path: Path) -> tuple[int, int]:
    """Size and time of change: a file is read again only when one of them differs."""
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


@lru_cache(maxsize=64)
def _digest_of(path: Path, size: int, modified: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _roots(data: Path | None) -> list[Path]:
    """Where the tables of a record may be: in the data folder, shipped with the project, fetched from the hub."""
    return [*([data] if data else []), ROOT, downloads_folder("tables").parent]


@lru_cache(maxsize=8)
def _known_of(path: Path, size: int, modified: int) -> Known:
    """The keys of a table of pairs (graded or labelled) or of triplets; of one with a column split, of its training rows."""
    frame = read_frame(path)
    if "split" in frame.columns:
        frame = frame[frame["split"] == "train"]
    if {"anchor", "positive", "negative"} <= set(frame.columns):
        sides = [frame[["anchor", other]].set_axis(["sentence1", "sentence2"], axis=1) for other in _OTHERS]
        frame = pd.concat(sides, ignore_index=True)
    frame = frame.rename(columns=_OTHER_NAMES)
    if not {"sentence1", "sentence2"} <= set(frame.columns):
        raise DataError(f"its columns are {', '.join(map(str, frame.columns))}")
    return Known.of(frame[["sentence1", "sentence2"]].astype(str))


_OTHERS = ("positive", "negative")
_OTHER_NAMES = {"premise": "sentence1", "hypothesis": "sentence2"}
