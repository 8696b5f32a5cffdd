"""The handlers of the tab Train as functions, on runs made by hand; no process is started."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pandas as pd
import pytest

from explorer.encoders.registry import Registry
from explorer.jobs import events
from explorer.operations.training_request import count_rows
from explorer.paths import ASSETS
from explorer.training.export import save_encoder
from explorer.training.presets import preset
from explorer.ui import train_acts, train_api, train_bridge, train_compare, train_form, train_start
from explorer.ui.page import Page
from explorer.ui.train_live import Bench, Watch
from tests.ui.train_helpers import QuietJobs, add_steps, finished, living, write_run

SKIP = gr.skip()


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory, tiny_encoder: Callable) -> Path:
    folder = tmp_path_factory.mktemp("train") / "checkpoints"
    save_encoder(tiny_encoder("bert", "mean"), folder / "bert-mean", {})
    return folder


@pytest.fixture(scope="module")
def blocks() -> gr.Blocks:
    return gr.Blocks()


@pytest.fixture
def bench(tmp_path: Path, checkpoints: Path, blocks: gr.Blocks) -> Bench:
    page = Page(blocks, SimpleNamespace(), Registry([checkpoints, tmp_path / "runs"]))
    return Bench(page, Watch(QuietJobs(tmp_path / "runs")))


def runs(bench: Bench) -> Path:
    return bench.watch.jobs.runs_folder


def values(**changed: Any) -> list[Any]:
    filled = {**train_form._DEFAULTS, "pooling": "mean", "objective": "sts", "source": "sample", "seeds": 1}
    filled |= {"backbone": "bert-mean", **changed}
    return [filled.get(name) for name in train_form.FIELDS]


def seen(live: Any) -> dict[str, str]:
    """What a page that was sent these parts has."""
    stamps = [html.split('data-stamp="')[1].split('"')[0] for html in (live.history, live.job, live.papers)]
    plot = json.loads(live.plot.plot)["layout"]["meta"]["stamp"]
    return {"history": stamps[0], "view": stamps[1], "papers": stamps[2], "plot": plot, "job": "", "viewer": "a"}


def test_a_look_sends_everything_once_and_then_only_what_changed(bench: Bench) -> None:
    folder = write_run(runs(bench), "mine", steps=3)
    with living(folder):
        first = train_acts.look(bench, {"job": ""})
        assert "Step 3 of 100, about 1 min 30 s left." in first.job
        assert "&lt;b&gt;first&lt;/b&gt;" in first.papers
        assert all(part == SKIP for part in train_acts.look(bench, seen(first)))
        add_steps(folder, 4, 4)
        bench.watch.forget()
        second = train_acts.look(bench, seen(first))
    assert "Step 4 of 100" in second.job
    assert json.loads(second.plot.plot)["data"][0]["x"] == [1, 2, 3, 4]
    assert second.papers == SKIP


def test_everyone_who_looks_is_sent_the_same_figure(bench: Bench) -> None:
    write_run(runs(bench), "mine", steps=3)
    one, two = (train_acts.look(bench, {"job": "mine", "viewer": viewer}) for viewer in "ab")
    assert one.plot is two.plot


def test_the_more_look_the_less_often_each_does(bench: Bench) -> None:
    assert bench.watch.every("a") == bench.watch.every("a") == 2_500
    assert [bench.watch.every(str(number)) for number in range(20)][-1] > 6_000


def test_without_runs_the_page_says_what_to_do(bench: Bench) -> None:
    seen = train_acts.look(bench, {"job": ""})
    assert "There is no run yet" in seen.history
    assert "Choose a run" not in seen.job


def test_while_a_backbone_is_downloaded_the_run_says_how_far_it_is(bench: Bench) -> None:
    folder = write_run(runs(bench), "mine")
    events.append(folder, "fetching", megabytes=12.5, of=90.0)
    with living(folder):
        assert "12.5 of 90.0 MB" in train_acts.look(bench, {"job": "mine"}).job
        events.append(folder, "fetching", megabytes=90.0, of=90.0)
        bench.watch.forget()
        assert "loads the backbone" in train_acts.look(bench, {"job": "mine"}).job


def test_a_damaged_run_is_shown_as_one_and_spares_the_others(bench: Bench) -> None:
    finished(runs(bench), "good", 0.7)
    for name, config in (("deep", "[" * 5_000), ("odd", '{"seed": "x", "epochs": [], "objective": 3}')):
        folder = write_run(runs(bench), name, end=("finished", {"scores": [1]}))
        (folder / "config.json").write_text(config)
        (folder / "events.jsonl").open("a").write('{"time": 1e18, "kind": ' + "[" * 5_000 + "\n")
        bench.watch.forget()
        shown = train_acts.look(bench, {"job": name})
        assert f'data-job="{name}"' in shown.job
        assert "good" in shown.history
    assert "Its config.json cannot be read." in train_acts.look(bench, {"job": "deep"}).job


def test_a_list_that_cannot_be_had_is_a_sentence(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(bench.watch.jobs), "list", lambda self: 1 / 0)
    assert "not foreseen" in train_acts.look(bench, {"job": ""}).history


def test_the_first_in_the_queue_is_shown_unless_another_is_asked_for(bench: Bench) -> None:
    finished(runs(bench), "old", 0.7)
    first, second = (write_run(runs(bench), name) for name in ("first", "second"))
    with living(first), living(second):
        assert bench.watch.choose(None) == "first"
        assert bench.watch.choose("old") == "old"
        assert bench.watch.choose("gone") == "first"


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (("failed", {"reason": "The disk is full."}), "The disk is full. It can go on"),
        (("failed", {"reason": "It is lost. Try a lower learning rate."}), "rate. Resumed, it would most likely come"),
        (("stopped", {"step": 2}), "It can go on from its last checkpoint."),
        (("stopped", {"step": 0}), "It was stopped before its first checkpoint; resumed, it begins anew."),
        (None, "Its worker process is gone"),
    ],
)
def test_every_end_is_told_in_words_and_can_be_resumed(bench: Bench, end: Any, words: str) -> None:
    write_run(runs(bench), "mine", steps=0 if "before" in words else 3, end=end)
    view = train_acts.look(bench, {"job": "mine"}).job
    assert words in view
    assert 'data-train="resume"' in view
    assert 'data-train="stop"' not in view


def test_classroom_starts_the_sample_under_the_next_free_name(bench: Bench) -> None:
    said, tabs, *live = train_start.classroom(bench)
    assert "classroom-1 is started" in said
    assert tabs.selected == "runs"
    assert "classroom-1" in live[0]
    assert "classroom-2 is started" in train_start.classroom(bench)[0]
    config = bench.watch.jobs.get("classroom-2").config
    made = preset("classroom")
    assert made is not None
    assert {name: config[name] for name in made.settings} == made.settings
    assert config["backbone"].endswith("bert-mean")


def test_several_seeds_are_several_runs(bench: Bench) -> None:
    own, *_ = begun(bench, values(name="trial", seeds=3))
    assert "wrong" not in own
    assert [job.id for job in bench.watch.list()] == ["trial-seed-44", "trial-seed-43", "trial-seed-42"]


def begun(bench: Bench, given: list[Any]) -> tuple[Any, ...]:
    """What the page shows once the form's Start has done its work."""
    return list(train_start.start(bench, *given))[-1]


