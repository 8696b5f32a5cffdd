"""Corpora for maps: the shipped one with labels, lines, files of every kind and every fault, caps that are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.errors import DataError, SettingError
from explorer.operations.map_corpus import check_most, file_corpus, lines_corpus, sample_corpus


def test_the_sample_corpus_has_labels_and_can_be_sampled() -> None:
    whole, some = sample_corpus(), sample_corpus(most=100, seed=7)
    assert len(whole.sentences) == len(whole.labels["topic"]) >= 400
    assert "negation" in whole.labels["contrast"]
    assert len(some.sentences) == 100 and some.note.endswith("are shown, sampled with seed 7.")
    for row, topic in zip(some.rows, some.labels["topic"], strict=True):
        assert whole.labels["topic"][row] == topic


def test_lines_are_cleaned_and_counted() -> None:
    found = lines_corpus("a dog runs\n\n a cat sleeps \na dog runs\n")
    assert found.sentences == ("a dog runs", "a cat sleeps")
    assert "1 empty, 1 repeated" in found.note
    for nothing in (None, "", " \n \n"):
        with pytest.raises(DataError, match="no sentences yet"):
            lines_corpus(nothing)


def test_a_file_keeps_its_rows_and_labels(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes("mood,said\ncalm,the café is open\nsad,NaN\nsad,the café is shut\n".encode("latin-1"))
    found = file_corpus(path, "said", "mood")
    assert found.sentences == ("the café is open", "the café is shut")
    assert found.rows == (0, 2) and found.labels == {"mood": ("calm", "sad")}
    assert "not UTF-8" in found.note and "1 missing" in found.note


def test_a_large_file_is_sampled_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    path.write_text("\n".join(f"sentence {n}" for n in range(300)), encoding="utf-8")
    found = file_corpus(path, most=40, seed=3)
    assert len(found.sentences) == 40
    assert "40 of 300 are shown, sampled with seed 3." in found.note
    assert check_most(20_000) == 20_000
    with pytest.raises(SettingError, match="use 1 to 20,000"):
        check_most(20_001)


@pytest.mark.parametrize(
    ("content", "words"),
    [("", "is empty"), ("sentence\n", "no rows"), ("n\n1\n2\n", "no column of sentences"), ("a\n\n\n", "")],
)
def test_a_file_without_sentences_is_refused(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "table.csv").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=words):
        file_corpus(tmp_path / "table.csv")


def test_a_column_without_labels_is_said_to_be_no_colour(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("mood,said\n,the door is open\n,the door is shut\n", encoding="utf-8")
    assert "The column 'mood' holds no labels for these sentences" in file_corpus(path, "said", "mood").note
