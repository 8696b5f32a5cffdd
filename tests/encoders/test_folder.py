"""What a folder's files say, read without its weights; test_registry has what is damaged, since nothing else may suffer of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from explorer.encoders.folder import encoder_name, read_header, read_info, read_modules
from explorer.errors import EncoderError
from explorer.training.export import save_encoder


def test_read_header_gives_the_shapes(tmp_path: Path) -> None:
    save_file({"a": torch.zeros(2, 3), "b": torch.zeros(())}, tmp_path / "x.safetensors")
    assert read_header(tmp_path / "x.safetensors") == {"a": (2, 3), "b": ()}


def test_read_info_and_read_modules_of_an_encoder_and_of_a_jobs(tmp_path: Path, tiny_encoder: Callable) -> None:
    job = tmp_path / "mine"
    facts = json.dumps({"scores": {"dev": 70.0, "test": None}})
    save_encoder(tiny_encoder("albert", "cnn"), job / "encoder", {"explorer.json": facts})
    assert [kind for kind, _ in read_modules(job / "encoder")] == ["transformer", "cnn"]
    assert encoder_name(job / "encoder") == "encoder"
    (job / "events.jsonl").touch()
    info = read_info(job / "encoder")
    assert (info.name, info.family, info.pooling, info.kind) == ("mine", "albert", "cnn", "encoder")
    assert dict(info.scores) == {"dev": 70.0}


def test_read_info_of_no_encoder_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match="modules.json is missing; copy the whole folder again"):
        read_info(tmp_path)
