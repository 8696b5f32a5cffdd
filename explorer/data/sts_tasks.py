"""The tasks: which file of the data folder holds which split, what is asked, how gold is scaled. Reads tables, scores nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from explorer.data.tables import read_nli, read_pairs
from explorer.errors import SettingError

ALL = "all"


@dataclass(frozen=True)
class Task:
    """One task.

    Args:
        name: As on the command line.
        title: As in tables.
        files: Path within the data folder of each split.
        scale: Lowest and highest gold score.
        part: Column that names the source of a pair, where scores are also given for each source; empty for none.
        labels: Whether each pair has an NLI label and the accuracy of a softmax head is the figure; otherwise it has a score
            and the correlation with it is.
    """

    name: str
    title: str
    files: Mapping[str, str]
    scale: tuple[float, float] = (0, 5)
    part: str = ""
    labels: bool = False


def _year(year: int) -> Task:
    return Task(f"sts{year}", f"STS{year}", {"test": f"sts/sts{year}.tsv"}, part="file")


TASKS: Mapping[str, Task] = {
    task.name: task
    for task in (
        Task("stsb", "STSb", {"dev": "stsb/dev.tsv", "test": "stsb/test.tsv"}),
        *(_year(year) for year in range(12, 17)),
        Task("sick-r", "SICK-R", {"dev": "sick/dev.tsv", "test": "sick/test.tsv"}, scale=(1, 5)),
        Task("sick-e", "SICK-E", {"dev": "sick/dev.tsv", "test": "sick/test.tsv"}, labels=True),
        Task("snli", "SNLI", {"dev": "snli/dev.tsv", "test": "snli/test.tsv"}, labels=True),
    )
}


@dataclass(frozen=True)
class TaskTable:
    """The pairs of one split of one task.

    Args:
        task: The task.
        split: For instance "test".
        pairs: Frame with sentence1, sentence2, score (or label) and the columns the file has besides.
    """

    task: Task
    split: str
    pairs: pd.DataFrame

    @property
    def parts(self) -> list[str] | None:
        """The source of each pair; None where the task has no parts."""
        if not self.task.part or self.task.part not in self.pairs.columns:
            return None
        return [str(name) for name in self.pairs[self.task.part]]


def choose_tasks(names: Sequence[str], split: str) -> list[Task]:
    """Returns the tasks of these names, each once; "all" stands for every task that has the split.

    Raises:
        SettingError: A name is unknown, or a named task has no such split.
    """
    chosen: dict[str, Task] = {}
    for name in (name.strip() for name in names):
        if name == ALL:
            chosen |= {task.name: task for task in TASKS.values() if split in task.files}
        elif name not in TASKS:
            raise SettingError(f"Unknown task {name!r}; the tasks are {', '.join((*TASKS, ALL))}.")
        elif split not in TASKS[name].files:
            raise SettingError(f"Task {name} has no split {split!r}; use {' or '.join(TASKS[name].files)}.")
        else:
            chosen[name] = TASKS[name]
    if not chosen:
        raise SettingError(f"No task is chosen or has a split {split!r}; the tasks are {', '.join((*TASKS, ALL))}.")
    return list(chosen.values())


def tasks_here(tasks: Sequence[Task], split: str, data: Path) -> tuple[list[Task], str]:
    """Returns those of several tasks whose table of a split is in a folder, and which others are left out, in words.

    Where there is none of the tables nothing is left out, so that reading them says which file is missed.

    Args:
        tasks: What is asked for.
        split: For instance "test".
        data: The folder.
    """
    here = [task for task in tasks if split in task.files and (data / task.files[split]).is_file()]
    if not here:
        return list(tasks), ""
    missing = [f"{task.name} ({task.files.get(split, f'no {split} split')})" for task in tasks if task not in here]
    return here, f"Left out, since the data folder has no such tables: {', '.join(missing)}." if missing else ""


def read_task(task: Task, split: str, data: Path) -> TaskTable:
    """Returns the pairs of one split.

    Args:
        task: The task.
        split: One of its splits.
        data: Folder with stsb/, sts/, sick/ and snli/.

    Raises:
        DataError: The table is missing or cannot be used.
    """
    path = data / task.files[split]
    return TaskTable(task, split, read_nli(path) if task.labels else read_pairs(path, score_range=task.scale))
