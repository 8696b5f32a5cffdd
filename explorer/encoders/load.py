"""Builds an encoder from a checked folder: only classes on the allow-list, weights from safetensors, always float32."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import SafetensorError
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import Pooling

from explorer.encoders.cnn_pooling import CNNPooling
from explorer.encoders.folder import CNN, read_header, read_info, read_modules
from explorer.errors import EncoderError

PROBE = "A plain sentence."
# What libraries raise on files that do not fit together.
_DAMAGE = (OSError, ValueError, RuntimeError, TypeError, LookupError, AttributeError)


def load_encoder(folder: Path) -> SentenceTransformer:
    """Returns the encoder of a sentence-transformers folder in float32 on the CPU, in evaluation mode.

    The result equals a plain sentence-transformers load of the same folder, except that fp16 weights are read as float32
    and that no code of the folder is run.

    Raises:
        EncoderError: A file is missing or damaged, a weight is missing or of another shape, or a plain sentence gives
            numbers that are not finite.
    """
    info = read_info(folder)
    (_, backbone_path), (kind, layer_path) = read_modules(folder)
    try:
        transformer = Transformer.load(
            str(folder),
            subfolder=backbone_path,
            local_files_only=True,
            model_kwargs={"dtype": torch.float32, "use_safetensors": True},
        )
        layer: torch.nn.Module = (CNNPooling if kind == CNN else Pooling).load(
            str(folder), subfolder=layer_path, local_files_only=True
        )
    except (*_DAMAGE, ImportError, SafetensorError) as error:
        raise EncoderError(f"{info.name} cannot be loaded: {_first_line(error)}") from error
    _check_weights(folder / backbone_path, transformer.auto_model, info.name)
    encoder = SentenceTransformer(modules=[transformer, layer.float()], device="cpu")
    encoder.eval()
    _probe(encoder, info.name)
    return encoder


def _check_weights(folder: Path, model: torch.nn.Module, name: str) -> None:
    """transformers fills missing weights with random ones and says so in a log nobody reads: here it is an error."""
    saved = read_header(folder / "model.safetensors")
    prefix = f"{getattr(model, 'base_model_prefix', '')}."
    # Old files, bert-base-uncased among them, call a norm's weight gamma and its bias beta; transformers reads both.
    saved = {_new_name(key.removeprefix(prefix)): shape for key, shape in saved.items()}
    for key, parameter in model.named_parameters():
        if key.startswith("pooler."):
            continue
        if key not in saved:
            raise EncoderError(f"{name}: the weight {key} is missing from model.safetensors; copy it again.")
        if saved[key] != tuple(parameter.shape):
            raise EncoderError(
                f"{name}: the weight {key} has the shape {saved[key]} but config.json asks for {tuple(parameter.shape)}."
            )


def _new_name(key: str) -> str:
    return key.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")


def _probe(encoder: SentenceTransformer, name: str) -> None:
    try:
        vector = encoder.encode([PROBE], convert_to_tensor=True, show_progress_bar=False)
    except _DAMAGE as error:
        raise EncoderError(f"{name} cannot read a plain sentence: {_first_line(error)}") from error
    if not bool(torch.isfinite(vector).all()):
        raise EncoderError(f"{name}: its weights give numbers that are not finite for a plain sentence; it is damaged.")


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:300] if str(error).strip() else type(error).__name__
