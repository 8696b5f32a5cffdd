"""Everything the linked maps show, as one plain object for json: the page and the file that stands alone are drawn from it.

Numbers travel packed, as base64 of their bytes. Computes only groups and suggestions; all else is in Maps.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.analysis.clusters import cluster, name_clusters
from explorer.analysis.neighbours import unit_rows
from explorer.analysis.places import places_to_look, sentence_overlap
from explorer.analysis.projection import Method, Placement
from explorer.analysis.trust import worst
from explorer.data.corpora import MOST_LABELS
from explorer.operations.map_words import words
from explorer.operations.project import EncoderMap, Maps

Object = dict[str, Any]
_NONE = 255
_LONGEST_SHOWN = 600
_DIFFERENCES = 25
# The file carries the vectors, rounded to bytes, up to so many numbers.
_MOST_CARRIED = 4_000_000


def payload(maps: Maps, looks: Mapping[str, str], palette: Object, *, vectors: bool = False) -> Object:
    """Returns what the linked maps show.

    Args:
        maps: The maps.
        looks: Of each encoder the style class of its colour.
        palette: See figures.map.palette.
        vectors: Whether the vectors go along, rounded to a byte each, so that cosines need no server; left out where they are
            too many.
    """
    sentences = maps.corpus.sentences
    overlap = sentence_overlap([found.neighbours for found in maps.encoders])
    carried = vectors and sum(found.vectors.size for found in maps.encoders) <= _MOST_CARRIED
    return {
        "kind": "maps",
        "key": key_of(maps),
        "title": maps.corpus.name,
        "method": maps.settings.method.value,
        "k": max(found.neighbours.k for found in maps.encoders),
        "notes": list(maps.notes),
        "sentences": [_shown(text) for text in sentences],
        "rows": list(maps.corpus.rows),
        "lengths": [len(text.split()) for text in sentences],
        "overlap": pack(overlap),
        "encoders": [_encoder(maps, number, looks, carried) for number in range(len(maps.encoders))],
        "colours": _colours(maps, overlap),
        "palette": palette,
        "matrices": _matrices(maps),
        "differences": _differences(maps),
        "places": _places(maps),
        "words": words(maps.settings.method),
    }


def key_of(maps: Maps) -> str:
    """Returns a name of these maps that depends on everything they show."""
    digest = hashlib.sha256(repr((maps.settings, maps.precision, maps.corpus)).encode())
    for found in maps.encoders:
        digest.update(repr((found.encoder, found.neighbours.k)).encode() + found.projection.points.tobytes())
    return digest.hexdigest()[:16]


def typed_answer(maps: Maps, text: str, placed: Sequence[Placement], cosines: Sequence[NDArray[np.float64]]) -> Object:
    """Returns where a typed sentence goes: its place and neighbours on every map, and its cosine to every sentence."""
    places = [{"x": p.x, "y": p.y, "rows": pack(p.rows), "cosines": pack(p.cosines), "note": p.note} for p in placed]
    return {
        "kind": "typed",
        "key": key_of(maps),
        "text": text,
        "places": places,
        "values": [pack(table) for table in cosines],
    }


def cosine_answer(maps: Maps, row: int) -> Object:
    """Returns a sentence's cosine to every sentence, for every encoder; nan where there is none."""
    values = [pack(cosines_to(found.vectors[row], found.vectors)) for found in maps.encoders]
    return {"kind": "cosines", "key": key_of(maps), "row": row, "values": values}


