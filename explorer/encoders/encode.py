"""Turns texts into vectors, fast: equal texts once, like lengths together, the quickest precision that keeps the scores.

Knows nothing of where encoders come from or of what is done with the vectors.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from explorer.encoders.precision import bf16_is_fast

if TYPE_CHECKING:  # its import takes seconds, which whoever only asks for a precision need not wait for
    from sentence_transformers import SentenceTransformer

Progress = Callable[[int, int], None]
_TOKENS_A_BATCH = 1024
# Texts are tokenised this many at a time, so that a long corpus shows progress and needs little memory.
_TEXTS_A_RUN = 4096
# A tokenizer keeps "cut or not" as its own state, which a second thread would change under the first.
_TOKENIZING = threading.Lock()


class Precision(StrEnum):
    """Arithmetic of the forward pass; auto is bfloat16 where the processor has instructions for it."""

    AUTO = "auto"
    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"


@dataclass(frozen=True)
class WordPieces:
    """One text as its encoder reads it.

    Args:
        pieces: The tokens, special ones included, at most the encoder's longest input.
        ids: Their vocabulary ids.
        offsets: For each piece the characters [start, end) of the text it stands for; (0, 0) for special pieces.
        truncated: How many pieces of the text were left out at its end.
    """

    pieces: tuple[str, ...]
    ids: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...]
    truncated: int


def resolve_precision(precision: Precision | str, device: str = "cpu") -> Precision:
    """Returns float32 or bfloat16: what `auto` means on this device, or the precision itself."""
    chosen = Precision(precision)
    if chosen is not Precision.AUTO:
        return chosen
    return Precision.BFLOAT16 if bf16_is_fast(device) else Precision.FLOAT32


def encode(
    encoder: SentenceTransformer,
    texts: Sequence[str],
    *,
    precision: Precision | str = Precision.AUTO,
    batch_size: int = 128,
    progress: Progress | None = None,
) -> NDArray[np.float32]:
    """Returns the sentence embeddings, (n_texts, H) float32, in the order of the texts.

    Args:
        encoder: A Transformer and a sentence layer, in float32.
        texts: Any number of strings; longer ones are cut at the encoder's longest input.
        precision: See Precision.
        batch_size: Most sentences at once; long sentences go in smaller batches.
        progress: Called with (sentences done, sentences in all), counting distinct ones.
    """
    unique = list(dict.fromkeys(texts))
    row = {text: index for index, text in enumerate(unique)}
    vectors = np.zeros((len(unique), encoder.get_embedding_dimension() or 0), dtype=np.float32)
    device = encoder.device.type
    bf16 = resolve_precision(precision, device) is Precision.BFLOAT16
    done = 0
    # One autocast block for all batches, so that the weights are cast once; in inference mode they would be cast again for
    # every batch.
    with torch.no_grad(), torch.autocast(device, torch.bfloat16) if bf16 else nullcontext():
        for start in range(0, len(unique), _TEXTS_A_RUN):
            run = unique[start : start + _TEXTS_A_RUN]
            for rows, features in _batches(encoder, run, batch_size):
                embedding = encoder(features)["sentence_embedding"]
                vectors[start + np.array(rows)] = embedding.float().cpu().numpy()
                done += len(rows)
                if progress:
                    progress(done, len(unique))
    return vectors[[row[text] for text in texts]]


def tokenize(encoder: SentenceTransformer, texts: str | list[str], *, cut: bool = True, **options: Any) -> Any:
    """Returns what the encoder's tokenizer makes of one text or several. Safe to call from several threads.

    Args:
        encoder: Any encoder.
        texts: A text, or a list of them.
        cut: Whether to cut at the encoder's longest input.
        options: Further arguments of the tokenizer.
    """
    longest = encoder.max_seq_length if cut else None
    with _TOKENIZING:
        return encoder.tokenizer(texts, truncation=cut, max_length=longest, verbose=False, **options)


def word_pieces(encoder: SentenceTransformer, text: str) -> WordPieces:
    """Returns the pieces an encoder reads of a text; see WordPieces."""
    full = tokenize(encoder, text, cut=False)
    cut = tokenize(encoder, text, return_offsets_mapping=True)
    ids = cut["input_ids"]
    return WordPieces(
        pieces=tuple(encoder.tokenizer.convert_ids_to_tokens(ids)),
        ids=tuple(ids),
        offsets=tuple((int(start), int(end)) for start, end in cut["offset_mapping"]),
        truncated=len(full["input_ids"]) - len(ids),
    )


def _batches(
    encoder: SentenceTransformer, texts: list[str], batch_size: int
) -> Iterator[tuple[list[int], dict[str, torch.Tensor]]]:
    """Yields (rows, padded features), the longest texts first so that memory peaks at once and the ETA is not too rosy."""
    encoded = tokenize(encoder, texts)
    ids = [np.asarray(values, dtype=np.int64) for values in encoded["input_ids"]]
    lengths = np.array([len(values) for values in ids])
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        longest = int(lengths[order[start]])
        rows = order[start : start + max(1, min(batch_size, _TOKENS_A_BATCH // longest))]
        mask = np.arange(longest) < lengths[rows][:, None]
        padded = np.full(mask.shape, encoder.tokenizer.pad_token_id, dtype=np.int64)
        padded[mask] = np.concatenate([ids[row] for row in rows])
        # Single sentences: every token is of type 0.
        features = {
            "input_ids": padded,
            "attention_mask": mask.astype(np.int64),
            "token_type_ids": np.zeros_like(padded),
        }
        if "token_type_ids" not in encoded:
            del features["token_type_ids"]
        yield rows.tolist(), {key: torch.from_numpy(value).to(encoder.device) for key, value in features.items()}
        start += len(rows)
