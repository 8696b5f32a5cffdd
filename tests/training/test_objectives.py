"""The losses are the library's own; layers of their own are found; stages and steps are counted right."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from sentence_transformers.base.sampler import BatchSamplers
from sentence_transformers.sentence_transformer import losses

from explorer.training.config import Objective, TrainConfig
from explorer.training.objectives import JointLoss, batches_of, make_loss, own_layers, plan, rates
from explorer.training.train import build_model

KINDS = {
    "sts": losses.CosineSimilarityLoss,
    "nli": losses.SoftmaxLoss,
    "triplet": losses.TripletLoss,
    "ranking": losses.MultipleNegativesRankingLoss,
}


@pytest.mark.parametrize("objective", list(KINDS))
def test_make_loss_is_the_librarys(configure: Callable[..., TrainConfig], objective: str) -> None:
    config = configure(objective)
    assert isinstance(make_loss(Objective(objective), build_model(config, "cpu"), config), KINDS[objective])


def test_make_loss_starts_its_layers_from_the_seed(configure: Callable[..., TrainConfig]) -> None:
    config = configure("nli")
    model = build_model(config, "cpu")
    one, same, other = (
        own_layers(make_loss(Objective.NLI, model, configure("nli", seed=seed)))["classifier.weight"]
        for seed in (1, 1, 2)
    )
    assert one.shape == (3, 48)
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_own_layers_are_those_of_the_loss_alone(configure: Callable[..., TrainConfig]) -> None:
    for objective, names in (("sts", set()), ("nli", {"classifier.weight", "classifier.bias"})):
        config = configure(objective)
        assert set(own_layers(make_loss(Objective(objective), build_model(config, "cpu"), config))) == names


def test_rates_give_what_starts_at_random_its_own(configure: Callable[..., TrainConfig]) -> None:
    for objective, pooling, expected in (
        ("nli", "cnn", {r"\.convolutions\.", r"^classifier\."}),
        ("sts", "mean", set()),
        ("cross-encoder", "cls", {r"\.model\.classifier\."}),
    ):
        config = configure(objective, pooling=pooling)
        loss = make_loss(Objective(objective), build_model(config, "cpu"), config)
        assert set(rates(loss, config)) == expected


def test_joint_loss_by_hand(configure: Callable[..., TrainConfig]) -> None:
    config = configure("sts", pooling="mean", siamese=False)
    model = build_model(config, "cpu").eval()
    loss = JointLoss(model, 1)
    features = model.preprocess([["a dog runs", "a dog sleeps"], ["snow", "rain"]])
    with torch.no_grad():
        read = model(dict(features))["token_embeddings"][:, 0] @ loss.head.weight.T + loss.head.bias
        expected = ((read[:, 0] - torch.tensor([0.2, 1.0])) ** 2).mean()
        found = loss([dict(features)], torch.tensor([0.2, 1.0]))
    assert found.item() == pytest.approx(expected.item(), rel=1e-5)
    assert features["token_type_ids"].max() == 1


@pytest.mark.parametrize(
    ("objective", "options", "counts"),
    [
        ("sts", {}, [("sts", 10, 2, 0, 2)]),
        ("sts", {"siamese": False, "pooling": "cls"}, [("sts", 10, 2, 0, 2)]),
        ("nli", {"epochs": 0.5}, [("nli", 4, 3, 0, 2)]),
        ("triplet", {}, [("triplet", 6, 1, 0, 3)]),
        ("ranking", {}, [("ranking", 6, 1, 0, 2)]),
        ("nli-sts", {}, [("nli", 7, 3, 0, 2), ("sts", 10, 2, 7, 2)]),
        ("nli-sts", {"max_steps": 2}, [("nli", 2, 2, 0, 2), ("sts", 2, 2, 2, 2)]),
        ("sts", {"epochs": 0.0}, []),
    ],
)
def test_plan_counts_stages_steps_and_sentences(
    configure: Callable[..., TrainConfig], objective: str, options: dict, counts: list[tuple]
) -> None:
    stages = plan(configure(objective, **options))
    assert [(s.name, s.steps, s.every, s.done_before, s.sentences_per_row) for s in stages] == counts


def test_plan_shares_the_rows_between_processes(configure: Callable[..., TrainConfig]) -> None:
    assert plan(configure("sts"), processes=2)[0].steps == 6


def test_ranking_has_no_sentence_twice_in_a_batch() -> None:
    assert batches_of(Objective.RANKING) == BatchSamplers.NO_DUPLICATES
