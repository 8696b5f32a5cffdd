"""Which device a run uses: one, named or the best there is."""

from __future__ import annotations

import ctypes
import os
import sys

import torch

from explorer.errors import TrainingError

# The numbers of malloc.h.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX, _ALL = -1, -2, -4, 2**31 - 1


def one_device(name: str) -> str:
    """Returns "cpu", "mps", "cuda:<number>" or, for several, "cuda", and lets the trainer use that one.

    A process that was shown a single GPU (CUDA_VISIBLE_DEVICES) uses it, whatever its number outside.

    Raises:
        TrainingError: There is no such device here.
    """
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if "," in name:
        return "cuda"  # the launcher has given each process its own
    if name == "auto":
        name = "cuda" if count else "cpu"
    check_device(name)
    if not name.startswith("cuda"):
        return name
    number = int(name.partition(":")[2] or 0)
    chosen = f"cuda:{number if count > 1 else 0}"
    os.environ["ACCELERATE_TORCH_DEVICE"] = chosen  # accelerate would take the first
    return chosen


def check_device(name: str) -> None:
    """Refuses a device, or several by commas, that this machine has not; chooses none.

    Raises:
        TrainingError: There is no such device here.
    """
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    for part in name.split(","):
        if part == "mps" and not torch.backends.mps.is_available():
            raise TrainingError("device is 'mps', but this machine has no Apple GPU that torch can use; choose cpu.")
        if not part.startswith("cuda"):
            continue
        if not count:
            raise TrainingError(f"device is {name!r}, but torch finds no CUDA GPU here; choose cpu.")
        if int(part.partition(":")[2] or 0) >= count > 1:
            raise TrainingError(f"device is {name!r}, but the GPUs here are cuda:0 to cuda:{count - 1}.")


def keep_freed_memory() -> None:
    """Lets the C library keep what a step frees for the next one: on a CPU about a tenth of a step is asking for it anew."""
    if sys.platform != "linux":
        return
    library = ctypes.CDLL(None)
    if hasattr(library, "gnu_get_libc_version"):
        library.mallopt(_MMAP_MAX, 0)
        library.mallopt(_TRIM_THRESHOLD, _ALL)
        library.mallopt(_TOP_PAD, 2**26)
