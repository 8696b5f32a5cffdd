"""Tiny tables and configurations for every objective."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import WORDS

from explorer.training.config import TrainConfig


@pytest.fixture
def every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps are reported one and all."""
    monkeypatch.setattr("explorer.training.progress.SECONDS_BETWEEN_STEPS", 0.0)


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, str]:
    """Paths of graded pairs, of labelled pairs and of triplets, of random words."""
    chance = random.Random(1)

    def sentence() -> str:
        return " ".join(chance.choices(WORDS[:60], k=chance.randint(3, 9)))

    labels = ("entailment", "neutral", "contradiction")
    graded = [f"{chance.uniform(0, 5):.2f}\t{sentence()}\t{sentence()}" for _ in range(20)]
    labelled = [f"{label}\t{premise}\t{sentence()}" for premise in (sentence() for _ in range(9)) for label in labels]
    triplets = ["\t".join(sentence() for _ in range(3)) for _ in range(10)]
    contents = {
        "graded": "score\tsentence1\tsentence2\n" + "\n".join(graded),
        "labelled": "label\tsentence1\tsentence2\n" + "\n".join(labelled),
        "triplets": "anchor\tpositive\tnegative\n" + "\n".join(triplets),
    }
    for name, content in contents.items():
        (tmp_path / f"{name}.tsv").write_text(content + "\n", encoding="utf-8")
    return {name: str(tmp_path / f"{name}.tsv") for name in contents}


@pytest.fixture
def configure(
    tiny_backbone: Callable[[str], Path], tables: dict[str, str], tmp_path: Path
) -> Callable[..., TrainConfig]:
    """Makes the configuration of a short run of any objective: configure("nli", "run", pooling="cnn")."""

    def make(objective: str, name: str = "run", family: str = "bert", **options: Any) -> TrainConfig:
        graded = objective in ("sts", "nli-sts", "cross-encoder")
        settings: dict[str, Any] = {
            "backbone": str(tiny_backbone(family)),
            "pooling": "cnn",
            "train": tables["graded" if graded else "labelled"],
            "dev": tables["graded"],
            "nli": tables["labelled"] if objective == "nli-sts" else "",
            "output": str(tmp_path / name),
            "objective": objective,
            "epochs": 2.0,
            "batch_size": 4,
            "max_length": 32,
            "learning_rate": 1e-3,
        }
        return TrainConfig(**{**settings, **options})

    return make
