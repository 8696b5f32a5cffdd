"""Maps: sentence embeddings laid out in two dimensions by PCA or UMAP, the same for any order of the rows. Pure.

Equal vectors count once and share a point; zero vectors get none. Whether a map can be believed is trust.py's matter.
"""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from explorer.analysis.neighbours import check_vectors, name_rows, nearest_to, unit_rows
from explorer.data.frames import shown
from explorer.errors import DataError, SettingError
from explorer.paths import cache_folder

Floats = NDArray[np.float64]
# Called with (rounds done, rounds in all) while UMAP moves the points.
Progress = Callable[[int, int], None]
# UMAP cannot lay out fewer different vectors.
FEWEST_FOR_UMAP = 5
# Two fits at once can end the process, where numba has only its own thread pool; and umap's warnings are caught inside.
_FITTING = threading.Lock()


class Method(StrEnum):
    """How a map is made: PCA keeps large distances and is instant, UMAP keeps neighbours and takes seconds."""

    PCA = "pca"
    UMAP = "umap"


class Metric(StrEnum):
    """What is near: cosine looks at directions alone, euclidean at lengths too."""

    COSINE = "cosine"
    EUCLIDEAN = "euclidean"


@dataclass(frozen=True)
class MapSettings:
    """Everything that decides a map, besides the vectors.

    Args:
        method: "pca" or "umap".
        metric: "cosine" or "euclidean"; cosine brings all vectors to length 1 first, for PCA too.
        neighbours: UMAP alone: how many neighbours count as near, 2 to 200; few show detail, many the whole.
        min_dist: UMAP alone: how close points may lie, 0 to 1; small packs groups tightly.
        seed: UMAP alone: of its random numbers, 0 to 2^32 - 1.
    """

    method: Method = Method.PCA
    metric: Metric = Metric.COSINE
    neighbours: int = 15
    min_dist: float = 0.1
    seed: int = 42


