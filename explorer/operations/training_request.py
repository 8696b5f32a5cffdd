"""From what a person asks for, on a form or through an endpoint, to one run or one a seed.

Uploaded tables are copied beside the runs, so that a run can be resumed after the page has forgotten them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

from explorer.data.examples import SAMPLE_NLI, SAMPLE_PAIRS
from explorer.encoders.folder import EncoderInfo
from explorer.errors import DataError, SettingError, TrainingError
from explorer.hub import is_repository_id
from explorer.jobs import locks
from explorer.jobs.manager import Jobs
from explorer.operations.jobs import submit, submit_seeds
from explorer.paths import hub_allowed
from explorer.training.config import LABELS, Objective, TrainConfig
from explorer.training.presets import NLI_TABLES

MOST_SEEDS = 5
MOST_ROWS = 200_000
# What a form may set beside backbone, sentence layer, objective and tables.
_CHOSEN = ("backbone", "pooling", "objective", "train", "dev", "nli", "output", *LABELS)
SETTINGS = tuple(item.name for item in fields(TrainConfig) if item.name not in _CHOSEN)
_LABELLED = (Objective.NLI, Objective.TRIPLET, Objective.RANKING)
Progress = Callable[[int, int], None]
_SAMPLE_HIGHEST = 5
_TABLES_FOLDER = ".tables"
_PATIENCE = 30.0  # seconds
_TABLES = ("train", "nli", "dev")
_HUB_TABLES = {"graded": "stsb", "labelled": "all-nli"}


class Source(StrEnum):
    """Where the tables come from."""

    SAMPLE = "sample"
    DATA = "data"
    UPLOAD = "upload"
    HUB = "hub"
    SAME = "same"


@dataclass(frozen=True)
class Request:
    """What is asked for.

    Args:
        backbone: An encoder's name, a folder, or a hub id.
        pooling: See TrainConfig.
        objective: See TrainConfig.
        source: One of Source.
        uploads: For Source.UPLOAD and Source.SAME the tables' paths, by "train", "nli" and "dev"; for Source.SAME also
            "test", the one scored at the end.
        name: Of the run; empty to have one made up.
        seeds: How many runs, each with the next seed.
        settings: Values of SETTINGS; what is missing takes its default.
    """

    backbone: str
    pooling: str
    objective: str
    source: str = Source.SAMPLE.value
    uploads: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    seeds: int = 1
    settings: Mapping[str, Any] = field(default_factory=dict)


def config_of(
    request: Request, infos: Sequence[EncoderInfo], data: Path | None, progress: Progress | None = None
) -> TrainConfig:
    """Returns the configuration of the first run asked for; its output is still open.

    Args:
        request: See Request.
        infos: The encoders a run may start from.
        data: The folder of evaluation data; None if not given.
        progress: Called with bytes done and in all while tables come from the hub.

    Raises:
        SettingError: A setting does not fit.
        DataError: The source has no such table.
    """
    _check_kinds(request)
    unknown = [name for name in request.settings if name not in SETTINGS]
    if unknown:
        raise SettingError(f"Unknown setting {str(unknown[0])[:60]!r}; known are {', '.join(SETTINGS)}.")
    if not 1 <= request.seeds <= MOST_SEEDS:
        raise SettingError(f"{request.seeds} seeds are asked for; 1 to {MOST_SEEDS} can be run at a time.")
    settings: dict[str, Any] = {name: _of_kind(name, value) for name, value in request.settings.items()}
    settings |= _backbone(request.backbone, infos) | _tables(request, data, progress)
    return TrainConfig(pooling=request.pooling, objective=request.objective, output="", **settings)


def start_runs(jobs: Jobs, config: TrainConfig, request: Request, data: Path | None) -> list[str]:
    """Starts what is asked for, one run a seed, and returns the ids; uploads are first copied to where they stay.

    Args:
        jobs: Where to.
        config: What `config_of` made of the request.
        request: The request.
        data: See config_of.

    Raises:
        TrainingError: A name cannot be used or is taken, there is no such device, or nothing can be written.
    """
    from explorer.training.devices import check_device

    check_device(config.device)
    test = table_at_end(request, data)
    if request.source != Source.UPLOAD:
        return _submit(jobs, config, request, test)
    with _tables_held(jobs.runs_folder):
        kept: dict[str, Any] = {
            name: str(keep_table(Path(path), jobs.runs_folder)) for name, path in _used(config, request)
        }
        return _submit(jobs, replace(config, **kept), request, test)


def _submit(jobs: Jobs, config: TrainConfig, request: Request, test: str) -> list[str]:
    if request.seeds == 1:
        return [submit(jobs, config, name=request.name or None, test=test)]
    seeds = range(config.seed, config.seed + request.seeds)
    return submit_seeds(jobs, config, seeds, name=request.name or None, test=test)


def table_at_end(request: Request, data: Path | None) -> str:
    """Returns the table of graded pairs that a run scores once, after everything is decided; empty for none.

    Of a data folder it is STSb's test pairs, of a run that is repeated the one it had.
    """
    if request.source == Source.SAME:
        return request.uploads.get("test", "")
    found = data / "stsb" / "test.tsv" if data is not None and request.source == Source.DATA else None
    return str(found) if found is not None and found.is_file() else ""


def free_name(jobs: Jobs, stem: str) -> str:
    """Returns the first of stem-1, stem-2 and so on that neither a run nor an encoder has."""
    return next(name for number in count(1) if not jobs.is_taken(name := f"{stem}-{number}"))


def keep_table(path: Path, runs: Path) -> Path:
    """Copies a table to where it stays as long as a run uses it, whole or not at all; equal files share a copy.

    Raises:
        TrainingError: It cannot be copied, as onto a full disk.
    """
    aside = None
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        target = runs.resolve() / _TABLES_FOLDER / digest / path.name
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            aside = target.with_name(f".{uuid4().hex}")
            shutil.copyfile(path, aside)
            aside.replace(target)
    except OSError as error:
        if aside is not None:
            aside.unlink(missing_ok=True)
        raise TrainingError(f"{path.name} cannot be kept in {str(runs)!r}: {error.strerror or error}.") from error
    return target


def drop_tables(jobs: Jobs) -> None:
    """Removes the copied tables that no run names; none at all while what one of them names cannot be read."""
    folder = jobs.runs_folder.resolve() / _TABLES_FOLDER
    if not folder.is_dir():
        return
    with suppress(TrainingError), _tables_held(jobs.runs_folder):  # else they are removed the next time
        configs = [job.config for job in jobs.list()]
        if not all(configs):
            return
        used = {Path(str(config.get(name) or "")).resolve().parent for config in configs for name in (*_TABLES, "test")}
        for kept in folder.iterdir():
            if kept.is_dir() and kept not in used:
                shutil.rmtree(kept, ignore_errors=True)


@contextmanager
def _tables_held(runs: Path) -> Iterator[None]:
    """Lets nobody drop a copied table before the run that it was copied for names it.

    Raises:
        TrainingError: The folder cannot be written, or another holds it for half a minute.
    """
    folder = runs / _TABLES_FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = locks.take(folder / "lock", wait=_PATIENCE)
    except OSError as error:
        raise TrainingError(f"Tables cannot be kept in {str(runs)!r}: {error.strerror or error}.") from error
    if file is None:
        raise TrainingError(f"The tables in {str(runs)!r} are in use by another start; try again in a moment.")
    try:
        yield
    finally:
        os.close(file)


def named_backbone(backbone: str, infos: Sequence[EncoderInfo]) -> str | None:
    """Returns the name of the encoder whose folder a configuration starts from; None if it is another."""
    return next((info.name for info in infos if backbone and backbone in (info.name, str(info.folder))), None)


def _check_kinds(request: Request) -> None:
    """Callers of an endpoint send any type."""
    for name in ("backbone", "pooling", "objective", "source", "name"):
        value = getattr(request, name)
        if not isinstance(value, str):
            raise SettingError(f"{name} is {str(value)[:60]!r}; it must be a text.")
    if not isinstance(request.seeds, int) or isinstance(request.seeds, bool):
        raise SettingError(f"seeds is {str(request.seeds)[:60]!r}; it must be a whole number, 1 to {MOST_SEEDS}.")
    if not isinstance(request.settings, Mapping):
        raise SettingError(f"settings is {str(request.settings)[:60]!r}; it must be an object of names and values.")


def _backbone(asked: str, infos: Sequence[EncoderInfo]) -> dict[str, str]:
    asked = asked.strip()
    if not asked:
        raise SettingError("No backbone is given; choose an encoder, or name a folder or a hub id.")
    for info in infos:
        if asked in (info.name, str(info.folder)):
            origin = str(info.facts.get("backbone_origin") or "")
            since = f"The encoder {info.name} of this explorer, trained further. {origin}".strip()
            return {"backbone": str(info.folder), "backbone_label": info.backbone, "backbone_origin": since}
    try:
        folder = Path(asked).expanduser()
        if folder.is_dir():
            return {"backbone": str(folder.resolve())}
    except (OSError, RuntimeError, ValueError):  # too long for a name, the home of nobody, a NUL
        pass
    if not is_repository_id(asked):
        raise SettingError(f"There is no folder {asked[:120]!r}, and a hub id is of the form owner/name; check it.")
    if not hub_allowed():
        raise SettingError(
            f"{asked[:120]!r} is no encoder and no folder here, and the hub is switched off; start the explorer with "
            "--hub to fetch it from there."
        )
    return {"backbone": asked}


def _tables(request: Request, data: Path | None, progress: Progress | None) -> dict[str, str]:
    objective = request.objective
    if objective not in list(Objective):
        raise SettingError(f"objective is {objective!r}; it must be one of {', '.join(Objective)}.")
    if request.source == Source.UPLOAD:
        return _uploaded(request)
    if request.source == Source.SAME:
        if not {"train", "dev"} <= set(request.uploads):
            raise SettingError("There is no run whose tables could be used again; choose another source.")
        needed = _TABLES if objective == Objective.NLI_STS else ("train", "dev")
        return {name: request.uploads[name] for name in needed if name in request.uploads}
    tables = _hub(objective, progress) if request.source == Source.HUB else _shipped(request.source, data, objective)
    graded, labelled, dev = tables
    if objective in _LABELLED:
        return {"train": labelled, "dev": dev}
    return {"train": graded, "dev": dev} | ({"nli": labelled} if objective == Objective.NLI_STS else {})


def _shipped(source: str, data: Path | None, objective: str) -> tuple[str, str, str]:
    """The tables of graded pairs, labelled pairs and dev pairs of a source; only those the objective needs exist."""
    if source == Source.SAMPLE:
        return str(SAMPLE_PAIRS), str(SAMPLE_NLI), str(SAMPLE_PAIRS)
    if source != Source.DATA:
        raise SettingError(f"source is {source!r}; it must be one of {', '.join(Source)}.")
    if data is None:
        raise SettingError("No data folder was given; start the explorer with --data FOLDER, or choose another source.")
    labelled = next((data / name for name in NLI_TABLES if (data / name).is_file()), None)
    if labelled is None and objective in (*_LABELLED, Objective.NLI_STS):
        raise DataError(f"{data.name} has no labelled pairs; one of {', '.join(NLI_TABLES)} is needed.")
    graded, dev = data / "stsb" / "train.tsv", data / "stsb" / "dev.tsv"
    for path in (dev,) if objective in _LABELLED else (graded, dev):
        if not path.is_file():
            raise DataError(f"{data.name} has no {path.parent.name}/{path.name}, which this objective needs.")
    return str(graded.resolve()), str(labelled.resolve()) if labelled else "", str(dev.resolve())


def _hub(objective: str, progress: Progress | None) -> tuple[str, str, str]:
    from explorer.data.hub import fetch_table

    graded = fetch_table(_HUB_TABLES["graded"], progress=progress)
    labelled = (
        fetch_table(_HUB_TABLES["labelled"], progress=progress) if objective in (*_LABELLED, Objective.NLI_STS) else ""
    )
    return str(graded), str(labelled), str(graded)


def _uploaded(request: Request) -> dict[str, str]:
    needed = {"train": "the table to train on"}
    if request.objective == Objective.NLI_STS:
        needed["nli"] = "the table of labelled pairs for the first stage"
    for name, words in needed.items():
        if not request.uploads.get(name):
            raise SettingError(f"No file is uploaded as {words}; upload one, or choose another source.")
    given = {name: request.uploads[name] for name in needed}
    for path in request.uploads.values():
        _check_size(Path(path))
    return {**given, "dev": request.uploads.get("dev") or _dev_of(request)}


def _dev_of(request: Request) -> str:
    """The dev table where none is uploaded: the graded pairs themselves if they have dev rows, else the sample.

    Raises:
        DataError: The sample's scores do not fit.
    """
    from explorer.data.frames import read_frame

    path = Path(request.uploads["train"])
    if request.objective not in _LABELLED:
        frame = read_frame(path)
        if "split" in frame.columns and (frame["split"] == "dev").any():
            return str(path)
    highest = request.settings.get("score_scale", _SAMPLE_HIGHEST)
    if isinstance(highest, int | float) and highest < _SAMPLE_HIGHEST:
        raise DataError(
            f"No dev table is uploaded, and the sample's dev pairs are graded 0 to {_SAMPLE_HIGHEST}, not 0 to {highest:g}: "
            "upload graded pairs as dev, or give the table a column split whose rows are train or dev."
        )
    return str(SAMPLE_PAIRS)


def _check_size(path: Path) -> None:
    """Refuses a table that would keep the page's server busy for minutes before anything starts.

    Raises:
        DataError: It has more rows than may be uploaded.
    """
    rows = count_rows(path)
    if rows > MOST_ROWS:
        raise DataError(
            f"{path.name} has {rows:,} rows; the page takes up to {MOST_ROWS:,}. For more, start the run from a terminal: "
            "python -m explorer train --train FILE."
        )


def count_rows(path: Path) -> int:
    """Returns how many rows a table has, without reading it as one: lines less the header, or what a .parquet says.

    A quoted line break counts as a row; of a damaged .parquet, 0, since its reader says what is wrong with it.
    """
    if path.suffix.lower() == ".parquet":
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile

        try:
            return int(ParquetFile(path).metadata.num_rows)
        except (ArrowException, ValueError, OSError, NotImplementedError, TypeError):
            return 0
    with path.open("rb") as file:
        lines = sum(map(_line_ends, iter(lambda: file.read(1 << 20), b"")))
    return lines - (path.suffix.lower() != ".jsonl")


def _line_ends(block: bytes) -> int:
    """Line ends of whatever kind: LF, CR LF, or the CR alone of old tables; one cut between CR and LF may count twice."""
    return block.count(b"\n") + block.count(b"\r") - block.count(b"\r\n")


def _used(config: TrainConfig, request: Request) -> list[tuple[str, str]]:
    """The settings of the configuration that are an upload, with its path."""
    given = set(request.uploads.values())
    return [(name, path) for name in _TABLES if (path := getattr(config, name)) in given]


def _of_kind(name: str, value: Any) -> Any:
    """A form's number as the setting has it: 4.0 for a whole number is 4."""
    kind = next(str(item.type) for item in fields(TrainConfig) if item.name == name)
    if kind == "int" and isinstance(value, float) and value.is_integer():
        return int(value)
    return value
