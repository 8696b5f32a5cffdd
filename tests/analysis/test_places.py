"""Places to look: worked out by hand on a few vectors, silent where there is nothing to see."""

from __future__ import annotations

import numpy as np

from explorer.analysis.neighbours import most_different, nearest_neighbours
from explorer.analysis.places import Place, places_to_look, sentence_overlap
from explorer.analysis.trust import trust_map

RANDOM = np.random.default_rng(5)
ONE = RANDOM.standard_normal((30, 6))
OTHER = ONE.copy()
OTHER[7] = -ONE[7]


def look(labels: dict[str, list[str]] | None = None, *tables: np.ndarray) -> dict[str, Place]:
    tables = tables or (ONE, OTHER)
    near = [nearest_neighbours(table, 4) for table in tables]
    trust = [trust_map(table, table[:, :2], 4) for table in tables]
    names = ["one", "other"][: len(tables)]
    found = places_to_look(names, tables, near, trust, most_different(near, show=30), labels)
    return {place.title: place for place in found}


def test_places_find_the_sentence_that_one_encoder_turned_round() -> None:
    found = look()
    assert found["The most disputed sentence"].rows == (7,)
    assert "overlap 0.00" in found["The most disputed sentence"].why
    assert 7 in found["A pair seen in opposite ways"].rows


def test_places_name_the_contrast_that_is_closest() -> None:
    vectors = ONE.copy()
    vectors[4] = vectors[3] * 2
    labels = {
        "group": [f"g{n // 3}" for n in range(30)],
        "contrast": ["" if n % 3 == 0 else "negation" for n in range(30)],
    }
    found = look(labels, vectors)["A contrast that is hardly seen"]
    assert found.rows == (4, 3) and "negation" in found.why and "1.000" in found.why


def test_places_are_silent_where_there_is_nothing_to_compare() -> None:
    assert "The most disputed sentence" not in look(None, ONE)
    single = nearest_neighbours([[1.0, 2.0]], 3)
    assert places_to_look(["one"], [[[1.0, 2.0]]], [single], [trust_map([[1.0, 2.0]], [[0.0, 0.0]])], ()) == ()


def test_sentence_overlap_is_the_mean_over_pairs() -> None:
    near = [nearest_neighbours(table, 4) for table in (ONE, OTHER, ONE)]
    values = sentence_overlap(near)
    assert values[7] == (0 + 1 + 0) / 3
    assert np.isnan(sentence_overlap(near[:1])).all()
