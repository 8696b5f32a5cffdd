"""Where it is worth looking in the maps of several encoders: a few sentences, each with one reason. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from explorer.analysis.neighbours import Difference, Neighbours, check_vectors, overlap, unit_rows
from explorer.analysis.trust import Trust

Floats = NDArray[np.float64]
# Pairs are looked for among at most so many sentences.
_MOST_FOR_PAIRS = 800


@dataclass(frozen=True)
class Place:
    """One suggestion.

    Args:
        title: What is to be seen, a few words.
        why: One sentence with the figures.
        rows: The sentences, the first one to be looked at first.
    """

    title: str
    why: str
    rows: tuple[int, ...]


def places_to_look(
    names: Sequence[str],
    vectors: Sequence[ArrayLike],
    neighbours: Sequence[Neighbours],
    trust: Sequence[Trust],
    differences: Sequence[Difference],
    labels: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Place, ...]:
    """Returns suggestions, the most telling first; fewer where there is less to see.

    Args:
        names: The encoders.
        vectors: Of each encoder (n, H) float, the same sentences.
        neighbours: Of each encoder, in the full space.
        trust: Of each encoder's map.
        differences: See most_different.
        labels: Labels of the sentences by column, if there are any; with the columns `group` and `contrast` of the sample
            corpus the contrast that looks least like one is named.
    """
    units = [unit_rows(check_vectors(table)) for table in vectors]
    found = [
        _most_argued(names, differences),
        _contrast(names, units, labels or {}),
        _pair_apart(names, units),
        _agreed(names, neighbours, differences),
        _liar(names, trust),
        _lonely(names, neighbours),
        _hub(names, neighbours),
    ]
    return tuple(place for place in found if place is not None)


def _most_argued(names: Sequence[str], differences: Sequence[Difference]) -> Place | None:
    if not differences or differences[0].overlap > 0.9:
        return None
    first = differences[0]
    one, other = (names[place] for place in first.pair)
    why = (
        f"Of its neighbours the encoders share least: overlap {first.overlap:.2f} on average, "
        f"{first.pair_overlap:.2f} between {one} and {other}."
    )
    return Place("The most disputed sentence", why, (first.row,))


def _agreed(names: Sequence[str], neighbours: Sequence[Neighbours], differences: Sequence[Difference]) -> Place | None:
    if len(names) < 2 or len(differences) < 2:
        return None
    last = differences[-1]
    k = min(found.k for found in neighbours)
    why = (
        f"All {len(names)} encoders put nearly the same {k} sentences around it: overlap {last.overlap:.2f} on average."
    )
    return Place("Where they agree most", why, (last.row,)) if last.overlap > differences[0].overlap else None


def _contrast(
    names: Sequence[str], units: Sequence[tuple[Floats, NDArray[np.bool_]]], labels: Mapping[str, Sequence[str]]
) -> Place | None:
    """The two sentences of one group that say different things and yet lie closest, on average over the encoders."""
    groups, contrasts = labels.get("group"), labels.get("contrast")
    if groups is None or contrasts is None:
        return None
    base = {group: row for row, (group, contrast) in enumerate(zip(groups, contrasts, strict=True)) if not contrast}
    telling = {"negation", "role-swap", "number", "tense"}
    pairs = [(base[g], row) for row, g in enumerate(groups) if contrasts[row] in telling and g in base]
    if not pairs:
        return None
    first, second = np.array(pairs).T
    cosines = np.mean([np.einsum("ij,ij->i", table[first], table[second]) for table, _ in units], axis=0)
    best = int(cosines.argmax())
    row = pairs[best][1]
    why = (
        f"They differ by {contrasts[row].replace('-', ' ')}, and yet their cosine is {cosines[best]:.3f} on average over "
        f"{_count(names)}: does that difference reach the vectors at all?"
    )
    return Place("A contrast that is hardly seen", why, (row, pairs[best][0]))


def _pair_apart(names: Sequence[str], units: Sequence[tuple[Floats, NDArray[np.bool_]]]) -> Place | None:
    """The pair of sentences whose similarity two encoders rank most differently."""
    n = len(units[0][0]) if units else 0
    if len(names) < 2 or n < 3:
        return None
    among = np.unique(np.linspace(0, n - 1, min(n, _MOST_FOR_PAIRS)).astype(np.int64))
    upper = np.triu_indices(len(among), 1)
    # Shares of pairs below: comparable between encoders, as cosines are not.
    ranks = [_shares((table[among] @ table[among].T)[upper]) for table, _ in units]
    best: tuple[float, int, int, int] = (0.0, 0, 0, 0)
    for i, j in combinations(range(len(names)), 2):
        gap = np.abs(ranks[i] - ranks[j])
        at = int(gap.argmax())
        best = max(best, (float(gap[at]), i, j, at))
    gap_found, i, j, at = best
    if gap_found < 0.3:
        return None
    high, low = (i, j) if ranks[i][at] > ranks[j][at] else (j, i)
    why = (
        f"{names[high]} finds these two more alike than {100 * ranks[high][at]:.0f} % of all pairs, "
        f"{names[low]} than {100 * ranks[low][at]:.0f} %."
    )
    return Place("A pair seen in opposite ways", why, (int(among[upper[0][at]]), int(among[upper[1][at]])))


def _shares(values: Floats) -> Floats:
    """Returns, for each value, the share of the values that are below it, (n,) float64 in [0, 1)."""
    shares = np.empty(len(values))
    shares[np.argsort(values, kind="stable")] = np.arange(len(values)) / len(values)
    return shares


def _liar(names: Sequence[str], trust: Sequence[Trust]) -> Place | None:
    """The point that stands most wrongly on some map."""
    lowest = [
        (float(np.nanmin(t.trust_of_points)), place)
        for place, t in enumerate(trust)
        if np.isfinite(t.trust_of_points).any()
    ]
    if not lowest:
        return None
    value, place = min(lowest)
    if not trust[place].suspect.any():
        return None
    row = int(np.nanargmin(trust[place].trust_of_points))
    why = (
        f"Its neighbours on the map of {names[place]} are nearly all strangers in the full space: {value:.2f}, where 1 is "
        f"true and chance gives about 0.5."
    )
    return Place("A point not to believe", why, (row,))


def _lonely(names: Sequence[str], neighbours: Sequence[Neighbours]) -> Place | None:
    if any(found.k == 0 for found in neighbours):
        return None
    nearest = np.mean([found.cosines[:, 0] for found in neighbours], axis=0)
    if np.isnan(nearest).all():
        return None
    row = int(np.nanargmin(nearest))
    why = f"Even its nearest sentence has a cosine of only {nearest[row]:.3f} on average over {_count(names)}."
    return Place("The loneliest sentence", why, (row,))


def _hub(names: Sequence[str], neighbours: Sequence[Neighbours]) -> Place | None:
    """The sentence that is in most lists of neighbours."""
    n = len(neighbours[0].rows) if neighbours else 0
    if n < 20:
        return None
    times = [np.bincount(found.rows[found.rows >= 0], minlength=n) for found in neighbours]
    counts = np.sum(times, axis=0)
    row, place = int(counts.argmax()), int(np.argmax([found[counts.argmax()] for found in times]))
    k = neighbours[place].k
    if times[place][row] < 2 * k:
        return None
    why = (
        f"It is among the {k} nearest of {times[place][row]:,} other sentences in {names[place]}, where {k} would be usual: "
        f"a hub, which high-dimensional spaces tend to have."
    )
    return Place("A sentence that is near to many", why, (row,))


def _count(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{len(names)} encoders"


def sentence_overlap(neighbours: Sequence[Neighbours]) -> Floats:
    """Returns each sentence's mean overlap over all pairs of encoders, (n,) float64 in 0..1; nan where it has none."""
    pairs = list(combinations(neighbours, 2))
    if not pairs:
        return np.full(len(neighbours[0].rows) if neighbours else 0, np.nan)
    return np.mean([overlap(first, second) for first, second in pairs], axis=0)
