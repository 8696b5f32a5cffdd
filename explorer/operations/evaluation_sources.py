"""What an evaluation can be made of besides what is here: encoders in other folders or on the hub, STSb from the hub."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from explorer.data.hub import fetch_table
from explorer.data.tables import read_pairs
from explorer.encoders.folder import EncoderInfo, read_info
from explorer.encoders.hub import fetch_model, folder_name
from explorer.encoders.registry import Registry
from explorer.errors import EncoderError
from explorer.hub import is_repository_id
from explorer.paths import downloads_folder

Progress = Callable[[int, int], None]
_SPLITS = ("train", "dev", "test")


def add_encoder(registry: Registry, asked: str, progress: Progress | None = None) -> EncoderInfo:
    """Returns an encoder that the registry then lists.

    Args:
        registry: Gets the encoder's folder if it has not got it yet.
        asked: A folder on this machine, or an id of the hub (owner/name), which is downloaded unless it is here already.
        progress: Called with bytes done and in all; may raise to stop.

    Raises:
        EncoderError: There is no such folder or repository, or it is no encoder.
    """
    text = asked.strip()
    if not text:
        raise EncoderError("Name a folder on this machine, or an encoder of the Hugging Face hub as owner/name.")
    folder = Path(text).expanduser()
    if not folder.is_dir():
        if not is_repository_id(text):
            raise EncoderError(f"There is no folder {text[:120]!r} here, and it is not an id of the hub (owner/name).")
        for other in registry.scan()[0]:
            if other.name == folder_name(text):
                return other
        folder = fetch_model(text, progress=progress)
    info = read_info(folder.resolve())
    known = {other.folder.resolve() for other in registry.scan()[0]}
    if info.folder not in known:
        registry.roots = (*registry.roots, info.folder)
    for other in registry.scan()[0]:
        if other.folder.resolve() == info.folder:
            return other
    raise EncoderError(f"An encoder named {info.name} is here already; rename the folder {info.folder}.")


def add_named(registry: Registry, names: Sequence[str] | None, progress: Progress | None = None) -> list[str] | None:
    """Returns the names of encoders, those given as a folder or a hub id added to the registry; None stays None.

    Raises:
        EncoderError: One of them cannot be used.
    """
    if names is None:
        return None
    return [add_encoder(registry, name, progress).name if "/" in name else name for name in names]


def stsb_from_hub(progress: Progress | None = None) -> Path:
    """Returns a data folder with stsb/train.tsv, dev.tsv and test.tsv of the hub's table, downloaded unless it is here.

    Raises:
        DataError: It cannot be fetched.
    """
    table = fetch_table("stsb", progress=progress)
    target = downloads_folder("tables") / "stsb-data"
    if all((target / "stsb" / f"{split}.tsv").is_file() for split in _SPLITS):
        return target
    pairs = read_pairs(table, score_range=(0, 5))
    aside = Path(tempfile.mkdtemp(dir=target.parent, prefix="."))
    try:
        (aside / "stsb").mkdir()
        for split in _SPLITS:
            some = pairs.loc[pairs["split"] == split, ["score", "sentence1", "sentence2"]]
            some.to_csv(aside / "stsb" / f"{split}.tsv", sep="\t", index=False)
        shutil.rmtree(target, ignore_errors=True)
        aside.replace(target)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return target
