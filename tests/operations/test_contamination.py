"""What an encoder was trained on is read from the very same file, wherever it lies, or is unknown for a stated reason."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from explorer.encoders.folder import EncoderInfo
from explorer.operations.contamination import in_words, overlap_with, seen_in, summarise, training_of
from explorer.paths import ASSETS, downloads_folder

TEST = pd.DataFrame({"sentence1": ["A goat.", "Two hens"], "sentence2": ["a hen", "rain"]})


def info(*tables: Path, epochs: float = 1) -> EncoderInfo:
    record = [
        {
            "table": f"{path.parent.name}/{path.name}",
            "use": "train",
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        }
        for path in tables
    ]
    facts: dict[str, Any] = {"training_data": record, "hyperparameters": {"epochs": epochs}}
    return EncoderInfo("x", Path("x"), "bert", "a bert", "mean", 1, 2, 8, 1, "hash", facts=facts)


def seen(found: EncoderInfo, data: Path) -> list[bool]:
    overlap = overlap_with(training_of(found, data), TEST)
    assert overlap is not None
    return overlap.pairs.tolist()


@pytest.mark.parametrize(
    "text",
    [
        "anchor\tpositive\tnegative\nGOAT a\tx\ty\na hen\ta goat\tmud\n",
        "label\tpremise\thypothesis\nneutral\ta goat\ta hen\n",
        "split\tscore\tsentence1\tsentence2\ntrain\t3\ta goat\ta hen\ndev\t3\ttwo hens\train\n",
    ],
)
def test_triplets_labels_and_tables_with_a_split_are_compared(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine" / "train.tsv"
    path.parent.mkdir()
    path.write_text(text)
    assert seen(info(path), tmp_path) == [True, False]


def test_shipped_and_fetched_tables_are_found_outside_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXPLORER_CACHE", str(tmp_path / "cache"))
    fetched = downloads_folder("tables") / "stsb.parquet"
    fetched.parent.mkdir(parents=True)
    TEST.assign(split=["dev", "train"], score=1.0).to_parquet(fetched)
    found = info(ASSETS / "sample_pairs.tsv", fetched)
    assert seen(found, tmp_path) == [False, True]
    assert training_of(found, None).label == "assets/sample_pairs.tsv, tables/stsb.parquet"


def test_an_encoder_trained_on_nothing_has_seen_nothing(tmp_path: Path) -> None:
    training = training_of(info(epochs=0), tmp_path)
    known = summarise(training, overlap_with(training, TEST), 2)
    assert (known.training, known.unknown, known.pairs) == ("nothing", "", 0)


def test_a_table_that_cannot_be_compared_is_unknown(tmp_path: Path) -> None:
    path = tmp_path / "mine" / "train.tsv"
    path.parent.mkdir()
    path.write_text("text\nhello\n")
    training = training_of(info(path), tmp_path)
    assert training.unknown == "mine/train.tsv cannot be compared: its columns are text"
    assert overlap_with(training, TEST) is None


def settled(folder: Path, *tables: Path, **settings: str) -> EncoderInfo:
    """An encoder of a run whose settings lie in its folder."""
    folder.mkdir()
    (folder / "train_config.json").write_text(json.dumps(settings))
    return replace(info(*tables), folder=folder)


def test_a_run_s_own_tables_are_found_where_its_settings_say(tmp_path: Path) -> None:
    path = tmp_path / "elsewhere" / "mine.csv"
    path.parent.mkdir()
    path.write_text("sentence1,sentence2,score\na goat,a hen,1\n")
    first = settled(tmp_path / "first", path, train=str(path))
    then = settled(tmp_path / "then", path, train="gone.csv", backbone=str(first.folder))
    assert seen(first, tmp_path) == seen(then, tmp_path) == [True, False]
    path.write_text("sentence1,sentence2,score\na goat,a cow,1\n")
    assert "mine.csv is not here" in training_of(first, None).unknown


def test_a_table_that_may_not_be_read_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "theirs" / "mine.csv"
    path.parent.mkdir()
    path.write_text("sentence1,sentence2,score\na goat,a hen,1\n")
    found = settled(tmp_path / "first", path, train=str(path))
    for forbidden in ("is_file", "open"):
        with monkeypatch.context() as patch:
            original = getattr(Path, forbidden)

            def refuse(self: Path, *args: Any, original: Any = original, **options: Any) -> Any:
                if self == path:
                    raise PermissionError(13, "Permission denied")
                return original(self, *args, **options)

            patch.setattr(Path, forbidden, refuse)
            assert "mine.csv is not here" in training_of(found, None).unknown
    assert not training_of(found, None).unknown


def test_what_is_known_counts_also_where_another_table_is_unknown(tmp_path: Path) -> None:
    missing = tmp_path / "stsb" / "train.tsv"
    missing.parent.mkdir()
    missing.write_text("x")
    found = info(missing, ASSETS / "sample_pairs.tsv")
    missing.unlink()
    sample = pd.read_csv(ASSETS / "sample_pairs.tsv", sep="\t")
    training = training_of(found, tmp_path)
    assert overlap_with(training, sample) is None
    known = seen_in(training, sample)
    assert (known.training, known.pairs, known.n) == ("unknown", 240, 320)
    assert in_words(known) == (
        "at least 240 of 320 pairs are in its training data, the rest is unknown: stsb/train.tsv is not in the data folder"
    )
    assert in_words(seen_in(training_of(info(ASSETS / "sample_pairs.tsv"), None), sample)) == (
        "240 of 320 pairs are in its training data"
    )
