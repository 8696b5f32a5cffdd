"""Training as a job: what its worker does, how one is asked for, and what can be done with the encoder it leaves."""

from __future__ import annotations

import json
import shlex
import time
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import mean, stdev
from typing import Any
from uuid import uuid4

from explorer.encoders.folder import FACTS_FILE
from explorer.errors import EncoderError, TrainingError
from explorer.hub import is_repository_id
from explorer.jobs.commands import command_arguments
from explorer.jobs.job import Job
from explorer.jobs.manager import Jobs
from explorer.jobs.paths import JobPaths
from explorer.training.config import CONFIG_FILE, LABELS, TrainConfig

# Settings that name a folder or a file.
_PATHS = ("backbone", "train", "dev", "nli")
_STORED = (".safetensors",)


@dataclass(frozen=True)
class SeedGroup:
    """Runs that differ in nothing but their seed, one a seed: the newest that has finished, else the newest.

    Args:
        ids: The jobs, the oldest first.
        seeds: Their seeds, in the same order.
        finished: How many have a dev Spearman of a finished run.
        mean: Of those dev Spearman figures, x 100; None if there is none.
        spread: Their standard deviation (n - 1), x 100; None for fewer than two.
    """

    ids: tuple[str, ...]
    seeds: tuple[int, ...]
    finished: int
    mean: float | None
    spread: float | None


def run_training(
    paths: JobPaths, config: Mapping[str, Any], report: Callable[..., None]
) -> Mapping[str, float | None] | None:
    """Does a job's work: trains, or goes on where a checkpoint lies, and writes the encoder into the job's folder.

    Args:
        paths: The job's.
        config: TrainConfig's settings; "test" may name a table scored once at the end.
        report: Called with the events of the run.

    Returns:
        The encoder's scores, measured as it was stored; None if a signal stopped the run.

    Raises:
        ExplorerError: See operations.train.fine_tune.
    """
    from explorer.training.export import recover_folder

    recover_folder(paths.encoder)
    if (paths.encoder / "modules.json").is_file() and not paths.checkpoints.exists():
        return saved_scores(paths.encoder)  # it was stopped after its encoder was in place, before it could say so
    wanted = config_of_job(paths, config)
    wanted = replace(wanted, backbone=local_backbone(wanted.backbone, _told(report)))
    from explorer.operations.train import fine_tune
    from explorer.training.train import DATA_FILE

    command = shlex.join(command_arguments(config)).replace(" --", " \\\n  --")
    result = fine_tune(
        wanted,
        test=config.get("test") or None,
        command=command,
        resume=(paths.checkpoints / DATA_FILE).is_file(),
        report=report,
    )
    return None if result.stopped else saved_scores(paths.encoder)


def saved_scores(folder: Path) -> dict[str, float | None]:
    """Returns what an encoder's facts say it scores, as it was stored: its dev Spearman, in [-1, 1]."""
    path = folder / FACTS_FILE
    figures = json.loads(path.read_text(encoding="utf-8"))["scores"] if path.is_file() else {}
    dev = next((figures[name] for name in ("stsb_dev_spearman", "dev_spearman") if name in figures), None)
    return {"dev_spearman": None if dev is None else dev / 100}


def config_of_job(paths: JobPaths, config: Mapping[str, Any]) -> TrainConfig:
    """Returns a job's settings as a run in its folder has them.

    Raises:
        SettingError: They do not fit.
    """
    settings = {name: value for name, value in config.items() if name != "test"}
    if "," in str(settings.get("device", "")):
        settings["device"] = "cuda"  # each process is shown its own GPU alone, see training/worker.py
    return TrainConfig.from_mapping(settings | {"output": str(paths.encoder)})


def local_backbone(backbone: str, progress: Callable[[int, int], None] | None = None) -> str:
    """Returns the folder of a backbone, as encoders.hub.backbone_folder does, and refuses what is neither folder nor id.

    Args:
        backbone: A folder or a hub id.
        progress: Called with (bytes done, bytes in all).

    Raises:
        EncoderError: There is no such folder, and it is no hub id that can be fetched.
    """
    if not Path(backbone).exists() and not is_repository_id(backbone):
        raise EncoderError(f"There is no folder {backbone[:120]!r}, and a hub id is of the form owner/name; check it.")
    from explorer.encoders.hub import backbone_folder

    return backbone_folder(backbone, progress)


def submit(jobs: Jobs, config: TrainConfig, *, name: str | None = None, test: str = "", devices: str = "") -> str:
    """Starts a job and returns its id.

    Args:
        jobs: Where to.
        config: What to do; its output is not used.
        name: See Jobs.submit.
        test: Table scored once at the end; empty for none.
        devices: Several GPUs, "cuda:0,cuda:1"; empty for the one that `config` names.

    Raises:
        TrainingError: See Jobs.submit.
    """
    settings = asdict(config) | {"output": ""}
    if config.device == "auto":
        from explorer.encoders.machine import best_device

        settings["device"] = best_device()  # so that the queue knows which device it waits for
    for setting in _PATHS:
        # The worker has a working folder of its own; a hub id is no path here.
        if settings[setting] and Path(settings[setting]).exists():
            settings[setting] = str(Path(settings[setting]).resolve())
    if test:
        settings["test"] = str(Path(test).resolve())
    return jobs.submit(settings | ({"device": devices} if devices else {}), name=name)


