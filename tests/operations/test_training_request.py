"""What is asked for on a form becomes runs whose tables stay as long as a run needs them."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from explorer.errors import DataError, SettingError, TrainingError
from explorer.jobs.manager import Jobs
from explorer.operations import training_request
from explorer.operations.training_request import (
    Request,
    Source,
    config_of,
    count_rows,
    drop_tables,
    keep_table,
    start_runs,
    table_at_end,
)
from explorer.paths import downloads_folder
from explorer.training.config import TrainConfig


def named(runs: Path, *configs: dict[str, str]) -> Any:
    """Jobs of these configurations."""
    return SimpleNamespace(runs_folder=runs, list=lambda: [SimpleNamespace(config=config) for config in configs])


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "mine.tsv"
    path.write_text("sentence1\tsentence2\tscore\nA cat.\tA dog.\t2\n")
    return path


def test_drop_tables_keeps_what_a_run_names_by_whatever_way(
    tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "runs").symlink_to(tmp_path / "disk")
    monkeypatch.chdir(tmp_path)
    for runs in (tmp_path / "runs", Path("runs")):
        kept = keep_table(table, runs)
        assert kept.is_absolute() and kept.is_relative_to(tmp_path / "disk")
        for used in (kept, tmp_path / "runs" / kept.relative_to(tmp_path / "disk")):
            drop_tables(named(runs, {"train": str(used)}))
            assert kept.read_text() == table.read_text()


def test_drop_tables_drops_what_none_names_but_nothing_while_one_cannot_be_read(tmp_path: Path, table: Path) -> None:
    kept = keep_table(table, tmp_path)
    drop_tables(named(tmp_path, {"train": "other.tsv"}, {}))
    drop_tables(named(tmp_path, {"train": "other.tsv", "test": str(kept)}))
    assert kept.is_file()
    drop_tables(named(tmp_path, {"train": "other.tsv"}))
    assert not kept.exists()


def test_no_table_is_dropped_while_a_run_that_will_name_it_is_being_started(
    tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training_request, "_PATIENCE", 0.05)
    there = []

    def submit(jobs: Jobs, config: TrainConfig, **_: Any) -> str:
        drop_tables(named(tmp_path, {"train": "other.tsv"}))  # as another page does, which deletes a run
        there.append(Path(config.train).is_file())
        return "mine"

    monkeypatch.setattr(training_request, "submit", submit)
    request = Request("bert-mean", "mean", "sts", source="upload", uploads={"train": str(table)})
    config = TrainConfig(backbone="b", pooling="mean", train=str(table), dev=str(table), output="", device="cpu")
    assert start_runs(named(tmp_path), config, request, None) == ["mine"]
    assert there == [True]
    drop_tables(named(tmp_path, {"train": "other.tsv"}))
    assert not list((tmp_path / ".tables").glob("*/*"))


def test_a_table_is_kept_whole_or_not_at_all(tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def half(source: Path, target: Path) -> None:
        target.write_bytes(source.read_bytes()[:40])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(shutil, "copyfile", half)
        with pytest.raises(TrainingError, match="mine.tsv cannot be kept in .*: No space left on device"):
            keep_table(table, tmp_path / "runs")
    assert not [path for path in (tmp_path / "runs").rglob("*") if path.is_file()]
    assert keep_table(table, tmp_path / "runs").read_text() == table.read_text()


def test_table_at_end_is_the_test_split_of_a_data_folder_or_what_a_run_had(tmp_path: Path) -> None:
    def asked(source: Source, **uploads: str) -> Request:
        return Request("bert-mean", "mean", "sts", source=source.value, uploads=uploads)

    assert table_at_end(asked(Source.DATA), tmp_path) == table_at_end(asked(Source.DATA), None) == ""
    (tmp_path / "stsb").mkdir()
    (tmp_path / "stsb" / "test.tsv").write_text("")
    assert table_at_end(asked(Source.DATA), tmp_path) == str(tmp_path / "stsb" / "test.tsv")
    assert table_at_end(asked(Source.SAMPLE), tmp_path) == ""
    assert table_at_end(asked(Source.SAME, train="a.tsv", dev="b.tsv", test="c.tsv"), tmp_path) == "c.tsv"


def test_a_repeated_run_takes_its_own_tables(tmp_path: Path) -> None:
    uploads = {"train": "a.tsv", "dev": "b.tsv", "test": "c.tsv"}
    config = config_of(Request(str(tmp_path), "mean", "sts", source="same", uploads=uploads), [], None)
    assert (config.train, config.dev, config.nli) == ("a.tsv", "b.tsv", "")


@pytest.mark.parametrize("backbone", ["bert-base-uncased", "/no/such/folder", "a/b/c", "x" * 300, "~nosuch/x", "a\0b"])
def test_what_is_neither_folder_nor_hub_id_is_refused_at_once(backbone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    with pytest.raises(SettingError, match="There is no folder .* owner/name"):
        config_of(Request(backbone, "mean", "sts"), [], None)


def test_a_table_of_the_hub_that_is_here_already_needs_no_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("EXPLORER_CACHE", str(tmp_path))
    request = Request(str(tmp_path), "mean", "sts", source=Source.HUB.value)
    with pytest.raises(DataError, match="sentence-transformers/stsb.*start with --hub"):
        config_of(request, [], None)
    kept = downloads_folder("tables") / "stsb.parquet"
    kept.parent.mkdir(parents=True)
    kept.touch()
    assert config_of(request, [], None).train == str(kept)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"seeds": "x"}, "seeds is 'x'; it must be a whole number"),
        ({"seeds": None}, "seeds is 'None'"),
        ({"seeds": 2.5}, "seeds is '2.5'"),
        ({"settings": ["epochs"]}, "settings is .*; it must be an object"),
        ({"settings": "epochs"}, "settings is 'epochs'"),
        ({"backbone": 7}, "backbone is '7'; it must be a text"),
        ({"objective": ["sts"]}, "objective is .*; it must be a text"),
        ({"settings": {"epochs": 1e308}}, r"epochs is 1e\+308"),
    ],
)
def test_what_is_of_another_kind_is_refused_in_a_sentence(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    asked = {"backbone": str(tmp_path), "pooling": "mean", "objective": "sts", **changes}
    with pytest.raises(SettingError, match=words):
        config_of(Request(**asked), [], None)


def test_whole_numbers_of_a_form_are_the_settings_they_stand_for(tmp_path: Path) -> None:
    one, two = (config_of(Request(str(tmp_path), "mean", "sts", settings={"epochs": n}), [], None) for n in (4, 4.0))
    assert repr(one) == repr(two)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_rows_are_counted_whatever_ends_them(tmp_path: Path, end: str) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(("a,b,1" + end).encode() * 1001)
    assert count_rows(path) == 1000


def test_the_rows_of_a_damaged_parquet_are_left_to_its_reader(tmp_path: Path) -> None:
    path = tmp_path / "bad.parquet"
    pd.DataFrame({"sentence1": ["a"] * 9}).to_parquet(path)
    assert count_rows(path) == 9
    content = bytearray(path.read_bytes())
    content[-60:-20] = b"\xff" * 40  # within the footer
    path.write_bytes(content)
    assert count_rows(path) == 0
