"""The commands that make encoders: train, distill, card."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from explorer.cli.common import add_encoders, add_json, command, command_line, encoder_names, print_rows, registry
from explorer.errors import SettingError
from explorer.jobs.manager import Jobs
from explorer.paths import runs_folder
from explorer.training.config import Objective, TrainConfig
from explorer.training.presets import preset, presets

_NEEDED = ("backbone", "pooling", "train", "dev")
_CHOICES = {"objective": tuple(Objective), "pooling": ("cls", "mean", "cnn")}


def add(commands: Any) -> None:
    """Adds the commands."""
    train = command(commands, "train", _train, "fine-tune an encoder on tables of sentence pairs")
    _add_train(train)

    distill = command(
        commands, "distill", _distill, "make an ALBERT-architecture backbone from a BERT-architecture one"
    )
    _add_distill(distill)

    card = command(commands, "card", _card, "write encoders' model cards anew from their facts")
    add_encoders(card)


def _add_train(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--preset", help="ready-made settings, which any other option overrides; list: see all of them")
    parser.add_argument("--data", type=Path, help="folder with stsb/ and labelled pairs, for the tables of a preset")
    for setting in fields(TrainConfig):
        flag = f"--{setting.name.replace('_', '-')}"
        kind = {"int": int, "float": float}.get(str(setting.type), str)
        shown = "" if setting.name in (*_NEEDED, "output") else f"default {setting.default!r}"
        if setting.type == "bool":
            parser.add_argument(flag, action=argparse.BooleanOptionalAction, help=shown)
        else:
            parser.add_argument(flag, type=kind, help=shown, choices=_CHOICES.get(setting.name))
    parser.add_argument("--test", help="table of graded pairs scored once, after training")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint of the same output")
    parser.add_argument("--dry-run", action="store_true", help="check tables, memory, disk and time, and train nothing")
    parser.add_argument("--detach", action="store_true", help="train as a job in the background and print its id")
    parser.add_argument("--name", help="with --detach: the job's id, which the encoder is then called by")
    parser.add_argument("--seeds", help="with --detach: several seeds by commas, one job each")
    add_json(parser)


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
    if options.preset == "list":
        print_rows([{"preset": item.name, "what it does": item.sentence} for item in presets()], options.json)
        return
    _check_together(options)
    devices = options.device if "," in (options.device or "") else ""
    config = _config(options, devices)
    if options.dry_run:
        _dry_run(config, options)
    elif options.detach:
        _detach(config, options, devices)
    else:
        _train_here(config, options)


def _check_together(options: argparse.Namespace) -> None:
    if options.detach and (options.output or options.resume):
        raise SettingError(
            "--detach keeps the encoder in the job's own folder: leave --output and --resume out; --name names it, and "
            "`jobs resume` goes on."
        )
    if not options.detach and (options.name or options.seeds):
        raise SettingError("--name and --seeds are of jobs; add --detach.")
    if not options.detach and "," in (options.device or ""):
        raise SettingError(f"--device {options.device!r} names several GPUs, which only a job uses; add --detach.")
    if not (options.output or options.detach or options.dry_run):
        raise SettingError("Where should the encoder go? Give --output FOLDER, or --detach to train as a job.")


def _config(options: argparse.Namespace, devices: str) -> TrainConfig:
    given = {setting.name: getattr(options, setting.name) for setting in fields(TrainConfig)}
    given = {name: value for name, value in given.items() if value is not None}
    if devices:
        given["device"] = "cuda"
    output = given.pop("output", "")
    if "backbone" in given:
        given["backbone"] = _folder_of(given["backbone"], options)
    if options.preset is None:
        missing = [f"--{name}" for name in _NEEDED if name not in given]
        if missing:
            raise SettingError(f"{', '.join(missing)} must be given, or a --preset that sets them.")
        return TrainConfig(output=output, **given)
    item = preset(options.preset)
    if item is None:
        raise SettingError(f"There is no preset {options.preset!r}; `train --preset list` shows all of them.")
    tables = item.tables(options.data or Path()) if options.data or item.data == "sample" else {}
    given = {**tables, **given}
    missing = [f"--{name}" for name in ("train", "dev") if name not in given]
    if missing:
        raise SettingError(f"The preset {item.name} needs --data FOLDER, or {' and '.join(missing)}.")
    return item.config(output, **given)


def _folder_of(backbone: str, options: argparse.Namespace) -> str:
    """The folder of an encoder that is called by its name; anything else as it is."""
    if Path(backbone).exists() or "/" in backbone:
        return backbone
    return next((str(info.folder) for info in registry(options).encoders() if info.name == backbone), backbone)


def _dry_run(config: TrainConfig, options: argparse.Namespace) -> None:
    from explorer.operations.preflight import preflight

    jobs = Jobs(runs_folder())
    found = preflight(config, runs=Path(config.output or jobs.runs_folder), test=options.test or "", jobs=jobs)
    if options.json:
        print(json.dumps([asdict(found)], indent=2, ensure_ascii=False, allow_nan=False))
    else:
        print_rows([asdict(check) for check in found.checks], False)
    if not found.ready:
        raise SettingError("The run would fail; see above.")


def _detach(config: TrainConfig, options: argparse.Namespace, devices: str) -> None:
    from explorer.operations.jobs import submit_seeds
    from explorer.operations.preflight import validate

    validate(config, test=options.test or "")
    jobs = Jobs(runs_folder())
    seeds = list(_seeds(options.seeds)) if options.seeds else [config.seed]
    more = {"test": options.test or "", "devices": devices}
    ids = submit_seeds(jobs, config, seeds, name=options.name, **more)
    if options.json:
        print_rows([{"id": id, "folder": str(jobs.get(id).folder)} for id in ids], True)
        return
    for id in ids:
        print(id)
    print(f"Follow it with: python -m explorer jobs follow {ids[0]}", file=sys.stderr)


def _seeds(text: str) -> Iterator[int]:
    for word in text.split(","):
        if not word.strip().isdecimal():
            raise SettingError(f"--seeds {text!r} should be whole numbers by commas, like 1,2,3.")
        yield int(word)


def _train_here(config: TrainConfig, options: argparse.Namespace) -> None:
    from explorer.operations.jobs import local_backbone, saved_scores
    from explorer.operations.train import fine_tune

    config = replace(config, backbone=local_backbone(config.backbone))
    result = fine_tune(config, test=options.test, command=command_line(), resume=options.resume)
    if result.stopped:
        print(f"Stopped; the same command with --resume goes on from {config.output}.", file=sys.stderr)
    else:
        dev = saved_scores(Path(config.output))["dev_spearman"]
        shown = "is undefined" if dev is None else f"{100 * dev:.2f}"
        print(f"Saved {config.output}: dev Spearman {shown}.", file=sys.stderr)


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
