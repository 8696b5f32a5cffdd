"""The command line: python -m explorer. Results go to standard output, progress and messages to standard error.

Torch is imported only by the commands that compute.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer import cli_filters, cli_project
from explorer.errors import ExplorerError, SettingError
from explorer.paths import CHECKPOINTS, runs_folder
from explorer.training.config import TrainConfig

if TYPE_CHECKING:
    from explorer.encoders.registry import Registry

Rows = list[dict[str, Any]]
_EVALUATE_COLUMNS = (
    *("encoder", "task", "split", "subset", "n", "spearman", "spearman_low", "spearman_high", "pearson"),
    *("precision", "why"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit status: 0, 2 for an error a person can mend, 130 when interrupted."""
    options = _parser().parse_args(arguments)
    _quiet_libraries()
    try:
        options.run(options)
    except ExplorerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130
    return 0


def _quiet_libraries() -> None:
    """Keeps libraries off the network and their chatter off the terminal, unless the environment says otherwise."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m explorer", description="Compare BERT and ALBERT sentence encoders.", allow_abbrev=False
    )
    commands = parser.add_subparsers(required=True, metavar="command")

    encoders = _command(commands, "encoders", _encoders, "list the encoders found")
    _add_json(encoders)

    score = _command(commands, "score", _score, "score a pair of sentences with every encoder")
    score.add_argument("sentence1")
    score.add_argument("sentence2")
    _add_encoders(score)
    _add_json(score)

    encode = _command(commands, "encode", _encode, "write the vectors of a text file's lines as a .npy file")
    encode.add_argument("text", type=Path, help="UTF-8 file, one sentence a line; - for standard input")
    encode.add_argument("--encoder", required=True, help="name of one encoder")
    encode.add_argument("--output", type=Path, required=True, help=".npy file to write: (lines, H) float32")
    _add_precision(encode)

    filters = _command(commands, "filters", _filters, "look inside the CNN: layers, filters, cells, words")
    cli_filters.add_options(filters)
    _add_encoders(filters)
    _add_precision(filters)
    _add_json(filters)

    project = _command(
        commands, "project", _project, "lay sentences out as maps, and compare the encoders' neighbourhoods"
    )
    cli_project.add_options(project)
    _add_encoders(project)
    _add_precision(project)
    _add_formats(project)
    _add_measuring(commands)
    _add_making(commands)
    return parser


def _add_measuring(commands: Any) -> None:
    evaluate = _command(commands, "evaluate", _evaluate, "score encoders on STS tasks")
    evaluate.add_argument("--tasks", default="stsb", help="stsb, sts12 to sts16, sick-r, by commas, or all (stsb)")
    evaluate.add_argument("--data", type=Path, required=True, help="folder with stsb/, sts/ and sick/")
    evaluate.add_argument("--split", default="test", help="dev or test (test)")
    evaluate.add_argument("--subsets", help="all, clean, overlap, by commas (all; with --tasks all: all three)")
    _add_encoders(evaluate)
    _add_precision(evaluate)
    formats = evaluate.add_mutually_exclusive_group()
    _add_json(formats)
    formats.add_argument("--csv", action="store_true", help="print comma-separated values and nothing else")
    formats.add_argument("--markdown", action="store_true", help="print a markdown table and nothing else")

    cost = _command(commands, "cost", _cost, "measure what encoders cost here: load time, speed, memory")
    cost.add_argument("--here", action="store_true", help="in this process, not in a new one for each encoder")
    _add_encoders(cost)
    _add_json(cost)


def _add_making(commands: Any) -> None:
    train = _command(commands, "train", _train, "fine-tune an encoder on graded sentence pairs")
    _add_train(train)

    distill = _command(
        commands, "distill", _distill, "make an ALBERT-architecture backbone from a BERT-architecture one"
    )
    _add_distill(distill)

    reference = _command(commands, "reference", _reference, "write an encoder's reference distributions of cosines")
    reference.add_argument("--data", type=Path, required=True, help="folder with stsb/dev.tsv")
    _add_encoders(reference)

    card = _command(commands, "card", _card, "write encoders' model cards anew from their facts")
    _add_encoders(card)


def _command(commands: Any, name: str, run: Callable[[argparse.Namespace], None], text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
    parser.set_defaults(run=run)
    parser.add_argument(
        "--checkpoints",
        type=Path,
        action="append",
        help="folder of encoders; may be given more than once (checkpoints/)",
    )
    return parser


def _add_json(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--json", action="store_true", help="print a list of json objects and nothing else")


def _add_formats(parser: argparse.ArgumentParser) -> None:
    formats = parser.add_mutually_exclusive_group()
    _add_json(formats)
    formats.add_argument("--csv", action="store_true", help="print comma-separated values and nothing else")


def _add_encoders(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--encoders", help="encoder names, separated by commas (all)")


def _add_precision(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--precision",
        choices=("auto", "float32", "bfloat16"),
        default="auto",
        help="arithmetic (auto: the fastest here)",
    )


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


def _registry(options: argparse.Namespace) -> Registry:
    from explorer.encoders.registry import Registry

    return Registry(options.checkpoints or [CHECKPOINTS, runs_folder()])


def _names(options: argparse.Namespace) -> list[str] | None:
    if options.encoders is None:
        return None
    return [name.strip() for name in options.encoders.split(",") if name.strip()]


def _encoders(options: argparse.Namespace) -> None:
    infos, problems = _registry(options).scan()
    for problem in problems:
        print(f"left out: {problem.message}", file=sys.stderr)
    columns = ("name", "family", "backbone", "pooling", "parameters", "embedding_dimension", "max_length", "size_bytes")
    _print(
        [{key: getattr(info, key) for key in columns} | {"scores": dict(info.scores)} for info in infos], options.json
    )


def _score(options: argparse.Namespace) -> None:
    from explorer.operations.score import score_pair

    scores = score_pair(_registry(options), options.sentence1, options.sentence2, _names(options))
    for note in dict.fromkeys(note for score in scores for note in score.notes):
        print(note, file=sys.stderr)
    columns = ("encoder", "cosine", "percentile_stsb", "percentile_random", "reading")
    _print([{key: getattr(score, key) for key in columns} for score in scores], options.json)


def _encode(options: argparse.Namespace) -> None:
    import numpy as np

    from explorer.data.texts import read_lines
    from explorer.encoders.encode import encode

    lines = read_lines(options.text)
    if options.output.suffix != ".npy":
        raise SettingError(f"--output {str(options.output)!r} must end in .npy.")
    if not options.output.parent.is_dir():
        raise SettingError(f"--output {str(options.output)!r} is in a folder that does not exist; make it first.")
    vectors = encode(
        _registry(options).load(options.encoder), lines, precision=options.precision, progress=_bar("encode")
    )
    with options.output.open("wb") as file:
        np.save(file, vectors)
    print(f"{options.output}: {vectors.shape[0]} x {vectors.shape[1]} float32", file=sys.stderr)


def _evaluate(options: argparse.Namespace) -> None:
    from explorer.encoders.cache import EmbeddingCache
    from explorer.operations.evaluate import Subset, evaluate
    from explorer.operations.reports import as_row, flat_row, write_csv, write_markdown

    bars: dict[str, Callable[[int, int], None]] = {}

    def progress(label: str, done: int, total: int) -> None:
        bars.setdefault(label, _bar(label))(done, total)

    tasks = options.tasks.split(",")
    scores = list(
        evaluate(
            _registry(options),
            options.data,
            tasks=tasks,
            split=options.split,
            encoders=_names(options),
            precision=options.precision,
            subsets=_subsets(options.subsets, list(Subset) if "all" in tasks else [Subset.ALL]),
            cache=EmbeddingCache(),
            progress=progress,
        )
    )
    if options.csv:
        print(write_csv([flat_row(score) for score in scores]), end="")
    elif options.markdown:
        print(write_markdown(scores), end="")
    elif options.json:
        _print([as_row(score) for score in scores], True)
    else:
        _print([{key: flat_row(score)[key] for key in _EVALUATE_COLUMNS} for score in scores], False)


def _cost(options: argparse.Namespace) -> None:
    from explorer.operations.cost import as_row, measure, measure_here

    registry = _registry(options)
    measured = (
        measure_here(info) if options.here else measure(registry, info.name)
        for info in registry.choose(_names(options))
    )
    _print([as_row(cost) for cost in measured], options.json)


def _subsets(given: str | None, default: Sequence[str]) -> list[str]:
    known = ("all", "clean", "overlap")
    names = list(default) if given is None else [name.strip() for name in given.split(",")]
    for name in names:
        if name not in known:
            raise SettingError(f"Unknown subset {name!r}; the subsets are {', '.join(known)}.")
    return names


def _train(options: argparse.Namespace) -> None:
    from explorer.operations.train import fine_tune

    config = TrainConfig(**{setting.name: getattr(options, setting.name) for setting in fields(TrainConfig)})
    result = fine_tune(config, test=options.test, command=_command_line(), resume=options.resume)
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


def _reference(options: argparse.Namespace) -> None:
    from explorer.data.tables import read_pairs
    from explorer.encoders.registry import REFERENCE_FILE
    from explorer.operations.reference import reference_table

    registry = _registry(options)
    pairs = read_pairs(options.data / "stsb" / "dev.tsv")
    for info in registry.choose(_names(options)):
        table = reference_table(registry.load(info.name), pairs, progress=_bar(info.name))
        table.to_csv(info.folder / REFERENCE_FILE, sep="\t", index=False)
        print(f"Wrote {info.folder / REFERENCE_FILE}.", file=sys.stderr)


def _filters(options: argparse.Namespace) -> None:
    cli_filters.run(options, _registry(options), _names(options), _bar("scan"))


def _project(options: argparse.Namespace) -> None:
    cli_project.run(options, _registry(options), _names(options), _bar, _print)


def _card(options: argparse.Namespace) -> None:
    from explorer.operations.train import rewrite_card

    for info in _registry(options).choose(_names(options)):
        print(f"Wrote {rewrite_card(info)}.", file=sys.stderr)


def _command_line() -> str:
    """The command as it was typed, wrapped for reading."""
    return shlex.join(["python", "-m", "explorer", *sys.argv[1:]]).replace(" --", " \\\n  --")


def _bar(label: str) -> Callable[[int, int], None]:
    """Returns a progress function that draws a bar with an ETA on standard error."""
    from tqdm import tqdm

    bar: Any = tqdm(desc=label, unit="sentence", file=sys.stderr, disable=None)

    def report(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)
        if done >= total:
            bar.close()

    return report


def _print(rows: Rows, as_json: bool) -> None:
    if as_json:
        print(json.dumps(rows, indent=2, ensure_ascii=False, allow_nan=False))
        return
    rows = [{key: _cell(value) for key, value in row.items()} for row in rows]
    widths = {key: max(len(key), *(len(row[key]) for row in rows)) for key in rows[0]} if rows else {}
    for row in [dict(zip(widths, widths, strict=True)), *rows] if rows else []:
        print("  ".join(str(row[key]).ljust(width) for key, width in widths.items()).rstrip())


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, dict):
        return " ".join(f"{key}={number:.2f}" for key, number in value.items())
    return "-" if value is None else str(value)
