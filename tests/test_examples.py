"""The sample pairs: complete, distinct, and refused with a sentence when the file is not what it should be."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.data.examples import read_examples
from explorer.errors import DataError


def test_read_examples_are_complete_and_distinct() -> None:
    examples = read_examples()
    assert len(examples) >= 10
    assert len({example.kind for example in examples}) == len(examples)
    assert all(example.sentence1 and example.sentence2 and example.note for example in examples)
    assert {"Paraphrase", "Negation", "Role swap", "Number", "Unrelated"} <= {example.kind for example in examples}


def test_read_examples_names_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="missing"):
        read_examples(tmp_path / "examples.tsv")
    (tmp_path / "bad.tsv").write_text("kind\tsentence1\tnote\nx\ty\tz\n", encoding="utf-8")
    with pytest.raises(DataError, match="no column 'sentence2'"):
        read_examples(tmp_path / "bad.tsv")
