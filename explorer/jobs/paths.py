"""Which file of a job's folder holds what, and which names a job may have. Creates nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from explorer.errors import TrainingError

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,59}")


@dataclass(frozen=True)
class JobPaths:
    """The names within `runs/<id>/`.

    Args:
        folder: The job's own folder.
    """

    folder: Path

    @property
    def config(self) -> Path:
        """What was asked for: a json object, written once."""
        return self.folder / "config.json"

    @property
    def events(self) -> Path:
        """What happened: one json object a line, only ever added to."""
        return self.folder / "events.jsonl"

    @property
    def log(self) -> Path:
        """Everything the worker printed."""
        return self.folder / "worker.log"

    @property
    def lock(self) -> Path:
        """Locked (flock) by the worker as long as it lives; holds its process id and when that began."""
        return self.folder / "lock"

    @property
    def reserve(self) -> Path:
        """A few blocks of disk that are given up so that a job on a full disk can still say why it failed."""
        return self.folder / "reserve"

    @property
    def encoder(self) -> Path:
        """The finished sentence-transformers folder; before that it holds the checkpoints alone."""
        return self.folder / "encoder"

    @property
    def checkpoints(self) -> Path:
        """Where an unfinished run keeps its checkpoints."""
        return self.encoder / ".training"


def is_name(text: object) -> bool:
    """Whether `text` may name a job: 1 to 60 of a-z, 0-9 and -, no - in front; never a path."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


def check_name(text: object) -> str:
    """Returns `text` if it may name a job.

    Raises:
        TrainingError: It may not.
    """
    if not isinstance(text, str) or not is_name(text):
        raise TrainingError(
            f"{str(text)[:80]!r} cannot name a run; use 1 to 60 small letters, digits and hyphens, no hyphen in front."
        )
    return text
