"""What the commands share: options that several take, the encoders they name, progress bars and printed tables."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer.paths import encoder_folders

if TYPE_CHECKING:
    from explorer.encoders.registry import Registry

Rows = list[dict[str, Any]]
Bar = Callable[[int, int], None]


def command(commands: Any, name: str, run: Callable[[argparse.Namespace], None], text: str) -> argparse.ArgumentParser:
    """Adds a command that `run` carries out; returns its parser, to which options are added."""
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
    parser.set_defaults(run=run)
    parser.add_argument(
        "--checkpoints",
        type=Path,
        action="append",
        help="folder of encoders; may be given more than once (checkpoints/)",
    )
    parser.add_argument(
        "--hub", action="store_true", help="download what is named by a Hugging Face hub id (owner/name)"
    )
    return parser


def add_json(parser: argparse._ActionsContainer) -> None:
    """Adds --json."""
    parser.add_argument("--json", action="store_true", help="print a list of json objects and nothing else")


def add_formats(parser: argparse.ArgumentParser) -> None:
    """Adds --json and --csv, of which one may be given."""
    formats = parser.add_mutually_exclusive_group()
    add_json(formats)
    formats.add_argument("--csv", action="store_true", help="print comma-separated values and nothing else")


def add_encoders(parser: argparse.ArgumentParser) -> None:
    """Adds --encoders."""
    parser.add_argument("--encoders", help="encoder names, separated by commas (all)")


def add_precision(parser: argparse.ArgumentParser) -> None:
    """Adds --precision."""
    parser.add_argument(
        "--precision",
        choices=("auto", "float32", "bfloat16"),
        default="auto",
        help="arithmetic (auto: the fastest here)",
    )


def registry(options: argparse.Namespace) -> Registry:
    """Returns the encoders in the folders the command names."""
    from explorer.encoders.registry import Registry

    return Registry(options.checkpoints or encoder_folders())


def encoder_names(options: argparse.Namespace) -> list[str] | None:
    """Returns the names that --encoders lists; None for all."""
    if options.encoders is None:
        return None
    return [name.strip() for name in options.encoders.split(",") if name.strip()]


def chosen_encoders(options: argparse.Namespace, found: Registry) -> list[str] | None:
    """Returns the names that --encoders lists, those of a folder or a hub id added to the registry; None for all.

    Raises:
        EncoderError: A folder or a hub id cannot be used.
    """
    from explorer.operations.evaluation_sources import add_named

    return add_named(found, encoder_names(options), bar("download", "B"))


def command_line() -> str:
    """The command as it was typed, wrapped for reading."""
    return shlex.join(["python", "-m", "explorer", *sys.argv[1:]]).replace(" --", " \\\n  --")


def bar(label: str, unit: str = "sentence") -> Callable[[int, int], None]:
    """Returns a progress function that draws a bar with an ETA on standard error, from its first call on.

    Args:
        label: What is being done.
        unit: What is counted; "B" for bytes, which are then written as kB and MB.
    """
    from tqdm import tqdm

    made: list[Any] = []

    def report(done: int, total: int) -> None:
        if not made:
            made.append(tqdm(desc=label, unit=unit, unit_scale=unit == "B", file=sys.stderr, disable=None))
        bar = made[0]
        bar.total = total
        bar.update(done - bar.n)
        if done >= total:
            bar.close()

    return report


def print_rows(rows: Rows, as_json: bool) -> None:
    """Prints rows that share their keys as an aligned table, or as a list of json objects."""
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
