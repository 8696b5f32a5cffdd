"""CNNPooling: against a plain Conv2d reading of the same figure, a case by hand, padding, precision, save and load."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from explorer.encoders.cnn_pooling import CHANNELS, KERNEL_SIZES, CNNPooling

HIDDEN = 8
TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def pooling() -> CNNPooling:
    torch.manual_seed(0)
    module = CNNPooling(HIDDEN).eval()
    with torch.no_grad():
        for convolution in module.convolutions:
            convolution.bias.uniform_(-0.3, 0.3)
    return module


def make_tokens(batch: int, length: int, seed: int = 0) -> Tensor:
    return torch.randn(batch, length, HIDDEN, generator=torch.Generator().manual_seed(seed))


def mask_of(lengths: list[int], total: int) -> Tensor:
    return (torch.arange(total) < torch.tensor(lengths)[:, None]).long()


def run(module: CNNPooling, tokens: Tensor, mask: Tensor) -> Tensor:
    return module({"token_embeddings": tokens, "attention_mask": mask})["sentence_embedding"]


def reference(module: CNNPooling, tokens: Tensor, mask: Tensor) -> tuple[list[Tensor], Tensor]:
    """Figure 2 read one sentence at a time with Conv2d over the image (1, 1, n, H) of its n real tokens.

    Returns:
        Every sentence's last layer (C = 1, T_5, H), and the embeddings (B, H).
    """
    lasts, vectors = [], []
    for sentence, keep in zip(tokens, mask.bool(), strict=True):
        z = sentence[keep][None, None]
        for convolution, kernel in zip(module.convolutions, KERNEL_SIZES, strict=True):
            z = F.max_pool2d(z, kernel_size=(2, 1), stride=(2, 1), ceil_mode=True)
            weight = convolution.weight.unsqueeze(-1)  # (C_out, C_in, k, 1): k tokens by one hidden dimension
            z = torch.tanh(F.conv2d(z, weight, convolution.bias, padding=(kernel // 2, 0)))
        lasts.append(z[0])
        vectors.append(z[0, 0].mean(0))
    return lasts, torch.stack(vectors)


def test_parameters_are_those_of_the_figure() -> None:
    by_hand = sum(
        inner * outer * k + outer for inner, outer, k in zip(CHANNELS, CHANNELS[1:], KERNEL_SIZES, strict=False)
    )
    assert by_hand == 84_481
    assert sum(parameter.numel() for parameter in CNNPooling(384).parameters()) == 84_481


@pytest.mark.parametrize("length", range(1, 41))
def test_forward_equals_conv2d_reference(pooling: CNNPooling, length: int) -> None:
    tokens = make_tokens(4, length, seed=length)
    mask = mask_of([length, max(1, length - 1), max(1, length // 2), 1], length)
    with torch.no_grad():
        ours, theirs = run(pooling, tokens, mask), reference(pooling, tokens, mask)[1]
    assert torch.allclose(ours, theirs, atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("length", [1, 2, 7, 16, 33])
def test_forward_equals_conv2d_reference_without_padding(pooling: CNNPooling, length: int) -> None:
    tokens, mask = make_tokens(3, length), torch.ones(3, length, dtype=torch.long)
    with torch.no_grad():
        assert torch.allclose(run(pooling, tokens, mask), reference(pooling, tokens, mask)[1], atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("length", [1, 5, 12, 31])
def test_activations_have_the_documented_shapes_and_zero_where_masked(pooling: CNNPooling, length: int) -> None:
    tokens, mask = make_tokens(3, length), mask_of([length, max(1, length // 3), 1], length)
    with torch.no_grad():
        got = pooling.activations(tokens, mask)
    expected = length
    for layer, layer_mask, channels in zip(got.layers, got.masks, CHANNELS[1:], strict=True):
        expected = math.ceil(expected / 2)
        assert layer.shape == (3, channels, expected, HIDDEN)
        assert layer_mask.shape == (3, expected)
        assert layer_mask.dtype == torch.bool
        assert layer.abs().max() <= 1
        assert layer.masked_select(~layer_mask[:, None, :, None]).abs().sum() == 0


def test_activations_equal_the_reference_layer_by_layer(pooling: CNNPooling) -> None:
    tokens, mask = make_tokens(2, 13), mask_of([13, 6], 13)
    with torch.no_grad():
        got = pooling.activations(tokens, mask)
        lasts, _ = reference(pooling, tokens, mask)
    for row, last in enumerate(lasts):
        ours = got.layers[-1][row][:, got.masks[-1][row]]
        assert torch.allclose(ours, last, atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("length", [1, 2, 9, 40])
def test_activations_embedding_is_that_of_forward(pooling: CNNPooling, length: int) -> None:
    tokens, mask = make_tokens(5, length), mask_of([length, 1, max(1, length - 1), length, 1], length)
    with torch.no_grad():
        embedding = pooling.activations(tokens, mask).embedding
        assert torch.allclose(embedding, run(pooling, tokens, mask), atol=1e-6, rtol=0)


def test_embedding_is_the_mean_of_the_last_layer(pooling: CNNPooling) -> None:
    tokens, mask = make_tokens(2, 37), mask_of([37, 20], 37)
    with torch.no_grad():
        got = pooling.activations(tokens, mask)
    keep = got.masks[-1][..., None]
    mean = (got.layers[-1][:, 0] * keep).sum(1) / keep.sum(1)
    assert torch.allclose(got.embedding, mean, atol=1e-6, rtol=0)


def test_activations_of_a_case_by_hand() -> None:
    """H = 2, T = 4, one channel everywhere; every number below was worked out by hand.

    tokens, by hidden dimension: h0 = (0.5, -1, 0.2, 0.4), h1 = (-0.3, 0.1, 0.8, -0.6)
    """
    module = CNNPooling(2, channels=(1, 1, 1, 1, 1, 1), kernel_sizes=KERNEL_SIZES)
    weights = [[2.0], [0.0, 0.5, 1.0, -1.0, 0.0], [3.0, 1.0, -3.0], [5.0, -2.0, 5.0], [1.5]]
    biases = [0.1, 0.0, -0.2, 0.0, 0.25]
    with torch.no_grad():
        for convolution, weight, bias in zip(module.convolutions, weights, biases, strict=True):
            convolution.weight.copy_(torch.tensor(weight)[None, None])
            convolution.bias.fill_(bias)
        tokens = torch.tensor([[[0.5, -0.3], [-1.0, 0.1], [0.2, 0.8], [0.4, -0.6]]])
        got = module.activations(tokens, torch.ones(1, 4, dtype=torch.long))
    # Layer 1: pooled pairs h0 (0.5, 0.4), h1 (0.1, 0.8); times 2 plus 0.1: h0 (1.1, 0.9), h1 (0.3, 1.7).
    first = [[math.tanh(1.1), math.tanh(0.3)], [math.tanh(0.9), math.tanh(1.7)]]
    # Layer 2: the one pair's maximum is tanh(1.1) and tanh(1.7). One position is left, so of the five taps only the
    # middle one (1.0) meets a value; the others meet zero padding.
    second = [math.tanh(math.tanh(1.1)), math.tanh(math.tanh(1.7))]
    # Layer 3: pooling one position keeps it; the middle tap is 1.0 and the bias -0.2.
    third = [math.tanh(x - 0.2) for x in second]
    # Layer 4: the middle tap is -2.0, no bias.
    fourth = [math.tanh(-2.0 * x) for x in third]
    # Layer 5: kernel 1, weight 1.5, bias 0.25; its mean over one position is the embedding.
    fifth = [math.tanh(1.5 * x + 0.25) for x in fourth]
    assert got.layers[0][0, 0].tolist() == [pytest.approx(row, abs=1e-6) for row in first]
    for layer, values in zip(got.layers[1:], (second, third, fourth, fifth), strict=True):
        assert layer[0, 0].tolist() == [pytest.approx(values, abs=1e-6)]
    assert got.embedding[0].tolist() == pytest.approx(fifth, abs=1e-6)
    # The same to four places: h0 0.8005, 0.6642, 0.4335, -0.6998, -0.6640; h1 0.9354, 0.7332, 0.4878, -0.7510, -0.7047.
    assert got.embedding[0].tolist() == pytest.approx([-0.6640, -0.7047], abs=1e-4)


def test_activations_convolve_over_neighbouring_positions_by_hand() -> None:
    """H = 1, T = 6, two blocks: the second kernel's taps (left, middle, right) meet their neighbours."""
    module = CNNPooling(1, channels=(1, 1, 1), kernel_sizes=(3, 1))
    with torch.no_grad():
        module.convolutions[0].weight.copy_(torch.tensor([[[0.5, 1.0, -1.0]]]))
        module.convolutions[0].bias.zero_()
        module.convolutions[1].weight.fill_(1.0)
        module.convolutions[1].bias.zero_()
        tokens = torch.tensor([0.1, 0.3, -0.2, -0.4, 0.6, 0.5]).view(1, 6, 1)
        got = module.activations(tokens, torch.ones(1, 6, dtype=torch.long))
    # Pooled: (0.3, -0.2, 0.6). Left neighbour x 0.5 + itself - right neighbour:
    #   0 + 0.3 + 0.2 = 0.5;  0.15 - 0.2 - 0.6 = -0.65;  -0.1 + 0.6 - 0 = 0.5
    first = [math.tanh(0.5), math.tanh(-0.65), math.tanh(0.5)]
    # Pooled again, three positions to two: max of the first two, then the third alone.
    second = [math.tanh(first[0]), math.tanh(first[2])]
    assert got.layers[0][0, 0, :, 0].tolist() == pytest.approx(first, abs=1e-6)
    assert got.layers[1][0, 0, :, 0].tolist() == pytest.approx(second, abs=1e-6)
    assert got.embedding[0, 0].item() == pytest.approx(sum(second) / 2, abs=1e-6)


