"""A whole fine-tuning: train, measure what is saved, write it with its facts, reference distributions and model card."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
from sentence_transformers import CrossEncoder, SentenceTransformer

from explorer.analysis.sts import correlate
from explorer.data.tables import LABELS, read_frame
from explorer.encoders.cross_encoder import load_cross_encoder
from explorer.encoders.folder import FACTS_FILE, REFERENCE_FILE, EncoderInfo, encoder_name
from explorer.encoders.load import load_encoder
from explorer.encoders.nli_head import HEAD_FILE
from explorer.errors import EncoderError, TrainingError
from explorer.operations.reference import reference_table, replace_text
from explorer.operations.score import RANDOM, STSB
from explorer.paths import downloads_folder, portable, process_rank
from explorer.training.card import model_card
from explorer.training.config import CONFIG_FILE, Objective, TrainConfig
from explorer.training.config import LABELS as NOT_LEARNT
from explorer.training.data import DEV, SPLIT, TRAIN, hash_of, read_graded
from explorer.training.distill import DISTILL_FILE
from explorer.training.evaluator import DevEvaluator
from explorer.training.export import count_parameters, put_in_place, refresh_code, write_aside
from explorer.training.objectives import IN_WORDS
from explorer.training.progress import Report, silent
from explorer.training.train import TrainResult, train

ORDINARY = "in the ordinary way, both sentences read at once; a linear layer on [CLS], then thrown away, learnt it"
# How far the figure of what was saved may be from the one logged: float16 storage, and two neighbours in rank that rounding
# swaps, which changes Spearman by at most 12 / n^2.
_ROUNDING, _SWAPPED_RANKS = 2e-3, 12.0


def fine_tune(
    config: TrainConfig,
    *,
    test: str | None = None,
    command: str = "",
    resume: bool = False,
    report: Report | None = None,
) -> TrainResult:
    """Trains and writes the encoder to `config.output`; a stopped run leaves its checkpoints there instead.

    Args:
        config: See TrainConfig; any objective.
        test: Table of graded pairs scored once, after everything is decided; None for none.
        command: The command line that does this, for the card.
        resume: Go on from the last checkpoint.
        report: Called with a kind of event and its facts: what `train` reports, then saving.

    Raises:
        TrainingError, DataError, EncoderError: See `train`.
    """
    tables = {"dev": config.dev} | ({"test": test} if test else {})
    pairs = {
        split: read_graded(path, config.score_scale, DEV if split == "dev" else split) for split, path in tables.items()
    }
    result = train(config, resume=resume, report=report)
    if not result.stopped and process_rank() == 0:
        (report or silent)("saving")
        publish(result, config, {_named(split, path): pairs[split] for split, path in tables.items()}, command)
    return result


def publish(result: TrainResult, config: TrainConfig, tables: dict[str, pd.DataFrame], command: str) -> None:
    """Writes the finished encoder; every figure is measured on the weights as they were stored and read back.

    Args:
        result: How the training ended.
        config: What it was.
        tables: Graded pairs to score; the first is the one that selected the checkpoint. Keys like "stsb_dev" or "dev".
        command: For the card.

    Raises:
        TrainingError: What was saved does not score what was logged; the checkpoints are kept.
    """
    output = Path(config.output)
    crossed = config.objective == Objective.CROSS_ENCODER
    head = {HEAD_FILE: result.nli_head} if result.nli_head else None
    aside = write_aside(result.encoder, output, half=not crossed, beside=head)
    stored: Any = load_cross_encoder(aside) if crossed else load_encoder(aside)
    facts = _facts(stored, result, config, command)
    for name, pairs in tables.items():
        score = correlate(DevEvaluator(pairs, exact=True).predictions(stored), pairs["score"])
        facts["scores"] |= {f"{name}_spearman": score.spearman, f"{name}_pearson": score.pearson}
        facts["n"] |= {name: score.n}
    dev = next(iter(tables))
    _check_same_score(result.dev_spearman, facts["scores"][f"{dev}_spearman"], facts["n"][dev])
    files = {
        FACTS_FILE: portable(json.dumps(facts, indent=2)) + "\n",
        CONFIG_FILE: json.dumps(asdict(config), indent=2) + "\n",
        "README.md": portable(model_card(encoder_name(output), facts)),
    }
    if not crossed:
        references = reference_table(stored, tables[dev])
        if dev != STSB:  # of another table's pairs no percentile is shown
            references = references[references["distribution"] == RANDOM]
        files[REFERENCE_FILE] = references.to_csv(sep="\t", index=False)
    put_in_place(aside, output, files)


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
    replace_text(card, model_card(info.name, dict(info.facts)))
    refresh_code(info.folder)
    return card


def _named(split: str, path: str) -> str:
    """The name a table's figures go by: "stsb_dev" or "stsb_test" for STS Benchmark's own, "dev" or "test" for others."""
    file = Path(path)
    fetched = file.resolve() == (downloads_folder("tables") / "stsb.parquet").resolve()
    return f"stsb_{split}" if fetched or (file.parent.name, file.stem) == ("stsb", split) else split


def _check_same_score(logged: float | None, saved: float | None, n: int) -> None:
    if logged is None or saved is None:
        return
    if abs(saved / 100 - logged) > _ROUNDING + _SWAPPED_RANKS / n**2:
        raise TrainingError(
            f"The encoder as it was saved has a Spearman of {saved:.2f} on dev, but {100 * logged:.2f} was logged; nothing "
            "was put in place and the checkpoints are kept. Storing the weights in 16 bits changed the order of the pairs, as "
            "it may where training went astray; resuming would end the same. Start a new run with a lower learning_rate."
        )


def _facts(
    encoder: SentenceTransformer | CrossEncoder, result: TrainResult, config: TrainConfig, command: str
) -> dict[str, Any]:
    backbone: Any = encoder.transformers_model
    model = backbone.config
    family = model.model_type
    distillation = Path(config.backbone) / DISTILL_FILE
    crossed = config.objective == Objective.CROSS_ENCODER
    facts = {
        "backbone": config.backbone_label
        or f"{family.upper()} architecture, {model.num_hidden_layers} layers, H {model.hidden_size}",
        "backbone_origin": config.backbone_origin,
        "family": family,
        "pooling": "none" if crossed else config.pooling,
        "architecture": {
            "layers": model.num_hidden_layers,
            "hidden_size": model.hidden_size,
            "embedding_size": getattr(model, "embedding_size", model.hidden_size),
            "heads": model.num_attention_heads,
            "intermediate_size": getattr(model, "intermediate_size", None) or model.hidden_dim,  # DistilBERT's name
            "vocabulary": model.vocab_size,
            "parameters": count_parameters(encoder),
            "max_length": encoder.max_seq_length,  # what the backbone's positions allow, at most
        },
        "training_data": _tables(config),
        "objective": _objective(config),
        "hyperparameters": {name: v for name, v in asdict(config).items() if name not in ("backbone", *NOT_LEARNT)},
        "best_step": result.best_step,
        "command": command,
        "distillation": json.loads(distillation.read_text(encoding="utf-8")) if distillation.is_file() else None,
        "scores": {},
        "n": {},
    }
    if crossed:
        facts["kind"] = "cross-encoder"
    if result.nli_head:
        facts["nli_head"] = {"labels": list(LABELS), "input": "[u; v; |u-v|]", "note": _head_note(config)}
    return facts


def _objective(config: TrainConfig) -> str:
    if config.epochs == 0:
        return "none: nothing was trained"
    words = IN_WORDS[Objective(config.objective)]
    return words if config.siamese else f"{ORDINARY}: {_TARGETS[Objective(config.objective)]}"


_TARGETS = {
    Objective.STS: "the gold score",
    Objective.NLI: "the label",
    Objective.NLI_STS: "first the label, then the gold score",
}


def _head_note(config: TrainConfig) -> str:
    if config.objective != Objective.NLI_STS:
        return ""
    return "The softmax layer as it was at the end of the stage NLI; the encoder was trained further on graded pairs."


def _tables(config: TrainConfig) -> list[dict[str, Any]]:
    used = [(config.nli, TRAIN), (config.train, TRAIN)] if config.epochs else []
    used.append((config.dev, "selects the checkpoint" if config.epochs else "scored"))
    return [*_seen_before(config.backbone), *(_table(path, use) for path, use in used if path)]


def _seen_before(backbone: str) -> list[dict[str, Any]]:
    """What the encoder that a run starts from had been trained on, by its own record: the new one has seen that too."""
    path = Path(backbone) / FACTS_FILE
    facts = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    rows = facts.get("training_data") if isinstance(facts, dict) else None
    return [row for row in rows if isinstance(row, dict) and row.get("use") == TRAIN] if isinstance(rows, list) else []


def _table(path: str, use: str) -> dict[str, Any]:
    file = Path(path)
    frame = read_frame(file)
    if SPLIT in frame:
        frame = frame[frame[SPLIT] == (TRAIN if use == TRAIN else DEV)]
    kind = {"rows": "triplets"} if "anchor" in frame else {}
    name = f"{file.parent.name}/{file.name}"
    return {"table": name, "n": len(frame), "sha256": hash_of(file), "use": use, **kind}
