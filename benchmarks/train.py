"""Prints how fast our training is beside the same training written as a plain sentence-transformers script, in one run.

Plain means SentenceTransformerTrainer with the same data, loss, batch size, learning rate and warm-up, and the library's
defaults for all else (float32, shuffled batches, fused attention). --full trains both to the end, labelled pairs first and
graded pairs after that, and prints dev Spearman of both.

    OMP_NUM_THREADS=1 python -m benchmarks.train --data ../shared/data [--backbone FOLDER] [--steps 10] [--rounds 3]
    OMP_NUM_THREADS=1 python -m benchmarks.train --data ../shared/data --backbone FOLDER --full [--epochs 2]
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from datasets import Dataset, disable_progress_bars
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.sentence_transformer.losses import CosineSimilarityLoss, SoftmaxLoss
from transformers import TrainerCallback

from explorer.data.tables import LABELS, read_nli, read_pairs
from explorer.encoders.machine import this_machine
from explorer.paths import CHECKPOINTS
from explorer.training.callback import StopOnSignal
from explorer.training.config import TrainConfig
from explorer.training.data import DEV, read_graded
from explorer.training.evaluator import SPEARMAN, DevEvaluator
from explorer.training.objectives import plan
from explorer.training.progress import Losses
from explorer.training.train import Run, build_model, train

WARM_UP_STEPS = 2


@dataclass(frozen=True)
class Pace:
    """Sentences a second by the clock on the wall, and by the processor's time, which other programs do not slow."""

    wall: float
    processor: float