@pytest.mark.parametrize("length", [1, 2, 3, 8, 21])
def test_forward_ignores_padding_and_what_stands_in_it(pooling: CNNPooling, length: int) -> None:
    tokens = make_tokens(1, length)
    filler = torch.full((1, 120 - length, HIDDEN), 1e3)
    with torch.no_grad():
        alone = run(pooling, tokens, torch.ones(1, length, dtype=torch.long))
        padded = run(pooling, torch.cat([tokens, filler], 1), mask_of([length], 120))
    assert torch.allclose(alone, padded, atol=1e-6, rtol=0)


def test_forward_ignores_the_order_of_the_batch(pooling: CNNPooling) -> None:
    lengths = [3, 30, 1, 17, 8, 30, 2]
    tokens, mask = make_tokens(7, 30), mask_of(lengths, 30)
    order = torch.tensor([4, 2, 6, 0, 5, 3, 1])
    with torch.no_grad():
        assert torch.allclose(run(pooling, tokens, mask)[order], run(pooling, tokens[order], mask[order]), atol=1e-6)


def test_forward_splits_a_long_batch_without_a_trace(pooling: CNNPooling) -> None:
    lengths = [1 + (7 * row) % 50 for row in range(64)]
    tokens, mask = make_tokens(64, 50), mask_of(lengths, 50)
    with torch.no_grad():
        together = run(pooling, tokens, mask)
        one_by_one = torch.cat([run(pooling, tokens[i : i + 1], mask[i : i + 1]) for i in range(64)])
    assert torch.allclose(together, one_by_one, atol=1e-6, rtol=0)


