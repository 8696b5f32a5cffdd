"""What the filters of one CNN like over a corpus: scans it once, keeps the result on disk, and reads n-grams out of it.

A scan covers all filters of all layers. The n-grams shown are computed again in float32, so that a number here equals the
number a single sentence's view shows.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from explorer.analysis.filter_scan import Extremes, FilterScanner, LayerScan
from explorer.analysis.filters import Summary, cell_values, check_choice, read_summary
from explorer.analysis.receptive_fields import Span, centre, character_span, receptive_field
from explorer.data.texts import check_text
from explorer.encoders.cnn_pooling import CNNPooling
from explorer.encoders.encode import Precision, Progress, resolve_precision, word_pieces
from explorer.encoders.hidden_states import cnn_layer, run_backbone
from explorer.encoders.kept import read_kept
from explorer.encoders.registry import Registry
from explorer.errors import DataError, SettingError
from explorer.paths import cache_folder

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor

# Raised whenever what a cached scan holds, or how it is made, changes.
_FORMAT = 1
# Scans kept on disk, each under a megabyte; those made longest ago go first.
_MOST_KEPT = 300
_EXTREME_FIELDS = ("values", "sentences", "positions")
_ARRAY_FIELDS = ("mean", "deviation", "spread", "saturated_share")


@dataclass(frozen=True, eq=False)
class CorpusScan:
    """All filters of one encoder over one corpus.

    Args:
        encoder: Its name.
        sentences: The distinct sentences, in their order.
        summary: What a cell's value stands for.
        dimension: The hidden dimension; None for the other summaries.
        precision: Arithmetic of the scan, "float32" or "bfloat16".
        layers: One LayerScan a layer.
        from_cache: Whether it was read from disk.
    """

    encoder: str
    sentences: tuple[str, ...]
    summary: Summary
    dimension: int | None
    precision: str
    layers: tuple[LayerScan, ...]
    from_cache: bool


@dataclass(frozen=True)
class FilterFacts:
    """One filter over a corpus.

    Args:
        layer: 1 to 5.
        filter: From 0.
        selectivity: Standard deviations between the strongest sentences and the mean cell; 0 for a dead filter.
        mean: Of the cells' values, in [-1, 1].
        deviation: Their standard deviation.
        highest: The highest value.
        lowest: The lowest.
        saturated_share: Share of activations beyond +-0.99, 0..1.
        dead: Whether the activations hardly vary.
        saturated: Whether they are beyond +-0.99 nearly always.
    """

    layer: int
    filter: int
    selectivity: float
    mean: float
    deviation: float
    highest: float
    lowest: float
    saturated_share: float
    dead: bool
    saturated: bool


@dataclass(frozen=True)
class NGram:
    """A stretch of text a filter reacts to.

    Args:
        value: The cell's value, float32 arithmetic.
        text: The characters the cell can see; where it sees special pieces alone, those.
        pieces: The word pieces it can see, special ones included.
        sentence: The whole sentence.
        row: Its place in the scan's sentences.
        position: The cell's position in the layer.
        span: All word pieces and characters the cell can see.
        centre: Those it stands over, the middle of the span; the kernels reach from there to the rest.
        count: How many of the strongest sentences kept show the same stretch of text; this one is the strongest.
    """

    value: float
    text: str
    pieces: tuple[str, ...]
    sentence: str
    row: int
    position: int
    span: Span
    centre: Span
    count: int


@dataclass(frozen=True)
class FilterLikes:
    """The n-grams one filter reacts to most.

    Args:
        encoder: The encoder's name.
        facts: The filter over the whole corpus.
        highest: Strongest first.
        lowest: Lowest first.
        sentences: How many distinct sentences were read.
    """

    encoder: str
    facts: FilterFacts
    highest: tuple[NGram, ...]
    lowest: tuple[NGram, ...]
    sentences: int


def scan_corpus(
    registry: Registry,
    encoder: str,
    corpus: Sequence[str],
    *,
    summary: Summary | str = Summary.MEAN,
    dimension: int | None = None,
    keep: int = 100,
    precision: Precision | str = Precision.AUTO,
    store: bool = True,
    progress: Progress | None = None,
) -> CorpusScan:
    """Returns what every filter does over a corpus, from the cache where it was scanned before.

    Args:
        registry: Where the encoders are.
        encoder: Name of one with CNN pooling.
        corpus: Sentences; empty ones and repeats are passed over.
        summary: See Summary.
        dimension: The hidden dimension for Summary.DIMENSION.
        keep: Strongest sentences to keep for each filter and direction, at least 10.
        precision: Arithmetic of the scan; see Precision.
        store: Whether the cache keeps the scan.
        progress: Called with (sentences done, sentences in all); not called when read from the cache. What it raises
            stops the scan and nothing is kept.

    Raises:
        DataError: No sentence, or one that cannot be read.
        EncoderError: The encoder is unknown, damaged or has no CNN.
        SettingError: An unknown summary or dimension, or keep below 10.
    """
    kind = read_summary(summary)
    shown = dimension if kind is Summary.DIMENSION else None
    if keep < 10:
        raise SettingError(f"keep is {keep}; keep at least 10 sentences a filter.")
    sentences = _distinct(corpus)
    loaded = registry.load(encoder)
    head = cnn_layer(loaded, encoder)
    if kind is Summary.DIMENSION:
        check_choice(head, 1, dimension=-1 if shown is None else shown)
    chosen = resolve_precision(precision, loaded.device.type)
    weights = registry.info(encoder).weights_hash
    key = _key(weights, loaded.max_seq_length, sentences, kind, shown, keep, chosen)
    path = cache_folder() / "filters" / f"{key}.npz"
    layers = _read(path, head)
    if layers is not None:
        return CorpusScan(encoder, sentences, kind, shown, chosen.value, layers, True)
    scanner = FilterScanner(head, keep, kind, shown)
    done = 0

    def visit(rows: list[int], states: Tensor) -> None:
        nonlocal done
        scanner.add(rows, states)
        done += len(rows)
        if progress:
            progress(done, len(sentences))

    run_backbone(loaded, sentences, visit, precision=chosen)
    layers = scanner.result()
    # A full disk costs the next scan its short cut, never this one its result.
    if store:
        with suppress(OSError):
            _write(path, layers)
    return CorpusScan(encoder, sentences, kind, shown, chosen.value, layers, False)


def rank_filters(scan: CorpusScan, layer: int | None = None) -> tuple[FilterFacts, ...]:
    """Returns the filters of one layer, or of all, the most selective first; dead ones come last.

    Raises:
        SettingError: No such layer.
    """
    if layer is not None and not 1 <= layer <= len(scan.layers):
        raise SettingError(f"There is no layer {layer}; use 1 to {len(scan.layers)}.")
    chosen = range(1, len(scan.layers) + 1) if layer is None else [layer]
    facts = [fact for number in chosen for fact in _facts(scan.layers[number - 1], number)]
    return tuple(sorted(facts, key=lambda fact: (-fact.selectivity, fact.layer, fact.filter)))


def filter_likes(registry: Registry, scan: CorpusScan, layer: int, filter: int, show: int = 10) -> FilterLikes:
    """Returns the n-grams with the highest and the lowest values of one filter, each stretch of text once.

    Args:
        registry: Where the scan's encoder is.
        scan: What scan_corpus returned.
        layer: 1 to 5.
        filter: From 0.
        show: How many of each.

    Raises:
        EncoderError: The encoder is gone or damaged.
        SettingError: No such layer or filter.
    """
    loaded = registry.load(scan.encoder)
    check_choice(cnn_layer(loaded, scan.encoder), layer, filter)
    tally = scan.layers[layer - 1]
    sides = []
    for sign, extremes in ((1, tally.highest), (-1, tally.lowest)):
        grams = _ngrams(loaded, scan, layer, filter, extremes, show)
        sides.append(tuple(sorted(grams, key=lambda gram: gram.value, reverse=sign > 0)))
    facts = _facts(tally, layer)[filter]
    return FilterLikes(scan.encoder, facts, sides[0], sides[1], len(scan.sentences))


def _distinct(corpus: Sequence[str]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for number, text in enumerate(corpus, start=1):
        if isinstance(text, str) and not text.strip():
            continue
        found.setdefault(check_text(text, f"Sentence {number:,} of the corpus"))
    if not found:
        raise DataError("The corpus holds no sentence; give at least one.")
    return tuple(found)


def _facts(tally: LayerScan, layer: int) -> list[FilterFacts]:
    return [
        FilterFacts(
            layer=layer,
            filter=number,
            selectivity=float(selectivity),
            mean=float(tally.mean[number]),
            deviation=float(tally.deviation[number]),
            highest=float(tally.highest.values[number, 0]),
            lowest=float(tally.lowest.values[number, 0]),
            saturated_share=float(tally.saturated_share[number]),
            dead=bool(dead),
            saturated=bool(saturated),
        )
        for number, (selectivity, dead, saturated) in enumerate(
            zip(tally.selectivity(), tally.dead(), tally.saturated(), strict=True)
        )
    ]


def _ngrams(
    loaded: SentenceTransformer, scan: CorpusScan, layer: int, filter: int, extremes: Extremes, show: int
) -> list[NGram]:
    """Returns the first `show` distinct stretches of text among the strongest sentences, with float32 values."""
    head = cnn_layer(loaded, scan.encoder)
    found: dict[str, list[NGram]] = {}
    for row, position in zip(extremes.sentences[filter].tolist(), extremes.positions[filter].tolist(), strict=True):
        sentence = scan.sentences[row]
        pieces = word_pieces(loaded, sentence)
        field = receptive_field(layer, position, len(pieces.pieces), head.kernel_sizes)
        span = character_span(pieces, *field, sentence)
        shown = pieces.pieces[slice(*field)]
        middle = character_span(pieces, *centre(layer, position, len(pieces.pieces)), sentence)
        gram = NGram(0.0, span.text or " ".join(shown), shown, sentence, row, position, span, middle, 1)
        found.setdefault(gram.text.casefold(), []).append(gram)
    strongest = [replace(grams[0], count=len(grams)) for grams in list(found.values())[:show]]
    values = _exact_values(loaded, scan, layer, filter, strongest)
    return [replace(gram, value=value) for gram, value in zip(strongest, values, strict=True)]


def _exact_values(
    loaded: SentenceTransformer, scan: CorpusScan, layer: int, filter: int, grams: Sequence[NGram]
) -> list[float]:
    head, values = cnn_layer(loaded, scan.encoder), [0.0] * len(grams)

    def visit(rows: list[int], states: Tensor) -> None:
        positions = [grams[row].position for row in rows]
        found = cell_values(head, states, layer, filter, positions, scan.summary, scan.dimension)
        for row, value in zip(rows, found.tolist(), strict=True):
            values[row] = value

    run_backbone(loaded, [gram.sentence for gram in grams], visit, precision=Precision.FLOAT32)
    return values


def _key(*parts: object) -> str:
    digest = hashlib.sha256()
    for part in (_FORMAT, *parts):
        # Lengths keep two lists apart whose sentences would read the same when joined.
        for item in part if isinstance(part, tuple) else (part,):
            data = str(item).encode("utf-8")
            digest.update(f"{len(data)}:".encode() + data)
        digest.update(b";")
    return digest.hexdigest()[:32]


def _write(path: Path, layers: Sequence[LayerScan]) -> None:
    """Writes aside, then renames: a reader never meets half a file."""
    arrays: dict[str, np.ndarray] = {}
    for number, tally in enumerate(layers):
        for side in ("highest", "lowest"):
            arrays |= {f"{number}.{side}.{name}": getattr(getattr(tally, side), name) for name in _EXTREME_FIELDS}
        arrays |= {f"{number}.{name}": getattr(tally, name) for name in _ARRAY_FIELDS}
        arrays[f"{number}.cells"] = np.array(tally.cells)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".tmp", delete=False) as file:
        aside = Path(file.name)
    try:
        with aside.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
    kept = sorted(path.parent.glob("*.npz"), key=lambda scan: scan.stat().st_mtime_ns)
    for old in kept[:-_MOST_KEPT]:
        old.unlink(missing_ok=True)


def _read(path: Path, head: CNNPooling) -> tuple[LayerScan, ...] | None:
    """Returns a cached scan; None where there is none or it cannot be read, so that it is made again."""
    return read_kept(path, lambda file: tuple(_read_layer(file, number) for number in range(len(head.convolutions))))


def _read_layer(file: Mapping[str, np.ndarray], number: int) -> LayerScan:
    highest, lowest = (
        Extremes(*(file[f"{number}.{side}.{name}"] for name in _EXTREME_FIELDS)) for side in ("highest", "lowest")
    )
    arrays = {name: file[f"{number}.{name}"] for name in _ARRAY_FIELDS}
    return LayerScan(highest, lowest, **arrays, cells=int(file[f"{number}.cells"]))
