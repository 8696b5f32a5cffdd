"""What a run would stumble over is found before it starts; memory and time are measured in a process of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from explorer.errors import DataError
from explorer.jobs import events, locks
from explorer.operations.preflight import Level, Preflight, _ended, _lengths, in_words, preflight, validate
from explorer.training.config import TrainConfig

PAIRS = "sentence1\tsentence2\tscore\n"
LABELLED = "sentence1\tsentence2\tlabel\n"


@pytest.fixture
def config(tiny_backbone: Callable, tmp_path: Path) -> TrainConfig:
    (tmp_path / "train.tsv").write_text(PAIRS + "".join(f"a dog runs {n}\ta cat {n}\t{n % 6}\n" for n in range(12)))
    (tmp_path / "dev.tsv").write_text(PAIRS + "".join(f"red ball {n}\ta ball {n}\t{n % 6}\n" for n in range(120)))
    paths = str(tiny_backbone("bert")), "cnn", str(tmp_path / "train.tsv"), str(tmp_path / "dev.tsv")
    return TrainConfig(*paths, "", batch_size=4, epochs=2, max_length=16, device="cpu")


def found(config: TrainConfig, runs: Path) -> dict[str, tuple[Level, str]]:
    checks = preflight(config, runs=runs, measured=False).checks
    return {check.name: (check.level, check.sentence) for check in checks}


def test_a_good_run_is_ready(config: TrainConfig, tmp_path: Path) -> None:
    checks = found(config, tmp_path)
    assert {level for level, _ in checks.values()} == {Level.OK}
    assert checks["sts table"][1] == "12 rows to train on, with sentence1, sentence2, score."
    assert checks["scores"][1] == "Scores from 0 to 5 on a scale to 5."
    assert checks["overlap with dev"][1] == "No pair of dev is in the sts table."
    validate(config)


@pytest.mark.parametrize(
    ("table", "level", "name", "words"),
    [
        (PAIRS + "a\tb\t6\n", Level.ERROR, "tables", "row 1: score 6 is outside 0 to 5"),
        ("x\ty\n1\t2\n", Level.ERROR, "tables", "has no column 'sentence1'"),
        (PAIRS, Level.ERROR, "tables", "header but no rows"),
        (PAIRS + "a\tb\t3\nc\td\t3\n", Level.ERROR, "scores", "Every score is 3"),
        (PAIRS + "a\tb\t0\nc\td\t1\n", Level.WARNING, "scores", "highest score is 1, of 5 possible"),
        (PAIRS + "a\tb\t0\na\tb\t5\n", Level.WARNING, "duplicates", "1 of 2 rows"),
        (PAIRS + "a\tb\t0\nc\td\t5\n", Level.WARNING, "batches", "2 rows, fewer than a batch of 4"),
        (PAIRS + "A ball, 7!\tred  ball 7\t0\nc\td\t5\n", Level.WARNING, "overlap with dev", "1 of 120 pairs in dev"),
    ],
)
def test_what_is_wrong_with_a_table_is_found(
    config: TrainConfig, tmp_path: Path, table: str, level: Level, name: str, words: str
) -> None:
    (tmp_path / "train.tsv").write_text(table)
    checks = found(config, tmp_path)
    assert checks[name][0] is level
    assert words in checks[name][1]
    if level is Level.ERROR:
        assert not preflight(config, runs=tmp_path).ready
        with pytest.raises(DataError, match="[.]"):
            validate(config)


def test_labels_are_counted_and_a_missing_one_is_named(config: TrainConfig, tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text(LABELLED + "a\tb\tneutral\nc\td\tentailment\n")
    checks = found(replace(config, objective="nli"), tmp_path)
    assert checks["labels"] == (
        Level.WARNING,
        "No row is labelled contradiction (1 entailment, 1 neutral, 0 contradiction); it cannot be learnt.",
    )
    (tmp_path / "train.tsv").write_text(LABELLED + "a\tb\tneutrl\n")
    checks = found(replace(config, objective="nli"), tmp_path)
    assert "row 1" in checks["tables"][1] and "neutral" in checks["tables"][1]


def test_dev_that_cannot_select_is_an_error(config: TrainConfig, tmp_path: Path) -> None:
    (tmp_path / "dev.tsv").write_text(PAIRS + "a\tb\t3\nc\td\t3\n")
    with pytest.raises(DataError, match="same score; Spearman is undefined"):
        validate(config)


def test_triplets_and_two_stages_are_checked_against_dev(config: TrainConfig, tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("anchor\tpositive\tnegative\nred ball 3\ta ball 3\ta cat\n")
    checks = found(replace(config, objective="triplet"), tmp_path)
    assert checks["overlap with dev"][0] is Level.WARNING
    labelled = tmp_path / "nli.tsv"
    labelled.write_text(LABELLED + "".join(f"a{n}\tb\t{label}\n" for n, label in enumerate(["neutral"] * 5)))
    (tmp_path / "train.tsv").write_text(PAIRS + "a\tb\t0\nc\td\t5\n")
    checks = found(replace(config, objective="nli-sts", nli=str(labelled)), tmp_path)
    assert {"nli table", "sts table"} <= set(checks)


def test_a_measured_run_tells_memory_time_disk_and_lengths(
    config: TrainConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.operations.preflight._TIMEOUT_SECONDS", 900.0)  # other tests may keep the cores busy
    before = {path.name for path in tmp_path.iterdir()}
    result = preflight(replace(config, max_length=5), runs=tmp_path / "runs")
    checks = {check.name: check for check in result.checks}
    assert checks["lengths"].level is Level.WARNING
    assert checks["lengths"].sentence.startswith("12 of 24 texts are longer than 5 word pieces (the longest has ")
    assert {checks[name].level for name in ("memory", "disk", "time")} == {Level.OK}
    assert result.ready
    assert result.steps == 6
    # Six such steps take a fraction of a second; the libraries alone take longer than one to start.
    assert result.seconds and result.seconds > 1
    assert "starting, evaluating and saving take about" in checks["time"].sentence
    assert result.memory_mb and 100 < result.memory_mb < 5000
    assert {path.name for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(("longest", "level"), [(9, Level.OK), (90, Level.WARNING)])
def test_lengths_are_those_that_the_backbone_has_positions_for(config: TrainConfig, longest: int, level: Level) -> None:
    measured = {"texts": 24, "too_long": int(longest > 64), "longest": longest, "max_length": 64}
    check = _lengths(replace(config, max_length=1000), measured)
    assert check.level is level
    assert "This backbone has positions for 64; the 1,000 of max_length are not to be had." in check.sentence
    assert "into 1000" not in check.sentence and "than 1000" not in check.sentence


def test_nothing_is_measured_on_a_device_that_a_job_uses(config: TrainConfig, tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "nightly"
    folder.mkdir(parents=True)
    events.append(folder, "queued", device="cpu")
    events.append(folder, "started", device="cpu")
    file = locks.take(folder / "lock")
    assert file is not None
    try:
        result = preflight(config, runs=tmp_path / "runs")
    finally:
        os.close(file)
    assert result.ready and result.seconds is None
    assert (result.checks[-1].level, result.checks[-1].sentence) == (
        Level.WARNING,
        "Memory and time are not measured while nightly uses cpu; check again once it has ended.",
    )


def test_a_measurement_that_nobody_waits_for_is_ended() -> None:
    def leave(done: int, total: int) -> None:
        raise InterruptedError

    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    with pytest.raises(InterruptedError):
        _ended(process, leave)
    assert process.returncode == -signal.SIGKILL


def test_a_backbone_that_cannot_be_read_is_found(config: TrainConfig, tmp_path: Path) -> None:
    checks = preflight(replace(config, backbone=str(tmp_path)), runs=tmp_path).checks
    assert checks[-1].level is Level.ERROR
    assert "cannot be loaded" in checks[-1].sentence
    checks = preflight(replace(config, backbone="/nowhere"), runs=tmp_path).checks
    assert (checks[-1].name, checks[-1].level) == ("backbone", Level.ERROR)


def test_ready_means_no_error() -> None:
    assert Preflight(()).ready


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "about a second"),
        (40, "about 40 seconds"),
        (100, "about 2 minutes"),
        (10_000, "about 3 hours"),
        (2e5, "about 2 days"),
    ],
)
def test_in_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
