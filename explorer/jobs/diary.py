"""How a worker writes its events: on a full disk it keeps them until there is room, and its last word always fits."""

from __future__ import annotations

import sys
import time
from collections import deque
from contextlib import suppress
from typing import Any

from explorer.jobs import events
from explorer.jobs.paths import JobPaths

_MOST_KEPT = 10_000
_TRIES = 5
_OWN = frozenset({"queued", "started", "finished", "failed", "stopped"})


class Diary:
    """Writes a job's events; not to be shared between threads.

    Args:
        paths: The job's.
        quiet: Tell of a failure alone, as all but the first of several processes do.
    """

    def __init__(self, paths: JobPaths, *, quiet: bool = False) -> None:
        self._paths = paths
        self._quiet = quiet
        self._kept: deque[bytes] = deque(maxlen=_MOST_KEPT)
        # The step of the newest checkpoint, also of an earlier start of the same job.
        self.checkpoint = events.summarize(events.read(paths.folder)[0]).checkpoint

    def report(self, kind: str, **facts: Any) -> None:
        """Tells of an event; one that cannot be written now is kept and written before the next.

        How the job begins and ends is for its worker alone to say: such kinds are passed over.
        """
        if self._quiet or kind in _OWN:
            return
        if kind == "checkpoint":
            self.checkpoint = facts.get("step", self.checkpoint)
        self._kept.append(events.to_line(kind, facts))
        with suppress(OSError):
            self._write()

    def end(self, kind: str, **facts: Any) -> None:
        """Tells the last word; if the disk is full, in the room that was kept for it."""
        if self._quiet and kind != "failed":
            return
        line = events.to_line(kind, facts)
        with suppress(OSError):
            self._write()
        for _ in range(_TRIES):
            try:
                events.add_line(self._paths.events, line)
                return
            except OSError:
                self._paths.reserve.unlink(missing_ok=True)
                time.sleep(0.2)
        with suppress(OSError):
            sys.stderr.write(line.decode())

    def has_ended(self) -> bool:
        """Whether the last word has been told already, by a process that did the work for this one."""
        return events.summarize(events.read(self._paths.folder)[0]).state in events.ENDED

    def _write(self) -> None:
        while self._kept:
            events.add_line(self._paths.events, self._kept[0])
            self._kept.popleft()