class Clock(TrainerCallback):
    """Times steps; those that warm up are left out."""

    def __init__(self) -> None:
        self.begun = self.now = (0.0, 0.0)
        self.steps = 0

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Reads the clocks."""
        self.now = time.perf_counter(), time.process_time()
        if state.global_step == WARM_UP_STEPS:
            self.begun = self.now
        self.steps = state.global_step - WARM_UP_STEPS

    def pace(self, batch_size: int) -> Pace:
        """Returns the pace of the steps since."""
        wall, processor = (
            2 * batch_size * self.steps / (now - begun) for now, begun in zip(self.now, self.begun, strict=True)
        )
        return Pace(wall, processor)


def our_config(options: argparse.Namespace, output: str, **changes: Any) -> TrainConfig:
    data = options.data
    settings: dict[str, Any] = {
        "objective": "nli-sts",
        "nli": str(data / "sick" / "train.tsv"),
        "epochs": options.epochs,
        "evaluations_per_epoch": 1,
        "batch_size": options.batch_size,
        "device": "cpu",
    }
    graded = {"train": str(data / "stsb" / "train.tsv"), "dev": str(data / "stsb" / "dev.tsv")}
    return TrainConfig(str(options.backbone), "mean", output=output, **{**graded, **settings, **changes})


def plain_rows(data: Path) -> dict[str, Dataset]:
    labelled, graded = read_nli(data / "sick" / "train.tsv"), read_pairs(data / "stsb" / "train.tsv")
    return {
        "nli": Dataset.from_dict(
            {
                "sentence1": labelled["sentence1"].tolist(),
                "sentence2": labelled["sentence2"].tolist(),
                "label": labelled["label"].map(LABELS.index).tolist(),
            }
        ),
        "sts": Dataset.from_dict(
            {
                "sentence1": graded["sentence1"].tolist(),
                "sentence2": graded["sentence2"].tolist(),
                "score": (graded["score"] / 5).tolist(),
            }
        ),
    }


def plain_trainer(
    stage: str, model: SentenceTransformer, rows: Dataset, folder: str, batch_size: int, **amount: Any
) -> SentenceTransformerTrainer:
    if stage == "nli":
        loss: Any = SoftmaxLoss(model, embedding_dimension=model.get_embedding_dimension(), num_labels=3)
    else:
        loss = CosineSimilarityLoss(model)
    arguments = SentenceTransformerTrainingArguments(
        output_dir=folder,
        per_device_train_batch_size=batch_size,
        learning_rate=2e-5,
        warmup_steps=0.1,
        use_cpu=True,
        save_strategy="no",
        logging_strategy="no",
        disable_tqdm=True,
        report_to="none",
        **amount,
    )
    return SentenceTransformerTrainer(model=model, args=arguments, train_dataset=rows, loss=loss)


def our_speed(options: argparse.Namespace, stage_name: str, folder: str) -> Pace:
    """Returns the pace of our trainer."""
    config = our_config(options, folder)
    stage = next(stage for stage in plan(config) if stage.name == stage_name)
    steps = options.steps + WARM_UP_STEPS
    few = replace(stage, steps=steps, every=steps)
    model = build_model(config, "cpu")
    evaluator = DevEvaluator(read_graded(config.dev, 5.0, DEV))
    run = Run(config, [few], model, evaluator, StopOnSignal(), lambda *_, **__: None, Path(folder), "cpu")
    trainer = run.trainer(few, Path(folder))
    trainer.losses = Losses()
    trainer.args.eval_strategy = trainer.args.save_strategy = "no"
    trainer.args.load_best_model_at_end = False
    return timed(trainer, options.batch_size)


def timed(trainer: Any, batch_size: int) -> Pace:
    clock = Clock()
    trainer.add_callback(clock)
    trainer.train()
    return clock.pace(batch_size)


def speeds(options: argparse.Namespace) -> None:
    """Prints both speeds for both stages; the two take turns, so that a busy machine slows both alike."""
    rows = plain_rows(options.data)
    for stage in ("nli", "sts"):
        ours, plain = [], []
        for _ in range(options.rounds):
            with tempfile.TemporaryDirectory() as folder:
                ours.append(our_speed(options, stage, folder))
                model = SentenceTransformer(str(options.backbone), device="cpu", model_kwargs={"dtype": "float32"})
                steps = options.steps + WARM_UP_STEPS
                trainer = plain_trainer(stage, model, rows[stage], folder, options.batch_size, max_steps=steps)
                plain.append(timed(trainer, options.batch_size))
        for name in ("processor", "wall"):
            a, b = ([getattr(pace, name) for pace in paces] for paces in (ours, plain))
            ratio = median(x / y for x, y in zip(a, b, strict=True))
            print(
                f"{stage}, {name} time: ours {median(a):.0f} sentences/s, plain {median(b):.0f} sentences/s: "
                f"{ratio:.2f} times as fast",
                flush=True,
            )


def full(options: argparse.Namespace) -> None:
    """Prints dev Spearman and time of both trainings, done to the end."""
    data = options.data
    dev = DevEvaluator(read_pairs(data / "stsb" / "dev.tsv"), exact=True)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        ours = train(our_config(options, f"{folder}/ours"), report=say)
        seconds = time.perf_counter() - start
        our_score = 100 * dev(ours.encoder)[SPEARMAN]
        print(f"ours: dev Spearman {our_score:.2f}, {seconds:.0f} s with every evaluation", flush=True)
        start = time.perf_counter()
        model = SentenceTransformer(str(options.backbone), device="cpu", model_kwargs={"dtype": "float32"})
        for stage, table in plain_rows(data).items():
            epochs = 1 if stage == "nli" else options.epochs
            trainer = plain_trainer(stage, model, table, folder, options.batch_size, num_train_epochs=epochs)
            trainer.train()
            print(f"plain: stage {stage} after {time.perf_counter() - start:.0f} s", flush=True)
        seconds = time.perf_counter() - start
        plain_score = 100 * dev(model)[SPEARMAN]
        print(f"plain: dev Spearman {plain_score:.2f}, {seconds:.0f} s without evaluation")
    print(f"difference {our_score - plain_score:+.2f} (to be at least -0.30)")


def say(kind: str, **facts: Any) -> None:
    """Prints our evaluations as they come."""
    if kind == "dev" and facts["spearman"] is not None:
        print(f"ours: step {facts['step']}, stage {facts['stage']}, dev {100 * facts['spearman']:.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with stsb/ and sick/")
    parser.add_argument("--backbone", type=Path, default=CHECKPOINTS / "bert-mean")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=float, default=2.0, help="over the graded pairs, with --full")
    parser.add_argument("--full", action="store_true", help="train both to the end")
    options = parser.parse_args()
    disable_progress_bars()
    print(this_machine())
    (full if options.full else speeds)(options)


if __name__ == "__main__":
    main()
