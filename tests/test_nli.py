"""read_nli, read_triplets and triplets_of_nli: by hand, and with what people get wrong."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from explorer.data.tables import read_nli, read_triplets, triplets_of_nli
from explorer.errors import DataError

GOOD = "label\tsentence1\tsentence2\nentailment\tTwo swans swim.\tBirds swim.\nNEUTRAL\tTwo swans swim.\tIt is noon.\n"


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return path


def test_read_nli_reads_labels_in_any_case(tmp_path: Path) -> None:
    frame = read_nli(write(tmp_path / "n.tsv", GOOD))
    assert frame["label"].tolist() == ["entailment", "neutral"]
    assert frame["sentence2"].tolist() == ["Birds swim.", "It is noon."]


def test_read_nli_knows_the_usual_names_of_the_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "n.csv", "premise,hypothesis,gold_label\nIt rains.,It is dry.,contradiction\n")
    frame = read_nli(path)
    assert frame[["label", "sentence1", "sentence2"]].values.tolist() == [["contradiction", "It rains.", "It is dry."]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "label,sentence1,sentence2\nneutral,a,b\nentailmnt,c,d\n",
            "n.csv, row 2: label 'entailmnt' is unknown; did you mean entailment?",
        ),  # noqa: E501
        (
            "label,sentence1,sentence2\nContradicts,a,b\nx,a,b\n",
            "row 1: .*did you mean contradiction\\?.*2 rows have no right label",
        ),  # noqa: E501
        ("label,sentence1,sentence2\nyes,a,b\n", "label 'yes' is unknown; use entailment, neutral or contradiction"),
        ("label,sentence1,sentence2\n2,a,b\n", "label '2' is a number, whose meaning differs between tables"),
        ("label,sentence1,sentence2\n-,a,b\n", "'-' marks a pair without agreement; drop such rows"),
        ("label,sentence1,sentence2\n,a,b\n", "row 1: label '' is unknown"),
        ("label,sentence1,sentence2\n", "n.csv has a header but no rows"),
        ("label,sentence1,sentence2\nneutral,a,\n", "n.csv, row 1: sentence2 is empty"),
        ("lable,sentence1,sentence2\nneutral,a,b\n", "no column 'label'.*did you mean 'lable'"),
        (
            "sentence1,sentence2,score\na,b,1\n",
            "no column 'label'; its columns are sentence1, sentence2, score; needed are label",
        ),
        ("label;sentence1;sentence2\nneutral;a;b;c\nneutral;a;b\n", "more fields in its rows"),
    ],
)
def test_read_nli_says_what_is_wrong_and_where(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_nli(write(tmp_path / "n.csv", content))


def test_read_nli_refuses_labels_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "n.parquet"
    pd.DataFrame({"label": [1, 0], "sentence1": ["a", "b"], "sentence2": ["c", "d"]}).to_parquet(path)
    with pytest.raises(DataError, match="n.parquet, row 1: label 1 is a number"):
        read_nli(path)
    path = write(tmp_path / "n.jsonl", '{"label": null, "sentence1": "a", "sentence2": "b"}\n')
    with pytest.raises(DataError, match="row 1: label None is unknown"):
        read_nli(path)


def test_read_triplets_reads_and_refuses(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "anchor,positive,negative\n a , b ,c\n")
    assert read_triplets(path).values.tolist() == [["a", "b", "c"]]
    for content, message in [
        ("anchor,positive,negative\na,b,c\na,b,b\n", "t.csv, row 2: positive and negative are the same sentence"),
        ("anchor,positive,negative\na,,c\n", "t.csv, row 1: positive is empty"),
        ("anchor,positiv,negative\na,b,c\n", "did you mean 'positiv'"),
        ("anchor,positive,negative\n", "no rows"),
    ]:
        with pytest.raises(DataError, match=message):
            read_triplets(write(path, content))


def test_triplets_of_nli_by_hand() -> None:
    rows = [
        ("neutral", "p", "n1"),
        ("entailment", "p", "e1"),
        ("contradiction", "q", "c0"),
        ("contradiction", "p", "c1"),
        ("entailment", "p", "e2"),
        ("contradiction", "p", "c2"),
        ("contradiction", "p", "c3"),
        ("entailment", "r", "same"),
        ("contradiction", "r", "same"),
    ]
    found = triplets_of_nli(pd.DataFrame(rows, columns=["label", "sentence1", "sentence2"]))
    assert found.values.tolist() == [["p", "e1", "c1"], ["p", "e2", "c2"]]
    assert triplets_of_nli(found.assign(label="neutral", sentence1="a", sentence2="b")).empty


def test_read_nli_reads_every_row_of_snli_and_sick(shared_data: Path) -> None:
    assert len(read_nli(shared_data / "snli" / "dev.tsv")) == 9842
    sick = read_nli(shared_data / "sick" / "train.tsv")
    assert len(sick) == 4500
    assert set(sick["label"]) == {"entailment", "neutral", "contradiction"}
