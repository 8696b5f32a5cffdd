"""Makes the two reference distributions of an encoder: its cosines over STSb dev pairs and over random pairs."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
from sentence_transformers import SentenceTransformer

from explorer.analysis.similarity import cosine_of_pairs, quantiles_of
from explorer.encoders.encode import Precision, Progress, encode
from explorer.encoders.folder import REFERENCE_FILE, EncoderInfo
from explorer.operations.score import RANDOM, STSB


def reference_table(
    encoder: SentenceTransformer, pairs: pd.DataFrame, *, seed: int = 42, progress: Progress | None = None
) -> pd.DataFrame:
    """Returns quantiles of cosines: a frame with distribution, n, level (0..100) and cosine. Figures only, no text.

    Args:
        encoder: In float32.
        pairs: Frame with sentence1 and sentence2; STSb dev for the shipped encoders.
        seed: Decides the random pairs: each first sentence meets the second sentence of another pair.
        progress: Called with (sentences done, sentences in all).
    """
    n = len(pairs)
    vectors = encode(
        encoder, [*pairs["sentence1"], *pairs["sentence2"]], precision=Precision.FLOAT32, progress=progress
    )
    order = np.random.default_rng(seed).permutation(n)
    partner = np.empty(n, dtype=np.int64)
    partner[order] = np.roll(order, 1)  # one cycle through all pairs: nobody meets their own
    cosines = {
        STSB: cosine_of_pairs(vectors[:n], vectors[n:]),
        RANDOM: cosine_of_pairs(vectors[:n], vectors[n:][partner]),
    }
    parts = []
    for name, values in cosines.items():
        quantiles = quantiles_of(values)
        levels = np.linspace(0, 100, len(quantiles))
        parts.append(pd.DataFrame({"distribution": name, "n": n, "level": levels, "cosine": quantiles.round(6)}))
    return pd.concat(parts, ignore_index=True)


def write_reference(info: EncoderInfo, table: pd.DataFrame) -> Path:
    """Writes a reference table into an encoder's folder, aside and then renamed; returns its path."""
    path = info.folder / REFERENCE_FILE
    replace_text(path, table.to_csv(sep="\t", index=False))
    return path


def replace_text(path: Path, text: str) -> None:
    """Writes a text file aside and renames it, so that nobody reads half of it and a failure leaves the old one."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        aside.write_text(text, encoding="utf-8")
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
