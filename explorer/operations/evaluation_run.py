"""One evaluation at a time in a thread of the server: anyone may look at it, it outlives a reload, and it can be stopped.

What was encoded before a stop stays in the cache, so the same evaluation started again goes on from there.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from explorer.data.sts_tasks import TASKS, tasks_here
from explorer.encoders.cache import EmbeddingCache
from explorer.encoders.folder import EncoderInfo
from explorer.encoders.registry import Registry
from explorer.errors import EncoderError, ExplorerError, SettingError
from explorer.operations.evaluate import evaluate
from explorer.operations.task_score import AnyScore, Subset

LOG = logging.getLogger("explorer")


class Phase(StrEnum):
    """Where an evaluation is."""

    IDLE = "idle"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    DONE = "done"
    FAILED = "failed"


ACTIVE = (Phase.RUNNING, Phase.STOPPING)


@dataclass(frozen=True)
class RunState:
    """An evaluation as it is now.

    Args:
        phase: See Phase.
        tasks: What was asked for, without what is left out.
        split: Likewise.
        encoders: Likewise.
        label: What is being done.
        done: Sentences looked up or encoded so far, all encoders together.
        total: In all; 0 while not known.
        seconds: Since the start, or from start to end.
        seconds_left: An estimate; None while there is no ground for one.
        scores: Every score since the server started, the newest of each encoder, task, split and subset; some may be of weights
            that have gone: see `current`.
        message: Why it failed, or why some of the encoders did; empty otherwise.
        left_out: Which tasks have no table here, in words; empty if none is missing.
        version: Rises with every new score.
    """

    phase: Phase = Phase.IDLE
    tasks: tuple[str, ...] = ()
    split: str = "test"
    encoders: tuple[str, ...] = ()
    label: str = ""
    done: int = 0
    total: int = 0
    seconds: float = 0.0
    seconds_left: float | None = None
    scores: tuple[AnyScore, ...] = ()
    message: str = ""
    left_out: str = ""
    version: int = 0

    @property
    def active(self) -> bool:
        """Whether something is being computed."""
        return self.phase in ACTIVE


class _Stop(Exception):
    """Raised inside the work to end it."""


class EvaluationRun:
    """The server's evaluation; share one among all visitors.

    Args:
        registry: Where the encoders are.
        data: Folder of evaluation data; None if there is none.
        cache: Of embeddings; None for the project's.
        public: Whether anyone may be asking: then nothing is written into the cache, and nobody stops what another started.
    """

    def __init__(
        self, registry: Registry, data: Path | None, cache: EmbeddingCache | None = None, *, public: bool = False
    ) -> None:
        self.registry = registry
        self.data = data
        self.cache = cache or EmbeddingCache(read_only=public)
        self.public = public
        self._state = RunState()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._started = 0.0
        self._work_started: tuple[float, int] | None = None
        self._thread: threading.Thread | None = None

    def state(self) -> RunState:
        """Returns the evaluation as it is now."""
        with self._lock:
            if not self._state.active:
                return self._state
            now = time.monotonic()
            return replace(self._state, seconds=now - self._started, seconds_left=self._left(now))

    def start(self, encoders: Sequence[str], tasks: Sequence[str], split: str = "test") -> RunState:
        """Starts an evaluation and returns at once; of several tasks, those without a table in the data folder are left out.

        Raises:
            SettingError: There is no data folder, nothing or an unknown task is chosen, or another evaluation is under way.
        """
        if self.data is None:
            raise SettingError("There is no folder of evaluation data; start with python app.py --data FOLDER.")
        if not encoders or not tasks:
            raise SettingError("Choose at least one encoder and one task.")
        unknown = [task for task in tasks if task not in TASKS]
        if unknown:
            raise SettingError(f"Unknown task {unknown[0]!r}; the tasks are {', '.join(TASKS)}.")
        with self._lock:
            if self._state.active:
                raise SettingError("An evaluation is under way; wait for it, or stop it first.")
            self._stop.clear()
            self._started, self._work_started = time.monotonic(), None
            here, left_out = tasks_here([TASKS[task] for task in tasks], split, self.data)
            names = tuple(task.name for task in here)
            asked = RunState(Phase.RUNNING, names, split, tuple(encoders), "Reading the tables", left_out=left_out)
            self._state = replace(asked, scores=self._state.scores, version=self._state.version)
            self._thread = threading.Thread(target=self._work, args=(self._state, self.data), daemon=True)
            self._thread.start()
        return self.state()

    def stop(self) -> RunState:
        """Asks the evaluation to end; what it has scored is kept.

        Raises:
            SettingError: In public mode.
        """
        if self.public:
            raise SettingError("In public mode an evaluation runs to its end, since others may be waiting for it.")
        with self._lock:
            if self._state.phase is Phase.RUNNING:
                self._stop.set()
                self._state = replace(self._state, phase=Phase.STOPPING)
        return self.state()

    def wait(self, seconds: float) -> RunState:
        """Returns the state after the evaluation has ended, or after so many seconds."""
        if self._thread is not None:
            self._thread.join(seconds)
        return self.state()

    def _work(self, asked: RunState, data: Path) -> None:
        failures, before = [], 0
        try:
            for number, encoder in enumerate(asked.encoders):
                try:
                    before += self._evaluate(asked, data, encoder, before, len(asked.encoders) - number)
                except EncoderError as error:
                    failures.append(str(error))
            self._end(Phase.FAILED if len(failures) == len(asked.encoders) else Phase.DONE, " ".join(failures))
        except _Stop:
            self._end(Phase.STOPPED)
        except ExplorerError as error:
            self._end(Phase.FAILED, str(error))
        except Exception as error:  # noqa: BLE001 - the edge of a thread: the page must be told that it ended
            LOG.error("Unexpected error in an evaluation", exc_info=error)
            self._end(Phase.FAILED, "Something went wrong that was not foreseen; the details are in the program's log.")

    def _evaluate(self, asked: RunState, data: Path, encoder: str, before: int, left: int) -> int:
        """Scores one encoder; returns how many sentences (a cross-encoder: pairs) it was asked for.

        Args:
            asked: What to do.
            data: The data folder.
            encoder: Its name.
            before: Sentences of the encoders before it.
            left: How many encoders are left, this one included; the others are taken to need as many sentences.
        """
        mine = 0

        def progress(label: str, done: int, total: int) -> None:
            nonlocal mine
            mine = total
            self._note(label, before + done, before + left * total)

        scores = evaluate(
            self.registry,
            data,
            tasks=asked.tasks,
            split=asked.split,
            encoders=[encoder],
            subsets=list(Subset),
            cache=self.cache,
            progress=progress,
        )
        for score in scores:
            self._check()
            with self._lock:
                known = _with(self._state.scores, score)
                self._state = replace(self._state, scores=known, version=self._state.version + 1)
        return mine

    def _note(self, label: str, done: int, total: int) -> None:
        self._check()
        with self._lock:
            if self._work_started is None:
                # What the cache holds takes no time, so the estimate counts from there.
                self._work_started = (time.monotonic(), done)
            self._state = replace(self._state, label=label, done=done, total=total)

    def _check(self) -> None:
        if self._stop.is_set():
            raise _Stop

    def _left(self, now: float) -> float | None:
        if self._work_started is None:
            return None
        since, before = self._work_started
        encoded = self._state.done - before
        if encoded <= 0 or now - since < 1:
            return None
        return (now - since) / encoded * (self._state.total - self._state.done)

    def _end(self, phase: Phase, message: str = "") -> None:
        with self._lock:
            seconds = time.monotonic() - self._started
            self._state = replace(self._state, phase=phase, message=message, label="", seconds=seconds)


def current(state: RunState, infos: Sequence[EncoderInfo]) -> RunState:
    """Returns the state with the scores of the encoders as they are now: those of weights that have gone are left out, and
    those of an encoder that has another name carry it.
    """
    names: dict[str, list[str]] = {}
    for info in infos:
        names.setdefault(info.weights_hash, []).append(info.name)
    kept: tuple[AnyScore, ...] = ()
    for score in state.scores:
        now = names.get(score.weights_hash, [])
        if now:
            kept = _with(kept, score if score.encoder in now else replace(score, encoder=now[0]))
    return replace(state, scores=kept)


def _with(scores: Sequence[AnyScore], new: AnyScore) -> tuple[AnyScore, ...]:
    """The scores with a new one in the place of the one it replaces, or at the end."""
    kept = {_key(score): score for score in scores}
    return tuple((kept | {_key(new): new}).values())


def _key(score: AnyScore) -> tuple[str, ...]:
    return score.encoder, score.task, score.split, score.subset
