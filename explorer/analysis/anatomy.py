"""How many parameters a BERT or an ALBERT has, part by part, from its sizes alone. Arithmetic; builds no model.

Sharing saves parameters, not work: a shared layer is still run once for each layer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from explorer.errors import SettingError

CNN_PARAMETERS = 84_481


class Sharing(StrEnum):
    """Which weights all layers have in common; BERT shares none, ALBERT all."""

    NONE = "none"
    ATTENTION = "attention"
    FEED_FORWARD = "ffn"
    ALL = "all"


@dataclass(frozen=True)
class Shape:
    """The sizes that decide a backbone's parameters; the number of attention heads does not.

    Args:
        vocabulary: Word pieces.
        embedding: E, the width of a word piece's own vector.
        hidden: H, the width inside the layers.
        layers: How often a layer is run.
        intermediate: Width of the feed-forward part.
        sharing: See Sharing.
        mapping: Whether a matrix leads from E to H, as in ALBERT; needed where E and H differ.
        positions: Longest input.
        token_types: Kinds of segment.
        pooler: Whether the transformer's own pooler counts; no sentence layer reads it.
        sentence_layer: Parameters of the layer that makes one vector of all, such as CNN_PARAMETERS.
    """

    vocabulary: int
    embedding: int
    hidden: int
    layers: int
    intermediate: int
    sharing: Sharing = Sharing.NONE
    mapping: bool = False
    positions: int = 512
    token_types: int = 2
    pooler: bool = True
    sentence_layer: int = 0


@dataclass(frozen=True)
class Part:
    """One part of a backbone.

    Args:
        name: What it is.
        parameters: All its sets together.
        sets: How many sets of weights it has; the layers' parts have 1 where they are shared.
    """

    name: str
    parameters: int
    sets: int = 1


@dataclass(frozen=True)
class Anatomy:
    """A backbone taken apart.

    Args:
        parts: In the order a text passes through them.
        multiply_adds: For each word piece, in all layers; the comparison of pieces with each other is left out.
    """

    parts: tuple[Part, ...]
    multiply_adds: int

    @property
    def total(self) -> int:
        """All parameters."""
        return sum(part.parameters for part in self.parts)


def count(shape: Shape) -> Anatomy:
    """Returns the parameters of a shape, biases and layer norms included.

    Raises:
        SettingError: A size is below 1, or E differs from H and there is no mapping.

    Source: Devlin et al. 2019 (arXiv 1810.04805); Lan et al. 2019 (arXiv 1909.11942), section 3.1.
    """
    _check(shape)
    e, h, i, layers = shape.embedding, shape.hidden, shape.intermediate, shape.layers
    attention_sets = 1 if shape.sharing in (Sharing.ATTENTION, Sharing.ALL) else layers
    feed_forward_sets = 1 if shape.sharing in (Sharing.FEED_FORWARD, Sharing.ALL) else layers
    norm = 2 * h
    parts = (
        Part("Word embeddings", shape.vocabulary * e),
        Part("Position embeddings", shape.positions * e),
        Part("Segment embeddings and norm", shape.token_types * e + 2 * e),
        Part("Mapping E to H", e * h + h if shape.mapping else 0),
        # Query, key, value and output, each with a bias.
        Part("Attention", attention_sets * (4 * (h * h + h) + norm), attention_sets),
        Part("Feed-forward", feed_forward_sets * (h * i + i + i * h + h + norm), feed_forward_sets),
        Part("Pooler", h * h + h if shape.pooler else 0),
        Part("Sentence layer", shape.sentence_layer),
    )
    work = layers * (4 * h * h + 2 * h * i) + (e * h if shape.mapping else 0)
    return Anatomy(tuple(part for part in parts if part.parameters), work)


def shape_of(config: Mapping[str, Any], *, pooler: bool = False, sentence_layer: int = 0) -> Shape:
    """Returns the shape of a BERT's or ALBERT's config.json.

    Raises:
        SettingError: It is another architecture, or shares its layers in a way that has no name here.
    """
    family = config.get("model_type")
    if family not in ("bert", "albert"):
        raise SettingError(f"The anatomy knows BERT and ALBERT, not {family!r}.")
    albert = family == "albert"
    layers = int(config["num_hidden_layers"])
    groups = int(config.get("num_hidden_groups", 1)) if albert else layers
    if groups not in (1, layers) or int(config.get("inner_group_num", 1)) != 1:
        raise SettingError(f"Layers shared in {groups} groups have no name here; use 1 group or {layers}.")
    return Shape(
        vocabulary=int(config["vocab_size"]),
        embedding=int(config["embedding_size"] if albert else config["hidden_size"]),
        hidden=int(config["hidden_size"]),
        layers=layers,
        intermediate=int(config["intermediate_size"]),
        sharing=Sharing.ALL if groups == 1 and layers > 1 else Sharing.NONE,
        mapping=albert,
        positions=int(config["max_position_embeddings"]),
        token_types=int(config["type_vocab_size"]),
        pooler=pooler,
        sentence_layer=sentence_layer,
    )


def _bert(hidden: int, layers: int) -> Shape:
    return Shape(30_522, hidden, hidden, layers, 4 * hidden)


def _albert(hidden: int, layers: int) -> Shape:
    return Shape(30_000, 128, hidden, layers, 4 * hidden, Sharing.ALL, mapping=True)


# The published models, with the transformer's pooler, as their authors count.
PRESETS: Mapping[str, Shape] = {
    "BERT-base": _bert(768, 12),
    "BERT-large": _bert(1024, 24),
    "ALBERT-base": _albert(768, 12),
    "ALBERT-large": _albert(1024, 24),
    "ALBERT-xlarge": _albert(2048, 24),
    "ALBERT-xxlarge": _albert(4096, 12),
}


def _check(shape: Shape) -> None:
    sizes = {
        "vocabulary": shape.vocabulary,
        "E": shape.embedding,
        "H": shape.hidden,
        "layers": shape.layers,
        "intermediate size": shape.intermediate,
        "positions": shape.positions,
        "token types": shape.token_types,
    }
    for name, size in sizes.items():
        if size < 1:
            raise SettingError(f"The {name} is {size}; it must be at least 1.")
    if shape.embedding != shape.hidden and not shape.mapping:
        raise SettingError(
            f"E is {shape.embedding} and H {shape.hidden}: without a mapping from E to H they must be equal."
        )
