"""The command `filters` of the command line: every view of the CNN's filters, as a table, csv or json."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from explorer.encoders.registry import Registry

# Written out, since the modules that own these names load torch, which --help must not.
VIEWS = ("layers", "fields", "filter", "cell", "rank", "likes", "ablate", "words", "weights", "align")
SUMMARIES = ("mean", "magnitude", "maximum", "dimension")
_HELP = (
    "what to show: layers (activations of all five), fields (receptive fields), filter (one filter along a sentence), "
    "cell (the arithmetic of one value), rank (filters by selectivity over a corpus), likes (a filter's n-grams), ablate "
    "(cosine without each filter), words (contributions of word pieces to a cosine), weights (of word pieces in a "
    "sentence's vector), align (one sentence in two encoders' word pieces)"
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds what `filters` takes."""
    parser.add_argument("view", choices=VIEWS, help=_HELP)
    parser.add_argument("sentence1", nargs="?", help="the sentence, or the first of a pair")
    parser.add_argument("sentence2", nargs="?", help="the second sentence of a pair")
    parser.add_argument("--corpus", type=Path, help="UTF-8 file, one sentence a line; - for standard input")
    parser.add_argument("--layer", type=int, help="1 to 5")
    parser.add_argument("--filter", type=int, help="from 0")
    parser.add_argument("--position", type=int, help="from 0")
    parser.add_argument("--dimension", type=int, help="hidden dimension, from 0")
    parser.add_argument(
        "--summary", choices=SUMMARIES, default="mean", help="what stands for all hidden dimensions (mean)"
    )
    parser.add_argument("--show", type=int, default=10, help="n-grams on either side (10)")
    parser.add_argument("--csv", action="store_true", help="print csv and nothing else")


def run(
    options: argparse.Namespace,
    registry: Registry,
    encoders: Sequence[str] | None,
    progress: Callable[[int, int], None],
) -> None:
    """Prints the answer to standard output, its notes to standard error.

    Raises:
        SettingError, DataError, EncoderError: See operations.filter_report.
    """
    from explorer.data.texts import read_lines
    from explorer.operations.filter_report import FilterRequest, filter_report

    request = FilterRequest(
        view=options.view,
        sentence1=options.sentence1,
        sentence2=options.sentence2,
        encoders=encoders,
        layer=options.layer,
        filter=options.filter,
        position=options.position,
        dimension=options.dimension,
        summary=options.summary,
        corpus=read_lines(options.corpus) if options.corpus else None,
        show=options.show,
        precision=options.precision,
    )
    report = filter_report(registry, request, progress)
    for note in report.notes:
        print(note, file=sys.stderr)
    if options.json:
        print(json.dumps(report.results, indent=2, ensure_ascii=False, allow_nan=False))
    elif options.csv:
        print(report.table.to_csv(index=False), end="")
    else:
        print(report.table.to_string(index=False))
