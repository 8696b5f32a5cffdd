"""The background evaluation: it can be watched, stopped and started again, and says why it failed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from explorer.encoders.cache import EmbeddingCache
from explorer.encoders.registry import Registry
from explorer.errors import SettingError
from explorer.operations.evaluation_run import EvaluationRun, Phase, RunState, current
from explorer.training.export import save_encoder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, tiny_encoder: Callable) -> Path:
    root = tmp_path_factory.mktemp("run")
    for pooling in ("mean", "cnn"):
        save_encoder(tiny_encoder("bert", pooling), root / "encoders" / f"bert-{pooling}", {}, half=False)
    (root / "data" / "stsb").mkdir(parents=True)
    rows = [f"{number % 6}\ta dog {number}\tthe cat {number * 7 % 11}" for number in range(30)]
    (root / "data" / "stsb" / "test.tsv").write_text("\n".join(["score\tsentence1\tsentence2", *rows]) + "\n")
    return root


@pytest.fixture
def run(folder: Path, tmp_path: Path) -> EvaluationRun:
    return EvaluationRun(Registry([folder / "encoders"]), folder / "data", EmbeddingCache(tmp_path))


def scored(state: RunState) -> list[str]:
    return [score.encoder for score in state.scores if score.subset == "all"]


def test_a_run_ends_with_every_score(run: EvaluationRun) -> None:
    assert run.state().phase is Phase.IDLE
    run.start(["bert-mean", "bert-cnn"], ["stsb"])
    state = run.wait(60)
    assert state.phase is Phase.DONE
    assert scored(state) == ["bert-mean", "bert-cnn"]
    assert state.done == state.total > 0


def test_a_run_can_be_watched_and_stopped_and_is_quick_the_second_time(
    run: EvaluationRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, go_on, load = threading.Event(), threading.Event(), run.registry.load

    def slow(name: str) -> object:
        if name == "bert-cnn":
            reached.set()
            assert go_on.wait(30)
        return load(name)

    monkeypatch.setattr(run.registry, "load", slow)
    run.start(["bert-mean", "bert-cnn"], ["stsb"])
    assert reached.wait(30)
    state = run.state()
    assert (state.phase, state.active, state.label) == (Phase.RUNNING, True, "bert-cnn on stsb test")
    assert 0 < state.done < state.total
    with pytest.raises(SettingError, match="under way"):
        run.start(["bert-mean"], ["stsb"])
    assert run.stop().phase is Phase.STOPPING
    go_on.set()
    state = run.wait(30)
    assert state.phase is Phase.STOPPED
    assert scored(state) == ["bert-mean"]
    monkeypatch.setattr(run.registry, "load", lambda name: pytest.fail("encoded again"))
    run.start(["bert-mean"], ["stsb"])
    state = run.wait(30)
    assert (state.phase, scored(state)) == (Phase.DONE, ["bert-mean"])


def test_scores_of_earlier_runs_are_kept(run: EvaluationRun) -> None:
    for encoder in ("bert-mean", "bert-cnn", "bert-mean"):
        run.start([encoder], ["stsb"])
        state = run.wait(30)
    assert scored(state) == ["bert-mean", "bert-cnn"]


def test_a_run_says_why_it_failed(run: EvaluationRun, folder: Path) -> None:
    run.start(["bert-mean"], ["sts12"])
    state = run.wait(30)
    assert (state.phase, state.scores) == (Phase.FAILED, ())
    assert "No file at" in state.message
    run.start(["gpt"], ["stsb"])
    assert "no encoder 'gpt'" in run.wait(30).message


def test_tasks_without_a_table_are_left_out_and_told(run: EvaluationRun) -> None:
    run.start(["bert-mean"], ["sts12", "stsb", "snli"])
    state = run.wait(60)
    assert (state.phase, state.tasks, scored(state)) == (Phase.DONE, ("stsb",), ["bert-mean"])
    assert state.left_out.endswith("no such tables: sts12 (sts/sts12.tsv), snli (snli/test.tsv).")
    run.start(["bert-mean"], ["stsb"])
    assert run.wait(60).left_out == ""


def test_a_damaged_encoder_does_not_keep_the_others_from_their_scores(run: EvaluationRun) -> None:
    run.start(["gpt", "bert-mean"], ["stsb"])
    state = run.wait(30)
    assert (state.phase, scored(state)) == (Phase.DONE, ["bert-mean"])
    assert "no encoder 'gpt'" in state.message


def test_what_cannot_start_is_named(run: EvaluationRun, folder: Path) -> None:
    with pytest.raises(SettingError, match="at least one encoder and one task"):
        run.start([], ["stsb"])
    with pytest.raises(SettingError, match="--data FOLDER"):
        EvaluationRun(run.registry, None).start(["bert-mean"], ["stsb"])
    assert run.stop().phase is Phase.IDLE


def test_scores_follow_the_weights_not_the_name(run: EvaluationRun) -> None:
    run.start(["bert-mean", "bert-cnn"], ["stsb"])
    state, infos = run.wait(30), run.registry.scan()[0]
    assert scored(current(state, infos)) == ["bert-mean", "bert-cnn"]
    trained_anew = [replace(infos[0], weights_hash="new"), infos[1]]
    assert scored(current(state, trained_anew)) == ["bert-cnn"]
    renamed = [replace(infos[0], name="mine"), infos[1]]
    assert scored(current(state, renamed)) == ["mine", "bert-cnn"]


def test_in_public_mode_nothing_is_written_and_nobody_is_stopped(folder: Path, tmp_path: Path) -> None:
    run = EvaluationRun(Registry([folder / "encoders"]), folder / "data", public=True)
    assert run.cache.read_only
    before = sorted(run.cache.root.rglob("*"))
    run.start(["bert-mean"], ["stsb"])
    with pytest.raises(SettingError, match="public mode"):
        run.stop()
    assert run.wait(30).phase is Phase.DONE
    assert sorted(run.cache.root.rglob("*")) == before
