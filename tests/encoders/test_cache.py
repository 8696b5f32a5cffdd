"""The embedding cache: what goes in comes out, only for the same weights, and nothing can break an evaluation."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT

from explorer.encoders.cache import CacheKey, EmbeddingCache, encode_cached
from explorer.encoders.encode import encode

KEY = CacheKey("abc", "mean", 128, 3, "float32")
TEXTS = ["a dog runs", "a cat sleeps", "rain \ud800"]
VECTORS = np.arange(9, dtype=np.float32).reshape(3, 3)


@pytest.fixture
def cache(tmp_path: Path) -> EmbeddingCache:
    return EmbeddingCache(tmp_path)


def test_what_is_put_is_got(cache: EmbeddingCache) -> None:
    cache.put(KEY, TEXTS, VECTORS)
    vectors, known = cache.get(KEY, [TEXTS[2], "unknown", TEXTS[0], TEXTS[2]])
    assert known.tolist() == [True, False, True, True]
    assert vectors.tolist() == [[6, 7, 8], [0, 0, 0], [0, 1, 2], [6, 7, 8]]


@pytest.mark.parametrize(
    "change", [{"weights_hash": "x"}, {"pooling": "cls"}, {"precision": "bfloat16"}, {"max_length": 9}]
)
def test_other_weights_or_settings_find_nothing(cache: EmbeddingCache, change: dict) -> None:
    cache.put(KEY, TEXTS, VECTORS)
    assert not cache.get(replace(KEY, **change), TEXTS)[1].any()


def test_the_texts_are_not_stored_and_nothing_is_left_aside(cache: EmbeddingCache, tmp_path: Path) -> None:
    cache.put(KEY, TEXTS, VECTORS)
    (file,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert b"dog" not in file.read_bytes()


def test_a_damaged_file_is_dropped(cache: EmbeddingCache, tmp_path: Path) -> None:
    cache.put(KEY, TEXTS, VECTORS)
    (file,) = tmp_path.rglob("*.npz")
    file.write_bytes(file.read_bytes()[:-30])
    assert not cache.get(KEY, TEXTS)[1].any()
    assert not file.exists()


@pytest.mark.parametrize("after", [6, 8])
def test_a_file_with_a_damaged_directory_is_dropped(cache: EmbeddingCache, tmp_path: Path, after: int) -> None:
    cache.put(KEY, TEXTS, VECTORS)
    (file,) = tmp_path.rglob("*.npz")
    content = bytearray(file.read_bytes())
    content[content.index(b"PK\x01\x02") + after] ^= 0x81  # its version, or whether it is encrypted
    file.write_bytes(content)
    assert not cache.get(KEY, TEXTS)[1].any()
    assert not file.exists()


def test_a_folder_that_cannot_be_written_only_costs_time(tmp_path: Path) -> None:
    (tmp_path / "embeddings").write_text("in the way")
    EmbeddingCache(tmp_path).put(KEY, TEXTS, VECTORS)


def test_the_files_used_longest_ago_go_first(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path, limit_bytes=2000)
    for number in range(4):
        cache.put(KEY, [f"text {number}"], VECTORS[:1])
    assert 1 <= len(list(tmp_path.rglob("*.npz"))) < 4
    assert cache.get(KEY, ["text 3"])[1].all()


def test_encode_cached_equals_encode_and_encodes_each_text_once(cache: EmbeddingCache, tiny_encoder: Callable) -> None:
    encoder, calls = tiny_encoder("bert", "cnn"), []
    key = replace(KEY, dimension=16)
    texts = ["a dog runs", "a cat sleeps", "a dog runs"]

    def load() -> object:
        calls.append(1)
        return encoder

    reports: list[tuple[int, int]] = []
    first = encode_cached(load, key, texts, cache)
    again = encode_cached(load, key, ["a cat sleeps", "a dog runs"], cache, lambda *done: reports.append(done))
    assert np.array_equal(first, encode(encoder, texts, precision="float32"))
    assert np.array_equal(again, first[[1, 0]])
    assert calls == [1]
    assert reports == [(2, 2)]


def test_what_was_encoded_before_a_stop_is_kept(
    cache: EmbeddingCache, tiny_encoder: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.encoders.cache._TEXTS_A_FILE", 2)
    texts = ["a dog", "a cat", "a bird", "a horse"]

    def stop(done: int, _total: int) -> None:
        if done > 2:
            raise KeyboardInterrupt

    key = replace(KEY, dimension=16)
    with pytest.raises(KeyboardInterrupt):
        encode_cached(lambda: tiny_encoder("bert", "mean"), key, texts, cache, stop)
    assert cache.get(key, texts)[1].tolist() == [True, True, False, False]


def test_the_cache_loads_no_torch() -> None:
    code = "import sys, explorer.encoders.cache; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_only_files_that_helped_count_as_used(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path)
    cache.put(KEY, TEXTS, VECTORS)
    cache.put(KEY, ["other"], VECTORS[:1])
    helped, passed_over = sorted(tmp_path.rglob("*.npz"), key=lambda path: -path.stat().st_size)
    for path in (helped, passed_over):
        os.utime(path, (1, 1))
    cache.get(KEY, [*TEXTS, "absent"])
    assert helped.stat().st_mtime > 1
    assert passed_over.stat().st_mtime == 1


def test_a_read_only_cache_gives_and_never_writes(tmp_path: Path) -> None:
    EmbeddingCache(tmp_path).put(KEY, TEXTS, VECTORS)
    (file,) = tmp_path.rglob("*.npz")
    os.utime(file, (1, 1))
    cache = EmbeddingCache(tmp_path, read_only=True)
    assert cache.get(KEY, TEXTS)[1].all()
    cache.put(KEY, ["other"], VECTORS[:1])
    assert not cache.get(KEY, ["other"])[1].any()
    assert file.stat().st_mtime == 1
