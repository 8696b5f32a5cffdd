"""read_table: separators, encodings and headers as they are found; files that are not what their name says."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from explorer.data.frames import need_columns, read_frame, read_table
from explorer.errors import DataError


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return path


def workbook() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return buffer.getvalue()


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_read_table_finds_the_separator_in_the_header(tmp_path: Path, suffix: str, separator: str) -> None:
    path = write(tmp_path / f"t{suffix}", separator.join("ab") + "\n" + separator.join(["one, two", "3"]) + "\n")
    if separator == ",":
        write(path, 'a,b\n"one, two",3\n')
    table = read_table(path)
    assert table.frame.to_dict("records") == [{"a": "one, two", "b": "3"}]
    own = separator == ("," if suffix == ".csv" else "\t")
    assert bool(table.notes) is not own


def test_read_table_keeps_a_lone_column_with_its_name(tmp_path: Path) -> None:
    assert read_frame(write(tmp_path / "t.csv", "sentence\nA heron waits.\n")).to_dict("list") == {
        "sentence": ["A heron waits."]
    }


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_read_table_knows_an_encoding_by_its_mark(tmp_path: Path, encoding: str) -> None:
    mark = "\ufeff" if encoding == "utf-16-le" else ""
    path = write(tmp_path / "t.tsv", (mark + "a\tb\nPrüfung\t猫\n").encode(encoding))
    assert read_table(path).frame.to_dict("list") == {"a": ["Prüfung"], "b": ["猫"]}


def test_read_table_guesses_other_encodings_only_when_asked(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,b\nCafé,“so”\n".encode("cp1252"))
    with pytest.raises(DataError, match="t.csv is not UTF-8 text \\(byte 7\\); save it as UTF-8"):
        read_table(path)
    table = read_table(path, guess_encoding=True)
    assert table.frame.to_dict("list") == {"a": ["Café"], "b": ["“so”"]}
    assert "Windows-1252" in table.notes[0]


def test_read_table_gives_a_nameless_column_a_name(tmp_path: Path) -> None:
    assert list(read_frame(write(tmp_path / "t.csv", ",a\n0,x\n")).columns) == ["column 1", "a"]


def test_read_table_takes_line_ends_of_every_kind(tmp_path: Path) -> None:
    for end in ("\n", "\r\n", "\r"):
        assert len(read_frame(write(tmp_path / "t.csv", f"a,b{end}1,2{end}3,4{end}"))) == 2


@pytest.mark.parametrize(
    ("lines", "opens", "closes"),
    [
        (["a,b", '"1,The dog', "2,The cat", "3,Rain", '"4,Wind', "5,Fog"], 2, 5),
        (["a,b", '1,"The dog', "2,The cat", "3,Rain", '4,"Wind', "5,Fog"], 2, 5),
        (["a", "The dog", '"The cat', "Rain", '"Wind', "Fog"], 3, 5),
        (["a;b", 'x;"y ""z"""', '1;"The dog', '2;"The cat"'], 3, 4),
    ],
)
def test_read_table_refuses_two_quotes_that_swallow_rows(
    tmp_path: Path, lines: list[str], opens: int, closes: int
) -> None:
    path = write(tmp_path / "t.csv", "\n".join(lines) + "\n")
    with pytest.raises(
        DataError, match=rf"t.csv, line {opens}: a cell opens with .* closed only in line {closes}, before"
    ):
        read_table(path)


def test_read_table_notes_cells_that_could_be_rows(tmp_path: Path) -> None:
    table = read_table(write(tmp_path / "t.csv", 'a,b\n1,"The dog\n2,The cat\n3,Rain"\n4,Wind\n'))
    assert len(table.frame) == 2
    assert table.notes == (
        "1 cell holds several lines that could be rows of their own (from line 2); if they are, take the double quotes "
        "around it away.",
    )


def test_read_table_keeps_cells_of_several_lines_and_quotes_inside_cells(tmp_path: Path) -> None:
    cells = ['He said "no"\nand left', "one\n\ntwo", 'say "a,b"\nin full', "plain"]
    path = tmp_path / "t.csv"
    pd.DataFrame({"a": range(4), "b": cells, "c": "x"}).to_csv(path, index=False)
    table = read_table(path)
    assert table.frame["b"].tolist() == cells and table.notes == ()
    loose = read_table(write(path, 'a,b\n"He" said,1\n6" nails,"2\n3" \n'))
    assert loose.frame["a"].tolist() == ["He said", '6" nails'] and loose.notes == ()


