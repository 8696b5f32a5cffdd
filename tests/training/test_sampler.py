"""LengthBucketSampler: every row once an epoch, like lengths together, in an order that changes."""

from __future__ import annotations

from datasets import Dataset

from explorer.training.sampler import LengthBucketSampler


def test_length_bucket_sampler_covers_every_row_once_an_epoch_and_changes_between_epochs() -> None:
    texts = ["x" * (1 + (37 * row) % 101) for row in range(1003)]
    dataset = Dataset.from_dict({"sentence1": texts, "sentence2": texts})
    sampler = LengthBucketSampler(dataset, batch_size=8, drop_last=False, seed=1)
    epochs = []
    for epoch in range(2):
        sampler.set_epoch(epoch)
        batches = list(sampler)
        assert len(batches) == len(sampler) == 126
        assert sorted(row for batch in batches for row in batch) == list(range(1003))
        epochs.append(batches)
    assert epochs[0] != epochs[1]
    sampler.set_epoch(0)
    assert list(sampler) == epochs[0]


def test_length_bucket_sampler_puts_like_lengths_together_in_a_mixed_order() -> None:
    lengths = [1 + (37 * row) % 101 for row in range(800)]
    texts = ["x" * length for length in lengths]
    sampler = LengthBucketSampler(Dataset.from_dict({"sentence1": texts, "sentence2": texts}), 8, False, seed=1)
    spreads = [max(lengths[row] for row in batch) - min(lengths[row] for row in batch) for batch in sampler]
    assert sum(spreads) / len(spreads) < 5
    longest = [max(lengths[row] for row in batch) for batch in sampler]
    assert longest != sorted(longest)


def test_length_bucket_sampler_drops_the_incomplete_batch_if_asked() -> None:
    texts = ["a"] * 21
    sampler = LengthBucketSampler(Dataset.from_dict({"sentence1": texts, "sentence2": texts}), 8, True, seed=1)
    assert [len(batch) for batch in sampler] == [8, 8]


def test_length_bucket_sampler_measures_every_column_and_both_sentences_of_a_pair() -> None:
    triplets = Dataset.from_dict({"anchor": ["a"], "positive": ["abcd"], "negative": ["ab"]})
    assert LengthBucketSampler(triplets, 8, False).lengths.tolist() == [4]
    pairs = Dataset.from_dict({"pair": [["ab", "abc"]], "label": [2]})
    assert LengthBucketSampler(pairs, 8, False).lengths.tolist() == [5]
