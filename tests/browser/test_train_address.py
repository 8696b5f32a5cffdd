# ruff: noqa: F811
"""The address of the tab Train names the run that is shown, also where the one it named is gone; without any run, none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.ui.test_train_allowed import folder, served  # noqa: F401 (a fixture)
from tests.ui.train_helpers import finished

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def test_the_address_follows_what_is_shown_in_the_place_of_a_run_that_is_gone(folder: Path, browser: Browser) -> None:
    for name in ("older", "newer"):
        finished(folder / "runs", name, 0.7)
    with served(folder) as (address, _):
        page = browser.new_page()
        page.goto(f"{address}/?tab=train&job=gone", wait_until="commit")
        page.locator("#train-job [data-job]").first.wait_for(timeout=60_000)
        shown = page.locator("#train-job [data-job]").first.get_attribute("data-job")
        page.wait_for_url(f"**job={shown}", timeout=30_000)
        other = "older" if shown != "older" else "newer"
        page.locator(f"[data-train=choose][data-job={other}]:visible").first.click()
        page.locator(f"#train-job [data-job={other}]").first.wait_for(timeout=30_000)
        page.wait_for_timeout(600)
        assert page.url.endswith(f"job={other}")
        page.close()


def test_the_address_names_no_run_where_none_is_left(folder: Path, browser: Browser) -> None:
    only = "a-run-of-mine"  # which the folder comes with
    with served(folder) as (address, _):
        page = browser.new_page()
        page.goto(f"{address}/?tab=train&job={only}", wait_until="commit")
        page.locator(f"#train-job [data-job={only}]").first.wait_for(timeout=60_000)
        page.wait_for_timeout(600)
        assert page.url.endswith(f"job={only}")
        page.locator("#train-job summary", has_text="Delete").click()
        page.locator("#train-job").get_by_role("button", name="Delete it").click()
        page.locator("#train-status", has_text=f"{only} is deleted").wait_for(timeout=30_000)
        page.wait_for_url(lambda url: url.endswith("?tab=train"), timeout=30_000)
        page.locator("#train-plot").wait_for(state="hidden", timeout=30_000)  # nor an empty picture
        page.close()
