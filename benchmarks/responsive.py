"""Draws maps of a large upload in one browser while pairs are scored in another: how long those take, beside the idle page.

Both work on the app as it is served, with an empty cache. A ratio of 1 means that who scores a pair does not notice the maps.

    python -m benchmarks.responsive --data ../shared/data [--sentences 20000] [--method umap]
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from benchmarks.watching import free_port, settle, wait_for
from explorer.paths import ROOT

TABLES = ("stsb/train", "stsb/dev", "stsb/test", "snli/dev", "snli/test")
CHROMIUM = os.environ.get("EXPLORER_CHROMIUM") or "/usr/bin/chromium"
PATIENCE = 180_000  # milliseconds
IDLE_PAIRS = 15
COSINES = "[...document.querySelectorAll('.card output')].map((cosine) => cosine.innerText).join()"
CHANGED = f"(before) => {{ const now = {COSINES}; return now !== before && now.split(',').length >= 4; }}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True, help="folder with stsb/ and snli/")
    parser.add_argument("--sentences", type=int, default=20_000)
    parser.add_argument("--method", choices=("pca", "umap"), default="umap")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        upload = Path(folder) / "corpus.txt"
        lines = list(itertools.islice(sentences(options.data), options.sentences))
        upload.write_text("\n".join(lines) + "\n", encoding="utf-8")
        variables = {"EXPLORER_CACHE": f"{folder}/cache", "EXPLORER_RUNS": f"{folder}/runs", "HF_HUB_OFFLINE": "1"}
        port = free_port()
        command = [sys.executable, "app.py", "--port", str(port)]
        server = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **variables})
        try:
            wait_for(port)
            settle(server.pid)
            measure(f"http://127.0.0.1:{port}/", upload, len(lines), options.method)
        finally:
            server.terminate()
            server.wait(timeout=30)


def sentences(data: Path) -> Iterator[str]:
    """Yields every sentence of STSb and SNLI once."""
    seen: set[str] = set()
    for name in TABLES:
        with (data / f"{name}.tsv").open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                for sentence in (row["sentence1"], row["sentence2"]):
                    if sentence and sentence not in seen:
                        seen.add(sentence)
                        yield sentence


def measure(address: str, upload: Path, n: int, method: str) -> None:
    with sync_playwright() as playwright:
        browsers = [playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"]) for _ in range(2)]
        scoring, maps = (browser.new_page(viewport={"width": 1280, "height": 900}) for browser in browsers)
        wrong: list[str] = []
        for page in (scoring, maps):
            page.set_default_timeout(PATIENCE)
            page.on("pageerror", lambda error: wrong.append(str(error)))
        scoring.goto(address)
        scoring.locator(".card:not(.empty) output").first.wait_for()
        numbers = itertools.count()
        maps.goto(f"{address}?tab=map&most={n}")
        maps.locator(".map-face canvas").first.wait_for()
        choose(maps, upload, method)
        warm = [pair_seconds(scoring, next(numbers)) for _ in range(3 + IDLE_PAIRS)]
        idle = statistics.median(warm[3:])
        print(f"idle: {IDLE_PAIRS} pairs, median {idle:.3f} s, longest {max(warm[3:]):.2f} s", flush=True)
        begun = time.monotonic()
        maps.get_by_role("button", name="Draw the maps").click()
        while_busy(scoring, maps, numbers, begun, idle)
        print(f"page errors: {wrong or 'none'}")


def choose(page: Page, upload: Path, method: str) -> None:
    page.get_by_text("A file", exact=False).first.click()
    page.locator("#map-file input[type=file]").set_input_files(upload)
    page.locator("#map-file-said").get_by_text("different sentences").wait_for()
    print(page.locator("#map-file-said").inner_text())
    page.get_by_label(method.upper()).first.check()


def while_busy(scoring: Page, maps: Page, numbers: Iterator[int], begun: float, idle: float) -> None:
    """Scores one pair after the other until the maps are there, and prints how long they took in each phase."""
    phases: dict[str, list[float]] = {}
    ends: dict[str, float] = {}
    while " sentences on " not in (said := maps.locator("#map-status").inner_text()):
        phase = next(
            (name for name in ("Encoding", "UMAP", "Measuring", "Comparing") if said.startswith(name)), "between"
        )
        phases.setdefault(phase, []).append(pair_seconds(scoring, next(numbers)))
        ends[phase] = time.monotonic() - begun
    print(f"{time.monotonic() - begun:.1f} s: {said}")
    for phase, seconds in phases.items():
        middle = statistics.median(seconds)
        print(
            f"{phase:9} until {ends[phase]:6.1f} s: {len(seconds):4} pairs, median {middle:.3f} s, ratio {middle / idle:.2f}, "
            f"longest {max(seconds):.2f} s"
        )


def pair_seconds(page: Page, number: int) -> float:
    """Scores a pair that was never scored before; returns the seconds until every encoder's cosine is on the page."""
    before: Any = page.evaluate(f"() => {COSINES}")
    boxes = page.locator("textarea:visible")
    boxes.nth(0).fill(f"A man called number {number * 7919 % 1000} reads {number} books.")
    boxes.nth(1).fill(f"Someone eats {number * 31 % 17} apples on day {number}.")
    start = time.monotonic()
    page.locator("#score").click()
    page.wait_for_function(CHANGED, arg=before, polling=20)
    return time.monotonic() - start


if __name__ == "__main__":
    main()
