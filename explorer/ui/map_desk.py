"""Where the maps on the page live: makes them as asked, keeps the latest in memory, and knows what visitors may have."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from explorer.encoders.registry import Registry
from explorer.errors import SettingError
from explorer.figures.map import palette
from explorer.figures.theme import identities

if TYPE_CHECKING:  # importing them for real brings numpy and scipy, which the page must not wait for
    from explorer.operations.map_worker import MapWorker
    from explorer.operations.project import Cleaned, Maps, Progress
    from explorer.ui.map_job import MapJob

SAMPLE, FILE, LINES = "sample", "file", "lines"
CAPS = (500, 1_000, 2_000, 5_000, 20_000)
DEMO_CAP = 1_000
MOST_NEIGHBOURS = 20
# In memory, by number and by sentences of all; 2,000 of them with four encoders hold some 20 MB.
_KEPT, _SENTENCES_KEPT = 8, 40_000


@dataclass(frozen=True)
class Wanted:
    """What a person asks for, as the controls have it; a field that was emptied is None.

    Args:
        kind: SAMPLE, FILE or LINES.
        text: The pasted lines.
        file: Path of the upload.
        column: Of sentences; None for the one most like text.
        label: Of labels; None for none.
        encoders: Names; empty for all.
        method: "pca" or "umap".
        neighbours: UMAP's n_neighbors.
        min_dist: UMAP's min_dist.
        metric: "cosine" or "euclidean".
        seed: Of UMAP and of the sample.
        k: Neighbours that are listed and compared.
        most: Sentences on a map.
    """

    kind: str = SAMPLE
    text: str | None = None
    file: str | None = None
    column: str | None = None
    label: str | None = None
    encoders: list[str] | None = None
    method: str = "pca"
    neighbours: int | None = 15
    min_dist: float | None = 0.1
    metric: str = "cosine"
    seed: int | None = 42
    k: int | None = 10
    most: int | None = 2_000


class MapDesk:
    """Makes and keeps maps. Safe to share between threads.

    Args:
        registry: The encoders.
        demo: Public mode: fewer sentences, and what visitors bring is not kept on disk.
    """

    def __init__(self, registry: Registry, demo: bool = False) -> None:
        self.registry = registry
        self.demo = demo
        self._lock = threading.Lock()
        self._maps: OrderedDict[str, Maps] = OrderedDict()
        self._kinds: dict[str, str] = {}
        self._jobs: dict[str, MapJob] = {}
        self._worker: MapWorker | None = None

    @property
    def worker(self) -> MapWorker:
        """The process that lays out UMAP maps."""
        from explorer.operations.map_worker import MapWorker

        with self._lock:
            if self._worker is None:
                self._worker = MapWorker()
            return self._worker

    @property
    def caps(self) -> tuple[int, ...]:
        """How many sentences may be on a map."""
        return tuple(cap for cap in CAPS if not self.demo or cap <= DEMO_CAP)

    def make(self, wanted: Wanted, progress: Progress | None = None) -> tuple[str, Maps]:
        """Returns the maps asked for, and the key under which they stay in memory for a while.

        Raises:
            DataError, EncoderError, SettingError: See operations.project.
        """
        from explorer.encoders.cache import EmbeddingCache
        from explorer.operations.map_payload import key_of
        from explorer.operations.project import project
        from explorer.ui.map_job import Waiting

        settings = settings_of(wanted)
        k = whole(wanted.k, "The number of neighbours")
        if not 1 <= k <= MOST_NEIGHBOURS:
            raise SettingError(f"The number of neighbours is {k}; use 1 to {MOST_NEIGHBOURS}.")
        corpus = self.corpus(wanted)
        keep = wanted.kind == SAMPLE or not self.demo
        waiting = Waiting(progress)
        maps = project(
            self.registry,
            corpus,
            encoders=wanted.encoders or None,
            settings=settings,
            k=k,
            cache=EmbeddingCache(read_only=not keep),
            keep=keep,
            lay_out=self.worker.fit,
            progress=waiting,
        )
        laid_out = (
            replace(found, seconds=max(0.0, found.seconds - waiting.seconds.get(found.encoder, 0.0)))
            for found in maps.encoders
        )
        maps, key = replace(maps, encoders=tuple(laid_out)), key_of(maps)
        with self._lock:
            self._maps[key], self._kinds[key] = maps, wanted.kind
            self._maps.move_to_end(key)
            while len(self._maps) > 1 and self._too_much():
                self._kinds.pop(self._maps.popitem(last=False)[0])
        return key, maps

    def _too_much(self) -> bool:
        held = sum(len(maps.corpus.sentences) for maps in self._maps.values())
        return len(self._maps) > _KEPT or held > _SENTENCES_KEPT

    def begin(self, session: str, job: MapJob) -> None:
        """Notes the job of a browser; an earlier one of the same browser is stopped."""
        with self._lock:
            earlier = self._jobs.get(session)
            if earlier is not None:
                earlier.stop(replaced=True)
            self._jobs[session] = job

    def end(self, session: str, job: MapJob) -> None:
        """Forgets a job that has ended."""
        with self._lock:
            if self._jobs.get(session) is job:
                del self._jobs[session]

    def stop(self, session: str) -> None:
        """Stops the job of a browser, if it has one."""
        with self._lock:
            job = self._jobs.get(session)
        if job is not None:
            job.stop()

    def corpus(self, wanted: Wanted) -> Cleaned:
        """Returns the sentences asked for, cleaned and capped."""
        from explorer.data.contents import still_here
        from explorer.operations.map_corpus import file_corpus, lines_corpus, sample_corpus

        most, seed = whole(wanted.most, "The number of sentences"), whole(wanted.seed, "The seed")
        if not 1 <= most <= self.caps[-1]:
            raise SettingError(f"A map of {most:,} sentences was asked for; on this page use 1 to {self.caps[-1]:,}.")
        if wanted.kind == LINES:
            return lines_corpus(wanted.text, most, seed)
        if wanted.kind == FILE:
            if not wanted.file:
                raise SettingError("No file is here yet; upload one: .txt, .csv, .tsv, .jsonl or .parquet.")
            return file_corpus(still_here(wanted.file), wanted.column or None, wanted.label or None, most, seed)
        return sample_corpus(most, seed)

    def find(self, key: str | None) -> Maps:
        """Returns maps that are still in memory.

        Raises:
            SettingError: They are not.
        """
        with self._lock:
            maps = self._maps.get(key or "")
            if maps is None:
                raise SettingError("These maps were put away meanwhile; draw them once more.")
            self._maps.move_to_end(key or "")
            return maps

    def kind(self, key: str | None) -> str | None:
        """Returns whether maps are of the sample, of a file or of pasted lines; None if they are not in memory."""
        with self._lock:
            return self._kinds.get(key or "")

    def payload(self, maps: Maps, *, vectors: bool = False) -> dict[str, Any]:
        """Returns what the linked maps show; see operations.map_payload."""
        from explorer.operations.map_payload import payload

        looks = {name: look.css_class for name, look in identities(self.registry.scan()[0]).items()}
        return payload(maps, looks, palette(), vectors=vectors)


def settings_of(wanted: Wanted) -> Any:
    """Returns the settings of the maps.

    Raises:
        SettingError: A field is empty or out of its range.
    """
    from explorer.analysis.projection import MapSettings, check_settings

    if wanted.min_dist is None:
        raise SettingError("min_dist is empty; use a number from 0 to 1.")
    return check_settings(
        MapSettings(
            wanted.method,  # type: ignore[arg-type]
            wanted.metric,  # type: ignore[arg-type]
            whole(wanted.neighbours, "n_neighbors"),
            wanted.min_dist,
            whole(wanted.seed, "The seed"),
        )
    )


def whole(value: object, what: str) -> int:
    """Returns a number from a field, or from a caller of the API, as a whole one.

    Raises:
        SettingError: It is empty, no number or not whole.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if value is None:
        raise SettingError(f"{what} is empty; use a whole number.")
    from explorer.data.frames import shown

    raise SettingError(f"{what} is {shown(value)}; use a whole number{', without quotes' * isinstance(value, str)}.")