@dataclass(frozen=True, eq=False)
class Projection:
    """A map.

    Args:
        points: (n, 2) float64, its middle at 0; nan for zero vectors.
        settings: What was asked for.
        method: What was done: PCA where there are too few different vectors for UMAP.
        neighbours: How many neighbours UMAP used; None for PCA.
        explained: PCA alone: the share of the variance along either axis, 0..1; None for UMAP.
        zero: The rows whose vector is zero, which have no point.
        notes: What a person has to know, a sentence each.
    """

    points: Floats
    settings: MapSettings
    method: Method
    neighbours: int | None
    explained: tuple[float, float] | None
    zero: tuple[int, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Placement:
    """Where a sentence that is not on a map would lie, by its neighbours in the full space: approximate.

    Args:
        x: First coordinate.
        y: Second coordinate.
        rows: Its nearest sentences, nearest first, (k,) int64.
        cosines: Their cosines, (k,) float64 in [-1, 1].
        note: How it was placed, one sentence.
    """

    x: float
    y: float
    rows: NDArray[np.int64]
    cosines: Floats
    note: str


def check_settings(settings: MapSettings) -> MapSettings:
    """Returns the settings, their words as Method and Metric.

    Raises:
        SettingError: A word or a number that cannot be used.
    """
    for value, choices, what in ((settings.method, Method, "method"), (settings.metric, Metric, "metric")):
        if not isinstance(value, str) or value not in list(choices):
            raise SettingError(f"There is no {what} {shown(value)}; use {' or '.join(choices)}.")
    ranges = (
        ("n_neighbors", settings.neighbours, 2, 200),
        ("min_dist", settings.min_dist, 0, 1),
        ("seed", settings.seed, 0, 2**32 - 1),
    )
    for name, number, low, high in ranges:
        sound = isinstance(number, int | float | np.number) and not isinstance(number, bool) and low <= number <= high
        if not sound or (name != "min_dist" and number != int(number)):
            kind = "number" if name == "min_dist" else "whole number"
            raise SettingError(f"{name} is {shown(number)}; use a {kind} from {low} to {high}.")
    method, metric = Method(settings.method), Metric(settings.metric)
    return MapSettings(method, metric, int(settings.neighbours), float(settings.min_dist), int(settings.seed))


def project(vectors: ArrayLike, settings: MapSettings | None = None, progress: Progress | None = None) -> Projection:
    """Returns a map of the vectors. The same vectors give the same map to the last bit, in any order of the rows and with
    any number of threads.

    One vector lies at 0; two to four different ones are laid out by PCA whatever the method.

    Args:
        vectors: (n, H) float.
        settings: See MapSettings; None for PCA.
        progress: See Progress; PCA has none.

    Raises:
        DataError: No rows, values that are not finite (the rows are named), or zero vectors alone.
        SettingError: A setting that cannot be used.
    """
    chosen = check_settings(settings or MapSettings())
    table = check_vectors(vectors)
    units, sound = unit_rows(table)
    if not sound.any():
        raise DataError("Every vector is zero, so there is nothing to lay out; choose other sentences.")
    read = (units if chosen.metric is Metric.COSINE else table)[sound].astype(np.float32) + np.float32(0)
    distinct, place = sorted_by_content(read)
    zero = np.flatnonzero(~sound)
    notes = [_zero_note(zero)] if len(zero) else []
    method, neighbours, explained = chosen.method, None, None
    if method is Method.UMAP and len(distinct) < FEWEST_FOR_UMAP:
        method = Method.PCA
        notes.append(f"UMAP needs {FEWEST_FOR_UMAP} different sentences and here are {len(distinct)}: this is PCA.")
    if method is Method.UMAP:
        neighbours = min(chosen.neighbours, len(distinct) - 1)
        if neighbours < chosen.neighbours:
            notes.append(f"n_neighbors is {neighbours}, since there are only {len(distinct)} different sentences.")
        laid_out = _umap(distinct, chosen, neighbours, progress)
    else:
        # One thread: with several, sums are made in another order.
        with threadpool_limits(1, "blas"):
            laid_out, explained = _pca(distinct.astype(np.float64))
    points = np.full((len(table), 2), np.nan)
    points[sound] = (laid_out - laid_out.mean(axis=0))[place]
    return Projection(points, chosen, method, neighbours, explained, tuple(zero.tolist()), tuple(notes))


def put_back(projection: Projection, order: NDArray[np.int64]) -> Projection:
    """Returns the map of rows that were laid out in another order.

    Args:
        projection: Of n rows.
        order: (n,) int64, a permutation: row i of `projection` becomes row order[i].
    """
    points = np.empty_like(projection.points)
    points[order] = projection.points
    if not projection.zero:
        return replace(projection, points=points)
    zero = np.sort(order[list(projection.zero)])
    return replace(
        projection, points=points, zero=tuple(zero.tolist()), notes=(_zero_note(zero), *projection.notes[1:])
    )


def _zero_note(zero: NDArray[np.int64]) -> str:
    return f"{name_rows(zero).capitalize()} have a zero vector and are not on the map."


def sorted_by_content(vectors: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Returns the different rows in an order that depends on nothing but themselves, (m, H), and each row's place there."""
    rows = np.ascontiguousarray(vectors)
    whole = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    _, first, place = np.unique(whole, return_index=True, return_inverse=True)
    return rows[first], place.ravel()


def place_by_neighbours(query: ArrayLike, vectors: ArrayLike, points: ArrayLike, k: int = 5) -> Placement:
    """Returns where a new sentence would lie: the mean of its k nearest sentences' points, the nearer the weightier.

    A sentence whose direction is already on the map lies exactly there.

    Args:
        query: (H,) float, its vector.
        vectors: (n, H) float, those of the sentences on the map.
        points: (n, 2) float, their points.
        k: How many neighbours, at least 1.

    Raises:
        DataError: A zero query, no sentence with a point, or values that are not finite.
        SettingError: k is below 1.
    """
    places = np.asarray(points, dtype=np.float64)
    rows, cosines = nearest_to(query, vectors, k)
    if not len(rows):
        raise DataError("No sentence on the map has a direction, so nothing can be placed beside it.")
    if cosines[0] >= 1.0 - 1e-9:
        (x, y), note = places[rows[0]], "Its vector is that of a sentence on the map, so it lies there."
    else:
        weights = 1.0 / (1.0 - cosines)
        x, y = weights @ places[rows] / weights.sum()
        note = f"Placed between its {len(rows)} nearest sentences in the full space; this is approximate."
    return Placement(float(x), float(y), rows, cosines, note)


def _pca(vectors: Floats) -> tuple[Floats, tuple[float, float]]:
    """Returns the first two principal components, (m, 2), and their shares of the variance."""
    centred = vectors - vectors.mean(axis=0)
    wide = centred if centred.shape[1] >= 2 else np.pad(centred, ((0, 0), (0, 1)))
    variances, axes = np.linalg.eigh(wide.T @ wide)
    variances, axes = np.maximum(variances[::-1], 0.0), axes[:, ::-1][:, :2]
    # An axis has no direction of its own: its largest weight is made positive.
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])
    total = variances.sum()
    # What is left of vectors on a line, or of equal ones, is rounding.
    empty = variances[:2] <= 1e-12 * max(total, np.finfo(float).tiny)
    shares = np.where(empty, 0.0, variances[:2] / total if total > 0 else 0.0)
    return np.where(empty, 0.0, wide @ axes), (float(shares[0]), float(shares[1]))


def _umap(vectors: NDArray[np.float32], settings: MapSettings, neighbours: int, progress: Progress | None) -> Floats:
    with _FITTING, warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        fit: Any = _import_umap().UMAP(
            n_neighbors=neighbours,
            min_dist=settings.min_dist,
            metric=settings.metric.value,
            random_state=settings.seed,
            n_jobs=1,
            tqdm_kwds={"disable": progress is None, "file": _Counter(progress), "bar_format": "{n}/{total} "},
        )
        return np.asarray(fit.fit_transform(vectors), dtype=np.float64)


class _Counter:
    """Looks like the file that umap's progress bar is written to, and passes the numbers on."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress

    def write(self, text: str) -> None:
        found = re.search(r"(\d+)/(\d+)", text)
        if found and self._progress:
            self._progress(int(found[1]), int(found[2]))

    def flush(self) -> None:
        """Does nothing; a file has it."""


def _import_umap() -> Any:
    """Returns the module, whose import compiles and needs a folder to write to."""
    try:
        import umap
    except RuntimeError:
        # Neither site-packages nor a home can be written, as in some containers.
        import numba

        config: Any = numba.config
        config.CACHE_DIR = str(cache_folder() / "numba")
        import umap
    return umap
