"""fetch_table against a hub on loopback: our columns, our scale, and what is told when a table has changed."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from loopback_hub import LoopbackHub

from explorer.data.hub import fetch_table
from explorer.data.tables import read_nli, read_pairs
from explorer.errors import DataError, SettingError


def stsb(hub: LoopbackHub, folder: Path) -> None:
    (folder / "data").mkdir(parents=True)
    for number, split in enumerate(("train", "validation", "test")):
        frame = pd.DataFrame({"sentence1": [f"Goat {number}"], "sentence2": ["A goat"], "score": [0.76]})
        frame.to_parquet(folder / "data" / f"{split}-00000-of-00001.parquet")
    hub.add("sentence-transformers/stsb", folder, kind="dataset")


def all_nli(hub: LoopbackHub, folder: Path) -> None:
    for part in ("pair-class", "triplet"):
        (folder / part).mkdir(parents=True)
    for split, labels in (("train", [0, 1, 2]), ("dev", [2])):
        frame = pd.DataFrame({"premise": "Hens lay.", "hypothesis": [f"H {n}" for n in labels], "label": labels})
        frame.to_parquet(folder / "pair-class" / f"{split}-00000-of-00001.parquet")
    (folder / "triplet" / "train-00000-of-00001.parquet").write_bytes(b"never read")
    hub.add("sentence-transformers/all-nli", folder, kind="dataset")


def test_fetch_table_brings_stsb_on_our_scale_with_its_splits(hub: LoopbackHub, tmp_path: Path) -> None:
    stsb(hub, tmp_path / "served")
    seen: list[tuple[int, int]] = []
    path = fetch_table("stsb", progress=lambda done, total: seen.append((done, total)))
    frame = read_pairs(path, score_range=(0, 5))
    assert frame["score"].tolist() == [3.8] * 3
    assert sorted(frame["split"]) == ["dev", "test", "train"]
    assert seen[-1][0] == seen[-1][1] > 0
    hub.requests.clear()
    assert fetch_table("stsb") == path
    assert hub.requests == []


def test_fetch_table_brings_all_nli_with_labels_in_words(hub: LoopbackHub, tmp_path: Path) -> None:
    all_nli(hub, tmp_path / "served")
    frame = read_nli(fetch_table("all-nli"))
    train = frame[frame["split"] == "train"]
    assert train["label"].tolist() == ["entailment", "neutral", "contradiction"]
    assert train["sentence2"].tolist() == ["H 0", "H 1", "H 2"]
    assert not any("triplet" in path for _, path, _ in hub.requests)


def test_fetch_table_says_when_a_table_has_changed(hub: LoopbackHub, tmp_path: Path) -> None:
    stsb(hub, tmp_path / "served")
    path = tmp_path / "served" / "data" / "train-00000-of-00001.parquet"
    pd.DataFrame({"a": ["x"]}).to_parquet(path)
    with pytest.raises(DataError, match="has no column 'score'; its columns are a"):
        fetch_table("stsb")
    path.unlink()
    with pytest.raises(DataError, match="has no parquet files of train and dev in data/"):
        fetch_table("stsb")


def test_fetch_table_says_what_failed(hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingError, match="no table 'mnli'; the hub's tables here are stsb, all-nli"):
        fetch_table("mnli")
    with pytest.raises(DataError, match="There is no dataset sentence-transformers/stsb"):
        fetch_table("stsb")
    stsb(hub, tmp_path / "served")
    hub.repositories["sentence-transformers/stsb"].missing.add("data/test-00000-of-00001.parquet")
    with pytest.raises(DataError, match="is missing on the hub"):
        fetch_table("stsb")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DataError, match="start with --hub"):
        fetch_table("stsb")
