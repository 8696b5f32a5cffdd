"""Why a job failed, in one sentence for a person. Knows the errors of libraries by their words, and imports none."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from pathlib import Path

from explorer.errors import ExplorerError
from explorer.jobs.paths import JobPaths

_FULL_NUMBERS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
# safetensors and torch give their own errors for a write that fails, without the number.
_FULL_WORDS = ("no space left on device", "os error 28", "disk quota exceeded", "file too large", "os error 27")
_WRITE_WORDS = ("pytorchstreamwriter failed", "file write failed", "unexpected pos", "write error")
_MEMORY_WORDS = ("out of memory", "can't allocate memory", "cannot allocate memory", "not enough memory")
_SOME_BYTES = 4 * 1024 * 1024
_LONGEST = 300


def reason_of(error: BaseException, folder: Path) -> str:
    """Returns what went wrong and how to mend it.

    Args:
        error: What ended the work.
        folder: The job's; how full its disk is may explain an error that does not say.
    """
    if isinstance(error, ExplorerError) and "disk is full" in str(error):
        return str(error)
    if is_full_disk(error, folder):
        return f"The disk is full ({_free_megabytes(folder)} MB are free where the job writes); free some space, then resume."
    if isinstance(error, ExplorerError):
        return str(error)
    if any(isinstance(e, MemoryError) or _has(e, _MEMORY_WORDS) for e in _chain(error)):
        smaller = "a smaller batch_size or max_length"
        if any(JobPaths(folder).checkpoints.rglob("checkpoint-*")):
            return f"There was not enough memory; free some, then resume, or start anew with {smaller}."
        return f"There was not enough memory; take {smaller}, then start anew."
    words = str(error).strip().splitlines()
    text = f"{type(error).__name__}: {words[0][:_LONGEST]}" if words else type(error).__name__
    return f"Unexpected error, {text}; the log tells more."


def is_full_disk(error: BaseException, folder: Path) -> bool:
    """Whether an error, or one that led to it, comes from a disk without room."""
    for e in _chain(error):
        if (isinstance(e, OSError) and e.errno in _FULL_NUMBERS) or _has(e, _FULL_WORDS):
            return True
        if _has(e, _WRITE_WORDS) and _free_bytes(folder) < _SOME_BYTES:
            return True
    return False


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _has(error: BaseException, words: tuple[str, ...]) -> bool:
    text = str(error).lower()
    return any(word in text for word in words)


def _free_bytes(folder: Path) -> int:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return _SOME_BYTES


def _free_megabytes(folder: Path) -> int:
    return _free_bytes(folder) // 2**20
