"""Where training may not be, the server refuses: the page's own handlers, the private endpoints and the public ones."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import gradio as gr
import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from explorer.encoders.registry import Registry
from explorer.training.export import save_encoder
from explorer.ui import app, train, train_news
from explorer.ui.page import Page
from explorer.ui.train_allowed import training_allowed
from tests.ui.train_helpers import QuietJobs, finished

SECRET_RUN = "a-run-of-mine"
PUBLIC = ("train", "training_runs", "training_run", "stop_training")
# What a refused handler may still answer: nothing new, or a component's own state.
WORDS = "Training is switched off on this page."


@pytest.fixture
def folder(tmp_path: Path, tiny_encoder: Callable, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EXPLORER_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(train, "Jobs", QuietJobs)
    save_encoder(tiny_encoder("bert", "mean"), tmp_path / "checkpoints" / "bert-mean", {})
    finished(tmp_path / "runs", SECRET_RUN, 0.7)
    return tmp_path


@contextmanager
def served(folder: Path, **how: bool) -> Iterator[tuple[str, gr.Blocks]]:
    """The tab alone, on a server."""
    with gr.Blocks() as blocks, gr.Tab("Train") as tab:
        train.build(Page(blocks, tab, Registry([folder / "checkpoints"]), **how))
    try:
        yield blocks.launch(prevent_thread_lock=True, quiet=True, **app.launch_settings())[1].rstrip("/"), blocks
    finally:
        blocks.close()


def state_of_disk(folder: Path) -> list[str]:
    return sorted(str(path) for path in (folder / "runs").rglob("*"))


def post(address: str, body: dict[str, Any]) -> str:
    """What the server answers to an event that the page sends; an error's text where it refuses that too."""
    request = urllib.request.Request(
        f"{address}/gradio_api/run/predict", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.read().decode()


def news(address: str, key: str, **seen: str) -> tuple[int, dict[str, Any]]:
    """What the route of news answers: its status and its json."""
    request = urllib.request.Request(
        f"{address}{train_news.PATH}?{urlencode(seen)}", headers={train_news.KEY_HEADER: key}
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def key_of(blocks: gr.Blocks) -> str:
    """The key that the page's script holds."""
    script = next(block.js_on_load for block in blocks.blocks.values() if block.elem_id == "train-bridge")
    return script.split(f"'{train_news.KEY_HEADER}': '")[1].split("'")[0]


def test_training_is_allowed_only_where_strangers_cannot_start_it(monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page(gr.Blocks(), gr.Tab(), Registry([]))
    assert training_allowed(page) is None
    assert "--demo" in str(training_allowed(Page(page.blocks, page.tab, page.registry, demo=True)))
    assert "EXPLORER_PASSWORD" in str(training_allowed(Page(page.blocks, page.tab, page.registry, shared=True)))
    monkeypatch.setenv("SPACE_ID", "someone/space")
    assert "Space" in str(training_allowed(page))


@pytest.mark.parametrize("how", [{"demo": True}, {"shared": True}, {}], ids=["demo", "shared", "space"])
def test_every_endpoint_refuses_over_http(folder: Path, monkeypatch: pytest.MonkeyPatch, how: dict[str, bool]) -> None:
    if not how:
        monkeypatch.setenv("SPACE_ID", "someone/space")
    before = state_of_disk(folder)
    with served(folder, **how) as (address, blocks):
        told = {"job": SECRET_RUN, "what": "delete", "text": "other"}
        for number, function in blocks.fns.items():
            values = [getattr(component, "value", None) for component in function.inputs]
            body = {"data": values, "event_data": told, "fn_index": number, "session_hash": "x", "trigger_id": None}
            answer = post(address, body)
            assert SECRET_RUN not in answer, function
            assert "is started" not in answer
        status, said = news(address, key_of(blocks), job=SECRET_RUN)
        assert (status, list(said)) == (403, ["error"])
        assert WORDS in said["error"]
        for name in PUBLIC:
            arguments = {"id": SECRET_RUN} if name in ("training_run", "stop_training") else {}
            with pytest.raises(AppError, match=WORDS):
                Client(address, verbose=False).predict(api_name=f"/{name}", **arguments)
    assert state_of_disk(folder) == before


def test_where_it_is_allowed_the_same_calls_work(folder: Path) -> None:
    with served(folder) as (address, blocks):
        poll = next(n for n, f in blocks.fns.items() if [e for _, e in f.targets] == ["poll"])
        assert SECRET_RUN in post(address, {"data": [], "event_data": {}, "fn_index": poll, "session_hash": "x"})
        client = Client(address, verbose=False)
        (made,) = client.predict(settings={"epochs": 1}, seeds=1, api_name="/train")
        assert made == "classroom-1"
        assert [run["id"] for run in client.predict(api_name="/training_runs")] == [made, SECRET_RUN]
        shown = client.predict(made, api_name="/training_run")
        assert (shown["state"], shown["settings"]["epochs"], shown["settings"]["objective"]) == ("lost", 1, "sts")
        assert shown["command"].startswith("python -m explorer train")
        for bad, words in (({"preset": "no"}, "no preset"), ({"source": "upload"}, "source"), ({"name": "/x"}, "name")):
            with pytest.raises(AppError, match=words):
                client.predict(**bad, api_name="/train")
        with pytest.raises(AppError, match="ended already"):
            client.predict(made, api_name="/stop_training")
        named = client.view_api(return_format="dict", print_info=False)["named_endpoints"]
    assert set(named) == {f"/{name}" for name in PUBLIC}


def test_news_are_what_the_page_lacks_and_only_for_who_has_the_key(folder: Path) -> None:
    with served(folder) as (address, blocks):
        for wrong in ("", "x", key_of(blocks)[:-1]):
            status, said = news(address, wrong, job=SECRET_RUN)
            assert (status, list(said)) == (403, ["error"])
        status, told = news(address, key_of(blocks))
        assert (status, set(told)) == (200, {"history", "job", "papers", "plot"})
        assert f'data-job="{SECRET_RUN}"' in told["job"]
        stamps = {name: told[name].split('data-stamp="')[1].split('"')[0] for name in ("history", "job", "papers")}
        seen = {"history": stamps["history"], "view": stamps["job"], "papers": stamps["papers"], "job": SECRET_RUN}
        assert set(news(address, key_of(blocks), **seen)[1]) == {"plot"}
        stamp = told["plot"]["layout"]["meta"]["stamp"]
        assert news(address, key_of(blocks), **seen, plot=stamp)[1] == {}


@pytest.fixture
def how_served(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What `serve` builds and launches the page with, without a server."""
    seen: dict[str, Any] = {}

    class Served:
        def launch(self, **settings: Any) -> None:
            seen.update(settings)

        def block_thread(self) -> None:
            pass

    def build(*_: Any, **how: Any) -> Served:
        seen.update(how)
        return Served()

    monkeypatch.setattr(app, "build_app", build)
    monkeypatch.setattr(app, "warm_up", lambda registry: None)
    for name in ("EXPLORER_PASSWORD", "GRADIO_SERVER_NAME", "SPACE_ID"):
        monkeypatch.delenv(name, raising=False)
    return seen


@pytest.mark.parametrize(
    ("share", "password", "shared"), [(True, "", True), (True, "words", False), (False, "", False)]
)
def test_a_password_guards_the_page_and_lets_a_shared_one_train(
    how_served: dict[str, Any], monkeypatch: pytest.MonkeyPatch, share: bool, password: str, shared: bool
) -> None:
    monkeypatch.setenv("EXPLORER_PASSWORD", password)
    app.serve(host=None, port=None, share=share, demo=False, data=None)
    assert how_served["shared"] is shared
    assert how_served.get("auth") == (("explorer", password) if password else None)


@pytest.mark.parametrize(
    ("host", "named", "shared"),
    [
        (None, "", False),
        ("localhost", "", False),
        ("127.0.0.1", "0.0.0.0", False),
        ("::1", "", False),
        ("0.0.0.0", "", True),
        ("::", "", True),
        ("my-machine", "", True),
        (None, "0.0.0.0", True),
    ],
)
@pytest.mark.parametrize("password", ["", "words"])
def test_a_page_for_other_machines_trains_only_behind_a_password(
    how_served: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    host: str | None,
    named: str,
    shared: bool,
    password: str,
) -> None:
    monkeypatch.setenv("GRADIO_SERVER_NAME", named)
    monkeypatch.setenv("EXPLORER_PASSWORD", password)
    app.serve(host=host, port=None, share=False, demo=False, data=None)
    assert how_served["shared"] is (shared and not password)


@pytest.mark.parametrize("space", [True, False])
def test_a_space_is_public_however_it_is_started(
    how_served: dict[str, Any], monkeypatch: pytest.MonkeyPatch, space: bool
) -> None:
    if space:
        monkeypatch.setenv("SPACE_ID", "someone/space")
    app.serve(host=None, port=None, share=False, demo=False, data=None)
    assert how_served["demo"] is space
