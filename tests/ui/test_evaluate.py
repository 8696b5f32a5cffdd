"""The handlers of the tab Evaluate as functions, on tiny encoders and a small folder of data."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr
import pandas as pd
import pytest

from explorer.analysis.accuracy import Accuracy, accuracy
from explorer.data.paper import read_table
from explorer.encoders.cache import EmbeddingCache
from explorer.encoders.folder import FACTS_FILE
from explorer.encoders.registry import Registry
from explorer.errors import SettingError
from explorer.figures.theme import identities
from explorer.operations.contamination import Contamination
from explorer.operations.evaluation_run import EvaluationRun, Phase, RunState
from explorer.operations.padding import PaddingChecks
from explorer.operations.task_score import LabelScore, Subset
from explorer.training.export import save_encoder
from explorer.ui import (
    evaluate,
    evaluate_anatomy,
    evaluate_cost,
    evaluate_own,
    evaluate_report,
    evaluate_sources,
    evaluate_tables,
    evaluate_views,
)
from explorer.ui.app import build_app
from explorer.ui.page import Page

CONTROLS = ("all", "all pairs", "spearman", "stsb", "stsb", "table1", "stsb")
ANIMALS, VERBS = ("dog", "cat", "bird", "horse", "child", "man", "boy"), ("runs", "eats", "sleeps", "sings", "walks")
# Every number stands for another sentence.
SENTENCES = [f"the {a} {v} {b} a {c}" for b in ("and", "with") for a in ANIMALS for v in VERBS for c in ("car", "soup")]
SPLITS = {"test": range(0, 40), "train": range(30, 70)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, tiny_encoder: Callable) -> Path:
    root = tmp_path_factory.mktemp("evaluate")
    (root / "data" / "stsb").mkdir(parents=True)
    for split, numbers in SPLITS.items():
        rows = [f"main-news\t{n % 6}\t{SENTENCES[n]}\t{SENTENCES[n * 7 % 11]} <b>" for n in numbers]
        text = "\n".join(["genre\tscore\tsentence1\tsentence2", *rows]) + "\n"
        (root / "data" / "stsb" / f"{split}.tsv").write_text(text)
    digest = hashlib.sha256((root / "data" / "stsb" / "train.tsv").read_bytes()).hexdigest()
    record = {"training_data": [{"table": "stsb/train.tsv", "sha256": digest, "use": "train"}]}
    for pooling in ("mean", "cnn"):
        files = {FACTS_FILE: json.dumps(record)}
        save_encoder(tiny_encoder("bert", pooling), root / "encoders" / f"bert-{pooling}", files, half=False)
    return root


@pytest.fixture(scope="module")
def run(folder: Path) -> EvaluationRun:
    made = EvaluationRun(Registry([folder / "encoders"]), folder / "data", EmbeddingCache(folder / "cache"))
    evaluate.begin(made, ["bert-mean", "bert-cnn"], ["stsb"], "test")
    assert made.wait(60).phase is Phase.DONE
    return made


@pytest.fixture(scope="module")
def page(folder: Path) -> Page:
    with gr.Blocks() as blocks, gr.Tab("x") as tab:
        return Page(blocks, tab, Registry([folder / "encoders"]), data=folder / "data")


def test_look_shows_every_part(run: EvaluationRun) -> None:
    shown = evaluate.look(run, -2, *CONTROLS)
    assert "done in" in shown.status
    assert shown.timer.active is False
    assert "bert-mean" in shown.scores
    assert ">40<" in shown.scores
    assert "at n = 40." in shown.words
    assert "84.66" in shown.paper
    assert "news" in shown.slices
    assert len(shown.gains.data) == 4


def test_look_leaves_the_tables_alone_when_nothing_is_new(run: EvaluationRun) -> None:
    seen = evaluate.look(run, -2, *CONTROLS).seen
    assert evaluate.look(run, seen, *CONTROLS).scores == gr.skip()


def test_overlap_has_counts_scores_and_pairs_as_text(run: EvaluationRun) -> None:
    shown = evaluate.look(run, -2, *CONTROLS)
    assert "stsb/train.tsv" in shown.overlap
    assert "n = 30" in shown.overlap
    assert "n = 10" in shown.overlap
    assert SENTENCES[35] in shown.pairs
    assert SENTENCES[29] not in shown.pairs
    assert "&lt;b&gt;" in shown.pairs
    assert len(evaluate_views.pairs_frame(run, "stsb")) == 10


def test_clean_pairs_can_be_chosen(run: EvaluationRun) -> None:
    shown = evaluate.look(run, -2, "clean", *CONTROLS[1:])
    assert ">30<" in shown.scores
    assert "at n = 30." in shown.words


def test_frames_for_download_hold_the_figures(run: EvaluationRun) -> None:
    scores = evaluate_views.scores_frame(run)
    assert len(scores) == 6
    assert scores["spearman"].notna().all()
    assert len(evaluate_views.paper_frame(run, "table3")) == 28
    assert evaluate_views.place("stsb/dev") == ("stsb", "dev")
    assert evaluate_views.place("sts12") == ("sts12", "test")


@pytest.mark.parametrize("table", ["table1", "table2", "table3"])
def test_every_published_figure_is_on_the_page(run: EvaluationRun, table: Any) -> None:
    infos = run.registry.scan()[0]
    html = evaluate_views.paper(infos, run.state(), table, identities(infos))
    for row in read_table(table).itertuples():
        assert f"{row.spearman:.2f}" in html
        assert f"{row.pearson:.2f}" in html


def test_begin_says_what_is_wrong(run: EvaluationRun) -> None:
    assert "Choose at least one encoder" in evaluate.begin(run, [], ["stsb"], "test").status
    assert "--data FOLDER" in evaluate.begin(EvaluationRun(run.registry, None), ["bert-mean"], ["stsb"], "test").status


def test_a_page_without_data_says_so_and_shows_the_paper(run: EvaluationRun) -> None:
    shown = evaluate.look(EvaluationRun(run.registry, None), -2, *CONTROLS)
    assert "No folder of evaluation data" in shown.status
    assert "No scores yet" in shown.scores
    assert "84.66" in shown.paper


def test_say_tells_every_phase() -> None:
    running = RunState(Phase.RUNNING, label="bert-cnn on 7 tasks", done=1200, total=4000, seconds_left=75)
    assert "bert-cnn on 7 tasks: 1,200 of 4,000 sentences, about 1 min 15 s left." in evaluate.say(running)
    assert "<progress" in evaluate.say(running)
    assert "Left out: sts12." in evaluate.say(replace(running, left_out="Left out: sts12."))
    done = RunState(Phase.DONE, tasks=("stsb",), encoders=("bert-cnn",), left_out="Left out: sts12.")
    assert "STSb on 1 encoder, done in 1 s. Left out: sts12." in evaluate.say(done)
    assert 'role="alert"' not in evaluate.say(done)
    assert "Stopping after this batch" in evaluate.say(RunState(Phase.STOPPING, done=1, total=4))
    assert 'role="alert"' in evaluate.say(RunState(Phase.FAILED, message="No file"))
    assert "goes on from there" in evaluate.say(RunState(Phase.STOPPED))


def test_the_api_gives_the_state_and_plain_scores(run: EvaluationRun) -> None:
    answer = evaluate.evaluate_for_api(run, None, None, "test")
    assert answer["phase"] == "done"
    assert {row["subset"] for row in answer["scores"]} == {"all", "clean", "overlap"}
    json.dumps(answer, allow_nan=False)
    for encoders, tasks, message in (
        (["gpt"], None, "no encoder 'gpt'"),
        (None, ["sts99"], "Unknown task 'sts99'"),
    ):
        with pytest.raises(gr.Error, match=message):
            evaluate.evaluate_for_api(run, encoders, tasks, "test")


def own(page: Page, tmp_path: Path, scores: list[object]) -> tuple[Any, Any, Any]:
    path = tmp_path / "own.csv"
    rows = [f"{SENTENCES[i]},a cat sleeps,{score}" for i, score in enumerate(scores)]
    path.write_text("\n".join(["sentence1,sentence2,score", *rows]) + "\n")
    return list(evaluate_own.score(page, str(path)))[-1]


@pytest.mark.parametrize(
    ("scores", "where", "text"),
    [
        ([1, 2, "x", 4], 0, "row 3: score &#x27;x&#x27; is not a number"),
        ([3] * 10, 1, "undefined: all gold scores are equal"),
        ([3], 1, "undefined: 1 pair, at least 2 are needed"),
        (list(range(10)), 1, "at n = 10."),
    ],
)
def test_own_tables_get_clear_words_and_no_nan(page: Page, tmp_path: Path, scores: list, where: int, text: str) -> None:
    shown = own(page, tmp_path, scores)
    assert text in shown[where]
    assert "nan" not in str(shown[1]).lower()


def test_what_a_visitor_uploads_is_not_kept(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EmbeddingCache, "put", lambda *_: pytest.fail("kept"))
    assert "10 pairs scored" in own(page, tmp_path, list(range(10)))[0]


def test_the_example_is_scored(page: Page) -> None:
    *_, (status, result, pairs) = evaluate_own.score(page, evaluate_own.example_file())
    assert "10 pairs scored" in status
    assert "The kettle is boiling." in result
    assert list(pairs.columns[-2:]) == ["bert-mean", "bert-cnn"]
    assert "Choose a file" in next(evaluate_own.score(page, None))[0]


def test_padding_and_cost_list_every_encoder(page: Page, run: EvaluationRun, monkeypatch: pytest.MonkeyPatch) -> None:
    checks = PaddingChecks(page.registry)
    first, *_, last = evaluate_cost.check_all(checks)
    assert "Checking every encoder." in first
    assert "ignores padding" not in first
    assert last.count("ignores padding") == 2
    monkeypatch.setattr(page.registry, "load", lambda name: pytest.fail("checked again"))
    assert list(evaluate_cost.check_all(checks)) == [last]
    figure = evaluate_cost.draw(page, run)
    assert [trace.name for trace in figure.data[:2]] == ["bert-mean", "bert-cnn"]
    published = {name: count for name, count, _ in evaluate_cost.published_points()}
    assert published["CNN-SBERT"] - published["SBERT"] == 84_481
    assert published["SBERT"] == 109_482_240 - 768 * 769


def test_measure_all_goes_on_after_a_failure(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    from explorer.errors import EncoderError
    from explorer.operations import cost

    def result(self: cost.Measurement) -> cost.Cost:
        if self.name == "bert-mean":
            raise EncoderError("bert-mean could not be measured: busy")
        return cost.Cost(self.name, 1, 1, 0.5, 12.34, 321.0, 2**20 * 700, 180, "a machine")

    monkeypatch.setattr(cost.Measurement, "wait", lambda self, seconds: True)
    monkeypatch.setattr(cost.Measurement, "result", result)
    *_, (status, _, table) = evaluate_cost.measure_all(page, {})
    assert "bert-mean could not be measured: busy" in status
    assert "12.3" in table
    assert "Measured on: a machine." in table


def test_measuring_that_is_stopped_ends_its_process(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    children: list[subprocess.Popen] = []
    start = subprocess.Popen

    def watched(*args: Any, **options: Any) -> subprocess.Popen:
        children.append(start([sys.executable, "-c", "import time; time.sleep(60)"], **options))
        return children[-1]

    monkeypatch.setattr(subprocess, "Popen", watched)
    measuring = evaluate_cost.measure_all(page, {})
    next(measuring)
    next(measuring)
    assert children[0].poll() is None
    measuring.close()
    assert children[0].poll() is not None


def test_in_public_mode_visitors_neither_measure_nor_stop(folder: Path, page: Page) -> None:
    public = replace(page, demo=True)
    assert "In public mode nothing is measured" in list(evaluate_cost.measure_all(public, {}))[-1][0]
    run = EvaluationRun(page.registry, folder / "data", public=True)
    assert "runs to its end" in evaluate.halt(run).status


def test_labels_and_cross_encoders_are_told_apart(run: EvaluationRun) -> None:
    infos = run.registry.scan()[0]
    where = {"split": "test", "precision": "float32", "subset": Subset.ALL}
    where |= {
        "contamination": Contamination("unknown", "nothing is recorded", 40),
        "weights_hash": infos[0].weights_hash,
    }
    labelled = LabelScore("bert-mean", "snli", **where, accuracy=accuracy([True, False] * 20), remark="an older head")
    headless = replace(labelled, accuracy=Accuracy(40, why="no NLI head"), encoder="bert-cnn", remark="")
    cross = replace(next(s for s in run.state().scores if s.subset == "all"), encoder="cross", kind="cross-encoder")
    shown = evaluate_views.Controls(*CONTROLS)
    html = evaluate_views.scores(RunState(scores=(cross, labelled, headless)), shown, identities(infos))
    assert "<small>cross-encoder</small>" in html
    assert "softmax head" in html
    for text in ("SNLI test", "50.00", "no NLI head", "bert-mean: an older head."):
        assert text in html
    overlap = evaluate_views.overlap(RunState(scores=(cross, labelled)), identities(infos))
    assert "SNLI test, accuracy" in overlap
    assert "cross (cross-encoder)" in overlap
    assert evaluate_tables.plate("bert-mean (cross-encoder)", identities(infos)).count("swatch") == 1


def test_anatomy_follows_the_controls(page: Page) -> None:
    sizes = evaluate_anatomy.fill(page, "ALBERT-base")
    said, figure, table = evaluate_anatomy.draw(page, "millions", "ALBERT-base", *sizes)
    assert "11.68 million parameters (11,683,584)" in said
    assert "11,683,584" in table
    said, figure, _ = evaluate_anatomy.draw(page, "per cent", "ALBERT-base", *sizes[:5], "none")
    assert "these sizes" in figure.data[0].y[0]
    assert "these sizes" in said
    said, *_ = evaluate_anatomy.draw(page, "millions", "BERT-base", *evaluate_anatomy.fill(page, "BERT-base"))
    assert "109.48 million" in said
    assert "layers is 0" in evaluate_anatomy.draw(page, "millions", "BERT-base", 1, 1, 1, None, 1, "none")[0]


def test_ablations_show_every_published_row() -> None:
    html = evaluate_anatomy.ablations()
    for row in read_table("albert_ablations").itertuples():
        assert row.change in html
        assert f"{row.after:.1f}" in html
    assert "nan" not in html.lower()


def test_pair_list_says_when_it_is_cut() -> None:
    many = pd.DataFrame({"sentence1": ["a"] * 201, "sentence2": ["b"] * 201, "score": [1.0] * 201, "x": [0.5] * 201})
    assert "The first 200 of 201 pairs" in evaluate_tables.pair_list(many, "pairs")
    assert "There are no pairs." in evaluate_tables.pair_list(many[:0], "pairs")


def test_gold_scores_line_up() -> None:
    pairs = pd.DataFrame({"sentence1": ["a", "b"], "sentence2": ["c", "d"], "score": [2.0, 3.25]})
    assert re.findall(r">(\d[.\d]*)</td>", evaluate_tables.pair_list(pairs, "pairs")) == ["2.00", "3.25"]
    assert ">2</td>" in evaluate_tables.pair_list(pairs[:1], "pairs")


def test_nothing_is_downloaded_before_a_table_is_scored() -> None:
    with pytest.raises(SettingError, match="No table is scored yet"):
        evaluate_own._frame(None)


def test_the_report_holds_every_table_and_asks_no_other_host(run: EvaluationRun) -> None:
    html = evaluate_report.report(run)
    for text in ("at n = 40.", "stsb/train.tsv", "84.66", "90.13", "81.76", "ALBERT-xxlarge instead of BERT-large"):
        assert text in html
    markup = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", html, flags=re.DOTALL)
    assert not re.search(r"(?:src|href)=", markup)
    assert "<script src" not in html
    assert "Nothing was scored." in evaluate_report.report(EvaluationRun(run.registry, None))
    assert Path(evaluate_report.make(run)).name == "evaluation.html"


def test_an_encoder_of_a_folder_joins_the_list(folder: Path, tmp_path: Path, tiny_encoder: Callable) -> None:
    save_encoder(tiny_encoder("albert", "mean"), tmp_path / "mine", {})
    run = EvaluationRun(Registry([folder / "encoders"]), folder / "data")
    *_, (status, listed) = evaluate_sources.add_for_page(run, evaluate.boxes, str(tmp_path / "mine"), ["bert-mean"])
    assert "mine is in the list" in status
    assert listed.value == ["bert-mean", "mine"]
    assert [name for _, name in listed.choices] == ["bert-mean", "bert-cnn", "mine"]
    *_, (status, listed) = evaluate_sources.add_for_page(run, evaluate.boxes, "/no/such", [])
    assert "There is no folder" in status
    assert listed == gr.skip()


def test_visitors_bring_in_nothing(run: EvaluationRun, tmp_path: Path) -> None:
    public = EvaluationRun(run.registry, None, public=True)
    assert (
        "bring in no encoders" in list(evaluate_sources.add_for_page(public, evaluate.boxes, str(tmp_path), []))[-1][0]
    )
    assert "bring in no encoders" in list(evaluate_sources.fetch_for_page(public))[-1]


def test_starts_and_looks_come_one_after_the_other(folder: Path) -> None:
    app = build_app(Registry([folder / "encoders"]), data=folder / "data")
    queued = [fn for fn in app.fns.values() if fn.concurrency_id == "evaluation"]
    # Start, stop, the timer, opening the tab, and each control.
    assert len(queued) == 4 + len(CONTROLS)
    assert {fn.concurrency_limit for fn in queued} == {1}
