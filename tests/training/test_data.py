"""The tables of a run: splits, what each objective makes of them, and fingerprints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.errors import DataError
from explorer.paths import ASSETS
from explorer.training.config import Objective, TrainConfig
from explorer.training.data import DEV, TRAIN, fingerprints, read_graded, training_rows

SAMPLE = str(ASSETS / "sample_pairs.tsv")


def test_read_graded_takes_the_split_of_a_table_that_has_splits(tmp_path: Path) -> None:
    train, dev = read_graded(SAMPLE, 5.0, TRAIN), read_graded(SAMPLE, 5.0, DEV)
    assert set(train["split"]) == {"train"}
    assert len(train) + len(dev) >= 300
    with pytest.raises(DataError, match="no rows of split 'test'; its splits are train, dev"):
        read_graded(SAMPLE, 5.0, "test")


def test_training_rows_of_each_objective(configure: Callable[..., TrainConfig], tables: dict[str, str]) -> None:
    config = configure("sts")
    graded = training_rows(Objective.STS, tables["graded"], config)
    assert graded.column_names == ["sentence1", "sentence2", "score"]
    assert 0 <= min(graded["score"]) <= max(graded["score"]) <= 1
    labelled = training_rows(Objective.NLI, tables["labelled"], config)
    assert labelled["label"][:3] == [0, 1, 2]
    triplets = training_rows(Objective.TRIPLET, tables["labelled"], config)
    assert triplets.column_names == ["anchor", "positive", "negative"]
    assert len(triplets) == 9
    assert training_rows(Objective.TRIPLET, tables["triplets"], config).num_rows == 10
    assert training_rows(Objective.RANKING, tables["labelled"], config).column_names == ["anchor", "positive"]
    assert training_rows(Objective.RANKING, tables["triplets"], config).column_names == triplets.column_names


def test_training_rows_of_ordinary_fine_tuning_are_read_at_once(
    configure: Callable[..., TrainConfig], tables: dict[str, str]
) -> None:
    rows = training_rows(Objective.NLI, tables["labelled"], configure("nli", siamese=False, pooling="cls"))
    assert rows.column_names == ["pair", "label"]
    assert [len(pair) for pair in rows["pair"]] == [2] * 27


def test_training_rows_say_what_is_missing(configure: Callable[..., TrainConfig], tmp_path: Path) -> None:
    path = tmp_path / "neutral.tsv"
    path.write_text("label\tsentence1\tsentence2\nneutral\ta dog\ta cat\n", encoding="utf-8")
    with pytest.raises(DataError, match="no triplets"):
        training_rows(Objective.TRIPLET, str(path), configure("triplet"))
    with pytest.raises(DataError, match="0 entailments"):
        training_rows(Objective.RANKING, str(path), configure("ranking"))


def test_fingerprints_change_with_a_table(configure: Callable[..., TrainConfig], tables: dict[str, str]) -> None:
    config = configure("nli-sts")
    before = fingerprints(config)
    assert set(before) == {"train", "dev", "nli"}
    Path(tables["labelled"]).write_text("other", encoding="utf-8")
    after = fingerprints(config)
    assert {name for name in before if before[name] != after[name]} == {"nli"}
    with pytest.raises(DataError, match="No file at"):
        fingerprints(configure("nli", train=str(Path("nowhere.tsv"))))
