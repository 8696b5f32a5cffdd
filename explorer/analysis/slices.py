"""Divides a table of pairs by what its sentences are like: genre, length, shared words, negation, numbers. Pure pandas.

Within a slice gold scores may hardly vary, which lowers every correlation: slices compare encoders, not slices.
"""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Mask = NDArray[np.bool_]

_WORD = re.compile(r"[^\W_]+")
# Some copies are tokenised: "don ' t".
_NEGATION = re.compile(
    r"\b(?:no|not|never|nobody|nothing|none|neither|nor|without|cannot)\b|n\s?['\N{RIGHT SINGLE QUOTATION MARK}]\s?t\b"
)
_NUMBER = re.compile(
    r"\d+(?:[.,]\d+)*|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|hundred|thousand|million|billion)\b"
)
_GENRES = {"main-captions": "captions", "main-news": "news", "main-forums": "forums"}


def slices(pairs: pd.DataFrame) -> dict[str, dict[str, Mask]]:
    """Returns for each way of dividing the names of its slices and which pairs are in them, (n,) bool; empty ones left out.

    Args:
        pairs: Frame with sentence1 and sentence2; with a column genre or file it is also divided by that.
    """
    first, second = (pairs[column].str.lower() for column in ("sentence1", "sentence2"))
    found = {
        "Source": _by_source(pairs),
        "Length": _by_length(first, second),
        "Shared words": _by_shared_words(first, second),
        "Negation": _by_count(first.map(_negated), second.map(_negated)),
        "Numbers": _by_numbers(first.map(_numbers), second.map(_numbers)),
    }
    kept = {way: {name: mask for name, mask in masks.items() if mask.any()} for way, masks in found.items()}
    return {way: masks for way, masks in kept.items() if masks}


def _by_source(pairs: pd.DataFrame) -> dict[str, Mask]:
    for column in ("genre", "file"):
        if column in pairs.columns:
            values = pairs[column].map(lambda name: _GENRES.get(str(name), str(name)))
            return {str(name): (values == name).to_numpy() for name in dict.fromkeys(values)}
    return {}


def _by_length(first: pd.Series, second: pd.Series) -> dict[str, Mask]:
    mean = (first.map(_words).map(len) + second.map(_words).map(len)).to_numpy() / 2
    return {
        "up to 8 words": mean <= 8,
        "over 8, up to 14 words": (mean > 8) & (mean <= 14),
        "over 14 words": mean > 14,
    }


def _by_shared_words(first: pd.Series, second: pd.Series) -> dict[str, Mask]:
    share = np.array([_jaccard(set(_words(a)), set(_words(b))) for a, b in zip(first, second, strict=True)])
    return {
        "under a quarter shared": share < 0.25,
        "a quarter to a half": (share >= 0.25) & (share < 0.5),
        "half or more": share >= 0.5,
    }


def _by_count(first: pd.Series, second: pd.Series) -> dict[str, Mask]:
    count = first.to_numpy(dtype=int) + second.to_numpy(dtype=int)
    return {"in neither sentence": count == 0, "in one of the two": count == 1, "in both": count == 2}


def _by_numbers(first: pd.Series, second: pd.Series) -> dict[str, Mask]:
    some = np.array([bool(a or b) for a, b in zip(first, second, strict=True)])
    same = np.array([a == b for a, b in zip(first, second, strict=True)])
    return {"no number": ~some, "the same numbers": some & same, "different numbers": some & ~same}


def _words(text: str) -> list[str]:
    return _WORD.findall(text)


def _negated(text: str) -> bool:
    return _NEGATION.search(text) is not None


def _numbers(text: str) -> frozenset[str]:
    return frozenset(_NUMBER.findall(text))


def _jaccard(a: set[str], b: set[str]) -> float:
    return len(a & b) / len(a | b) if a | b else 0.0
