"""The process that lays out maps: the same maps as here, one after the other, stopped without ending it, soon replaced."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from explorer.analysis.projection import MapSettings, Method, project
from explorer.errors import DataError, ExplorerError
from explorer.operations import map_worker
from explorer.operations.map_worker import MapWorker

VECTORS = np.random.default_rng(2).standard_normal((60, 12)).astype(np.float32)
LARGER = np.random.default_rng(3).standard_normal((1_500, 12)).astype(np.float32)
UMAP = MapSettings(Method.UMAP, neighbours=5)


@pytest.fixture(scope="module")
def worker() -> Iterator[MapWorker]:
    worker = MapWorker()
    worker.warm()
    yield worker
    worker.close()


def test_two_threads_get_the_same_maps_as_this_process_makes(worker: MapWorker) -> None:
    found, seen = {}, []

    def fit(seed: int) -> None:
        settings = MapSettings(Method.UMAP, neighbours=5, seed=seed)
        found[seed] = worker.fit(VECTORS, settings, lambda *at: seen.append(at))

    threads = [threading.Thread(target=fit, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {stage for stage, _, _ in seen} >= {"wait", "map"}
    assert ("map", 500, 500) in seen
    for seed, projection in found.items():
        expected = project(VECTORS, MapSettings(Method.UMAP, neighbours=5, seed=seed))
        assert np.array_equal(projection.points, expected.points)
        assert (projection.method, projection.neighbours, projection.notes) == (Method.UMAP, 5, ())


def test_pca_and_few_rows_do_not_wait_for_the_process(worker: MapWorker) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("nothing is to be waited for")

    assert worker.fit(VECTORS, MapSettings(), refuse).method is Method.PCA
    assert "UMAP needs 5" in worker.fit(VECTORS[:3], UMAP, refuse).notes[0]


def test_what_is_refused_here_is_refused_there(worker: MapWorker) -> None:
    broken = VECTORS.copy()
    broken[4] = np.nan
    with pytest.raises(DataError, match="row 5 hold values that are not finite"):
        worker.fit(broken, UMAP, lambda *_: None)
    assert worker.fit(VECTORS, UMAP, lambda *_: None).points.shape == (60, 2)


def test_stopping_leaves_the_process_and_what_it_compiled(worker: MapWorker) -> None:
    before = worker._child
    assert before is not None and before.warm
    seen = []

    def stop(*at: object) -> None:
        seen.append(at[0])
        if at[0] == "map":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        worker.fit(LARGER, UMAP, stop)
    assert "map" in seen and before.alive
    found = worker.fit(VECTORS, UMAP, lambda *_: None)
    assert worker._child is before
    assert np.array_equal(found.points, project(VECTORS, UMAP).points)


def test_a_fit_that_does_not_hear_is_ended_and_another_process_takes_its_place(
    worker: MapWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = worker._child
    assert before is not None
    monkeypatch.setattr(map_worker, "_GRACE", 0.0)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        worker.fit(VECTORS, UMAP, stop)
    assert not before.alive
    after = worker._child
    assert after is not None and after.alive
    # While it compiles, what is stopped is only left out.
    with pytest.raises(KeyboardInterrupt):
        worker.fit(VECTORS, UMAP, stop)
    assert worker._child is after and after.alive

    def end(*_: object) -> None:
        after.end()

    with pytest.raises(ExplorerError, match="ended unexpectedly; draw"):
        worker.fit(VECTORS, UMAP, end)
    assert worker._child is not None and worker._child.alive
