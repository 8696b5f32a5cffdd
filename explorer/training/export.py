"""Writes an encoder as an ordinary sentence-transformers folder: fp16 or fp32 safetensors, written aside, then renamed."""

from __future__ import annotations

import json
import shutil
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from sentence_transformers import CrossEncoder, SentenceTransformer
from torch import Tensor

from explorer.encoders import cnn_pooling

# The module's code lies in the folder's root under this name, so that the folder also loads where this project is not.
PORTABLE_FILE = "cnn_pooling.py"
PORTABLE_TYPE = "cnn_pooling.CNNPooling"


def save_encoder(encoder: SentenceTransformer, folder: Path, files: Mapping[str, str], *, half: bool = True) -> None:
    """Writes the whole folder or nothing; a folder already there is replaced at the last moment.

    Args:
        encoder: A Transformer and a sentence layer.
        folder: Where to; its parent is made.
        files: Name and content of text files to lay beside the weights, such as README.md.
        half: Store the weights as float16; the explorer reads them as float32.
    """
    put_in_place(write_aside(encoder, folder, half=half), folder, files)


def write_aside(
    encoder: SentenceTransformer | CrossEncoder,
    folder: Path,
    *,
    half: bool = True,
    beside: Mapping[str, Mapping[str, Tensor]] | None = None,
) -> Path:
    """Writes the weights into a folder next to `folder`, ready for `put_in_place`, and returns it.

    Args:
        encoder: What to write.
        folder: Where it is to be in the end; its parent is made.
        half: Store the weights as float16.
        beside: Further safetensors files: name and tensors.
    """
    aside = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(aside, ignore_errors=True)
    aside.parent.mkdir(parents=True, exist_ok=True)
    copy = deepcopy(encoder.cpu())  # a second copy may not fit on a GPU
    (copy.half() if half else copy).save_pretrained(str(aside), create_model_card=False, safe_serialization=True)
    _make_portable(aside)
    for name, tensors in (beside or {}).items():
        save_file({key: value.contiguous() for key, value in tensors.items()}, aside / name)
    return aside


def put_in_place(aside: Path, folder: Path, files: Mapping[str, str]) -> None:
    """Adds text files to what `write_aside` wrote, lets everyone read it, and puts it in the place of `folder`."""
    for name, content in files.items():
        (aside / name).write_text(content, encoding="utf-8")
    for path in aside.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    replace_folder(aside, folder)


def replace_folder(aside: Path, folder: Path) -> None:
    """Puts `aside` in the place of `folder`; a signal that comes meanwhile is passed over, since all is done then."""
    old = _old_of(folder)
    with _undisturbed():
        if folder.exists():
            shutil.rmtree(old, ignore_errors=True)
            folder.rename(old)
        aside.rename(folder)
        shutil.rmtree(old, ignore_errors=True)


def recover_folder(folder: Path) -> None:
    """Brings `folder` back where `replace_folder` was killed half way; the old one, unless the new one is in its place."""
    if not folder.exists():
        with suppress(FileNotFoundError):
            _old_of(folder).rename(folder)
    shutil.rmtree(_old_of(folder), ignore_errors=True)


def refresh_code(folder: Path) -> None:
    """Lays this version of the sentence layer's code into a CNN encoder's folder."""
    if (folder / PORTABLE_FILE).is_file():
        shutil.copyfile(cnn_pooling.__file__, folder / PORTABLE_FILE)


def count_parameters(encoder: SentenceTransformer | CrossEncoder) -> dict[str, int]:
    """Returns the number of weights by part: embeddings, layers, and what comes after them.

    That is the sentence layer of an encoder, whose pooler nothing reads and which is left out; the pooler and the classifier
    of a cross-encoder.
    """
    crossed = isinstance(encoder, CrossEncoder)
    backbone: Any = encoder.transformers_model
    counts = {"embeddings": 0, "layers": 0, "sentence_layer": 0}
    for name, parameter in backbone.named_parameters():
        last = "pooler." in name or name.startswith("classifier.")
        part = "sentence_layer" if last else "embeddings" if "embedding" in name else "layers"
        if crossed or not last:
            counts[part] += parameter.numel()
    if not crossed:
        counts["sentence_layer"] = sum(parameter.numel() for parameter in encoder[1].parameters())
    return counts


def _old_of(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.old")


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Passes over the signals that ask to stop; only the main thread may, and only there do they arrive."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _make_portable(folder: Path) -> None:
    path = folder / "modules.json"
    modules = json.loads(path.read_text(encoding="utf-8"))
    for module in modules:
        if module["type"].endswith(".CNNPooling"):
            module["type"] = PORTABLE_TYPE
            shutil.copyfile(cnn_pooling.__file__, folder / PORTABLE_FILE)
    path.write_text(json.dumps(modules, indent=2) + "\n", encoding="utf-8")
