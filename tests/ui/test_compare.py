"""The handlers of the Compare tab as functions, on tiny encoders."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from explorer.data.examples import Example
from explorer.encoders.registry import Registry
from explorer.operations.score import score_pair
from explorer.training.export import save_encoder
from explorer.ui import compare, words
from explorer.ui.app import build_app

EXAMPLES = [Example("Negation", "the dog runs", "the dog not runs", "One word.")]
HOSTILE = '<img src=x onerror="alert(1)">'


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory, tiny_encoder: Callable) -> Registry:
    root = tmp_path_factory.mktemp("encoders")
    for family, pooling in (("bert", "mean"), ("albert", "cnn")):
        save_encoder(tiny_encoder(family, pooling), root / f"{family}-{pooling}", {})
    return Registry([root])


def last(registry: Registry, first: Any, second: Any, names: Any = None) -> tuple[str, str, str]:
    return list(compare.score_for_page(registry, EXAMPLES, first, second, names))[-1]


def test_score_for_page_shows_every_encoder_with_three_decimals(registry: Registry) -> None:
    _, cards, aligned = last(registry, "a dog runs", "a cat sleeps")
    for score in score_pair(registry, "a dog runs", "a cat sleeps"):
        assert f'data-encoder="{score.encoder}"' in cards
        assert f">{words.cosine(score.cosine)}</output>" in cards
    assert "Sentence 1: 3 word pieces" in cards
    assert "all 2 encoders (3)" in aligned


def test_score_for_page_says_it_works_before_it_has_worked(registry: Registry) -> None:
    status, cards, _ = next(compare.score_for_page(registry, EXAMPLES, "a dog", "a cat", None))
    assert "Working" in status
    assert "__type__" in cards  # gradio's word for: leave it as it is


def test_score_for_page_brings_the_note_of_a_sample_pair(registry: Registry) -> None:
    assert "One word." in last(registry, "the dog runs", "the dog not runs")[0]
    assert "This pair is scored below" in last(registry, "the dog runs", "the cat runs")[0]


def test_score_for_page_takes_the_chosen_encoders(registry: Registry) -> None:
    _, cards, _ = last(registry, "a dog", "a cat", ["albert-cnn"])
    assert "albert-cnn" in cards
    assert "bert-mean" not in cards
    assert "choose at least one" in last(registry, "a dog", "a cat", [])[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Sentence 2 is empty"),
        ("  \n\t ", "Sentence 2 is empty"),
        (None, "Sentence 2 is missing"),
        ("a\0b", "NUL character at position 2"),
        ("x" * 1_000_001, "at most 1,000,000"),
    ],
)
def test_bad_input_is_one_sentence_on_the_page_and_in_the_api(registry: Registry, text: Any, message: str) -> None:
    status, cards, aligned = last(registry, "a dog", text)
    assert message in status
    assert 'role="alert"' in status
    assert cards.count("empty") == 2
    assert "piece" not in aligned
    with pytest.raises(gr.Error, match=message):
        compare.score_for_api(registry, "a dog", text, None)


@pytest.mark.parametrize("text", [HOSTILE, "dog \N{DOG FACE}", "שלום עולם", "{{1+1}} ${2+2}", "word " * 20_000])
def test_odd_input_is_scored_and_shown_as_text(registry: Registry, text: str) -> None:
    _, cards, aligned = last(registry, text, "a dog")
    assert cards.count("</output>") == 2
    assert "<img" not in cards + aligned
    assert ("are left out" in cards) == (len(text) > 1000)


def test_score_for_api_gives_plain_numbers(registry: Registry) -> None:
    first, second = compare.score_for_api(registry, "a dog", "a cat", None)
    assert set(first) == {"encoder", "cosine", "percentile_stsb", "percentile_random"}
    assert first["percentile_stsb"] is None
    assert second["encoder"] == "albert-cnn"
    with pytest.raises(gr.Error, match="no encoder 'other'"):
        compare.score_for_api(registry, "a", "b", ["other"])


def test_of_many_runs_the_newest_two_are_ticked(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXPLORER_RUNS", str(tmp_path / "runs"))
    shipped = registry.encoders()
    for number, name in enumerate(("b", "a", "c")):
        shutil.copytree(shipped[0].folder, tmp_path / "runs" / name)
        os.utime(tmp_path / "runs" / name, (number, number))
    infos = Registry([shipped[0].folder.parent, tmp_path / "runs"]).encoders()
    assert sorted(compare.names_first(infos)) == sorted([*(info.name for info in shipped), "a", "c"])


def test_restore_page_reads_the_address(registry: Registry) -> None:
    request = SimpleNamespace(query_params={"s1": "one", "encoders": "albert-cnn,unknown"})
    first, second, boxes = compare.restore_page(registry, EXAMPLES, request)
    assert (first, second) == ("one", "")
    assert boxes.value == ["albert-cnn"]
    first, second, boxes = compare.restore_page(registry, EXAMPLES, SimpleNamespace(query_params={}))
    assert (first, second) == ("the dog runs", "the dog not runs")
    assert boxes.value == ["bert-mean", "albert-cnn"]


def test_table_now_lists_encoders_the_paper_and_damaged_folders(registry: Registry, tmp_path: Path) -> None:
    for folder in registry.roots[0].iterdir():
        shutil.copytree(folder, tmp_path / folder.name)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "modules.json").write_text("{", encoding="utf-8")
    table = compare.table_now(Registry([tmp_path]))
    assert table.index("bert-mean") < table.index("albert-cnn")
    assert "84.66" in table
    assert "82.30" in table
    assert "1 folder beside these cannot be used" in table
    assert "broken/modules.json cannot be read as json" in table


def test_a_page_without_encoders_says_what_to_do(tmp_path: Path) -> None:
    registry = Registry([tmp_path])
    build_app(registry)
    assert "No encoder is here" in compare.table_now(registry)
    assert "No encoder is chosen or found" in last(registry, "a", "b")[0]


def test_an_encoder_whose_weights_do_not_load_keeps_the_others(registry: Registry, tmp_path: Path) -> None:
    for folder in registry.roots[0].iterdir():
        shutil.copytree(folder, tmp_path / folder.name)
    weights = tmp_path / "bert-mean" / "model.safetensors"
    weights.write_bytes(_with_other_names(weights.read_bytes()))
    damaged, both = Registry([tmp_path]), ["bert-mean", "albert-cnn"]
    _, cards, _ = last(damaged, "a dog", "a cat", both)
    assert 'class="reading failed"' in cards
    assert cards.count(">Sentence 1: 2 word pieces<") == 1
    status, cards, _ = last(damaged, "a dog", "a cat", both)
    assert "bert-mean" in status
    assert 'role="alert"' in status
    assert cards.count(">Sentence 1: 2 word pieces<") == 1


def _with_other_names(content: bytes) -> bytes:
    """The same file with the attention's tensors renamed, so that its header is sound and its weights do not fit."""
    return content.replace(b"attention", b"attentiom")


def test_comparing_is_a_public_endpoint(registry: Registry) -> None:
    app = build_app(registry)
    public = [fn.api_name for fn in app.fns.values() if fn.api_visibility == "public"]
    assert "compare" in public
