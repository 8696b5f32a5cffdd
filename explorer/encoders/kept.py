"""Reads .npz files that were kept to save work: one that cannot be read, for whatever reason, is as good as none."""

from __future__ import annotations

import logging
import lzma
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

LOG = logging.getLogger("explorer")
Found = TypeVar("Found")
# All that the readers of zip, npy and json raise for damage, and what comes of fields that are not there or of another kind.
UNREADABLE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    lzma.LZMAError,
    struct.error,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


def read_kept(path: Path, read: Callable[[Any], Found], *, remove: bool = True) -> Found | None:
    """Returns what `read` makes of a kept .npz; None where there is none, or where it is damaged, which the log then says.

    Args:
        path: The file, which need not be there.
        read: Called with the open archive; may raise whatever damage makes it raise.
        remove: Whether a damaged file is removed, so that it is made again.
    """
    try:
        raw = path.open("rb")
    except OSError:  # not there, or not for us to read: nothing says that it is damaged
        return None
    try:
        with raw, np.load(raw, allow_pickle=False) as archive:
            return read(archive)
    except UNREADABLE as error:
        LOG.warning("A damaged cache file is dropped: %s (%s)", path.name, error)
        if remove:
            with suppress(OSError):
                path.unlink()
        return None
