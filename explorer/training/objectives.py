"""What each objective learns from: its stages, its loss (sentence-transformers' own), its batches. Trains nothing itself."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from typing import Any

import torch
from datasets import Dataset
from sentence_transformers import CrossEncoder, SentenceTransformer
from sentence_transformers.base.sampler import BatchSamplers
from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss
from sentence_transformers.sentence_transformer.losses import (
    CosineSimilarityLoss,
    MultipleNegativesRankingLoss,
    SoftmaxLoss,
    TripletLoss,
)
from torch import Tensor, nn

from explorer.data.tables import LABELS
from explorer.training.config import Objective, TrainConfig
from explorer.training.data import training_rows
from explorer.training.sampler import LengthBucketSampler

IN_WORDS = {
    Objective.STS: "mean squared error of the cosine against the gold score divided by its scale",
    Objective.NLI: "softmax over entailment, neutral and contradiction from [u; v; |u-v|]",
    Objective.TRIPLET: "triplet margin: the positive nearer to the anchor than the negative, by 5 (Euclidean distance)",
    Objective.RANKING: "multiple negatives ranking: the positive among all other sentences of the batch",
    Objective.NLI_STS: "two stages: softmax over [u; v; |u-v|] on labelled pairs, then mean squared error of the cosine "
    "against the gold score divided by its scale",
    Objective.CROSS_ENCODER: "both sentences read at once; binary cross-entropy of the score divided by its scale",
}
# A distance in H dimensions grows with H; sentence-transformers' own default.
_TRIPLET_MARGIN = 5.0


@dataclass(frozen=True)
class Stage:
    """One training loop of a run.

    Args:
        name: The objective's name; of nli-sts first "nli", then "sts".
        objective: Which loss.
        rows: What is trained on.
        steps_per_epoch: Batches in a pass.
        steps: Optimiser steps in all.
        every: Steps between two evaluations.
        done_before: Steps of the stages before this one.
        sentences_per_row: Sentences the backbone reads for one row.
    """

    name: str
    objective: Objective
    rows: Dataset
    steps_per_epoch: int
    steps: int
    every: int
    done_before: int
    sentences_per_row: int


class JointLoss(nn.Module):
    """Ordinary fine-tuning: both sentences in one input, a linear layer on its [CLS] vector learns score or label.

    Args:
        model: The encoder whose backbone is trained; its sentence layer has no part in it.
        labels: Number of labels; 1 for a score in 0..1, learnt by mean squared error.
    """

    def __init__(self, model: SentenceTransformer, labels: int) -> None:
        super().__init__()
        self.model = model
        self.head = nn.Linear(model.get_embedding_dimension() or 0, labels)

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> Tensor:
        """Returns the mean loss of one batch of joint inputs."""
        (features,) = sentence_features
        found = self.head(self.model(features)["token_embeddings"][:, 0]).float()
        if self.head.out_features == 1:
            return nn.functional.mse_loss(found[:, 0], labels.float())
        return nn.functional.cross_entropy(found, labels)


def plan(config: TrainConfig, processes: int = 1) -> list[Stage]:
    """Returns the stages of a run, tables read; none where nothing is to be trained.

    Args:
        config: See TrainConfig.
        processes: How many share the work, each with batches of its own.

    Raises:
        DataError: A table cannot be used.
    """
    if config.epochs == 0:
        return []
    objective = Objective(config.objective)
    if objective is not Objective.NLI_STS:
        return [_stage(config, objective, config.train, config.epochs, 0, processes)]
    first = _stage(config, Objective.NLI, config.nli, config.nli_epochs, 0, processes)
    return [first, _stage(config, Objective.STS, config.train, config.epochs, first.steps, processes)]


def make_loss(objective: Objective, model: Any, config: TrainConfig) -> nn.Module:
    """Returns the loss; what it has of layers of its own starts from `config.seed`."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        if isinstance(model, CrossEncoder):
            return BinaryCrossEntropyLoss(model)
        if not config.siamese:
            return JointLoss(model, len(LABELS) if objective is Objective.NLI else 1)
        match objective:
            case Objective.NLI:
                return SoftmaxLoss(model, embedding_dimension=model.get_embedding_dimension(), num_labels=len(LABELS))
            case Objective.TRIPLET:
                return TripletLoss(model, triplet_margin=_TRIPLET_MARGIN)
            case Objective.RANKING:
                return MultipleNegativesRankingLoss(model)
            case _:
                return CosineSimilarityLoss(model)


def rates(loss: nn.Module, config: TrainConfig) -> dict[str, float]:
    """Returns the learning rates of what starts at random, by a pattern of parameter names."""
    patterns = (r"\.convolutions\.", r"^classifier\.", r"^head\.", r"\.model\.classifier\.")
    names = [name for name, _ in loss.named_parameters()]
    return {pattern: config.head_learning_rate for pattern in patterns if _matches(pattern, names)}


def batches_of(objective: Objective) -> Any:
    """Returns the batch sampler: rows of like length, but no sentence twice in a batch where the others are negatives."""
    return BatchSamplers.NO_DUPLICATES if objective is Objective.RANKING else LengthBucketSampler


def own_layers(loss: nn.Module) -> dict[str, Tensor]:
    """Returns the weights that belong to the loss and not to the model, such as the classifier of nli."""
    return {name: value for name, value in loss.state_dict().items() if not name.startswith("model.")}


def _stage(
    config: TrainConfig, objective: Objective, path: str, epochs: float, done_before: int, processes: int
) -> Stage:
    rows = training_rows(objective, path, config)
    per_epoch = ceil(len(rows) / (config.batch_size * processes))
    steps = ceil(per_epoch * epochs)
    steps = min(steps, config.max_steps or steps)
    return Stage(
        name=objective.value,
        objective=objective,
        rows=rows,
        steps_per_epoch=per_epoch,
        steps=steps,
        every=max(1, min(steps, per_epoch // config.evaluations_per_epoch)),
        done_before=done_before,
        sentences_per_row=2
        if "pair" in rows.column_names
        else sum(rows.features[n].dtype == "string" for n in rows.features),
    )


def _matches(pattern: str, names: list[str]) -> bool:
    return any(re.search(pattern, name) for name in names)
