"""What the tab Evaluate shows of the scores that are there: each function takes the evaluation and gives markup or a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from explorer.data.sts_tasks import TASKS, Task
from explorer.figures.theme import identities
from explorer.operations.evaluation_run import current
from explorer.operations.task_score import LabelScore, TaskScore
from explorer.ui import evaluate_tables as tables
from explorer.ui import evaluate_text
from explorer.ui.html import Html, join, tag

if TYPE_CHECKING:
    import pandas as pd

    from explorer.operations.comparison import Gain
    from explorer.operations.evaluation_run import EvaluationRun, RunState

SEPARATOR = "/"


def _choices(tasks: Iterable[Task]) -> list[tuple[str, str]]:
    return [
        (f"{task.title} {split}", task.name if split == "test" else f"{task.name}{SEPARATOR}{split}")
        for task in tasks
        for split in sorted(task.files, reverse=True)
    ]


TASK_CHOICES = _choices(TASKS.values())
# Those with cosines to look at, pair by pair.
GRADED_CHOICES = _choices(task for task in TASKS.values() if not task.labels)


@dataclass(frozen=True)
class Controls:
    """The controls of the views, as they are set.

    Args:
        subset: Of the scores.
        aggregation: Of the scores.
        measure: Of the scores.
        task: Whose encoders are compared in words; "stsb" or "stsb/dev".
        overlap_task: Whose overlapping pairs are listed.
        paper_table: "table1", "table2" or "table3".
        slice_task: Which task is sliced.
    """

    subset: str
    aggregation: str
    measure: str
    task: str
    overlap_task: str
    paper_table: str
    slice_task: str


def everything(run: EvaluationRun, state: RunState, c: Controls) -> tuple[Any, ...]:
    """Returns the scores, their parts, the comparison in words, the overlap and its pairs, the CNN's gains, the paper's
    table and the slices.
    """
    infos = run.registry.scan()[0]
    looks, state = identities(infos), current(state, infos)
    return (
        scores(state, c, looks),
        parts(state, c.subset, looks),
        comparison(state, c.task, c.subset),
        overlap(state, looks),
        tables.pair_list(pairs_frame(run, c.overlap_task), "overlapping pairs"),
        gains(infos, state),
        paper(infos, state, c.paper_table, looks),
        slices(run, state, c.slice_task, looks),
    )


def scores(state: RunState, c: Controls, looks: tables.Looks) -> Html:
    """Returns the correlations of a subset and, if labels were asked for, the accuracies below them."""
    graded, labelled = _by_kind(state, c.subset)
    if not graded and not labelled:
        return tag("p", evaluate_text.NO_SCORES, cls="nothing")
    return join(
        tables.score_table(graded, looks, c.aggregation, c.measure) if graded else None,
        tag("p", evaluate_text.LABELS, cls="small above") if labelled else None,
        tables.label_table(labelled, looks) if labelled else None,
    )


def parts(state: RunState, subset: str, looks: tables.Looks) -> Html:
    """Returns the scores of every task's parts; nothing where there is none."""
    graded, _ = _by_kind(state, subset)
    return tables.part_table(graded, looks) if graded else Html("")


def comparison(state: RunState, task: str, subset: str) -> Html:
    """Returns for each two encoders which is ahead on a task and whether that is clear."""
    from explorer.operations.comparison import comparisons

    name, split = place(task)
    chosen = [s for s in state.scores if (s.task, s.split, s.subset) == (name, split, subset)]
    return tables.sentence_list(comparisons(chosen), "At least two encoders must be scored on this task.")


def overlap(state: RunState, looks: tables.Looks) -> Html:
    """Returns the scores on all, clean and overlapping pairs."""
    if not state.scores:
        return tag("p", evaluate_text.NO_SCORES, cls="nothing")
    order = list(TASKS)
    ordered = sorted(state.scores, key=lambda s: (order.index(s.task), s.split))
    return tables.overlap_table({(s.task, s.split, s.encoder, s.subset.value): s for s in ordered}, looks)


def gains(infos: Any, state: RunState) -> Any:
    """Returns the figure of what the CNN adds."""
    from explorer.figures.evaluate import GainPoint, gains_figure
    from explorer.operations.comparison import cnn_gains

    def point(gain: Gain) -> GainPoint:
        if gain.ours is None:
            return GainPoint(gain.family, gain.task, gain.published)
        low, high = (gain.ours.interval.low, gain.ours.interval.high) if gain.ours.interval else (None, None)
        return GainPoint(gain.family, gain.task, gain.published, gain.ours.value, low, high, gain.ours.n)

    return gains_figure([point(gain) for gain in cnn_gains(infos, state.scores)])


def paper(infos: Any, state: RunState, table: str, looks: tables.Looks) -> Html:
    """Returns one of the paper's tables beside ours."""
    from explorer.operations.comparison import TABLES, paper_rows

    name: Any = table
    heading = tag("p", TABLES[name], cls="small")
    return tag("div", heading, tables.paper_table(paper_rows(name, infos, state.scores), looks))


def slices(run: EvaluationRun, state: RunState, task: str, looks: tables.Looks) -> Html:
    """Returns the scores by slice."""
    from explorer.operations.evaluation_views import score_slices

    found = score_slices(state.scores, run.data, *place(task)) if run.data else []
    return tables.slice_table(found, looks)


def scores_frame(run: EvaluationRun) -> pd.DataFrame:
    """Returns every score there is, unrounded."""
    import pandas as pd

    from explorer.operations.reports import flat_row

    return pd.DataFrame([flat_row(score) for score in now(run).scores])


def pairs_frame(run: EvaluationRun, task: str) -> pd.DataFrame:
    """Returns the pairs of a task that are in training data."""
    import pandas as pd

    from explorer.operations.evaluation_views import overlapping_pairs

    if run.data is None:
        return pd.DataFrame()
    return overlapping_pairs(now(run).scores, run.data, *place(task))


def paper_frame(run: EvaluationRun, table: str) -> pd.DataFrame:
    """Returns one of the paper's tables beside ours, one row for each of our encoders."""
    import pandas as pd

    from explorer.operations.comparison import paper_rows

    name: Any = table
    rows = []
    for row in paper_rows(name, run.registry.scan()[0], now(run).scores):
        published = {
            "paper_encoder": row.encoder,
            "trained_on": row.training,
            "task": row.task,
            "published_spearman": row.spearman,
            "published_pearson": row.pearson,
        }
        for our in row.ours or (None,):
            ours = {"ours": our.encoder, "spearman": our.spearman, "source": our.source} if our else {}
            more = {"difference": our.difference, "why": "; ".join(our.reasons)} if our else {"why": row.missing}
            rows.append({**published, **ours, **more})
    return pd.DataFrame(rows)


def now(run: EvaluationRun) -> RunState:
    """Returns the evaluation with the scores of the encoders that are here now."""
    return current(run.state(), run.registry.scan()[0])


def place(task: str) -> tuple[str, str]:
    """Returns task and split of a choice like "stsb" or "stsb/dev"."""
    name, _, split = task.partition(SEPARATOR)
    return name, split or "test"


def _by_kind(state: RunState, subset: str) -> tuple[list[TaskScore], list[LabelScore]]:
    """The correlations and the accuracies of a subset."""
    chosen = [score for score in state.scores if score.subset == subset]
    graded = [score for score in chosen if isinstance(score, TaskScore)]
    return graded, [score for score in chosen if isinstance(score, LabelScore)]
