"""Which words: the parts add up to the vector and the matrix to the cosine; what does not add up is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling
from torch import Tensor

from explorer.analysis import attribution
from explorer.analysis.attribution import SentenceParts, pair_contributions, sentence_parts
from explorer.analysis.similarity import cosine_of_pairs
from explorer.encoders.cnn_pooling import CNNPooling
from explorer.encoders.encode import Precision
from explorer.encoders.hidden_states import run_backbone, sentence_layer
from explorer.encoders.registry import Registry
from explorer.errors import EncoderError

HIDDEN = 12


def make_states(length: int, seed: int = 0, hidden: int = HIDDEN) -> Tensor:
    return torch.randn(1, length, hidden, generator=torch.Generator().manual_seed(seed))


@pytest.fixture(scope="module")
def head() -> CNNPooling:
    torch.manual_seed(6)
    module = CNNPooling(HIDDEN).eval()
    with torch.no_grad():
        for convolution in module.convolutions:
            convolution.bias.uniform_(-0.3, 0.3)
    return module


def states_of(encoder: SentenceTransformer, texts: list[str]) -> list[Tensor]:
    found: list[Tensor] = [torch.empty(0)] * len(texts)

    def visit(rows: list[int], states: Tensor) -> None:
        for index, row in enumerate(rows):
            found[row] = states[index : index + 1]

    run_backbone(encoder, texts, visit, precision=Precision.FLOAT32)
    return found


def encoders_with(pooling: str, tiny_encoder: Callable) -> list[SentenceTransformer]:
    """A tiny encoder of each family, and one that comes with the project."""
    registry = Registry()
    shipped = [registry.load(info.name) for info in registry.scan()[0] if info.pooling == pooling][:1]
    return [tiny_encoder("bert", pooling), tiny_encoder("albert", pooling), *shipped]


def cosines_of(encoder: SentenceTransformer, states: list[Tensor]) -> np.ndarray:
    """The cosines of n pairs from 2 n sentences' states, by the sentence layer's own forward pass."""
    layer, half = sentence_layer(encoder), len(states) // 2
    features = [{"token_embeddings": s, "attention_mask": torch.ones(s.shape[:2], dtype=torch.long)} for s in states]
    with torch.no_grad():
        vectors = torch.cat([layer(item)["sentence_embedding"] for item in features]).numpy()
    return cosine_of_pairs(vectors[:half], vectors[half:])


def read_stsb(shared_data: Path, count: int) -> tuple[list[str], list[str]]:
    table = pd.read_csv(shared_data / "stsb" / "dev.tsv", sep="\t", nrows=1500).iloc[:: 1500 // count][:count]
    return table["sentence1"].tolist(), table["sentence2"].tolist()


def test_average_pooling_by_hand() -> None:
    states1, states2 = torch.tensor([[[2.0, 0.0], [0.0, 2.0]]]), torch.tensor([[[3.0, 4.0]]])
    first, second = (sentence_parts(Pooling(2, "mean"), s) for s in (states1, states2))
    assert first.parts.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert first.weights.tolist() == [0.5, 0.5]
    assert first.contributions.tolist() == [0.5, 0.5]
    pair = pair_contributions(first, second)
    # (1, 0).(3, 4) = 3 and (0, 1).(3, 4) = 4, over the lengths sqrt(2) and 5.
    np.testing.assert_allclose(pair.matrix, [[3 / (5 * 2**0.5)], [4 / (5 * 2**0.5)]])
    assert pair.cosine == pytest.approx(7 / (5 * 2**0.5))
    assert (pair.has_baseline, pair.method, pair.steps) == (False, "exact", 0)


def test_cls_gives_everything_to_its_first_piece() -> None:
    parts = sentence_parts(Pooling(HIDDEN, "cls"), make_states(4))
    assert parts.weights.tolist() == [1, 0, 0, 0]
    np.testing.assert_allclose(parts.vector, make_states(4)[0, 0].numpy())


def test_a_sentence_layer_that_cannot_be_split_is_refused() -> None:
    with pytest.raises(EncoderError, match="'max' cannot be split"):
        sentence_parts(Pooling(HIDDEN, "max"), make_states(4))


def test_average_pooling_sums_to_the_cosine_on_200_stsb_pairs(shared_data: Path, tiny_encoder: Callable) -> None:
    first, second = read_stsb(shared_data, 200)
    for encoder in encoders_with("mean", tiny_encoder):
        layer = sentence_layer(encoder)
        states = states_of(encoder, first + second)
        cosines = cosines_of(encoder, states)
        parts = [sentence_parts(layer, one) for one in states]
        totals = [pair_contributions(a, b).total for a, b in zip(parts[:200], parts[200:], strict=True)]
        assert len(totals) == 200
        np.testing.assert_allclose(totals, cosines, atol=1e-6)


def test_the_cnn_sums_to_the_cosine_within_a_hundredth_on_stsb(shared_data: Path, tiny_encoder: Callable) -> None:
    count = 3
    first, second = read_stsb(shared_data, count)
    for encoder in encoders_with("cnn", tiny_encoder):
        layer = sentence_layer(encoder)
        states = states_of(encoder, first + second)
        cosines = cosines_of(encoder, states)
        parts = [sentence_parts(layer, one) for one in states]
        for a, b, cosine in zip(parts[:count], parts[count:], cosines, strict=True):
            pair = pair_contributions(a, b)
            assert pair.cosine == pytest.approx(cosine, abs=1e-5)
            assert abs(pair.total - pair.cosine) <= 0.01 * max(abs(pair.cosine), 0.1)
            assert pair.residual <= 0.01
            assert pair.matrix.shape == (len(a.parts) + 1, len(b.parts) + 1)


@pytest.mark.parametrize("length", [1, 2, 9, 20])
def test_cnn_parts_add_up_with_the_baseline(head: CNNPooling, length: int) -> None:
    parts = sentence_parts(head, make_states(length, length))
    with torch.no_grad():
        baseline = head.activations(torch.zeros(1, length, HIDDEN), torch.ones(1, length)).embedding[0].numpy()
    np.testing.assert_allclose(parts.baseline, baseline, atol=1e-6)
    assert abs(baseline).max() > 0.01
    missing = np.linalg.norm(parts.parts.sum(0) + parts.baseline - parts.vector) / np.linalg.norm(parts.vector)
    assert parts.residual == pytest.approx(missing)
    assert parts.residual <= 0.005
    assert parts.weights.sum() == pytest.approx(1)
    assert (parts.weights >= 0).all()
    share = parts.baseline @ parts.vector / (parts.vector @ parts.vector)
    assert parts.contributions.sum() + share == pytest.approx(1, abs=0.006)


def test_cnn_parts_of_a_piece_do_not_mix_hidden_dimensions(head: CNNPooling) -> None:
    states = make_states(6)
    changed = states.clone()
    changed[..., 5] += 1.0
    one, other = sentence_parts(head, states), sentence_parts(head, changed)
    steps = {one.steps, other.steps}
    assert len(steps) == 1, "compare at the same number of steps"
    others = np.arange(HIDDEN) != 5
    np.testing.assert_allclose(one.parts[:, others], other.parts[:, others], atol=1e-6)


def test_cnn_parts_of_a_nearly_linear_head_are_the_exact_ones() -> None:
    """With tiny weights tanh is the identity, and over one word piece the head is a product of five numbers."""
    layer = CNNPooling(1, channels=(1, 1, 1, 1, 1, 1)).eval()
    with torch.no_grad():
        for convolution in layer.convolutions:
            convolution.weight.fill_(0.01)
    parts = sentence_parts(layer, torch.tensor([[[1.0]]]))
    np.testing.assert_allclose(parts.parts, [[0.01**5]], rtol=1e-4)
    np.testing.assert_allclose(parts.vector, [0.01**5], rtol=1e-4)


def test_too_large_a_residual_is_refused(head: CNNPooling, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attribution, "_FIRST_STEPS", 1)
    monkeypatch.setattr(attribution, "_MAX_STEPS", 1)
    with pytest.raises(EncoderError, match=r"miss the whole by .*% after 1 steps, more than 1%"):
        sentence_parts(head, 4 * make_states(12))


def test_a_pair_that_misses_its_cosine_is_refused() -> None:
    def off_by(factor: float) -> SentenceParts:
        vector = np.array([1.0, 0.0])
        return SentenceParts(factor * vector[None], 0 * vector, vector, np.ones(1), np.ones(1), "exact", 0, 0.0)

    assert pair_contributions(off_by(1.0), off_by(1.009)).residual == pytest.approx(0.009)
    with pytest.raises(EncoderError, match="miss the whole by 1.1%"):
        pair_contributions(off_by(1.0), off_by(1.011))


def test_a_zero_vector_has_no_cosine_to_take_apart() -> None:
    parts = sentence_parts(Pooling(HIDDEN, "mean"), torch.zeros(1, 3, HIDDEN))
    with pytest.raises(EncoderError, match="vector is zero"):
        pair_contributions(parts, parts)


def test_the_matrix_is_symmetric_in_the_pair(head: CNNPooling) -> None:
    one, other = sentence_parts(head, make_states(5, 1)), sentence_parts(head, make_states(8, 2))
    np.testing.assert_allclose(pair_contributions(one, other).matrix, pair_contributions(other, one).matrix.T)
