"""Slices and overlapping pairs come from scores that were made, and name the clearly best encoder only."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from explorer.data.sts_tasks import TASKS, read_task
from explorer.operations.contamination import Contamination
from explorer.operations.evaluate import score_rows
from explorer.operations.evaluation_views import overlapping_pairs, score_slices
from explorer.operations.task_score import Subset, TaskScore

N = 120


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "stsb").mkdir()
    genres = ("main-news", "main-captions")
    rows = [f"{genres[i % 2]}\t{i % 6}\tsentence number {i}\tit is not {i} but {i}" for i in range(N)]
    (tmp_path / "stsb" / "test.tsv").write_text("\n".join(["genre\tscore\tsentence1\tsentence2", *rows]) + "\n")
    return tmp_path


def scores(data: Path) -> list[TaskScore]:
    table, rng = read_task(TASKS["stsb"], "test", data), np.random.default_rng(0)
    gold, found = table.pairs["score"].to_numpy(), []
    for name, noise in (("good", 0.5), ("bad", 6.0)):
        cosines = gold + rng.normal(0, noise, N)
        for subset, rows in ((Subset.ALL, np.ones(N, bool)), (Subset.OVERLAP, np.arange(N) < 5)):
            (made,) = score_rows(table, cosines[None], rows, subset, 300)
            known = Contamination("stsb/train.tsv", "", N, 5, 5, 5)
            where = name, "stsb", "test", "float32", subset
            found.append(TaskScore(*where, known, rows, table=made, cosines=cosines))
    return found


def test_score_slices_divides_and_names_the_clearly_best(data: Path) -> None:
    found = {(s.way, s.name): s for s in score_slices(scores(data), data, "stsb", "test")}
    assert found["Source", "news"].n == N / 2
    assert found["Negation", "in one of the two"].n == N
    assert found["Source", "captions"].best == "good"
    assert score_slices(scores(data), data, "sts12", "test") == []


def test_nobody_is_best_among_equals(data: Path) -> None:
    good, *_ = scores(data)
    twins = [good, replace(good, encoder="twin")]
    assert {s.best for s in score_slices(twins, data, "stsb", "test")} == {""}


def test_overlapping_pairs_are_those_of_the_overlap(data: Path) -> None:
    pairs = overlapping_pairs(scores(data), data, "stsb", "test")
    assert pairs["sentence1"].tolist() == [f"sentence number {i}" for i in range(5)]
    assert list(pairs.columns) == ["sentence1", "sentence2", "score", "good", "bad"]
    assert overlapping_pairs([], data, "stsb", "test").empty
