"""Writes scores down for people and programs: rows for json, csv and markdown. Changes no figure, opens no file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from explorer.analysis.scoring import Score
from explorer.analysis.statistics import Interval
from explorer.data.sts_tasks import TASKS
from explorer.operations.evaluate import TaskScore

Row = dict[str, Any]
DASH = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"
CAPTION = (
    "Spearman and Pearson x 100 of cosine and gold over all pairs together; the interval is Spearman's (bootstrap over pairs). "
    "Clean pairs are not in the tables the encoder was fine-tuned on, overlap pairs are (letters and digits compared, order "
    "ignored); what its backbone read before is not known here."
)


def as_row(score: TaskScore) -> Row:
    """Returns a score as one json object; `interval` is Spearman's, [low, high] or None."""
    found = score.contamination
    row: Row = {
        "encoder": score.encoder,
        "task": score.task,
        "split": score.split,
        "subset": score.subset.value,
        "n": score.n,
        "spearman": score.spearman,
        "pearson": score.pearson,
        "aggregation": score.aggregation.value,
        "interval": _pair(score.interval),
        "pearson_interval": _pair(score.table.all_pairs.pearson_interval),
        "precision": score.precision,
        "why": score.why,
        "training_data": found.training,
        "unknown_because": found.unknown,
        "overlap": None
        if found.unknown
        else {"pairs": found.pairs, "one_sentence_or_more": found.either, "both_sentences": found.both},
    }
    if score.table.parts:
        row["aggregations"] = {how.value: _figures(value) for how, value in score.table.aggregations.items()}
        row["parts"] = {name: _figures(value) for name, value in score.table.parts.items()}
    return row


def flat_row(score: TaskScore) -> Row:
    """Returns a score as one line of a table, numbers unrounded; None where a figure is missing."""
    row = as_row(score)
    low, high = row.pop("interval") or (None, None)
    overlap = row.pop("overlap") or {}
    kept = ("encoder", "task", "split", "subset", "n", "spearman")
    flat = {key: row[key] for key in kept} | {"spearman_low": low, "spearman_high": high, "pearson": row["pearson"]}
    means = row.get("aggregations", {})
    for how in ("mean of parts", "weighted mean"):
        flat[how.replace(" ", "_")] = means[how]["spearman"] if how in means else None
    return flat | {
        "aggregation": row["aggregation"],
        "training_data": row["training_data"],
        "overlapping_pairs": overlap.get("pairs"),
        "precision": row["precision"],
        "why": row["why"],
    }


def write_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns rows of the same keys as csv with a header line; None is an empty cell."""
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return text.getvalue()


def write_markdown(scores: Sequence[TaskScore]) -> str:
    """Returns a markdown table of scores, two decimals, and what its columns mean."""
    header = ("Encoder", "Task", "Pairs", "n", "Spearman", "95 % interval", "Pearson", "Mean of parts", "Weighted mean")
    lines: list[tuple[str, ...]] = [header, ("---",) * 3 + ("---:",) * 6]
    for score in scores:
        means = [value.correlation.spearman for value in list(score.table.aggregations.values())[1:]] or [None, None]
        lines.append(
            (
                score.encoder,
                f"{TASKS[score.task].title} {score.split}",
                score.subset.value,
                f"{score.n:,}",
                figure(score.spearman),
                interval_text(score.interval),
                figure(score.pearson),
                *map(figure, means),
            )
        )
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{table}\n\n" + "\n".join([CAPTION, *_notes(scores)]) + "\n"


def figure(value: float | None) -> str:
    """Returns a score x 100 with two decimals, or a dash."""
    return DASH if value is None else f"{value:.2f}".replace("-", MINUS)


def interval_text(interval: Interval | None) -> str:
    """Returns an interval in words, or a dash."""
    return DASH if interval is None else f"{figure(interval.low)} to {figure(interval.high)}"


def _notes(scores: Sequence[TaskScore]) -> list[str]:
    """One line for each encoder whose training data is unknown and each figure that is undefined."""
    unknown = {score.encoder: score.contamination.unknown for score in scores if score.contamination.unknown}
    undefined = [
        f"{score.encoder}, {score.task}, {score.subset.value} pairs: {score.why}." for score in scores if score.why
    ]
    return [
        f"{name}: overlap with the training data is unknown, since {why}." for name, why in unknown.items()
    ] + undefined


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
