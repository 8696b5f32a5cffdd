"""What a page that watches a run is told, by a route of its own: an event of gradio's costs the server ten times as much.

A page has the key of its tab, which is told only to those who may open it, so the route needs no login of its own.
"""

from __future__ import annotations

import json
import secrets
from weakref import WeakValueDictionary

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from explorer.errors import TrainingError
from explorer.ui import train_acts
from explorer.ui.train_live import Bench

PATH = "/train/news"
KEY_HEADER = "x-train-key"
_PARTS = ("history", "job", "papers")
_SEEN = ("viewer", "job", "history", "view", "plot", "papers")
_BENCHES: WeakValueDictionary[str, Bench] = WeakValueDictionary()


def open_news(bench: Bench) -> str:
    """Returns the key with which pages ask for news of these runs; it is valid while `bench` lives."""
    key = secrets.token_urlsafe(16)
    _BENCHES[key] = bench
    return key


def news_route() -> Route:
    """Returns the route, for the keyword `routes` of gradio's `app_kwargs`."""
    return Route(PATH, _answer)


def _answer(request: Request) -> Response:
    """The parts that changed, as a json object of their html; the figure, as plotly's json, under "plot".

    Status 403 without a valid key, or where there may be no training.
    """
    bench = _BENCHES.get(request.headers.get(KEY_HEADER, ""))
    if bench is None:
        return JSONResponse({"error": "The page is older than the server; load it again."}, 403)
    seen = {name: request.query_params.get(name, "")[:200] for name in _SEEN}
    try:
        live = train_acts.news(bench, seen)
    except TrainingError as error:
        return JSONResponse({"error": str(error)}, 403)
    parts = [f'"{name}":{json.dumps(html)}' for name in _PARTS if isinstance(html := getattr(live, name), str)]
    if (plot := getattr(live.plot, "plot", None)) is not None:
        parts.append(f'"plot":{plot}')
    return Response(f"{{{','.join(parts)}}}", media_type="application/json", headers={"Cache-Control": "no-store"})
