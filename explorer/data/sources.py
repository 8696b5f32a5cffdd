"""Where sentences come from: pair tables, plain text files, WordNet's glosses. Reads only; nothing is downloaded."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from explorer.data.tables import read_frame
from explorer.errors import DataError

_WORDNET_PARTS = ("noun", "verb", "adj", "adv")
_EXAMPLE = re.compile(r'"([^"]{8,})"')


def read_sentences(sources: Iterable[str | Path]) -> list[str]:
    """Returns the distinct sentences of several sources, in order of first appearance.

    Args:
        sources: Each a .tsv with columns sentence1 and sentence2, a .txt with one sentence a line, or a folder in the
            format of WordNet's database (files data.noun, data.verb, data.adj, data.adv).

    Raises:
        DataError: A source is missing, damaged or of another kind.
    """
    seen: dict[str, None] = {}
    for source in map(Path, sources):
        for sentence in _read_source(source):
            text = " ".join(sentence.split())
            if text:
                seen.setdefault(text)
    return list(seen)


def _read_source(path: Path) -> Iterable[str]:
    if all((path / f"data.{part}").is_file() for part in _WORDNET_PARTS):
        return _wordnet(path)
    if not path.is_file():
        raise DataError(f"No text source at {str(path)!r}: give a .tsv, a .txt or a WordNet folder.")
    if path.suffix.lower() == ".tsv":
        frame = read_frame(path)
        missing = {"sentence1", "sentence2"} - set(frame.columns)
        if missing:
            raise DataError(
                f"{path.name} has the columns {', '.join(frame.columns)}; sentence1 and sentence2 are needed."
            )
        return [*frame["sentence1"], *frame["sentence2"]]
    if path.suffix.lower() == ".txt":
        return _lines(path)
    raise DataError(f"Text source {path.name!r} is neither .tsv nor .txt nor a WordNet folder.")


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise DataError(f"{path.name} is not UTF-8 text (byte {error.start}); save it as UTF-8.") from error


def _wordnet(folder: Path) -> Iterable[str]:
    """Yields the glosses and the quoted examples of a WordNet database."""
    for part in _WORDNET_PARTS:
        for line in _lines(folder / f"data.{part}"):
            if line.startswith("  ") or " | " not in line:
                continue
            gloss = line.split(" | ", 1)[1].strip()
            yield from _EXAMPLE.findall(gloss)
            yield _EXAMPLE.sub("", gloss).strip(" ;")
