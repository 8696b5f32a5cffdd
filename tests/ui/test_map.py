"""The handlers of the tab Map without a browser: what a person gets for every choice, and who stops whose job."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from explorer.encoders.registry import Registry
from explorer.errors import SettingError
from explorer.training.export import save_encoder
from explorer.ui import map as tab
from explorer.ui import map_api, map_controls, map_desk, map_downloads, map_text
from explorer.ui.background import Stopped
from explorer.ui.map_desk import FILE, LINES, MapDesk, Wanted, settings_of
from explorer.ui.map_job import MapJob, duration, say

TEXT = "\n".join(f"the {who} {what}" for who in ("dog", "cat", "woman", "boy") for what in ("runs", "sings", "reads"))
OWN = Wanted(kind=LINES, text=TEXT, k=3)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory, tiny_encoder: Callable) -> Registry:
    root = tmp_path_factory.mktemp("encoders")
    for pooling in ("mean", "cnn"):
        save_encoder(tiny_encoder("bert", pooling), root / f"bert-{pooling}", {}, half=False)
    return Registry([root])


@pytest.fixture
def desk(registry: Registry) -> MapDesk:
    return MapDesk(registry)


def controls(wanted: Wanted) -> list[Any]:
    return list(vars(wanted).values())


def drawn(desk: MapDesk, wanted: Wanted = OWN) -> tab.Shown:
    return list(tab.draw_maps(desk, "me", *controls(wanted)))[-1]


def request(**query: str) -> Any:
    return SimpleNamespace(query_params=query, session_hash="me")


def test_drawing_ends_with_the_maps_and_their_key(desk: MapDesk) -> None:
    shown = drawn(desk)
    payload = json.loads(shown.maps)
    assert payload["key"] == shown.key and desk.has(shown.key)
    assert len(payload["sentences"]) == 12 and payload["k"] == 3
    assert "12 sentences on 2 maps" in shown.status


def test_a_mistake_is_a_sentence_and_leaves_the_maps(desk: MapDesk) -> None:
    for wanted, words in (
        (Wanted(kind=LINES), "no sentences yet"),
        (Wanted(kind=FILE), "No file is here yet"),
        (Wanted(kind=LINES, text=TEXT, seed=None), "The seed is empty"),
        (Wanted(kind=LINES, text=TEXT, k=21), "use 1 to 20"),
        (Wanted(kind=LINES, text=TEXT, min_dist=None), "min_dist is empty"),
        (Wanted(kind=LINES, text=TEXT, most=20_001), "on this page use 1 to 20,000"),
    ):
        shown = drawn(desk, wanted)
        assert words in shown.status and shown.maps == gr.skip()


def test_a_visitor_may_have_fewer_sentences_and_leaves_nothing_on_disk(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXPLORER_CACHE", str(tmp_path))
    public = MapDesk(registry, demo=True)
    assert public.caps == (500, 1_000)
    assert "use 1 to 1,000" in drawn(public, Wanted(kind=LINES, text=TEXT, most=2_000)).status
    assert "12 sentences" in drawn(public, Wanted(kind=LINES, text=TEXT, most=500)).status
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_typed_sentence_and_a_row_are_answered(desk: MapDesk) -> None:
    key = drawn(desk).key

    def answer(made: Any) -> dict[str, Any]:
        return json.loads(made.answer if hasattr(made, "answer") else made.props["answer"])

    typed = answer(tab.place_typed(desk, key, " the dog sleeps "))
    assert (typed["kind"], typed["text"], len(typed["places"])) == ("typed", "the dog sleeps", 2)
    assert answer(tab.answer_row(desk, key, 4))["row"] == 4
    for made, words in (
        (tab.place_typed(desk, key, ""), "is empty"),
        (tab.answer_row(desk, key, 99), "no sentence 99"),
        (tab.answer_row(desk, "gone", 1), "draw them once more"),
    ):
        assert answer(made)["kind"] == "refused" and words in answer(made)["text"]


def test_only_the_latest_maps_are_kept_in_memory(desk: MapDesk) -> None:
    keys = [desk.make(Wanted(kind=LINES, text=TEXT, k=k))[0] for k in range(1, 10)]
    assert not desk.has(keys[0]) and desk.has(keys[-1])
    with pytest.raises(SettingError, match="put away"):
        desk.find(keys[0])


def test_large_maps_leave_memory_sooner(desk: MapDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(map_desk, "_SENTENCES_KEPT", 30)
    keys = [desk.make(Wanted(kind=LINES, text=TEXT, k=k))[0] for k in (1, 2, 3)]
    assert [desk.has(key) for key in keys] == [False, True, True]
    monkeypatch.setattr(map_desk, "_SENTENCES_KEPT", 1)
    last = desk.make(Wanted(kind=LINES, text=TEXT, k=4))[0]
    assert [desk.has(key) for key in (*keys, last)] == [False, False, False, True]


def test_a_browser_has_one_job_that_a_new_one_replaces_and_a_person_stops(desk: MapDesk) -> None:
    begun = threading.Event()

    def work(progress: Any) -> Any:
        begun.set()
        while True:
            progress("bert-mean", 1, 2)

    with MapJob(work, ["bert-mean"]) as first, MapJob(work, ["bert-mean"]) as second, MapJob(work, []) as other:
        assert begun.wait(10)
        desk.begin("me", first)
        desk.begin("you", other)
        desk.begin("me", second)
        assert first.wait(10) and first.replaced
        desk.stop("me")
        assert second.wait(10) and not second.replaced and not other.stopped
        with pytest.raises(Stopped):
            second.result()
        desk.end("me", second)
        desk.stop("me")  # nothing is left to stop


def test_progress_is_said_in_words() -> None:
    names = ["bert-mean", "bert-cnn"]
    assert say("bert-cnn", 64, 432, names) == "Encoding with bert-cnn (2 of 2): 64 of 432 sentences"
    assert say("map of bert-mean", 10, 500, names) == "UMAP for bert-mean (1 of 2): round 10 of 500"
    assert "looking for neighbours" in say("graph of bert-mean", 0, 0, names)
    assert say("trust of bert-cnn", 0, 0, names) == "Measuring how far the map of bert-cnn (2 of 2) can be believed"
    assert "getting ready" in say("start of bert-mean", 0, 0, names)
    assert "Waiting" in say("wait of bert-mean", 0, 0, names)
    assert (duration(0.2), duration(75)) == ("1 s", "1 min 15 s")


def test_the_address_brings_back_what_it_can(desk: MapDesk) -> None:
    found = map_controls.from_page(
        desk, request(method="umap", seed="7", k="99", map_encoders="bert-cnn,gone", metric="x")
    )
    assert found == {"encoders": ["bert-cnn"], "method": "umap", "seed": 7}
    assert map_controls.from_page(desk, None) == {}
    assert len(map_controls.restore(desk, request())) == 8


def test_a_file_is_looked_at_before_it_is_drawn(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("who,said\ndog,a dog runs\ncat,a cat sits\ndog,the dog sleeps\n", encoding="utf-8")
    said, column, label = map_controls.look_at_file(str(path))
    assert "3 different sentences" in said and column.value == "said"
    assert (map_text.NO_LABEL, "") in label.choices and ("who", "who") in label.choices
    assert "No file was uploaded" in map_controls.look_at_file(None)[0]


def test_files_hold_the_maps(desk: MapDesk) -> None:
    key = drawn(desk).key
    for make, words in (
        (map_downloads.csv_file, "encoder,row,sentence,x,y"),
        (map_downloads.json_file, '"trustworthiness"'),
        (map_downloads.html_file, "new Atlas("),
    ):
        assert words in Path(make(desk, key)).read_text(encoding="utf-8")


def test_endpoints_answer_with_plain_values(desk: MapDesk) -> None:
    lines = TEXT.splitlines()
    project, agreement, neighbours = (make(desk) for make in (map_api._project, map_api._agreement, map_api._place))
    found = project(lines, k=2)
    assert [one["encoder"] for one in found] == ["bert-mean", "bert-cnn"] and len(found[0]["points"]) == 12
    told = agreement(lines, k=2, show=3)
    assert (
        set(told["pairs"][0]) >= {"overlap", "cka", "similarity_spearman", "procrustes"} and len(told["sentences"]) == 3
    )
    placed = neighbours("the dog runs", lines, ["bert-cnn"], k=2)
    assert placed[0]["neighbours"][0]["sentence"] == "the dog runs" and placed[0]["approximate"]
    json.dumps([found, told, placed], allow_nan=False)
    with pytest.raises(gr.Error, match="method"):
        project(lines, method="tsne")


def test_settings_are_checked() -> None:
    with pytest.raises(SettingError, match="n_neighbors is 1"):
        settings_of(Wanted(neighbours=1))
    with pytest.raises(SettingError, match="The seed is 1.5"):
        settings_of(Wanted(seed=1.5))  # type: ignore[arg-type]
