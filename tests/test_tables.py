"""read_pairs: four formats give one frame; each error names the file, the row and the column."""

from __future__ import annotations

import time
from pathlib import Path

import pandas as pd
import pytest
from conftest import DATA

from explorer.data.tables import read_pairs
from explorer.errors import DataError

PAIRS = DATA / "pairs.tsv"
ROWS = {
    "sentence1": ["A cat sleeps.", "Two birds, singing"],
    "sentence2": ["A cat is asleep.", "Rain"],
    "score": [4.5, 0],
}


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return path


def test_read_pairs_keeps_the_files_order_and_types() -> None:
    frame = read_pairs(PAIRS, score_range=(0, 5))
    assert len(frame) == 12
    assert frame["sentence1"].iloc[0] == "The old man plays a red guitar."
    assert frame["sentence1"].iloc[-1] == 'The man said "no" to the boy.'
    assert frame["score"].dtype == "float64"
    assert frame["score"].iloc[2] == 4.0


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_read_pairs_reads_the_same_from_every_format(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"pairs{suffix}"
    frame = pd.DataFrame(ROWS)
    if suffix == ".parquet":
        frame.to_parquet(path)
    elif suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False, sep="," if suffix == ".csv" else "\t")
    got = read_pairs(path, score_range=(0, 5))
    assert got["sentence1"].tolist() == ROWS["sentence1"]
    assert got["sentence2"].tolist() == ROWS["sentence2"]
    assert got["score"].tolist() == ROWS["score"]


def test_read_pairs_takes_words_that_mean_nothing_elsewhere_as_text(tmp_path: Path) -> None:
    path = write(tmp_path / "p.csv", "sentence1,sentence2\nNA,null\nNone,nan\n007,1e5\n")
    frame = read_pairs(path)
    assert frame["sentence1"].tolist() == ["NA", "None", "007"]
    assert frame["sentence2"].tolist() == ["null", "nan", "1e5"]


def test_read_pairs_strips_and_keeps_other_scripts_and_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "p.tsv", "sentence1\tsentence2\tgenre\n  שלום עולם \t🐈 <b>x</b>\tnews\n")
    frame = read_pairs(path)
    assert frame.loc[0, "sentence1"] == "שלום עולם"
    assert frame.loc[0, "sentence2"] == "🐈 <b>x</b>"
    assert frame.loc[0, "genre"] == "news"


def test_read_pairs_accepts_a_byte_order_mark(tmp_path: Path) -> None:
    path = write(tmp_path / "p.csv", "\ufeffsentence1,sentence2\na,b\n".encode())
    assert read_pairs(path)["sentence1"].tolist() == ["a"]


def test_read_pairs_needs_no_score_unless_asked(tmp_path: Path) -> None:
    path = write(tmp_path / "p.csv", "sentence1,sentence2\na,b\n")
    assert list(read_pairs(path).columns) == ["sentence1", "sentence2"]
    with pytest.raises(DataError, match="p.csv has no column 'score'; its columns are sentence1, sentence2"):
        read_pairs(path, score_range=(0, 5))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "p.csv is empty"),
        ("sentence1,sentence2,score\n", "no rows"),
        ("first,second\na,b\n", "no column 'sentence1'; its columns are first, second"),
        ("sentence1,sentence2,score\na,b,1\n  ,d,2\n", "p.csv, row 2: sentence1 is empty"),
        ("sentence1,sentence2,score\na,,1\n", "p.csv, row 1: sentence2 is empty"),
        ("sentence1,sentence2,score\na,b,1\nc,d,high\n", "p.csv, row 2: score 'high' is not a number"),
        ("sentence1,sentence2,score\na,b,nan\n", "p.csv, row 1: score 'nan' is not a number"),
        ("sentence1,sentence2,score\na,b,inf\n", "p.csv, row 1: score inf is outside 0 to 5"),
        ("sentence1,sentence2,score\na,b,\n", "p.csv, row 1: score '' is not a number"),
        ("sentence1,sentence2,score\na,b,-0.5\n", "p.csv, row 1: score -0.5 is outside 0 to 5"),
        ("sentence1,sentence2,score\na,b,1\nc,d,5.1\n", "p.csv, row 2: score 5.1 is outside 0 to 5"),
        ('sentence1,sentence2,score\n"a,b,1\n', "p.csv cannot be read as csv|p.csv, row 1"),
        ("sentence1,sentence2,score\na,b,1,2,3\n", "p.csv has more fields in its rows than in its header"),
        ("sentence1,sentence2,score\na,b,1\nc,d,1,2\n", "p.csv cannot be read as csv.*line 3"),
        ("sentence1,sentence2,score\na,b\n", "p.csv, row 1: score '' is not a number"),
        (b"sentence1,sentence2,score\ncaf\xe9,b,1\n", "not UTF-8"),
    ],
)
def test_read_pairs_says_what_is_wrong_and_where(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_pairs(write(tmp_path / "p.csv", content), score_range=(0, 5))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.jsonl", "not json\n"),
        ("p.jsonl", '{"sentence1": "a", "sentence2": null}\n'),
        ("p.parquet", "PAR?"),
        ("p.jsonl", ""),
    ],
)
def test_read_pairs_refuses_damaged_files_of_other_formats(tmp_path: Path, name: str, content: str) -> None:
    with pytest.raises(DataError, match=name):
        read_pairs(write(tmp_path / name, content))


