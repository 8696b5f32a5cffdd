"""Keeps finished maps and agreements on disk, found by the vectors and every setting; a damaged file is made again.

Files are written aside and renamed, so a reader never meets half of one.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from explorer.analysis.agreement import RankAgreement
from explorer.analysis.projection import MapSettings, Method, Projection
from explorer.encoders.kept import read_kept
from explorer.paths import cache_folder

# Raised whenever what is kept, or how a map is made, changes.
_FORMAT = 1
# Each is some 30 kB for 2,000 sentences; those used longest ago go first.
_MOST_KEPT = 500
Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)
class Agreement:
    """How far several encoders agree on one corpus, the maps left out.

    Args:
        cka: (e, e) float64, linear CKA.
        procrustes: (e, e) float64, Procrustes distance of the vectors.
        ranks: Spearman correlation of all pair similarities.
    """

    cka: NDArray[np.float64]
    procrustes: NDArray[np.float64]
    ranks: RankAgreement


def map_path(vectors: NDArray[np.float32], settings: MapSettings) -> Path:
    """Returns where the map of (n, H) float32 vectors is kept; it may not be there yet.

    For PCA what only UMAP reads is left out of the key.
    """
    asked = {key: str(value) for key, value in asdict(settings).items()}
    if settings.method == Method.PCA:
        asked = {key: asked[key] for key in ("method", "metric")}
    libraries = [version(name) for name in ("numpy", "umap-learn")]
    said = json.dumps([_FORMAT, libraries, asked, vectors.shape], sort_keys=True)
    digest = hashlib.sha256(said.encode())
    digest.update(np.ascontiguousarray(vectors, dtype=np.float32).tobytes())
    return cache_folder() / "maps" / f"{digest.hexdigest()[:32]}.npz"


def read_map(path: Path, settings: MapSettings, n: int) -> Projection | None:
    """Returns a kept map of n points; None where there is none or it cannot be read."""

    def read(file: Any) -> Projection:
        points, facts = np.asarray(file["points"], dtype=np.float64), json.loads(str(file["facts"]))
        if points.shape != (n, 2):
            raise ValueError(f"points of shape {points.shape}")
        explained = facts["explained"]
        return Projection(
            points=points,
            settings=settings,
            method=Method(facts["method"]),
            neighbours=facts["neighbours"],
            explained=(float(explained[0]), float(explained[1])) if explained else None,
            zero=tuple(int(row) for row in facts["zero"]),
            notes=tuple(facts["notes"]),
        )

    return _read(path, read)


def write_map(path: Path, projection: Projection) -> None:
    """Keeps a map; on a full or read-only disk nothing is kept."""
    facts = {key: getattr(projection, key) for key in ("method", "neighbours", "explained", "zero", "notes")}
    _write(path, {"points": projection.points, "facts": np.array(json.dumps(facts))})


def agreement_path(tables: Sequence[NDArray[np.float32]]) -> Path:
    """Returns where the agreement of several encoders' vectors, each (n, H) float32, is kept; it may not be there yet."""
    digest = hashlib.sha256(json.dumps([_FORMAT, "agreement", version("numpy")]).encode())
    for table in tables:
        digest.update(repr(table.shape).encode() + np.ascontiguousarray(table, dtype=np.float32).tobytes())
    return cache_folder() / "maps" / f"{digest.hexdigest()[:32]}.npz"


def read_agreement(path: Path, encoders: int) -> Agreement | None:
    """Returns what is kept of so many encoders' agreement; None where there is nothing or it cannot be read."""

    def read(file: Any) -> Agreement:
        cka, procrustes, ranks = (np.asarray(file[name], dtype=np.float64) for name in ("cka", "procrustes", "ranks"))
        pairs, of_pairs = (int(number) for number in file["pairs"])
        if not cka.shape == procrustes.shape == ranks.shape == (encoders, encoders):
            raise ValueError(f"tables of shape {cka.shape}, {procrustes.shape} and {ranks.shape}")
        return Agreement(cka, procrustes, RankAgreement(ranks, pairs, of_pairs))

    return _read(path, read)


def write_agreement(path: Path, found: Agreement) -> None:
    """Keeps the agreement of several encoders; on a full or read-only disk nothing is kept."""
    pairs = np.array([found.ranks.pairs, found.ranks.of_pairs])
    _write(path, {"cka": found.cka, "procrustes": found.procrustes, "ranks": found.ranks.matrix, "pairs": pairs})


def _read(path: Path, read: Callable[[Any], Found]) -> Found | None:
    found = read_kept(path, read)
    if found is not None:
        with suppress(OSError):
            path.touch()
    return found


def _write(path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".tmp", delete=False) as file:
            aside = Path(file.name)
        try:
            with aside.open("wb") as file:
                np.savez(file, **arrays)  # type: ignore[arg-type]
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)
        kept = sorted(path.parent.glob("*.npz"), key=lambda found: found.stat().st_mtime_ns)
        for old in kept[:-_MOST_KEPT]:
            old.unlink(missing_ok=True)
