"""Encoders of the Hugging Face hub: fetched once into a folder of our own, which the registry lists like any other.

Takes safetensors, json and tokenizer files alone: no code and no pickle is downloaded, let alone run.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from explorer.encoders.folder import FACTS_FILE, read_info, read_json, read_modules
from explorer.errors import EncoderError
from explorer.hub import (
    OFFLINE,
    Progress,
    RemoteFile,
    Repository,
    check_repository_id,
    fetch,
    in_hub_cache,
    is_repository_id,
    look_up,
)
from explorer.paths import downloads_folder, hub_allowed

# The root of a repository and its modules' folders (1_Pooling), not the exports beside them (onnx, openvino).
_FILES = re.compile(
    r"(?:\d{1,2}_[A-Za-z]{1,40}/)?(?:[\w.-]+\.(?:json|txt)|model\.safetensors|(?:spiece|sentencepiece\.bpe)\.model)",
    re.ASCII,
)
_FOREIGN = frozenset({FACTS_FILE, "model.safetensors.index.json"})
_LARGEST_TEXT = 64 * 2**20
_MEAN_POOLING = (
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
)


def folder_name(repository: str) -> str:
    """Returns the name under which a repository's encoder is listed: owner--name."""
    return repository.replace("/", "--")


def fetch_model(repository: str, *, progress: Progress | None = None, revision: str | None = None) -> Path:
    """Returns the folder of an encoder or backbone of the hub, downloaded unless it is there already.

    A repository without a sentence layer, like a plain BERT, gets average pooling, and its facts say so. A last module that
    only scales vectors to length 1 is left out, since it changes no cosine.

    Args:
        repository: owner/name.
        progress: Called with bytes done and in all; may raise to stop; files that came whole are kept.
        revision: Branch, tag or commit; None for what was fetched before, else the main branch.

    Returns:
        A folder that sentence-transformers, transformers and Registry can read; the same for every call.

    Raises:
        EncoderError: No such repository, one that cannot be used here, no connection, or no room on the disk.
    """
    repository = check_repository_id(repository, EncoderError)
    target = downloads_folder() / folder_name(repository)
    if (target / "modules.json").is_file() and (revision is None or _fetched(target).get("revision") == revision):
        return target
    found = look_up(repository, "model", EncoderError, revision) if hub_allowed() else _cached(repository, revision)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".", ignore_cleanup_errors=True) as aside:
        made = Path(aside) / target.name
        try:
            notes = _download(found, made, progress)
            _write_facts(made, found, revision or found.commit, notes)
            if target.exists():
                target.rename(Path(aside) / "old")
            made.rename(target)
        except OSError as error:
            raise EncoderError(f"{repository} cannot be written to {target.parent} ({error.strerror}).") from error
    return target


def backbone_folder(backbone: str | Path, progress: Progress | None = None) -> str:
    """Returns the folder of a backbone's transformer: in the folder given or, for a hub id, in the one it is fetched to.

    Any other text is returned as it is, for loading to refuse.

    Raises:
        EncoderError: The hub has no such repository, or it cannot be fetched.
    """
    name = str(backbone)
    if is_repository_id(name) and not Path(name).exists():
        try:
            name = str(fetch_model(name, progress=progress))
        except EncoderError as error:
            raise EncoderError(
                f"Backbone {name!r} is no folder here, and as an id of the hub it cannot be loaded: {error}"
            ) from error
    first = Path(name, "0_Transformer")
    return str(first) if (first / "config.json").is_file() else name


def _cached(repository: str, revision: str | None) -> Repository:
    """What the hub's own cache holds; asks no host."""
    folder = in_hub_cache(repository, "model", revision)
    if folder is None or not (folder / "model.safetensors").exists():
        raise EncoderError(f"{repository}: {OFFLINE}.")
    files = [path for path in folder.rglob("*") if path.is_file()]
    held = tuple(RemoteFile(path.relative_to(folder).as_posix(), path.stat().st_size) for path in files)
    return Repository(repository, "model", folder.name, held)


def _download(found: Repository, made: Path, progress: Progress | None) -> list[str]:
    """Fills a folder; returns what had to be changed, a few words each."""
    sizes = {file.path: file.size for file in found.files}
    chosen = _chosen(list(sizes))
    _need(found.id, chosen, list(sizes))
    small = [name for name in chosen if not name.endswith(".safetensors")]
    if large := [name for name in small if sizes[name] > _LARGEST_TEXT]:
        raise EncoderError(f"{found.id}: {large[0]} has {sizes[large[0]]:,} bytes, too many for a settings file.")
    whole, before = sum(sizes[name] for name in chosen), sum(sizes[name] for name in small)
    # The settings first: what they rule out is refused before its weights are fetched.
    _place(fetch(found, small, EncoderError, _shifted(progress, 0, whole)), made)
    _check_settings(found.id, made)
    notes = _sentence_layer(made)
    read_modules(made)
    weights = [name for name in chosen if name not in small]
    _place(fetch(found, weights, EncoderError, _shifted(progress, before, whole)), made)
    return notes


