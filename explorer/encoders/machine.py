"""Names the machine that a measurement was made on."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

import torch

from explorer.encoders.encode import resolve_precision


@dataclass(frozen=True)
class Machine:
    """What a speed depends on besides the encoder.

    Args:
        processor: Its name.
        cores: How many of them this program may use.
        threads: How many torch uses.
        precision: The arithmetic that is fastest here.
        torch: Version.
    """

    processor: str
    cores: int
    threads: int
    precision: str
    torch: str

    def __str__(self) -> str:
        """The machine in a few words."""
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        return f"{self.processor}, {self.cores} cores, {threads}, {self.precision}, torch {self.torch}"


def this_machine() -> Machine:
    """Returns the machine this program runs on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Machine(_processor(), cores, torch.get_num_threads(), resolve_precision("auto").value, torch.__version__)


def best_device() -> str:
    """Returns what "auto" comes to here: "cuda:0" where torch finds a GPU, else "cpu"."""
    return "cuda:0" if torch.cuda.is_available() else "cpu"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine() or "unknown processor"
