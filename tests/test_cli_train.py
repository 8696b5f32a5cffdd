"""`train` and `jobs` on the command line: the same folders as the page, json alone on standard output, one sentence a mistake."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import DATA, ROOT

from explorer.cli import main
from explorer.jobs.events import State
from explorer.jobs.manager import Jobs
from explorer.training.presets import preset
from tests.jobs.helpers import ended, jobs_doing, until, wait_for

PAIRS = str(DATA / "pairs.tsv")


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EXPLORER_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


@pytest.fixture
def counted(runs: Path, monkeypatch: pytest.MonkeyPatch) -> Jobs:
    """Jobs that count instead of training, also those that the command line starts."""
    monkeypatch.setattr(Jobs.__init__, "__kwdefaults__", {"task": "tests.jobs.tasks:count"})
    return jobs_doing(runs, "count")


def out(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict]:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def start(backbone: Path, *more: str) -> list[str]:
    tables = ["--train", PAIRS, "--dev", PAIRS]
    return ["train", "--backbone", str(backbone), "--pooling", "cnn", *tables, "--max-length", "16", *more]


def test_train_detached_then_every_act(
    counted: Jobs, tiny_backbone: Callable, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (row,) = out(capsys, *start(tiny_backbone("bert"), "--detach", "--name", "mine", "--test", PAIRS, "--seed", "7"))
    assert row == {"id": "mine", "folder": str(counted.runs_folder / "mine")}
    ended(counted, "mine")
    (listed,) = out(capsys, "jobs", "list")
    assert (listed["id"], listed["state"], listed["config"]["seed"], listed["config"]["test"]) == (
        "mine",
        "finished",
        7,
        PAIRS,
    )
    (shown,) = out(capsys, "jobs", "show", "mine")
    assert shown["command"].startswith("python -m explorer train --backbone ")
    assert main(["jobs", "follow", "mine"]) == 0
    printed = capsys.readouterr()
    assert [line.split()[2] for line in printed.out.splitlines()][:2] == ["queued", "started"]
    assert "mine is finished" in printed.err
    assert main(["jobs", "list"]) == main(["jobs", "show", "mine"]) == 0
    printed = capsys.readouterr().out
    assert "finished" in printed
    assert "took: " in printed and "leg: " not in printed
    (renamed,) = out(capsys, "jobs", "rename", "mine", "yours")
    assert renamed["id"] == "yours"
    (exported,) = out(capsys, "jobs", "export", "yours", "--output", str(tmp_path))
    assert Path(exported["archive"]).is_file()
    (counted.runs_folder / ".tables" / "of-nobody").mkdir(parents=True)
    assert main(["jobs", "delete", "yours"]) == 2
    assert "Add --yes" in capsys.readouterr().err
    assert out(capsys, "jobs", "delete", "yours", "--yes") == [{"id": "yours", "deleted": True}]
    assert out(capsys, "jobs", "list") == []
    assert main(["jobs", "list"]) == 0
    assert "There is no run in" in capsys.readouterr().err
    assert [path.name for path in (counted.runs_folder / ".tables").iterdir()] == ["lock"]


def test_jobs_stop_and_resume(counted: Jobs, capsys: pytest.CaptureFixture[str]) -> None:
    id = counted.submit({"device": "cpu", "steps": 30, "seconds": 0.1})
    until(lambda: (counted.get(id).step or 0) >= 1)
    (stopped,) = out(capsys, "jobs", "stop", id)
    assert (stopped["id"], stopped["state"]) == (id, "stopped")
    (resumed,) = out(capsys, "jobs", "resume", id)
    assert resumed["state"] in ("queued", "starting", "running")
    counted.stop(id)


def test_a_shown_command_runs_the_same_job_again(
    counted: Jobs, tiny_backbone: Callable, capsys: pytest.CaptureFixture[str]
) -> None:
    out(capsys, *start(tiny_backbone("bert"), "--detach", "--name", "first", "--epochs", "0.5", "--no-stop-on-nan"))
    words = shlex.split(counted.command("first"))
    assert words[:4] == ["python", "-m", "explorer", "train"]
    (row,) = out(capsys, *words[3:])
    assert counted.get(row["id"]).config == counted.get("first").config
    for id in ("first", row["id"]):
        ended(counted, id)


def test_a_preset_sets_what_is_not_given(
    counted: Jobs, tiny_backbone: Callable, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "classroom" in [row["preset"] for row in out(capsys, "train", "--preset", "list")]
    backbone = str(tiny_backbone("bert"))
    arguments = ["train", "--preset", "classroom", "--backbone", backbone, "--batch-size", "5", "--detach"]
    rows = out(capsys, *arguments, "--name", "c", "--seeds", "1,2")
    assert [row["id"] for row in rows] == ["c-seed-1", "c-seed-2"]
    config = counted.get("c-seed-2").config
    item = preset("classroom")
    assert item is not None
    assert item.settings.items() <= (config | {"batch_size": item.settings.get("batch_size", 5)}).items()
    assert (config["batch_size"], config["seed"]) == (5, 2)
    assert config["train"].endswith("sample_pairs.tsv")
    for row in rows:
        ended(counted, row["id"])


def test_train_for_real_through_another_process(runs: Path, tiny_backbone: Callable) -> None:
    command = [sys.executable, "-m", "explorer", *start(tiny_backbone("albert"), "--detach", "--epochs", "1")]
    id = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    job = wait_for(Jobs(runs), id, State.FINISHED, State.FAILED, State.LOST, seconds=400)
    assert (job.state, job.reason) == (State.FINISHED, "")
    assert job.has_encoder


def test_a_dry_run_says_what_is_wrong_and_writes_nothing(
    runs: Path, tiny_backbone: Callable, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.tsv").write_text("sentence1\tsentence2\tscore\na\tb\tx\n")
    arguments = start(tiny_backbone("bert"), "--dry-run")
    assert main([*arguments, "--train", str(tmp_path / "bad.tsv"), "--json"]) == 2
    printed = capsys.readouterr()
    (found,) = json.loads(printed.out)
    assert [check["level"] for check in found["checks"]] == ["error"]
    assert "row 1: score 'x' is not a number" in found["checks"][0]["sentence"]
    assert "The run would fail" in printed.err
    assert not runs.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "--output", "x"], "--backbone, --pooling, --train, --dev must be given"),
        (["train", "--preset", "none", "--detach"], "no preset 'none'"),
        (["train", "--preset", "stsb-bert-cls", "--detach"], "needs --data FOLDER, or --train and --dev"),
        (["train", "--preset", "classroom"], "Give --output FOLDER, or --detach"),
        (["train", "--preset", "classroom", "--detach", "--output", "x"], "leave --output and --resume out"),
        (["train", "--preset", "classroom", "--output", "x", "--name", "y"], "add --detach"),
        (["train", "--preset", "classroom", "--output", "x", "--device", "cuda:0,cuda:1"], "several GPUs"),
        (["train", "--preset", "classroom", "--detach", "--seeds", "1,a"], "whole numbers"),
        (["train", "--preset", "classroom", "--detach", "--name", "../x"], "cannot name a run"),
        (["train", "--preset", "classroom", "--detach", "--name", "bert-mean"], "already"),
        (["train", "--preset", "classroom", "--detach", "--batch-size", "0"], "batch_size is 0"),
        (["jobs", "show", "nothing"], "There is no job 'nothing'; the jobs here are: none."),
        (["jobs", "stop", "../x"], "There is no job"),
    ],
)
def test_a_mistake_is_one_sentence(
    runs: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words in printed.err
    assert printed.err.count("\n") == 1
    assert not runs.exists() or not any(runs.iterdir())
