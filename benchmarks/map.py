"""Our UMAP maps beside umap-learn called directly: the same vectors, the same parameters, the same run.

python -m benchmarks.map [--sentences 432] [--repeats 3]

Ours includes everything the page does for a map: checks, merging equal vectors, the order that makes the result independent of
the order of the rows, the child process. A ratio of 1 means that all this costs nothing.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from explorer.analysis.neighbours import unit_rows
from explorer.analysis.projection import MapSettings, Method, project
from explorer.operations.map_worker import MapWorker


def main() -> None:
    """Reads the command line, measures, prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sentences", type=int, default=432)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    vectors = cloud(options.sentences)
    settings = MapSettings(Method.UMAP)
    worker = MapWorker()
    runs: dict[str, Callable[[], Any]] = {
        "umap-learn": lambda: peer(vectors, settings),
        "ours, in this process": lambda: project(vectors, settings).points,
        "ours, in the page's process": lambda: worker.fit(vectors, settings, lambda *_: None).points,
    }
    first = {name: timed(run)[0] for name, run in runs.items()}
    times: dict[str, list[float]] = {name: [] for name in runs}
    points: dict[str, Any] = {}
    for _ in range(options.repeats):
        for name, run in runs.items():
            seconds, points[name] = timed(run)
            times[name].append(seconds)
    print(
        f"{options.sentences:,} vectors of width {vectors.shape[1]}, UMAP, median of {options.repeats} after a first one"
    )
    base = statistics.median(times["umap-learn"])
    for name, values in times.items():
        middle = statistics.median(values)
        print(f"{name:28} first {first[name]:6.2f} s   then {middle:6.2f} s   ratio {middle / base:5.2f}")
    same = np.array_equal(points["ours, in this process"], points["ours, in the page's process"])
    print(f"both of ours to the bit equal: {same}")
    seconds, _ = timed(lambda: project(vectors))
    print(f"PCA {seconds:.3f} s, {base / seconds:.0f} times faster than UMAP")
    worker.close()


def cloud(n: int, width: int = 384, groups: int = 40) -> np.ndarray:
    """Returns (n, width) float32 vectors in groups, as sentence embeddings tend to lie."""
    random = np.random.default_rng(7)
    centres = random.standard_normal((groups, width))
    found = centres[random.integers(groups, size=n)] + 0.9 * random.standard_normal((n, width))
    return found.astype(np.float32)


def peer(vectors: np.ndarray, settings: MapSettings) -> np.ndarray:
    """Returns the map of umap-learn called directly."""
    import umap

    units = unit_rows(vectors.astype(np.float64))[0].astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit: Any = umap.UMAP(
            n_neighbors=settings.neighbours,
            min_dist=settings.min_dist,
            metric=settings.metric.value,
            random_state=settings.seed,
            n_jobs=1,
        )
        return np.asarray(fit.fit_transform(units))


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Returns how many seconds a call took, and what it returned."""
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


if __name__ == "__main__":
    main()
