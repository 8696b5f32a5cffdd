"""Encoding gives each text its own vector whatever stands beside it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

from explorer.analysis.similarity import cosine_of_pairs
from explorer.encoders.encode import encode, resolve_precision, tokenize, word_pieces

TEXTS = ["a dog runs", "two men and a woman walk in the rain .", "a", "the big red ball", "a dog runs", "x" * 500, "?"]
KINDS = [(family, pooling) for family in ("bert", "albert") for pooling in ("mean", "cnn", "cls")]


@pytest.mark.parametrize(("family", "pooling"), KINDS)
def test_encode_equals_sentence_transformers(tiny_encoder: Callable, family: str, pooling: str) -> None:
    encoder = tiny_encoder(family, pooling)
    ours = encode(encoder, TEXTS, precision="float32")
    theirs = encoder.encode(TEXTS, show_progress_bar=False)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    assert ours.dtype == np.float32


@pytest.mark.parametrize(("family", "pooling"), KINDS)
def test_encode_alone_equals_in_a_batch_with_a_long_one(tiny_encoder: Callable, family: str, pooling: str) -> None:
    encoder = tiny_encoder(family, pooling)
    together = encode(encoder, [*TEXTS, "dog cat " * 60], precision="float32")[: len(TEXTS)]
    alone = np.concatenate([encode(encoder, [text], precision="float32") for text in TEXTS])
    assert cosine_of_pairs(together, alone).min() >= 0.99999


def test_encode_follows_the_order_of_the_texts(tiny_encoder: Callable) -> None:
    encoder = tiny_encoder("bert", "cnn")
    forward = encode(encoder, TEXTS, precision="float32", batch_size=2)
    backward = encode(encoder, TEXTS[::-1], precision="float32", batch_size=3)[::-1]
    np.testing.assert_allclose(forward, backward, atol=1e-6)


def test_encode_does_equal_texts_once(tiny_encoder: Callable) -> None:
    encoder = tiny_encoder("bert", "mean")
    calls: list[tuple[int, int]] = []
    vectors = encode(encoder, ["a dog", "a cat", "a dog"] * 10, progress=lambda *done: calls.append(done))
    assert vectors.shape == (30, 16)
    assert calls[-1] == (2, 2)
    np.testing.assert_array_equal(vectors[0], vectors[2])


def test_encode_of_nothing_keeps_the_width(tiny_encoder: Callable) -> None:
    assert encode(tiny_encoder("bert", "mean"), []).shape == (0, 16)


@pytest.mark.parametrize("pooling", ["mean", "cnn"])
def test_encode_in_bfloat16_is_close(tiny_encoder: Callable, pooling: str) -> None:
    encoder = tiny_encoder("bert", pooling)
    exact = encode(encoder, TEXTS, precision="float32")
    quick = encode(encoder, TEXTS, precision="bfloat16")
    assert quick.dtype == np.float32
    assert not np.array_equal(exact, quick)
    assert cosine_of_pairs(exact, quick).min() > 0.999


def test_resolve_precision_knows_only_its_names() -> None:
    assert resolve_precision("float32") == "float32"
    assert resolve_precision("auto") in ("float32", "bfloat16")
    with pytest.raises(ValueError, match="float16"):
        resolve_precision("float16")


def test_word_pieces_point_into_the_text(tiny_encoder: Callable) -> None:
    text = "A dog sleeps!"
    read = word_pieces(tiny_encoder("bert", "mean"), text)
    assert read.pieces == ("[CLS]", "a", "dog", "sleeps", "!", "[SEP]")
    assert [text[start:end] for start, end in read.offsets] == ["", "A", "dog", "sleeps", "!", ""]
    assert read.truncated == 0


def test_word_pieces_tell_what_is_cut_off(tiny_encoder: Callable) -> None:
    read = word_pieces(tiny_encoder("bert", "mean"), "dog " * 100)
    assert len(read.pieces) == 32
    assert read.pieces[-1] == "[SEP]"
    assert read.truncated == 102 - 32


def test_tokenize_lets_one_thread_at_a_time_into_a_tokenizer(tiny_encoder: Callable) -> None:
    encoder = tiny_encoder("bert", "mean")
    inside, most, tokenizer = [], [], encoder.tokenizer

    class Watched:
        def __call__(self, *arguments: object, **options: object) -> object:
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.01)
            inside.pop()
            return tokenizer(*arguments, **options)

    encoder = SimpleNamespace(tokenizer=Watched(), max_seq_length=4)
    threads = [threading.Thread(target=tokenize, args=(encoder, "a dog runs to a cat")) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert most == [1] * 4
    assert len(tokenize(encoder, "a dog runs to a cat")["input_ids"]) == 4
    assert len(tokenize(encoder, "a dog runs to a cat", cut=False)["input_ids"]) == 8
