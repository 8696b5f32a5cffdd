"""Checks that an encoder ignores padding: a sentence alone and beside a long one must give the same vector."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer.analysis.similarity import cosine_of_pairs
from explorer.encoders.encode import Precision, encode
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
    encoder = registry.load(name)
    alone = np.concatenate([encode(encoder, [text], precision=Precision.FLOAT32) for text in SENTENCES])
    # Few enough to go through the encoder as one batch, padded to the long text.
    together = encode(encoder, [*SENTENCES, _LONG], precision=Precision.FLOAT32)[:-1]
    cosine = float(cosine_of_pairs(alone, together).min())
    return PaddingCheck(name, cosine, float(np.abs(alone - together).max()), len(SENTENCES))
