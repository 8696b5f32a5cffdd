"""Whose turn it is: one job a device, first come, first served. Waiting workers ask by themselves; there is no server."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from explorer.jobs import events, locks
from explorer.jobs.events import State
from explorer.jobs.job import Job
from explorer.jobs.manager import Jobs

TURN_LOCK = ".turn"
_POLL_SECONDS = 0.5


def start_when_free(folder: Path, **facts: Any) -> None:
    """Waits until no other job uses or was first to ask for the device of this one, then tells that it has started.

    Looking and telling happen under one lock, so that two workers never start side by side.

    Args:
        folder: The job's folder; its own lock is held.
        facts: What to tell with the event "started" besides the device.

    Raises:
        OSError: The event cannot be written.
    """
    jobs = Jobs(folder.parent)
    while True:
        turn = locks.take(folder.parent / TURN_LOCK)
        if turn is not None:
            try:
                mine = jobs.get(folder.name)
                if not any(goes_before(other, mine) for other in jobs.list()):
                    events.append(folder, "started", device=mine.device, **facts)
                    return
            finally:
                os.close(turn)
        time.sleep(_POLL_SECONDS)


def goes_before(other: Job, mine: Job) -> bool:
    """Whether `mine`, which waits, must wait for `other`."""
    if other.id == mine.id or not other.alive or not share_device(other.device, mine.device):
        return False
    return other.state is not State.QUEUED or _place(other) < _place(mine)


def share_device(one: str, other: str) -> bool:
    """Whether two jobs would use the same device; "auto" may turn out to be any, "cuda" any GPU."""
    return any(_same(a.strip(), b.strip()) for a in one.split(",") for b in other.split(","))


def _same(one: str, other: str) -> bool:
    both = {one, other}
    if "auto" in both:
        return True
    return one == other or ("cuda" in both and all(device.startswith("cuda") for device in both))


def _place(job: Job) -> tuple[float, str]:
    return (job.queued or 0.0, job.id)