def test_forward_leaves_its_inputs_alone(pooling: CNNPooling) -> None:
    tokens, mask = make_tokens(2, 9), mask_of([9, 4], 9)
    before = tokens.clone(), mask.clone()
    with torch.no_grad():
        run(pooling, tokens, mask)
    assert torch.equal(tokens, before[0])
    assert torch.equal(mask, before[1])


def test_forward_of_a_sentence_without_tokens_is_zero(pooling: CNNPooling) -> None:
    tokens, mask = make_tokens(3, 6), mask_of([6, 0, 2], 6)
    with torch.no_grad():
        vectors = run(pooling, tokens, mask)
    assert torch.isfinite(vectors).all()
    assert vectors[1].abs().sum() == 0
    assert vectors[0].abs().sum() > 0


def test_forward_of_one_token_is_finite_and_of_width_h(pooling: CNNPooling) -> None:
    with torch.no_grad():
        vector = run(pooling, make_tokens(1, 1), torch.ones(1, 1, dtype=torch.long))
    assert vector.shape == (1, HIDDEN)
    assert torch.isfinite(vector).all()


def test_forward_under_bfloat16_autocast_stays_close(pooling: CNNPooling) -> None:
    tokens, mask = make_tokens(6, 24), mask_of([24, 20, 11, 5, 2, 1], 24)
    with torch.no_grad():
        exact = run(pooling, tokens, mask)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            rough = run(pooling, tokens, mask)
    assert rough.dtype == torch.float32
    assert F.cosine_similarity(exact, rough).min() > 0.999


