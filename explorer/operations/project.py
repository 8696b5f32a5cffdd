"""Maps of one corpus by several encoders: vectors, maps aligned to the first, neighbours, trust, and where they disagree.

Neighbours come from the full space, never from a map. Vectors and maps are kept on disk.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.analysis.agreement import RankAgreement, align, cka_matrix, procrustes_matrix, rank_agreement
from explorer.analysis.neighbours import (
    Difference,
    Neighbours,
    check_k,
    check_vectors,
    most_different,
    nearest_neighbours,
    overlap_matrix,
)
from explorer.analysis.projection import (
    MapSettings,
    Placement,
    Projection,
    check_settings,
    place_by_neighbours,
    put_back,
)
from explorer.analysis.projection import project as lay_out_here
from explorer.analysis.trust import Trust, trust_map
from explorer.data.texts import check_text
from explorer.encoders.cache import CacheKey, EmbeddingCache, encode_cached
from explorer.encoders.folder import EncoderInfo
from explorer.encoders.registry import Registry
from explorer.errors import DataError, SettingError
from explorer.operations.map_cache import (
    Agreement,
    agreement_path,
    map_path,
    read_agreement,
    read_map,
    write_agreement,
    write_map,
)

if TYPE_CHECKING:
    from explorer.encoders.encode import Precision

# Called with what is being done, how much of it is done, and how much there is; may raise to stop.
Progress = Callable[[str, int, int], None]
# Lays vectors out; the last argument is told how far it is.
LayOut = Callable[[NDArray[np.float32], MapSettings, Callable[[str, int, int], None]], Projection]
MOST_SENTENCES = 2_000
# More would take UMAP minutes, and the page longer to draw.
LARGEST_MAP = 20_000


@dataclass(frozen=True)
class Cleaned:
    """The sentences that go on the maps.

    Args:
        sentences: Distinct, in their order.
        rows: The row of each in what was given, from 0; of equal ones the first.
        given: How many rows there were.
        empty: How many of them held nothing.
        repeated: How many repeated an earlier one.
        note: What was done, one sentence or two.
        name: What a person calls the corpus.
        labels: By column, a label for each sentence; empty where there is none.
    """

    sentences: tuple[str, ...]
    rows: tuple[int, ...]
    given: int
    empty: int
    repeated: int
    note: str
    name: str = "sentences"
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class EncoderMap:
    """One encoder's map.

    Args:
        encoder: Its name.
        vectors: (n, H) float32, the sentence embeddings.
        projection: The map, its points aligned to the first encoder's.
        distance: Procrustes distance to the first encoder's map, 0..1; 0 for the first, None where it is not defined.
        neighbours: The nearest sentences in the full space.
        trust: How far the map can be believed.
        from_cache: Whether the map was read from disk.
        seconds: What the map took, encoding left out.
    """

    encoder: str
    vectors: NDArray[np.float32]
    projection: Projection
    distance: float | None
    neighbours: Neighbours
    trust: Trust
    from_cache: bool
    seconds: float


@dataclass(frozen=True, eq=False)
class Maps:
    """The maps of several encoders over the same sentences.

    Args:
        corpus: The sentences; row i of every map is sentence i.
        settings: What was asked for.
        precision: Arithmetic of the vectors, "float32" or "bfloat16".
        encoders: One map an encoder, in the order asked for.
        overlap: (e, e) float64, mean Jaccard overlap of the k nearest sentences, 0..1.
        cka: (e, e) float64, linear CKA, 0..1.
        procrustes: (e, e) float64, Procrustes distance of the vectors in the full space, 0..1.
        ranks: Spearman correlation of all pair similarities.
        differences: The sentences whose neighbourhoods differ most, first.
        notes: What a person has to know, a sentence each.
    """

    corpus: Cleaned
    settings: MapSettings
    precision: str
    encoders: tuple[EncoderMap, ...]
    overlap: NDArray[np.float64]
    cka: NDArray[np.float64]
    procrustes: NDArray[np.float64]
    ranks: RankAgreement
    differences: tuple[Difference, ...]
    notes: tuple[str, ...]


def clean(sentences: Sequence[object], most: int = MOST_SENTENCES, seed: int = 42) -> Cleaned:
    """Returns the sentences to map: without empty rows and repeats, a random sample where there are too many.

    The sample depends on the sentences and the seed, not on their order.

    Args:
        sentences: Text; None, nan and white space count as empty.
        most: How many go on a map, 1 to 20,000.
        seed: Of the sample.

    Raises:
        DataError: Nothing is left, or a row is not text; the row is named.
        SettingError: `most` is out of range.
    """
    if not 1 <= most <= LARGEST_MAP:
        raise SettingError(f"A map of {most:,} sentences was asked for; use 1 to {LARGEST_MAP:,}.")
    found: dict[str, int] = {}
    empty = 0
    for row, text in enumerate(sentences):
        if (
            text is None
            or (isinstance(text, float) and math.isnan(text))
            or (isinstance(text, str) and not text.strip())
        ):
            empty += 1
        else:
            found.setdefault(check_text(text, f"Row {row + 1:,}"), row)
    if not found:
        raise DataError(f"None of the {len(sentences):,} rows holds a sentence; give at least one.")
    repeated = len(sentences) - empty - len(found)
    note = f"{len(sentences):,} rows: {empty:,} empty, {repeated:,} repeated, {len(found):,} different sentences."
    kept = list(found)
    if len(kept) > most:
        drawn = np.random.default_rng(seed).choice(len(kept), most, replace=False)
        ordered = sorted(kept)
        kept = sorted((ordered[number] for number in drawn), key=found.__getitem__)
        note += f" {most:,} of {len(found):,} are shown, sampled with seed {seed}."
    return Cleaned(tuple(kept), tuple(found[text] for text in kept), len(sentences), empty, repeated, note)


def project(
    registry: Registry,
    sentences: Sequence[object] | Cleaned,
    *,
    encoders: Sequence[str] | None = None,
    settings: MapSettings | None = None,
    k: int = 10,
    most: int = MOST_SENTENCES,
    precision: Precision | str = "auto",
    cache: EmbeddingCache | None = None,
    keep: bool = True,
    lay_out: LayOut | None = None,
    progress: Progress | None = None,
) -> Maps:
    """Returns the maps of all chosen encoders, and how far they agree.

    Args:
        registry: Where the encoders are.
        sentences: See clean; or what clean made of them.
        encoders: Their names; None for all.
        settings: Of the maps; None for PCA. Its seed draws the sample of a corpus that is too large, too.
        k: Neighbours for overlaps and trust; fewer where there are not that many sentences.
        most: See clean.
        precision: Arithmetic of the encoders.
        cache: Where vectors are kept; None for the project's.
        keep: Whether new maps are kept on disk.
        lay_out: Makes a map that is not on disk; None for analysis.projection.project, in this process.
        progress: See Progress: an encoder's name and sentences while it encodes; "map of NAME" and UMAP's rounds while its
            map is made; "trust of NAME" when it is; "maps" and encoders as maps are finished.

    Raises:
        DataError: No sentence, one that cannot be read, or vectors that cannot be laid out; the encoder is named.
        EncoderError: An encoder is unknown or damaged.
        SettingError: A setting out of its range.
    """
    from explorer.encoders.encode import resolve_precision

    chosen = check_settings(settings or MapSettings())
    check_k(k)
    corpus = sentences if isinstance(sentences, Cleaned) else clean(sentences, most, chosen.seed)
    infos, arithmetic = registry.choose(encoders), resolve_precision(precision)
    kept = cache or EmbeddingCache()
    vectors = [_vectors(registry, info, corpus.sentences, arithmetic.value, kept, progress) for info in infos]
    # What is summed over rows is summed in this order, whatever the order given, so that it is the same to the last bit.
    order = np.array(sorted(range(len(corpus.sentences)), key=corpus.sentences.__getitem__), dtype=np.int64)
    maps: list[EncoderMap] = []
    for number, (info, table) in enumerate(zip(infos, vectors, strict=True)):
        if progress:
            progress("maps", number, len(infos))
        found = _map(info, table, order, chosen, k, keep, lay_out or _here, progress)
        maps.append(_aligned(maps[0], found, order) if maps else found)
    if progress:
        progress("maps", len(infos), len(infos))
    nearest, together = [found.neighbours for found in maps], _agreement([table[order] for table in vectors], keep)
    return Maps(
        corpus=corpus,
        settings=chosen,
        precision=arithmetic.value,
        encoders=tuple(maps),
        overlap=overlap_matrix(nearest),
        cka=together.cka,
        procrustes=together.procrustes,
        ranks=together.ranks,
        differences=most_different(nearest, show=len(corpus.sentences)),
        notes=_notes(corpus, maps, k),
    )


def place(registry: Registry, maps: Maps, sentence: object, k: int = 5) -> tuple[Placement, ...]:
    """Returns where a sentence lies on each map, by its nearest sentences in the full space; see Placement.

    Raises:
        DataError: No sentence, or one whose vector is zero or not finite.
        EncoderError: An encoder is gone or damaged.
        SettingError: k is below 1.
    """
    return place_vectors(maps, encode_typed(registry, maps, sentence), k)


def encode_typed(registry: Registry, maps: Maps, sentence: object) -> tuple[NDArray[np.float32], ...]:
    """Returns a sentence's vector for every map, (H,) float32; nothing is kept.

    Raises:
        DataError: No sentence.
        EncoderError: An encoder is gone or damaged.
    """
    from explorer.encoders.encode import encode

    text = check_text(sentence)
    loaded = [registry.load(found.encoder) for found in maps.encoders]
    return tuple(encode(encoder, [text], precision=maps.precision)[0] for encoder in loaded)


def place_vectors(maps: Maps, vectors: Sequence[NDArray[np.float32]], k: int = 5) -> tuple[Placement, ...]:
    """Returns where vectors, one for every map, lie on it; see place."""
    return tuple(
        place_by_neighbours(vector, found.vectors, found.projection.points, k)
        for vector, found in zip(vectors, maps.encoders, strict=True)
    )


def _vectors(
    registry: Registry,
    info: EncoderInfo,
    sentences: Sequence[str],
    precision: str,
    cache: EmbeddingCache,
    progress: Progress | None,
) -> NDArray[np.float32]:
    def report(done: int, total: int) -> None:
        if progress:
            progress(info.name, done, total)

    # Sorted, so that the batches, and with them the last bits of the vectors, do not depend on the order given.
    ordered = sorted(sentences)
    key = CacheKey.of(info, precision)
    vectors = encode_cached(lambda: registry.load(info.name), key, ordered, cache, report)
    place = {text: row for row, text in enumerate(ordered)}
    return vectors[[place[text] for text in sentences]]


def _map(
    info: EncoderInfo,
    vectors: NDArray[np.float32],
    order: NDArray[np.int64],
    settings: MapSettings,
    k: int,
    keep: bool,
    lay_out: LayOut,
    progress: Progress | None,
) -> EncoderMap:
    def report(what: str, done: int, total: int) -> None:
        if progress:
            progress(f"{what} of {info.name}", done, total)

    start = time.perf_counter()
    ordered = vectors[order]
    path = map_path(ordered, settings)
    kept = read_map(path, settings, len(vectors))
    try:
        check_vectors(vectors)  # here, so that a bad row is named as it was given
        made = kept or lay_out(ordered, settings, report)
        if keep and not kept:
            write_map(path, made)
        projection = put_back(made, order)

        def look() -> None:
            report("trust", 0, 0)

        # Under half of the others: among nearly all of them no two encoders could differ.
        neighbours = nearest_neighbours(vectors, min(k, max(1, (len(vectors) - 1) // 2)), look)
        trust = trust_map(vectors, projection.points, k, neighbours, look)
    except DataError as error:
        raise DataError(f"{info.name}: {error}") from error
    seconds = time.perf_counter() - start
    return EncoderMap(info.name, vectors, projection, 0.0, neighbours, trust, kept is not None, seconds)


def _agreement(vectors: Sequence[NDArray[np.float32]], keep: bool) -> Agreement:
    path = agreement_path(vectors)
    found = read_agreement(path, len(vectors))
    if found is None:
        found = Agreement(cka_matrix(vectors), procrustes_matrix(vectors), rank_agreement(vectors))
        if keep:
            write_agreement(path, found)
    return found


def _here(vectors: NDArray[np.float32], settings: MapSettings, report: Progress) -> Projection:
    return lay_out_here(vectors, settings, lambda done, total: report("map", done, total))


def _aligned(first: EncoderMap, moved: EncoderMap, order: NDArray[np.int64]) -> EncoderMap:
    """Returns the second map turned onto the first by the sentences that both show; as it is where those are under two.

    The sums are made in the order of the rows given, (n,) int64.
    """
    points = moved.projection.points
    both = np.isfinite(first.projection.points).all(axis=1) & np.isfinite(points).all(axis=1)
    if both.sum() < 2:
        if len(points) == 1:
            return replace(moved, distance=None)
        note = f"Its map is not aligned to that of {first.encoder}, with which it shares too few points."
        notes = (*moved.projection.notes, note)
        return replace(moved, projection=replace(moved.projection, notes=notes), distance=None)
    aligned, turned = align(first.projection.points[order], points[order]), np.empty_like(points)
    turned[order] = aligned.points
    distance = None if math.isnan(aligned.distance) else aligned.distance
    return replace(moved, projection=replace(moved.projection, points=turned), distance=distance)


def _notes(corpus: Cleaned, maps: Sequence[EncoderMap], k: int) -> tuple[str, ...]:
    notes = [corpus.note]
    told: dict[str, list[str]] = {}
    for found in maps:
        for note in found.projection.notes:
            told.setdefault(note, []).append(found.encoder)
    notes += [f"{', '.join(names)}: {note}" if len(names) < len(maps) else note for note, names in told.items()]
    fewest = min(found.neighbours.k for found in maps)
    believed = min(found.trust.k for found in maps)
    if not fewest:
        notes.append("There is only one sentence with a direction, so there are no neighbours and nothing to compare.")
    elif fewest < k:
        others = len(corpus.sentences) - 1
        notes.append(
            f"Each sentence has only {others} other{'s' if others > 1 else ''}, so the {fewest} nearest instead of {k} are "
            "compared: of most of them every encoder would name the same."
        )
    if fewest and not believed:
        notes.append("Trust in a map can only be measured with at least three sentences.")
    elif believed < min(fewest, k):
        notes.append(
            f"Trust is measured over {believed} neighbour{'s' if believed > 1 else ''}, under half of the sentences."
        )
    return tuple(notes)
