"""read_sentences: distinct sentences of tables, text files and a WordNet folder, in order of first appearance."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import DATA

from explorer.data.sources import read_sentences
from explorer.errors import DataError


def test_read_sentences_of_a_text_file_are_distinct_and_tidy() -> None:
    assert read_sentences([DATA / "text.txt"]) == [
        "The old man plays a red guitar.",
        "The dog runs to the river.",
        "Snow on the old mountain",
    ]


def test_read_sentences_of_a_table_takes_both_columns() -> None:
    sentences = read_sentences([DATA / "pairs.tsv"])
    assert len(sentences) == 24
    assert 'The man said "no" to the boy.' in sentences


def test_read_sentences_of_wordnet_are_glosses_and_examples() -> None:
    assert read_sentences([DATA / "wordnet"]) == [
        "the guitar stood in the corner",
        "hers is a small guitar",
        "a box with strings that a player plucks",
        "water that falls from clouds",
        'make tones with the voice; "sing"',
        "a red boat left",
        "of the colour of a ripe apple",
        "at low speed",
    ]


def test_read_sentences_of_several_sources_counts_a_sentence_once() -> None:
    both = read_sentences([DATA / "text.txt", str(DATA / "pairs.tsv")])
    assert both[0] == "The old man plays a red guitar."
    assert len(both) == len(set(both)) == 3 + 24 - 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", "first\tsecond\nx\ty\n", "a.tsv has the columns first, second; sentence1 and sentence2 are needed"),
        ("a.tsv", "", "a.tsv is empty"),
        ("a.txt", b"caf\xe9\n", "a.txt is not UTF-8"),
        ("a.tsv", b"sentence1\tsentence2\ncaf\xe9\tx\n", "a.tsv is not UTF-8"),
        ("a.pdf", "x", "neither .tsv nor .txt nor a WordNet folder"),
    ],
)
def test_read_sentences_says_what_is_wrong(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(DataError, match=message):
        read_sentences([path])


def test_read_sentences_refuses_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No text source at"):
        read_sentences([tmp_path / "nothing.txt"])
    with pytest.raises(DataError, match="No text source at"):
        read_sentences([tmp_path])
