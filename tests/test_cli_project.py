"""The command `project`: json and csv alone on standard output, notes beside them, one sentence for a mistake."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.analysis.projection import Method, Metric
from explorer.cli import main, project
from explorer.training.export import save_encoder

LINES = ["a dog runs", "a cat runs", "", "the boy sings, slow", "a dog runs", "=the red car", "two old horse", "rain"]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, tiny_encoder: Callable) -> Path:
    folder = tmp_path_factory.mktemp("encoders")
    for pooling in ("mean", "cnn"):
        save_encoder(tiny_encoder("bert", pooling), folder / f"bert-{pooling}", {})
    (folder / ".lines.txt").write_text("\n".join(LINES), encoding="utf-8")
    return folder


def run(root: Path, *arguments: str) -> int:
    return main(["project", str(root / ".lines.txt"), "--checkpoints", str(root), "--k", "2", *arguments])


def test_project_json_is_one_object_an_encoder(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(root, "--json") == 0
    printed = capsys.readouterr()
    rows = json.loads(printed.out)
    assert [row["encoder"] for row in rows] == ["bert-mean", "bert-cnn"]
    assert rows[0]["procrustes_distance"] == 0
    assert set(rows[0]["agreement"]) == {"bert-cnn"}
    points = rows[1]["points"]
    # The blank line and the second "a dog runs" are passed over.
    assert [point["row"] for point in points] == [0, 1, 3, 5, 6, 7]
    for point in points:
        assert len(point["neighbours"]) == 2 and point["row"] not in point["neighbours"]
        assert {"x", "y", "sentence", "suspect", "cosines"} <= set(point)
    assert "1 repeated" in printed.err


def test_project_names_the_two_procrustes_distances_apart(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(root) == 0
    heads = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("encoder ")]
    assert ["procrustes_of_maps" in head for head in heads] == [True, False]
    assert ["procrustes_of_vectors" in head for head in heads] == [False, True]


def test_project_csv_is_one_row_a_point(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(root, "--csv", "--encoders", "bert-cnn") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 6
    assert rows[2]["sentence"] == "the boy sings, slow"
    assert rows[3]["sentence"] == "'=the red car", "no spreadsheet may run it"
    assert {float(row["x"]) for row in rows} and all(row["encoder"] == "bert-cnn" for row in rows)


def test_project_reads_a_table_with_labels(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "table.csv"
    table.write_text(
        "who,said\ndog,a dog runs\ncat,a cat runs\ndog,the dog sleeps\ncat,the cat eats\n", encoding="utf-8"
    )
    arguments = ["--checkpoints", str(root), "--k", "2", "--csv", "--encoders", "bert-mean"]
    assert main(["project", str(table), "--column", "said", "--label", "who", *arguments]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["label_who"] for row in rows] == ["dog", "cat", "dog", "cat"]
    assert main(["project", str(table), "--column", "nothing", *arguments]) == 2
    assert "has no column 'nothing'" in capsys.readouterr().err


def test_project_writes_the_linked_maps_as_one_file(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "maps.html"
    assert run(root, "--html", str(path)) == 0
    written = path.read_text(encoding="utf-8")
    assert "the boy sings, slow" in written and "http" not in written.replace("http://www.w3.org/2000/svg", "")
    assert str(path) in capsys.readouterr().err
    assert run(root, "--html", str(tmp_path / "nowhere" / "maps.html")) == 2
    assert "folder that does not exist" in capsys.readouterr().err


def test_project_says_where_no_html_can_be_written(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(root, "--html", str(tmp_path)) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and "is a folder; name a file in it, such as" in printed.err
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert run(root, "--html", str(tmp_path / "maps.html")) == 2
    assert "cannot be written; choose a folder of your own" in capsys.readouterr().err
    monkeypatch.undo()

    def full(*_args: object, **_kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    # A disk that is full only says so when the maps are made: the table is printed all the same.
    monkeypatch.setattr(Path, "write_text", full)
    assert run(root, "--html", str(tmp_path / "maps.html")) == 2
    printed = capsys.readouterr()
    assert "trustworthiness" in printed.out and "could not be written (No space left on device)" in printed.err
    assert "Traceback" not in printed.err


def test_project_says_when_labels_are_no_colour(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, html = tmp_path / "table.csv", tmp_path / "maps.html"
    rows = [f"label {number},the dog runs {number}" for number in range(61)]
    for used, said in ((rows, True), (rows[:60], False)):
        table.write_text("\n".join(["who,said", *used, ""]), encoding="utf-8")
        options = ["--column", "said", "--label", "who", "--html", str(html), "--encoders", "bert-mean"]
        assert main(["project", str(table), "--checkpoints", str(root), *options]) == 0
        note = "The column 'who' has 61 different labels; over 60 are no colour."
        assert (note in capsys.readouterr().err) is said
        assert ("61 different labels" in html.read_text(encoding="utf-8")) is said
        assert ("label-who" in html.read_text(encoding="utf-8")) is not said


def test_project_prints_tables(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(root) == 0
    blocks = capsys.readouterr().out.split("\n\n")
    assert len(blocks) == 3
    assert "trustworthiness" in blocks[0] and "cka" in blocks[1] and "rain" in blocks[2]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--k", "0"], "is 0; use a whole number"),
        (["--min-dist", "3"], "min_dist is 3.0"),
        (["--most", "0"], "use 1 to 20,000"),
        (["--encoders", "nobody"], "no encoder 'nobody'"),
    ],
)
def test_a_mistake_is_one_sentence(
    root: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert run(root, *arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and words in printed.err and printed.err.count("\n") == 1


def test_project_knows_the_names_that_their_owners_know() -> None:
    assert tuple(Method) == project.METHODS
    assert tuple(Metric) == project.METRICS
