"""Which rows make a batch: rows of like length together, so that little is padding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from datasets import Dataset
from sentence_transformers.base.sampler import DefaultBatchSampler

# Batches are cut from runs of this many, sorted by length: little padding, while the order still changes each epoch.
_BATCHES_PER_BUCKET = 50
_TARGETS = ("score", "label")


class LengthBucketSampler(DefaultBatchSampler):
    """Random batches of rows of like length: each epoch shuffles, sorts within buckets, and shuffles the batches."""

    def __init__(self, dataset: Dataset, batch_size: int, drop_last: bool, **kwargs: Any) -> None:
        super().__init__(dataset, batch_size=batch_size, drop_last=drop_last, **kwargs)
        columns = [dataset[name] for name in dataset.column_names if name not in _TARGETS]
        self.lengths = torch.tensor([max(map(_length, row)) for row in zip(*columns, strict=True)])

    def __iter__(self) -> Iterator[list[int]]:
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        order = torch.randperm(len(self.lengths), generator=generator)
        buckets = order.split(self.batch_size * _BATCHES_PER_BUCKET)
        ordered = torch.cat([bucket[self.lengths[bucket].argsort(stable=True)] for bucket in buckets])
        batches = [batch.tolist() for batch in ordered.split(self.batch_size)]
        if self.drop_last and batches and len(batches[-1]) < self.batch_size:
            batches.pop()
        for index in torch.randperm(len(batches), generator=generator).tolist():
            yield batches[index]


def _length(cell: str | list[str]) -> int:
    """Characters of a sentence, or of both sentences of a pair read at once."""
    return len(cell) if isinstance(cell, str) else sum(map(len, cell))
