"""What is handed on names no folder of this machine, and nothing breaks where there is no home."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.paths import ROOT, portable


def test_portable_leaves_out_the_project_and_the_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: Path("/somewhere/mine"))
    text = f"train {ROOT}/assets/a.tsv /somewhere/mine/b.tsv https://example.org/c"
    assert portable(text) == "train assets/a.tsv ~/b.tsv https://example.org/c"


def test_portable_where_there_is_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for home in (lambda: Path("/"), none):
        monkeypatch.setattr(Path, "home", home)
        assert portable(f"{ROOT}/a.tsv https://example.org/c") == "a.tsv https://example.org/c"
