"""A Hugging Face hub on 127.0.0.1 that serves folders as repositories, and can misbehave. For tests; knows no other host.

Use the fixture `hub` (its module is listed in conftest.py): hub.add("owner/name", folder), then hub.here() in this process
or hub.environment() for a new one.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest


@dataclass
class Repository:
    """A folder served under an id, and what is wrong with it."""

    folder: Path
    kind: str = "model"
    gated: bool = False
    # Listed files that are not there when they are asked for.
    missing: set[str] = field(default_factory=set)
    # Files whose connection is cut after so many bytes, so many times.
    cut: dict[str, tuple[int, int]] = field(default_factory=dict)

    def files(self) -> dict[str, Path]:
        return {path.relative_to(self.folder).as_posix(): path for path in self.folder.rglob("*") if path.is_file()}

    @property
    def commit(self) -> str:
        names = [f"{name} {path.stat().st_size}" for name, path in sorted(self.files().items())]
        return hashlib.sha1("\n".join(names).encode()).hexdigest()


class LoopbackHub:
    """A running hub.

    Args:
        home: Folder for the hub's own cache, in place of the person's.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self.repositories: dict[str, Repository] = {}
        # Method, path and Range header of every request.
        self.requests: list[tuple[str, str, str]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def add(self, name: str, folder: Path, **kwargs: Any) -> Repository:
        """Serves a folder as owner/name; keyword arguments are those of Repository."""
        self.repositories[name] = Repository(folder, **kwargs)
        return self.repositories[name]

    def environment(self) -> dict[str, str]:
        """Returns the environment for a new process that is to use this hub and no other."""
        mine = {"HF_ENDPOINT": self.url, "HF_HOME": str(self.home), "HF_HUB_OFFLINE": "0"}
        return {**os.environ, **mine, "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_XET": "1"}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    """A hub for this process; huggingface_hub asks it alone, and the project's cache is a new folder."""
    from huggingface_hub import constants

    served = LoopbackHub(tmp_path / "hf-home")
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setenv("EXPLORER_CACHE", str(tmp_path / "explorer-cache"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", True)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "ENDPOINT", served.url)
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", served.url + "/{repo_id}/resolve/{revision}/{filename}"
    )
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(served.home / "hub"))
    yield served
    served.close()


@pytest.fixture
def hub_encoder(hub: LoopbackHub, tmp_path: Path, tiny_encoder: Callable[[str, str], Any]) -> str:
    """The id of a tiny encoder with average pooling on the hub."""
    folder = tmp_path / "served-encoder"
    tiny_encoder("bert", "mean").save(str(folder), create_model_card=False)
    hub.add("tiny-lab/mean-encoder", folder)
    return "tiny-lab/mean-encoder"


@pytest.fixture
def hub_backbone(hub: LoopbackHub, tiny_backbone: Callable[[str], Path]) -> str:
    """The id of a tiny plain ALBERT on the hub."""
    hub.add("tiny-lab/plain_albert", tiny_backbone("albert"))
    return "tiny-lab/plain_albert"


def _handler(hub: LoopbackHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_HEAD(self) -> None:
            self._serve(body=False)

        def do_GET(self) -> None:
            self._serve(body=True)

        def _serve(self, body: bool) -> None:
            path = unquote(urlsplit(self.path).path)
            hub.requests.append((self.command, path, self.headers.get("Range") or ""))
            parts = path.strip("/").split("/")
            if parts[0] == "api" and len(parts) >= 4:
                return self._describe("/".join(parts[2:4]), parts[1].removesuffix("s"), body)
            if parts[0] == "datasets":
                parts = parts[1:]
            if len(parts) > 4 and parts[2] == "resolve":
                return self._send("/".join(parts[:2]), "/".join(parts[4:]), body)
            return self._refuse(404, "EntryNotFound", body)

        def _find(self, name: str, body: bool) -> Repository | None:
            repository = hub.repositories.get(name)
            if repository is None:
                self._refuse(401, "RepoNotFound", body)
            elif repository.gated:
                self._refuse(403, "GatedRepo", body)
            else:
                return repository
            return None

        def _describe(self, name: str, kind: str, body: bool) -> None:
            repository = hub.repositories.get(name)
            if repository is None or repository.kind != kind:
                return self._refuse(401, "RepoNotFound", body)
            files = [
                {"rfilename": key, "size": path.stat().st_size} for key, path in sorted(repository.files().items())
            ]
            facts = {"id": name, "modelId": name, "sha": repository.commit, "siblings": files, "private": False}
            return self._answer(200, json.dumps(facts).encode(), {"Content-Type": "application/json"}, body)

        def _send(self, name: str, file: str, body: bool) -> None:
            repository = self._find(name, body)
            if repository is None:
                return None
            path = repository.files().get(file)
            if path is None or file in repository.missing:
                return self._refuse(404, "EntryNotFound", body)
            content = path.read_bytes()
            headers = {"ETag": f'"{hashlib.sha256(content).hexdigest()}"', "X-Repo-Commit": repository.commit}
            first = int((self.headers.get("Range") or "bytes=0-")[6:].split("-")[0])
            if first:
                headers["Content-Range"] = f"bytes {first}-{len(content) - 1}/{len(content)}"
            limit, times = repository.cut.get(file, (0, 0))
            if body and times:
                repository.cut[file] = limit, times - 1
                return self._cut(200 if not first else 206, content[first:], headers, limit)
            return self._answer(206 if first else 200, content[first:], headers, body)

        def _cut(self, status: int, content: bytes, headers: dict[str, str], limit: int) -> None:
            """Promises all of it, sends a part, and hangs up."""
            self.send_response(status)
            for key, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(content[:limit])
            self.wfile.flush()
            self.close_connection = True

        def _refuse(self, status: int, code: str, body: bool) -> None:
            return self._answer(status, b"{}", {"X-Error-Code": code, "X-Error-Message": code}, body)

        def _answer(self, status: int, content: bytes, headers: dict[str, str], body: bool) -> None:
            self.send_response(status)
            for key, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(key, value)
            self.end_headers()
            if body:
                self.wfile.write(content)

    return Handler
