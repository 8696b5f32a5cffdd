"""The softmax head that an encoder trained on NLI leaves beside itself: three labels from two embeddings. Reads files only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.encoders.folder import EncoderInfo, read_header
from explorer.errors import EncoderError

HEAD_FILE = "nli_head.safetensors"
LABELS = ("entailment", "neutral", "contradiction")


@dataclass(frozen=True)
class NliHead:
    """A softmax layer on [u; v; |u - v|], the embeddings u and v of two sentences.

    Args:
        weight: (3, 3H) float32.
        bias: (3,) float32.
        labels: The three labels in the order of the outputs.
        remark: What its facts say of it, for instance that the encoder was trained further afterwards; may be empty.
    """

    weight: NDArray[np.float32]
    bias: NDArray[np.float32]
    labels: tuple[str, ...]
    remark: str = ""


def has_head(info: EncoderInfo) -> bool:
    """Whether an encoder has an NLI head beside it."""
    return (info.folder / HEAD_FILE).is_file()


def read_head(info: EncoderInfo) -> NliHead | None:
    """Returns an encoder's NLI head; None where it has none.

    Raises:
        EncoderError: The file is damaged or does not fit the encoder, or its labels are not told.
    """
    if not has_head(info):
        return None
    path, width = info.folder / HEAD_FILE, 3 * info.embedding_dimension
    shapes = read_header(path)
    if shapes != {"weight": (3, width), "bias": (3,)}:
        raise EncoderError(
            f"{info.name}/{HEAD_FILE} should hold weight (3, {width}) and bias (3,); it holds "
            f"{', '.join(f'{name} {shape}' for name, shape in sorted(shapes.items()))}."
        )
    labels, remark = _told(info.facts)
    if sorted(labels) != sorted(LABELS):
        raise EncoderError(
            f"{info.name}: explorer.json should name the NLI head's labels ({', '.join(LABELS)}), in the order of its outputs."
        )
    tensors = _tensors(path)
    return NliHead(tensors["weight"].astype(np.float32), tensors["bias"].astype(np.float32), labels, remark)


def _tensors(path: Path) -> dict[str, NDArray[Any]]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return dict(load_file(path))
    except (SafetensorError, OSError, ValueError, TypeError, KeyError) as error:
        raise EncoderError(f"{path.parent.name}/{path.name} cannot be read ({error}); copy it again.") from error


def _told(facts: Mapping[str, Any]) -> tuple[tuple[str, ...], str]:
    """The labels and the remark in an encoder's facts; no labels where they are not told."""
    told = facts.get("nli_head")
    if not isinstance(told, Mapping):
        return (), ""
    labels, remark = told.get("labels"), told.get("note", "")
    names = tuple(map(str, labels)) if isinstance(labels, list) else ()
    return names, remark if isinstance(remark, str) else ""
