"""read_corpus: what is read, what is left out and told, which column is taken, and that a sample has no order."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pandas as pd
import pytest

from explorer.data.tables import read_corpus
from explorer.errors import DataError, SettingError

SENTENCES = ["The kettle sings.", "A barge passes the lock.", "Nobody heard the bell."]


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return path


def test_read_corpus_of_a_text_file_names_lines_and_counts_what_it_leaves_out(tmp_path: Path) -> None:
    lines = [
        "  The kettle sings. ",
        "",
        "A barge passes the lock.",
        "The kettle sings.",
        " \t",
        "x" * 10_001,
        "Nobody heard the bell.",
    ]  # noqa: E501
    corpus = read_corpus(write(tmp_path / "c.txt", "\n".join(lines) + "\n"))
    assert corpus.sentences == SENTENCES
    assert corpus.rows["row"].tolist() == [1, 3, 7]
    counts = corpus.given, corpus.empty, corpus.missing, corpus.repeated, corpus.too_long, corpus.not_text
    assert counts == (7, 2, 0, 1, 1, 0)
    assert corpus.notes == (
        "7 lines; left out: 2 empty (the first is line 2), 1 longer than 10,000 characters (the first is line 6), "
        "1 repeated (the first is line 4).",
    )
    assert corpus.columns == ()


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_read_corpus_takes_the_column_that_looks_like_text(tmp_path: Path, suffix: str) -> None:
    frame = pd.DataFrame(
        {
            "id": ["a1", "b2", "c3"],
            "score": [1.5, 2.5, 3.5],
            "topic": ["home", "river", "home"],
            "what was said": SENTENCES,
            "day": ["2024-01-02", "2024-01-03", "2024-01-04"],
        }
    )
    path = tmp_path / f"c{suffix}"
    if suffix == ".parquet":
        frame.to_parquet(path)
    elif suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False, sep="," if suffix == ".csv" else "\t")
    corpus = read_corpus(path, label="topic")
    assert corpus.column == "what was said"
    assert corpus.notes[0] == "The column 'what was said' was read, the most text-like of 5."
    assert corpus.rows.to_dict("list") == {"row": [1, 2, 3], "sentence": SENTENCES, "label": ["home", "river", "home"]}
    assert corpus.columns == ("id", "score", "topic", "what was said", "day")
    assert corpus.text_columns[0] == "what was said"
    assert corpus.label_columns == ("topic",)
    assert read_corpus(path, "topic").sentences == ["home", "river"]


def test_read_corpus_counts_missing_and_what_is_no_text(tmp_path: Path) -> None:
    rows = [
        '{"s": "One lamp is lit."}',
        '{"s": null}',
        '{"s": NaN}',
        '{"t": "x"}',
        '{"s": 7}',
        '{"s": ["a"]}',
        '{"s": "a\\u0000b"}',
        '{"s": "\\ud800"}',
        '{"s": ""}',
        '{"s": "NaN"}',
        '{"s": "None of them came."}',
    ]  # noqa: E501
    corpus = read_corpus(write(tmp_path / "c.jsonl", "\n".join(rows)), "s")
    assert corpus.sentences == ["One lamp is lit.", "None of them came."]
    assert (corpus.missing, corpus.not_text, corpus.empty) == (4, 4, 1)
    assert "4 missing (NaN, null, None or N/A) (the first is row 2)" in corpus.notes[-1]


@pytest.mark.parametrize(
    "cell", ["NaN", "nan", "NULL", "null", "Null", "None", "none", "NA", "N/A", "n/a", "#N/A", "<NA>", "null "]
)
@pytest.mark.parametrize("suffix", [".txt", ".csv", ".jsonl"])
def test_read_corpus_has_one_rule_for_a_missing_cell(tmp_path: Path, suffix: str, cell: str) -> None:
    cells = ["The kettle sings.", cell, "None came.", "N/A is what it says."]
    rows = [f'{{"text": "{text}"}}' for text in cells] if suffix == ".jsonl" else cells
    header = ["text"] if suffix == ".csv" else []
    corpus = read_corpus(write(tmp_path / f"c{suffix}", "\n".join(header + rows)))
    assert corpus.sentences == ["The kettle sings.", "None came.", "N/A is what it says."]
    assert (corpus.missing, corpus.empty) == (1, 0)


def test_read_corpus_shows_a_label_that_is_no_character(tmp_path: Path) -> None:
    rows = ['{"s": "One lamp is lit.", "mood": "ca\\ud800lm"}', '{"s": "Two are out.", "mood": "none"}']
    corpus = read_corpus(write(tmp_path / "c.jsonl", "\n".join(rows)), "s", label="mood")
    assert corpus.rows["label"].tolist() == ["ca\ufffdlm", "none"]
    assert corpus.notes[-1].endswith("A label holds what is no character, shown as \ufffd.")


def test_read_corpus_of_one_sentence_a_thousand_times(tmp_path: Path) -> None:
    corpus = read_corpus(write(tmp_path / "c.txt", "Rain again.\n" * 1000))
    assert corpus.sentences == ["Rain again."]
    assert corpus.repeated == 999


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_read_corpus_allows_few_rows(tmp_path: Path, count: int) -> None:
    text = "".join(f"Boat {number} is late.\n" for number in range(count))
    assert len(read_corpus(write(tmp_path / "c.txt", text)).sentences) == count


def test_read_corpus_reads_latin_1_with_a_note(tmp_path: Path) -> None:
    corpus = read_corpus(write(tmp_path / "c.csv", "text\nLe café ferme tôt.\n".encode("latin-1")))
    assert corpus.sentences == ["Le café ferme tôt."]
    assert "Windows-1252" in corpus.notes[0]


def test_read_corpus_keeps_html_and_formulas_as_text(tmp_path: Path) -> None:
    cells = ["=1+1 is how the cell began", "<img src=x onerror=alert(1)> broke the page", "@home we rest"]
    path = tmp_path / "c.csv"
    pd.DataFrame({"text": cells}).to_csv(path, index=False)
    assert read_corpus(path).sentences == cells


def test_read_corpus_samples_the_same_sentences_in_any_order(tmp_path: Path) -> None:
    sentences = [f"Letter number {number} was posted." for number in range(500)]
    shuffled = random.Random(3).sample(sentences, len(sentences))
    one = read_corpus(write(tmp_path / "a.txt", "\n".join(sentences)), most=50)
    other = read_corpus(write(tmp_path / "b.txt", "\n".join(shuffled)), most=50)
    assert set(one.sentences) == set(other.sentences)
    assert one.sentences == [sentence for sentence in sentences if sentence in set(one.sentences)]
    assert one.notes[-1] == "50 of 500 different sentences, sampled with seed 42."
    assert one.distinct == 500
    assert set(read_corpus(tmp_path / "a.txt", most=50, seed=7).sentences) != set(one.sentences)
    assert len(read_corpus(tmp_path / "a.txt", most=500).sentences) == 500


def test_read_corpus_says_when_a_sentence_may_be_the_header(tmp_path: Path) -> None:
    corpus = read_corpus(write(tmp_path / "c.csv", "The mill has stopped turning\nThe weir is dry\n"))
    assert "was taken as the column's name; if it is a sentence, add a header" in corpus.notes[0]


@pytest.mark.parametrize(
    ("name", "content", "column", "message"),
    [
        ("c.txt", "", None, "c.txt is empty; give at least one sentence, one a line"),
        ("c.txt", b"\xef\xbb\xbf", None, "c.txt is empty"),
        ("c.txt", " \n\n", None, "c.txt holds no sentence. 2 lines; left out: 2 empty"),
        ("c.csv", "text\n", None, "c.csv has a header but no rows"),
        (
            "c.csv",
            "a,b\n1,2\n3,4\n",
            None,
            "no column of sentences; its columns and their first values are a \\('1'\\), b",
        ),
        ("c.csv", "a,b\n,\n,\n", None, "no column of sentences; all its cells are empty or missing"),
        (
            "c.csv",
            "n,t\n1.5,two words\n",
            "n",
            "the column 'n' holds no sentences, its first value is '1.5'; choose 't'",
        ),
        ("c.csv", "n,t\n1,x y\n", "text", "c.csv has no column 'text'; its columns are n, t"),
        ("c.txt", "one line\n", "text", "c.txt has lines, no columns"),
        ("c.csv", "text,t\nNaN,x\n", "text", "c.csv holds no sentence. 1 row; left out: 1 missing"),
        ("c.docx", "x", None, "no known kind; use one of .txt, .csv"),
        ("c.txt", b"PK\x03\x04", None, "Excel workbook"),
        ("c.csv", "a,a\nx y,z\n", None, "2 columns named 'a'"),
        ("c.csv", "a,b\nx,y\nx,y,z\n", None, "line 3 has 3 cells where the header has 2"),
    ],
)
def test_read_corpus_says_what_is_wrong(
    tmp_path: Path, name: str, content: str | bytes, column: str | None, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read_corpus(write(tmp_path / name, content), column)


def test_read_corpus_refuses_a_cap_below_one_and_an_unknown_label(tmp_path: Path) -> None:
    path = write(tmp_path / "c.csv", "text\nOne gate is open.\n")
    with pytest.raises(SettingError, match="At most 0 sentences"):
        read_corpus(path, most=0)
    with pytest.raises(DataError, match="no column 'kind'; its columns are text"):
        read_corpus(path, label="kind")


def test_read_corpus_of_a_large_file_takes_seconds(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    with path.open("w", encoding="utf-8") as file:
        file.write("id,text\n")
        file.writelines(
            f'{i},"Crate {i} went by barge, then by rail, to the depot beyond the hill"\n' for i in range(200_000)
        )
    start = time.perf_counter()
    corpus = read_corpus(path, most=2000)
    assert corpus.distinct == 200_000
    assert time.perf_counter() - start < 15
