"""The words beside the maps: what was left out is told, and that nothing was left out is not."""

from __future__ import annotations

import pytest

from explorer.operations.map_corpus import lines_corpus
from explorer.ui import map_text


@pytest.mark.parametrize("empty", [1, 9, 10, 20, 1_000])
def test_left_out_lines_are_told_however_many(empty: int) -> None:
    corpus = lines_corpus("\n" * empty + "a dog runs\na cat runs")
    assert f"{empty:,} empty, 0 repeated" in map_text.notes([corpus.note])


def test_nothing_left_out_is_not_told() -> None:
    whole, sampled = lines_corpus("a dog runs\na cat runs"), lines_corpus("a dog runs\na cat runs", most=1)
    assert "empty" not in map_text.notes([whole.note])
    assert "sampled" in map_text.notes([sampled.note])


def test_the_time_of_umap_counts_its_first_start_in() -> None:
    (umap,) = [words for words, method in map_text.METHODS if method == "umap"]
    assert "some seconds" in umap and "the first time some 20" in umap
