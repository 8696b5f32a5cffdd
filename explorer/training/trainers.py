"""The library's two trainers with whole checkpoints: the loss's own layers in them, written or not at all, never half loaded."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformerTrainer
from sentence_transformers.cross_encoder import CrossEncoderTrainer
from torch import Tensor, nn

from explorer.errors import TrainingError
from explorer.training.callback import last_checkpoint
from explorer.training.objectives import own_layers
from explorer.training.progress import Losses

LOSS_FILE = "loss.safetensors"
# What libraries raise on a full or failing disk.
_DISK = (OSError, RuntimeError, SafetensorError)
_LITTLE_ROOM = 32 * 2**20


class WholeCheckpoints:
    """What both trainers need beside the library's; mixed in before one of them. `losses` is to be set before training."""

    losses: Losses

    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        """Adds none: the library's card quotes training sentences."""

    def training_step(self, model: nn.Module, inputs: dict[str, Any], num_items_in_batch: Any = None) -> Tensor:
        """Does a step and leaves its loss in `losses`."""
        loss = super().training_step(model, inputs, num_items_in_batch)  # type: ignore[misc]
        self.losses.add(float(loss))
        return loss

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        trainer: Any = self
        folder = Path(output_dir or trainer.args.output_dir)
        trainer.model.save_pretrained(str(folder), create_model_card=False)
        save_file({name: value.contiguous() for name, value in own_layers(trainer.loss).items()}, folder / LOSS_FILE)

    def _save_checkpoint(self, model: nn.Module, trial: Any) -> None:
        trainer: Any = self
        try:
            super()._save_checkpoint(model, trial)  # type: ignore[misc]
        except _DISK as error:
            folder = Path(trainer.args.output_dir) / f"checkpoint-{trainer.state.global_step}"
            full = shutil.disk_usage(folder.parent).free < max(_LITTLE_ROOM, _size(folder))
            shutil.rmtree(folder, ignore_errors=True)
            whole = last_checkpoint(folder.parent)
            advice = (
                "The one before it is whole; make room and resume."
                if whole
                else "It was the first; make room and resume, which starts again."
            )
            reason = "the disk is full" if full else str(error).strip().splitlines()[0]
            raise TrainingError(
                f"The checkpoint of step {trainer.state.global_step} could not be written: {reason}. {advice}"
            ) from error

    def _load_from_checkpoint(self, checkpoint_path: str, *args: Any) -> None:
        trainer: Any = self
        super()._load_from_checkpoint(checkpoint_path, *args)  # type: ignore[misc]
        saved = load_file(Path(checkpoint_path) / LOSS_FILE)
        if saved.keys() != own_layers(trainer.loss).keys():
            raise TrainingError(f"{Path(checkpoint_path).name} is of another objective; its {LOSS_FILE} does not fit.")
        with torch.no_grad():
            for name, value in own_layers(trainer.loss).items():
                value.copy_(saved[name])

    def _load_best_model(self) -> None:
        # The library logs an error here and goes on with the last weights.
        trainer: Any = self
        self._load_from_checkpoint(trainer.state.best_model_checkpoint)


class EncoderTrainer(WholeCheckpoints, SentenceTransformerTrainer):
    """Trains a sentence encoder."""


class PairTrainer(WholeCheckpoints, CrossEncoderTrainer):
    """Trains a cross-encoder."""


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
