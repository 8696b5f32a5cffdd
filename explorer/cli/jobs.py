"""The command `jobs`: training jobs in the background, listed, watched, stopped, resumed, exported and deleted."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from explorer.cli.common import add_json, command, print_rows
from explorer.errors import SettingError
from explorer.jobs import events
from explorer.jobs.job import Job
from explorer.jobs.manager import Jobs
from explorer.paths import runs_folder

_POLL_SECONDS = 0.5
_Act = Callable[[Jobs, argparse.Namespace], None]


def add(commands: Any) -> None:
    """Adds the command with its own commands."""
    jobs = command(commands, "jobs", _run, "see to training jobs: list, show, follow, stop, resume and more")
    acts = jobs.add_subparsers(dest="act", required=True, metavar="act")
    _act(acts, "list", _list, "all jobs, the newest first", job=False)
    show = _act(acts, "show", _show, "one job: how it stands, its command, the end of its log")
    show.add_argument("--lines", type=int, default=20, help="of the log (20)")
    _act(acts, "follow", _follow, "print what a job tells until it ends")
    _act(acts, "stop", _stop, "end a job and all its processes; it keeps its last checkpoint")
    resume = _act(
        acts, "resume", _resume, "go on from the last checkpoint of a job that failed, was stopped or is lost"
    )
    # Also taken in front of the act; a default here would undo it.
    resume.add_argument("--hub", action="store_true", default=argparse.SUPPRESS, help="let it download its backbone")
    rename = _act(acts, "rename", _rename, "give an ended job and its encoder another name")
    rename.add_argument("new", help="small letters, digits and hyphens")
    export = _act(acts, "export", _export, "write a finished job's encoder as a zip archive")
    export.add_argument("--output", type=Path, default=Path(), help="archive, or folder to put it into (here)")
    delete = _act(acts, "delete", _delete, "remove an ended job with its encoder")
    delete.add_argument("--yes", action="store_true", help="do not ask")


def _act(acts: Any, name: str, run: _Act, text: str, *, job: bool = True) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = acts.add_parser(name, help=text, description=text, allow_abbrev=False)
    parser.set_defaults(do=run)
    if job:
        parser.add_argument("id", help="the job's name")
    add_json(parser)
    return parser


def _run(options: argparse.Namespace) -> None:
    options.do(Jobs(runs_folder()), options)


def _list(jobs: Jobs, options: argparse.Namespace) -> None:
    found = jobs.list()
    if options.json:
        print_rows([as_row(job) for job in found], True)
        return
    if not found:
        print(f"There is no run in {str(jobs.runs_folder)!r} yet.", file=sys.stderr)
    print_rows(
        [
            {
                "id": job.id,
                "state": job.state.value,
                "device": job.device,
                "step": f"{job.step or 0}/{job.steps}" if job.steps else None,
                "dev": None if job.dev_spearman is None else 100 * job.dev_spearman,
                "created": _clock(job.created),
                "reason": job.reason,
            }
            for job in found
        ],
        False,
    )


def _show(jobs: Jobs, options: argparse.Namespace) -> None:
    job = jobs.get(options.id)
    row = as_row(job) | {"command": jobs.command(job.id), "log": jobs.log_tail(job.id, options.lines)}
    if options.json:
        print_rows([row], True)
        return
    row["took"] = None if (seconds := job.took(time.time())) is None else f"{seconds:.0f} s"
    for name, value in row.items():
        if value not in (None, "", [], {}) and name not in ("config", "log", "leg", "worked"):
            moment = name in ("created", "queued", "started", "ended")
            print(f"{name}: {_clock(value) if moment else _short(value)}")
    print(f"\n{row['log']}" if row["log"] else "", end="\n" if row["log"] else "")


def _follow(jobs: Jobs, options: argparse.Namespace) -> None:
    folder, offset = jobs.get(options.id).folder, 0
    while True:
        job = jobs.get(options.id)
        new, offset = events.read(folder, offset)
        for event in new:
            print(json.dumps(event, ensure_ascii=False) if options.json else _line(event), flush=True)
        if not job.alive:
            break
        time.sleep(_POLL_SECONDS)
    print(f"{job.id} is {job.state}. {job.reason}".strip(), file=sys.stderr)


def _stop(jobs: Jobs, options: argparse.Namespace) -> None:
    job = jobs.stop(options.id)
    after = f", after step {job.checkpoint}" if job.checkpoint is not None else ""
    _tell(options, job, f"{job.id} is {job.state}{after}.")


def _resume(jobs: Jobs, options: argparse.Namespace) -> None:
    _tell(options, jobs.resume(options.id), f"{options.id} goes on when its device is free.")


def _rename(jobs: Jobs, options: argparse.Namespace) -> None:
    from explorer.operations.jobs import rename

    _tell(options, rename(jobs, options.id, options.new), f"{options.id} is now {options.new}.")


def _export(jobs: Jobs, options: argparse.Namespace) -> None:
    from explorer.operations.jobs import export_zip

    path = export_zip(jobs, options.id, options.output)
    if options.json:
        print_rows([{"id": options.id, "archive": str(path)}], True)
    else:
        print(f"Wrote {path}.", file=sys.stderr)


def _delete(jobs: Jobs, options: argparse.Namespace) -> None:
    job = jobs.get(options.id)
    if not options.yes:
        if not sys.stdin.isatty():
            raise SettingError(f"Add --yes to delete {job.id} with its encoder and checkpoints.")
        if input(f"Delete {job.id} with its encoder and checkpoints? [y/N] ").strip().lower() not in ("y", "yes"):
            raise SettingError("Nothing was deleted.")
    from explorer.operations.training_request import drop_tables

    jobs.delete(job.id)
    drop_tables(jobs)
    if options.json:
        print_rows([{"id": job.id, "deleted": True}], True)
    else:
        print(f"{job.id} is deleted.", file=sys.stderr)


def as_row(job: Job) -> dict[str, Any]:
    """Returns everything known of a job as json has it; times in seconds UTC."""
    return {name: _plain(value) for name, value in vars(job).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple):
        return list(value)
    return value


def _tell(options: argparse.Namespace, job: Job, sentence: str) -> None:
    if options.json:
        print_rows([as_row(job)], True)
    else:
        print(sentence, file=sys.stderr)


def _line(event: dict[str, Any]) -> str:
    facts = [f"{name} {_short(value)}" for name, value in event.items() if name not in ("time", "kind")]
    return f"{_clock(event['time'])}  {event['kind']:<10} {', '.join(facts)}".rstrip()


def _short(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _clock(moment: float | None) -> str:
    return "" if moment is None else datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M:%S")
