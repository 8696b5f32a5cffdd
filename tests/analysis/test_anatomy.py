"""Parameter counts equal those of real models built from the same sizes, without weights, and the published ones."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import AlbertConfig, AlbertModel, BertConfig, BertModel

from explorer.analysis.anatomy import CNN_PARAMETERS, PRESETS, Shape, Sharing, count, shape_of
from explorer.encoders.cnn_pooling import CNNPooling
from explorer.errors import SettingError

# vocabulary, E, H, layers, intermediate, heads, positions, token types
BERTS = [
    (30522, 768, 768, 12, 3072, 12, 512, 2),
    (30522, 1024, 1024, 24, 4096, 16, 512, 2),
    (30522, 384, 384, 6, 1536, 12, 512, 2),
    (1000, 48, 48, 3, 100, 4, 64, 1),
]
ALBERTS = [
    (30000, 128, 768, 12, 3072, 12, 512, 2),
    (30000, 128, 1024, 24, 4096, 16, 512, 2),
    (30000, 128, 2048, 24, 8192, 16, 512, 2),
    (30000, 128, 4096, 12, 16384, 64, 512, 2),
    (30522, 128, 384, 6, 1536, 12, 512, 2),
    (500, 32, 32, 4, 64, 2, 40, 3),
]


def config_of(sizes: tuple[int, ...], **more: Any) -> dict[str, Any]:
    names = (
        "vocab_size",
        "embedding_size",
        "hidden_size",
        "num_hidden_layers",
        "intermediate_size",
        "num_attention_heads",
        "max_position_embeddings",
        "type_vocab_size",
    )
    return dict(zip(names, sizes, strict=True)) | more


def parameters(model: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize("pooler", [True, False])
@pytest.mark.parametrize("sizes", BERTS)
def test_count_equals_a_real_bert(sizes: tuple[int, ...], pooler: bool) -> None:
    config = config_of(sizes)
    with torch.device("meta"):
        model = BertModel(BertConfig(**config), add_pooling_layer=pooler)
    assert count(shape_of({**config, "model_type": "bert"}, pooler=pooler)).total == parameters(model)


@pytest.mark.parametrize("pooler", [True, False])
@pytest.mark.parametrize("sizes", ALBERTS)
def test_count_equals_a_real_albert(sizes: tuple[int, ...], pooler: bool) -> None:
    config = config_of(sizes)
    with torch.device("meta"):
        model = AlbertModel(AlbertConfig(**config), add_pooling_layer=pooler)
    assert count(shape_of({**config, "model_type": "albert"}, pooler=pooler)).total == parameters(model)


@pytest.mark.parametrize("sharing", Sharing)
@pytest.mark.parametrize("sizes", [ALBERTS[0], ALBERTS[5]])
def test_count_equals_an_albert_whose_layers_share_a_part(sizes: tuple[int, ...], sharing: Sharing) -> None:
    with torch.device("meta"):
        model = AlbertModel(AlbertConfig(**config_of(sizes, num_hidden_groups=sizes[3])))
    layers = [group.albert_layers[0] for group in model.encoder.albert_layer_groups]
    for layer in layers[1:]:
        if sharing in (Sharing.ATTENTION, Sharing.ALL):
            layer.attention = layers[0].attention
        if sharing in (Sharing.FEED_FORWARD, Sharing.ALL):
            for name in ("ffn", "ffn_output", "full_layer_layer_norm"):
                setattr(layer, name, getattr(layers[0], name))
    vocabulary, e, h, depth, intermediate, _, positions, types = sizes
    shape = Shape(vocabulary, e, h, depth, intermediate, sharing, mapping=True, positions=positions, token_types=types)
    assert count(shape).total == parameters(model)


@pytest.mark.parametrize(
    ("name", "total", "published"),
    [
        ("BERT-base", 109_482_240, 110),
        ("BERT-large", 335_141_888, 340),
        ("ALBERT-base", 11_683_584, 12),
        ("ALBERT-large", 17_683_968, 18),
        ("ALBERT-xlarge", 58_724_864, 60),
        ("ALBERT-xxlarge", 222_595_584, 235),
    ],
)
def test_presets_are_the_published_models(name: str, total: int, published: int) -> None:
    assert count(PRESETS[name]).total == total
    assert total == pytest.approx(published * 1e6, rel=0.06)


def test_count_by_hand() -> None:
    # V 10, E 2, H 4, 3 layers, feed-forward 8, attention shared, 5 positions, 2 segments.
    shape = Shape(10, 2, 4, 3, 8, Sharing.ATTENTION, mapping=True, positions=5, pooler=False, sentence_layer=7)
    parts = {part.name: (part.parameters, part.sets) for part in count(shape).parts}
    assert parts == {
        "Word embeddings": (20, 1),
        "Position embeddings": (10, 1),
        "Segment embeddings and norm": (8, 1),
        "Mapping E to H": (12, 1),
        "Attention": (4 * 20 + 8, 1),
        "Feed-forward": (3 * (32 + 8 + 32 + 4 + 8), 3),
        "Sentence layer": (7, 1),
    }
    assert count(shape).multiply_adds == 3 * (64 + 64) + 8


def test_sharing_saves_parameters_and_no_work() -> None:
    shared = PRESETS["ALBERT-base"]
    apart = Shape(30_000, 128, 768, 12, 3072, Sharing.NONE, mapping=True)
    assert count(shared).total < count(apart).total / 7
    assert count(shared).multiply_adds == count(apart).multiply_adds


def test_the_cnn_is_counted_right() -> None:
    assert parameters(CNNPooling(16)) == CNN_PARAMETERS


def test_what_cannot_be_is_named() -> None:
    with pytest.raises(SettingError, match="layers is 0"):
        count(Shape(10, 4, 4, 0, 8))
    with pytest.raises(SettingError, match="must be equal"):
        count(Shape(10, 2, 4, 1, 8))
    with pytest.raises(SettingError, match="not 'gpt2'"):
        shape_of({"model_type": "gpt2"})
    with pytest.raises(SettingError, match="in 2 groups"):
        shape_of(config_of(ALBERTS[0], model_type="albert", num_hidden_groups=2))
