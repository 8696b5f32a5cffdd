"""Prints how every objective trains on a CUDA GPU: BERT-base and ALBERT-base shapes from random weights, bfloat16, ten steps.

For each: the losses are numbers, sentences a second, most memory, and what is still held after it has ended. Without a GPU it
says so and does the same with tiny shapes on the CPU, as --cpu does anywhere.

    python -m benchmarks.gpu [--cpu] [--steps 10] [--batch-size 32]
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")

import torch
from transformers import AlbertConfig, AlbertModel, BertConfig, BertModel, BertTokenizer

from explorer.encoders.machine import this_machine
from explorer.encoders.precision import bf16_is_fast
from explorer.training.config import Objective, TrainConfig
from explorer.training.train import train

WORDS = [f"word{number}" for number in range(2000)]
BASE = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072}
TINY = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
# Objective, sentence layer, siamese.
RUNS = [
    (Objective.STS, "mean", True),
    (Objective.STS, "cnn", True),
    (Objective.STS, "cls", False),
    (Objective.NLI, "cnn", True),
    (Objective.TRIPLET, "mean", True),
    (Objective.RANKING, "mean", True),
    (Objective.NLI_STS, "cnn", True),
    (Objective.CROSS_ENCODER, "cls", True),
]


def backbone(folder: Path, family: str, shape: dict[str, int]) -> str:
    """Writes a backbone of random weights, with BERT-base's vocabulary size, and returns its folder."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    fillers = [f"[unused{number}]" for number in range(30522 - len(special) - len(WORDS))]
    vocabulary = {piece: number for number, piece in enumerate([*special, *WORDS, *fillers])}
    settings = {**shape, "vocab_size": len(vocabulary), "max_position_embeddings": 512, "pad_token_id": 0}
    torch.manual_seed(0)
    if family == "bert":
        model: Any = BertModel(BertConfig(**settings))
    else:
        dropout = {"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1}
        model = AlbertModel(
            AlbertConfig(**settings, **dropout, embedding_size=128, bos_token_id=None, eos_token_id=None)
        )
    model.save_pretrained(folder)
    BertTokenizer(vocab=vocabulary, do_lower_case=True, model_max_length=512).save_pretrained(folder)
    return str(folder)


def tables(folder: Path, rows: int) -> dict[str, str]:
    """Writes graded and labelled pairs of random words."""
    chance = random.Random(0)

    def sentence() -> str:
        return " ".join(chance.choices(WORDS, k=chance.randint(6, 30)))

    labels = ("entailment", "neutral", "contradiction")
    graded = [f"{chance.uniform(0, 5):.2f}\t{sentence()}\t{sentence()}" for _ in range(rows)]
    labelled = [f"{label}\t{first}\t{sentence()}" for first in (sentence() for _ in range(rows)) for label in labels]
    (folder / "graded.tsv").write_text("score\tsentence1\tsentence2\n" + "\n".join(graded), encoding="utf-8")
    (folder / "labelled.tsv").write_text("label\tsentence1\tsentence2\n" + "\n".join(labelled), encoding="utf-8")
    return {name: str(folder / f"{name}.tsv") for name in ("graded", "labelled")}


def one(config: TrainConfig, stop_at: int = 0) -> str:
    """Trains, or stops as a signal would after `stop_at` steps, and returns a line of findings."""
    losses: list[float] = []
    begun: list[float] = []

    def report(kind: str, **facts: Any) -> None:
        if kind == "step":
            begun.append(time.perf_counter())
            losses.append(facts["loss"])
            if facts["step"] == stop_at:
                signal.raise_signal(signal.SIGTERM)

    cuda = config.device.startswith("cuda")
    if cuda:
        torch.cuda.reset_peak_memory_stats()
    train(config, report=report)
    peak = torch.cuda.max_memory_allocated() / 2**20 if cuda else float("nan")
    gc.collect()
    held = 0.0
    if cuda:
        torch.cuda.empty_cache()
        held = torch.cuda.memory_allocated() / 2**20
    finite = all(loss == loss and abs(loss) != float("inf") for loss in losses)
    # Of two stages the second; without the first step, which also warms everything up.
    last = begun[config.max_steps :] or begun
    pace = 2 * config.batch_size * (len(last) - 1) / (last[-1] - last[0])
    verdict = "ok" if finite and held < 32 else "NOT OK"
    return (
        f"{len(losses):2d} steps  loss {losses[0]:.3f} to {losses[-1]:.3f}  {pace:6.0f} sentences/s  "
        f"peak {peak:7.0f} MB  held after {held:5.1f} MB  {verdict}"
    )


def configs(folder: Path, families: dict[str, str], options: argparse.Namespace, device: str) -> Iterator[TrainConfig]:
    paths = tables(folder, options.batch_size * options.steps)
    for family, path in families.items():
        for objective, pooling, siamese in RUNS:
            graded = objective in (Objective.STS, Objective.NLI_STS, Objective.CROSS_ENCODER)
            yield TrainConfig(
                backbone=path,
                pooling=pooling,
                train=paths["graded" if graded else "labelled"],
                dev=paths["graded"],
                nli=paths["labelled"] if objective is Objective.NLI_STS else "",
                output=str(folder / "runs" / f"{family}-{objective}-{pooling}-{siamese}"),
                objective=objective.value,
                siamese=siamese,
                device=device,
                max_steps=options.steps,
                batch_size=options.batch_size,
                evaluations_per_epoch=1,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpu", action="store_true", help="tiny shapes on the CPU")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=32)
    options = parser.parse_args()
    cuda = torch.cuda.is_available() and not options.cpu
    if not cuda and not options.cpu:
        print("No CUDA GPU here: the same with tiny shapes on the CPU, which says nothing of a GPU.")
    from explorer.training import progress

    progress.SECONDS_BETWEEN_STEPS = 0.0
    device = "cuda:0" if cuda else "cpu"
    name = torch.cuda.get_device_name(0) if cuda else str(this_machine())
    print(f"{name}; {'bfloat16' if bf16_is_fast(device) else 'float32'}; batch size {options.batch_size}")
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent)
        families = {family: backbone(folder / family, family, BASE if cuda else TINY) for family in ("bert", "albert")}
        for config in configs(folder, families, options, device):
            print(f"{Path(config.output).name:32s} {one(config)}", flush=True)
        for config in configs(folder, families, options, device):
            if config.objective == Objective.NLI_STS:
                stopped = replace(config, output=f"{config.output}-stopped")
                print(f"{Path(stopped.output).name:32s} {one(stopped, options.steps + 2)}", flush=True)


if __name__ == "__main__":
    main()
