"""Scores as json, csv and markdown: every figure there, nothing that is not a number."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

from explorer.analysis.accuracy import Accuracy, accuracy
from explorer.analysis.scoring import score_table
from explorer.analysis.writing import figure, interval_text
from explorer.operations.contamination import Contamination
from explorer.operations.reports import as_row, flat_row, write_csv, write_markdown
from explorer.operations.task_score import LabelScore, Subset, TaskScore

RNG = np.random.default_rng(0)
GOLD = RNG.uniform(0, 5, 40)
PARTS = ["news", "forum"] * 20


def task_score(cosines: np.ndarray, subset: Subset, found: Contamination, parts: list[str] | None = None) -> TaskScore:
    (table,) = score_table(cosines, GOLD[: len(cosines)], parts, resamples=200)
    return TaskScore("bert-mean", "sts12", "test", "float32", subset, found, table=table)


KNOWN = Contamination("stsb/train.tsv", "", 40, 7, 9, 8)
UNKNOWN = Contamination("unknown", "nothing is recorded", 40)
WHOLE = task_score(GOLD + RNG.normal(0, 1, 40), Subset.ALL, KNOWN, PARTS)
CONSTANT = task_score(np.full(3, 0.5), Subset.OVERLAP, UNKNOWN)


def test_as_row_has_every_figure_and_is_json() -> None:
    row = json.loads(json.dumps(as_row(WHOLE), allow_nan=False))
    assert (row["n"], row["subset"], row["aggregation"]) == (40, "all", "all pairs")
    assert row["interval"][0] < row["spearman"] < row["interval"][1]
    assert row["overlap"] == {"pairs": 7, "one_sentence_or_more": 9, "both_sentences": 8}
    assert row["aggregations"]["mean of parts"]["spearman"] == pytest.approx(
        np.mean([part["spearman"] for part in row["parts"].values()])
    )


def test_as_row_says_unknown_and_undefined() -> None:
    row = json.loads(json.dumps(as_row(CONSTANT), allow_nan=False))
    assert (row["spearman"], row["interval"], row["overlap"]) == (None, None, None)
    assert row["why"] == "undefined: all cosines are equal"
    assert (row["training_data"], row["unknown_because"]) == ("unknown", "nothing is recorded")


def test_csv_rows_have_the_same_columns() -> None:
    rows = list(csv.DictReader(io.StringIO(write_csv([flat_row(WHOLE), flat_row(CONSTANT)]))))
    assert float(rows[0]["spearman"]) == WHOLE.spearman
    assert float(rows[0]["spearman_low"]) == WHOLE.interval.low
    assert (rows[1]["spearman"], rows[1]["mean_of_parts"], rows[1]["overlapping_pairs"]) == ("", "", "")
    assert write_csv([]) == ""


def test_markdown_rounds_and_explains() -> None:
    text = write_markdown([WHOLE, CONSTANT])
    lines = text.splitlines()
    assert len({line.count("|") for line in lines[:4]}) == 1
    assert f"| {WHOLE.spearman:.2f} |" in lines[2]
    assert "bert-mean: overlap with the training data is unknown, since nothing is recorded." in text
    assert "nan" not in text.lower().replace("constant", "")


def test_accuracies_stand_beside_correlations_as_another_figure() -> None:
    where = "bert-mean", "snli", "test", "float32", Subset.ALL, KNOWN
    right, headless = accuracy([True, True, False, True]), Accuracy(4, why="no NLI head")
    labelled, none = (LabelScore(*where, accuracy=found) for found in (right, headless))
    row = json.loads(json.dumps(as_row(labelled), allow_nan=False))
    assert (row["n"], row["accuracy"], row["interval"][1] > 75) == (4, 75.0, True)
    assert "spearman" not in row
    assert (as_row(none)["accuracy"], as_row(none)["why"]) == (None, "no NLI head")
    rows = list(csv.DictReader(io.StringIO(write_csv([flat_row(WHOLE), flat_row(labelled)]))))
    assert (rows[0]["accuracy"], rows[1]["accuracy"], rows[1]["spearman"]) == ("", "75.0", "")
    text = write_markdown([WHOLE, labelled, none])
    assert "| bert-mean | SNLI test | all | 4 | 75.00 | 30.06 to 95.44 |" in text
    assert "bert-mean, snli, all pairs: no NLI head." in text


def test_figures_are_written_with_two_decimals_or_a_dash() -> None:
    assert figure(-3.456) == "\N{MINUS SIGN}3.46"
    assert figure(None) == interval_text(None) == "\N{EN DASH}"
