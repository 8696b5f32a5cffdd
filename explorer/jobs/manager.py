"""Starts, lists, stops, resumes, renames and deletes jobs. Holds no state of its own: all of it is in the job folders.

Any number of managers, in any number of processes, may look after the same folder.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from explorer.errors import TrainingError
from explorer.jobs import events, locks
from explorer.jobs.commands import command_arguments, worker_arguments
from explorer.jobs.events import RESUMABLE, Event, State
from explorer.jobs.job import Job, JobReader
from explorer.jobs.paths import JobPaths, check_name, is_name
from explorer.paths import ROOT, encoder_folders

TASK = "explorer.operations.jobs:run_training"
STOP_SECONDS = 8.0
_GONE_SECONDS = 1.5
_POLL_SECONDS = 0.05
_RESERVE_BYTES = 65536
_TAIL_BYTES = 262144


class Jobs:
    """The jobs in a folder. Safe to share between threads.

    Args:
        runs_folder: Where the job folders are; made when the first job is.
        task: Function that does the work, "module:name"; see training/worker.py.
    """

    def __init__(self, runs_folder: Path, *, task: str = TASK) -> None:
        self.runs_folder = Path(runs_folder)
        self._task = task
        self._reader = JobReader(self.runs_folder)

    def submit(self, config: Mapping[str, Any], *, name: str | None = None) -> str:
        """Makes a job's folder and starts its worker, which waits for its turn; returns the id.

        Args:
            config: What to do, as json knows it; its "device" decides which queue the job is in.
            name: The id; None to make one up.

        Raises:
            TrainingError: The name cannot be used or is taken, or the folder cannot be written.
        """
        folder = None
        try:
            folder = self._make_folder(config, name)
            file = locks.take(JobPaths(folder).lock)
        except OSError as error:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            raise TrainingError(f"No job can be made in {str(self.runs_folder)!r}: {error.strerror}.") from error
        assert file is not None, "nobody else can hold the lock of a new folder"
        self._start(folder, file, str(config.get("device") or "auto"), config)
        return folder.name

    def list(self) -> list[Job]:
        """Returns all jobs, the newest first. Folders that hold none are passed over, links too."""
        try:
            with os.scandir(self.runs_folder) as entries:
                names = {entry.name for entry in entries if is_name(entry.name) and entry.is_dir(follow_symlinks=False)}
        except OSError:
            names = set()
        self._reader.forget_all_but(names)
        jobs = [job for name in names if (job := self._reader.read(name)) is not None]
        return sorted(jobs, key=lambda job: (job.created or 0, job.id), reverse=True)

    def get(self, id: str) -> Job:
        """Returns one job.

        Raises:
            TrainingError: There is none of that id.
        """
        folder = self.runs_folder / id if is_name(id) else None
        job = self._reader.read(id) if folder is not None and folder.is_dir() and not folder.is_symlink() else None
        if job is None:
            known = ", ".join(job.id for job in self.list()[:20]) or "none"
            raise TrainingError(f"There is no job {str(id)[:80]!r}; the jobs here are: {known}.")
        return job

    def events(self, id: str) -> tuple[Event, ...]:
        """Returns everything a job has told so far, in order; see events.py for the kinds."""
        return tuple(events.read(self.get(id).folder)[0])

    def log_tail(self, id: str, lines: int = 40) -> str:
        """Returns the last lines its worker printed; of a progress bar, what it shows now."""
        try:
            with JobPaths(self.get(id).folder).log.open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
                text = file.read().decode("utf-8", errors="replace")
        except FileNotFoundError:
            return ""
        shown = [line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n")]
        return "\n".join([line for line in shown if line.strip()][-lines:])

    def command(self, id: str) -> str:
        """Returns the command that runs the same job again from a terminal."""
        return shlex.join(command_arguments(self.get(id).config))

    def stop(self, id: str) -> Job:
        """Ends a job and every process of it; returns it as it is then. Takes at most ten seconds.

        Its worker may save a checkpoint first, for STOP_SECONDS.

        Raises:
            TrainingError: There is no such job, or it has ended already.
        """
        job = self.get(id)
        paths = JobPaths(job.folder)
        if not job.alive or not locks.is_held(paths.lock):
            raise TrainingError(f"{id} has ended already ({job.state}); there is nothing to stop.")
        _tell(job.folder, "stopping")
        owner = _owner(paths.lock)
        if owner is not None and locks.is_same(owner):
            _end_group(owner.pid, paths.lock)
        untold = events.summarize(events.read(job.folder)[0]).state is State.STOPPING
        if untold and not locks.is_held(paths.lock):
            _tell(job.folder, "stopped", step=self.get(id).checkpoint)
        return self.get(id)

    def resume(self, id: str) -> Job:
        """Lets a job go on from its last checkpoint, or start anew if it has none; it queues again.

        Raises:
            TrainingError: There is no such job, it is alive, or it has finished.
        """
        job = self.get(id)
        _check_resumable(id, job.state)
        file = _lock_ended(job, "resumed")
        try:  # another may have resumed it meanwhile, to its end
            _check_resumable(id, events.judge(events.summarize(events.read(job.folder)[0]), False, time.time())[0])
        except TrainingError:
            os.close(file)
            raise
        self._start(job.folder, file, str(job.config.get("device") or job.device or "auto"), None)
        return self.get(id)

    def delete(self, id: str) -> None:
        """Removes an ended job with everything in its folder, the encoder too.

        Raises:
            TrainingError: There is no such job, it is alive, or another that has not finished starts from it.
        """
        job = self.get(id)
        self._check_unused(job, "deleted")
        file = _lock_ended(job, "deleted")
        try:
            for left in self.runs_folder.glob(".deleted-*"):  # by one that could not be removed whole
                shutil.rmtree(left, ignore_errors=True)
            aside = self.runs_folder / f".deleted-{id}-{uuid4().hex[:8]}"
            job.folder.rename(aside)
            shutil.rmtree(aside)
        except OSError as error:
            raise TrainingError(f"{id} cannot be deleted: {error}.") from error
        finally:
            os.close(file)

    def rename(self, id: str, new: str) -> Job:
        """Gives an ended job, and so its encoder, another name.

        Raises:
            TrainingError: There is no such job, it is alive, another that has not finished starts from it, or the new name
                cannot be used or is taken.
        """
        job = self.get(id)
        target = self.runs_folder / self.check_free(new)
        self._check_unused(job, "renamed")
        file = _lock_ended(job, "renamed")
        try:
            job.folder.rename(target)
        except OSError as error:
            raise TrainingError(f"{id} cannot be renamed: {error}.") from error
        finally:
            os.close(file)
        return self.get(new)

    def _make_folder(self, config: Mapping[str, Any], name: str | None) -> Path:
        self.runs_folder.mkdir(parents=True, exist_ok=True)
        kind = f"{config.get('objective') or 'job'}-{config.get('pooling') or 'cls'}"
        made_up = f"{kind}-{time.strftime('%m%d-%H%M%S', time.gmtime())}".lower()
        wanted = self.check_free(name) if name is not None else check_name(made_up)
        for number in range(1, 1000):
            folder = self.runs_folder / (wanted if number == 1 else f"{wanted}-{number}")
            try:
                folder.mkdir()
            except FileExistsError:
                if name is not None:
                    raise TrainingError(f"There is a run {name!r} already; choose another name.") from None
                continue
            return folder
        raise TrainingError(f"There are a thousand runs {wanted!r} already; give the job a name.")

    def check_free(self, name: str) -> str:
        """Returns `name` if a new job may have it.

        Raises:
            TrainingError: It cannot name a job, or is taken by a job or an encoder.
        """
        check_name(name)
        if self.is_taken(name):
            raise TrainingError(f"There is a run or an encoder {name!r} already; choose another name.")
        return name

    def is_taken(self, name: str) -> bool:
        """Whether a job or an encoder has this name."""
        places = [root / name for root in (self.runs_folder, *encoder_folders())]
        return any(place.exists() or place.is_symlink() for place in places)

    def _check_unused(self, job: Job, done: str) -> None:
        """Refuses to take away what another job was told to start from, as long as that one may still need it."""
        places = (job.folder, job.folder.resolve())
        for other in self.list():
            named = [Path(value) for value in other.config.values() if isinstance(value, str)]
            if other.id == job.id or other.state is State.FINISHED:
                continue
            if any(path.is_relative_to(place) for path in named for place in places):
                raise TrainingError(
                    f"{other.id} starts from {job.id} and is {other.state}; let it finish, or delete it, before {job.id} is "
                    f"{done}."
                )

    def _start(self, folder: Path, file: int, device: str, config: Mapping[str, Any] | None) -> None:
        """Writes what the worker needs and starts it; the worker inherits the lock `file`, this process gives it up."""
        paths = JobPaths(folder)
        try:
            locks.write_owner(file, 0)
            if config is not None:
                aside = folder / ".config.json"
                aside.write_text(json.dumps(dict(config), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
                aside.rename(paths.config)
            if not paths.reserve.exists():
                paths.reserve.write_bytes(os.urandom(_RESERVE_BYTES))
            events.append(folder, "queued", device=device)
            process = self._spawn(paths, file)
            locks.write_owner(file, process.pid)
        except OSError as error:
            _tell(folder, "failed", reason=f"Its worker could not be started: {error}.")
            if config is not None:
                shutil.rmtree(folder, ignore_errors=True)
            raise TrainingError(f"The job {folder.name} could not be started: {error.strerror or error}.") from error
        finally:
            os.close(file)
        # Without someone who waits for it, an ended worker would stay in the process table as a zombie.
        threading.Thread(target=process.wait, name=f"reap-{folder.name}", daemon=True).start()

    def _spawn(self, paths: JobPaths, file: int) -> subprocess.Popen[bytes]:
        with paths.log.open("ab") as log:
            return subprocess.Popen(
                worker_arguments(paths.folder.resolve(), self._task, file),
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=(file,),
            )


def _tell(folder: Path, kind: str, **facts: Any) -> None:
    """Adds an event; on a full disk it goes untold, since what it tells of happens all the same."""
    with suppress(OSError):
        events.append(folder, kind, **facts)


def _check_resumable(id: str, state: State) -> None:
    if state not in RESUMABLE:
        raise TrainingError(f"{id} is {state}; only a job that failed, was stopped or is lost can be resumed.")


def _lock_ended(job: Job, done: str) -> int:
    """Returns a descriptor that keeps a worker from starting, once the last one is gone.

    A worker that has just told of its end may need a moment to leave.
    """
    try:
        file = None if job.alive else locks.take(JobPaths(job.folder).lock, wait=5.0)
    except OSError as error:
        raise TrainingError(f"{job.id} cannot be {done}: {error.strerror}.") from error
    if job.alive:
        raise TrainingError(f"{job.id} is {job.state}; stop it before it can be {done}.")
    if file is None:
        raise TrainingError(f"{job.id} is {job.state}, but its process is still leaving; try again in a moment.")
    return file


def _owner(lock: Path) -> locks.Owner | None:
    """The worker's process; whoever started it writes the number down an instant after."""
    end = time.monotonic() + 1
    while (owner := locks.read_owner(lock)) is None and time.monotonic() < end:
        time.sleep(_POLL_SECONDS)
    return owner


def _end_group(group: int, lock: Path) -> None:
    """Asks a group and all it started to end, and ends those that are left after STOP_SECONDS."""
    everyone = locks.members(group)
    locks.send(group, everyone, signal.SIGTERM)
    if not _gone(group, everyone, lock, STOP_SECONDS):
        everyone = sorted({*everyone, *locks.members(group)})
        locks.send(group, everyone, signal.SIGKILL)
        _gone(group, everyone, lock, _GONE_SECONDS)


def _gone(group: int, everyone: Sequence[int], lock: Path, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while locks.members(group) or any(map(locks.is_alive, everyone)) or locks.is_held(lock):
        if time.monotonic() >= end:
            return False
        time.sleep(_POLL_SECONDS)
    return True
