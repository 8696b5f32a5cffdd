"""Files of an encoder's folder are replaced whole: nobody reads half of one, and a failure leaves the old one."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.operations.reference import replace_text


def test_replace_text_replaces_whole_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "reference.tsv"
    path.write_text("old")
    replace_text(path, "né\n")
    assert path.read_text(encoding="utf-8") == "né\n"

    def full(self: Path, *_: object, **__: object) -> None:
        self.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        replace_text(path, "new")
    assert path.read_text(encoding="utf-8") == "né\n"
    assert [file.name for file in tmp_path.iterdir()] == ["reference.tsv"]
