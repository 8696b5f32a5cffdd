"""The process that lays out maps: reads a request a line from standard input, writes its progress and the map to standard output.

It stays alive between maps, since UMAP compiles for some ten seconds before its first one. Started by map_worker.py.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback
from typing import Any, BinaryIO

import numpy as np

from explorer.analysis.projection import MapSettings, Method, Projection, project
from explorer.errors import ExplorerError

# So many random rows are laid out to have everything compiled.
_WARM_ROWS = 60


def main() -> None:
    """Serves requests until standard input ends."""
    # Whatever a library prints must not get between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with contextlib.suppress(OSError, AttributeError):  # the page goes first
        os.nice(2)
    with contextlib.suppress(BrokenPipeError):  # whoever asked is gone
        while line := sys.stdin.buffer.readline():
            serve(json.loads(line), sys.stdin.buffer, answers)


def serve(request: dict[str, Any], rest: BinaryIO, answers: BinaryIO) -> None:
    """Answers one request.

    Args:
        request: id; settings, or None to get warm; shape of the float32 vectors that follow.
        rest: Where the vectors come from.
        answers: Where json lines go, the last one of kind "done", followed by the points, "refused" or "failed".
    """

    def say(kind: str, **facts: Any) -> None:
        answers.write(json.dumps({"id": request["id"], "kind": kind, **facts}).encode() + b"\n")
        answers.flush()

    try:
        if request["settings"] is None:
            rows = np.random.default_rng(0).standard_normal((_WARM_ROWS, 8))
            project(rows, MapSettings(Method.UMAP), lambda done, total: None)
            say("warm")
            return
        shape = request["shape"]
        vectors = np.frombuffer(rest.read(4 * shape[0] * shape[1]), dtype=np.float32).reshape(shape)
        found = project(
            vectors, MapSettings(**request["settings"]), lambda done, total: say("at", done=done, total=total)
        )
        say("done", **facts_of(found))
        answers.write(found.points.tobytes())
        answers.flush()
    except BrokenPipeError:
        raise
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
