"""The sample pairs: complete, distinct, and refused with a sentence when the file is not what it should be."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.data.corpus import read_sample_corpus
from explorer.data.examples import read_examples, sample_nli, sample_pairs
from explorer.data.overlap import Known, find_overlap, sentence_key
from explorer.data.tables import read_frame, triplets_of_nli
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


def test_sample_pairs_are_many_varied_and_graded() -> None:
    pairs = sample_pairs()
    assert len(pairs) >= 300
    assert pairs["split"].value_counts().to_dict() == {"train": 240, "dev": 80}
    assert ((pairs["score"] * 5).round(6) % 1 == 0).all()
    for split in ("train", "dev"):
        part = sample_pairs(split)
        assert part["score"].min() == 0
        assert part["score"].max() == 5
        assert part["score"].between(0.5, 4.5).mean() > 0.4
        assert part["topic"].nunique() == 10
        assert part["kind"].nunique() == 9


def test_sample_nli_is_balanced_and_its_premises_are_in_one_split() -> None:
    pairs = sample_nli()
    assert len(pairs) >= 300
    for split in ("train", "dev"):
        assert sample_nli(split)["label"].value_counts().nunique() == 1
    assert not set(sample_nli("train")["sentence1"]) & set(sample_nli("dev")["sentence1"])
    assert (pairs["label"].groupby(pairs["sentence1"]).nunique() == 3).all()
    assert len(triplets_of_nli(pairs)) == len(pairs) // 3


def test_sample_sentences_are_all_different() -> None:
    pairs, nli = sample_pairs(), sample_nli()
    sentences = [*pairs["sentence1"], *pairs["sentence2"], *nli["sentence1"].unique(), *nli["sentence2"]]
    keys = [sentence_key(sentence) for sentence in sentences]
    assert len(set(keys)) == len(keys)
    assert not set(keys) & set(map(sentence_key, read_sample_corpus()["sentence"]))
    # No template: no opening of four words is used more than three times.
    openings = [
        " ".join(sentence.lower().split()[:4]) for sentence in [*pairs["sentence1"], *nli["sentence1"].unique()]
    ]
    assert max(openings.count(opening) for opening in openings) <= 3


def test_sample_sentences_are_not_those_of_the_evaluation_data(shared_data: Path) -> None:
    samples = [sample_pairs(), sample_nli()]
    for path in sorted(shared_data.glob("*/*.tsv")):
        known = Known.of(read_frame(path))
        for sample in samples:
            found = find_overlap(sample, known)
            assert not found.either.any(), f"{path.name}: {sample[found.either]}"
