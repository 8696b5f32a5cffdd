"""The command `project` of the command line: maps of a corpus by several encoders, as a table, csv or json."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from explorer.cli.common import (
    Bar,
    add_encoders,
    add_formats,
    add_precision,
    bar,
    command,
    encoder_names,
    print_rows,
    registry,
)

# Written out, since the modules that own these names load numpy and scipy, which --help need not wait for.
METHODS = ("pca", "umap")
METRICS = ("cosine", "euclidean")


def add(commands: Any) -> None:
    """Adds the command."""
    parser = command(
        commands, "project", _project, "lay sentences out as maps, and compare the encoders' neighbourhoods"
    )
    _add_options(parser)
    add_encoders(parser)
    add_precision(parser)
    add_formats(parser)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "text", type=Path, nargs="?", help="UTF-8 file, one sentence a line; - for standard input (the sample corpus)"
    )
    parser.add_argument("--method", choices=METHODS, default="pca", help="pca is instant, umap keeps neighbours (pca)")
    parser.add_argument("--metric", choices=METRICS, default="cosine", help="what is near (cosine)")
    parser.add_argument("--n-neighbors", type=int, default=15, help="umap: few show detail, many the whole (15)")
    parser.add_argument("--min-dist", type=float, default=0.1, help="umap: small packs groups tightly, 0 to 1 (0.1)")
    parser.add_argument("--seed", type=int, default=42, help="of umap and of the sample of a large corpus (42)")
    parser.add_argument("--most", type=int, default=2000, help="sentences on a map; more are sampled (2000)")
    parser.add_argument("--k", type=int, default=10, help="neighbours that are compared (10)")


def _project(options: argparse.Namespace) -> None:
    from explorer.analysis.projection import MapSettings, Method, Metric
    from explorer.data.corpus import read_sample_corpus
    from explorer.data.texts import read_lines
    from explorer.operations.map_report import agreement_rows, difference_rows, map_objects, point_rows, summary_row
    from explorer.operations.project import project
    from explorer.operations.reports import write_csv

    sentences = read_lines(options.text) if options.text else read_sample_corpus()["sentence"].tolist()
    bars: dict[str, Bar] = {}

    def progress(label: str, done: int, total: int) -> None:
        if label != "maps":
            bars.setdefault(label, bar(label))(done, total)

    maps = project(
        registry(options),
        sentences,
        encoders=encoder_names(options),
        settings=MapSettings(
            Method(options.method), Metric(options.metric), options.n_neighbors, options.min_dist, options.seed
        ),
        k=options.k,
        most=options.most,
        precision=options.precision,
        progress=progress,
    )
    for note in maps.notes:
        print(note, file=sys.stderr)
    if options.json:
        print(json.dumps(map_objects(maps), indent=2, ensure_ascii=False, allow_nan=False))
        return
    if options.csv:
        print(write_csv(point_rows(maps)), end="")
        return
    print_rows([summary_row(maps, number) for number in range(len(maps.encoders))], False)
    for rows in (agreement_rows(maps), difference_rows(maps)):
        if rows:
            print()
            print_rows(rows, False)
