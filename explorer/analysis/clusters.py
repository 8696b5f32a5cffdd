"""Groups of sentences that lie close together in the full space, by k-means on directions, each named by its words. Pure.

The same sentences give the same groups in any order of the rows. Groups are a way to colour a map, no finding.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from explorer.analysis.neighbours import check_vectors, unit_rows
from explorer.analysis.projection import sorted_by_content

Floats = NDArray[np.float64]
_ROUNDS = 50
_WORD = re.compile(r"[^\W\d_]{3,}")


@dataclass(frozen=True, eq=False)
class Clusters:
    """A division of sentences into groups.

    Args:
        of_rows: (n,) int64, each row's group from 0, the largest group first; -1 for a zero vector.
        count: How many groups there are.
    """

    of_rows: NDArray[np.int64]
    count: int


def cluster(vectors: ArrayLike, count: int = 8, seed: int = 42) -> Clusters:
    """Returns at most `count` groups of rows whose directions are alike.

    Args:
        vectors: (n, H) float; zero vectors belong to no group.
        count: How many groups; fewer where there are not that many different vectors.
        seed: Of the first centres.

    Raises:
        DataError: No rows, or values that are not finite.
    """
    units, sound = unit_rows(check_vectors(vectors))
    of_rows = np.full(len(units), -1, dtype=np.int64)
    if not sound.any():
        return Clusters(of_rows, 0)
    distinct, place = sorted_by_content(units[sound].astype(np.float32))
    weights = np.bincount(place)
    found = _k_means(distinct.astype(np.float64), weights, min(count, len(distinct)), seed)[place]
    sizes = np.bincount(found)
    order = np.argsort(-sizes, kind="stable")[: int((sizes > 0).sum())]
    number = np.zeros(len(sizes), dtype=np.int64)
    number[order] = np.arange(len(order))
    of_rows[sound] = number[found]
    return Clusters(of_rows, len(order))


def name_clusters(clusters: Clusters, sentences: Sequence[str], words: int = 3) -> tuple[str, ...]:
    """Returns each group's most characteristic words, joined by commas: those in most of its sentences and few others.

    Args:
        clusters: Of these sentences.
        sentences: Any text.
        words: How many each.
    """
    within: list[Counter[str]] = [Counter() for _ in range(clusters.count)]
    for group, sentence in zip(clusters.of_rows.tolist(), sentences, strict=True):
        if group >= 0:
            within[group].update(dict.fromkeys(_WORD.findall(sentence.lower()), 1))
    everywhere: Counter[str] = Counter()
    for counts in within:
        everywhere.update(counts)
    sizes = [int((clusters.of_rows == group).sum()) for group in range(clusters.count)]
    names = []
    for counts, size in zip(within, sizes, strict=True):
        others = max(1, sum(sizes) - size)
        share = {word: n / size - 3 * (everywhere[word] - n) / others for word, n in counts.items()}
        best = sorted(share, key=lambda word: (-share[word], word))[:words]
        names.append(", ".join(best) or "no words")
    return tuple(names)


def _k_means(units: Floats, weights: NDArray[np.int64], count: int, seed: int) -> NDArray[np.int64]:
    """Returns the group of each of (m, H) different unit vectors, (m,) int64."""
    centres = units[_first_centres(units, weights, count, np.random.default_rng(seed))]
    groups = np.full(len(units), -1)
    for _ in range(_ROUNDS):
        nearest = (units @ centres.T).round(9).argmax(axis=1)
        if np.array_equal(nearest, groups):
            break
        groups = nearest
        for group in range(count):
            inside = groups == group
            if inside.any():
                centre = weights[inside] @ units[inside]
                centres[group] = centre / max(float(np.linalg.norm(centre)), 1e-12)
    return groups


def _first_centres(units: Floats, weights: NDArray[np.int64], count: int, random: np.random.Generator) -> list[int]:
    """Returns rows far from each other: each next one drawn by its squared distance to the nearest drawn before."""
    chosen = [int(random.choice(len(units), p=weights / weights.sum()))]
    far = np.full(len(units), np.inf)
    while len(chosen) < count:
        far = np.minimum(far, np.maximum(0.0, 1.0 - units @ units[chosen[-1]])) * (far > 0)
        far[chosen] = 0.0
        total = float((far * weights).sum())
        if total <= 0:
            break
        chosen.append(int(random.choice(len(units), p=far * weights / total)))
    return chosen + [chosen[0]] * (count - len(chosen))
