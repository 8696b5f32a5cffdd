"""Locks that die with their process, and the processes of a group. Signals only what it is told to.

A lock is an flock on an open file, which a child process inherits: a worker holds its lock from its first instant on.
"""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_RETRY_SECONDS = 0.02
_OWNER_BYTES = 64
_PROC = Path("/proc")


@dataclass(frozen=True)
class Owner:
    """The process that holds a lock.

    Args:
        pid: Its id, which is also that of its process group.
        began: When it began, in the kernel's own count; empty where the system does not tell. A later process may have
            the same pid but not the same beginning.
    """

    pid: int
    began: str


def take(path: Path, *, wait: float = 1.0) -> int | None:
    """Returns a file descriptor that holds the lock until it and its copies are closed; None if another holds it.

    Args:
        path: The lock file; made if missing.
        wait: Seconds to keep trying, since a reader that asks whether the lock is held has it for an instant.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    end = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        except BlockingIOError:
            if time.monotonic() >= end:
                os.close(file)
                return None
            time.sleep(_RETRY_SECONDS)


def is_held(path: Path) -> bool:
    """Whether a living process holds the lock. Readers do not disturb one another."""
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def write_owner(file: int, pid: int) -> None:
    """Notes in a lock file, given as a descriptor that holds it, which process it is for; 0 for none yet.

    The note always has the same length: once there is room for it, a full disk cannot keep it from being changed.
    """
    os.pwrite(file, f"{pid} {began(pid) if pid else ''}".ljust(_OWNER_BYTES - 1).encode() + b"\n", 0)


def read_owner(path: Path) -> Owner | None:
    """Returns the process that a lock file names; only of use while the lock is held. None if it names none (yet)."""
    try:
        words = path.read_text(encoding="ascii", errors="replace").split()
    except OSError:
        return None
    if not words or not words[0].isdigit() or int(words[0]) == 0:
        return None
    return Owner(int(words[0]), words[1] if len(words) > 1 else "")


def began(pid: int) -> str:
    """Returns when a process began, as the kernel counts; empty if there is none or the system does not tell."""
    fields = _stat(pid)
    return fields[19] if len(fields) > 19 else ""


def is_same(owner: Owner) -> bool:
    """Whether the owner's pid was not given to another process since. True where nobody has it."""
    now = began(owner.pid)
    return not now or not owner.began or now == owner.began


def is_alive(pid: int) -> bool:
    """Whether there is such a process; a zombie is none. Only of processes known to have lived a moment ago."""
    if not _PROC.joinpath("self", "stat").exists():
        return False
    return _stat(pid)[:1] not in ([], ["Z"], ["X"])


def members(group: int) -> list[int]:
    """Returns the living processes of a group and everything they started, in other groups too; zombies left out.

    Where the system has no /proc: the group's leader, if the group has anyone.
    """
    if not _PROC.joinpath("self", "stat").exists():
        return [group] if _exists(group) else []
    parents: dict[int, int] = {}
    found: set[int] = set()
    for entry in (path.name for path in _PROC.iterdir()):
        if entry.isdigit() and len(fields := _stat(int(entry))) > 2 and fields[0] not in "ZX":
            parents[int(entry)] = int(fields[1])
            if int(fields[2]) == group:
                found.add(int(entry))
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return sorted(found)


def send(group: int, pids: Sequence[int], number: signal.Signals) -> None:
    """Signals a process group, and those of `pids` that are no longer or never were in it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            if os.getpgid(pid) != group:
                os.kill(pid, number)


def _exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _stat(pid: int) -> list[str]:
    """The fields of /proc/<pid>/stat after the name: state, parent, group, ...; empty if there is no such process."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()
