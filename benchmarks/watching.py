"""Prints what it costs the server that many browsers watch one live run: processor time, beside that of the idle server.

The run is a diary that gets a step a second, with its lock held, so nothing but the page works. The watchers send what the page's
own script sends, as often as the page is told to.

    python -m benchmarks.watching [--watchers 20] [--seconds 60]
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import brotli

from explorer.jobs import events, locks
from explorer.jobs.paths import JobPaths
from explorer.paths import ROOT

HEADERS = {"Content-Type": "application/json", "Accept-Encoding": "gzip, br"}
PARTS = ("history", "view", "plot", "papers")
WARM_UP = 20.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--watchers", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs, port = Path(folder) / "runs", free_port()
        over = threading.Event()
        threading.Thread(target=keep_alive, args=(runs / "live", over), daemon=True).start()
        environment = {**os.environ, "EXPLORER_RUNS": str(runs), "EXPLORER_CACHE": str(Path(folder) / "cache")}
        server = subprocess.Popen([sys.executable, "app.py", "--port", str(port)], cwd=ROOT, env=environment)
        try:
            wait_for(port)
            settle(server.pid)
            idle = share(server.pid, options.seconds)
            watching, looks = watched(server.pid, port, options.watchers, options.seconds)
        finally:
            over.set()
            server.terminate()
            server.wait(timeout=30)
    print(f"idle: {100 * idle:.2f} % of a core")
    print(f"{options.watchers} watchers: {100 * watching:.2f} % of a core, {looks} looks in {options.seconds:.0f} s")


def settle(pid: int, most: float = 180.0) -> None:
    """Waits until the encoders are loaded, which is when the server has little to do for some seconds."""
    end = time.monotonic() + most
    while share(pid, 5.0) > 0.05 and time.monotonic() < end:
        pass


def watched(pid: int, port: int, count: int, seconds: float) -> tuple[float, int]:
    """Returns the server's share of a core while so many watch, and how often they looked; sessions begin before."""
    component, function = poll_event(port)
    over, looks = threading.Event(), [0] * count
    threads = [
        threading.Thread(target=watch, args=(port, component, function, number, over, looks), daemon=True)
        for number in range(count)
    ]
    for thread in threads:
        thread.start()
        time.sleep(2.5 / count)
    time.sleep(WARM_UP)
    before = sum(looks)
    used = share(pid, seconds)
    after = sum(looks)
    over.set()
    return used, after - before


def watch(port: int, component: int, function: int, number: int, over: threading.Event, looks: list[int]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    seen: dict[str, str] = {"viewer": str(number), "job": ""}
    every = 2.5
    while not over.wait(every):
        body = {
            "data": [],
            "event_data": seen,
            "fn_index": function,
            "trigger_id": component,
            "session_hash": f"w{number}",
        }
        answer = ask(connection, "POST", "/gradio_api/run/predict", body)
        looks[number] += 1
        for name, value in zip(PARTS, answer["data"], strict=True):
            if isinstance(value, str):
                seen[name] = found(r'data-stamp="([^"]+)"', value)
                seen["job"] = found(r'<section[^>]* data-job="([^"]+)"', value) or seen["job"]
                every = float(found(r'data-busy="(\d+)"', value) or 1000 * every) / 1000
            elif "plot" in value:
                seen["plot"] = json.loads(value["plot"])["layout"]["meta"]["stamp"]


def poll_event(port: int) -> tuple[int, int]:
    """Returns the ids of the page's script and of the event with which it looks."""
    config = ask(http.client.HTTPConnection("127.0.0.1", port), "GET", "/config")
    bridge = next(c["id"] for c in config["components"] if c["props"].get("elem_id") == "train-bridge")
    return bridge, next(d["id"] for d in config["dependencies"] if [bridge, "poll"] in [list(t) for t in d["targets"]])


def ask(connection: http.client.HTTPConnection, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    sent = json.dumps(body) if body is not None else None
    for last in (False, True):
        try:
            connection.request(method, path, sent, HEADERS)
            response = connection.getresponse()
            content = response.read()
            break
        except (OSError, http.client.HTTPException):  # an idle connection is closed after a few seconds
            connection.close()
            if last:
                raise
    return json.loads(brotli.decompress(content) if response.getheader("Content-Encoding") == "br" else content)


def found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    return match.group(1) if match else ""


def keep_alive(folder: Path, over: threading.Event) -> None:
    folder.mkdir(parents=True)
    paths = JobPaths(folder)
    paths.config.write_text(json.dumps({"objective": "sts", "pooling": "cnn", "seed": 42}), encoding="utf-8")
    file = locks.take(paths.lock)
    for kind in ("queued", "started"):
        events.append(folder, kind, device="cpu", pid=os.getpid())
    step = 0
    while not over.wait(1.0):
        step += 1
        facts = {"loss": 1 / step, "learning_rate": 1e-5, "sentences_per_second": 80.0, "memory_mb": 900.0}
        events.append(folder, "step", step=step, steps=1000, eta_seconds=float(1000 - step), **facts)
        if step % 10 == 0:
            events.append(folder, "dev", step=step, spearman=1 - 1 / step)
    if file is not None:
        os.close(file)


def share(pid: int, seconds: float) -> float:
    before, began = processor_seconds(pid), time.monotonic()
    time.sleep(seconds)
    return (processor_seconds(pid) - before) / (time.monotonic() - began)


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def wait_for(port: int, seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise SystemExit("the app did not answer")


if __name__ == "__main__":
    main()
