"""What an encoder's folder says of it, by its json files and the headers of its weights. Never runs code from a folder.

A training job's folder is known by the encoder/ in it once that is finished; its name is the encoder's.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any

from explorer.errors import EncoderError

FACTS_FILE = "explorer.json"
REFERENCE_FILE = "reference_cosines.tsv"
TRANSFORMER, POOLING, CNN = "transformer", "pooling", "cnn"
# The last part of a module's type names its class; packages moved between versions, classes did not.
ALLOWED_MODULES = {"Transformer": TRANSFORMER, "Pooling": POOLING, "CNNPooling": CNN}
ALLOWED_PACKAGES = ("sentence_transformers.", "explorer.encoders.cnn_pooling.", "cnn_pooling.")
# One of these holds a tokenizer's vocabulary; without any, transformers reads every word as unknown and says nothing.
_VOCABULARIES = ("tokenizer.json", "vocab.txt", "vocab.json", "spiece.model", "sentencepiece.bpe.model")
ENCODER, CROSS_ENCODER = "encoder", "cross-encoder"
# Within a job's folder: the finished encoder, and the job's diary.
OF_JOB, DIARY = "encoder", "events.jsonl"
# What no sentence embedding is made of: poolers, and the heads of language models and the like beside a backbone.
_UNREAD = re.compile(r"(?:^|\.)pooler\.|^(?:cls|predictions|classifier|lm_head|qa_outputs)\.|position_ids$")
_PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")


@dataclass(frozen=True)
class EncoderInfo:
    """What is known of an encoder without its weights.

    Args:
        name: The folder's name; of a job's encoder, the job's.
        folder: A sentence-transformers folder.
        family: The backbone's model type: "bert", "albert" or another.
        backbone: The backbone in words.
        pooling: "cls", "mean" or "cnn"; another word for what Pooling can also do; "none" of a cross-encoder.
        parameters: Number of weights, the transformer's own pooler (which no sentence layer reads) left out.
        embedding_dimension: H, the width of a sentence embedding.
        max_length: Longest input in word pieces, special ones included.
        size_bytes: All files of the folder.
        scores: Measured Spearman and Pearson x 100, by names like "stsb_test_spearman"; may be empty.
        weights_hash: Hash of what decides the embeddings: weights, their configurations, the tokenizer.
        facts: Everything in the folder's explorer.json; empty where there is none.
        kind: "encoder", or "cross-encoder": one that scores pairs and makes no embedding.
    """

    name: str
    folder: Path
    family: str
    backbone: str
    pooling: str
    parameters: int
    embedding_dimension: int
    max_length: int
    size_bytes: int
    weights_hash: str
    scores: Mapping[str, float] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    kind: str = ENCODER


def encoder_name(folder: Path) -> str:
    """Returns the name of the encoder in a folder: of `<job>/encoder`, the job's."""
    return folder.parent.name if folder.name == OF_JOB and (folder.parent / DIARY).is_file() else folder.name


def read_info(folder: Path) -> EncoderInfo:
    """Returns what a folder's json files and weight headers say.

    Raises:
        EncoderError: The folder is not an encoder this project may load; the sentence says why.
    """
    name, modules = encoder_name(folder), read_modules(folder)
    kinds = [kind for kind, _ in modules]
    crossed = kinds == [TRANSFORMER] and _is_cross_encoder(folder)
    if not crossed and kinds not in ([TRANSFORMER, POOLING], [TRANSFORMER, CNN]):
        raise EncoderError(
            f"{name}: its modules are {', '.join(kinds)}; a Transformer and one sentence layer are needed."
        )
    backbone_folder, layer_folder = folder / modules[0][1], folder / modules[-1][1]
    config = _read_object(backbone_folder / "config.json")
    layer = _read_object(layer_folder / "config.json")
    weights = [backbone_folder / "model.safetensors"] + (
        [layer_folder / "model.safetensors"] if kinds[-1] == CNN else []
    )
    headers = [read_header(path) for path in weights]
    facts = _read_object(folder / FACTS_FILE) if (folder / FACTS_FILE).is_file() else {}
    vocabulary = [backbone_folder / name for name in _VOCABULARIES if (backbone_folder / name).is_file()]
    if not vocabulary:
        raise EncoderError(f"{name}: its tokenizer.json is missing; copy the whole folder again.")
    family = str(config.get("model_type", "unknown"))
    shapes = {key: shape for header in headers for key, shape in header.items()}
    width = config.get("hidden_size", config.get("dim"))  # DistilBERT says dim
    if not isinstance(width, int):
        raise EncoderError(f"{name}: config.json gives no hidden_size; it is not a transformer this can read.")
    return EncoderInfo(
        name=name,
        folder=folder,
        family=family,
        backbone=str(
            facts.get("backbone")
            or f"{family.upper()} architecture, {config.get('num_hidden_layers')} layers, H {width}"
        ),
        pooling="none" if crossed else "cnn" if kinds[-1] == CNN else _pooling_mode(layer),
        parameters=sum(prod(shape) for key, shape in shapes.items() if crossed or not _UNREAD.search(key)),
        embedding_dimension=width,
        max_length=_max_length(backbone_folder, config),
        size_bytes=sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
        weights_hash=_fingerprint([*weights, *_settings(backbone_folder, layer_folder), *vocabulary]),
        scores=_scores(facts.get("scores")),
        facts=facts,
        kind=CROSS_ENCODER if crossed else ENCODER,
    )


