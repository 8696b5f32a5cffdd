"""The handlers of the tab Map without a browser: what a person gets for every choice, and who stops whose job."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace
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
from explorer.ui.map_job import MapJob, Waiting, say

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


def answer(made: gr.HTML) -> dict[str, Any]:
    return json.loads(made.props["answer"])


def request(**query: str) -> Any:
    return SimpleNamespace(query_params=query, session_hash="me")


def test_drawing_ends_with_the_maps_and_their_key(desk: MapDesk) -> None:
    shown = drawn(desk)
    payload = json.loads(shown.maps)
    assert payload["key"] == shown.key and desk.kind(shown.key)
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
    keys = [desk.make(Wanted(kind=LINES, text=TEXT, seed=seed))[0] for seed in range(9)]
    assert not desk.kind(keys[0]) and desk.kind(keys[-1])
    with pytest.raises(SettingError, match="put away"):
        desk.find(keys[0])


def test_large_maps_leave_memory_sooner(desk: MapDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(map_desk, "_SENTENCES_KEPT", 30)
    keys = [desk.make(Wanted(kind=LINES, text=TEXT, k=k))[0] for k in (1, 2, 3)]
    assert [desk.kind(key) is not None for key in keys] == [False, True, True]
    monkeypatch.setattr(map_desk, "_SENTENCES_KEPT", 1)
    last = desk.make(Wanted(kind=LINES, text=TEXT, k=4))[0]
    assert [desk.kind(key) is not None for key in (*keys, last)] == [False, False, False, True]


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


def test_the_address_keeps_only_what_is_shown(desk: MapDesk) -> None:
    shown = list(tab.draw_maps(desk, "me", *controls(OWN)))
    assert [one.settled for one in shown[:-1]] == [gr.skip()] * (len(shown) - 1)
    assert json.loads(shown[-1].settled)[:3] == [shown[-1].key, ["bert-mean", "bert-cnn"], "pca"]
    assert drawn(desk, Wanted(kind=LINES)).settled == gr.skip()
    begun = tab.draw_maps(desk, "me", *controls(Wanted(kind=LINES, text=TEXT, method="umap", k=3)))
    next(begun)
    desk.stop("me")
    (last,) = list(begun)[-1:]
    assert "Stopped" in last.status and last.settled == gr.skip()


def test_a_job_can_be_stopped_as_soon_as_it_has_said_a_word(desk: MapDesk) -> None:
    first = tab.draw_maps(desk, "me", *controls(OWN))
    assert "Getting ready" in next(first).status
    second = tab.draw_maps(desk, "me", *controls(OWN))
    next(second)
    assert list(first) == []  # replaced: the second one does the talking
    desk.stop("me")
    assert "Stopped" in list(second)[-1].status


def test_maps_of_the_address_say_whose_sentences_they_are(desk: MapDesk, tmp_path: Path) -> None:
    key = drawn(desk).key
    (shown,) = tab.open_maps(desk, "me", key, Wanted())
    assert "the maps drawn before, of own sentences" in shown.status and shown.settled == gr.skip()
    kind, row, lines, *_ = map_controls.restore(desk, request(maps=key))
    assert (kind, row.visible, lines.visible, lines.value) == (LINES, False, True, TEXT)
    path = tmp_path / "mine.txt"
    path.write_text(TEXT, encoding="utf-8")
    key = drawn(desk, Wanted(kind=FILE, file=str(path), k=3)).key
    kind, row, lines, *_ = map_controls.restore(desk, request(maps=key))
    assert (kind, row.visible, lines.visible) == (FILE, True, False)
    assert "of mine.txt" in list(tab.open_maps(desk, "me", key, Wanted()))[-1].status


def test_maps_of_the_address_that_are_gone_are_said_to_be(desk: MapDesk) -> None:
    named = list(tab.open_maps(desk, "me", "gone", Wanted(most=500)))[-1]
    assert "put away meanwhile" in named.status and "432 sentences" in named.status
    desk._maps.clear(), desk._kinds.clear()
    assert "put away" not in list(tab.open_maps(desk, "me", named.key, Wanted(most=500)))[-1].status
    assert "put away" not in list(tab.open_maps(desk, "me", None, Wanted(most=500)))[-1].status


def test_without_an_encoder_one_is_asked_for(desk: MapDesk) -> None:
    shown = drawn(desk, Wanted(kind=LINES, text=TEXT, encoders=[]))
    assert "tick at least one" in shown.status and shown.maps == gr.skip()


def test_the_same_question_twice_gets_two_answers(desk: MapDesk) -> None:
    key = drawn(desk).key
    for ask, what in ((tab.place_typed, "the dog sleeps"), (tab.place_typed, ""), (tab.answer_row, 4)):
        first, second = ask(desk, key, what), ask(desk, key, what)
        assert answer(first) != answer(second)
    assert answer(tab.answer_row(desk, "gone", 4))["about"] == "row"
    assert answer(tab.place_typed(desk, key, ""))["about"] == "text"


def test_time_that_is_told_contains_no_waiting(desk: MapDesk) -> None:
    ticks = iter((0.0, 4.0, 9.0, 10.0, 13.0))
    told = []
    waiting = Waiting(lambda *at: told.append(at), lambda: next(ticks))
    for stage in ("wait of a", "start of a", "map of a", "wait of b", "map of b"):
        waiting(stage, 1, 2)
    assert waiting.seconds == {"a": 9.0, "b": 3.0} and told[0] == ("wait of a", 1, 2)


def test_waiting_is_taken_off_the_seconds_of_a_map(desk: MapDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    from explorer.analysis.projection import project

    def slow(vectors: Any, settings: Any, report: Any) -> Any:
        report("wait", 0, 0)
        time.sleep(0.6)
        report("map", 1, 1)
        return project(vectors, replace(settings, method="pca"))

    monkeypatch.setattr(desk.worker, "fit", slow)
    _, maps = desk.make(replace(OWN, method="umap", seed=77))
    assert max(found.seconds for found in maps.encoders) < 0.5


def test_one_is_not_many(desk: MapDesk) -> None:
    shown = drawn(desk, Wanted(kind=LINES, text="A dog runs.", encoders=["bert-cnn"]))
    assert "1 sentence on 1 map," in shown.status
    assert (map_text.count(2_000, "row"), say("bert-cnn", 0, 1, [])) == ("2,000 rows", "Getting ready")
    assert say("bert-cnn", 0, 1, ["bert-cnn"]) == "Encoding with bert-cnn: 0 of 1 sentence"


def test_progress_is_said_in_words() -> None:
    names = ["bert-mean", "bert-cnn"]
    assert say("bert-cnn", 64, 432, names) == "Encoding with bert-cnn (2 of 2): 64 of 432 sentences"
    assert say("map of bert-mean", 10, 500, names) == "UMAP for bert-mean (1 of 2): round 10 of 500"
    assert "looking for neighbours" in say("graph of bert-mean", 0, 0, names)
    assert say("trust of bert-cnn", 0, 0, names) == "Measuring how far the map of bert-cnn (2 of 2) can be believed"
    assert "getting ready" in say("start of bert-mean", 0, 0, names)
    assert "Waiting" in say("wait of bert-mean", 0, 0, names)


def test_the_address_brings_back_what_it_can(desk: MapDesk) -> None:
    found = map_controls.from_page(
        desk, request(method="umap", seed="7", k="99", map_encoders="bert-cnn,gone", metric="x")
    )
    assert found == {"encoders": ["bert-cnn"], "method": "umap", "seed": 7}
    assert map_controls.from_page(desk, None) == {}
    assert len(map_controls.restore(desk, request())) == 11


@pytest.mark.parametrize("name", ["n_neighbors", "min_dist", "seed", "k", "most"])
@pytest.mark.parametrize("value", ["-1", "nan", "inf", "-3", "5000000000", "99999999999999999999999", "1e3", "", "x"])
def test_a_number_of_the_address_that_no_control_takes_stays_unset(desk: MapDesk, name: str, value: str) -> None:
    assert map_controls.from_page(desk, request(**{name: value})) == {}


def test_numbers_of_the_address_count_to_the_ends_of_their_ranges(desk: MapDesk) -> None:
    for name, field, values in (
        ("seed", "seed", (0, 2**32 - 1)),
        ("min_dist", "min_dist", (0.0, 1.0)),
        ("n_neighbors", "neighbours", (2, 200)),
    ):
        for value in values:
            assert map_controls.from_page(desk, request(**{name: str(value)})) == {field: value}


def test_a_number_out_of_its_range_is_refused_with_its_name(desk: MapDesk) -> None:
    blocks = gr.Blocks()
    with blocks:
        placed = map_controls.place(desk)
    fields = {component.label: component for component in placed.inputs}
    for label, value in (("Seed", -1), ("min_dist", -3), ("n_neighbors", 1)):
        assert fields[label].preprocess(value) == value
    assert "seed is -1; use" in drawn(desk, Wanted(kind=LINES, text=TEXT, seed=-1)).status


def test_a_file_is_looked_at_before_it_is_drawn(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("who,said\ndog,a dog runs\ncat,a cat sits\ndog,the dog sleeps\n", encoding="utf-8")
    said, column, label = map_controls.look_at_file(str(path))
    assert "3 different sentences" in said and column.value == "said"
    assert (map_text.NO_LABEL, "") in label.choices and ("who", "who") in label.choices
    assert "No file was uploaded" in map_controls.look_at_file(None)[0]
    said, column, label = map_controls.no_file()
    assert (said, column.choices, column.value, label.choices) == ("", [], None, [])


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
