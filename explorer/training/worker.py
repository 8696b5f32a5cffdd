"""A job's process: waits for its turn, does the work, tells how it ended. Standard library alone until its turn comes.

What the work is, it is told by name on its command line, since that lies in a room above this one.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from explorer.errors import SettingError, TrainingError
from explorer.jobs import events, locks
from explorer.jobs.commands import launch_arguments
from explorer.jobs.diary import Diary
from explorer.jobs.events import State
from explorer.jobs.manager import TASK
from explorer.jobs.paths import JobPaths
from explorer.jobs.queue import start_when_free
from explorer.jobs.reasons import reason_of
from explorer.paths import process_rank

# Does a job's work: its paths, its configuration, and where to report events. Returns the finished encoder's scores, or
# None if a signal stopped it and it can go on later.
Task = Callable[[JobPaths, Mapping[str, Any], Callable[..., None]], Mapping[str, Any] | None]
_NICENESS = 5
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_PR_SET_PDEATHSIG = 1


class Stopped(BaseException):
    """Raised by a signal wherever the process is; no library that catches its own errors may swallow it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a job to its end; returns the exit status: 0 for finished or stopped, 1 for failed, 2 for not begun."""
    parser = argparse.ArgumentParser(prog=f"python -m {__spec__.name if __spec__ else __name__}", allow_abbrev=False)
    parser.add_argument("folder", type=Path, help="the job's folder")
    parser.add_argument("--task", default=TASK, help="the function that does the work, module:name")
    parser.add_argument("--lock", type=int, help="open descriptor that holds the job's lock already")
    parser.add_argument("--rank", action="store_true", help="be one of several processes that accelerate launched")
    options = parser.parse_args(arguments)
    paths = JobPaths(options.folder)
    for number in _SIGNALS:
        signal.signal(number, _raise_stopped)
    if options.rank:
        _die_with_parent()
        _show_own_gpu(paths)
        return _guarded(lambda diary: _work(paths, options.task, diary), paths, quiet=process_rank() > 0)
    lock = options.lock if options.lock is not None else locks.take(paths.lock)
    finished = events.summarize(events.read(paths.folder)[0]).state is State.FINISHED
    if lock is None or finished:
        sys.stderr.write(f"{paths.folder.name} {'has finished' if finished else 'runs'} already.\n")
        return 2
    os.set_inheritable(lock, False)
    locks.write_owner(lock, os.getpid())
    if options.lock is None:  # started by hand: nobody has asked for it yet
        events.append(paths.folder, "queued", device=str(_read_config(paths).get("device") or "auto"))
    return _guarded(lambda diary: _wait_and_work(paths, options.task, diary), paths)


def _guarded(work: Callable[[Diary], Mapping[str, Any] | None], paths: JobPaths, *, quiet: bool = False) -> int:
    """The process edge: whatever happens within becomes the job's last word. A quiet one tells of failures alone."""
    diary = Diary(paths, quiet=quiet)
    try:
        scores = work(diary)
        _ignore_signals()
        if scores is not None:
            diary.end("finished", scores=scores)
        elif not diary.has_ended():
            diary.end("stopped", step=diary.checkpoint)
    except Stopped:
        _ignore_signals()
        diary.end("stopped", step=diary.checkpoint)
    except (Exception, SystemExit) as error:  # noqa: BLE001
        _ignore_signals()
        diary.end("failed", reason=reason_of(error, paths.folder))
        # After the reason: on a full disk there is room for one of the two.
        with suppress(OSError):
            traceback.print_exc()
        return 1
    return 0


def _wait_and_work(paths: JobPaths, task: str, diary: Diary) -> Mapping[str, Any] | None:
    start_when_free(paths.folder, pid=os.getpid())
    with suppress(OSError):
        os.nice(_NICENESS)  # the page comes first
    # Threads that wait would spin, and take from others what they wait for, where the cores are busy.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    devices = [device.strip() for device in str(_read_config(paths).get("device", "")).split(",")]
    if len(devices) > 1:
        return _launch(paths, task, devices, diary)
    return _work(paths, task, diary)


def _work(paths: JobPaths, task: str, diary: Diary) -> Mapping[str, Any] | None:
    config = _read_config(paths)
    module, _, name = task.partition(":")
    work: Task = getattr(importlib.import_module(module), name)
    return work(paths, config, diary.report)


def _launch(paths: JobPaths, task: str, devices: list[str], diary: Diary) -> Mapping[str, Any] | None:
    """Lets accelerate's launcher work on several GPUs; the first of its processes writes the diary."""
    # Killed with this process, and so are those it starts: a lock that is free must mean that nobody writes here.
    process = subprocess.Popen(
        launch_arguments(paths.folder, task, devices), stdin=subprocess.DEVNULL, preexec_fn=_die_with_parent
    )
    stopped = False
    try:
        status = process.wait()
    except Stopped:
        _ignore_signals()  # the launcher and its processes were asked too, and are given the time to save
        stopped, status = True, process.wait()
    if stopped or diary.has_ended():
        return None
    raise TrainingError(f"The processes on {', '.join(devices)} ended with status {status}; the log tells more.")


def _read_config(paths: JobPaths) -> dict[str, Any]:
    try:
        config = json.loads(paths.config.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SettingError(f"The job's {paths.config.name} cannot be read ({error}); start the job anew.") from error
    if not isinstance(config, dict):
        raise SettingError(f"The job's {paths.config.name} holds no json object; start the job anew.")
    return config


def _raise_stopped(*_: Any) -> None:
    raise Stopped


def _ignore_signals() -> None:
    """From here on the last word is being written, which is soon done."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _show_own_gpu(paths: JobPaths) -> None:
    """Lets one of several processes see its own GPU alone, whatever asks for one."""
    with suppress(SettingError):  # told when the work begins
        devices = str(_read_config(paths).get("device", "")).split(",")
        os.environ["CUDA_VISIBLE_DEVICES"] = devices[process_rank() % len(devices)].strip().removeprefix("cuda:")


def _die_with_parent() -> None:
    """Linux: lets the kernel end this process with the one that started it.

    The launcher starts its processes in sessions of their own, where a kill of the job's group misses them.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    _status = main()
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(_status)  # at once: taking libraries down in order takes seconds, while memory and lock are still held
