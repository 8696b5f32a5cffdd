"""The command `filters` of the command line: every view of the CNN's filters, as a table, csv or json."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from explorer.cli.common import add_encoders, add_json, add_precision, bar, chosen_encoders, command, registry

# Written out, since the modules that own these names load torch, which --help must not.
VIEWS = ("layers", "fields", "filter", "cell", "rank", "likes", "ablate", "words", "weights", "align")
SUMMARIES = ("mean", "magnitude", "maximum", "dimension")
_HELP = (
    "what to show: layers (activations of all five), fields (receptive fields), filter (one filter along a sentence), "
    "cell (the arithmetic of one value), rank (filters by selectivity over a corpus), likes (a filter's n-grams), ablate "
    "(cosine without each filter), words (contributions of word pieces to a cosine), weights (of word pieces in a "
    "sentence's vector), align (one sentence in two encoders' word pieces)"
)


def add(commands: Any) -> None:
    """Adds the command."""
    parser = command(commands, "filters", _filters, "look inside the CNN: layers, filters, cells, words")
    _add_options(parser)
    add_encoders(parser)
    add_precision(parser)
    add_json(parser)


def _add_options(parser: argparse.ArgumentParser) -> None:
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


def _filters(options: argparse.Namespace) -> None:
    from explorer.data.texts import read_lines
    from explorer.operations.filter_report import FilterRequest, filter_report

    found = registry(options)
    request = FilterRequest(
        view=options.view,
        sentence1=options.sentence1,
        sentence2=options.sentence2,
        encoders=chosen_encoders(options, found),
        layer=options.layer,
        filter=options.filter,
        position=options.position,
        dimension=options.dimension,
        summary=options.summary,
        corpus=read_lines(options.corpus)[0] if options.corpus else None,
        show=options.show,
        precision=options.precision,
    )
    report = filter_report(found, request, bar("scan"))
    for note in report.notes:
        print(note, file=sys.stderr)
    if options.json:
        print(json.dumps(report.results, indent=2, ensure_ascii=False, allow_nan=False))
    elif options.csv:
        print(report.table.to_csv(index=False), end="")
    else:
        print(report.table.to_string(index=False))
