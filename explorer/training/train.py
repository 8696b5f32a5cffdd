"""Fine-tunes an encoder on graded pairs with sentence-transformers' Trainer; the best checkpoint by dev is kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from math import ceil
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.base.sampler import DefaultBatchSampler
from sentence_transformers.sentence_transformer.evaluation import EmbeddingSimilarityEvaluator
from sentence_transformers.sentence_transformer.losses import CosineSimilarityLoss

from explorer.data.tables import read_pairs
from explorer.encoders.build import build_encoder
from explorer.encoders.precision import bf16_is_fast
from explorer.errors import TrainingError
from explorer.training.callback import StopOnSignal, checkpoint_to_resume
from explorer.training.config import TrainConfig

DEV = "dev"
METRIC = f"eval_{DEV}_spearman_cosine"
# Batches are cut from runs of this many, sorted by length: little padding, while the order still changes each epoch.
_BATCHES_PER_BUCKET = 50
_SAME_SCORE = 1e-3


@dataclass(frozen=True)
class TrainResult:
    """How a run ended.

    Args:
        encoder: The encoder with the best checkpoint's weights.
        dev_spearman: Its Spearman on dev, in [-1, 1]; None if the run was stopped.
        best_step: The step of that checkpoint.
        stopped: Whether a signal ended the run early; it can then be resumed.
    """

    encoder: SentenceTransformer
    dev_spearman: float | None
    best_step: int | None
    stopped: bool


class LengthBucketSampler(DefaultBatchSampler):
    """Random batches of pairs of like length: each epoch shuffles, sorts within buckets, and shuffles the batches."""

    def __init__(self, dataset: Dataset, batch_size: int, drop_last: bool, **kwargs: Any) -> None:
        super().__init__(dataset, batch_size=batch_size, drop_last=drop_last, **kwargs)
        self.lengths = torch.tensor(
            [max(len(a), len(b)) for a, b in zip(dataset["sentence1"], dataset["sentence2"], strict=True)]
        )

    def __iter__(self) -> Iterator[list[int]]:
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        order = torch.randperm(len(self.lengths), generator=generator)
        buckets = order.split(self.batch_size * _BATCHES_PER_BUCKET)
        ordered = torch.cat([bucket[self.lengths[bucket].argsort(stable=True)] for bucket in buckets])
        batches = [batch.tolist() for batch in ordered.split(self.batch_size)]
        if self.drop_last and batches and len(batches[-1]) < self.batch_size:
            batches.pop()
        for index in torch.randperm(len(batches), generator=generator).tolist():
            yield batches[index]


def train(config: TrainConfig, *, resume: bool = False) -> TrainResult:
    """Runs or resumes a fine-tuning; its checkpoints stay in `<output>/.training` until `output` is written.

    Args:
        config: See TrainConfig.
        resume: Go on from the last checkpoint of the same output.

    Raises:
        TrainingError: Nothing to resume, other settings than the run had, or a best checkpoint that cannot be brought
            back whole.
        DataError: A table cannot be used.
    """
    output = Path(config.output)
    work = output / ".training"
    checkpoint = checkpoint_to_resume(work, resume)
    if checkpoint is not None:
        _check_same(config, TrainConfig.load(output))
    train_pairs = read_pairs(config.train, score_range=(0, config.score_scale))
    dev_pairs = read_pairs(config.dev, score_range=(0, config.score_scale))
    encoder = build_encoder(config.backbone, config.pooling, max_length=config.max_length, seed=config.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu" and encoder.transformers_model is not None:
        # The backward pass of torch's fused attention is far slower than the plain one on a CPU in bf16.
        encoder.transformers_model.set_attn_implementation("eager")
    config.save(output)
    dataset = Dataset.from_dict(
        {
            "sentence1": train_pairs["sentence1"].tolist(),
            "sentence2": train_pairs["sentence2"].tolist(),
            "score": (train_pairs["score"] / config.score_scale).tolist(),
        }
    )
    evaluator = EmbeddingSimilarityEvaluator(
        dev_pairs["sentence1"].tolist(),
        dev_pairs["sentence2"].tolist(),
        dev_pairs["score"].tolist(),
        name=DEV,
        batch_size=64,
        write_csv=False,
    )
    stop = StopOnSignal()
    trainer = SentenceTransformerTrainer(
        model=encoder,
        args=_arguments(config, work, len(dataset), device),
        train_dataset=dataset,
        loss=CosineSimilarityLoss(encoder),
        evaluator=evaluator,
        callbacks=[stop],
    )
    with stop.listening():
        trainer.train(resume_from_checkpoint=checkpoint)
    if stop.stopped:
        return TrainResult(encoder, None, None, stopped=True)
    best = float("nan") if trainer.state.best_metric is None else float(trainer.state.best_metric)
    measured = float(evaluator(encoder)[f"{DEV}_spearman_cosine"])
    if not abs(measured - best) <= _SAME_SCORE:  # also true of NaN, the Spearman of constant scores
        raise TrainingError(
            f"The best checkpoint scored {best:.4f} on dev but scores {measured:.4f} after loading; nothing was saved."
        )
    return TrainResult(encoder, measured, trainer.state.best_global_step, stopped=False)


def _check_same(config: TrainConfig, before: TrainConfig) -> None:
    changed = [field.name for field in fields(config) if getattr(config, field.name) != getattr(before, field.name)]
    if changed:
        old, new = getattr(before, changed[0]), getattr(config, changed[0])
        raise TrainingError(f"The run was started with {changed[0]} {old!r}, not {new!r}; resume it as it was started.")


def _arguments(config: TrainConfig, work: Path, rows: int, device: str) -> SentenceTransformerTrainingArguments:
    steps_per_epoch = -(-rows // config.batch_size)
    steps = ceil(steps_per_epoch * config.epochs)
    every = max(1, min(steps, steps_per_epoch // config.evaluations_per_epoch))
    return SentenceTransformerTrainingArguments(
        output_dir=str(work),
        num_train_epochs=config.epochs,
        per_device_train_batch_size=config.batch_size,
        learning_rate=config.learning_rate,
        learning_rate_mapping={r"\.convolutions\.": config.head_learning_rate} if config.pooling == "cnn" else {},
        weight_decay=config.weight_decay,
        warmup_steps=config.warmup_ratio,
        max_grad_norm=1.0,
        use_cpu=device == "cpu",
        bf16=bf16_is_fast(device),
        batch_sampler=LengthBucketSampler,
        eval_strategy="steps",
        eval_steps=every,
        save_strategy="steps",
        save_steps=every,
        save_total_limit=2,
        load_best_model_at_end=True,
        metric_for_best_model=METRIC,
        logging_steps=max(1, every // 4),
        report_to="none",
        seed=config.seed,
    )
