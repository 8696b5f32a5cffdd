"""The paper beside ours: every published cell, the right rows, honest reasons, nothing of ours where there is nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from explorer.analysis.accuracy import accuracy
from explorer.analysis.scoring import score_table
from explorer.data.paper import read_table
from explorer.encoders.folder import EncoderInfo
from explorer.operations.comparison import (
    ENCODERS,
    LAYERS,
    MEASURED,
    RECORDED,
    TRAINING,
    cnn_gains,
    comparisons,
    paper_rows,
    training_label,
)
from explorer.operations.contamination import Contamination
from explorer.operations.task_score import LabelScore, Subset, TaskScore

STSB = {"training_data": [{"table": "stsb/train.tsv", "use": "train"}, {"table": "stsb/dev.tsv", "use": "dev"}]}


def info(name: str, **changes: Any) -> EncoderInfo:
    family, pooling = name.split("-")
    known: dict[str, Any] = {
        "name": name,
        "folder": Path(name),
        "family": family,
        "backbone": f"small {family}",
        "pooling": pooling,
        "parameters": 1,
        "embedding_dimension": 2,
        "max_length": 8,
        "size_bytes": 1,
        "weights_hash": name,
        "scores": {"stsb_test_spearman": 85.0, "stsb_test_pearson": 86.0},
        "facts": {**STSB, "n": {"stsb_test": 1379}},
    }
    return EncoderInfo(**known | changes)


INFOS = [info("bert-mean"), info("bert-cnn"), info("albert-mean", scores={})]


def measured(encoder: str, task: str, quality: float) -> TaskScore:
    rng = np.random.default_rng(1)
    gold, noise = rng.uniform(0, 5, 200), np.random.default_rng(len(encoder)).normal(0, 1, 200)
    cosines = quality * gold + noise
    (table,) = score_table(cosines, gold, resamples=300)
    rows = np.ones(200, dtype=bool)
    known = Contamination("stsb/train.tsv", "", 200, 120, 130, 125)
    where = encoder, task, "test", "float32", Subset.ALL
    return TaskScore(*where, known, rows, table=table, cosines=cosines)


SIX = ("stsb", "sts12", "sts13", "sts14", "sts15", "sts16")
SCORES = [measured(name, task, quality) for name, quality in (("bert-mean", 0.6), ("bert-cnn", 2)) for task in SIX]


@pytest.mark.parametrize("table", ["table1", "table2", "table3"])
def test_published_cells_equal_the_shared_tables(shared_data: Path, table: Any) -> None:
    published = pd.read_csv(shared_data.parent / "paper" / f"{table}.tsv", sep="\t")
    rows = paper_rows(table, INFOS)
    assert len(rows) == len(published)
    for row, line in zip(rows, published.to_dict("records"), strict=True):
        assert (row.spearman, row.pearson) == (line["spearman"], line["pearson"])
        family, layer = ENCODERS.get(line.get("encoder"), (line.get("backbone"), line.get("embedding")))
        assert row.encoder.startswith(family.upper())
        if table != "table2":
            assert row.encoder.endswith(LAYERS[layer])
        if table == "table1":
            assert row.training == TRAINING[line["training"]]
        if table == "table3":
            assert row.task == {"Avg": "average of the six"}.get(line["task"], line["task"])


def test_table1_uses_the_card_until_something_is_measured() -> None:
    ours = {row.encoder: row for row in paper_rows("table1", INFOS) if row.training == "STSb"}
    (mean,) = ours["BERT, siamese, average pooling"].ours
    assert (mean.encoder, mean.spearman, mean.source, mean.interval) == ("bert-mean", 85.0, RECORDED, None)
    assert mean.difference == pytest.approx(85.0 - 84.66)
    assert ours["ALBERT, siamese, average pooling"].missing == "not measured yet"
    assert ours["BERT, [CLS] vector"].missing == "no encoder of this kind here"
    measured_rows = paper_rows("table1", INFOS, SCORES)
    (mean,) = next(row for row in measured_rows if row.ours and row.ours[0].encoder == "bert-mean").ours
    assert mean.source == MEASURED
    assert mean.interval.low < mean.spearman < mean.interval.high


def test_ours_stand_only_beside_rows_with_the_same_training_in_table1() -> None:
    assert {row.training for row in paper_rows("table1", INFOS) if row.ours} == {"STSb"}
    other = info("bert-mean", facts={"training_data": [{"table": "mine/train.tsv", "use": "train"}]})
    assert not [row for row in paper_rows("table1", [other]) if row.ours]


def test_table3_names_the_other_training_and_the_overlap() -> None:
    rows = {(row.encoder, row.task): row for row in paper_rows("table3", INFOS, SCORES)}
    (ours,) = rows["BERT, siamese, CNN", "STS12"].ours
    assert "another backbone: small bert, not bert-base" in ours.reasons
    assert "other training data: STSb, not NLI, then STSb" in ours.reasons
    assert "120 of 200 pairs are in STSb train, which both were trained on" in ours.reasons
    (average,) = rows["BERT, siamese, CNN", "average of the six"].ours
    six = [score.spearman for score in SCORES if score.encoder == "bert-cnn"]
    assert average.spearman == pytest.approx(np.mean(six))
    assert average.interval is not None


def test_table2_has_nothing_of_ours() -> None:
    assert all("reads both sentences at once" in row.missing for row in paper_rows("table2", INFOS, SCORES))


def test_cnn_gains_are_the_papers_differences_beside_ours() -> None:
    gains = {(gain.family, gain.task): gain for gain in cnn_gains(INFOS, SCORES)}
    assert gains["bert", "STSb"].published == pytest.approx(85.72 - 84.66)
    assert gains["albert", "STSb"].published == pytest.approx(82.30 - 74.33)
    assert gains["albert", "STS16"].published == pytest.approx(81.58 - 75.26)
    assert gains["bert", "STS12"].encoders == ("bert-cnn", "bert-mean")
    assert gains["bert", "STS12"].ours.clear
    assert gains["albert", "STSb"].ours is None


def test_cnn_gains_need_twins() -> None:
    apart = [info("bert-mean", backbone="another"), info("bert-cnn")]
    assert all(gain.ours is None and not gain.encoders for gain in cnn_gains(apart, SCORES))
    recorded = next(iter(cnn_gains([info("bert-mean"), info("bert-cnn", scores={"stsb_test_spearman": 86.0})])))
    assert (recorded.ours.value, recorded.ours.interval, recorded.ours.n) == (1.0, None, 1379)


def test_comparisons_say_who_is_ahead_on_the_same_pairs() -> None:
    (sentence,) = comparisons([score for score in SCORES if score.task == "sts13"])
    assert sentence.startswith("bert-cnn is ")
    assert sentence.endswith("clear at n = 200.")
    assert comparisons([SCORES[0], SCORES[1]]) == []


def test_training_label() -> None:
    table = {"use": "train"}
    assert training_label(INFOS[0]) == "stsb"
    assert training_label(info("bert-mean", facts={})) == ""
    both = {"training_data": [{**table, "table": "snli/train.tsv"}, {**table, "table": "stsb/train.tsv"}]}
    assert training_label(info("bert-mean", facts=both)) == "nli+stsb"

    hub = {"training_data": [{**table, "table": "tables/all-nli.parquet"}, {**table, "table": "tables/stsb.parquet"}]}
    assert training_label(info("bert-mean", facts=hub)) == "nli+stsb"
    assert training_label(info("bert-mean", facts={"training_data": [], "hyperparameters": {"epochs": 0}})) == "none"


def test_plain_backbones_stand_beside_the_papers_plain_rows() -> None:
    untrained = {"training_data": [], "hyperparameters": {"epochs": 0}}
    joint = {**STSB, "hyperparameters": {"epochs": 4, "siamese": False}}
    plain = info("bert-mean", facts=untrained, backbone="google-bert/bert-base-uncased")
    both = [plain, info("bert-cls", facts=joint)]
    rows = {(row.encoder, row.training): row for row in paper_rows("table1", both)}
    (ours,) = rows["BERT, average of the plain backbone", "nothing"].ours
    assert (ours.encoder, ours.reasons) == ("bert-mean", ("one seed each",))
    assert [our.encoder for our in rows["BERT, [CLS] vector", "STSb"].ours] == ["bert-cls"]
    assert rows["BERT, siamese, average pooling", "STSb"].ours == ()


def test_scores_of_different_versions_of_a_table_are_not_compared() -> None:
    longer = replace(SCORES[6], rows=np.ones(201, dtype=bool))
    assert comparisons([SCORES[0], longer]) == [
        "bert-mean and bert-cnn were scored on different versions of the table (200 and 201 pairs); evaluate both again."
    ]


def test_labels_are_compared_pair_by_pair() -> None:
    right = np.arange(200) % 3 == 0
    where = {"split": "test", "precision": "float32", "subset": Subset.ALL, "rows": np.ones(200, dtype=bool)}
    where |= {"task": "snli", "contamination": SCORES[0].contamination}
    first, second, none = (
        LabelScore(encoder=name, **where, accuracy=accuracy(flags), right=flags)
        for name, flags in (("a", right), ("b", right | (np.arange(200) % 3 == 1)), ("c", right[:0]))
    )
    (sentence,) = comparisons([first, second, none])
    assert sentence.startswith("b is 33.50 above a")
    assert sentence.endswith("clear at n = 200.")


def test_the_shipped_tables_are_the_shared_ones(shared_data: Path) -> None:
    for name in ("table1", "table2", "table3", "albert_sizes", "albert_ablations"):
        shared = pd.read_csv(shared_data.parent / "paper" / f"{name}.tsv", sep="\t")
        pd.testing.assert_frame_equal(read_table(name), shared)
