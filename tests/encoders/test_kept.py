"""read_kept: whatever bit of a kept file is flipped, what it held comes back or nothing does, and nothing is raised."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.encoders.kept import read_kept


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "kept.npz"
    np.savez(path, numbers=np.arange(4.0))
    return path


def numbers(archive: Any) -> list[float]:
    return np.asarray(archive["numbers"], dtype=np.float64).tolist()


def test_a_sound_file_is_read_and_none_is_none(path: Path) -> None:
    assert read_kept(path, numbers) == [0, 1, 2, 3] and path.is_file()
    assert read_kept(path.with_name("other.npz"), numbers) is None
    assert read_kept(path.parent, numbers) is None


def test_one_bit_flipped_anywhere_raises_nothing(path: Path) -> None:
    whole = path.read_bytes()
    directory = whole.index(b"PK\x01\x02")
    found = set()
    for place in [*range(0, directory, 7), *range(directory, len(whole))]:
        for bit in range(8):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << bit
            path.write_bytes(damaged)
            found.add(str(read_kept(path, numbers, remove=False)))
    assert found == {"None", "[0.0, 1.0, 2.0, 3.0]"}


@pytest.mark.parametrize("content", [b"", b"PK", b"PK half a file", b"\0" * 500, b"\x93NUMPY\x01\x00", b"[1, 2]"])
def test_a_damaged_file_is_removed_unless_nothing_may_be(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert read_kept(path, numbers, remove=False) is None and path.is_file()
    assert read_kept(path, numbers) is None and not path.exists()


@pytest.mark.parametrize("error", [TypeError, IndexError, KeyError, RuntimeError, NotImplementedError, RecursionError])
def test_what_does_not_hold_what_it_should_is_damaged(path: Path, error: type[Exception]) -> None:
    def read(_archive: Any) -> None:
        raise error("not what was looked for")

    assert read_kept(path, read) is None and not path.exists()


def test_a_stop_passes_through(path: Path) -> None:
    def read(_archive: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_kept(path, read)
    assert path.is_file()
