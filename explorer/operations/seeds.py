"""Several seeds of one training as one result: mean and spread of what the finished runs scored. Reads json alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from statistics import mean, stdev

from explorer.encoders.registry import EncoderInfo
from explorer.errors import SettingError
from explorer.training.config import CONFIG_FILE, TrainConfig


@dataclass(frozen=True)
class Spread:
    """One figure over several seeds, x 100.

    Args:
        mean: Their mean.
        deviation: Their standard deviation (n - 1); None for a single run.
        lowest: The lowest.
        highest: The highest.
        n: Number of runs.
    """

    mean: float
    deviation: float | None
    lowest: float
    highest: float
    n: int


@dataclass(frozen=True)
class SeedGroup:
    """Finished runs that differ in nothing but the seed.

    Args:
        encoders: Their names, by seed.
        seeds: Their seeds, ascending.
        scores: The figures all of them have, by names like "stsb_dev_spearman".
    """

    encoders: tuple[str, ...]
    seeds: tuple[int, ...]
    scores: Mapping[str, Spread]


def group_by_seed(infos: Iterable[EncoderInfo]) -> list[SeedGroup]:
    """Returns the groups of two seeds or more, in order of their first encoder; other encoders are passed over.

    Args:
        infos: Encoders and cross-encoders as the registry finds them.
    """
    groups: dict[TrainConfig, dict[int, EncoderInfo]] = {}
    for info in infos:
        config = _config(info)
        if config is not None:
            alike = replace(config, seed=0, output="", backbone_label="", backbone_origin="")
            groups.setdefault(alike, {}).setdefault(config.seed, info)
    return [_group(runs) for runs in groups.values() if len(runs) > 1]


def spread_of(values: list[float]) -> Spread:
    """Returns the mean and spread of at least one figure."""
    deviation = stdev(values) if len(values) > 1 else None
    return Spread(mean(values), deviation, min(values), max(values), len(values))


def _group(runs: Mapping[int, EncoderInfo]) -> SeedGroup:
    ordered = [runs[seed] for seed in sorted(runs)]
    shared = [name for name in ordered[0].scores if all(name in info.scores for info in ordered)]
    return SeedGroup(
        encoders=tuple(info.name for info in ordered),
        seeds=tuple(sorted(runs)),
        scores={name: spread_of([info.scores[name] for info in ordered]) for name in shared},
    )


def _config(info: EncoderInfo) -> TrainConfig | None:
    if not (info.folder / CONFIG_FILE).is_file():
        return None
    try:
        return TrainConfig.load(info.folder)
    except (SettingError, ValueError, OSError):
        return None