def _is_cross_encoder(folder: Path) -> bool:
    path = folder / "config_sentence_transformers.json"
    return path.is_file() and _read_object(path).get("model_type") == "CrossEncoder"


def read_modules(folder: Path) -> list[tuple[str, str]]:
    """Returns (kind, subfolder) of each module in modules.json, all of them on the allow-list.

    Raises:
        EncoderError: No modules.json, one that is not what it should be, or a type that may not be built.
    """
    rows = read_json(folder / "modules.json")
    modules = []
    for row in rows if isinstance(rows, list) else [None]:
        if not isinstance(row, dict) or not {"type", "path"} <= set(row):
            raise EncoderError(f"{encoder_name(folder)}: modules.json is not a list of modules with a type and a path.")
        kind = ALLOWED_MODULES.get(str(row["type"]).rsplit(".", 1)[-1])
        if kind is None or not str(row["type"]).startswith(ALLOWED_PACKAGES):
            raise EncoderError(
                f"{encoder_name(folder)}: the module type {str(row['type'])[:80]!r} is not one this program builds "
                f"({', '.join(ALLOWED_MODULES)}); code from a folder is never run."
            )
        path = str(row["path"])
        if Path(path).is_absolute() or ".." in Path(path).parts:
            raise EncoderError(f"{encoder_name(folder)}: modules.json points outside its folder ({path[:80]!r}).")
        modules.append((kind, path))
    return modules


def read_json(path: Path) -> Any:
    """Returns a json file's content.

    Raises:
        EncoderError: The file is missing or is not json.
    """
    where = _where(path)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise EncoderError(f"{where} is missing; copy the whole folder again.") from error
    except (ValueError, OSError) as error:
        raise EncoderError(f"{where} cannot be read as json ({error}); copy it again.") from error


def _read_object(path: Path) -> dict[str, Any]:
    content = read_json(path)
    if not isinstance(content, dict):
        raise EncoderError(f"{_where(path)} holds no json object; copy it again.")
    return content


def _scores(recorded: object) -> dict[str, float]:
    """The recorded scores that are numbers; one that was undefined is null."""
    items = recorded.items() if isinstance(recorded, dict) else ()
    return {str(key): float(value) for key, value in items if isinstance(value, int | float)}


def _settings(backbone: Path, layer: Path) -> list[Path]:
    names = ("config.json", "sentence_bert_config.json", "tokenizer_config.json")
    return [path for path in (*(backbone / name for name in names), layer / "config.json") if path.is_file()]


def read_header(path: Path) -> dict[str, tuple[int, ...]]:
    """Returns name -> shape of every tensor in a safetensors file, reading its header only.

    Raises:
        EncoderError: The file is missing, damaged or cut short, or only a pickle lies in its place.
    """
    where = _where(path)
    if not path.is_file():
        pickles = [p.name for p in path.parent.iterdir() if p.suffix in _PICKLES] if path.parent.is_dir() else []
        if pickles:
            raise EncoderError(
                f"{where} is missing and {pickles[0]} is a pickle, which can run code; save as safetensors."
            )
        raise EncoderError(f"{where} is missing; copy the whole folder again.")
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > path.stat().st_size:
                raise ValueError("its header is longer than the file")
            header = json.loads(file.read(length))
        header.pop("__metadata__", None)
        end = 8 + length + max((entry["data_offsets"][1] for entry in header.values()), default=0)
        if end != path.stat().st_size:
            raise ValueError(f"{path.stat().st_size:,} bytes instead of {end:,}")
        return {name: tuple(int(size) for size in entry["shape"]) for name, entry in header.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
        raise EncoderError(f"{where} is damaged ({error}); copy it again.") from error


def _where(path: Path) -> str:
    """The path as a person knows it: from the encoder's own folder on."""
    deeper = path.parent.name[:1].isdigit() or path.parent.name == OF_JOB
    parts = path.parts[-3:] if deeper else path.parts[-2:]
    return "/".join(parts)


def _pooling_mode(layer: Mapping[str, Any]) -> str:
    mode = layer.get("pooling_mode")
    if mode is None:
        old = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}
        on = [key for key, value in layer.items() if key.startswith("pooling_mode_") and value is True]
        mode = "+".join(old.get(key, key.removeprefix("pooling_mode_")) for key in on)
    return str(mode)


def _max_length(folder: Path, config: Mapping[str, Any]) -> int:
    for name, key in (("sentence_bert_config.json", "max_seq_length"), ("tokenizer_config.json", "model_max_length")):
        if (folder / name).is_file():
            value = _read_object(folder / name).get(key)
            if isinstance(value, int) and value < 10**6:
                return value
    value = config.get("max_position_embeddings")
    return value if isinstance(value, int) else 512


def _fingerprint(files: Sequence[Path]) -> str:
    """Hash of all files' contents; a file is read again only when its size or time of change differs."""
    digest = hashlib.sha256()
    for path in files:
        stat = path.stat()
        digest.update(_digest(path, stat.st_size, stat.st_mtime_ns).encode())
    return digest.hexdigest()[:16]


@lru_cache(maxsize=256)
def _digest(path: Path, size: int, modified: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
