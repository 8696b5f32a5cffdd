"""Checks that an encoder ignores padding: a sentence alone and beside a long one must give the same vector."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

import numpy as np

from explorer.analysis.similarity import cosine_of_pairs
from explorer.encoders.folder import EncoderInfo
from explorer.encoders.registry import Registry

# Below this the difference is more than rounding.
LEAST_COSINE = 0.99999
SENTENCES = (
    "Rain.",
    "The bakery opens at seven.",
    "A boy waves from the bridge while his sister counts the boats.",
)
_LONG = " ".join(["The old ferry crosses the wide river again"] * 14)


@dataclass(frozen=True)
class PaddingCheck:
    """One encoder's result.

    Args:
        encoder: Its name.
        cosine: The smallest cosine between a sentence's vector alone and beside a long text, in float32.
        shift: The largest change of one of a vector's numbers.
        n: Number of sentences tried.
    """

    encoder: str
    cosine: float
    shift: float
    n: int

    @property
    def passed(self) -> bool:
        """Whether padding changes nothing but rounding."""
        return self.cosine >= LEAST_COSINE


def check_padding(registry: Registry, name: str) -> PaddingCheck:
    """Returns how much padding changes an encoder's vectors.

    Raises:
        EncoderError: The encoder is unknown or damaged.
    """
    from explorer.encoders.encode import Precision, encode

    encoder = registry.load(name)
    alone = np.concatenate([encode(encoder, [text], precision=Precision.FLOAT32) for text in SENTENCES])
    # Few enough to go through the encoder as one batch, padded to the long text.
    together = encode(encoder, [*SENTENCES, _LONG], precision=Precision.FLOAT32)[:-1]
    cosine = float(cosine_of_pairs(alone, together).min())
    return PaddingCheck(name, cosine, float(np.abs(alone - together).max()), len(SENTENCES))


class PaddingChecks:
    """The checks of all encoders, each done once for the same weights. Safe to share between threads.

    Args:
        registry: Where the encoders are.
    """

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self._known: dict[str, PaddingCheck] = {}
        self._lock = threading.Lock()

    def known(self, info: EncoderInfo) -> PaddingCheck | None:
        """Returns an encoder's check if it has been done; encodes nothing."""
        found = self._known.get(info.weights_hash)
        return None if found is None else replace(found, encoder=info.name)

    def check(self, info: EncoderInfo) -> PaddingCheck:
        """Returns an encoder's check, doing it if need be, one at a time.

        Raises:
            EncoderError: The encoder is damaged.
        """
        with self._lock:
            found = self.known(info)
            if found is None:
                found = self._known[info.weights_hash] = check_padding(self.registry, info.name)
            return found