def test_read_table_executes_and_changes_nothing(tmp_path: Path) -> None:
    cells = ["=HYPERLINK('http://x')", "<script>alert(1)</script>", "+1+2", "@SUM(A1)", "007"]
    path = tmp_path / "t.csv"
    pd.DataFrame({"a": cells}).to_csv(path, index=False)
    assert read_frame(path)["a"].tolist() == cells


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "t.csv",
            workbook(),
            "t.csv is an Excel workbook or a zip archive, not text; open it and save it as CSV UTF-8",
        ),
        ("t.parquet", workbook(), "t.parquet is an Excel workbook"),
        ("t.csv", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old Excel"),
        ("t.jsonl", b"\x1f\x8b\x08\x00", "compressed with gzip"),
        ("t.csv", "%PDF-1.4", "is a PDF"),
        ("t.csv", "<!DOCTYPE html>\n<html><body>404</body></html>", "is a web page, not a table"),
        ("t.tsv", "version https://git-lfs.github.com/spec/v1\noid x\n", "pointer to a file in Git LFS"),
        ("t.csv", b"PAR1\x15\x04PAR1", "is a parquet file; rename it to t.parquet"),
        ("t.parquet", "a,b\n1,2\n", "cannot be read as parquet: its first bytes are b'a,b"),
        ("t.parquet", b"PAR1\x15\x04\x15PAR1", "cannot be read as parquet"),
        ("t.csv", b"a,b\nx\0y,z\n", "t.csv, line 2: there is a NUL character"),
        ("t.csv", "a,b\nx,z\n".encode("utf-16-le"), "looks like UTF-16 without its mark"),
        ("t.csv", b"\xff\xfea", "t.csv is not UTF-8 text"),
        ("t.csv", "", "t.csv is empty"),
        ("t.csv", "  \n\n\n", "t.csv is empty"),
        ("t.csv", ",,\n1,2,3\n", "its header line names no column"),
        ("t.csv", "a,b,a\n1,2,3\n", "t.csv has 2 columns named 'a'; give each a name of its own"),
        ("t.csv", "a,b\n1,2\n3,4,5\n", "t.csv cannot be read as csv: line 3 has 3 cells where the header has 2"),
        ("t.csv", 'a,b\n1,"2\n3,4\n', "row 1: a cell opens with a double quote"),
        ("t.csv", "a,b\n1,2,3\n", "more fields in its rows than in its header"),
        ("t.jsonl", '{"a": 1}\n{"a": \n', "t.jsonl cannot be read as jsonl: line 2 is '{\"a\":', not a json object"),
        ("t.jsonl", "[1, 2]\n", "line 1 is \\[1, 2\\], not a json object"),
        ("t.jsonl", "[" * 100_000, "line 1 is .*not a json object"),
        ("t.jsonl", '{"a": ' + "9" * 5000 + "}", "line 1 is .*not a json object"),
        (
            "t.jsonl",
            '{"a": 1}\n{"te\\ud800xt": 2}\n',
            "t.jsonl, line 2: the name 'te.ud800xt' holds half of a surrogate pair, which is no character; delete it",
        ),
        ("t.jsonl", "{}\n", "t.jsonl has no columns"),
        ("t.json", "{}", "t.json is of no known kind; use one of .csv, .tsv, .jsonl, .parquet"),
    ],
)
def test_read_table_says_what_a_file_really_is(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_table(write(tmp_path / name, content))


def test_read_table_refuses_a_path_that_cannot_be(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing.csv", tmp_path, tmp_path / "a\0b.csv"):
        with pytest.raises(DataError):
            read_table(path)


def test_read_table_reads_a_category_column_as_its_values(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": pd.Series(["x", "y", "x"], dtype="category")}).to_parquet(path)
    assert read_frame(path)["a"].tolist() == ["x", "y", "x"]


def test_need_columns_names_the_nearest_column(tmp_path: Path) -> None:
    frame = pd.DataFrame({"sentance1": ["a"], "SENTENCE2": ["b"]})
    with pytest.raises(DataError, match="no column 'sentence1'.*did you mean 'sentance1'"):
        need_columns(frame, tmp_path / "t.csv", ["sentence1"])
    with pytest.raises(DataError, match="no column 'sentence2'.*did you mean 'SENTENCE2'"):
        need_columns(frame, tmp_path / "t.csv", ["sentence2"])
