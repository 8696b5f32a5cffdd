"""The commands that measure: evaluate, cost, reference."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from explorer.cli.common import (
    add_encoders,
    add_json,
    add_precision,
    bar,
    chosen_encoders,
    command,
    encoder_names,
    print_rows,
    registry,
)
from explorer.errors import SettingError

_EVALUATE_COLUMNS = (
    *("encoder", "kind", "task", "split", "subset", "n", "spearman", "spearman_low", "spearman_high", "pearson"),
    *("accuracy", "precision", "why"),
)


def add(commands: Any) -> None:
    """Adds the commands."""
    evaluate = command(commands, "evaluate", _evaluate, "score encoders and cross-encoders on STS and NLI tasks")
    evaluate.add_argument(
        "--tasks", default="stsb", help="stsb, sts12 to sts16, sick-r, sick-e, snli, by commas, or all (stsb)"
    )
    evaluate.add_argument(
        "--data", type=Path, help="folder with stsb/, sts/, sick/ and snli/ (STSb of the Hugging Face hub, with --hub)"
    )
    evaluate.add_argument("--split", default="test", help="dev or test (test)")
    evaluate.add_argument("--subsets", help="all, clean, overlap, by commas (all; with --tasks all: all three)")
    add_encoders(evaluate)
    add_precision(evaluate)
    formats = evaluate.add_mutually_exclusive_group()
    add_json(formats)
    formats.add_argument("--csv", action="store_true", help="print comma-separated values and nothing else")
    formats.add_argument("--markdown", action="store_true", help="print a markdown table and nothing else")

    cost = command(commands, "cost", _cost, "measure what encoders cost here: load time, speed, memory")
    cost.add_argument("--here", action="store_true", help="in this process, not in a new one for each encoder")
    add_encoders(cost)
    add_json(cost)

    reference = command(commands, "reference", _reference, "write an encoder's reference distributions of cosines")
    reference.add_argument("--data", type=Path, required=True, help="folder with stsb/dev.tsv")
    add_encoders(reference)


def _evaluate(options: argparse.Namespace) -> None:
    from explorer.encoders.cache import EmbeddingCache
    from explorer.operations.evaluate import evaluate
    from explorer.operations.evaluation_sources import stsb_from_hub
    from explorer.operations.reports import as_row, flat_row, write_csv, write_markdown
    from explorer.operations.task_score import Subset

    bars: dict[str, Callable[[int, int], None]] = {}

    def progress(label: str, done: int, total: int) -> None:
        bars.setdefault(label, bar(label))(done, total)

    tasks, found = _tasks(options), registry(options)
    names = chosen_encoders(options, found)
    scores = list(
        evaluate(
            found,
            options.data or stsb_from_hub(bar("download", "B")),
            tasks=tasks,
            split=options.split,
            encoders=names,
            precision=options.precision,
            subsets=_subsets(options.subsets, list(Subset) if "all" in options.tasks.split(",") else [Subset.ALL]),
            cache=EmbeddingCache(),
            progress=progress,
        )
    )
    if options.csv:
        print(write_csv([flat_row(score) for score in scores]), end="")
    elif options.markdown:
        print(write_markdown(scores), end="")
    elif options.json:
        print_rows([as_row(score) for score in scores], True)
    else:
        print_rows([{key: flat_row(score)[key] for key in _EVALUATE_COLUMNS} for score in scores], False)


def _tasks(options: argparse.Namespace) -> list[str]:
    """The tasks asked for; of all, those whose tables are in the data folder, and the others are told."""
    from explorer.data.sts_tasks import ALL, choose_tasks, tasks_here

    names = [name.strip() for name in options.tasks.split(",")]
    if ALL not in names or options.data is None:
        return names
    here, left_out = tasks_here(choose_tasks(names, options.split), options.split, options.data)
    if left_out:
        print(left_out, file=sys.stderr)
    return [task.name for task in here]


def _cost(options: argparse.Namespace) -> None:
    from explorer.operations.cost import as_row, measure, measure_here

    found = registry(options)
    measured = (
        measure_here(info) if options.here else measure(found, info.name)
        for info in found.choose(chosen_encoders(options, found))
    )
    print_rows([as_row(cost) for cost in measured], options.json)


def _subsets(given: str | None, default: Sequence[str]) -> list[str]:
    known = ("all", "clean", "overlap")
    names = list(default) if given is None else [name.strip() for name in given.split(",")]
    for name in names:
        if name not in known:
            raise SettingError(f"Unknown subset {name!r}; the subsets are {', '.join(known)}.")
    return names


def _reference(options: argparse.Namespace) -> None:
    from explorer.data.tables import read_pairs
    from explorer.operations.reference import reference_table, write_reference

    found = registry(options)
    pairs = read_pairs(options.data / "stsb" / "dev.tsv")
    for info in found.choose(encoder_names(options)):
        table = reference_table(found.load(info.name), pairs, progress=bar(info.name))
        print(f"Wrote {write_reference(info, table)}.", file=sys.stderr)