def uploaded(folder: Path, text: str, name: str = "mine.csv") -> dict[str, str]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return {"source": "upload", "train": str(path)}


GRADED, LABELLED = "sentence1,sentence2,score\n", "sentence1,sentence2,label\n"


@pytest.mark.parametrize(
    ("objective", "text", "words"),
    [
        ("sts", "a,b,c\n1,2,3\n", "no column"),
        ("sts", GRADED + "A cat.,A dog.,2\nA cat.,A bird.,7\n", "mine.csv, row 2: score 7"),
        (
            "sts",
            GRADED + "A cat.,A dog.,2\nA cat.,A bird.,<b>x</b>\n",
            "row 2: score &#x27;&lt;b&gt;x&lt;/b&gt;&#x27; is",
        ),
        ("sts", GRADED + "A cat.,A dog.,=1+1\n", "row 1: score"),
        ("sts", GRADED + "A cat.,A dog.,3\n", "Every score is 3"),
        ("sts", GRADED, "no rows"),
        ("sts", GRADED + "A cat.,,3\n", "row 1: sentence2 is empty"),
        ("nli", LABELLED + "A cat.,A dog.,neutral\nA cat.,A pet.,entailmnt\n", "row 2"),
        ("nli", LABELLED + "A cat.,A pet.,entailmnt\n", "entailment"),
        ("triplet", "anchor,positive\nA cat.,A pet.\n", "column"),
    ],
)
def test_a_bad_upload_gets_one_clear_sentence_and_starts_nothing(
    bench: Bench, tmp_path: Path, objective: str, text: str, words: str
) -> None:
    said, *_ = begun(bench, values(objective=objective, **uploaded(tmp_path, text)))
    assert "wrong" in said
    assert words in said
    assert "<b>x" not in said
    assert bench.watch.list() == []


