"""What the tab Train and its endpoints are asked for and cannot do is refused in a sentence; a name taken meanwhile is not."""

# ruff: noqa: F811
from __future__ import annotations

import html
import json
from typing import Any

import gradio as gr
import pytest

from explorer.errors import TrainingError
from explorer.paths import downloads_folder
from explorer.ui import train_acts, train_api, train_start
from explorer.ui.train_live import Bench
from tests.ui.test_train import SKIP, bench, blocks, checkpoints, runs, values  # noqa: F401 (fixtures)
from tests.ui.train_helpers import write_run


def test_two_who_start_the_classroom_at_once_each_get_a_run(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, taken = train_start.begin, []

    def begin(bench: Bench, request: Any, progress: Any = None) -> list[str]:
        if not taken:  # another takes the name between the look and the start
            taken.extend(begun(bench, request))
        bench.watch.jobs.check_free(request.name)
        return begun(bench, request, progress)

    monkeypatch.setattr(train_start, "begin", begin)
    assert "classroom-2 is started" in train_start.classroom(bench)[0]
    assert taken == ["classroom-1"]
    taken.clear()
    assert train_api.start_for_api(bench, "classroom", "bert-mean", None, None, "sample", None, None, 1) == [
        "classroom-4"
    ]


def test_the_name_of_an_encoder_is_taken_too(bench: Bench) -> None:
    (downloads_folder() / "classroom-1").mkdir(parents=True)
    try:
        assert "classroom-2 is started" in train_start.classroom(bench)[0]
    finally:
        (downloads_folder() / "classroom-1").rmdir()


def test_a_run_deleted_while_it_is_looked_at_spares_the_list(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(runs(bench), "gone", steps=3)

    def curves(id: str) -> Any:
        raise TrainingError(f"There is no job {id!r}.")

    monkeypatch.setattr(type(bench.watch), "curves", lambda self, id: curves(id))
    assert "gone" in train_acts.look(bench, {"job": "gone"}).history


def test_what_else_fails_is_not_tried_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def begin(*_: Any) -> list[str]:
        raise TrainingError("There is no room.")

    monkeypatch.setattr(train_start, "begin", begin)
    assert "There is no room." in train_start.classroom(bench)[0]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"seeds": "x"}, "seeds is"),
        ({"seeds": None}, "seeds is"),
        ({"settings": ["epochs"]}, "settings is"),
        ({"backbone": 7}, "backbone is '7'"),
        ({"named": 5}, "preset is '5'"),
    ],
)
def test_an_endpoint_refuses_other_kinds_of_values_in_a_sentence(
    bench: Bench, given: dict[str, Any], words: str
) -> None:
    asked: dict[str, Any] = dict.fromkeys(("backbone", "pooling", "objective", "source", "settings", "name"))
    with pytest.raises(gr.Error, match=words):
        train_api.start_for_api(bench, **{"named": "classroom", "seeds": 1, **asked, **given})


def test_a_device_that_is_not_here_starts_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    *_, last = train_start.start(bench, *values(device="cuda:7"))
    assert "device is 'cuda:7', but torch finds no CUDA GPU here" in html.unescape(last[0])
    assert not bench.watch.list()


@pytest.mark.parametrize("odd", [{"objective": "sst"}, {"pooling": "max"}, {"epochs": []}, {"device": "tpu"}])
def test_a_run_that_the_form_cannot_hold_is_not_put_into_it(bench: Bench, odd: dict[str, Any]) -> None:
    folder = write_run(runs(bench), "other", end=("finished", {}))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **odd}))
    said, *rest = train_acts.clone(bench, {"job": "other"})
    assert f"The run cannot be repeated as it was: {next(iter(odd))} is" in said
    assert all(part == SKIP for part in rest)
