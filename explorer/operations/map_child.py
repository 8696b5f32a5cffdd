"""The process that lays out maps: reads a request a line from standard input, writes its progress and the map to standard output.

It stays alive between maps, also when one is stopped, since UMAP compiles for some ten seconds before its first one. Started by
map_worker.py.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import sys
import threading
import traceback
from typing import Any, BinaryIO

import numpy as np

from explorer.analysis.projection import MapSettings, Method, Projection, project
from explorer.errors import ExplorerError

# So many random rows are laid out to have everything compiled.
_WARM_ROWS = 60


class _Stopped(Exception):
    """Raised inside a map that nobody wants any more."""


class Requests:
    """Reads what is asked in a thread of its own, so that "stop" is heard while a map is laid out.

    Args:
        source: A json line for each request, see `serve`, then its vectors; or a line with `stop`, the id of a request.
    """

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._stopped: set[int] = set()
        self._waiting: queue.Queue[tuple[dict[str, Any], bytes] | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def next(self) -> tuple[dict[str, Any], bytes] | None:
        """Returns the next request and the bytes that belong to it; None at the end."""
        return self._waiting.get()

    def stopped(self, number: int) -> bool:
        """Returns whether nobody wants that request any more."""
        return number in self._stopped

    def _read(self) -> None:
        while line := self._source.readline():
            request = json.loads(line)
            if "stop" in request:
                self._stopped.add(request["stop"])
            else:
                rows, width = request.get("shape", (0, 0))
                self._waiting.put((request, self._source.read(4 * rows * width)))
        self._waiting.put(None)


def main() -> None:
    """Serves requests until standard input ends."""
    # Whatever a library prints must not get between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with contextlib.suppress(OSError, AttributeError):  # the page goes first
        os.nice(2)
    requests = Requests(sys.stdin.buffer)
    with contextlib.suppress(BrokenPipeError):  # whoever asked is gone
        while found := requests.next():
            serve(*found, requests, answers)


def serve(request: dict[str, Any], content: bytes, requests: Requests, answers: BinaryIO) -> None:
    """Answers one request.

    Args:
        request: id; settings, or None to get warm; shape of the float32 vectors.
        content: The vectors.
        requests: Knows whether the request was stopped.
        answers: Where json lines go, the last one of kind "done", followed by the points, "stopped", "refused" or "failed".
    """

    def say(kind: str, **facts: Any) -> None:
        answers.write(json.dumps({"id": request["id"], "kind": kind, **facts}).encode() + b"\n")
        answers.flush()

    def at(done: int, total: int) -> None:
        if requests.stopped(request["id"]):
            raise _Stopped
        say("at", done=done, total=total)

    try:
        if request["settings"] is None:
            rows = np.random.default_rng(0).standard_normal((_WARM_ROWS, 8))
            project(rows, MapSettings(Method.UMAP), lambda done, total: None)
            say("warm")
            return
        if requests.stopped(request["id"]):
            raise _Stopped
        vectors = np.frombuffer(content, dtype=np.float32).reshape(request["shape"])
        found = project(vectors, MapSettings(**request["settings"]), at)
        say("done", **facts_of(found))
        answers.write(found.points.tobytes())
        answers.flush()
    except BrokenPipeError:
        raise
    except _Stopped:
        say("stopped")
    except ExplorerError as error:
        say("refused", name=type(error).__name__, message=str(error))
    except Exception:  # noqa: BLE001 - the edge of the process: the parent logs it
        say("failed", message=traceback.format_exc())


def facts_of(found: Projection) -> dict[str, Any]:
    """Returns a map's facts without its points, for json."""
    facts = {key: getattr(found, key) for key in ("method", "neighbours", "explained", "zero", "notes")}
    return facts | {"n": len(found.points)}


if __name__ == "__main__":
    main()