def _shifted(progress: Progress | None, before: int, whole: int) -> Progress | None:
    return (lambda done, _: progress(before + done, whole)) if progress else None


def _write_facts(made: Path, found: Repository, revision: str, notes: list[str]) -> None:
    """Checks a folder like any other encoder's, and notes where it is from."""
    info = read_info(made)
    remarks = "".join(f"; {note}" for note in notes)
    label = f"{found.id} ({info.family.upper()}, H {info.embedding_dimension}{remarks})"
    hub = {"repository": found.id, "revision": revision, "commit": found.commit}
    _write(made / FACTS_FILE, {"backbone": label, "hub": hub, "notes": notes})


def _chosen(names: Sequence[str]) -> list[str]:
    return [name for name in names if _FILES.fullmatch(name) and name not in _FOREIGN]


def _need(repository: str, chosen: Sequence[str], every: Sequence[str]) -> None:
    if not any(name.endswith("model.safetensors") for name in chosen):
        if "model.safetensors.index.json" in every:
            raise EncoderError(
                f"{repository} has its weights in several files, which is not read here; choose a smaller one."
            )
        pickles = [name for name in every if name.endswith((".bin", ".pt", ".ckpt", ".h5", ".msgpack"))]
        instead = f"only {pickles[0]}, which can run code" if pickles else "no weights"
        raise EncoderError(f"{repository} has no model.safetensors, {instead}; choose a repository with safetensors.")
    if not any(name.rsplit("/", 1)[-1] == "config.json" for name in chosen):
        raise EncoderError(f"{repository} has no config.json; it is not a transformer this can read.")


def _check_settings(repository: str, folder: Path) -> None:
    """Refuses what a plain backbone's settings rule out; modules that bring code are refused by their types."""
    if (folder / "modules.json").is_file() or not (folder / "config.json").is_file():
        return
    config = read_json(folder / "config.json")
    if not isinstance(config, dict):
        raise EncoderError(f"{repository}: config.json holds no json object; it is not a transformer this can read.")
    if config.get("auto_map"):
        raise EncoderError(f"{repository} needs code of its own (auto_map in config.json), which is never run here.")
    made = next(iter(config.get("architectures") or []), "")
    if str(made).endswith("ForSequenceClassification"):
        raise EncoderError(
            f"{repository} is a classifier ({made}), not an encoder; choose an encoder or a plain backbone."
        )


def _place(files: Mapping[str, Path], folder: Path) -> None:
    """Gives each file a second name, which takes no room; copies where that cannot be."""
    for name, source in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(source.resolve(), target)
        except OSError:
            shutil.copyfile(source, target)


def _sentence_layer(folder: Path) -> list[str]:
    """Gives a plain backbone average pooling; leaves out a last Normalize. Returns what was done, a few words each."""
    path = folder / "modules.json"
    if not path.is_file():
        config = read_json(folder / "config.json")
        width = config.get("hidden_size") if isinstance(config, dict) else None
        _write(path, list(_MEAN_POOLING))
        (folder / "1_Pooling").mkdir(exist_ok=True)
        pooling = {"embedding_dimension": width, "pooling_mode": "mean", "include_prompt": True}
        _write(folder / "1_Pooling" / "config.json", pooling)
        return ["average pooling added"]
    modules = read_json(path)
    types = [str(row.get("type")) for row in modules if isinstance(row, dict)] if isinstance(modules, list) else []
    if len(types) > 2 and types[-1].startswith("sentence_transformers.") and types[-1].endswith(".Normalize"):
        _write(path, modules[:-1])
        return ["scaling to length 1 left out"]
    return []


def _write(path: Path, content: Any) -> None:
    # Removed first: the file may be a second name for one in the hub's cache, which must not change.
    path.unlink(missing_ok=True)
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _fetched(folder: Path) -> dict[str, Any]:
    facts = read_json(folder / FACTS_FILE) if (folder / FACTS_FILE).is_file() else {}
    hub = facts.get("hub") if isinstance(facts, dict) else None
    return hub if isinstance(hub, dict) else {}
