"""Where sentences come from: pair tables, plain text files, WordNet's glosses. Reads only; nothing is downloaded."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from explorer.errors import DataError

_EXAMPLE = re.compile(r'"([^"]{8,})"')


def read_sentences(sources: Iterable[str | Path]) -> list[str]:
    """Returns the distinct sentences of several sources, in order of first appearance.

    Args:
        sources: Each a .tsv with columns sentence1 and sentence2, a .txt with one sentence a line, or a folder in the
            format of WordNet's database (files data.noun, data.verb, data.adj, data.adv).

    Raises:
        DataError: A source is missing or of another kind.
    """
    seen: dict[str, None] = {}
    for source in map(Path, sources):
        for sentence in _read_source(source):
            text = " ".join(sentence.split())
            if text:
                seen.setdefault(text)
    return list(seen)


def _read_source(path: Path) -> Iterable[str]:
    if path.is_dir() and (path / "data.noun").is_file():
        return _wordnet(path)
    if not path.is_file():
        raise DataError(f"No text source at {str(path)!r}: give a .tsv, a .txt or a WordNet folder.")
    if path.suffix == ".tsv":
        frame = pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False)
        missing = {"sentence1", "sentence2"} - set(frame.columns)
        if missing:
            raise DataError(
                f"{path.name} has the columns {', '.join(frame.columns)}; sentence1 and sentence2 are needed."
            )
        return [*frame["sentence1"], *frame["sentence2"]]
    if path.suffix == ".txt":
        return path.read_text(encoding="utf-8").splitlines()
    raise DataError(f"Text source {path.name!r} is neither .tsv nor .txt nor a WordNet folder.")


def _wordnet(folder: Path) -> Iterable[str]:
    """Yields the glosses and the quoted examples of a WordNet database."""
    for part in ("noun", "verb", "adj", "adv"):
        for line in (folder / f"data.{part}").read_text(encoding="utf-8").splitlines():
            if line.startswith("  ") or " | " not in line:
                continue
            gloss = line.split(" | ", 1)[1].strip()
            yield from _EXAMPLE.findall(gloss)
            yield _EXAMPLE.sub("", gloss).strip(" ;")
