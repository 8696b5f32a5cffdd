"""Every view of the filters by its name, as plain values and as a table: for the command line and the API endpoints."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd

from explorer.analysis.filters import Summary
from explorer.encoders.encode import Precision, Progress
from explorer.encoders.registry import Registry
from explorer.errors import SettingError
from explorer.operations import filter_tables as tables
from explorer.operations import filters
from explorer.operations.filter_corpus import CorpusScan, filter_likes, rank_filters, scan_corpus


class View(StrEnum):
    """What may be asked of the filters."""

    LAYERS = "layers"
    FIELDS = "fields"
    FILTER = "filter"
    CELL = "cell"
    RANK = "rank"
    LIKES = "likes"
    ABLATE = "ablate"
    WORDS = "words"
    WEIGHTS = "weights"
    ALIGN = "align"


# What each view needs; the command line and the messages read it.
NEEDS: dict[View, tuple[str, ...]] = {
    View.LAYERS: ("sentence1",),
    View.FIELDS: ("sentence1",),
    View.FILTER: ("sentence1", "layer", "filter"),
    View.CELL: ("sentence1", "layer", "filter", "position"),
    View.RANK: ("corpus",),
    View.LIKES: ("corpus", "layer", "filter"),
    View.ABLATE: ("sentence1", "sentence2", "layer"),
    View.WORDS: ("sentence1", "sentence2"),
    View.WEIGHTS: ("sentence1",),
    View.ALIGN: ("sentence1",),
}


@dataclass(frozen=True)
class FilterRequest:
    """One question about the filters; what a view does not need may be None.

    Args:
        view: See View.
        sentence1: The sentence, or the first of a pair.
        sentence2: The second of a pair.
        encoders: Names; None for every encoder that has what the view needs.
        layer: 1 to 5.
        filter: From 0.
        position: From 0.
        dimension: Hidden dimension: of the cell (0 if None), or of the summary "dimension".
        summary: See Summary.
        corpus: Sentences.
        show: N-grams to show on either side.
        precision: Arithmetic of a corpus scan.
    """

    view: View | str
    sentence1: str | None = None
    sentence2: str | None = None
    encoders: Sequence[str] | None = None
    layer: int | None = None
    filter: int | None = None
    position: int | None = None
    dimension: int | None = None
    summary: Summary | str = Summary.MEAN
    corpus: Sequence[str] | None = None
    show: int = 10
    precision: Precision | str = Precision.AUTO


@dataclass(frozen=True, eq=False)
class FilterReport:
    """The answer to a FilterRequest.

    Args:
        results: One plain value an encoder (one in all for ALIGN), ready for json.
        table: The same facts as a table.
        notes: Sentences a person must read beside the table.
    """

    results: list[Any]
    table: pd.DataFrame
    notes: tuple[str, ...]


def filter_report(registry: Registry, request: FilterRequest, progress: Progress | None = None) -> FilterReport:
    """Returns the answer to one question.

    Args:
        registry: Where the encoders are.
        request: The question.
        progress: Called with (sentences done, sentences in all) while a corpus is scanned.

    Raises:
        SettingError: An unknown view, something the view needs is missing, or a choice outside its range.
        DataError: A sentence or the corpus is empty or cannot be read.
        EncoderError: An encoder is unknown, damaged or has no CNN.
    """
    try:
        view = View(request.view)
    except ValueError as error:
        raise SettingError(f"Unknown view {str(request.view)[:40]!r}; use {', '.join(View)}.") from error
    missing = [name for name in NEEDS[view] if getattr(request, name) is None]
    if missing:
        raise SettingError(f"The view {view} also needs: {', '.join(missing)}.")
    if view is View.ALIGN:
        return _align(registry, request)
    names = _names(registry, view, request.encoders)
    answers = [_ANSWERS[view](registry, name, request, progress) for name in names]
    notes = tuple(dict.fromkeys(note for answer, _ in answers for note in _notes(answer, len(names) > 1)))
    table = pd.concat([table for _, table in answers], ignore_index=True)
    return FilterReport([plain(answer) for answer, _ in answers], table, notes)


def plain(value: Any) -> Any:
    """Returns dataclasses, arrays and tables as dicts, lists, numbers, strings and None, ready for json.

    NaN and infinities become None, since json has no word for them. A field with metadata plain=False is left out.
    """
    if is_dataclass(value) and not isinstance(value, type):
        shown = [field.name for field in fields(value) if field.metadata.get("plain", True)]
        return {name: plain(getattr(value, name)) for name in shown}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, StrEnum) else value


def _names(registry: Registry, view: View, encoders: Sequence[str] | None) -> list[str]:
    if view in (View.WORDS, View.WEIGHTS):
        return [info.name for info in registry.choose(encoders)]
    if encoders is not None:
        return [info.name for info in registry.choose(encoders)]
    names = filters.cnn_encoders(registry)
    if not names:
        raise SettingError("No encoder here has a CNN, so there are no filters to look at.")
    return names


def _notes(answer: Any, name_it: bool) -> list[str]:
    notes = getattr(answer, "notes", ())
    return [f"{answer.encoder}: {note}" for note in notes] if name_it else list(notes)


def _align(registry: Registry, request: FilterRequest) -> FilterReport:
    names = list(request.encoders) if request.encoders is not None else _one_of_each_family(registry)
    if len(names) != 2:
        raise SettingError(
            f"Two encoders are aligned at a time; {len(names)} were chosen: {', '.join(names) or 'none'}."
        )
    view = filters.align_sentence(registry, request.sentence1, *names)
    return FilterReport([plain(view)], tables.tokenizations_table(view), (view.result.summary,))


def _one_of_each_family(registry: Registry) -> list[str]:
    first: dict[str, str] = {}
    for info in registry.choose():
        first.setdefault(info.family, info.name)
    return list(first.values())[:2]


def _scan(registry: Registry, name: str, request: FilterRequest, progress: Progress | None) -> CorpusScan:
    return scan_corpus(
        registry,
        name,
        request.corpus or (),
        summary=request.summary,
        dimension=request.dimension,
        precision=request.precision,
        progress=progress,
    )


_Answer = tuple[Any, pd.DataFrame]


def _layers(registry: Registry, name: str, r: FilterRequest, progress: Progress | None) -> _Answer:
    view = filters.look_at_layers(registry, name, r.sentence1, r.summary, r.dimension)
    return view, tables.layers_table(view)


def _fields(registry: Registry, name: str, r: FilterRequest, progress: Progress | None) -> _Answer:
    view = filters.look_at_layers(registry, name, r.sentence1)
    return view, tables.fields_table(view)


def _filter(registry: Registry, name: str, r: FilterRequest, progress: Progress | None) -> _Answer:
    assert r.layer is not None and r.filter is not None
    view = filters.look_at_filter(registry, name, r.sentence1, r.layer, r.filter, r.summary, r.dimension)
    return view, tables.filter_table(view)


def _cell(registry: Registry, name: str, r: FilterRequest, progress: Progress | None) -> _Answer:
    assert r.layer is not None and r.filter is not None and r.position is not None
    view = filters.look_at_cell(registry, name, r.sentence1, r.layer, r.filter, r.position, r.dimension or 0)
    table = tables.cell_table(view)
    table.insert(0, "encoder", name)
    return view, table


def _rank(registry: Registry, name: str, r: FilterRequest, progress: Progress | None) -> _Answer:
    facts = rank_filters(_scan(registry, name, r, progress), r.layer)
    table = tables.ranking_table(facts)
    table.insert(0, "encoder", name)
    return {"encoder": name, "filters": list(facts)}, table


def _likes(registry: Registry, name: str, r: FilterRequest, progress: Progress | None) -> _Answer:
    assert r.layer is not None and r.filter is not None
    likes = filter_likes(registry, _scan(registry, name, r, progress), r.layer, r.filter, r.show)
    table = tables.likes_table(likes)
    table.insert(0, "encoder", name)
    return likes, table


def _ablate(registry: Registry, name: str, r: FilterRequest, progress: Progress | None) -> _Answer:
    assert r.layer is not None
    view = filters.ablate_pair(registry, name, r.sentence1, r.sentence2, r.layer)
    return view, tables.ablation_table(view)


def _words(registry: Registry, name: str, r: FilterRequest, progress: Progress | None) -> _Answer:
    view = filters.explain_pair(registry, name, r.sentence1, r.sentence2)
    return view, tables.words_table(view)


def _weights(registry: Registry, name: str, r: FilterRequest, progress: Progress | None) -> _Answer:
    view = filters.weigh_words(registry, name, r.sentence1)
    return view, tables.weights_table([view])


_ANSWERS: dict[View, Callable[[Registry, str, FilterRequest, Progress | None], _Answer]] = {
    View.LAYERS: _layers,
    View.FIELDS: _fields,
    View.FILTER: _filter,
    View.CELL: _cell,
    View.RANK: _rank,
    View.LIKES: _likes,
    View.ABLATE: _ablate,
    View.WORDS: _words,
    View.WEIGHTS: _weights,
}