def test_a_million_rows_are_refused_at_once(bench: Bench, tmp_path: Path) -> None:
    files = uploaded(tmp_path, GRADED + "A cat.,A dog.,2\n" * 1_000_000)
    said, *_ = begun(bench, values(**files))
    assert "mine.csv has 1,000,000 rows; the page takes up to 200,000." in said
    assert bench.watch.list() == []


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_count_rows_is_right_for_every_kind(tmp_path: Path, suffix: str) -> None:
    frame, path = pd.DataFrame({"sentence1": ["a", "b"], "score": [1, 2]}), tmp_path / f"table{suffix}"
    if suffix == ".csv":
        frame.to_csv(path, index=False)
    elif suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_parquet(path)
    assert count_rows(path) == 2
    if suffix == ".parquet":
        path.write_bytes(b"no table")
        assert count_rows(path) == 0


def test_an_upload_is_kept_beside_the_runs_and_goes_with_the_last_of_them(bench: Bench, tmp_path: Path) -> None:
    rows = "".join(f"The <i>{n}</i> cats sleep.,=SUM({n}) dogs run.,{n % 6}\n" for n in range(40))
    files = uploaded(tmp_path, GRADED + rows)
    own, *_ = begun(bench, values(name="mine", **files))
    assert "wrong" not in own
    kept = Path(bench.watch.jobs.get("mine").config["train"])
    assert kept.parent.parent == runs(bench) / ".tables"
    assert kept.read_text() == Path(files["train"]).read_text()
    train_acts.act(bench, {"what": "delete", "job": "mine", "text": ""})
    assert not kept.exists()
    assert bench.watch.list() == []


def test_dev_rows_of_an_upload_are_its_dev_and_other_scores_than_the_samples_need_them(
    bench: Bench, tmp_path: Path
) -> None:
    rows = [f"Cat {n} sleeps.,Dog {n} runs.,{n % 5 / 4}" for n in range(40)]
    without = uploaded(tmp_path, GRADED + "\n".join(rows) + "\n", "without.csv")
    said, *_ = begun(bench, values(score_scale=1, **without))
    assert "graded 0 to 5, not 0 to 1: upload graded pairs as dev" in said
    table = [f"{row},{'dev' if n % 4 == 0 else 'train'}" for n, row in enumerate(rows)]
    files = uploaded(tmp_path, "sentence1,sentence2,score,split\n" + "\n".join(table) + "\n")
    said, *_ = begun(bench, values(score_scale=1, name="mine", **files))
    assert "wrong" not in said
    config = bench.watch.jobs.get("mine").config
    assert config["dev"] == config["train"]
    assert Path(config["dev"]).parent.parent == runs(bench) / ".tables"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"source": "upload"}, "No file is uploaded"),
        ({"source": "data"}, "--data FOLDER"),
        ({"source": "hub"}, "--hub"),
        ({"source": "same"}, "no run whose tables"),
        ({"backbone": train_form.OTHER, "other": "/no/such/folder"}, "no folder"),
        ({"backbone": train_form.OTHER, "other": "someone/model"}, "--hub"),
        ({"backbone": train_form.OTHER, "other": ""}, "No backbone"),
        ({"name": "../up"}, "cannot name a run"),
        ({"batch_size": 0}, "batch_size"),
        ({"warmup_ratio": 3}, "warmup_ratio"),
        ({"batch_size": 2.5}, "batch_size"),
        ({"objective": "magic"}, "objective"),
        ({"seeds": 9}, "1 to 5"),
    ],
)
def test_what_does_not_fit_is_said_and_starts_nothing(bench: Bench, changes: dict[str, Any], words: str) -> None:
    said, *_ = begun(bench, values(**changes))
    assert "wrong" in said
    assert words in said
    assert bench.watch.list() == []


def test_run_again_puts_the_settings_and_the_same_tables_into_the_form(
    bench: Bench, checkpoints: Path, tmp_path: Path
) -> None:
    test = tmp_path / "test.tsv"
    test.write_text("sentence1\tsentence2\tscore\n" + "".join(f"Owl {n}.\tElk {n}.\t{n}\n" for n in range(5)))
    tables = {"train": str(ASSETS / "sample_pairs.tsv"), "dev": str(ASSETS / "sample_pairs.tsv")}
    backbone = str(checkpoints / "bert-mean")
    write_run(
        runs(bench),
        "mine",
        config={**tables, "backbone": backbone, "test": str(test), "seed": 7},
        end=("failed", {"reason": "x"}),
    )
    _, tabs, _, *fields = train_acts.clone(bench, {"job": "mine"})
    filled = dict(zip(train_form.FIELDS, fields, strict=True))
    assert tabs.selected == "own"
    assert (filled["backbone"], filled["pooling"], filled["seed"]) == ("bert-mean", "cnn", 7)
    again = values(**{**filled, "source": filled["source"].value, "train": None, "nli": None, "dev": None})
    begun(bench, again)
    config = next(job.config for job in bench.watch.list() if job.id != "mine")
    assert {name: config[name] for name in tables} == tables
    assert config["test"] == str(test)
    assert config["seed"] == 7


