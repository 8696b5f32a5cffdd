"""Finds encoders in folders: what their files say first, weights on demand.

A folder that cannot be used becomes a Problem, not an exception, so that the good ones beside it still work.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from explorer.encoders.folder import DIARY, ENCODER, OF_JOB, EncoderInfo, encoder_name, read_info
from explorer.errors import EncoderError
from explorer.paths import CHECKPOINTS

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


@dataclass(frozen=True)
class Problem:
    """A folder that cannot be used, and why, in one sentence."""

    name: str
    message: str


class Registry:
    """The encoders in some folders. Safe to share between threads.

    Args:
        roots: Folders whose subfolders are encoders, or encoders themselves; those that do not exist are passed over. None:
            the shipped checkpoints.
    """

    def __init__(self, roots: Sequence[Path] | None = None) -> None:
        self.roots = tuple(roots) if roots is not None else (CHECKPOINTS,)
        self._loaded: dict[Path, tuple[str, SentenceTransformer]] = {}
        self._lock = threading.Lock()
        self._broken: dict[Path, tuple[str, str]] = {}

    def scan(self) -> tuple[list[EncoderInfo], list[Problem]]:
        """Returns what is on disk now, reading json and headers only; shipped encoders first, then by name.

        Cross-encoders are among them. Loaded encoders whose folders are gone are given up.
        """
        infos: dict[str, EncoderInfo] = {}
        problems: list[Problem] = []
        folders = self._folders()
        for gone in set(self._loaded) - set(folders):
            self._loaded.pop(gone, None)
        for folder in folders:
            try:
                info = read_info(folder)
            except EncoderError as error:
                problems.append(Problem(encoder_name(folder), str(error)))
                continue
            if info.name in infos:
                problems.append(Problem(info.name, f"{info.name} exists twice; the one in {folder} is left out."))
            elif (broken := self._broken.get(folder)) is not None and broken[0] == info.weights_hash:
                problems.append(Problem(info.name, broken[1]))
            else:
                infos[info.name] = info
        return list(infos.values()), problems

    def encoders(self) -> list[EncoderInfo]:
        """Returns those that scan finds and that make embeddings."""
        return [info for info in self.scan()[0] if info.kind == ENCODER]

    def info(self, name: str) -> EncoderInfo:
        """Returns the encoder of that name; one of the hub also by its id, owner/name for owner--name.

        Raises:
            EncoderError: There is none, or its folder is damaged.
        """
        infos, problems = self.scan()
        wanted = str(name).replace("/", "--")
        for info in infos:
            if info.name == wanted:
                return info
        for problem in problems:
            if problem.name == wanted:
                raise EncoderError(problem.message)
        known = ", ".join(info.name for info in infos) or "none"
        raise EncoderError(f"There is no encoder {str(name)[:80]!r}; the encoders here are: {known}.")

    def choose(self, names: Sequence[str] | None = None) -> list[EncoderInfo]:
        """Returns the encoders of these names, each once, in the order given; all that make embeddings for None.

        Raises:
            EncoderError: A name is unknown, or there is no encoder at all.
        """
        chosen = self.encoders() if names is None else [self.info(name) for name in dict.fromkeys(names)]
        if not chosen:
            raise EncoderError("No encoder is chosen or found; choose at least one.")
        return chosen

    def load(self, name: str) -> SentenceTransformer:
        """Returns the encoder in float32 on the CPU, ready to encode; loaded once and shared.

        Raises:
            EncoderError: It is unknown, a cross-encoder, or its weights do not fit; `scan` then lists it as a problem.
        """
        info = self.info(name)
        if info.kind != ENCODER:
            raise EncoderError(f"{info.name} is a cross-encoder: it scores pairs and makes no embedding of a sentence.")
        # Without the lock first: one that is ready need not wait while another is being loaded.
        encoder = self._ready(info)
        if encoder is not None:
            return encoder
        with self._lock:
            encoder = self._ready(info)
            if encoder is None:
                from explorer.encoders.load import load_encoder

                try:
                    encoder = load_encoder(info.folder)
                except EncoderError as error:
                    self._broken[info.folder] = info.weights_hash, str(error)
                    raise
                self._loaded[info.folder] = info.weights_hash, encoder
            return encoder

    def _ready(self, info: EncoderInfo) -> SentenceTransformer | None:
        found = self._loaded.get(info.folder)
        return found[1] if found is not None and found[0] == info.weights_hash else None

    def _folders(self) -> list[Path]:
        return [
            folder / OF_JOB if (folder / DIARY).is_file() else folder
            for root in self.roots
            if root.is_dir()
            for folder in ([root] if (root / "modules.json").is_file() else sorted(root.iterdir(), key=_shipped_first))
            if folder.is_dir() and not folder.name.startswith(".") and not _unfinished(folder)
        ]


def _unfinished(folder: Path) -> bool:
    """Whether a training still writes here or ended without an encoder: no encoder yet, and no problem either."""
    if (folder / DIARY).is_file():
        return not (folder / OF_JOB / "modules.json").is_file()
    return (folder / ".training").is_dir() and not (folder / "modules.json").exists()


def _shipped_first(folder: Path) -> tuple[int, str]:
    shipped = ("bert-mean", "bert-cnn", "albert-mean", "albert-cnn")
    return (shipped.index(folder.name) if folder.name in shipped else len(shipped), folder.name)
