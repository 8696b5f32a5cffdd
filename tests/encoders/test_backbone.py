"""What cannot become an encoder here is refused in one sentence, before anything is trained on it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_transformers import SentenceTransformer
from transformers import (
    DistilBertConfig,
    DistilBertModel,
    GPT2Config,
    GPT2Model,
    MPNetConfig,
    MPNetModel,
    PreTrainedModel,
    RobertaConfig,
    RobertaModel,
    T5Config,
    T5Model,
)

from explorer.encoders.build import build_encoder
from explorer.errors import EncoderError
from explorer.training.cross_encoder import build_cross_encoder

TOKENIZER = ("tokenizer.json", "tokenizer_config.json")
LONG = " ".join(["the dog runs ."] * 40)
_SMALL = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}


@pytest.fixture
def other_backbone(tiny_backbone: Callable[[str], Path], tmp_path: Path) -> Callable[[PreTrainedModel], Path]:
    """Saves a model with the tiny backbone's tokenizer and returns its folder."""

    def make(model: PreTrainedModel) -> Path:
        folder = tmp_path / "other"
        model.save_pretrained(folder)
        for name in TOKENIZER:
            shutil.copy(tiny_backbone("bert") / name, folder)
        return folder

    return make


@pytest.fixture
def copied(tiny_backbone: Callable[[str], Path], tmp_path: Path) -> Path:
    """A copy of the tiny BERT, to be damaged."""
    return shutil.copytree(tiny_backbone("bert"), tmp_path / "copy")


def distilbert() -> PreTrainedModel:
    return DistilBertModel(
        DistilBertConfig(vocab_size=200, dim=16, hidden_dim=32, n_layers=2, n_heads=2, max_position_embeddings=64)
    )


def build_both(folder: Path) -> list[Callable[[], Any]]:
    return [lambda: build_encoder(folder, "mean"), lambda: build_cross_encoder(folder)]


def test_a_backbone_without_a_vocabulary_is_refused(copied: Path) -> None:
    for name in TOKENIZER:
        (copied / name).unlink()
    for build in build_both(copied):
        with pytest.raises(EncoderError, match="has no vocabulary.*tokenizer.json"):
            build()


def test_a_backbone_whose_weights_are_of_another_is_refused(
    copied: Path, other_backbone: Callable[[PreTrainedModel], Path]
) -> None:
    folder = other_backbone(MPNetModel(MPNetConfig(vocab_size=200, max_position_embeddings=66, **_SMALL)))
    shutil.copy(copied / "model.safetensors", folder)
    for build in build_both(folder):
        with pytest.raises(EncoderError, match=r"the weight \S+ (is missing from model.safetensors|has the shape)"):
            build()


def test_a_backbone_whose_weights_have_another_shape_is_refused(copied: Path) -> None:
    config = json.loads((copied / "config.json").read_text())
    (copied / "config.json").write_text(json.dumps(config | {"intermediate_size": 48}))
    with pytest.raises(EncoderError, match=r"has the shape \(.*\) but config.json asks for \(.*48.*\)\.$"):
        build_encoder(copied, "mean")


def test_a_backbone_without_a_pooler_or_with_a_head_is_built_on(copied: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(copied / "model.safetensors")
    kept = {f"bert.{name}": value for name, value in weights.items() if "pooler" not in name}
    save_file({**kept, "cls.predictions.bias": torch.zeros(200)}, copied / "model.safetensors", {"format": "pt"})
    for build in build_both(copied):
        build()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            lambda: GPT2Model(GPT2Config(vocab_size=200, n_embd=16, n_layer=2, n_head=2)),
            "kind gpt2, of which .* gives no hidden_size",
        ),
        (
            lambda: T5Model(T5Config(vocab_size=200, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2)),
            "kind t5, which has a decoder",
        ),
    ],
)
def test_a_kind_that_no_encoder_is_made_of_is_refused(
    model: Callable[[], PreTrainedModel], message: str, other_backbone: Callable[[PreTrainedModel], Path]
) -> None:
    for build in build_both(other_backbone(model())):
        with pytest.raises(EncoderError, match=message):
            build()


def test_code_of_a_backbone_and_damage_are_told_in_one_line(copied: Path) -> None:
    whole = (copied / "model.safetensors").read_bytes()
    (copied / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    for build in build_both(copied):
        with pytest.raises(EncoderError, match="cannot be loaded: [^\n]+$"):
            build()
    (copied / "model.safetensors").write_bytes(whole)
    config = json.loads((copied / "config.json").read_text())
    own = {"model_type": "own", "auto_map": {"AutoConfig": "own.Own", "AutoModel": "own.OwnModel"}}
    (copied / "config.json").write_text(json.dumps(config | own))
    for build in build_both(copied):
        with pytest.raises(EncoderError, match="code of its own, which is never run here[^\n]*$") as told:
            build()
        assert "trust_remote_code" not in str(told.value)


@pytest.mark.parametrize("family", ["bert", "albert"])
def test_a_length_past_the_positions_is_cut_to_them(tiny_backbone: Callable[[str], Path], family: str) -> None:
    encoder = build_encoder(tiny_backbone(family), "mean", max_length=1000)
    assert encoder.max_seq_length == 64
    encoder.encode([LONG], show_progress_bar=False)
    assert build_cross_encoder(tiny_backbone(family), max_length=1000).max_seq_length == 64


def test_robertas_positions_lose_two(other_backbone: Callable[[PreTrainedModel], Path], tmp_path: Path) -> None:
    folder = other_backbone(RobertaModel(RobertaConfig(vocab_size=200, max_position_embeddings=66, **_SMALL)))
    encoder = build_encoder(folder, "mean", max_length=512)
    assert encoder.max_seq_length == 64
    encoder.encode([LONG], show_progress_bar=False)
    encoder.save(str(tmp_path / "saved"), create_model_card=False)
    assert SentenceTransformer(str(tmp_path / "saved"), device="cpu").max_seq_length == 64


def test_distilbert_is_built_on(other_backbone: Callable[[PreTrainedModel], Path]) -> None:
    encoder = build_encoder(other_backbone(distilbert()), "mean")
    assert encoder.max_seq_length == 64
    assert encoder.encode([LONG], show_progress_bar=False).shape == (1, 16)
