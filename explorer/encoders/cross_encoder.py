"""Cross-encoders: both sentences in one reading, one number a pair, no embedding. Safetensors only, no code of a folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from explorer.encoders.folder import read_header
from explorer.errors import EncoderError

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

PROBE = ("A plain sentence.", "Another one.")
_PAIRS_AT_ONCE = 256
_BATCH = 32
# What libraries raise on files that do not fit together.
_DAMAGE = (OSError, ValueError, RuntimeError, TypeError, LookupError, AttributeError, ImportError)


def load_cross_encoder(folder: Path) -> CrossEncoder:
    """Returns the cross-encoder of a sentence-transformers folder in float32 on the CPU, in evaluation mode.

    Raises:
        EncoderError: A file is missing or damaged, or it does not give one finite number for a plain pair.
    """
    from sentence_transformers import CrossEncoder

    try:
        model = CrossEncoder(
            str(folder),
            device="cpu",
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"dtype": torch.float32, "use_safetensors": True},
        )
        model.eval()
        _check_weights(folder, model)
        value = predict_pairs(model, [PROBE])
    except _DAMAGE as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise EncoderError(f"{folder.name} cannot be loaded as a cross-encoder: {lines[0][:300]}") from error
    if model.num_labels != 1 or not np.isfinite(value).all():
        raise EncoderError(f"{folder.name} does not give one finite number for a plain pair; graded pairs need one.")
    return model


def _check_weights(folder: Path, model: CrossEncoder) -> None:
    """transformers fills missing weights with random ones and says so in a log nobody reads: here it is an error."""
    saved, transformer = read_header(folder / "model.safetensors"), cast(Any, model[0])
    for key, parameter in transformer.auto_model.named_parameters():
        if saved.get(key) != tuple(parameter.shape):
            raise EncoderError(
                f"{folder.name}: the weight {key} is missing from model.safetensors or of another shape."
            )


def predict_pairs(
    model: CrossEncoder,
    pairs: Sequence[tuple[str, str]],
    *,
    bf16: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> NDArray[np.float32]:
    """Returns (n_pairs,) float32, how alike the cross-encoder finds each pair, usually in 0..1.

    Args:
        model: With one output.
        pairs: (first sentence, second sentence) each; the order may matter to it.
        bf16: Whether to compute in bfloat16.
        progress: Called with (pairs done, pairs in all); may raise to stop.
    """
    found, predict = np.zeros(len(pairs), dtype=np.float32), cast(Any, model.predict)
    with torch.autocast(model.device.type, torch.bfloat16) if bf16 else nullcontext():
        for start in range(0, len(pairs), _PAIRS_AT_ONCE):
            some = [list(pair) for pair in pairs[start : start + _PAIRS_AT_ONCE]]
            made = predict(some, batch_size=_BATCH, show_progress_bar=False, convert_to_tensor=True)
            found[start : start + len(some)] = made.float().cpu().numpy().reshape(len(some), -1)[:, 0]
            if progress:
                progress(start + len(some), len(pairs))
    return found
