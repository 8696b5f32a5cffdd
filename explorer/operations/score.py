"""Scores a pair of sentences with several encoders: what the page, the command line and the API endpoint all call."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from explorer.analysis.similarity import cosine_of_pairs, percentile, reading
from explorer.data.texts import check_text
from explorer.encoders.encode import Precision, WordPieces, encode, word_pieces
from explorer.encoders.folder import REFERENCE_FILE, EncoderInfo
from explorer.encoders.registry import Registry
from explorer.errors import EncoderError

STSB, RANDOM = "stsb_dev", "random"


@dataclass(frozen=True)
class Reference:
    """One encoder's cosines over known pairs.

    Args:
        n: Number of pairs.
        quantiles: Ascending, evenly spaced quantiles of their cosines.
    """

    n: int
    quantiles: tuple[float, ...]


@dataclass(frozen=True)
class PairScore:
    """What one encoder says of a pair.

    Args:
        encoder: Its name.
        cosine: In [-1, 1], float32 arithmetic.
        percentile_stsb: Among the STSb dev pairs, 0..100; None without a reference.
        percentile_random: Among random pairs of STSb dev sentences, 0..100; None without a reference.
        n_stsb: Number of pairs behind percentile_stsb.
        n_random: Number of pairs behind percentile_random.
        pieces1: The first sentence as the encoder reads it.
        pieces2: The second sentence.
        reading: One plain sentence on the score.
        notes: What else a person must know, such as what was cut off.
    """

    encoder: str
    cosine: float
    percentile_stsb: float | None
    percentile_random: float | None
    n_stsb: int
    n_random: int
    pieces1: WordPieces
    pieces2: WordPieces
    reading: str
    notes: tuple[str, ...]


def score_pair(
    registry: Registry, sentence1: object, sentence2: object, encoders: Sequence[str] | None = None
) -> list[PairScore]:
    """Returns one PairScore an encoder, in registry order or in the order of the names.

    Args:
        registry: Where the encoders are.
        sentence1: What a person typed; checked here.
        sentence2: Likewise.
        encoders: Names; None for all that can be loaded (one that cannot is then left to `registry.scan`).

    Raises:
        DataError: A sentence is empty or cannot be read.
        EncoderError: A named encoder is unknown or damaged, or none can be used.
    """
    first, second = check_text(sentence1, "Sentence 1"), check_text(sentence2, "Sentence 2")
    scores = []
    for info in registry.choose(encoders):
        try:
            scores.append(_score(registry, info, first, second))
        except EncoderError:
            if encoders is not None:
                raise
    if not scores:
        raise EncoderError("None of the encoders can be loaded; see the list of problems.")
    return scores


def read_references(info: EncoderInfo) -> dict[str, Reference]:
    """Returns the encoder's reference distributions by name (STSB, RANDOM); empty where its folder has none.

    Raises:
        EncoderError: The table is damaged.
    """
    path = info.folder / REFERENCE_FILE
    if not path.is_file():
        return {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        names = dict.fromkeys(row["distribution"] for row in rows)
        return {
            name: Reference(
                n=int(next(row["n"] for row in rows if row["distribution"] == name)),
                quantiles=tuple(float(row["cosine"]) for row in rows if row["distribution"] == name),
            )
            for name in names
        }
    except (KeyError, ValueError, TypeError, OSError) as error:
        raise EncoderError(f"{info.name}/{REFERENCE_FILE} is damaged ({error}); copy it again.") from error


def own_pieces(read: WordPieces) -> int:
    """Returns how many pieces an encoder reads of the text itself, without [CLS], [SEP] and the like."""
    return sum(end > start for start, end in read.offsets)


def _score(registry: Registry, info: EncoderInfo, first: str, second: str) -> PairScore:
    encoder = registry.load(info.name)
    vectors = encode(encoder, [first, second], precision=Precision.FLOAT32)
    cosine = float(cosine_of_pairs(vectors[:1], vectors[1:])[0])
    if not isfinite(cosine):
        raise EncoderError(f"{info.name} gives a vector without a direction for this pair, so there is no cosine.")
    references = read_references(info)
    ranks = {name: percentile(cosine, reference.quantiles) for name, reference in references.items()}
    pieces = word_pieces(encoder, first), word_pieces(encoder, second)
    notes = tuple(
        f"Sentence {number} is longer than this encoder reads: its first {own_pieces(part):,} word pieces count, "
        f"the last {part.truncated:,} are left out."
        for number, part in enumerate(pieces, start=1)
        if part.truncated
    )
    return PairScore(
        encoder=info.name,
        cosine=cosine,
        percentile_stsb=ranks.get(STSB),
        percentile_random=ranks.get(RANDOM),
        n_stsb=references[STSB].n if STSB in references else 0,
        n_random=references[RANDOM].n if RANDOM in references else 0,
        pieces1=pieces[0],
        pieces2=pieces[1],
        reading=reading(ranks.get(STSB), ranks.get(RANDOM)),
        notes=notes,
    )
