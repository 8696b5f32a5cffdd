"""Lays out maps in one child process that is kept warm, so that the page is never blocked; one map after the other.

A fit is stopped between two of its rounds, and the process lives on; only where it does not come to that soon it is ended, and
a new one started, which has to compile again.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import logging
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer import errors
from explorer.analysis.projection import (
    FEWEST_FOR_UMAP,
    MapSettings,
    Method,
    Projection,
    check_settings,
    project,
)
from explorer.paths import ROOT

LOG = logging.getLogger("explorer")
# Called with what is going on ("wait", "start", "graph" or "map") and, for "map", rounds done and in all; may raise to stop.
Report = Callable[[str, int, int], None]
# Seconds between two looks at whether somebody wants it to stop.
_LOOK = 0.2
# Seconds until a fit that was stopped has to give way: the search for neighbours hears nothing.
_GRACE = 8.0
_LAST = ("done", "stopped", "refused", "failed")


class MapWorker:
    """The child process, started when it is first needed. Safe to share between threads."""

    def __init__(self) -> None:
        self._fitting = threading.Lock()
        self._changing = threading.Lock()
        self._child: _Child | None = None
        atexit.register(self.close)

    def warm(self) -> None:
        """Starts the process and has it compile, without waiting for it."""
        self._ready()

    def fit(self, vectors: NDArray[np.float32], settings: MapSettings, report: Report) -> Projection:
        """Returns the map of (n, H) float32 vectors; PCA is made here at once, UMAP in the process.

        Raises:
            DataError: See analysis.projection.project.
            ExplorerError: The process ended before it was done.
        """
        chosen = check_settings(settings)
        if chosen.method is Method.PCA or len(vectors) < FEWEST_FOR_UMAP:
            return project(vectors, chosen)
        while not self._fitting.acquire(timeout=_LOOK):
            report("wait", 0, 0)
        try:
            child = self._ready()
            number = child.ask(chosen, vectors)
            try:
                return _receive(child, number, chosen, report)
            except BaseException as error:
                if not child.alive or not (isinstance(error, errors.ExplorerError) or _gives_way(child, number)):
                    child.end()
                    self._ready()
                raise
        finally:
            self._fitting.release()

    def close(self) -> None:
        """Ends the process."""
        with self._changing:
            if self._child is not None:
                self._child.end()
                self._child = None

    def _ready(self) -> _Child:
        with self._changing:
            if self._child is None or not self._child.alive:
                self._child = _Child()
                self._child.ask(None)
            return self._child


class _Child:
    """One process and the answers it has given."""

    def __init__(self) -> None:
        self.warm = False
        self.answers: queue.Queue[tuple[dict[str, Any], bytes] | None] = queue.Queue()
        self._number = 0
        self._writing = threading.Lock()
        # Its errors go where the app's go.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "explorer.operations.map_child"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, settings: MapSettings | None, vectors: NDArray[np.float32] | None = None) -> int:
        """Sends a request, without waiting until it is read; returns its number."""
        self._number += 1
        request: dict[str, Any] = {"id": self._number, "settings": None if settings is None else asdict(settings)}
        content = b""
        if vectors is not None:
            request["shape"] = vectors.shape
            content = np.ascontiguousarray(vectors, dtype=np.float32).tobytes()
        self._send(json.dumps(request).encode() + b"\n" + content)
        return self._number

    def stop(self, number: int) -> None:
        """Says that nobody wants a request any more; its last answer still comes."""
        self._send(json.dumps({"stop": number}).encode() + b"\n")

    def _send(self, message: bytes) -> None:
        # A pipe holds little, and the process is slow to read while it compiles.
        threading.Thread(target=self._write, args=(message,), daemon=True).start()

    def _write(self, message: bytes) -> None:
        assert self._process.stdin is not None
        with self._writing, contextlib.suppress(OSError, ValueError):  # it was ended meanwhile
            self._process.stdin.write(message)
            self._process.stdin.flush()

    def end(self) -> None:
        """Ends the process, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        # Whatever is still being sent fails now that nobody reads it.
        with self._writing, contextlib.suppress(OSError):
            self._process.stdin.close()

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        with stream:
            # A line without an end is what a process that was ended had got out.
            while (line := stream.readline()).endswith(b"\n"):
                answer = json.loads(line)
                expected = 16 * answer["n"] if answer["kind"] == "done" else 0
                content = stream.read(expected)
                if len(content) < expected:
                    break
                self.warm = True
                self.answers.put((answer, content))
        self.answers.put(None)


def _receive(child: _Child, number: int, settings: MapSettings, report: Report) -> Projection:
    """Waits for the answer to a request; passes on what comes before."""
    at = ("graph" if child.warm else "start", 0, 0)
    while True:
        report(*at)
        try:
            found = child.answers.get(timeout=_LOOK)
        except queue.Empty:
            if at[0] == "start" and child.warm:
                at = ("graph", 0, 0)
            continue
        if found is None:
            raise errors.ExplorerError("The process that lays out maps ended unexpectedly; draw the maps once more.")
        answer, content = found
        if answer["id"] != number:
            at = ("graph", 0, 0)
        elif answer["kind"] == "at":
            at = ("map", answer["done"], answer["total"])
        elif answer["kind"] == "done":
            return _projection(answer, content, settings)
        elif answer["kind"] == "refused":
            raise getattr(errors, answer["name"], errors.ExplorerError)(answer["message"])
        else:
            LOG.error("A map could not be laid out:\n%s", answer["message"])
            raise errors.ExplorerError("The map could not be laid out; the details are in the program's log.")


def _gives_way(child: _Child, number: int) -> bool:
    """Stops a request; returns whether the process is free for another one, or soon will be."""
    child.stop(number)
    until = time.monotonic() + _GRACE
    # While it compiles it has not begun, and will leave the request out.
    while child.warm and time.monotonic() < until:
        try:
            found = child.answers.get(timeout=_LOOK)
        except queue.Empty:
            continue
        if found is None:
            return False
        if found[0]["id"] == number and found[0]["kind"] in _LAST:
            return True
    return not child.warm


def _projection(answer: dict[str, Any], content: bytes, settings: MapSettings) -> Projection:
    explained = answer["explained"]
    return Projection(
        points=np.frombuffer(content, dtype=np.float64).reshape(-1, 2).copy(),
        settings=settings,
        method=Method(answer["method"]),
        neighbours=answer["neighbours"],
        explained=(explained[0], explained[1]) if explained else None,
        zero=tuple(answer["zero"]),
        notes=tuple(answer["notes"]),
    )
