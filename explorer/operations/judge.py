"""What one encoder says of pairs: a cosine, a cross-encoder's number, or an NLI label. Correlates nothing.

Every text is encoded once however many tables it stands in; with everything in the cache no encoder is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from explorer.analysis.accuracy import predict
from explorer.analysis.similarity import cosine_of_pairs
from explorer.encoders.cache import CacheKey, EmbeddingCache, compute_cached, encode_cached
from explorer.encoders.folder import CROSS_ENCODER, EncoderInfo
from explorer.encoders.nli_head import NliHead, read_head
from explorer.encoders.registry import Registry

if TYPE_CHECKING:
    from explorer.encoders.encode import Precision, Progress

Floats = NDArray[np.float64]
NO_HEAD = "no NLI head"
# Stands in no text: texts with a NUL are refused when they are read.
_BETWEEN = "\0"


@dataclass(frozen=True)
class Judgement:
    """One encoder on one table of pairs.

    Args:
        cosines: (n_pairs,) float64; of a cross-encoder its own numbers.
        labels: (n_pairs,) str, the likeliest label of each pair; empty where there is no NLI head or it was not asked.
        remark: What to know of the labels, or why there are none; empty for nothing.
    """

    cosines: Floats
    labels: NDArray[np.str_] = field(default_factory=lambda: np.zeros(0, dtype=str))
    remark: str = ""


@dataclass(frozen=True)
class Question:
    """A table of pairs and what is asked of an encoder.

    Args:
        pairs: Frame with sentence1 and sentence2.
        labels: Whether NLI labels are asked for, not cosines.
    """

    pairs: pd.DataFrame
    labels: bool = False


def judge(
    registry: Registry,
    info: EncoderInfo,
    questions: Sequence[Question],
    precision: Precision,
    cache: EmbeddingCache | None,
    progress: Progress | None = None,
) -> list[Judgement]:
    """Returns what one encoder says of each table; tables it can say nothing of cost nothing.

    Args:
        registry: Where its weights are.
        info: The encoder.
        questions: The tables.
        precision: Resolved, not auto.
        cache: Of embeddings; None encodes everything anew.
        progress: Called with (distinct sentences or, for a cross-encoder, pairs done, in all); may raise to stop.

    Raises:
        EncoderError: Its weights or its NLI head are damaged.
    """
    cross = info.kind == CROSS_ENCODER
    head = None if cross or not any(q.labels for q in questions) else read_head(info)
    asked = [q for q in questions if head is not None or not q.labels]
    if cross:
        answers = [Judgement(found) for found in _of_pairs(registry, info, asked, precision, cache, progress)]
    else:
        vectors = _of_texts(registry, info, asked, precision, cache, progress)
        answers = [_answer(q, head, *both) for q, both in zip(asked, vectors, strict=True)]
    given = iter(answers)
    silent = Judgement(np.zeros(0), remark=NO_HEAD)
    return [next(given) if head is not None or not q.labels else silent for q in questions]


def cosines_of_tables(
    registry: Registry,
    info: EncoderInfo,
    tables: Sequence[pd.DataFrame],
    precision: Precision,
    cache: EmbeddingCache | None,
    progress: Progress | None = None,
) -> list[Floats]:
    """Returns one encoder's (n_pairs,) cosines for each frame with sentence1 and sentence2; see `judge`."""
    questions = [Question(pairs) for pairs in tables]
    return [found.cosines for found in judge(registry, info, questions, precision, cache, progress)]


def _answer(question: Question, head: NliHead | None, first: NDArray, second: NDArray) -> Judgement:
    if head is None or not question.labels:
        return Judgement(cosine_of_pairs(first, second))
    numbers = predict(first, second, head.weight, head.bias)
    return Judgement(np.zeros(0), np.array(head.labels, dtype=str)[numbers], head.remark)


def _of_texts(
    registry: Registry,
    info: EncoderInfo,
    questions: Sequence[Question],
    precision: Precision,
    cache: EmbeddingCache | None,
    progress: Progress | None,
) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Returns for each table the (n_pairs, H) embeddings of its first and of its second sentences."""
    from explorer.encoders.encode import encode

    texts = [text for q in questions for column in ("sentence1", "sentence2") for text in q.pairs[column]]
    if not texts:
        return []
    if cache is None:
        vectors = encode(registry.load(info.name), texts, precision=precision, progress=progress)
    else:
        key = CacheKey.of(info, precision.value)
        vectors = encode_cached(lambda: registry.load(info.name), key, texts, cache, progress)
    found, start = [], 0
    for question in questions:
        n = len(question.pairs)
        found.append((vectors[start : start + n], vectors[start + n : start + 2 * n]))
        start += 2 * n
    return found


def _of_pairs(
    registry: Registry,
    info: EncoderInfo,
    questions: Sequence[Question],
    precision: Precision,
    cache: EmbeddingCache | None,
    progress: Progress | None,
) -> list[Floats]:
    """Returns a cross-encoder's (n_pairs,) numbers for each table."""
    from explorer.encoders.cross_encoder import load_cross_encoder, predict_pairs
    from explorer.encoders.encode import Precision

    def work(wanted: list[str], report: Progress | None) -> NDArray[np.float32]:
        pairs = [(first, second) for first, _, second in (text.partition(_BETWEEN) for text in wanted)]
        model = load_cross_encoder(info.folder)
        return predict_pairs(model, pairs, bf16=precision is Precision.BFLOAT16, progress=report)[:, None]

    texts = [
        _BETWEEN.join(pair) for q in questions for pair in zip(q.pairs["sentence1"], q.pairs["sentence2"], strict=True)
    ]
    if not texts:
        return []
    key = CacheKey(info.weights_hash, CROSS_ENCODER, info.max_length, 1, precision.value)
    found = compute_cached(work, key, texts, cache or EmbeddingCache(read_only=True), progress)[:, 0].astype(np.float64)
    return np.split(found, np.cumsum([len(q.pairs) for q in questions])[:-1])