def test_forward_in_bfloat16_throughout_stays_close(pooling: CNNPooling) -> None:
    tokens, mask = make_tokens(3, 24), mask_of([24, 9, 1], 24)
    with torch.no_grad():
        exact = run(pooling, tokens, mask)
        rough = run(pooling, tokens.bfloat16(), mask)
    assert rough.dtype == torch.bfloat16
    assert F.cosine_similarity(exact, rough.float()).min() > 0.999


def test_gradients_equal_those_of_the_reference(pooling: CNNPooling) -> None:
    mask = mask_of([19, 11, 4, 1], 19)
    parameters = list(pooling.parameters())
    weights = torch.randn(4, HIDDEN, generator=torch.Generator().manual_seed(3))
    ours_in, theirs_in = (make_tokens(4, 19).requires_grad_() for _ in range(2))
    ours = torch.autograd.grad((run(pooling, ours_in, mask) * weights).sum(), [ours_in, *parameters])
    theirs = torch.autograd.grad((reference(pooling, theirs_in, mask)[1] * weights).sum(), [theirs_in, *parameters])
    for a, b in zip(ours, theirs, strict=True):
        assert torch.allclose(a, b, atol=TOLERANCE, rtol=1e-4)
    assert all(gradient.abs().sum() > 0 for gradient in ours)
    assert ours[0][~mask.bool()].abs().sum() == 0


def test_gradients_under_bfloat16_autocast_reach_every_weight(pooling: CNNPooling) -> None:
    tokens = make_tokens(3, 12).requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        vectors = run(pooling, tokens, mask_of([12, 7, 1], 12))
    gradients = torch.autograd.grad(vectors.square().sum(), [tokens, *pooling.parameters()])
    assert all(torch.isfinite(gradient).all() and gradient.abs().sum() > 0 for gradient in gradients)


def test_load_gives_back_what_save_wrote(pooling: CNNPooling, tmp_path: Path) -> None:
    pooling.save(str(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {"config.json", "model.safetensors"}
    loaded = CNNPooling.load(str(tmp_path)).eval()
    tokens, mask = make_tokens(3, 15), mask_of([15, 8, 1], 15)
    assert loaded.get_config_dict() == pooling.get_config_dict()
    assert loaded.get_embedding_dimension() == HIDDEN
    with torch.no_grad():
        assert torch.equal(run(loaded, tokens, mask), run(pooling, tokens, mask))


@pytest.mark.parametrize("layer", [1, 2, 3, 4, 5])
def test_resume_ends_where_the_whole_pass_does(pooling: CNNPooling, layer: int) -> None:
    with torch.no_grad():
        got = pooling.activations(0.3 * make_tokens(2, 25), torch.ones(2, 25, dtype=torch.long))
        convolved = torch.atanh(got.layers[layer - 1]).permute(2, 0, 3, 1).contiguous()  # (T_l, B, H, C_l)
        assert torch.allclose(pooling.resume(layer, convolved), got.embedding, atol=1e-4, rtol=0)


def test_even_or_too_few_kernels_are_refused() -> None:
    with pytest.raises(ValueError, match="odd kernel"):
        CNNPooling(HIDDEN, kernel_sizes=(1, 4, 3, 3, 1))
    with pytest.raises(ValueError, match="one odd kernel size a block"):
        CNNPooling(HIDDEN, kernel_sizes=(1, 3))
