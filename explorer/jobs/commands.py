"""Argument lists: of a worker, of accelerate's launcher for several GPUs, and of the command that runs a job again."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

WORKER = "explorer.training.worker"


def worker_arguments(folder: Path, task: str, lock: int) -> list[str]:
    """Returns the command of a job's worker, which inherits the descriptor `lock`."""
    return [sys.executable, "-m", WORKER, str(folder), "--task", task, "--lock", str(lock)]


def launch_arguments(folder: Path, task: str, devices: list[str]) -> list[str]:
    """Returns the command that runs a job's work in one process on each of several GPUs.

    Args:
        folder: The job's.
        task: Its function, "module:name".
        devices: At least two of "cuda:0", "cuda:1", ...
    """
    launcher = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_machines", "1"]
    launcher += ["--num_processes", str(len(devices)), "--mixed_precision", "no", "--dynamo_backend", "no"]
    # Port 0: any free one, so that two such jobs do not meet.
    launcher += ["--gpu_ids", ",".join(device.removeprefix("cuda:") for device in devices), "--main_process_port", "0"]
    return [*launcher, "--module", WORKER, str(folder), "--task", task, "--rank"]


def command_arguments(config: Mapping[str, Any]) -> list[str]:
    """Returns the command that runs a job of this configuration again from a terminal, as a new job.

    Every setting is named, so that the command stays the same when a default changes; where the encoder goes is the
    new job's own affair.
    """
    words = ["python", "-m", "explorer", "train"]
    for name, value in config.items():
        flag = f"--{name.replace('_', '-')}"
        if name == "output" or value is None or value == "":
            continue
        if isinstance(value, bool):
            words.append(flag if value else f"--no-{flag[2:]}")
        else:
            words += [flag, str(value)]
    if _is_hub_id(str(config.get("backbone") or "")):
        words.append("--hub")
    return [*words, "--detach"]


def _is_hub_id(backbone: str) -> bool:
    """Whether a backbone is to be downloaded, which a terminal does only when it is told to."""
    return backbone.count("/") == 1 and not backbone.startswith((".", "/", "~")) and not Path(backbone).exists()
