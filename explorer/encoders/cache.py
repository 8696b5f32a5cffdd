"""Keeps sentence embeddings on disk, so that no sentence is encoded twice by the same weights. Imports no torch by itself.

An entry is found by the weights' hash, the sentence layer, the longest input, the precision and the text's hash; the texts
themselves are not stored. Files are written aside and renamed, so a reader never sees half a file; a damaged one is dropped.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from explorer.encoders.folder import EncoderInfo
from explorer.encoders.kept import read_kept
from explorer.paths import cache_folder

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

LOG = logging.getLogger("explorer")
# To be raised when encoding changes what comes out, so that old entries are not found any more.
VERSION = 1
LIMIT_BYTES = 2 * 2**30
_TEXTS_A_FILE = 4096
_KEY_BYTES = 16

Vectors = NDArray[np.float32]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class CacheKey:
    """What, besides the text, decides an embedding.

    Args:
        weights_hash: Hash of the weight files.
        pooling: The sentence layer.
        max_length: Longest input in word pieces.
        dimension: H.
        precision: "float32" or "bfloat16".
    """

    weights_hash: str
    pooling: str
    max_length: int
    dimension: int
    precision: str

    @classmethod
    def of(cls, info: EncoderInfo, precision: str) -> CacheKey:
        """Returns the key of an encoder at a precision that is resolved, not "auto"."""
        return cls(info.weights_hash, info.pooling, info.max_length, info.embedding_dimension, precision)

    @property
    def folder(self) -> str:
        """Name of the folder of these entries."""
        return f"{self.weights_hash}-{self.pooling}-{self.max_length}-{self.precision}"


class EmbeddingCache:
    """The cache in one folder. Safe to share between threads and processes.

    Args:
        root: Folder; None for the project's cache folder.
        limit_bytes: The files used longest ago go when all together are larger.
        read_only: Whether nothing is ever written, not even when a file was last used.
    """

    def __init__(self, root: Path | None = None, limit_bytes: int = LIMIT_BYTES, *, read_only: bool = False) -> None:
        self._root = root
        self.limit_bytes = limit_bytes
        self.read_only = read_only

    @property
    def root(self) -> Path:
        """The folder, which may not exist yet."""
        return (self._root or cache_folder()) / "embeddings" / f"v{VERSION}"

    def get(self, key: CacheKey, texts: Sequence[str]) -> tuple[Vectors, NDArray[np.bool_]]:
        """Returns (n_texts, H) float32 vectors and which of them are known, (n_texts,) bool; unknown rows are zero."""
        vectors = np.zeros((len(texts), key.dimension), dtype=np.float32)
        known = np.zeros(len(texts), dtype=bool)
        rows: dict[bytes, list[int]] = {}
        for row, text in enumerate(texts):
            rows.setdefault(_hash(text), []).append(row)
        for path in self._files(key):
            if known.all():
                break
            places, found = self._read(path, key, rows)
            if places and not self.read_only:
                _touch(path)
            for place, vector in zip(places, found, strict=True):
                vectors[place], known[place] = vector, True
        return vectors, known

    def put(self, key: CacheKey, texts: Sequence[str], vectors: Vectors) -> None:
        """Adds (n_texts, H) float32 vectors; where the disk is full or read-only nothing is added, and the log says so."""
        if self.read_only:
            return
        names = np.frombuffer(b"".join(map(_hash, texts)), dtype=np.uint8).reshape(-1, _KEY_BYTES)
        path = self.root / key.folder / f"{hashlib.sha256(names.tobytes()).hexdigest()[:24]}.npz"
        aside = path.with_name(f".{path.stem}.{os.getpid()}.{threading.get_ident()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with aside.open("wb") as file:
                np.savez(file, names=names, vectors=np.asarray(vectors, dtype=np.float32))
            aside.replace(path)
            self._shrink()
        except OSError as error:
            LOG.warning("Embeddings are not kept: %s", error)
            _remove(aside)

    def _files(self, key: CacheKey) -> list[Path]:
        """The files of a key, the one used last first: what is asked for together was mostly kept together."""
        return sorted((self.root / key.folder).glob("[!.]*.npz"), key=_last_use, reverse=True)

    def _read(self, path: Path, key: CacheKey, rows: Mapping[bytes, list[int]]) -> tuple[list[list[int]], Vectors]:
        """Returns the rows that a file knows, and their vectors; the vectors of a file that knows none are not read."""
        nothing = np.zeros((0, key.dimension), dtype=np.float32)

        def read(stored: Any) -> tuple[list[list[int]], Vectors]:
            names = stored["names"].tobytes()
            count = len(names) // _KEY_BYTES
            wanted = [
                (i, rows[name]) for i in range(count) if (name := names[i * _KEY_BYTES : (i + 1) * _KEY_BYTES]) in rows
            ]
            if not wanted:
                return [], nothing
            vectors = stored["vectors"]
            if vectors.dtype != np.float32 or vectors.shape != (count, key.dimension):
                raise ValueError(f"vectors of shape {vectors.shape}")
            return [place for _, place in wanted], vectors[[i for i, _ in wanted]]

        return read_kept(path, read, remove=not self.read_only) or ([], nothing)

    def _shrink(self) -> None:
        sizes = {path: _size(path) for path in self.root.glob("*/*.npz")}
        total = sum(sizes.values())
        if total <= self.limit_bytes:
            return
        for path in sorted(sizes, key=_last_use):
            if total <= self.limit_bytes:
                return
            _remove(path)
            total -= sizes[path]


def encode_cached(
    load: Callable[[], SentenceTransformer],
    key: CacheKey,
    texts: Sequence[str],
    cache: EmbeddingCache,
    progress: Progress | None = None,
) -> Vectors:
    """Returns the sentence embeddings, (n_texts, H) float32, encoding only what the cache does not hold.

    Args:
        load: Returns the encoder; called only if something is missing.
        key: Of the encoder, at a resolved precision.
        texts: Any number of strings.
        cache: Where embeddings are looked up and kept. What is done stays kept if `progress` raises.
        progress: Called with (distinct sentences done, in all); may raise to stop.
    """

    def work(wanted: list[str], report: Progress | None) -> Vectors:
        from explorer.encoders.encode import encode

        return encode(load(), wanted, precision=key.precision, progress=report)

    return compute_cached(work, key, texts, cache, progress)


def compute_cached(
    work: Callable[[list[str], Progress | None], Vectors],
    key: CacheKey,
    texts: Sequence[str],
    cache: EmbeddingCache,
    progress: Progress | None = None,
) -> Vectors:
    """Returns what `work` makes of each text, (n_texts, H) float32, asking it only for what the cache does not hold.

    Args:
        work: Called with distinct texts and a progress function of its own; returns a row for each.
        key: Of whatever decides the rows besides the texts.
        texts: Any number of strings.
        cache: Where rows are looked up and kept. What is done stays kept if `progress` raises.
        progress: Called with (distinct texts done, in all); may raise to stop.
    """
    unique = list(dict.fromkeys(texts))
    vectors, known = cache.get(key, unique)
    missing = np.flatnonzero(~known)
    done = len(unique) - len(missing)
    if progress:
        progress(done, len(unique))
    for start in range(0, len(missing), _TEXTS_A_FILE):
        rows = missing[start : start + _TEXTS_A_FILE]
        wanted = [unique[row] for row in rows]
        vectors[rows] = work(wanted, _shifted(progress, done + start, len(unique)))
        cache.put(key, wanted, vectors[rows])
    place = {text: row for row, text in enumerate(unique)}
    return vectors[[place[text] for text in texts]]


def _shifted(progress: Progress | None, before: int, total: int) -> Progress | None:
    return (lambda done, _total: progress(before + done, total)) if progress else None


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:_KEY_BYTES]


def _size(path: Path) -> int:
    """Size in bytes; 0 for a file that another process has just dropped."""
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0


def _last_use(path: Path) -> int:
    """Nanoseconds since 1970; 0 for a file that another process has just dropped."""
    with contextlib.suppress(OSError):
        return path.stat().st_mtime_ns
    return 0


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def _touch(path: Path) -> None:
    """Marks a file as used now; on a read-only disk it stays as it is."""
    with contextlib.suppress(OSError):
        os.utime(path)
