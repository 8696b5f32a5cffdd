"""Builds the reference of the paper's table 2: a backbone that reads both sentences of a pair at once and gives one score."""

from __future__ import annotations

from pathlib import Path

import torch
from sentence_transformers import CrossEncoder

from explorer.encoders.backbone import DAMAGE, check_tokenizer, checked_backbone, not_loaded


def build_cross_encoder(backbone: str | Path, *, max_length: int = 128, seed: int = 42) -> CrossEncoder:
    """Returns a cross-encoder in float32 with a new classifier for one score; the sigmoid makes it 0..1.

    Args:
        backbone: Local folder (a transformers model or an encoder, whose sentence layer is left out) or a hub id.
        max_length: Longest pair in word pieces; where the backbone's positions allow less, that is taken.
        seed: Decides the classifier's first weights.

    Raises:
        EncoderError: The backbone cannot be loaded whole, or it cannot become an encoder here.
    """
    found = checked_backbone(backbone, max_length)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        try:
            model = CrossEncoder(
                found.folder,
                num_labels=1,
                max_length=found.max_length,
                device="cpu",
                model_kwargs={"dtype": torch.float32, "use_safetensors": True},
                trust_remote_code=False,
            )
        except DAMAGE as error:
            raise not_loaded(backbone, error) from error
    check_tokenizer(model.tokenizer, backbone)
    return model
