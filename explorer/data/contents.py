"""The bytes of a person's file: of which kind they really are, and which text they hold. Refuses what is no text, by name."""

from __future__ import annotations

import codecs
from pathlib import Path

from explorer.errors import DataError

LARGEST_FILE = 2**30
# First bytes of what often bears the wrong name, and what to do about it.
_KINDS = (
    (b"PK\x03\x04", "is an Excel workbook or a zip archive, not text; open it and save it as CSV UTF-8"),
    (b"\xd0\xcf\x11\xe0", "is an old Excel or Word file, not text; open it and save it as CSV UTF-8"),
    (b"\x1f\x8b", "is compressed with gzip; unpack it first"),
    (b"%PDF", "is a PDF, not text; copy its sentences into a text file"),
    (b"version https://git-lfs", "is a pointer to a file in Git LFS, not the file; fetch it with git lfs pull"),
)
_PARQUET = b"PAR1"
_WEB_PAGES = (b"<!doctype html", b"<html", b"<?xml")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def read_bytes(path: Path) -> bytes:
    """Returns a file's content, unless its first bytes are of another kind than its name says.

    Raises:
        DataError: The file is missing, cannot be opened, is larger than a gigabyte, or is of another kind.
    """
    try:
        if not path.is_file():
            raise DataError(f"No file at {str(path)!r}; check the path.")
        if path.stat().st_size > LARGEST_FILE:
            raise DataError(f"{path.name} is larger than a gigabyte ({path.stat().st_size:,} bytes); split it.")
        content = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise DataError(f"{str(path)!r} cannot be read ({error}); check the path.") from error
    head, parquet = content[:512].lstrip().lower(), path.suffix.lower() == ".parquet"
    for mark, reason in _KINDS:
        if content.startswith(mark):
            raise DataError(f"{path.name} {reason}.")
    if content.startswith(_PARQUET) and not parquet:
        raise DataError(f"{path.name} is a parquet file; rename it to {path.stem}.parquet.")
    if head.startswith(_WEB_PAGES):
        raise DataError(f"{path.name} is a web page, not a table; download the file itself.")
    if parquet and not content.startswith(_PARQUET):
        raise DataError(f"{path.name} cannot be read as parquet: its first bytes are {content[:4]!r}; copy it again.")
    return content


def still_here(path: str | Path) -> Path:
    """Returns the path of an upload, which may have been deleted since.

    Raises:
        DataError: It is gone. The message does not name the folder, which is none of the person's own.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"{path.name} is not here any more, since uploads are kept for an hour; upload it again.")
    return path


def decode(content: bytes, path: Path, *, guess: bool = False) -> tuple[str, tuple[str, ...]]:
    """Returns a file's text with Unix line ends, and what was guessed, a sentence each.

    Args:
        content: Of the file.
        path: For messages.
        guess: Read what is not UTF-8 as Windows-1252, else Latin-1, with a note, instead of refusing it.

    Raises:
        DataError: It is no text: another encoding where nothing may be guessed, or NUL characters; the line is named.
    """
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), "utf-8")
    notes: tuple[str, ...] = ()
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        if not guess or encoding != "utf-8":
            raise DataError(f"{path.name} is not UTF-8 text (byte {error.start}); save it as UTF-8.") from error
        text, name = _single_byte(content)
        notes = (f"It is not UTF-8 and was read as {name}; check its accents, or save it as UTF-8.",)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        if text.count("\0") * 3 > len(text):
            raise DataError(f"{path.name} looks like UTF-16 without its mark; save it as UTF-8.")
        raise DataError(f"{path.name}, line {line}: there is a NUL character, so this is no plain text; delete it.")
    return text.replace("\r\n", "\n").replace("\r", "\n"), notes


def _single_byte(content: bytes) -> tuple[str, str]:
    try:
        return content.decode("cp1252"), "Windows-1252"
    except UnicodeDecodeError:
        return content.decode("latin-1"), "Latin-1"
