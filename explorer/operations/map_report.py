"""Maps as rows for json, csv and the terminal. Computes nothing; what is not defined is None, never nan."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from explorer.analysis.projection import Placement
from explorer.operations.project import EncoderMap, Maps

Row = dict[str, Any]


def map_objects(maps: Maps) -> list[Row]:
    """Returns one object an encoder: its map's facts, its agreement with the others, and every sentence's point.

    `row` counts the rows given from 0; `neighbours` are such rows, nearest first.
    """
    return [
        summary_row(maps, number)
        | {
            "settings": {
                "method": maps.settings.method.value,
                "metric": maps.settings.metric.value,
                "n_neighbors": maps.settings.neighbours,
                "min_dist": maps.settings.min_dist,
                "seed": maps.settings.seed,
            },
            "explained": found.projection.explained,
            "agreement": _agreement(maps, number),
            "points": [_point(maps, found, row) for row in range(len(maps.corpus.sentences))],
        }
        for number, found in enumerate(maps.encoders)
    ]


def summary_row(maps: Maps, number: int) -> Row:
    """Returns one encoder's map in a line."""
    found = maps.encoders[number]
    return {
        "encoder": found.encoder,
        "method": found.projection.method.value,
        "sentences": len(maps.corpus.sentences),
        "trustworthiness": _known(found.trust.trustworthiness),
        "neighbours_kept": _known(found.trust.kept),
        "suspect_points": int(found.trust.suspect.sum()),
        "procrustes_distance": found.distance,
        "precision": maps.precision,
        "from_cache": found.from_cache,
        "seconds": found.seconds,
    }


def agreement_rows(maps: Maps) -> list[Row]:
    """Returns one row a pair of encoders: overlap of neighbours, CKA, rank correlation, Procrustes distance of the vectors."""
    names = [found.encoder for found in maps.encoders]
    return [
        {"encoder": name, "other": other} | _agreement(maps, i)[other]
        for i, name in enumerate(names)
        for other in names[i + 1 :]
    ]


def difference_rows(maps: Maps, show: int = 10) -> list[Row]:
    """Returns the sentences whose neighbourhoods differ most, first, each with the pair of encoders farthest apart."""
    names = [found.encoder for found in maps.encoders]
    return [
        {
            "overlap": found.overlap,
            "farthest_apart": f"{names[found.pair[0]]} and {names[found.pair[1]]}",
            "their_overlap": found.pair_overlap,
            "sentence": maps.corpus.sentences[found.row],
        }
        for found in maps.differences[:show]
    ]


def point_rows(maps: Maps) -> list[Row]:
    """Returns one row an encoder and sentence, for csv; neighbours are row numbers joined by spaces.

    Text that a spreadsheet would take for a formula begins with an apostrophe; see plain_cell.
    """
    rows = []
    for found in maps.encoders:
        for row in range(len(maps.corpus.sentences)):
            point = _point(maps, found, row)
            point["neighbours"] = " ".join(map(str, point["neighbours"]))
            del point["cosines"]
            point["sentence"] = plain_cell(point["sentence"])
            labels = {name: plain_cell(values[row]) for name, values in maps.corpus.labels.items()}
            rows.append({"encoder": found.encoder} | point | {f"label_{name}": value for name, value in labels.items()})
    return rows


def plain_cell(text: str) -> str:
    """Returns text that no spreadsheet runs as a formula: an apostrophe goes before = + - @ and control characters."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r", "|") else text


def placement_rows(maps: Maps, placed: Sequence[Placement]) -> list[Row]:
    """Returns one row an encoder for a typed sentence: its place, and its neighbours as sentences."""
    return [
        {
            "encoder": found.encoder,
            "x": place.x,
            "y": place.y,
            "approximate": True,
            "note": place.note,
            "neighbours": [
                {"row": maps.corpus.rows[row], "sentence": maps.corpus.sentences[row], "cosine": float(cosine)}
                for row, cosine in zip(place.rows, place.cosines, strict=True)
            ],
        }
        for found, place in zip(maps.encoders, placed, strict=True)
    ]


def _agreement(maps: Maps, number: int) -> dict[str, Row]:
    return {
        other.encoder: {
            "overlap": _known(maps.overlap[number, place]),
            "cka": _known(maps.cka[number, place]),
            "similarity_spearman": _known(maps.ranks.matrix[number, place]),
            "procrustes": _known(maps.procrustes[number, place]),
        }
        for place, other in enumerate(maps.encoders)
        if place != number
    }


def _point(maps: Maps, found: EncoderMap, row: int) -> Row:
    x, y = found.projection.points[row]
    nearest = found.neighbours.rows[row]
    return {
        "row": maps.corpus.rows[row],
        "sentence": maps.corpus.sentences[row],
        "x": _known(x),
        "y": _known(y),
        "trustworthiness": _known(found.trust.trust_of_points[row]),
        "neighbours_kept": _known(found.trust.kept_of_points[row]),
        "suspect": bool(found.trust.suspect[row]),
        "neighbours": [maps.corpus.rows[other] for other in nearest if other >= 0],
        "cosines": [float(cosine) for cosine in found.neighbours.cosines[row] if math.isfinite(cosine)],
    }


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