def submit_seeds(
    jobs: Jobs, config: TrainConfig, seeds: Sequence[int], *, name: str | None = None, **options: str
) -> list[str]:
    """Starts one job a seed and returns their ids; of several, a name is followed by the seed.

    Raises:
        TrainingError: See Jobs.submit. No job was started, or the sentence begins with those that were.
    """
    each = list(dict.fromkeys(seeds))
    names = [f"{name}-seed-{seed}" if name and len(each) > 1 else name for seed in each]
    for named in names:
        if named:
            jobs.check_free(named)
    started: list[str] = []
    for seed, named in zip(each, names, strict=True):
        try:
            started.append(submit(jobs, replace(config, seed=seed), name=named, **options))
        except TrainingError as error:
            if not started:
                raise
            raise TrainingError(f"{', '.join(started)} started, but none of the seeds after that: {error}") from error
    return started


def seed_groups(jobs: Iterable[Job]) -> list[SeedGroup]:
    """Returns the groups of jobs with two and more seeds that differ in their seed alone, the newest group first.

    A job whose settings are damaged, so that its seed is no whole number, is in none.
    """
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        left_out = ("seed", "output", *LABELS)
        same = {name: _as_float(value) for name, value in job.config.items() if name not in left_out}
        if job.config and _seed(job) is not None:
            groups.setdefault(repr(sorted(same.items())), []).append(job)
    return [_group(same) for same in groups.values() if len({_seed(job) for job in same}) > 1]


def _as_float(value: Any) -> Any:
    """4 and 4.0 are the same setting; older runs have either in writing."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53 else value


def _seed(job: Job) -> int | None:
    """None for what is no whole number; a file that was changed by hand may hold anything."""
    seed = _as_float(job.config.get("seed", 0))
    return int(seed) if isinstance(seed, float) and seed.is_integer() else None


def rename(jobs: Jobs, id: str, new: str) -> Job:
    """Gives a job and its encoder another name, in the encoder's model card too.

    Raises:
        TrainingError: See Jobs.rename.
    """
    job = jobs.rename(id, new)
    if job.has_encoder:
        from explorer.encoders.registry import Registry
        from explorer.operations.train import rewrite_card

        with suppress(EncoderError):  # one that is damaged or not from here keeps the card it has
            rewrite_card(Registry([jobs.runs_folder]).info(new))
    return job


def export_zip(jobs: Jobs, id: str, target: Path) -> Path:
    """Writes a finished job's encoder as a zip archive of one folder, which sentence-transformers loads once unpacked.

    Args:
        jobs: Where the job is.
        id: The job's.
        target: The archive, or a folder to write `<id>.zip` into.

    Raises:
        TrainingError: There is no such job, it has no encoder yet, or the archive cannot be written.
    """
    job = jobs.get(id)
    if not job.has_encoder:
        raise TrainingError(f"{id} is {job.state} and has no finished encoder to export.")
    target = target / f"{id}.zip" if target.is_dir() else target
    aside = target.with_name(f".{uuid4().hex}.new")  # two may export at once
    folder = JobPaths(job.folder).encoder
    try:
        with zipfile.ZipFile(aside, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(folder.rglob("*")):
                inside = path.relative_to(folder)
                if path.name == CONFIG_FILE:  # it names folders of this machine; the card has the settings
                    continue
                if path.is_file() and not path.is_symlink() and not any(part.startswith(".") for part in inside.parts):
                    kind = zipfile.ZIP_STORED if path.suffix in _STORED else zipfile.ZIP_DEFLATED
                    archive.write(path, Path(id) / inside, kind)
        aside.rename(target)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise TrainingError(f"{str(target)!r} cannot be written: {error.strerror or error}.") from error
    return target


def _told(report: Callable[..., None]) -> Callable[[int, int], None]:
    """Progress of a download as events, one a second at most."""
    last = 0.0

    def progress(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last > 1 or done == total:
            last = time.monotonic()
            report("fetching", megabytes=round(done / 1e6, 1), of=round(total / 1e6, 1))

    return progress


def _group(same: Sequence[Job]) -> SeedGroup:
    by_seed: dict[int | None, Job] = {}
    for job in sorted(same, key=lambda job: (job.scores.get("dev_spearman") is not None, job.created or 0, job.id)):
        by_seed[_seed(job)] = job
    ordered = sorted(by_seed.values(), key=lambda job: (job.created or 0, job.id))
    figures = [100 * value for job in ordered if (value := job.scores.get("dev_spearman")) is not None]
    return SeedGroup(
        ids=tuple(job.id for job in ordered),
        seeds=tuple(seed for job in ordered if (seed := _seed(job)) is not None),
        finished=len(figures),
        mean=mean(figures) if figures else None,
        spread=stdev(figures) if len(figures) > 1 else None,
    )
