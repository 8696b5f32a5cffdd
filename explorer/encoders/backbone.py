"""Looks at a backbone before an encoder is built on it: whether it can become one here, and how much it reads at once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import nn
from transformers import AutoConfig, AutoModel

from explorer.encoders.hub import backbone_folder
from explorer.errors import EncoderError

# What libraries raise on files that are missing, damaged or do not fit together.
DAMAGE = (OSError, ValueError, RuntimeError, TypeError, LookupError, AttributeError, ImportError, SafetensorError)
# What an encoder's facts and its loading ask of a configuration; a name in config.json itself, or one that stands for it.
_WIDTH = ("hidden_size", "dim")
_SIZES = (("num_hidden_layers",), ("num_attention_heads",), ("vocab_size",), ("intermediate_size", "hidden_dim"))
# Every name of a table of absolute positions ends in one of these.
_POSITIONS = ("position_embeddings", "wpe")


@dataclass(frozen=True)
class Backbone:
    """A backbone that can be built on.

    Args:
        folder: Of its transformer.
        max_length: Longest input it is to read: what was asked for, at most what its positions allow.
    """

    folder: str
    max_length: int


def checked_backbone(backbone: str | Path, max_length: int) -> Backbone:
    """Returns where a backbone is and how much of a text it reads, having loaded it once.

    Args:
        backbone: Local folder or hub id.
        max_length: Longest input asked for, in word pieces.

    Raises:
        EncoderError: It cannot be loaded whole, or is of a kind that no encoder here is made of.
    """
    folder, name = backbone_folder(backbone), str(backbone)
    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        _check_kind(config, name)
        model, loading = AutoModel.from_pretrained(
            folder,
            config=config,
            dtype=torch.float32,
            trust_remote_code=False,
            use_safetensors=True,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
        )
    except DAMAGE as error:
        raise not_loaded(backbone, error) from error
    _check_weights(loading, name)
    return Backbone(folder, min(max_length, positions_of(model) or max_length))


def not_loaded(backbone: str | Path, error: Exception) -> EncoderError:
    """Returns the error for a backbone that a library could not load, in one line."""
    text = str(error).strip()
    reason = text.splitlines()[0][:300] if text else type(error).__name__
    if "trust_remote_code" in text:
        reason = "it needs code of its own, which is never run here; choose one that transformers has a class for."
    return EncoderError(f"Backbone {str(backbone)!r} cannot be loaded: {reason}")


def check_tokenizer(tokenizer: Any, backbone: str | Path) -> None:
    """Refuses a tokenizer that has nothing but special tokens, to which every word is the unknown one.

    Raises:
        EncoderError: It is such.
    """
    if len(tokenizer) <= len(set(tokenizer.all_special_tokens)):
        raise EncoderError(
            f"Backbone {str(backbone)!r} has no vocabulary, so that every word would be unknown to it: its tokenizer.json (or "
            "vocab.txt) is missing or empty; copy the whole folder again."
        )


def positions_of(model: nn.Module) -> int | None:
    """Returns how many word pieces a transformer has positions for; None where it does not count them from the start."""
    for name, module in model.named_modules():
        if isinstance(module, nn.Embedding) and name.endswith(_POSITIONS):
            # RoBERTa and its kin count from the padding's number on.
            return module.num_embeddings - (0 if module.padding_idx is None else module.padding_idx + 1)
    return None


def _check_kind(config: Any, name: str) -> None:
    kind, written = config.model_type, config.to_dict()
    if getattr(config, "is_encoder_decoder", False):
        raise EncoderError(f"Backbone {name!r} is of the kind {kind}, which has a decoder too; an encoder is needed.")
    missing = [] if any(isinstance(written.get(key), int) for key in _WIDTH) else ["hidden_size"]
    missing += [keys[0] for keys in _SIZES if not any(isinstance(getattr(config, key, None), int) for key in keys)]
    if missing:
        raise EncoderError(
            f"Backbone {name!r} is of the kind {kind}, of which no encoder can be made here: its config.json gives no "
            f"{' and no '.join(missing)}."
        )


def _check_weights(loading: dict[str, Any], name: str) -> None:
    """transformers fills missing weights with random ones and says so in a log nobody reads: here it is an error."""
    for key in sorted(key for key in loading["missing_keys"] if "pooler" not in key):
        raise EncoderError(
            f"Backbone {name!r}: the weight {key} is missing from model.safetensors, which is not of this config.json; copy "
            "the whole folder again."
        )
    for key, saved, wanted in sorted(row for row in loading["mismatched_keys"] if "pooler" not in row[0]):
        raise EncoderError(
            f"Backbone {name!r}: the weight {key} has the shape {tuple(saved)} but config.json asks for {tuple(wanted)}."
        )
