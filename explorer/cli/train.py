"""The commands that make encoders: train, distill, card."""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields
from typing import Any

from explorer.cli.common import add_encoders, command, command_line, encoder_names, registry
from explorer.training.config import TrainConfig


def add(commands: Any) -> None:
    """Adds the commands."""
    train = command(commands, "train", _train, "fine-tune an encoder on graded sentence pairs")
    _add_train(train)

    distill = command(
        commands, "distill", _distill, "make an ALBERT-architecture backbone from a BERT-architecture one"
    )
    _add_distill(distill)

    card = command(commands, "card", _card, "write encoders' model cards anew from their facts")
    add_encoders(card)


def _add_train(parser: argparse.ArgumentParser) -> None:
    required = ("backbone", "pooling", "train", "dev", "output")
    for setting in fields(TrainConfig):
        flag = f"--{setting.name.replace('_', '-')}"
        if setting.name in required:
            parser.add_argument(flag, required=True)
        else:
            kind = {"int": int, "float": float}.get(str(setting.type), str)
            parser.add_argument(flag, type=kind, default=setting.default, help=f"default {setting.default!r}")
    parser.add_argument("--test", help="table of pairs scored once, after training")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint of the same output")


def _add_distill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--teacher", required=True, help="BERT-architecture backbone: a folder or a hub id")
    parser.add_argument(
        "--text", required=True, nargs="+", help=".tsv with sentence1 and sentence2, .txt, or a WordNet database folder"
    )
    parser.add_argument("--output", required=True)
    parser.add_argument("--epochs", type=float, default=2.0)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--learning-rate", type=float, default=5e-4)
    parser.add_argument("--embedding-size", type=int, default=128)
    parser.add_argument("--max-length", type=int, default=64)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint of the same output")


def _train(options: argparse.Namespace) -> None:
    from explorer.operations.train import fine_tune

    config = TrainConfig(**{setting.name: getattr(options, setting.name) for setting in fields(TrainConfig)})
    result = fine_tune(config, test=options.test, command=command_line(), resume=options.resume)
    if result.stopped:
        print(f"Stopped; the same command with --resume goes on from {config.output}.", file=sys.stderr)
    else:
        print(f"Saved {config.output}: dev Spearman {100 * (result.dev_spearman or 0):.2f}.", file=sys.stderr)


def _distill(options: argparse.Namespace) -> None:
    from explorer.data.sources import read_sentences
    from explorer.training.distill import DistillConfig, distill

    sentences = read_sentences(options.text)
    config = DistillConfig(
        teacher=options.teacher,
        output=options.output,
        text=tuple(options.text),
        n_sentences=len(sentences),
        embedding_size=options.embedding_size,
        max_length=options.max_length,
        batch_size=options.batch_size,
        epochs=options.epochs,
        learning_rate=options.learning_rate,
        seed=options.seed,
    )
    if distill(config, sentences, resume=options.resume) is None:
        print(f"Stopped; the same command with --resume goes on from {config.output}.", file=sys.stderr)
    else:
        print(f"Saved {config.output}.", file=sys.stderr)


def _card(options: argparse.Namespace) -> None:
    from explorer.operations.train import rewrite_card

    for info in registry(options).choose(encoder_names(options)):
        print(f"Wrote {rewrite_card(info)}.", file=sys.stderr)
