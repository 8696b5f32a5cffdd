"""The evaluation as one HTML file that opens from disk without a network: every table and figure, with its words."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import gradio as gr

from explorer.analysis.anatomy import count
from explorer.data.sts_tasks import TASKS
from explorer.figures.theme import css_variables, identities
from explorer.operations.anatomy import shapes
from explorer.operations.evaluation_run import EvaluationRun, current
from explorer.paths import ASSETS
from explorer.ui import evaluate_anatomy, evaluate_text
from explorer.ui import evaluate_tables as tables
from explorer.ui import evaluate_views as views
from explorer.ui.downloads import write_file
from explorer.ui.errors import for_person, toast
from explorer.ui.filters_text import caption
from explorer.ui.html import Html, join, tag
from explorer.ui.page import ON_MODEL, PRIVATE

if TYPE_CHECKING:
    from explorer.operations.evaluation_run import RunState

_STYLE = (
    "body { margin: 0; background: var(--paper); color: var(--ink); } "
    "main.html-container { max-width: 1200px; margin: 0 auto; padding: 24px; box-sizing: border-box; } "
    ".values { max-height: none !important; } "
    "h1 { font-size: 28px; } h3 { font-size: 16px; } h2, h3, .caption { margin: 28px 0 8px !important; }"
)
# The page of the app has its dark mode from gradio; a file follows the reader's own setting.
_MODE = "if (matchMedia('(prefers-color-scheme: dark)').matches) document.documentElement.classList.add('dark');"
_FOLLOW = "(file) => { if (file) setTimeout(() => document.querySelector('#report-file').click(), 50); }"


def button(run: EvaluationRun) -> None:
    """Places a button that downloads the report."""
    pressed = gr.Button("Report as one HTML file", size="sm", elem_classes="pill", scale=0, min_width=200)
    # The button that really downloads cannot be pressed by a person: it has its file only once the report is made.
    file = gr.DownloadButton(visible="hidden", elem_id="report-file")
    made = pressed.click(partial(make, run), None, file, **ON_MODEL, **PRIVATE)
    made.success(None, file, None, js=_FOLLOW, **PRIVATE)


@for_person(toast(1))
def make(run: EvaluationRun) -> Any:
    """Returns the path of the report as it would be now."""
    return str(write_file(report(run).encode("utf-8"), "evaluation.html"))


def report(run: EvaluationRun, now: datetime | None = None) -> str:
    """Returns the report.

    Args:
        run: The server's evaluation.
        now: For the date in it, UTC; None for this moment.
    """
    from explorer.figures.evaluate import anatomy_figure
    from explorer.figures.standalone import inline

    infos = run.registry.scan()[0]
    state = current(run.state(), infos)
    looks = identities(infos)
    models = {name: count(shape) for name, shape in shapes(infos).items()}
    gains, anatomy = map(Html, inline([views.gains(infos, state), anatomy_figure(models)]))
    date = (now or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M UTC")
    body = join(
        tag("h1", "Evaluation of sentence encoders"),
        tag("p", f"Made by the Sentence Encoder Explorer, {date}. {evaluate_text.SCALE}", cls="small"),
        *_scores(state, looks),
        tag("h2", "Test pairs seen in training"),
        views.overlap(state, looks),
        caption(*evaluate_text.OVERLAP),
        tag("h2", "What the CNN adds"),
        gains,
        caption(*evaluate_text.GAINS),
        *(views.paper(infos, state, table, looks) for table in ("table1", "table2", "table3")),
        caption(*evaluate_text.PAPER),
        tag("h2", "Where the parameters are"),
        anatomy,
        caption(*evaluate_text.ANATOMY),
        evaluate_anatomy.ablations(),
    )
    return _document(body)


def _scores(state: RunState, looks: tables.Looks) -> list[Html]:
    whole = [score for score in state.scores if score.subset == "all"]
    if not whole:
        return [tag("h2", "Scores"), tag("p", "Nothing was scored.", cls="small")]
    made = [tag("h2", "Scores"), views.scores(state, _DEFAULTS, looks), caption(*evaluate_text.SCORES)]
    for task, split in dict.fromkeys((score.task, score.split) for score in whole):
        choice = task if split == "test" else f"{task}{views.SEPARATOR}{split}"
        made += [tag("h3", f"{TASKS[task].title} {split}"), views.comparison(state, choice, "all")]
    return made


def _document(body: Html) -> str:
    style = "\n".join([css_variables(), *((ASSETS / name).read_text(encoding="utf-8") for name in _SHEETS), _STYLE])
    head = f'<meta charset="utf-8"><title>Evaluation</title><style>{style}</style><script>{_MODE}</script>'
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}</head>'
        f'<body class="gradio-container"><main class="html-container">{body}</main></body></html>\n'
    )


_DEFAULTS = views.Controls("all", "all pairs", "spearman", "stsb", "stsb", "table1", "stsb")
_SHEETS = ("app.css", "evaluate.css")
