"""The paper's figures as shipped, and which of them stands beside which encoder."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.data.paper import published_score, read_table
from explorer.errors import DataError


@pytest.mark.parametrize(
    ("family", "pooling", "spearman"),
    [("bert", "mean", 84.66), ("bert", "cnn", 85.72), ("albert", "mean", 74.33), ("albert", "cnn", 82.30)],
)
def test_published_score_is_the_row_of_the_same_kind(family: str, pooling: str, spearman: float) -> None:
    row = published_score(family, pooling)
    assert row is not None
    assert (row.backbone, row.embedding, row.training) == (family, f"siamese-{pooling}", "stsb")
    assert row.spearman == spearman


def test_published_score_is_none_for_kinds_the_paper_lacks() -> None:
    assert published_score("bert", "cls") is None
    assert published_score("roberta", "mean") is None


def test_read_table_has_every_table() -> None:
    assert len(read_table("table1")) == 28
    assert set(read_table("table2").columns) == {"backbone", "spearman", "pearson"}
    assert set(read_table("table3")["task"]) == {"STS12", "STS13", "STS14", "STS15", "STS16", "STSb", "Avg"}
    assert len(read_table("albert_sizes")) == 6
    assert "effect" in read_table("albert_ablations").columns


def test_read_table_names_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"table1\.tsv are missing"):
        read_table("table1", tmp_path)
