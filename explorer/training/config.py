"""What decides a fine-tuning run, and its reading and writing as json. Standard library only."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from math import isfinite
from pathlib import Path
from typing import Any

from explorer.errors import SettingError

CONFIG_FILE = "train_config.json"
# What the model card tells, and nothing of what is learnt: two runs may differ in it and still be resumed or compared.
LABELS = ("backbone_label", "backbone_origin")


class Objective(StrEnum):
    """What is learnt, and from which table.

    sts: the cosine of graded pairs, mean squared error. nli: labels of pairs, softmax over [u; v; |u-v|].
    triplet: the positive nearer to the anchor than the negative, by a margin. ranking: the positive among the batch's
    other sentences. nli-sts: nli, then sts. cross-encoder: graded pairs, both sentences read at once; the reference.
    """

    STS = "sts"
    NLI = "nli"
    TRIPLET = "triplet"
    RANKING = "ranking"
    NLI_STS = "nli-sts"
    CROSS_ENCODER = "cross-encoder"


JOINT = (Objective.STS, Objective.NLI, Objective.NLI_STS)
POOLINGS = ("cls", "mean", "cnn")
# Of seeds: what numpy's generator takes. Of all else that is counted: far more than anyone waits for.
_MOST_SEED, _MOST = 2**32 - 1, 10**9


@dataclass(frozen=True)
class TrainConfig:
    """A fine-tuning run; written beside its output as train_config.json.

    A table with a column "split" gives only its rows of split "train" to training and of split "dev" to selection.

    Args:
        backbone: Local folder or hub id of the backbone or encoder to start from.
        pooling: "cls", "mean" or "cnn"; the cross-encoder has no use for it.
        train: Table trained on: graded pairs (sts, nli-sts, cross-encoder: sentence1, sentence2, score), labelled pairs
            (nli: sentence1, sentence2, label), triplets or labelled pairs (triplet, ranking: anchor, positive, negative).
        dev: Table of graded pairs that selects the best checkpoint, by Spearman.
        output: Folder the finished encoder is written to.
        score_scale: Highest gold score; scores are divided by it, so that the loss sees 0..1.
        epochs: Passes over `train`; 0 trains nothing and writes the backbone with its sentence layer as it is.
        learning_rate: Peak for the backbone; linear warm-up, then linear to zero.
        head_learning_rate: Peak for what starts at random: the CNN's weights and the classifier of nli.
        warmup_ratio: Share of all steps that warm up, 0..1.
        max_length: Longest input in word pieces.
        evaluations_per_epoch: How often dev is scored and a checkpoint written.
        seed: Decides data order, dropout and the first weights of what starts at random.
        backbone_label: The backbone in a few words, for tables; empty: made from its configuration.
        backbone_origin: Where the backbone comes from, its licence and what it was trained on, for the model card.
        objective: One of Objective.
        nli: Table of labelled pairs for the first stage of nli-sts; empty for the others.
        nli_epochs: Passes over `nli` in the first stage of nli-sts.
        siamese: False: ordinary fine-tuning (sts, nli, nli-sts): both sentences are read at once and a layer on [CLS],
            thrown away afterwards, learns the target; the encoder is the backbone with `pooling`.
        device: "auto" (a GPU if there is one), "cpu", "mps", "cuda" or "cuda:0", "cuda:1" and so on; several
            by commas in processes that accelerate has launched.
        max_steps: Stop each stage after this many steps, the schedule fitted to it; 0: by epochs.
        stop_on_nan: Fail when the loss is no longer a finite number; False: warn.
        stop_on_collapse: Fail when all dev pairs get the same cosine (standard deviation below 0.001); False: warn.
        patience: Evaluations without a better one before a warning; 0: never.
        stop_on_plateau: End the stage there, keeping its best, instead of the warning alone.
    """

    backbone: str
    pooling: str
    train: str
    dev: str
    output: str
    score_scale: float = 5.0
    epochs: float = 4.0
    batch_size: int = 32
    learning_rate: float = 2e-5
    head_learning_rate: float = 1e-3
    weight_decay: float = 0.01
    warmup_ratio: float = 0.1
    max_length: int = 128
    evaluations_per_epoch: int = 2
    seed: int = 42
    backbone_label: str = ""
    backbone_origin: str = ""
    objective: str = Objective.STS.value
    nli: str = ""
    nli_epochs: float = 1.0
    siamese: bool = True
    device: str = "auto"
    max_steps: int = 0
    stop_on_nan: bool = True
    stop_on_collapse: bool = False
    patience: int = 0
    stop_on_plateau: bool = False

    def __post_init__(self) -> None:
        """Refuses settings outside their range, or that do not go together, with a SettingError; 4 for a float is 4.0."""
        _check_kinds(self)
        _check_sizes(self)
        for name in ("score_scale", "batch_size", "evaluations_per_epoch", "nli_epochs"):
            if not getattr(self, name) > 0:
                raise SettingError(f"{name} is {getattr(self, name)}; it must be above 0.")
        for name in (
            "epochs",
            "learning_rate",
            "head_learning_rate",
            "weight_decay",
            "seed",
            "max_steps",
            "patience",
        ):
            if not getattr(self, name) >= 0:
                raise SettingError(f"{name} is {getattr(self, name)}; it cannot be negative.")
        if not 0 <= self.warmup_ratio <= 1:
            raise SettingError(f"warmup_ratio is {self.warmup_ratio}; it must be within 0 and 1.")
        if self.max_length < 3:
            raise SettingError(
                f"max_length is {self.max_length}; at least 3 word pieces are needed, two are special ones."
            )
        _check_objective(self)

    def save(self, folder: Path) -> None:
        """Writes the configuration into `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / CONFIG_FILE).write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> TrainConfig:
        """Reads the configuration that `save` wrote."""
        return cls.from_mapping(json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8")))

    @classmethod
    def from_mapping(cls, settings: Any) -> TrainConfig:
        """Builds it from parsed json; what is missing takes its default.

        Raises:
            SettingError: A name is unknown, a needed one is missing, or a value does not fit.
        """
        known = {setting.name for setting in fields(cls)}
        if not isinstance(settings, dict) or set(settings) - known:
            unknown = sorted(set(settings) - known) if isinstance(settings, dict) else [str(settings)[:40]]
            raise SettingError(f"Unknown setting {unknown[0]!r}; known are {', '.join(sorted(known))}.")
        missing = [name for name in ("backbone", "pooling", "train", "dev", "output") if name not in settings]
        if missing:
            raise SettingError(f"The setting {missing[0]!r} is missing.")
        return cls(**settings)


def suggested_settings(family: str, objective: str = Objective.STS.value) -> dict[str, Any]:
    """Returns settings that suit a backbone's family ("bert", "albert" or another) and an objective.

    ALBERT's layers share one set of weights, so every step changes all of them at once: at BERT's rate it may diverge to
    constant vectors, hence a lower rate and a longer warm-up.
    """
    settings: dict[str, Any] = {"learning_rate": 2e-5, "warmup_ratio": 0.1, "epochs": 4.0, "batch_size": 32}
    if family == "albert":
        settings |= {"learning_rate": 1e-5, "warmup_ratio": 0.2}
    if objective in (Objective.NLI, Objective.TRIPLET, Objective.RANKING):
        settings |= {"epochs": 1.0}
    if objective == Objective.RANKING:
        settings |= {"batch_size": 64}  # the other pairs of the batch are the negatives
    return settings


def _check_kinds(config: TrainConfig) -> None:
    """Json and forms bring any type; a dataclass checks none."""
    for setting in fields(config):
        value = getattr(config, setting.name)
        kind = str(setting.type)
        wanted = {"str": (str,), "bool": (bool,), "int": (int,), "float": (int, float)}[kind]
        if not isinstance(value, wanted) or (isinstance(value, bool) and kind != "bool"):
            raise SettingError(f"{setting.name} is {str(value)[:60]!r}; it must be of kind {kind}.")


def _check_sizes(config: TrainConfig) -> None:
    """Refuses numbers that no run can use, and makes floats of whole numbers, so that equal settings are equal in writing."""
    for setting in fields(config):
        value, kind = getattr(config, setting.name), str(setting.type)
        if kind not in ("int", "float"):
            continue
        most = _MOST_SEED if setting.name == "seed" else _MOST
        if abs(value) > most or not isfinite(value):
            shown = (
                f"{value:g}" if isinstance(value, float) else f"a number of {len(hex(value)) - 2} hexadecimal digits"
            )
            shown = str(value) if abs(value) < 10**20 and isinstance(value, int) else shown
            raise SettingError(f"{setting.name} is {shown}; it must be a number up to {most:,}.")
        if kind == "float":
            object.__setattr__(config, setting.name, float(value))


def _check_objective(config: TrainConfig) -> None:
    if config.objective not in list(Objective):
        raise SettingError(f"objective is {config.objective!r}; it must be one of {', '.join(Objective)}.")
    if config.pooling not in POOLINGS:
        raise SettingError(f"pooling is {config.pooling!r}; it must be one of {', '.join(POOLINGS)}.")
    two_stages = config.objective == Objective.NLI_STS
    if two_stages and not config.nli:
        raise SettingError("objective nli-sts needs a table of labelled pairs as nli for its first stage.")
    if config.nli and not two_stages:
        raise SettingError(f"nli is {config.nli!r}, but objective {config.objective} has one stage: give it as train.")
    if not config.siamese and (config.objective not in JOINT or config.pooling == "cnn"):
        raise SettingError("siamese is False; that goes with objective sts, nli or nli-sts and pooling cls or mean.")
    if config.objective == Objective.CROSS_ENCODER and config.epochs == 0:
        raise SettingError("epochs is 0; a cross-encoder that was not trained has nothing to say.")
    several = all(re.fullmatch("cuda:[0-9]{1,3}", part) for part in config.device.split(","))
    if config.device not in ("auto", "cpu", "mps", "cuda") and not several:
        raise SettingError(
            f"device is {config.device!r}; it must be auto, cpu, mps, cuda, or cuda:<number> (several by commas)."
        )
