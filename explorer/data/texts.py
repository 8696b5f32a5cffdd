"""Checks single sentences that people type; never changes more than the white space around them."""

from __future__ import annotations

import sys
from pathlib import Path

from explorer.errors import DataError

MAX_CHARACTERS = 1_000_000


def check_text(text: object, what: str = "The sentence") -> str:
    """Returns the text without white space at its ends.

    Args:
        text: What a person gave; anything but a str is refused.
        what: How the message calls it, with a capital: "Sentence 1".

    Raises:
        DataError: No text, only white space, a NUL character, or over a million characters.
    """
    if text is None:
        raise DataError(f"{what} is missing; type a sentence.")
    if not isinstance(text, str):
        raise DataError(f"{what} is {_short(text)}, which is not text; type a sentence.")
    stripped = text.strip()
    if not stripped:
        raise DataError(f"{what} is empty; type at least one word.")
    if "\0" in stripped:
        raise DataError(f"{what} holds a NUL character at position {stripped.index(chr(0)) + 1}; delete it.")
    if any("\ud800" <= character <= "\udfff" for character in stripped):
        raise DataError(f"{what} holds half of a surrogate pair, which is no character; delete it.")
    if len(stripped) > MAX_CHARACTERS:
        raise DataError(f"{what} has {len(stripped):,} characters; at most {MAX_CHARACTERS:,} can be read. Shorten it.")
    return stripped


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else f"{shown[:37]}..."


def read_lines(path: Path) -> tuple[list[str], int]:
    """Returns the sentences of a text file, one a line, and how many lines were left out because they are blank.

    Args:
        path: A UTF-8 file, or "-" for standard input.

    Raises:
        DataError: The file is missing, not UTF-8, has no text, or a line cannot be used; the line is named.
    """
    try:
        content = sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be read ({error.strerror}); check the path.") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path.name} is not UTF-8 text (byte {error.start}); save it as UTF-8.") from error
    given = content.splitlines()
    lines = [check_text(line, f"Line {number}") for number, line in enumerate(given, start=1) if line.strip()]
    if not lines:
        raise DataError(f"{path.name} holds no text; give one sentence a line.")
    return lines, len(given) - len(lines)
