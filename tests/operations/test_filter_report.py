"""Every view by its name: plain values that json can hold, a table, and a clear sentence when something is missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import numpy as np
import pytest

from explorer.encoders.registry import Registry
from explorer.errors import SettingError
from explorer.operations.filter_report import NEEDS, FilterRequest, View, filter_report, plain
from explorer.training.export import save_encoder

EVERYTHING = {
    "sentence1": "the dog runs in the street",
    "sentence2": "a cat sleeps",
    "layer": 2,
    "filter": 3,
    "position": 0,
    "corpus": ["the dog runs", "a cat sleeps in the house", "two birds"],
}


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory, tiny_encoder: Callable) -> Registry:
    root = tmp_path_factory.mktemp("encoders")
    for name in ("bert-mean", "bert-cnn", "albert-cnn"):
        save_encoder(tiny_encoder(*name.split("-")), root / name, {}, half=False)
    return Registry([root])


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXPLORER_CACHE", str(tmp_path))


@pytest.mark.parametrize("view", list(View))
def test_every_view_is_plain_and_has_a_table(registry: Registry, view: View) -> None:
    report = filter_report(registry, FilterRequest(view, **EVERYTHING))
    json.dumps(report.results, allow_nan=False)
    assert len(report.table)
    assert len(report.results) == {View.ALIGN: 1, View.WORDS: 3, View.WEIGHTS: 3}.get(view, 2)
    assert report.table.to_csv()


@pytest.mark.parametrize("view", list(View))
def test_every_view_says_what_it_needs(registry: Registry, view: View) -> None:
    for name in NEEDS[view]:
        with pytest.raises(SettingError, match=f"The view {view} also needs: {name}"):
            filter_report(registry, FilterRequest(view, **{**EVERYTHING, name: None}))


def test_chosen_encoders_are_kept_and_named_in_the_notes(registry: Registry) -> None:
    report = filter_report(registry, FilterRequest("words", **EVERYTHING, encoders=["albert-cnn", "bert-mean"]))
    assert [result["encoder"] for result in report.results] == ["albert-cnn", "bert-mean"]
    assert all(note.startswith(("albert-cnn: ", "bert-mean: ")) for note in report.notes)
    assert "parts" not in report.results[0]["parts1"]
    assert sum(report.results[0]["parts1"]["weights"]) == pytest.approx(1)


def test_progress_of_a_corpus_reaches_the_caller(registry: Registry) -> None:
    seen: list[tuple[int, int]] = []
    filter_report(registry, FilterRequest("rank", **EVERYTHING), lambda done, total: seen.append((done, total)))
    assert (3, 3) in seen


def test_unknown_views_and_wrong_numbers_of_encoders_are_refused(registry: Registry) -> None:
    with pytest.raises(SettingError, match="Unknown view 'heat'; use layers, fields"):
        filter_report(registry, FilterRequest("heat", **EVERYTHING))
    with pytest.raises(SettingError, match="Two encoders are aligned at a time; 1 were chosen: bert-cnn"):
        filter_report(registry, FilterRequest("align", **EVERYTHING, encoders=["bert-cnn"]))


def test_plain_by_hand() -> None:
    class Kind(StrEnum):
        ONE = "one"

    @dataclass(frozen=True)
    class Fact:
        kind: Kind
        values: object
        big: object = field(default=None, metadata={"plain": False})

    fact = Fact(Kind.ONE, (np.array([[1.0, float("nan")]]), np.int64(3), {"a": float("inf")}, True, None), object())
    assert plain(fact) == {"kind": "one", "values": [[[1.0, None]], 3, {"a": None}, True, None]}
