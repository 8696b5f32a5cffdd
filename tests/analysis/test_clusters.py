"""Groups by direction: found where they are, the same in any order, named by their words."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.analysis.clusters import cluster, name_clusters
from explorer.errors import DataError

AXES = np.eye(3)[[0, 0, 0, 1, 1, 2]] + 0.01 * np.random.default_rng(1).standard_normal((6, 3))


def test_cluster_finds_three_directions_the_largest_first() -> None:
    found = cluster(AXES, 3)
    assert found.count == 3
    assert found.of_rows.tolist() == [0, 0, 0, 1, 1, 2]


def test_cluster_is_the_same_in_any_order_and_for_any_length() -> None:
    random = np.random.default_rng(3)
    vectors = random.standard_normal((60, 8))
    order = random.permutation(60)
    there = cluster(vectors, 5).of_rows
    moved = cluster(vectors[order] * 3, 5).of_rows
    assert len(set(zip(there[order].tolist(), moved.tolist(), strict=True))) == 5


def test_cluster_answers_for_few_equal_and_zero_vectors() -> None:
    assert cluster(np.ones((4, 2)), 8).of_rows.tolist() == [0, 0, 0, 0]
    assert cluster([[0.0, 0.0], [1.0, 0.0]], 8).of_rows.tolist() == [-1, 0]
    assert cluster(np.zeros((2, 2)), 8).count == 0
    with pytest.raises(DataError, match="no sentence"):
        cluster(np.zeros((0, 2)))


def test_name_clusters_gives_the_words_that_the_others_lack() -> None:
    sentences = [
        "the dog barks",
        "the dog eats",
        "a dog runs",
        "the rain falls",
        "warm rain falls",
        "no words at all 7",
    ]
    names = name_clusters(cluster(AXES, 3), sentences, words=1)
    assert names[:2] == ("dog", "falls")
