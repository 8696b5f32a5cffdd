"""Tables of the Hugging Face hub, fetched once and written with this project's columns and scales."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from explorer.data.frames import read_frame
from explorer.data.nli import LABELS
from explorer.data.tables import read_nli, read_pairs
from explorer.errors import DataError, SettingError
from explorer.hub import Progress, fetch, look_up
from explorer.paths import downloads_folder

SPLITS: Mapping[str, str] = {"train": "train", "validation": "dev", "dev": "dev", "test": "test"}


@dataclass(frozen=True)
class HubTable:
    """A table of the hub.

    Args:
        name: As a person asks for it.
        title: As in a list of choices.
        repository: Its id on the hub.
        folder: Of its parquet files, named after their splits.
        licence: What its card says.
        convert: Turns a frame of the hub's columns into one of ours.
    """

    name: str
    title: str
    repository: str
    folder: str
    licence: str
    convert: Callable[[pd.DataFrame], pd.DataFrame]


def _graded(frame: pd.DataFrame) -> pd.DataFrame:
    """Scores there run from 0 to 1, ours from 0 to 5; rounded, since 0.76 * 5 is not quite 3.8."""
    scores = (pd.to_numeric(frame["score"], errors="coerce") * 5).round(6)
    return pd.DataFrame({"score": scores, "sentence1": frame["sentence1"], "sentence2": frame["sentence2"]})


def _labelled(frame: pd.DataFrame) -> pd.DataFrame:
    """Labels there are numbers: 0 entailment, 1 neutral, 2 contradiction, the order of LABELS."""
    labels = frame["label"].map(dict(enumerate(LABELS)))
    return pd.DataFrame({"label": labels, "sentence1": frame["premise"], "sentence2": frame["hypothesis"]})


HUB_TABLES: Mapping[str, HubTable] = {
    table.name: table
    for table in (
        HubTable("stsb", "STS Benchmark", "sentence-transformers/stsb", "data", "CC BY-SA 4.0, parts vary", _graded),
        HubTable(
            "all-nli",
            "AllNLI (SNLI and MultiNLI)",
            "sentence-transformers/all-nli",
            "pair-class",
            "CC BY-SA 4.0 (SNLI); several (MultiNLI)",
            _labelled,
        ),
    )
}


def fetch_table(name: str, *, progress: Progress | None = None) -> Path:
    """Returns a table of the hub as a .parquet of ours, downloaded unless it is there already.

    Args:
        name: "stsb" or "all-nli".
        progress: Called with bytes done and in all; may raise to stop; files that came whole are kept.

    Returns:
        A file with the column split ("train", "dev" or "test") and, for "stsb", score (0..5), sentence1 and sentence2; for
        "all-nli" label, sentence1 and sentence2. read_pairs and read_nli read it.

    Raises:
        SettingError: The name is unknown.
        DataError: It cannot be fetched, or is not what it was.
    """
    table = HUB_TABLES.get(name)
    if table is None:
        raise SettingError(f"There is no table {str(name)[:60]!r}; the hub's tables here are {', '.join(HUB_TABLES)}.")
    target = downloads_folder("tables") / f"{name}.parquet"
    if target.is_file():
        return target
    found = look_up(table.repository, "dataset", DataError)
    files = [file.path for file in found.files if _split(file.path, table.folder)]
    if not {"train", "dev"} <= {_split(path, table.folder) for path in files}:
        raise DataError(
            f"{table.repository} has no parquet files of train and dev in {table.folder}/; it has changed on the hub."
        )
    frames = []
    for path, file in fetch(found, files, DataError, progress).items():
        frame = read_frame(file)
        try:
            frames.append(table.convert(frame).assign(split=_split(path, table.folder)))
        except KeyError as error:
            columns = ", ".join(map(str, frame.columns))
            raise DataError(f"{table.repository}/{path} has no column {error}; its columns are {columns}.") from error
    return _write(pd.concat(frames, ignore_index=True), target, table)


def _split(path: str, folder: str) -> str | None:
    """The split a file of the repository belongs to, by its name; None for another file."""
    place, _, name = path.rpartition("/")
    if place != folder or not name.endswith(".parquet"):
        return None
    return SPLITS.get(name.removesuffix(".parquet").split("-")[0])


def _write(frame: pd.DataFrame, target: Path, table: HubTable) -> Path:
    """Writes aside, checks that it reads, and renames."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".", ignore_cleanup_errors=True) as aside:
        made = Path(aside) / target.name
        try:
            frame.to_parquet(made, index=False)
        except OSError as error:
            raise DataError(f"{target.name} cannot be written to {target.parent} ({error.strerror}).") from error
        if table.convert is _graded:
            read_pairs(made, score_range=(0, 5))
        else:
            read_nli(made)
        made.replace(target)
    return target
