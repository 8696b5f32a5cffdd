"""A job on a full disk says so, and its last good checkpoint stays: on a small tmpfs, or under a limit of file sizes."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from explorer.errors import TrainingError
from explorer.jobs import events
from explorer.jobs.diary import Diary
from explorer.jobs.events import State
from explorer.jobs.paths import JobPaths
from explorer.jobs.reasons import is_full_disk, reason_of
from tests.jobs.helpers import ended, jobs_doing, until

_LIMIT = 512 * 1024


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder that holds two megabytes: a tmpfs where one may be mounted, else with files of at most half of one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    try:
        with _nothing() if mounted else _small_files():
            yield folder
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)


@contextmanager
def _nothing() -> Iterator[None]:
    yield


@contextmanager
def _small_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (_LIMIT, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_job_on_a_full_disk_fails_with_that_reason_and_can_be_resumed(small_disk: Path) -> None:
    jobs = jobs_doing(small_disk, "fill")
    id = jobs.submit({"device": "cpu"})
    job = ended(jobs, id)
    assert job.state is State.FAILED
    assert job.reason.startswith("The disk is full (")
    assert job.checkpoint == 1
    paths = JobPaths(job.folder)
    assert (paths.checkpoints / "checkpoint-1" / "weights").read_bytes() == b"good" * 1000
    assert [event["kind"] for event in events.read(job.folder)[0]][-1] == "failed"
    (paths.checkpoints / "checkpoint-2").unlink()
    again = jobs_doing(small_disk, "count")
    again.resume(id)
    assert ended(again, id).state is State.FINISHED
    assert paths.reserve.stat().st_size > 0


def test_a_job_cannot_be_made_on_a_full_disk(small_disk: Path) -> None:
    jobs = jobs_doing(small_disk, "count")
    first = jobs.submit({"device": "cpu", "steps": 1})
    until(lambda: not jobs.get(first).alive)
    filler = small_disk / "filler"
    with pytest.raises(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    if filler.stat().st_size > _LIMIT:  # not under a mere limit of file sizes
        with pytest.raises(TrainingError, match="No space left on device"):
            jobs.submit({"device": "cpu", "steps": 1})
        assert [job.id for job in jobs.list()] == [first]
        assert sorted(path.name for path in small_disk.iterdir()) == sorted([".turn", "filler", first])


def test_a_diary_keeps_what_it_cannot_write_and_writes_it_in_order_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    diary = Diary(JobPaths(tmp_path))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(events, "add_line", full)
        diary.report("step", step=1)
        diary.report("checkpoint", step=1)
    assert events.read(tmp_path)[0] == []
    diary.report("step", step=2)
    diary.report("finished", scores={})  # not the work's to say
    diary.end("stopped", step=diary.checkpoint)
    assert [(event["kind"], event["step"]) for event in events.read(tmp_path)[0]] == [
        ("step", 1),
        ("checkpoint", 1),
        ("step", 2),
        ("stopped", 1),
    ]


@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left on device"),
        RuntimeError("Error while serializing: I/O error: No space left on device (os error 28)"),
        OSError(122, "Disk quota exceeded"),
    ],
)
def test_reason_of_knows_a_full_disk(error: Exception, tmp_path: Path) -> None:
    assert reason_of(error, tmp_path).startswith("The disk is full (")
    try:
        try:
            raise error
        except Exception as first:  # noqa: BLE001
            raise ValueError("saving failed") from first
    except ValueError as wrapped:
        assert is_full_disk(wrapped, tmp_path)


def test_reason_of_other_errors(tmp_path: Path) -> None:
    memory = "There was not enough memory; take a smaller batch_size or max_length, then start anew."
    assert reason_of(MemoryError(), tmp_path) == memory
    assert reason_of(RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), tmp_path) == memory
    (tmp_path / "encoder" / ".training" / "checkpoint-4").mkdir(parents=True)
    assert reason_of(MemoryError(), tmp_path).startswith("There was not enough memory; free some, then resume, or")
    assert reason_of(RuntimeError("PytorchStreamWriter failed writing file"), tmp_path).startswith("Unexpected error")
    assert reason_of(KeyError(), tmp_path) == "Unexpected error, KeyError; the log tells more."
