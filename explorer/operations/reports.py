"""Writes scores down for people and programs: rows for json, csv and markdown. Changes no figure, opens no file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from explorer.analysis.scoring import Score
from explorer.analysis.statistics import Interval
from explorer.analysis.writing import figure, interval_text
from explorer.data.sts_tasks import TASKS
from explorer.operations.task_score import AnyScore, LabelScore, Subset, TaskScore

Row = dict[str, Any]
CAPTION = (
    "Spearman and Pearson x 100 of cosine and gold over all pairs together; the interval is Spearman's (bootstrap over pairs). "
    "Clean pairs are not in the tables the encoder was fine-tuned on, overlap pairs are (letters and digits compared, order "
    "ignored); what its backbone read before is not known here."
)

LABEL_CAPTION = (
    "Accuracy is the share x 100 of pairs whose label (entailment, neutral, contradiction) the encoder's NLI softmax head names; "
    "the interval is Wilson's."
)


def as_row(score: AnyScore) -> Row:
    """Returns a score as one json object; `interval` is of its first figure, [low, high] or None.

    A TaskScore has spearman and pearson, a LabelScore accuracy; `kind` tells encoders from cross-encoders.
    """
    found = score.contamination
    row: Row = {
        "encoder": score.encoder,
        "kind": score.kind,
        "task": score.task,
        "split": score.split,
        "subset": score.subset.value,
        "n": score.n,
    }
    if isinstance(score, TaskScore):
        row |= {"spearman": score.spearman, "pearson": score.pearson, "aggregation": score.aggregation.value}
        row |= {"interval": _pair(score.interval), "pearson_interval": _pair(score.table.all_pairs.pearson_interval)}
    else:
        row |= {"accuracy": score.accuracy.value, "interval": _pair(score.interval), "remark": score.remark}
    row |= {
        "precision": score.precision,
        "why": score.why,
        "training_data": found.training,
        "unknown_because": found.unknown,
        "overlap": None
        if found.unknown
        else {"pairs": found.pairs, "one_sentence_or_more": found.either, "both_sentences": found.both},
    }
    if isinstance(score, TaskScore) and score.table.parts:
        row["aggregations"] = {how.value: _figures(value) for how, value in score.table.aggregations.items()}
        row["parts"] = {name: _figures(value) for name, value in score.table.parts.items()}
    return row


def flat_row(score: AnyScore) -> Row:
    """Returns a score as one line of a table, numbers unrounded; None where a figure is missing or of another kind."""
    row = as_row(score)
    low, high = row["interval"] or (None, None)
    overlap, means = row["overlap"] or {}, row.get("aggregations", {})
    flat = {key: row[key] for key in ("encoder", "kind", "task", "split", "subset", "n")}
    graded = isinstance(score, TaskScore)
    flat |= {"spearman": row.get("spearman"), "spearman_low": low if graded else None}
    flat |= {"spearman_high": high if graded else None, "pearson": row.get("pearson")}
    for how in ("mean of parts", "weighted mean"):
        flat[how.replace(" ", "_")] = means[how]["spearman"] if how in means else None
    flat |= {"aggregation": row.get("aggregation"), "accuracy": row.get("accuracy")}
    flat |= {"accuracy_low": None if graded else low, "accuracy_high": None if graded else high}
    flat |= {"training_data": row["training_data"], "overlapping_pairs": overlap.get("pairs")}
    return flat | {"precision": row["precision"], "why": row["why"]}


def write_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns rows of the same keys as csv with a header line; None is an empty cell."""
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return text.getvalue()


def write_markdown(scores: Sequence[AnyScore]) -> str:
    """Returns markdown tables of scores, two decimals, and what their columns mean: correlations first, then accuracies."""
    graded = [score for score in scores if isinstance(score, TaskScore)]
    labelled = [score for score in scores if isinstance(score, LabelScore)]
    blocks = []
    if graded:
        header = ("Spearman", "95 % interval", "Pearson", "Mean of parts", "Weighted mean")
        blocks.append(_table(header, [(*_where(score), *_graded_cells(score)) for score in graded]))
    if labelled:
        rows = [(*_where(s), figure(s.accuracy.value), interval_text(s.interval)) for s in labelled]
        blocks.append(_table(("Accuracy", "95 % interval"), rows))
    captions = [CAPTION] * bool(graded) + [LABEL_CAPTION] * bool(labelled)
    return "\n\n".join([*blocks, "\n".join([*captions, *_notes(scores)])]) + "\n"


def _table(header: Sequence[str], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [("Encoder", "Task", "Pairs", "n", *header), ("---",) * 3 + ("---:",) * (1 + len(header)), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _where(score: AnyScore) -> tuple[str, ...]:
    return score.title, f"{TASKS[score.task].title} {score.split}", score.subset.value, f"{score.n:,}"


def _graded_cells(score: TaskScore) -> tuple[str, ...]:
    means = [value.correlation.spearman for value in list(score.table.aggregations.values())[1:]] or [None, None]
    return figure(score.spearman), interval_text(score.interval), figure(score.pearson), *map(figure, means)


def _notes(scores: Sequence[AnyScore]) -> list[str]:
    """One line for each encoder whose training data is unknown or whose NLI head has a remark, and each undefined figure."""
    unknown = {score.encoder: score.contamination.unknown for score in scores if score.contamination.unknown}
    undefined = [
        f"{score.encoder}, {score.task}, {score.subset.value} pairs: {score.why}."
        for score in scores
        if score.why and not (score.contamination.unknown and score.subset is not Subset.ALL)
    ]
    remarks = {
        score.encoder: score.remark
        for score in scores
        if isinstance(score, LabelScore) and score.remark and not score.why
    }
    return [
        *(f"{name}: overlap with the training data is unknown, since {why}." for name, why in unknown.items()),
        *(f"{name}: {remark.rstrip('.')}." for name, remark in remarks.items()),
        *undefined,
    ]


def _pair(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]


def _figures(score: Score) -> Row:
    found = score.correlation
    return {
        "n": found.n,
        "spearman": found.spearman,
        "pearson": found.pearson,
        "interval": _pair(score.spearman_interval),
        "why": found.why,
    }
