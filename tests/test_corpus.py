"""The sample corpus: its shape and labels, no sentence twice, and a base and a paraphrase in every group."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.data import corpus as module
from explorer.data.corpus import read_sample_corpus
from explorer.errors import DataError

TOPICS = set("cooking weather travel music sport animals school health money technology home nature".split())
CONTRASTS = {"", "paraphrase", "negation", "role-swap", "number", "tense", "register", "near-topic"}


def test_sample_corpus_has_its_shape_and_labels() -> None:
    corpus = read_sample_corpus()
    assert list(corpus.columns) == ["sentence", "topic", "group", "contrast"]
    assert len(corpus) >= 400
    assert set(corpus["topic"]) == TOPICS
    assert set(corpus["contrast"]) == CONTRASTS
    assert corpus["sentence"].str.split().str.len().between(3, 25).all()
    assert not corpus["sentence"].str.contains('["\t\u201c\u201d]').any()


def test_sample_corpus_repeats_no_sentence() -> None:
    assert not read_sample_corpus()["sentence"].str.casefold().duplicated().any()


def test_every_group_has_a_base_a_paraphrase_and_a_contrast() -> None:
    for name, group in read_sample_corpus().groupby("group"):
        contrasts = list(group["contrast"])
        assert len(contrasts) in (3, 4), name
        assert contrasts[0] == "" and contrasts.count("") == 1, name
        assert contrasts.count("paraphrase") == 1, name
        assert group["topic"].nunique() == 1 and str(name).startswith(group["topic"].iloc[0] + "-"), name


def test_read_sample_corpus_names_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FILE", tmp_path / "corpus.tsv")
    with pytest.raises(DataError, match="missing"):
        read_sample_corpus()
    module.FILE.write_text("sentence\ttopic\tgroup\nx\ty\tz\n", encoding="utf-8")
    with pytest.raises(DataError, match="no column contrast"):
        read_sample_corpus()