def test_a_preset_fills_the_form_and_says_what_stands_in_for_its_backbone(bench: Bench) -> None:
    words, *fields = train_start.take_preset(bench, "stsb-bert-siamese-cnn")
    filled = dict(zip(train_form.FIELDS, fields, strict=True))
    assert (filled["backbone"], filled["pooling"], filled["epochs"]) == ("bert-mean", "cnn", 4.0)
    assert "BERT-base, which is not here" in words
    assert "240 graded pairs of the shipped sample take its place" in words
    assert len(train_form.preset_choices()) == 32


def test_an_endpoint_starts_no_preset_on_other_data_or_backbone_unless_they_are_named(bench: Bench) -> None:
    def start(backbone: str | None, source: str | None) -> list[str]:
        return train_api.start_for_api(bench, "stsb-bert-siamese-mean", backbone, None, None, source, None, None, 1)

    with pytest.raises(gr.Error, match="BERT-base, which is not here.*STSb is not here"):
        start(None, None)
    with pytest.raises(gr.Error, match="^.STSb is not here.*Name backbone and source"):
        start("bert-mean", None)
    assert bench.watch.list() == []
    assert len(start("bert-mean", "sample")) == 1


def test_rename_and_export_take_the_encoder_along(bench: Bench, tiny_encoder: Callable) -> None:
    finished(runs(bench), "mine", 0.7, lambda folder: save_encoder(tiny_encoder("bert", "cnn"), folder, {}))
    said, *live = train_acts.act(bench, {"what": "rename", "job": "mine", "text": "better"})
    assert "mine is called better now" in said
    assert 'data-job="better"' in live[1]
    assert bench.page.registry.info("better").pooling == "cnn"
    _, path = train_acts.export(bench, {"job": "better"})
    names = zipfile.ZipFile(path).namelist()
    assert "better/modules.json" in names
    assert not [name for name in names if "/." in name]


@pytest.mark.parametrize(
    ("what", "words"),
    [("stop", "ended already"), ("resume", "finished"), ("rename", "cannot name a run"), ("burn", "nothing that can")],
)
def test_what_cannot_be_done_is_said(bench: Bench, what: str, words: str) -> None:
    finished(runs(bench), "mine", 0.7)
    said, *live = train_acts.act(bench, {"what": what, "job": "mine", "text": "Not A Name"})
    assert "wrong" in said
    assert words in said
    again, *_ = train_acts.act(bench, {"what": what, "job": "mine", "text": "Not A Name"})
    assert again != said  # it is by a changed status that the script switches the button on again


def test_comparison_draws_every_run_and_says_what_differs(bench: Bench) -> None:
    finished(runs(bench), "one", 0.7, learning_rate=1e-5)
    finished(runs(bench), "two", 0.72, learning_rate=3e-5)
    chosen, _ = train_compare.choices(bench, None)
    assert chosen.value == ["two", "one"]
    _, plot, table = train_compare.compare(bench, ["one", "two"])
    assert {trace["name"] for trace in json.loads(plot.plot)["data"]} == {"one", "two"}
    assert "learning rate 3e-05" in table
    assert "There is no job" in train_compare.compare(bench, ["none"])[0]


def test_seeds_are_joined_with_mean_and_spread(bench: Bench) -> None:
    for seed, score in ((1, 0.70), (2, 0.72), (3, 0.74)):
        finished(runs(bench), f"mine-{seed}", score, seed=seed)
    finished(runs(bench), "other", 0.9, pooling="mean")
    _, table = train_compare.choices(bench, None)
    assert "74.00, 72.00, 70.00" in table or "70.00, 72.00, 74.00" in table  # as saved, not the best while they trained
    assert "72.00" in table
    assert "2.00" in table
    assert "other" not in table


def test_what_a_caller_sends_is_cut_and_named() -> None:
    told = train_bridge.told(gr.EventData(None, {"job": "x" * 999, "evil": 1, "text": None}))
    assert len(told["job"]) == 200
    assert told["text"] == ""
    assert "evil" not in told
