"""A whole fine-tuning: train, measure what is saved, write it with its facts, reference distributions and model card."""

from __future__ import annotations

import hashlib
import json
from copy import deepcopy
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
from sentence_transformers import SentenceTransformer

from explorer.analysis.sts import correlate
from explorer.data.tables import read_pairs
from explorer.encoders.encode import Precision
from explorer.encoders.registry import FACTS_FILE, REFERENCE_FILE, EncoderInfo
from explorer.errors import EncoderError
from explorer.operations.evaluate import cosines_of
from explorer.operations.reference import reference_table
from explorer.training.card import model_card
from explorer.training.config import CONFIG_FILE, TrainConfig
from explorer.training.distill import DISTILL_FILE
from explorer.training.export import count_parameters, refresh_code, save_encoder
from explorer.training.train import TrainResult, train


def fine_tune(config: TrainConfig, *, test: str | None = None, command: str = "", resume: bool = False) -> TrainResult:
    """Trains and writes the encoder to `config.output`; a stopped run leaves its checkpoints there instead.

    Args:
        config: See TrainConfig.
        test: Table of pairs scored once, after everything is decided; None for none.
        command: The command line that does this, for the card.
        resume: Go on from the last checkpoint.

    Raises:
        TrainingError, DataError, EncoderError: See `train`.
    """
    tables = {"dev": read_pairs(config.dev, score_range=(0, config.score_scale))}
    if test:
        tables["test"] = read_pairs(test, score_range=(0, config.score_scale))
    result = train(config, resume=resume)
    if not result.stopped:
        publish(result, config, tables, command)
    return result


def publish(result: TrainResult, config: TrainConfig, tables: dict[str, pd.DataFrame], command: str) -> None:
    """Writes the finished encoder; every figure is measured on the weights as they are stored (float16, read as float32)."""
    output = Path(config.output)
    stored = deepcopy(result.encoder).cpu().eval()
    backbone: Any = stored[0].auto_model
    backbone.set_attn_implementation("sdpa")
    stored = stored.half().float()
    facts = _facts(stored, result, config, command)
    for split, pairs in tables.items():
        score = correlate(cosines_of(stored, pairs, Precision.FLOAT32), pairs["score"])
        facts["scores"] |= {f"stsb_{split}_spearman": score.spearman, f"stsb_{split}_pearson": score.pearson}
        facts["n"] |= {f"stsb_{split}": score.n}
    references = reference_table(stored, tables["dev"])
    files = {
        FACTS_FILE: json.dumps(facts, indent=2) + "\n",
        CONFIG_FILE: json.dumps(asdict(config), indent=2) + "\n",
        REFERENCE_FILE: references.to_csv(sep="\t", index=False),
        "README.md": model_card(output.name, facts),
    }
    save_encoder(stored, output, files)


def rewrite_card(info: EncoderInfo) -> Path:
    """Writes an encoder's model card anew from its facts, and this version of the CNN's code beside it; returns the card.

    Raises:
        EncoderError: The encoder has no facts, since it was not trained here.
    """
    if "architecture" not in info.facts:
        raise EncoderError(
            f"{info.name} has no {FACTS_FILE} from a training here, so there is nothing to make a card from."
        )
    card = info.folder / "README.md"
    card.write_text(model_card(info.name, dict(info.facts)), encoding="utf-8")
    refresh_code(info.folder)
    return card


def _facts(encoder: SentenceTransformer, result: TrainResult, config: TrainConfig, command: str) -> dict[str, Any]:
    backbone: Any = encoder[0].auto_model
    model = backbone.config
    family = model.model_type
    label = (
        config.backbone_label
        or f"{family.upper()} architecture, {model.num_hidden_layers} layers, H {model.hidden_size}"
    )
    distillation = Path(config.backbone) / DISTILL_FILE
    return {
        "backbone": label,
        "backbone_origin": config.backbone_origin,
        "family": family,
        "pooling": config.pooling,
        "architecture": {
            "layers": model.num_hidden_layers,
            "hidden_size": model.hidden_size,
            "embedding_size": getattr(model, "embedding_size", model.hidden_size),
            "heads": model.num_attention_heads,
            "intermediate_size": model.intermediate_size,
            "vocabulary": model.vocab_size,
            "parameters": count_parameters(encoder),
            "max_length": config.max_length,
        },
        "training_data": [_table(config.train, "train"), _table(config.dev, "selects the checkpoint")],
        "objective": "mean squared error of the cosine against the gold score divided by its scale",
        "hyperparameters": {k: v for k, v in asdict(config).items() if not k.startswith("backbone")},
        "best_step": result.best_step,
        "command": command,
        "distillation": json.loads(distillation.read_text(encoding="utf-8")) if distillation.is_file() else None,
        "scores": {},
        "n": {},
    }


def _table(path: str, use: str) -> dict[str, Any]:
    file = Path(path)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return {"table": f"{file.parent.name}/{file.name}", "n": len(read_pairs(file)), "sha256": digest, "use": use}
