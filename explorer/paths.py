"""Every folder the project uses, and the only reader of environment variables. Creates nothing at import."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHECKPOINTS = ROOT / "checkpoints"
ASSETS = ROOT / "assets"


def cache_folder() -> Path:
    """Returns a writable folder for embeddings and other things that can be made again.

    EXPLORER_CACHE if set, else ~/.cache/sentence-encoder-explorer; a folder under the system's temporary one where that
    cannot be written, as in some containers.
    """
    named = os.environ.get("EXPLORER_CACHE")
    try:
        wanted = Path(named) if named else Path.home() / ".cache" / "sentence-encoder-explorer"
        wanted.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=wanted):
            return wanted
    except (OSError, RuntimeError):  # RuntimeError: a user without a home
        fallback = Path(tempfile.gettempdir()) / f"sentence-encoder-explorer-{os.getuid()}"
        fallback.mkdir(parents=True, exist_ok=True)
        return fallback


def runs_folder() -> Path:
    """Returns the folder of training runs: EXPLORER_RUNS if set, else runs/ in the project. It may not exist yet."""
    named = os.environ.get("EXPLORER_RUNS")
    return Path(named) if named else ROOT / "runs"


def downloads_folder(what: str = "encoders") -> Path:
    """Returns the folder of what was fetched from the hub, "encoders" or "tables". It may not exist yet."""
    return cache_folder() / "hub" / what


def encoder_folders() -> list[Path]:
    """Returns the folders encoders are looked for in: the shipped ones, own runs, those fetched from the hub."""
    return [CHECKPOINTS, runs_folder(), downloads_folder()]


def on_space() -> bool:
    """Whether this runs as a Space of the Hugging Face hub, open to everyone (SPACE_ID is set)."""
    return bool(os.environ.get("SPACE_ID"))


def password() -> str | None:
    """Returns the password the page asks for, EXPLORER_PASSWORD; None for none."""
    return os.environ.get("EXPLORER_PASSWORD") or None


def server_name() -> str | None:
    """Returns the address that gradio listens on where none is given, GRADIO_SERVER_NAME; None for its own choice."""
    return os.environ.get("GRADIO_SERVER_NAME") or None


def hub_allowed() -> bool:
    """Whether models may be fetched from the Hugging Face hub, which HF_HUB_OFFLINE forbids."""
    return os.environ.get("HF_HUB_OFFLINE", "").upper() not in ("1", "TRUE", "YES", "ON")


def process_rank() -> int:
    """Returns which of several processes of one job this is, as a launcher numbers them (RANK); 0 if it is alone."""
    rank = os.environ.get("RANK", "")
    return int(rank) if rank.isdecimal() else 0


def process_count() -> int:
    """Returns how many processes share one job's work, as a launcher tells them (WORLD_SIZE); 1 without one."""
    count = os.environ.get("WORLD_SIZE", "")
    return max(1, int(count)) if count.isdecimal() else 1


def portable(text: str) -> str:
    """Returns `text` with the project's folder left out of paths and the person's home as ~, for what is handed on."""
    text = text.replace(f"{ROOT}/", "")
    try:
        home = str(Path.home())
    except RuntimeError:  # a user without one
        return text
    return text if home == "/" else text.replace(f"{home}/", "~/")
