"""Runs a training and keeps what it reports."""

from __future__ import annotations

import signal
from typing import Any

from explorer.training.config import TrainConfig
from explorer.training.train import TrainResult, train


class Events:
    """Collects what a run reports; on request the process signals itself at a step, as a stop would."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.all: list[tuple[str, dict[str, Any]]] = []
        self.stop_at = stop_at

    def __call__(self, kind: str, **facts: Any) -> None:
        self.all.append((kind, facts))
        if kind == "step" and facts["step"] == self.stop_at:
            signal.raise_signal(signal.SIGTERM)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [facts for found, facts in self.all if found == kind]

    def losses(self) -> dict[int, float]:
        return {facts["step"]: round(facts["loss"], 4) for facts in self.of("step")}


def run(config: TrainConfig, *, resume: bool = False, stop_at: int | None = None) -> tuple[TrainResult, Events]:
    """Trains and returns how it ended and what it reported."""
    events = Events(stop_at)
    return train(config, resume=resume, report=events), events
