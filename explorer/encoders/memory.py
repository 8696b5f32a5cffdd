"""How much memory this process has held."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")


def peak_bytes() -> int:
    """Returns the most memory this process has held since its program began, in bytes.

    On Linux of this program alone. What `getrusage` gives there is inherited from the process that started this one, so it
    is asked only where the system has nothing better.
    """
    try:
        lines = _STATUS.read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    peaks = [int(line.split()[1]) for line in lines if line.startswith("VmHWM:")]
    if peaks:
        return peaks[0] * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
