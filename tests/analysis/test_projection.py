"""Maps: PCA against scikit-learn, the same in any row order, an answer for every odd table; UMAP once, for real."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from conftest import ROOT
from sklearn.decomposition import PCA

from explorer.analysis.projection import MapSettings, Method, Metric, place_by_neighbours, project, put_back
from explorer.errors import DataError, SettingError

RANDOM = np.random.default_rng(0)
VECTORS = RANDOM.normal(size=(40, 6)).astype(np.float32)
PCA_EUCLIDEAN = MapSettings(metric=Metric.EUCLIDEAN)


def test_pca_equals_scikit_learns_up_to_the_sign_of_an_axis() -> None:
    found, reference = project(VECTORS, PCA_EUCLIDEAN), PCA(2).fit(VECTORS)
    expected = reference.transform(VECTORS)
    assert np.abs(found.points) == pytest.approx(np.abs(expected), abs=1e-5)
    assert found.explained == pytest.approx(reference.explained_variance_ratio_, abs=1e-6)


def test_pca_by_hand() -> None:
    # On a line: all of the variance along it, nothing beside it.
    found = project([[1, 1], [2, 2], [3, 3], [6, 6]], PCA_EUCLIDEAN)
    root = np.sqrt(2)
    assert found.points == pytest.approx(np.array([[-2, 0], [-1, 0], [0, 0], [3, 0]]) * root, abs=1e-6)
    assert found.explained == pytest.approx((1, 0))


def test_pca_by_cosine_does_not_see_lengths() -> None:
    lengths = RANDOM.uniform(0.1, 9, size=(40, 1))
    assert project(VECTORS * lengths).points == pytest.approx(project(VECTORS).points, abs=1e-6)


def test_another_row_order_gives_the_same_map_to_the_last_bit() -> None:
    order = RANDOM.permutation(40)
    assert np.array_equal(project(VECTORS[order]).points, project(VECTORS).points[order])


def test_put_back_is_the_map_of_the_other_order() -> None:
    vectors = np.concatenate([np.zeros((1, 6), dtype=np.float32), VECTORS, np.zeros((1, 6), dtype=np.float32)])
    order = RANDOM.permutation(42)
    direct, moved = project(vectors), put_back(project(vectors[order]), order)
    assert np.array_equal(direct.points, moved.points, equal_nan=True)
    assert (direct.zero, direct.notes) == (moved.zero, moved.notes) and direct.zero == (0, 41)
    straight = project(VECTORS)
    assert np.array_equal(put_back(project(VECTORS[::-1]), np.arange(40)[::-1]).points, straight.points)


def test_umap_is_seeded_free_of_row_order_and_safe_in_threads() -> None:
    settings = MapSettings(method=Method.UMAP, neighbours=4)
    vectors = np.concatenate([VECTORS, VECTORS[:3], np.zeros((1, 6), dtype=np.float32)])
    before = vectors.copy()
    order = RANDOM.permutation(len(vectors))
    found = {}

    def fit(name: str, table: np.ndarray, chosen: MapSettings) -> None:
        found[name] = project(table, chosen)

    tasks = [("one", vectors, settings), ("moved", vectors[order], settings)]
    threads = [threading.Thread(target=fit, args=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    fit("other seed", vectors, MapSettings(method=Method.UMAP, neighbours=4, seed=1))
    points = found["one"].points
    assert np.array_equal(found["moved"].points, points[order], equal_nan=True)
    assert not np.array_equal(found["other seed"].points, points, equal_nan=True)
    assert np.array_equal(points[40:43], points[:3]), "equal vectors share a point"
    assert np.isnan(points[43]).all() and np.isfinite(points[:43]).all()
    assert found["one"].zero == (43,)
    assert "row 44" in found["one"].notes[0].lower()
    assert np.array_equal(vectors, before)
    few = project(VECTORS[:5], MapSettings(method=Method.UMAP))
    assert (few.method, few.neighbours) == (Method.UMAP, 4)
    assert np.isfinite(few.points).all() and "n_neighbors is 4" in few.notes[0]


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_fewer_than_five_vectors_are_laid_out_by_pca(n: int) -> None:
    found = project(VECTORS[:n], MapSettings(method=Method.UMAP))
    assert found.method is Method.PCA
    assert "UMAP needs 5" in found.notes[0]
    assert np.isfinite(found.points).all()
    assert len(np.unique(found.points.round(6), axis=0)) == n


def test_one_vector_many_times_is_one_point_at_zero() -> None:
    found = project(np.repeat(VECTORS[:1], 1000, axis=0), MapSettings(method=Method.UMAP))
    assert found.points.tolist() == [[0.0, 0.0]] * 1000
    assert found.explained == (0.0, 0.0)


def test_one_dimension_is_enough() -> None:
    assert project([[1.0], [2.0], [4.0]], PCA_EUCLIDEAN).points[:, 1].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ([[1, np.nan], [0, 1]], "row 1 hold"),
        ([[1, 0], [0, np.inf]], "row 2 hold"),
        (np.zeros((3, 2)), "Every vector is zero"),
        (np.zeros((0, 2)), "no sentence"),
        ([1.0, 2.0], "shape"),
    ],
)
def test_vectors_that_cannot_be_laid_out_are_named(vectors: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        project(vectors)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (MapSettings(method="tsne"), "no method 'tsne'"),  # type: ignore[arg-type]
        (MapSettings(metric="city"), "no metric 'city'"),  # type: ignore[arg-type]
        (MapSettings(neighbours=1), "n_neighbors is 1; use a whole number from 2 to 200"),
        (MapSettings(neighbours=2.5), "n_neighbors is 2.5"),  # type: ignore[arg-type]
        (MapSettings(min_dist=float("nan")), "min_dist is nan"),
        (MapSettings(seed=-1), "seed is -1"),
    ],
)
def test_settings_outside_their_range_are_refused(settings: MapSettings, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        project(VECTORS, settings)


def test_place_by_neighbours_by_hand() -> None:
    vectors, points = [[1, 0], [0, 1], [-1, 0]], [[0, 0], [4, 0], [100, 100]]
    middle = place_by_neighbours([1, 1], vectors, points, k=2)
    assert (middle.x, middle.y) == pytest.approx((2, 0))
    assert sorted(middle.rows.tolist()) == [0, 1]
    assert "approximate" in middle.note
    there = place_by_neighbours([0, 9], vectors, points, k=2)
    assert (there.x, there.y) == (4, 0)
    # Cosines 0.6 and 0.8: weights 1 / 0.4 and 1 / 0.2, so two thirds of the way.
    nearer = place_by_neighbours([0.6, 0.8], vectors, points, k=2)
    assert nearer.x == pytest.approx(4 * 5 / 7.5)


BYTES = """
import hashlib, os, sys
import numpy as np
from explorer.analysis.projection import MapSettings, project
vectors = np.random.default_rng(1).standard_normal((300, 24)).astype(np.float32)
seen = []
for method in sys.argv[1:]:
    points = project(vectors, MapSettings(method), lambda done, total: seen.append((done, total))).points
    print(method, hashlib.sha256(points.tobytes()).hexdigest())
assert "umap" not in sys.argv or seen[-1] == (500, 500)
"""


def test_two_fresh_processes_with_other_numbers_of_threads_give_the_same_bytes() -> None:
    printed = set()
    for threads in ("1", "3"):
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
        environment = {**os.environ, **dict.fromkeys(names, threads)}
        run = [sys.executable, "-c", BYTES, "pca", "umap"]
        result = subprocess.run(run, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        printed.add(result.stdout)
    assert len(printed) == 1