@pytest.mark.parametrize("value", [[1, 2], {"a": 1}, 7])
def test_read_pairs_refuses_what_is_not_text(tmp_path: Path, value: object) -> None:
    path = tmp_path / "p.jsonl"
    pd.DataFrame({"sentence1": ["a", value], "sentence2": ["b", "c"]}).to_json(path, orient="records", lines=True)
    with pytest.raises(DataError, match="p.jsonl, row 2: sentence1"):
        read_pairs(path)


def test_read_pairs_refuses_unknown_kinds_and_missing_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="p.xlsx is of no known kind; use one of .csv, .tsv, .jsonl, .parquet"):
        read_pairs(write(tmp_path / "p.xlsx", "x"))
    with pytest.raises(DataError, match="No file at .*nothing.csv"):
        read_pairs(tmp_path / "nothing.csv")
    with pytest.raises(DataError, match="No file at"):
        read_pairs(tmp_path)


@pytest.mark.parametrize(("split", "rows"), [("train", 5749), ("dev", 1500), ("test", 1379)])
def test_read_pairs_reads_every_row_of_stsb(shared_data: Path, split: str, rows: int) -> None:
    frame = read_pairs(shared_data / "stsb" / f"{split}.tsv", score_range=(0, 5))
    assert len(frame) == rows
    assert frame["score"].between(0, 5).all()


def test_read_pairs_reads_sick_and_the_sts_years(shared_data: Path) -> None:
    assert len(read_pairs(shared_data / "sick" / "test.tsv", score_range=(1, 5))) == 4927
    years = [len(read_pairs(shared_data / "sts" / f"sts{year}.tsv", score_range=(0, 5))) for year in range(12, 17)]
    assert years == [3108, 1500, 3750, 3000, 1186]


def test_read_pairs_takes_a_suffix_in_capitals(tmp_path: Path) -> None:
    (tmp_path / "PAIRS.CSV").write_text("sentence1,sentence2\na dog,a cat\n", encoding="utf-8")
    assert len(read_pairs(tmp_path / "PAIRS.CSV")) == 1


@pytest.mark.parametrize(
    ("score", "message"),
    [
        ("true", "score True is not a number"),
        ("9" * 400, "is outside 0 to 5"),
        ('{"v": 1}', "is not a number"),
        ('"3,5"', "a point"),
    ],
)
def test_read_pairs_refuses_scores_that_are_no_numbers(tmp_path: Path, score: str, message: str) -> None:
    path = write(tmp_path / "p.jsonl", f'{{"sentence1": "a", "sentence2": "b", "score": {score}}}\n')
    with pytest.raises(DataError, match=f"p.jsonl, row 1: .*{message}"):
        read_pairs(path, score_range=(0, 5))


def test_read_pairs_reads_a_hundred_thousand_rows_in_seconds(tmp_path: Path) -> None:
    path = tmp_path / "p.tsv"
    with path.open("w", encoding="utf-8") as file:
        file.write("score\tsentence1\tsentence2\n")
        file.writelines(f"{i % 6}\tParcel {i} is on the cart\tThe cart carries parcel {i}\n" for i in range(100_000))
    start = time.perf_counter()
    assert len(read_pairs(path, score_range=(0, 5))) == 100_000
    assert time.perf_counter() - start < 10
