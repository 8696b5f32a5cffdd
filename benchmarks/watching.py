"""Prints what it costs the server that many browsers watch one live run: processor time, beside that of the idle server.

The run is a diary that gets a step a second, with its lock held, so nothing but the page works. The watchers send what the page's
own script sends, when the page's would: every so often by the clock, give or take the quarter of a second it looks at it in.
A process may be charged for waking up far more than for what it does then, as on a virtual machine; how much is printed.

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
from urllib.parse import urlencode

import brotli

from explorer.jobs import events, locks
from explorer.jobs.paths import JobPaths
from explorer.paths import ROOT
from explorer.ui import train_news

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
            waking = wake_up_microseconds()
            idle = share(server.pid, options.seconds)
            watching, looks = watched(server.pid, port, options.watchers, options.seconds)
        finally:
            over.set()
            server.terminate()
            server.wait(timeout=30)
    print(f"to wake up after 50 ms of sleep costs {waking:.0f} microseconds here")
    print(f"idle: {100 * idle:.2f} % of a core")
    print(f"{options.watchers} watchers: {100 * watching:.2f} % of a core, {looks} looks in {options.seconds:.0f} s")


def settle(pid: int, most: float = 180.0) -> None:
    """Waits until the encoders are loaded, which is when the server has little to do for some seconds."""
    end = time.monotonic() + most
    while share(pid, 5.0) > 0.05 and time.monotonic() < end:
        pass


def watched(pid: int, port: int, count: int, seconds: float) -> tuple[float, int]:
    """Returns the server's share of a core while so many watch, and how often they looked; sessions begin before."""
    key = news_key(port)
    over, looks = threading.Event(), [0] * count
    threads = [
        threading.Thread(target=watch, args=(port, key, number, over, looks), daemon=True) for number in range(count)
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


def watch(port: int, key: str, number: int, over: threading.Event, looks: list[int]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    seen = {"viewer": str(number), "job": "", **dict.fromkeys(("history", "view", "plot", "papers"), "")}
    every = 2.5
    while not over.wait(every - time.time() % every + 0.25 * number / len(looks)):
        news = ask(connection, f"{train_news.PATH}?{urlencode(seen)}", {train_news.KEY_HEADER: key})
        looks[number] += 1
        for name, part in (("history", "history"), ("job", "view"), ("papers", "papers")):
            if name in news:
                seen[part] = found(r'data-stamp="([^"]+)"', news[name])
                seen["job"] = found(r'<section[^>]* data-job="([^"]+)"', news[name]) or seen["job"]
                every = float(found(r'data-busy="(\d+)"', news[name]) or 1000 * every) / 1000
        if "plot" in news:
            seen["plot"] = news["plot"]["layout"]["meta"]["stamp"]


def news_key(port: int) -> str:
    """Returns the key with which the page's script asks for news."""
    config = ask(http.client.HTTPConnection("127.0.0.1", port), "/config", {})
    script = next(c["props"]["js_on_load"] for c in config["components"] if c["props"].get("elem_id") == "train-bridge")
    return found(rf"'{train_news.KEY_HEADER}': '([^']+)'", script)


def ask(connection: http.client.HTTPConnection, path: str, headers: dict[str, str]) -> Any:
    for last in (False, True):
        try:
            connection.request("GET", path, headers={**headers, "Accept-Encoding": "gzip, br"})
            response = connection.getresponse()
            content = response.read()
            break
        except (OSError, http.client.HTTPException):  # an idle connection is closed after a few seconds
            connection.close()
            if last:
                raise
    if response.status != http.client.OK:
        raise SystemExit(f"the server answered {response.status} to {path}")
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


def wake_up_microseconds(times: int = 100, seconds: float = 0.05) -> float:
    """Returns the processor time that this process is charged for sleeping a little and doing nothing."""
    before = time.process_time()
    for _ in range(times):
        time.sleep(seconds)
    return 1e6 * (time.process_time() - before) / times


def share(pid: int, seconds: float) -> float:
    before, began = processor_seconds(pid), time.monotonic()
    time.sleep(seconds)
    return (processor_seconds(pid) - before) / (time.monotonic() - began)


def processor_seconds(pid: int) -> float:
    return time.clock_gettime((~pid << 3) | 2)  # that process's own clock, on Linux


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
