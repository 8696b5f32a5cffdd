"""What the linked maps show: packed numbers come back, labels are coded, nothing of it is not json."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from explorer.encoders.registry import Registry
from explorer.operations.map_payload import cosine_answer, key_of, pack, payload, typed_answer
from explorer.operations.map_report import plain_cell, point_rows
from explorer.operations.project import Cleaned, Maps, encode_typed, place_vectors, project
from explorer.training.export import save_encoder

SENTENCES = tuple(f"the {who} {what}" for who in ("dog", "cat", "woman", "=boy") for what in ("runs", "sings"))
LABELS = {"who": ("d", "d", "c", "c", "w", "w", "b", "")}


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory, tiny_encoder: Callable) -> Registry:
    root = tmp_path_factory.mktemp("encoders")
    for pooling in ("mean", "cnn"):
        save_encoder(tiny_encoder("bert", pooling), root / f"bert-{pooling}", {}, half=False)
    return Registry([root])


@pytest.fixture(scope="module")
def maps(registry: Registry, tmp_path_factory: pytest.TempPathFactory) -> Maps:
    corpus = Cleaned(SENTENCES, tuple(range(8)), 8, 0, 0, "8 rows.", labels=LABELS)
    return project(registry, corpus, k=3, precision="float32")


def unpack(packed: dict[str, str]) -> np.ndarray:
    ((kind, text),) = packed.items()
    return np.frombuffer(base64.b64decode(text), dtype={"f32": "<f4", "i32": "<i4", "u8": "u1", "i8": "i1"}[kind])


def test_packed_numbers_come_back() -> None:
    for values in ([1.5, float("nan")], [3, -1]):
        assert np.array_equal(unpack(pack(np.array(values))), np.array(values), equal_nan=True)
    assert pack(np.array([255], dtype=np.uint8)) == {"u8": "/w=="}
    assert unpack(pack(np.array([-3], dtype=np.int8)))[0] == -3


def test_payload_is_json_and_holds_the_maps(maps: Maps) -> None:
    made = json.loads(json.dumps(payload(maps, {"bert-mean": "hue-blue"}, {}), allow_nan=False))
    first, second = made["encoders"]
    assert (first["name"], first["css"], second["css"]) == ("bert-mean", "hue-blue", "")
    assert unpack(first["points"]).reshape(8, 2) == pytest.approx(maps.encoders[0].projection.points, abs=1e-6)
    assert np.array_equal(unpack(second["neighbours"]).reshape(8, 3), maps.encoders[1].neighbours.rows)
    assert "Procrustes distance of the maps, to bert-mean" in second["facts"][-1]
    label = made["colours"][0]
    assert label["names"] == ["c", "d", "w", "b"] and unpack(label["codes"]).tolist() == [1, 1, 0, 0, 2, 2, 3, 255]
    assert {"length", "overlap", "kept", "cluster-bert-cnn"} <= {colour["id"] for colour in made["colours"]}
    assert made["matrices"][-1]["title"] == "Procrustes distance of the vectors"
    assert made["matrices"][0]["values"][0][0] == pytest.approx(1)
    assert "vectors" not in first


def test_the_file_carries_vectors_whose_cosines_are_right_to_two_digits(maps: Maps) -> None:
    carried = unpack(payload(maps, {}, {}, vectors=True)["encoders"][1]["vectors"]).reshape(8, -1).astype(float)
    lengths = np.linalg.norm(carried, axis=1)
    here = carried @ carried[2] / lengths / lengths[2]
    assert here == pytest.approx(unpack(cosine_answer(maps, 2)["values"][1]), abs=0.02)


def test_the_key_changes_with_what_is_shown(registry: Registry, maps: Maps) -> None:
    other = project(registry, maps.corpus, k=2, precision="float32")
    assert key_of(maps) != key_of(other)
    assert key_of(maps) == key_of(project(registry, maps.corpus, k=3, precision="float32"))
    for other_corpus in ({"name": "another"}, {"labels": {"kind": ("a",) * len(maps.corpus.sentences)}}):
        assert key_of(maps) != key_of(replace(maps, corpus=replace(maps.corpus, **other_corpus)))


def test_a_typed_sentence_has_its_place_neighbours_and_cosines(registry: Registry, maps: Maps) -> None:
    vectors = encode_typed(registry, maps, SENTENCES[3])
    made = typed_answer(maps, SENTENCES[3], place_vectors(maps, vectors, 3), [np.zeros(8)] * 2)
    assert unpack(made["places"][0]["rows"])[0] == 3
    assert "lies there" in made["places"][0]["note"]


def test_no_cell_of_the_table_is_a_formula(maps: Maps) -> None:
    assert [plain_cell(text) for text in ("=1+1", "+1", "-1", "@a", "\tx", "fine", "")] == [
        "'=1+1",
        "'+1",
        "'-1",
        "'@a",
        "'\tx",
        "fine",
        "",
    ]
    rows = point_rows(maps)
    assert len(rows) == 16 and rows[0]["label_who"] == "d"


def test_a_map_without_keeping_leaves_no_file(
    registry: Registry, maps: Maps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from explorer.encoders.cache import EmbeddingCache

    monkeypatch.setenv("EXPLORER_CACHE", str(tmp_path))
    project(registry, maps.corpus, cache=EmbeddingCache(read_only=True), keep=False)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
