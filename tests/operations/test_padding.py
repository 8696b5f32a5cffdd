"""The padding check passes for our encoders and would catch one that sees padding."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.encoders import encode
from explorer.encoders.registry import Registry
from explorer.operations import padding
from explorer.operations.padding import check_padding
from explorer.training.export import save_encoder


@pytest.mark.parametrize("pooling", ["mean", "cnn", "cls"])
def test_our_encoders_ignore_padding(tmp_path: Path, tiny_encoder: Callable, pooling: str) -> None:
    save_encoder(tiny_encoder("albert", pooling), tmp_path / "it", {}, half=False)
    found = check_padding(Registry([tmp_path]), "it")
    assert found.passed
    assert (found.encoder, found.n) == ("it", 3)


def test_an_encoder_that_sees_padding_is_caught(
    tmp_path: Path, tiny_encoder: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_encoder(tiny_encoder("bert", "mean"), tmp_path / "it", {}, half=False)
    plain = encode.encode

    def sees_the_batch(encoder: object, texts: list[str], **settings: object) -> object:
        return plain(encoder, texts, **settings) + (0.5 if len(texts) > 1 else 0)

    monkeypatch.setattr(encode, "encode", sees_the_batch)
    assert not check_padding(Registry([tmp_path]), "it").passed


def test_the_sentences_go_through_as_one_batch(tmp_path: Path, tiny_encoder: Callable) -> None:
    encoder, batches = tiny_encoder("bert", "mean"), []
    encoder[0].register_forward_pre_hook(lambda _module, given: batches.append(given[0]["input_ids"].shape[0]))
    encode.encode(encoder, [*padding.SENTENCES, padding._LONG])
    assert batches == [4]
