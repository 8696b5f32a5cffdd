"""The endpoints of the maps: whatever a caller sends for an argument, the answer says what is wrong and how to mend it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from explorer.encoders.registry import Registry
from explorer.errors import DataError, SettingError
from explorer.training.export import save_encoder
from explorer.ui import map_api
from explorer.ui.errors import UNEXPECTED
from explorer.ui.map_desk import FILE, MapDesk, Wanted, whole

LINES = ["a dog runs", "a cat runs", "the woman sings", "rain falls", "a boy reads", "the boy sings"]
NAN, INFINITY = float("nan"), float("inf")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, tiny_encoder: Callable) -> MapDesk:
    root = tmp_path_factory.mktemp("encoders")
    for pooling in ("mean", "cnn"):
        save_encoder(tiny_encoder("bert", pooling), root / f"bert-{pooling}", {}, half=False)
    return MapDesk(Registry([root]))


def refused(endpoint: Callable[..., Any], **arguments: Any) -> str:
    with pytest.raises(gr.Error) as caught:
        endpoint(**({"sentences": LINES, "k": 2} | arguments))
    assert caught.value.message != UNEXPECTED
    return caught.value.message


@pytest.mark.parametrize(
    ("argument", "value", "words"),
    [
        ("k", "abc", "The number of neighbours is 'abc'; use a whole number, without quotes."),
        ("k", "3", "The number of neighbours is '3'; use a whole number, without quotes."),
        ("k", [], "The number of neighbours is []; use a whole number."),
        ("k", NAN, "The number of neighbours is nan; use a whole number."),
        ("k", True, "The number of neighbours is True; use a whole number."),
        ("k", 99, "The number of neighbours is 99; use 1 to 20."),
        ("k", None, "The number of neighbours is empty; use a whole number."),
        ("seed", "abc", "The seed is 'abc'; use a whole number, without quotes."),
        ("seed", INFINITY, "The seed is inf; use a whole number."),
        ("seed", 10**40, f"seed is {10**40}; use a whole number from 0 to 4294967295."),
        ("n_neighbors", "abc", "n_neighbors is 'abc'; use a whole number, without quotes."),
        ("n_neighbors", {}, "n_neighbors is {}; use a whole number."),
        ("min_dist", "abc", "min_dist is 'abc'; use a number from 0 to 1."),
        ("min_dist", [], "min_dist is []; use a number from 0 to 1."),
        ("min_dist", NAN, "min_dist is nan; use a number from 0 to 1."),
        ("method", ["pca"], "There is no method ['pca']; use pca or umap."),
        ("metric", None, "There is no metric None; use cosine or euclidean."),
        (
            "encoders",
            "bert-mean",
            "encoders is 'bert-mean'; give a list of the encoders' names, such as ['bert-mean'].",
        ),
        ("encoders", {}, "encoders is {}; give a list of the encoders' names."),
        ("encoders", [{}], "encoders holds {} as number 1, which is not text; give a list of the encoders' names."),
        (
            "encoders",
            [["x"]],
            "encoders holds ['x'] as number 1, which is not text; give a list of the encoders' names.",
        ),
        ("encoders", ["x"], "There is no encoder 'x'"),
        ("sentences", 5, "sentences is 5; give a list of sentences."),
        ("sentences", "abc def", "sentences is 'abc def'; give a list of sentences, such as ['abc def']."),
        ("sentences", ["a", None], "sentences holds None as number 2, which is not text; give a list of sentences."),
        ("sentences", [], "There are no sentences yet"),
    ],
)
def test_every_argument_is_refused_in_one_sentence(desk: MapDesk, argument: str, value: Any, words: str) -> None:
    assert refused(map_api._project(desk), **{argument: value}).startswith(words)


@pytest.mark.parametrize("show", ["abc", None, 2.5, [], NAN, -1])
def test_show_is_a_whole_number_from_0(desk: MapDesk, show: Any) -> None:
    assert refused(map_api._agreement(desk), show=show).startswith("show is ")
    assert "use a whole number" in refused(map_api._agreement(desk), show=show)


def test_whole_numbers_may_be_written_as_others(desk: MapDesk) -> None:
    agreement, neighbours = map_api._agreement(desk), map_api._place(desk)
    assert len(agreement(LINES, k=2.0, show=1e9)["sentences"]) == 6
    placed = neighbours("a dog sings", LINES, k=2.0, seed=3.0)
    assert [len(one["neighbours"]) for one in placed] == [2, 2]


@pytest.mark.parametrize(
    ("sentence", "words"), [(5, "is 5, which is not text"), (None, "is missing"), (" ", "is empty")]
)
def test_the_sentence_to_place_is_checked(desk: MapDesk, sentence: Any, words: str) -> None:
    assert words in refused(map_api._place(desk), sentence=sentence)


def test_whole_takes_whole_numbers_alone() -> None:
    assert (whole(3, "k"), whole(3.0, "k"), whole(-(10**400), "k")) == (3, 3, -(10**400))
    for value in (None, "", "3", 2.5, NAN, INFINITY, [], {}, True, object()):
        with pytest.raises(SettingError, match="^k is .*; use a whole number"):
            whole(value, "k")


def test_an_upload_that_is_gone_is_to_be_uploaded_again(desk: MapDesk, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        desk.make(Wanted(kind=FILE, file=str(tmp_path / "goner.csv")))
    assert str(caught.value).startswith("goner.csv is not here any more") and "upload it again" in str(caught.value)
    assert str(tmp_path) not in str(caught.value)
