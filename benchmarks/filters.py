"""Prints what looking inside a CNN costs beside encoding, both measured in the same run.

Ablation: milliseconds for 16 filters of each layer on a pair, and their ratio to one full encode of that pair, in turns.
Corpus scan: seconds for all filters of all layers and their ratio to encoding the same sentences; once more from the cache.
Attribution: milliseconds a pair.

    python -m benchmarks.filters [--encoder bert-cnn] [--data ../shared/data] [--sentences 5000]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from unittest import mock

import pandas as pd
from sentence_transformers import SentenceTransformer
from torch import Tensor

from explorer.analysis.ablation import ablate
from explorer.analysis.attribution import PairContributions, pair_contributions, sentence_parts
from explorer.encoders.encode import Precision, encode
from explorer.encoders.hidden_states import cnn_layer, last_hidden_states
from explorer.encoders.registry import Registry
from explorer.operations import filter_corpus
from explorer.operations.filter_corpus import filter_likes, scan_corpus

PAIRS = {
    "short": ("A boy feeds two ducks.", "Ducks get bread from a child."),
    "usual": (
        "The mayor opened the new bridge over the river today.",
        "A bridge across the river was opened by the mayor.",
    ),
    "long": (
        "After three weeks of rain the farmers of the valley met in the old town hall to talk about the fields that were lost.",
        "When the rain had lasted for three weeks, people who own land in the valley came together in town to count losses.",
    ),
}
FILTERS = 16


def medians(runs: Sequence[Callable[[], object]], turns: int, clock: Callable[[], float]) -> list[float]:
    """Returns each run's median seconds, taking turns so that a change of the machine's speed meets all alike."""
    seconds: list[list[float]] = [[] for _ in runs]
    for turn in range(turns + 1):
        for run, record in zip(runs, seconds, strict=True):
            start = clock()
            run()
            if turn:
                record.append(clock() - start)
    return [statistics.median(record) for record in seconds]


def print_ablation(encoder: SentenceTransformer, name: str, turns: int, clock: Callable[[], float]) -> None:
    head = cnn_layer(encoder, name)
    layers = range(1, len(head.convolutions))
    for label, pair in PAIRS.items():
        states = [last_hidden_states(encoder, text) for text in pair]
        runs = [partial(encode, encoder, pair, precision=Precision.FLOAT32)]
        runs += [partial(ablate, head, *states, layer) for layer in layers]
        whole, *seconds = medians(runs, turns, clock)
        lengths = " and ".join(str(s.shape[1]) for s in states)
        print(f"Ablation, {label} pair ({lengths} word pieces): encode {1e3 * whole:.1f} ms")
        for layer, taken in zip(layers, seconds, strict=True):
            filters = head.channels[layer]
            print(
                f"  layer {layer}: all {filters} filters {1e3 * taken:.1f} ms; "
                f"{FILTERS} filters {1e3 * taken * FILTERS / filters:.1f} ms = {taken * FILTERS / filters / whole:.2f} x encode"
            )


def print_attribution(encoder: SentenceTransformer, name: str, turns: int, clock: Callable[[], float]) -> None:
    head = cnn_layer(encoder, name)
    for label, pair in PAIRS.items():
        states = [last_hidden_states(encoder, text) for text in pair]
        results: list[PairContributions] = []

        def attribute(states: list[Tensor] = states, results: list[PairContributions] = results) -> None:
            results.append(pair_contributions(*(sentence_parts(head, one) for one in states)))

        (seconds,) = medians([attribute], turns, clock)
        result = results[-1]
        print(
            f"Attribution, {label} pair: {1e3 * seconds:.0f} ms, {result.steps} steps, residual {result.residual:.3%}"
        )


def print_scan(registry: Registry, name: str, texts: Sequence[str], precision: str, clock: Callable[[], float]) -> None:
    encoder = registry.load(name)
    encode(encoder, texts[:64], precision=precision)
    start = clock()
    encode(encoder, texts, precision=precision)
    encoding = clock() - start
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.object(filter_corpus, "cache_folder", lambda: Path(folder)),
    ):
        start = clock()
        scan_corpus(registry, name, texts, precision=precision)
        scanning = clock() - start
        start = clock()
        cached = scan_corpus(registry, name, texts, precision=precision)
        again = clock() - start
        start = clock()
        filter_likes(registry, cached, 2, 0)
        likes = clock() - start
    print(
        f"Corpus scan of {len(texts):,} sentences, {precision}: encode {encoding:.1f} s, scan {scanning:.1f} s = "
        f"{scanning / encoding:.2f} x; from the cache {again:.2f} s; one filter's n-grams {likes:.2f} s"
    )


def read_texts(data: Path, count: int) -> list[str]:
    table = pd.read_csv(data / "stsb" / "train.tsv", sep="\t")
    return list(dict.fromkeys([*table["sentence1"].astype(str), *table["sentence2"].astype(str)]))[:count]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", default="bert-cnn")
    parser.add_argument("--data", type=Path, help="folder with stsb/train.tsv; without it no corpus is scanned")
    parser.add_argument("--sentences", type=int, default=5000)
    parser.add_argument("--precision", default="auto", help="of the corpus scan")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--processor-time", action="store_true", help="count processor time, for a busy machine")
    options = parser.parse_args()
    clock = time.process_time if options.processor_time else time.perf_counter
    registry = Registry()
    encoder = registry.load(options.encoder)
    print_ablation(encoder, options.encoder, options.turns, clock)
    print_attribution(encoder, options.encoder, options.turns, clock)
    if options.data:
        print_scan(registry, options.encoder, read_texts(options.data, options.sentences), options.precision, clock)


if __name__ == "__main__":
    main()
