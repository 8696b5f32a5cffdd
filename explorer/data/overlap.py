"""Which test pairs also stand in a training table. Compares texts by their letters and digits; computes no score.

The usual copies of one data set differ in case, spaces and punctuation, so that an exact comparison finds nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Flags = NDArray[np.bool_]
# What is no letter or digit of any alphabet; \w has the underscore besides.
_OTHER = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class Overlap:
    """What a test table shares with training tables; every array is (n_pairs,) bool.

    Args:
        pairs: Both sentences stand in training as one pair, in either order.
        either: At least one of the sentences stands in training, in any pair.
        both: Both sentences do, perhaps in different pairs.
    """

    pairs: Flags
    either: Flags
    both: Flags

    def __or__(self, other: Overlap) -> Overlap:
        """Overlap with the one training table or the other (`both` counts sentences within one table)."""
        return Overlap(self.pairs | other.pairs, self.either | other.either, self.both | other.both)


@dataclass(frozen=True)
class Known:
    """The keys of a training table: of its pairs, and of its sentences (those without a letter or digit left out)."""

    pairs: frozenset[tuple[str, str]]
    sentences: frozenset[str]

    @classmethod
    def of(cls, training: pd.DataFrame) -> Known:
        """Returns the keys of a frame with sentence1 and sentence2."""
        pairs = frozenset(pair_keys(training))
        return cls(pairs, frozenset(key for pair in pairs for key in pair) - {""})


def sentence_key(sentence: str) -> str:
    """Returns a sentence lower-cased with nothing but its letters and digits, of any alphabet; spaces go too."""
    return _OTHER.sub("", sentence.lower())


def pair_keys(pairs: pd.DataFrame) -> list[tuple[str, str]]:
    """Returns each pair's two sentence keys, the lesser one first, for a frame with sentence1 and sentence2."""
    first, second = (map(sentence_key, pairs[column]) for column in ("sentence1", "sentence2"))
    return [(a, b) if a <= b else (b, a) for a, b in zip(first, second, strict=True)]


def find_overlap(test: pd.DataFrame, training: Known) -> Overlap:
    """Returns which pairs of `test`, a frame with sentence1 and sentence2, stand in a training table.

    Sentences without a letter or digit match nothing.
    """
    keys = pair_keys(test)
    return Overlap(
        pairs=_flags(pair in training.pairs and "" not in pair for pair in keys),
        either=_flags(a in training.sentences or b in training.sentences for a, b in keys),
        both=_flags(a in training.sentences and b in training.sentences for a, b in keys),
    )


def _flags(values: Iterable[bool]) -> Flags:
    return np.fromiter(values, dtype=bool)
