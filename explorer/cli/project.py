"""The command `project` of the command line: maps of a corpus by several encoders, as a table, csv or json."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer.cli.common import (
    Bar,
    add_encoders,
    add_formats,
    add_precision,
    bar,
    chosen_encoders,
    command,
    print_rows,
    registry,
)
from explorer.errors import SettingError

if TYPE_CHECKING:
    from explorer.encoders.registry import Registry
    from explorer.operations.project import Cleaned, Maps

# Written out, since the modules that own these names load numpy and scipy, which --help need not wait for.
METHODS = ("pca", "umap")
METRICS = ("cosine", "euclidean")
# In json the two distances are told apart by where they stand; in tables for people by their names.
_HEADS = {"procrustes_distance": "procrustes_of_maps", "procrustes": "procrustes_of_vectors"}


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
        "text",
        type=Path,
        nargs="?",
        help="txt, csv, tsv, jsonl or parquet; - for lines on standard input (the sample corpus)",
    )
    parser.add_argument("--column", help="of the sentences in a table (the one most like text)")
    parser.add_argument("--label", help="a table's column of labels, for colours (none)")
    parser.add_argument("--method", choices=METHODS, default="pca", help="pca is instant, umap keeps neighbours (pca)")
    parser.add_argument("--metric", choices=METRICS, default="cosine", help="what is near (cosine)")
    parser.add_argument("--n-neighbors", type=int, default=15, help="umap: few show detail, many the whole (15)")
    parser.add_argument("--min-dist", type=float, default=0.1, help="umap: small packs groups tightly, 0 to 1 (0.1)")
    parser.add_argument("--seed", type=int, default=42, help="of umap and of the sample of a large corpus (42)")
    parser.add_argument("--most", type=int, default=2000, help="sentences on a map; more are sampled (2000)")
    parser.add_argument("--k", type=int, default=10, help="neighbours that are compared (10)")
    parser.add_argument("--html", type=Path, help="also write the linked maps as a file that opens without a network")


def _project(options: argparse.Namespace) -> None:
    from explorer.analysis.projection import MapSettings, Method, Metric
    from explorer.operations.project import project

    if options.html:
        _check_html(options.html)
    found = registry(options)
    maps = project(
        found,
        _corpus(options),
        encoders=chosen_encoders(options, found),
        settings=MapSettings(
            Method(options.method), Metric(options.metric), options.n_neighbors, options.min_dist, options.seed
        ),
        k=options.k,
        precision=options.precision,
        progress=_progress(),
    )
    for note in maps.notes:
        print(note, file=sys.stderr)
    _print(options, maps)
    # Last, so that nobody waits for the table in vain where the disk turns out to be full.
    if options.html:
        _write_html(options.html, maps, found)


def _print(options: argparse.Namespace, maps: Maps) -> None:
    from explorer.operations.map_report import agreement_rows, difference_rows, map_objects, point_rows, summary_row
    from explorer.operations.reports import write_csv

    if options.json:
        print(json.dumps(map_objects(maps), indent=2, ensure_ascii=False, allow_nan=False))
        return
    if options.csv:
        print(write_csv(point_rows(maps)), end="")
        return
    summary = [summary_row(maps, number) for number in range(len(maps.encoders))]
    for place, rows in enumerate((summary, agreement_rows(maps), difference_rows(maps))):
        if rows:
            print("\n" if place else "", end="")
            print_rows([{_HEADS.get(key, key): value for key, value in row.items()} for row in rows], False)


def _corpus(options: argparse.Namespace) -> Cleaned:
    from explorer.operations.map_corpus import check_most, file_corpus, lines_corpus, sample_corpus

    most = check_most(options.most)
    if options.text is None:
        return sample_corpus(most, options.seed)
    if str(options.text) == "-":
        return lines_corpus(sys.stdin.read(), most, options.seed)
    return file_corpus(options.text, options.column, options.label, most, options.seed)


def _progress() -> Callable[[str, int, int], None]:
    """Returns a progress function with a bar for every encoder that encodes and every map that takes a while."""
    bars: dict[str, Bar] = {}

    def progress(what: str, done: int, total: int) -> None:
        if what != "maps":
            bars.setdefault(what, bar(what, "round" if what.startswith("map of ") else "sentence"))(done, total)

    return progress


def _check_html(path: Path) -> None:
    """Refuses, before anything is made, a path that no file can be written to."""
    if path.is_dir():
        raise SettingError(f"--html {str(path)!r} is a folder; name a file in it, such as {str(path / 'maps.html')!r}.")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise SettingError(f"--html {str(path)!r} is in a folder that does not exist; make it first.")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise SettingError(f"--html {str(path)!r} cannot be written; choose a folder of your own.")


def _write_html(path: Path, maps: Maps, found: Registry) -> None:
    from datetime import UTC, datetime

    from explorer.figures.map import document, palette
    from explorer.figures.theme import identities
    from explorer.operations.map_payload import payload

    looks = {name: look.css_class for name, look in identities(found.scan()[0]).items()}
    made = f"Made by python -m explorer project, {datetime.now(UTC).strftime('%Y-%m-%d %H:%M UTC')}."
    written = document(payload(maps, looks, palette(), vectors=True), made)
    try:
        path.write_text(written, encoding="utf-8")
    except OSError as error:
        raise SettingError(
            f"--html {str(path)!r} could not be written ({error.strerror}); choose another place. The table is above."
        ) from error
    print(f"Wrote {path}.", file=sys.stderr)
