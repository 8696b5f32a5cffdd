"""Builds a sentence encoder from a backbone and a sentence layer; knows nothing of training or of checkpoints."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import Pooling

from explorer.encoders.backbone import DAMAGE, check_tokenizer, checked_backbone, not_loaded
from explorer.encoders.cnn_pooling import CNNPooling
from explorer.errors import EncoderError


class PoolingKind(StrEnum):
    """The sentence layers: the [CLS] vector, average pooling, and the CNN of arXiv 2101.10642."""

    CLS = "cls"
    MEAN = "mean"
    CNN = "cnn"


def build_encoder(
    backbone: str | Path, pooling: PoolingKind | str, *, max_length: int = 128, seed: int = 42, device: str = "cpu"
) -> SentenceTransformer:
    """Returns an encoder in float32: the backbone with a new sentence layer on its last hidden states.

    Args:
        backbone: Local folder (a transformers model or a sentence-transformers encoder, whose own sentence layer is
            left out) or a hub id, fetched unless it is here.
        pooling: "cls", "mean" or "cnn".
        max_length: Longest input in word pieces; where the backbone's positions allow less, that is taken.
        seed: Decides the CNN's first weights.
        device: Torch device of the result.

    Raises:
        EncoderError: The pooling is unknown, the backbone cannot be loaded whole, or it cannot become an encoder here.
    """
    try:
        kind = PoolingKind(pooling)
    except ValueError as error:
        raise EncoderError(f"Unknown pooling {str(pooling)!r}; use cls, mean or cnn.") from error
    found = checked_backbone(backbone, max_length)
    try:
        transformer = Transformer(
            found.folder,
            max_seq_length=found.max_length,
            model_kwargs={"dtype": torch.float32, "trust_remote_code": False, "use_safetensors": True},
        )
    except DAMAGE as error:
        raise not_loaded(backbone, error) from error
    check_tokenizer(transformer.tokenizer, backbone)
    width = transformer.get_embedding_dimension()
    if kind is PoolingKind.CNN:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            layer: torch.nn.Module = CNNPooling(width)
    else:
        layer = Pooling(width, pooling_mode=kind.value)
    return SentenceTransformer(modules=[transformer, layer], device=device)
