"""An encoder in its two halves: the backbone's last hidden states, and the sentence layer that reads them.

Changes neither half and knows nothing of what is done with the states.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from weakref import WeakKeyDictionary

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling
from torch import Tensor

from explorer.encoders.cnn_pooling import CNNPooling
from explorer.encoders.encode import Precision, resolve_precision, tokenize
from explorer.errors import EncoderError

_TOKENS_A_BATCH = 2048
_TEXTS_A_RUN = 4096


def sentence_layer(encoder: SentenceTransformer) -> CNNPooling | Pooling:
    """Returns the module that turns hidden states into the sentence embedding.

    Raises:
        EncoderError: The encoder is not a transformer followed by one known sentence layer.
    """
    modules = list(encoder)
    if len(modules) != 2 or not isinstance(modules[1], CNNPooling | Pooling):
        kinds = ", ".join(type(module).__name__ for module in modules)
        raise EncoderError(f"This encoder is made of {kinds}; a transformer and one sentence layer are needed.")
    return modules[1]


def cnn_layer(encoder: SentenceTransformer, name: str) -> CNNPooling:
    """Returns the encoder's CNN.

    Args:
        encoder: Any encoder.
        name: What the message calls it.

    Raises:
        EncoderError: Its sentence layer is not the CNN.
    """
    layer = sentence_layer(encoder)
    if not isinstance(layer, CNNPooling):
        raise EncoderError(
            f"{name} has no filters: its sentence layer is not the CNN. Choose an encoder with CNN pooling."
        )
    return layer


def last_hidden_states(encoder: SentenceTransformer, text: str) -> Tensor:
    """Returns (1, T, H) float32, special tokens included and no padding; cut at the encoder's longest input."""
    found: list[Tensor] = []
    run_backbone(encoder, [text], lambda _, states: found.append(states), precision=Precision.FLOAT32)
    return found[0]


class RecentStates:
    """The last hidden states of the texts looked at last, so that a closer look at one of them does not run the backbone
    again. Safe to share between threads.

    Args:
        most: Texts kept for each encoder; of 256 word pieces and H 384 one takes 0.4 MB.
    """

    def __init__(self, most: int = 16) -> None:
        self._most = most
        self._lock = threading.Lock()
        # An encoder that is dropped takes its states with it.
        self._known: WeakKeyDictionary[SentenceTransformer, OrderedDict[str, Tensor]] = WeakKeyDictionary()

    def get(self, encoder: SentenceTransformer, text: str) -> Tensor:
        """Returns `last_hidden_states(encoder, text)`, to be read and not changed; the encoder's weights must stay."""
        with self._lock:
            known = self._known.setdefault(encoder, OrderedDict())
            if text in known:
                known.move_to_end(text)
                return known[text]
        states = last_hidden_states(encoder, text)
        with self._lock:
            known[text] = states
            while len(known) > self._most:
                known.popitem(last=False)
        return states


def run_backbone(
    encoder: SentenceTransformer,
    texts: Sequence[str],
    visit: Callable[[list[int], Tensor], None],
    *,
    precision: Precision | str = Precision.AUTO,
) -> None:
    """Hands out the last hidden states of many texts, those of one length at a time so that nothing is padded.

    Args:
        encoder: A Transformer and a sentence layer, in float32.
        texts: Any number of strings; longer ones are cut at the encoder's longest input.
        visit: Called with B rows of the texts and their states (B, T, H) float, without gradients and, for bfloat16, under
            autocast, so that a sentence layer run by it has the precision it has in `encode`.
        precision: See Precision.
    """
    device = encoder.device.type
    bf16 = resolve_precision(precision, device) is Precision.BFLOAT16
    # One autocast block for all batches: its cast copies of the weights are made once (in inference mode, every time).
    with torch.no_grad(), torch.autocast(device, torch.bfloat16) if bf16 else nullcontext():
        for start in range(0, len(texts), _TEXTS_A_RUN):
            for rows, features in _batches(encoder, texts[start : start + _TEXTS_A_RUN]):
                visit([start + row for row in rows], encoder[0](features)["token_embeddings"])


def _batches(encoder: SentenceTransformer, texts: Sequence[str]) -> Iterator[tuple[list[int], dict[str, Tensor]]]:
    encoded = tokenize(encoder, list(texts))
    lengths = np.array([len(ids) for ids in encoded["input_ids"]])
    for length in np.unique(lengths)[::-1]:
        rows_of_length = np.flatnonzero(lengths == length)
        size = max(1, _TOKENS_A_BATCH // int(length))
        for first in range(0, len(rows_of_length), size):
            rows = rows_of_length[first : first + size].tolist()
            yield (
                rows,
                {
                    key: torch.tensor([values[row] for row in rows], device=encoder.device)
                    for key, values in encoded.items()
                },
            )
