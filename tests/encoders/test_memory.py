"""A process's peak memory is its own, whatever the process that started it holds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

from explorer.encoders import memory

_CHILD = "from explorer.encoders.memory import peak_bytes; print(peak_bytes())"
# 300 MiB, every page of them touched.
_PARENT = f"""
import subprocess, sys
held = b"x" * (300 * 2**20)
print(subprocess.run([sys.executable, "-c", {_CHILD!r}], capture_output=True, text=True, check=True).stdout)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a parent's peak is not passed on")
def test_a_child_of_a_process_that_held_much_reports_its_own_peak() -> None:
    run = subprocess.run([sys.executable, "-c", _PARENT], cwd=ROOT, capture_output=True, text=True, check=True)
    assert 2**20 < int(run.stdout) < 100 * 2**20


def test_without_the_system_s_table_the_peak_is_what_getrusage_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_STATUS", Path("/nowhere/status"))
    assert memory.peak_bytes() > 2**20
