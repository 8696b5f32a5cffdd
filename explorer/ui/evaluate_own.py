"""The part Your own table of the tab Evaluate: a person's pairs with gold scores, scored like a task."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from explorer.errors import SettingError
from explorer.figures.theme import identities
from explorer.ui import evaluate_tables as tables
from explorer.ui import evaluate_text
from explorer.ui.background import Background
from explorer.ui.cards import message, notice, working
from explorer.ui.downloads import csv_button, write_file
from explorer.ui.errors import for_person
from explorer.ui.html import Html, tag
from explorer.ui.page import BARE, PRIVATE, Page

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from explorer.operations.evaluate_table import OwnTable

DEMO_ROWS = 2_000
STATE_SECONDS = 3_600
# A queue of its own: a long table keeps nobody from comparing two sentences.
QUEUE: dict[str, Any] = {"concurrency_id": "own-table", "concurrency_limit": 1}
EXAMPLE = """sentence1,sentence2,score
The kettle is boiling.,There is hot water in the kitchen.,3.5
The shop is closed on Mondays.,You cannot buy anything there on a Monday.,4.2
Her brother repairs old radios.,The tower has a radio mast.,0.6
We missed the last tram.,The last tram left without us.,4.8
A goat stands on the roof.,The roof leaks when it rains.,0.9
He paid in coins.,The bill was settled with small change.,3.9
The exam has five questions.,The exam has nine questions.,2.4
Nobody answered the door.,The door stayed shut and nobody came.,3.6
They planted roses along the fence.,The fence was painted green.,1.2
The choir sings without a conductor.,No conductor leads the choir.,4.6
"""


def build(page: Page) -> None:
    """Places the part's components and wires them."""
    gr.HTML(evaluate_text.heading("Your own table", evaluate_text.OWN), **BARE)
    with gr.Row(elem_classes="act"):
        file = gr.File(
            label="Table of pairs", file_types=[".csv", ".tsv", ".jsonl", ".parquet"], elem_id="own-file", height=130
        )
        example = gr.Button("Use an example of ten pairs", size="sm", elem_classes="pill", scale=0, min_width=250)
    status = gr.HTML(elem_id="own-status", elem_classes="status", **BARE)
    result = gr.HTML(elem_id="own-result", **BARE)
    pairs = gr.State(None, time_to_live=STATE_SECONDS)
    outputs = [status, result, pairs]
    scored = {"fn": partial(score, page), "inputs": file, "outputs": outputs, **QUEUE, **PRIVATE}
    file.upload(**scored)
    example.click(example_file, None, file, **PRIVATE).then(**scored)
    csv_button("own-csv", "scored_pairs", _frame, [pairs])


def on_error(text: str, *_: object) -> tuple[Any, Any, Any]:
    """Returns the reason, and no result."""
    return message(text), "", None


@for_person(on_error)
def score(page: Page, path: str | None) -> Iterator[tuple[Any, Any, Any]]:
    """Scores every encoder on a table, saying meanwhile how far it is."""
    if not path:
        yield notice("Choose a file, or use the example."), "", None
        return
    rows = DEMO_ROWS if page.demo else 20_000
    yield working("Reading the table."), "", None
    with Background(partial(_work, page, Path(path), rows), "sentences") as work:
        while not work.wait(0.5):
            yield work.status(), gr.skip(), gr.skip()
        found = work.result()
    yield notice(f"{found.name}: {len(found.pairs):,} pairs scored."), show(page, found), found.pairs


def show(page: Page, found: OwnTable) -> Html:
    """Returns the scores on a table, who is ahead, and its pairs."""
    looks = identities(page.registry.scan()[0])
    return tag(
        "div",
        tables.own_table(found, looks),
        tables.sentence_list(found.comparisons, "Nothing to compare: a figure is undefined, or there is one encoder."),
        tables.pair_list(found.pairs, "pairs"),
    )


def example_file() -> str:
    """Returns a file of ten pairs written for this page."""
    return str(write_file(EXAMPLE.encode("utf-8"), "example.csv"))


def _work(page: Page, path: Path, rows: int, progress: Callable[[int, int], None]) -> OwnTable:
    from explorer.operations.evaluate_table import evaluate_table

    report = lambda _encoder, done, total: progress(done, total)  # noqa: E731
    # Without the cache: what a visitor sends is not kept.
    return evaluate_table(page.registry, path, data=page.data, cache=None, most_rows=rows, progress=report)


def _frame(pairs: pd.DataFrame | None) -> pd.DataFrame:
    if pairs is None:
        raise SettingError("No table is scored yet; choose a file, or use the example.")
    return pairs