def cosines_to(vector: NDArray[np.float32], vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Returns the cosine of one (H,) vector to each of (n, H), (n,) float64; nan where a vector is zero."""
    units, sound = unit_rows(vectors.astype(np.float64))
    (unit,), (directed,) = unit_rows(vector.astype(np.float64)[None])
    return np.where(sound & directed, units @ unit, np.nan)


def pack(values: Any) -> dict[str, str]:
    """Returns an array as the base64 of its little-endian bytes, under the name of its kind."""
    array = np.ascontiguousarray(values)
    kind = {"f": "f32", "i": "i32", "u": "u8"}[array.dtype.kind] if array.dtype != np.int8 else "i8"
    typed = array.astype({"f32": "<f4", "i32": "<i4", "u8": "u1", "i8": "i1"}[kind])
    return {kind: base64.b64encode(typed.tobytes()).decode()}


def _encoder(maps: Maps, number: int, looks: Mapping[str, str], carried: bool) -> Object:
    found = maps.encoders[number]
    made: Object = {
        "name": found.encoder,
        "css": looks.get(found.encoder, ""),
        "points": pack(found.projection.points.ravel()),
        "k": found.neighbours.k,
        "neighbours": pack(found.neighbours.rows.ravel()),
        "cosines": pack(found.neighbours.cosines.ravel()),
        "ringed": pack(worst(found.trust)),
        "suspects": int(found.trust.suspect.sum()),
        "trustworthiness": known(found.trust.trustworthiness),
        "kept": known(found.trust.kept),
        "distance": found.distance,
        "cached": found.from_cache,
        "seconds": round(found.seconds, 2),
        "facts": _facts(maps, number),
    }
    if carried:
        made["vectors"] = pack(_bytes(found))
    return made


def _shown(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}\N{HORIZONTAL ELLIPSIS}"


def _facts(maps: Maps, number: int) -> list[str]:
    """Returns what stands under a map's name."""
    found, facts = maps.encoders[number], []
    if found.projection.method is Method.PCA and found.projection.explained:
        facts.append(f"PCA, axes show {100 * sum(found.projection.explained):.0f} % of the variance")
    else:
        facts.append(f"UMAP, seed {maps.settings.seed}")
    if math.isfinite(found.trust.trustworthiness):
        facts.append(f"trustworthiness {found.trust.trustworthiness:.2f}")
        facts.append(f"{100 * found.trust.kept:.0f} % of neighbours kept")
    if number:
        first = maps.encoders[0].encoder
        same = "not comparable" if found.distance is None else f"{found.distance:.2f}"
        facts.append(f"Procrustes distance of the maps, to {first}, {same}")
    elif len(maps.encoders) > 1:
        facts.append("the others are aligned to it")
    return facts


def _bytes(found: EncoderMap) -> NDArray[np.int8]:
    units, _ = unit_rows(found.vectors.astype(np.float64))
    largest = np.abs(units).max(axis=1, keepdims=True)
    return np.rint(127 * units / np.where(largest > 0, largest, 1)).astype(np.int8).ravel()


def _colours(maps: Maps, overlap: NDArray[np.float64]) -> list[Object]:
    made = [_label(title, values) for title, values in maps.corpus.labels.items()]
    colours = [colour for colour in made if colour is not None]
    for found in maps.encoders:
        groups = cluster(found.vectors)
        names = [f"{n + 1}: {name}" for n, name in enumerate(name_clusters(groups, maps.corpus.sentences))]
        codes = np.where(groups.of_rows < 0, _NONE, groups.of_rows).astype(np.uint8)
        colours.append(_category(f"cluster-{found.encoder}", f"Cluster in {found.encoder}", names, codes))
    lengths = np.array([len(text.split()) for text in maps.corpus.sentences], dtype=np.float64)
    colours.append(_number("length", "Length in words", "words", [lengths], 0, decimals=0))
    if len(maps.encoders) > 1:
        colours.append(_number("overlap", "Overlap of neighbours", "mean over pairs of encoders", [overlap], 0.0, 1.0))
    kept = [found.trust.kept_of_points for found in maps.encoders]
    colours.append(_number("kept", "Neighbours kept by the map", "share", kept, 0.0, 1.0))
    return colours


def _label(title: str, values: Sequence[str]) -> Object | None:
    """Returns a column of labels as a colour, the most frequent first; None where it has too few or too many."""
    counts: dict[str, int] = {}
    for value in values:
        if value:
            counts[value] = counts.get(value, 0) + 1
    if not 1 <= len(counts) <= MOST_LABELS:
        return None
    names = sorted(counts, key=lambda name: (-counts[name], name))
    place = {name: code for code, name in enumerate(names)}
    codes = np.array([place.get(value, _NONE) for value in values], dtype=np.uint8)
    return _category(f"label-{title}", title.capitalize(), names, codes) | {"label": True}


def _category(identifier: str, title: str, names: Sequence[str], codes: NDArray[np.uint8]) -> Object:
    return {"id": identifier, "title": title, "kind": "category", "names": list(names), "codes": pack(codes)}


def _number(
    identifier: str,
    title: str,
    unit: str,
    values: Sequence[NDArray[np.float64]],
    low: float | None = None,
    high: float | None = None,
    decimals: int = 2,
) -> Object:
    finite = np.concatenate([table[np.isfinite(table)] for table in values])
    lowest, highest = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    return {
        "id": identifier,
        "title": title,
        "kind": "number",
        "unit": unit,
        "values": [pack(table) for table in values],
        "low": lowest if low is None else low,
        "high": max(highest if high is None else high, (low or 0) + 1e-6),
        "decimals": decimals,
    }


def _matrices(maps: Maps) -> list[Object]:
    k = min(found.neighbours.k for found in maps.encoders)
    pairs = f"{maps.ranks.pairs:,}" + (f" of {maps.ranks.of_pairs:,}" if maps.ranks.pairs < maps.ranks.of_pairs else "")
    made = (
        (
            f"Overlap of the {k} nearest",
            "Shared neighbours among those of either (Jaccard), mean over all sentences; 1 is the same.",
            maps.overlap,
            (0, 1),
        ),
        (
            "Linear CKA",
            "How alike the two tables of vectors are as wholes; 1 is the same up to turning.",
            maps.cka,
            (0, 1),
        ),
        (
            "Rank correlation",
            f"Spearman, of the cosines of {pairs} pairs of sentences; 1 is the same order.",
            maps.ranks.matrix,
            (0, 1),
        ),
        (
            "Procrustes distance of the vectors",
            "What is left after turning one table of vectors onto the other; here 0 is the same.",
            maps.procrustes,
            (0, 1),
        ),
    )
    return [
        {
            "title": title,
            "says": says,
            "values": [[known(value) for value in row] for row in matrix],
            "low": low,
            "high": high,
            "decimals": 3,
        }
        for title, says, matrix, (low, high) in made
    ]


def _differences(maps: Maps) -> list[Object]:
    names = [found.encoder for found in maps.encoders]
    return [
        {
            "row": found.row,
            "overlap": found.overlap,
            "pair": " and ".join(names[place] for place in found.pair),
            "pair_overlap": found.pair_overlap,
        }
        for found in maps.differences[:_DIFFERENCES]
    ]


def _places(maps: Maps) -> list[Object]:
    found = places_to_look(
        [one.encoder for one in maps.encoders],
        [one.vectors for one in maps.encoders],
        [one.neighbours for one in maps.encoders],
        [one.trust for one in maps.encoders],
        maps.differences,
        maps.corpus.labels,
    )
    return [{"title": place.title, "why": place.why, "rows": list(place.rows)} for place in found]


def known(value: float) -> float | None:
    """Returns a number, None for one that is not finite."""
    return float(value) if math.isfinite(value) else None
