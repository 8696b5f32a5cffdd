"""The handlers of the tab Filters and of the Compare tab's words section as functions, on tiny encoders."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from explorer.encoders.registry import Registry
from explorer.errors import DataError
from explorer.operations.filters import look_at_cell
from explorer.training.export import save_encoder
from explorer.ui import filters, filters_api, filters_corpus, filters_pair, pair_words
from explorer.ui.app import build_app
from explorer.ui.background import Background
from explorer.ui.data_table import decimals, significant
from explorer.ui.downloads import write_csv

SENTENCE = "a dog runs in the red rain"
HOSTILE = '<img src=x onerror="alert(1)">'
ODD = ["a", "dog", "the cat sleeps " * 100, "\N{DOG FACE} \N{SNOWMAN}", "שלום עולם", "\u1200\u1201", HOSTILE]


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory, tiny_encoder: Callable) -> Registry:
    root = tmp_path_factory.mktemp("encoders")
    for family, pooling in (("bert", "mean"), ("bert", "cnn"), ("albert", "cnn")):
        save_encoder(tiny_encoder(family, pooling), root / f"{family}-{pooling}", {})
    return Registry([root])


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EXPLORER_CACHE", str(tmp_path))


def show(registry: Registry, depth: str = filters.LAYERS, **changes: Any) -> filters.Shown:
    start = filters.Choice(SENTENCE, "albert-cnn", 2, 3, 1, 5, "mean")
    return filters.show(registry, depth, *vars(filters.replace(start, **changes)).values())


def steps(cell: str) -> dict[str, float]:
    found = re.findall(r'data-step="(\w+)".*?<td class="number">([^<]*)</td>', cell)
    return {name: float(value.replace("\N{MINUS SIGN}", "-")) for name, value in found}


def test_all_layers_of_both_encoders_are_drawn_on_one_scale_a_layer(registry: Registry) -> None:
    shown = show(registry)
    assert len(shown.layers_plot.data) == 10
    axes = [trace.coloraxis for trace in shown.layers_plot.data]
    assert axes[0::2] == axes[1::2]
    assert "the signed mean over the hidden dimensions" in shown.layers_text
    assert (shown.at_layers.visible, shown.at_filter.visible) == (True, False)


@pytest.mark.parametrize(
    ("summary", "words"), [("maximum", "largest magnitude"), ("dimension", "idden dimension 5 alone")]
)
def test_the_summary_is_written_under_the_picture(registry: Registry, summary: str, words: str) -> None:
    assert words in show(registry, summary=summary).layers_text


@pytest.mark.parametrize("encoder", ["bert-cnn", "albert-cnn"])
@pytest.mark.parametrize("layer", [1, 2, 3, 4, 5])
def test_the_shown_sum_equals_the_activation(registry: Registry, encoder: str, layer: int) -> None:
    shown = show(registry, filters.CELL, encoder=encoder, layer=layer, filter=0, position=0)
    values = steps(shown.cell_text)
    assert values["total"] + values["bias"] == pytest.approx(values["convolved"], abs=2e-6)
    assert math.tanh(values["convolved"]) == pytest.approx(values["activation"], abs=2e-6)
    assert values["activation"] == values["forward"]
    cell = look_at_cell(registry, encoder, SENTENCE, layer, 0, 0, 5)
    assert decimals(cell.arithmetic.activation) in shown.cell_text


def test_a_click_goes_down_a_depth(registry: Registry) -> None:
    controls = (SENTENCE, "bert-cnn", 1, 0, 0, 0, "mean")
    shown = filters.open_filter(registry, ["albert-cnn", 3, 7, 1], *controls)
    assert shown.depth == filters.FILTER
    assert [shown.encoder.value, shown.layer.value, shown.filter.value] == ["albert-cnn", 3, 7]
    assert shown.to_filter.value == "Filter 7 of layer 3"
    assert "albert-cnn" in shown.filter_text
    shown = filters.open_cell(registry, [1], *controls)
    assert (shown.depth, shown.position.value) == (filters.CELL, 1)


def test_a_filter_out_of_range_is_brought_back_and_said(registry: Registry) -> None:
    shown = show(registry, filters.FILTER, layer=1, filter=99, position=50)
    assert "Layer 1 has filters 0 to 31; filter 31 is shown." in shown.status
    assert shown.filter.value == 31


@pytest.mark.parametrize("text", ODD)
@pytest.mark.parametrize("depth", [filters.LAYERS, filters.FILTER, filters.CELL])
def test_odd_sentences_are_shown_as_text(registry: Registry, text: str, depth: str) -> None:
    shown = show(registry, depth, sentence=text)
    assert "alert" not in shown.status
    assert "<img" not in f"{shown.filter_text}{shown.cell_text}"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sentence": " "}, "The sentence is empty; type at least one word."),
        ({"sentence": None}, "The sentence is missing; type a sentence."),
        ({"summary": "dimension", "dimension": 999}, "There is no hidden dimension 999"),
    ],
)
def test_bad_input_is_one_sentence_and_changes_nothing_else(registry: Registry, changes: dict, message: str) -> None:
    shown = show(registry, **changes)
    assert message in shown.status
    assert 'role="alert"' in shown.status
    assert all(value == gr.skip() for value in shown[1:])


def test_a_corpus_is_read_with_progress_and_again_from_the_cache(registry: Registry) -> None:
    arguments = (filters_corpus.OWN, "a dog runs\n\na cat sleeps\nthe train\n", "bert-cnn", 2, 1, 0, "mean")
    first = list(filters_corpus.read_corpus(filters_corpus.Scans(registry), *arguments))
    assert "Getting ready" in first[0][0]
    status, _, figure, ranking, likes = first[-1]
    assert "Read: 3 sentences." in status
    assert len(figure.data[0].x) == 40
    assert "Dead filters" in ranking
    assert "<mark>" in likes
    assert "Read from the cache" in list(filters_corpus.read_corpus(filters_corpus.Scans(registry), *arguments))[-1][0]
    assert (
        "The text is empty"
        in list(filters_corpus.read_corpus(filters_corpus.Scans(registry), filters_corpus.OWN, " ", *arguments[2:]))[
            -1
        ][0]
    )


def test_background_work_reports_stops_and_hands_on_errors() -> None:
    def fail(progress: Callable[[int, int], None]) -> None:
        progress(1, 2)
        raise DataError("No.")

    with Background(fail, "sentences") as job:
        assert job.wait(10)
        assert "Read 1 of 2 sentences" in job.status()
        with pytest.raises(DataError):
            job.result()


def test_what_filters_matter_stands_in_a_figure_and_a_table(registry: Registry) -> None:
    status, _, figure, table = filters_pair.leave_out(registry, "a dog runs", "a cat sleeps", 1)
    assert "32 filters of layer 1" in status
    assert len(figure.data) == 2
    assert table.count("<tr>") == 2 * 33
    assert "Sentence 2 is empty" in filters_pair.leave_out(registry, "a dog", "", 1)[0]


@pytest.mark.parametrize("encoder", ["bert-mean", "albert-cnn"])
def test_the_cosine_is_taken_apart_by_words(registry: Registry, encoder: str) -> None:
    status, _, matrix, text, first, second, weights = pair_words.take_apart(registry, "a dog runs", "a cat", encoder)
    assert encoder in status
    assert matrix.data[0].z.shape == ((5, 4) if encoder == "bert-mean" else (6, 5))
    assert "the cosine is" in text
    assert [len(first.data), len(second.data)] == [3, 3]
    assert "the same word pieces" in weights
    assert "Sentence 1 is empty" in pair_words.take_apart(registry, "", "a cat", encoder)[0]


def test_endpoints_give_plain_values_and_the_same_sentences(registry: Registry) -> None:
    app = build_app(registry)
    public = {fn.api_name: fn.fn for fn in app.fns.values() if fn.api_visibility == "public"}
    assert {"filters_activations", "filters_cell", "filters_ablation"} <= set(public)
    first, second = public["filters_activations"](SENTENCE)
    assert (first["encoder"], second["encoder"]) == ("bert-cnn", "albert-cnn")
    (cell,) = public["filters_cell"](SENTENCE, 2, 3, 1, 5, ["albert-cnn"])
    assert cell["arithmetic"]["activation"] == pytest.approx(
        steps(show(registry, filters.CELL).cell_text)["activation"], abs=1e-6
    )
    assert len(public["filters_ablation"]("a dog", "a cat", 2)[0]["result"]["changes"]) == 64
    with pytest.raises(gr.Error, match="The sentence is empty"):
        filters_api.report(registry, "layers", sentence1="")


def test_tables_download_as_csv(registry: Registry) -> None:
    table = filters._cell_table(registry, SENTENCE, "bert-cnn", 2, 3, 1, 5, "mean")
    path = write_csv(table, "cell")
    assert path.name == "cell.csv"
    assert path.read_text(encoding="utf-8").startswith("encoder,term,tap,")
    assert write_csv(table, "cell") == path


def test_in_public_mode_a_visitors_sentences_are_not_kept(registry: Registry, tmp_path: Path) -> None:
    scans = filters_corpus.Scans(registry, public=True)
    arguments = (filters_corpus.OWN, "a bird sings\na horse walks", "bert-cnn", 2, 1, 0, "mean")
    assert "Read: 2 sentences." in list(filters_corpus.read_corpus(scans, *arguments))[-1][0]
    assert "Read from the cache" in list(filters_corpus.read_corpus(scans, *arguments))[-1][0]
    assert not list(tmp_path.rglob("*.npz"))
    long = (filters_corpus.OWN, "\n".join(["a dog"] * 501), *arguments[2:])
    assert "at most 500 are read in public mode" in list(filters_corpus.read_corpus(scans, *long))[-1][0]


def test_a_value_has_no_more_figures_than_its_precision_allows() -> None:
    assert [significant(value) for value in (0.12345, -0.0012345, 0.99996, 12.345, 1234.5, 0.0)] == [
        "0.123",
        "\N{MINUS SIGN}0.00123",
        "1.000",
        "12.3",
        "1234",
        "0.00",
    ]
