"""Makes the README's pictures: starts the app on a free port and photographs it in headless Chromium.

python scripts/screenshots.py [--out assets/screenshots] [--chromium /usr/bin/chromium] [--data DATA] [--tabs evaluate]
"""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDTHS = {1280: 860, 390: 844}
SCORED = "document.querySelectorAll('.card').length > 0 && !document.querySelector('.card.empty')"


@contextmanager
def running_app(data: Path | None = None, seconds: float = 60) -> Iterator[str]:
    """Yields the address of an app started for the occasion; ends it afterwards.

    Args:
        data: Folder of evaluation data; None for none.
        seconds: How long it may take to start.

    Raises:
        RuntimeError: It did not answer in time.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, str(ROOT / "app.py"), "--port", str(port), *(["--data", str(data)] if data else [])]
    process = subprocess.Popen(command, cwd=ROOT)
    try:
        yield _wait(f"http://127.0.0.1:{port}", process, time.monotonic() + seconds)
    finally:
        process.terminate()
        process.wait(timeout=10)


def _wait(address: str, process: subprocess.Popen[bytes], deadline: float) -> str:
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return address
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError(f"The app did not answer at {address}.")


# What each picture shows: the tab to open, and the element that is there once the tab is filled.
TABS = {
    "compare": ("Compare", ".card"),
    "filters": ("Filters", "#layers-plot .heatmaplayer"),
    "map": ("Map", ".map-face canvas"),
    "evaluate": ("Evaluate", "#evaluate"),
    "train": ("Train", "#train-history [data-stamp]"),
}

# Tabs whose first screen is shown from further down than the page's top.
AT_TOP = {"map": ".map-tools", "evaluate": "#evaluate-parts"}
SCROLL = "(element) => window.scrollTo(0, element.getBoundingClientRect().top + window.scrollY - 16)"


def photograph(
    browser: Browser, address: str, tab: str, mode: str, width: int, path: Path, *, whole: bool = False
) -> None:
    """Writes a picture of a tab's first screen, or of the whole page, once every card has its score.

    Args:
        browser: Chromium.
        address: Of the running app.
        tab: A key of TABS.
        mode: "light" or "dark".
        width: Of the window, in CSS pixels.
        path: Where the png goes.
        whole: Whether to take the page to its end.
    """
    page = browser.new_page(
        viewport={"width": width, "height": WIDTHS[width]},
        color_scheme="dark" if mode == "dark" else "light",
        device_scale_factor=1.5 if width > 800 else 2,
    )
    page.goto(address)
    page.wait_for_function(SCORED, timeout=180_000)
    title, filled = TABS[tab]
    _open_tab(page, title)
    page.locator(filled).first.wait_for(timeout=180_000)
    if tab == "evaluate":
        _evaluate(page)
    if tab in AT_TOP and not whole:
        page.locator(AT_TOP[tab]).evaluate(SCROLL)
    page.wait_for_timeout(1000)
    page.screenshot(path=path, full_page=whole)
    page.close()


def _evaluate(page: Page) -> None:
    """Scores every encoder on STSb, if the app has the data."""
    page.wait_for_timeout(1000)
    if "No folder of evaluation data" in page.locator("#evaluate-status").inner_text():
        return
    page.locator("#evaluate").click()
    page.locator("#evaluate-status", has_text="done in").wait_for(timeout=600_000)
    page.locator("#evaluate-scores table").wait_for()


def _open_tab(page: Page, title: str) -> None:
    tab = page.locator("#tabs").get_by_role("tab", name=title, exact=True)
    if tab.count():
        tab.first.click()
    else:  # on a narrow screen the last tabs are in a menu
        page.locator("#tabs").get_by_label("More tabs").first.click()
        page.locator("#tabs .overflow-dropdown").get_by_text(title, exact=True).click()


def main() -> None:
    """Reads the command line and takes every picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=ROOT / "assets" / "screenshots")
    parser.add_argument("--chromium", default=None, help="path of the browser (default: Playwright's own)")
    parser.add_argument("--whole", action="store_true", help="photograph the page to its end, not the first screen")
    parser.add_argument("--data", type=Path, help="folder of evaluation data, for scores in the tab Evaluate")
    parser.add_argument("--tabs", default=",".join(TABS), help="which tabs, by commas (all)")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with running_app(options.data) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=options.chromium, args=FLAGS)
        for mode in ("light", "dark"):
            for width, tab in product(WIDTHS, options.tabs.split(",")):
                path = options.out / f"{tab}-{mode}-{width}.png"
                photograph(browser, address, tab, mode, width, path, whole=options.whole)
        browser.close()


if __name__ == "__main__":
    main()
