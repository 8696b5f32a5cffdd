"""The command line: json alone on standard output, one clear sentence and status 2 for a mistake."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from explorer.analysis.filters import Summary
from explorer.cli import filters, main
from explorer.operations.filter_report import View
from explorer.training.export import save_encoder


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, tiny_encoder: Callable) -> Path:
    folder = tmp_path_factory.mktemp("encoders")
    for pooling in ("mean", "cnn"):
        save_encoder(tiny_encoder("bert", pooling), folder / f"bert-{pooling}", {})
    data = folder / ".data" / "stsb"
    data.mkdir(parents=True)
    rows = "score\tsentence1\tsentence2\n5\ta dog\ta dog runs\n1\ta cat\ta house\n2\tred ball\ta ball\n"
    for split in ("train", "dev", "test"):
        (data / f"{split}.tsv").write_text(rows)
    return folder


def _json(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict]:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_encoders_json(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = _json(capsys, "encoders", "--checkpoints", str(root))
    assert [row["name"] for row in rows] == ["bert-mean", "bert-cnn"]
    assert {"name", "backbone", "pooling", "parameters", "embedding_dimension", "size_bytes"} <= set(rows[0])
    assert rows[1]["parameters"] - rows[0]["parameters"] == 84_481


def test_score_json(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = _json(capsys, "score", "a dog runs", "a cat", "--checkpoints", str(root))
    assert [row["encoder"] for row in rows] == ["bert-mean", "bert-cnn"]
    assert all(-1 <= row["cosine"] <= 1 and row["percentile_stsb"] is None for row in rows)


def test_evaluate_json(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = str(root / ".data")
    rows = _json(
        capsys, "evaluate", "--tasks", "stsb", "--data", data, "--checkpoints", str(root), "--encoders", "bert-cnn"
    )
    assert [(row["encoder"], row["task"], row["split"], row["n"]) for row in rows] == [("bert-cnn", "stsb", "test", 3)]
    assert -100 <= rows[0]["spearman"] <= 100


def test_evaluate_all_takes_the_tables_there_are_and_tells_the_others(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = ["--data", str(root / ".data"), "--checkpoints", str(root), "--encoders", "bert-mean", "--csv"]
    assert main(["evaluate", "--tasks", "all", *found]) == 0
    printed = capsys.readouterr()
    assert {line.split(",")[2] for line in printed.out.splitlines()[1:]} == {"stsb"}
    assert "has no such tables: sts12 (sts/sts12.tsv)" in printed.err


def test_encode_writes_the_vectors(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.txt").write_text("a dog\n\na cat\n", encoding="utf-8")
    arguments = ["encode", str(tmp_path / "text.txt"), "--encoder", "bert-cnn", "--checkpoints", str(root)]
    assert main([*arguments, "--output", str(tmp_path / "x.npy")]) == 0
    assert np.load(tmp_path / "x.npy").shape == (2, 16)
    assert "Left out: 1 blank line;" in capsys.readouterr().err


def test_reference_writes_the_two_distributions(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["reference", "--data", str(root / ".data"), "--checkpoints", str(root), "--encoders", "bert-mean"]) == 0
    )
    assert capsys.readouterr().out == ""
    rows = _json(capsys, "score", "a dog", "a cat", "--checkpoints", str(root))
    assert 0 <= rows[0]["percentile_random"] <= 100
    assert rows[1]["percentile_random"] is None


def test_train_writes_an_encoder_with_its_card(
    root: Path, tmp_path: Path, tiny_backbone: Callable, capsys: pytest.CaptureFixture[str]
) -> None:
    data = root / ".data" / "stsb"
    tables = [option for split in ("train", "dev", "test") for option in (f"--{split}", str(data / f"{split}.tsv"))]
    output = tmp_path / "runs" / "mine"
    start = ["train", "--backbone", str(tiny_backbone("albert")), "--pooling", "cnn", "--output", str(output), *tables]
    assert main([*start, "--epochs", "1", "--batch-size", "2", "--max-length", "16"]) == 0
    capsys.readouterr()
    (row,) = _json(capsys, "encoders", "--checkpoints", str(output.parent))
    assert (row["name"], row["pooling"], row["family"]) == ("mine", "cnn", "albert")
    assert {"stsb_dev_spearman", "stsb_test_spearman"} <= set(row["scores"])
    card = (output / "README.md").read_text()
    assert "stsb/train.tsv: 3 pairs" in card
    assert "python -m explorer" in card
    assert "red ball" not in card  # no training sentence
    (output / "README.md").write_text("lost")
    (output / "cnn_pooling.py").write_text("old")
    assert main(["card", "--checkpoints", str(output.parent)]) == 0
    assert (output / "README.md").read_text() == card
    assert "class CNNPooling" in (output / "cnn_pooling.py").read_text()
    (scored,) = _json(capsys, "score", "a dog", "a cat", "--checkpoints", str(output.parent))
    assert scored["percentile_stsb"] is not None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["score", "", "a"], "Sentence 1 is empty"),
        (["score", "a", "b\0c"], "NUL character"),
        (["score", "a", "b", "--encoders", "gpt"], "no encoder 'gpt'"),
        (["evaluate", "--data", "/nowhere"], "No file at"),
        (["evaluate", "--data", "/nowhere", "--tasks", "mnli"], "Unknown task 'mnli'"),
        (["encode", "/nowhere.txt", "--encoder", "bert-mean", "--output", "x.npy"], "cannot be read"),
        (["filters", "cell", "a dog"], "also needs: layer, filter, position"),
        (["filters", "layers", " "], "is empty"),
        (["card"], "bert-mean has no explorer.json"),
        (["distill", "--teacher", "x", "--text", "/nowhere.pdf", "--output", "y"], "No text source"),
    ],
)
def test_a_mistake_is_one_sentence_on_standard_error(
    root: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert main([*arguments, "--checkpoints", str(root)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words in printed.err
    assert "Traceback" not in printed.err
    assert printed.err.count("\n") == 1


def test_filters_json_and_csv(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cell = [
        "filters",
        "cell",
        "a dog runs",
        "--layer",
        "2",
        "--filter",
        "3",
        "--position",
        "0",
        "--checkpoints",
        str(root),
    ]
    (answer,) = _json(capsys, *cell)
    assert answer["encoder"] == "bert-cnn"
    assert main(["filters", "ablate", "a dog", "a cat runs", "--layer", "4", "--csv", "--checkpoints", str(root)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 128


def test_filters_knows_the_names_that_their_owners_know() -> None:
    assert tuple(View) == filters.VIEWS
    assert tuple(Summary) == filters.SUMMARIES


def test_a_truncated_sentence_is_told_and_json_stays_json(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "dog " * 25_000, "a", "--json", "--checkpoints", str(root)]) == 0
    printed = capsys.readouterr()
    assert len(json.loads(printed.out)) == 2
    assert "left out" in printed.err


def test_help_imports_neither_torch_nor_gradio() -> None:
    code = (
        "import sys, contextlib\nfrom explorer.cli import filters, main\n"
        "with contextlib.suppress(SystemExit): main(['--help'])\n"
        "assert not {'torch', 'gradio', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_encode_names_a_missing_folder_before_it_encodes(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = root / ".data" / "lines.txt"
    text.write_text("a dog\n")
    arguments = ["encode", str(text), "--encoder", "bert-mean", "--checkpoints", str(root)]
    assert main([*arguments, "--output", str(root / "absent" / "x.npy")]) == 2
    assert "a folder that does not exist" in capsys.readouterr().err
