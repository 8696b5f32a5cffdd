"""Starts every preset of the paper's tables on the shipped encoders of its family and makes ten steps; prints a line for each.

Says that the settings run here, not what they reach: that takes the paper's backbones and data, and hours.

    OMP_NUM_THREADS=1 python -m benchmarks.presets --data ../shared/data [--steps 10] [--batch-size 4]
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")

import pandas as pd

from explorer.paths import CHECKPOINTS
from explorer.training import progress
from explorer.training.presets import Preset, presets
from explorer.training.train import train

DEV_PAIRS = 50


def steps_of(item: Preset, backbone: Path, tables: dict[str, str], output: str, options: argparse.Namespace) -> int:
    """Trains and returns how many steps were made, each with a loss that is a number."""
    losses: list[float] = []

    def report(kind: str, **facts: Any) -> None:
        if kind == "step":
            losses.append(facts["loss"])

    few = {"max_steps": options.steps, "batch_size": options.batch_size, "evaluations_per_epoch": 1, "device": "cpu"}
    train(item.config(output, backbone=str(backbone), **tables, **few), report=report)
    assert all(loss == loss for loss in losses)
    return len(losses)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with stsb/ and sick/")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=4)
    options = parser.parse_args()
    progress.SECONDS_BETWEEN_STEPS = 0.0
    done = 0
    for item in presets():
        if item.row is None:
            continue
        for layer in ("mean", "cnn"):
            with tempfile.TemporaryDirectory() as folder:
                dev = Path(folder) / "dev.tsv"
                pairs = pd.read_csv(options.data / "stsb" / "dev.tsv", sep="\t", quoting=0).head(DEV_PAIRS)
                pairs.to_csv(dev, sep="\t", index=False)
                tables = item.tables(options.data) | {"dev": str(dev)}
                start = time.perf_counter()
                backbone = CHECKPOINTS / f"{item.row[2]}-{layer}"
                steps = steps_of(item, backbone, tables, f"{folder}/run", options)
            print(
                f"{item.name:36s} {backbone.name:12s} {steps:2d} steps {time.perf_counter() - start:5.1f} s", flush=True
            )
            done += 1
    print(f"{done} runs, every loss a number")


if __name__ == "__main__":
    main()
