"""The commands about encoders and single texts: encoders, score, encode."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from explorer.cli.common import (
    add_encoders,
    add_json,
    add_precision,
    bar,
    chosen_encoders,
    command,
    print_rows,
    registry,
)
from explorer.errors import SettingError


def add(commands: Any) -> None:
    """Adds the commands."""
    encoders = command(commands, "encoders", _encoders, "list the encoders found, or add one of the Hugging Face hub")
    encoders.add_argument(
        "--add", metavar="ID", action=_Download, help="download an encoder of the hub first, for instance owner/name"
    )
    add_json(encoders)

    score = command(commands, "score", _score, "score a pair of sentences with every encoder")
    score.add_argument("sentence1")
    score.add_argument("sentence2")
    add_encoders(score)
    add_json(score)

    encode = command(commands, "encode", _encode, "write the vectors of a text file's lines as a .npy file")
    encode.add_argument("text", type=Path, help="UTF-8 file, one sentence a line; - for standard input")
    encode.add_argument("--encoder", required=True, help="name of one encoder")
    encode.add_argument(
        "--output", type=Path, required=True, help=".npy file to write: (lines that are not blank, H) float32"
    )
    add_precision(encode)


class _Download(argparse.Action):
    """Keeps the id; who names one wants it downloaded, so --hub need not be given as well."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        namespace.add, namespace.hub = values, True


def _encoders(options: argparse.Namespace) -> None:
    if options.add is not None:
        from explorer.encoders.hub import fetch_model

        folder = fetch_model(options.add, progress=bar("download", "B"))
        print(f"Added {folder.name}, in {folder}.", file=sys.stderr)
    infos, problems = registry(options).scan()
    for problem in problems:
        print(f"left out: {problem.message}", file=sys.stderr)
    columns = ("name", "family", "backbone", "pooling", "parameters", "embedding_dimension", "max_length", "size_bytes")
    print_rows(
        [{key: getattr(info, key) for key in columns} | {"scores": dict(info.scores)} for info in infos], options.json
    )


def _score(options: argparse.Namespace) -> None:
    from explorer.operations.score import score_pair

    found = registry(options)
    scores = score_pair(found, options.sentence1, options.sentence2, chosen_encoders(options, found))
    for note in dict.fromkeys(note for score in scores for note in score.notes):
        print(note, file=sys.stderr)
    columns = ("encoder", "cosine", "percentile_stsb", "percentile_random", "reading")
    print_rows([{key: getattr(score, key) for key in columns} for score in scores], options.json)


def _encode(options: argparse.Namespace) -> None:
    import numpy as np

    from explorer.data.texts import read_lines
    from explorer.encoders.encode import encode

    lines, blank = read_lines(options.text)
    if blank:
        print(
            f"Left out: {blank:,} blank line{'s' if blank > 1 else ''}; the rows are the other lines.", file=sys.stderr
        )
    if options.output.suffix != ".npy":
        raise SettingError(f"--output {str(options.output)!r} must end in .npy.")
    if not options.output.parent.is_dir():
        raise SettingError(f"--output {str(options.output)!r} is in a folder that does not exist; make it first.")
    vectors = encode(
        registry(options).load(options.encoder), lines, precision=options.precision, progress=bar("encode")
    )
    with options.output.open("wb") as file:
        np.save(file, vectors)
    print(f"{options.output}: {vectors.shape[0]} x {vectors.shape[1]} float32", file=sys.stderr)
