"""Task names, splits and parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.data.sts_tasks import TASKS, choose_tasks, read_task, tasks_here
from explorer.errors import DataError, SettingError


def names(*asked: str, split: str = "test") -> list[str]:
    return [task.name for task in choose_tasks(asked, split)]


def test_all_stands_for_every_task_that_has_the_split() -> None:
    assert names("all") == ["stsb", "sts12", "sts13", "sts14", "sts15", "sts16", "sick-r", "sick-e", "snli"]
    assert names("all", split="dev") == ["stsb", "sick-r", "sick-e", "snli"]
    assert names("sts13", " stsb ", "sts13") == ["sts13", "stsb"]


@pytest.mark.parametrize(
    ("asked", "split", "message"),
    [
        ("sts99", "test", "Unknown task 'sts99'; the tasks are stsb"),
        ("sts12", "dev", "Task sts12 has no split 'dev'; use test"),
        ("all", "nosplit", "No task is chosen or has a split 'nosplit'"),
    ],
)
def test_choose_tasks_names_what_is_wrong(asked: str, split: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        choose_tasks([asked], split)


def test_read_task_gives_the_source_of_each_pair(tmp_path: Path) -> None:
    (tmp_path / "sts").mkdir()
    (tmp_path / "sts" / "sts12.tsv").write_text("file\tscore\tsentence1\tsentence2\nnews\t3\ta\tb\nforum\t1\tc\td\n")
    assert read_task(TASKS["sts12"], "test", tmp_path).parts == ["news", "forum"]
    with pytest.raises(DataError, match="No file at"):
        read_task(TASKS["sts13"], "test", tmp_path)


def test_tasks_here_leaves_out_what_has_no_table_unless_nothing_has_one(tmp_path: Path) -> None:
    asked = [TASKS[name] for name in ("stsb", "sts12", "sick-r")]
    assert tasks_here(asked, "dev", tmp_path) == (asked, "")
    (tmp_path / "stsb").mkdir()
    (tmp_path / "stsb" / "dev.tsv").touch()
    here, left_out = tasks_here(asked, "dev", tmp_path)
    assert here == asked[:1]
    assert left_out.endswith("has no such tables: sts12 (no dev split), sick-r (sick/dev.tsv).")
    assert tasks_here(here, "dev", tmp_path) == (here, "")


def test_gold_outside_the_tasks_scale_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sick").mkdir()
    (tmp_path / "sick" / "test.tsv").write_text("score\tsentence1\tsentence2\n0.5\ta\tb\n")
    with pytest.raises(DataError, match="outside 1 to 5"):
        read_task(TASKS["sick-r"], "test", tmp_path)
