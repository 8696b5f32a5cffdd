"""build_encoder on tiny backbones of both families."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer

from explorer.encoders.build import PoolingKind, build_encoder
from explorer.encoders.cnn_pooling import CNNPooling
from explorer.errors import EncoderError

LONG = "the small dog runs to the river and the old man sees the red boat of the girl ."
SHORT = ("a cat sleeps .", "two birds sing", "snow")


@pytest.mark.parametrize("family", ["bert", "albert"])
@pytest.mark.parametrize("pooling", list(PoolingKind))
def test_build_encoder_gives_one_float32_vector_a_sentence(
    tiny_encoder: Callable[[str, str], SentenceTransformer], family: str, pooling: str
) -> None:
    encoder = tiny_encoder(family, pooling)
    vectors = encoder.encode([LONG, *SHORT], show_progress_bar=False)
    assert vectors.shape == (4, 16)
    assert vectors.dtype == np.float32
    assert np.isfinite(vectors).all()
    assert encoder.transformers_model.config.model_type == family
    assert all(parameter.dtype == torch.float32 for parameter in encoder.parameters())


@pytest.mark.parametrize("family", ["bert", "albert"])
@pytest.mark.parametrize("pooling", list(PoolingKind))
def test_build_encoder_gives_the_same_vector_alone_and_in_a_batch(
    tiny_encoder: Callable[[str, str], SentenceTransformer], family: str, pooling: str
) -> None:
    encoder = tiny_encoder(family, pooling)
    together = encoder.encode([*SHORT, LONG], show_progress_bar=False)
    for row, text in enumerate(SHORT):
        alone = encoder.encode([text], show_progress_bar=False)[0]
        assert np.allclose(alone, together[row], atol=1e-5)


def test_build_encoder_cls_is_the_first_token_and_mean_the_average(tiny_backbone: Callable[[str], Path]) -> None:
    folder = tiny_backbone("bert")
    (tokens,) = build_encoder(folder, "cls").encode([LONG], output_value="token_embeddings", show_progress_bar=False)
    for pooling, expected in (("cls", tokens[0]), ("mean", tokens.mean(0))):
        vector = build_encoder(folder, pooling).encode([LONG], show_progress_bar=False)[0]
        assert np.allclose(vector, expected.numpy(), atol=1e-5)


@pytest.mark.parametrize("family", ["bert", "albert"])
@pytest.mark.parametrize("pooling", ["mean", "cnn"])
def test_build_encoder_is_saved_and_loaded_whole(
    tiny_encoder: Callable[[str, str], SentenceTransformer], tmp_path: Path, family: str, pooling: str
) -> None:
    encoder = tiny_encoder(family, pooling)
    encoder.save(str(tmp_path), create_model_card=False)
    if pooling == "mean":
        loaded = SentenceTransformer(str(tmp_path), device="cpu")
    else:
        layers = Transformer.load(str(tmp_path)), CNNPooling.load(str(tmp_path), subfolder="1_CNNPooling")
        loaded = SentenceTransformer(modules=list(layers), device="cpu")
    texts = [LONG, *SHORT]
    before, after = (model.encode(texts, show_progress_bar=False) for model in (encoder, loaded))
    assert np.array_equal(before, after)


def test_build_encoder_decides_the_first_weights_by_seed_alone(tiny_backbone: Callable[[str], Path]) -> None:
    def first_weights(seed: int) -> torch.Tensor:
        return build_encoder(tiny_backbone("bert"), "cnn", seed=seed)[1].convolutions[1].weight

    torch.manual_seed(11)
    expected = torch.rand(3)
    torch.manual_seed(11)
    one = first_weights(1)
    assert torch.equal(torch.rand(3), expected), "the caller's random state changed"
    assert torch.equal(one, first_weights(1))
    assert not torch.equal(one, first_weights(2))


def test_build_encoder_cuts_at_max_length(tiny_backbone: Callable[[str], Path]) -> None:
    encoder = build_encoder(tiny_backbone("bert"), "mean", max_length=8)
    assert encoder.max_seq_length == 8
    (tokens,) = encoder.encode([LONG], output_value="token_embeddings", show_progress_bar=False)
    assert len(tokens) == 8


def test_build_encoder_refuses_an_unknown_pooling(tiny_backbone: Callable[[str], Path]) -> None:
    with pytest.raises(EncoderError, match="Unknown pooling 'max'; use cls, mean or cnn"):
        build_encoder(tiny_backbone("bert"), "max")


def test_build_encoder_refuses_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match="cannot be loaded"):
        build_encoder(tmp_path / "nothing", "mean")


def test_build_encoder_refuses_a_folder_without_a_model(tmp_path: Path) -> None:
    (tmp_path / "readme.txt").write_text("not a model")
    with pytest.raises(EncoderError, match="cannot be loaded"):
        build_encoder(tmp_path, "mean")


def test_build_encoder_refuses_a_pickle(tiny_backbone: Callable[[str], Path], tmp_path: Path) -> None:
    for path in tiny_backbone("bert").iterdir():
        if path.suffix == ".json":
            (tmp_path / path.name).write_bytes(path.read_bytes())
    torch.save({}, tmp_path / "pytorch_model.bin")
    with pytest.raises(EncoderError, match="cannot be loaded"):
        build_encoder(tmp_path, "mean")
