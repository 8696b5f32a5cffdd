"""What the tests of jobs share: managers whose work is a function of tasks.py, and waiting with an end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from explorer.jobs.events import State
from explorer.jobs.job import Job
from explorer.jobs.manager import Jobs


def jobs_doing(folder: Path, task: str) -> Jobs:
    return Jobs(folder, task=f"tests.jobs.tasks:{task}")


def until(true: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.01)


def wait_for(jobs: Jobs, id: str, *states: State, seconds: float = 20.0) -> Job:
    until(lambda: jobs.get(id).state in states, seconds)
    return jobs.get(id)


def ended(jobs: Jobs, id: str) -> Job:
    until(lambda: not jobs.get(id).alive)
    return jobs.get(id)


def states_seen(jobs: Jobs, id: str) -> Iterator[State]:
    """The states a job goes through until it has ended, each once in a row."""
    last = None
    while True:
        job = jobs.get(id)
        if job.state is not last:
            last = job.state
            yield last
        if not job.alive:
            return
        time.sleep(0.005)
