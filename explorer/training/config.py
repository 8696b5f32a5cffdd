"""What decides a fine-tuning run, and its reading and writing as json. Standard library only."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from explorer.errors import SettingError

CONFIG_FILE = "train_config.json"


@dataclass(frozen=True)
class TrainConfig:
    """A siamese fine-tuning run on graded pairs (cosine MSE); written beside its output as train_config.json.

    Args:
        backbone: Local folder or hub id of the backbone or encoder to start from.
        pooling: "cls", "mean" or "cnn".
        train: Table of pairs trained on; columns sentence1, sentence2, score.
        dev: Table of pairs that selects the best checkpoint, by Spearman of the cosine.
        output: Folder the finished encoder is written to.
        score_scale: Highest gold score; scores are divided by it, so that the loss sees 0..1.
        learning_rate: Peak for the backbone; linear warm-up, then linear to zero.
        head_learning_rate: Peak for the CNN's weights; unused by other sentence layers.
        warmup_ratio: Share of all steps that warm up, 0..1.
        max_length: Longest input in word pieces.
        evaluations_per_epoch: How often dev is scored and a checkpoint written.
        seed: Decides data order, dropout and the CNN's first weights.
        backbone_label: The backbone in a few words, for tables; empty: made from its configuration.
        backbone_origin: Where the backbone comes from, its licence and what it was trained on, for the model card.
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

    def __post_init__(self) -> None:
        """Refuses numbers outside their range with a SettingError."""
        for name in ("score_scale", "epochs", "batch_size", "evaluations_per_epoch"):
            if not getattr(self, name) > 0:
                raise SettingError(f"{name} is {getattr(self, name)}; it must be above 0.")
        for name in ("learning_rate", "head_learning_rate", "weight_decay"):
            if not getattr(self, name) >= 0:
                raise SettingError(f"{name} is {getattr(self, name)}; it cannot be negative.")
        if not 0 <= self.warmup_ratio <= 1:
            raise SettingError(f"warmup_ratio is {self.warmup_ratio}; it must be within 0 and 1.")
        if self.max_length < 3:
            raise SettingError(
                f"max_length is {self.max_length}; at least 3 word pieces are needed, two are special ones."
            )

    def save(self, folder: Path) -> None:
        """Writes the configuration into `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / CONFIG_FILE).write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> TrainConfig:
        """Reads the configuration that `save` wrote."""
        return cls(**json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8")))
