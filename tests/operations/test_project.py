"""Maps of a tiny corpus: cleaned, aligned, cached, the same in any order; a typed sentence placed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from explorer.analysis.projection import MapSettings, Method
from explorer.encoders import encode as encode_module
from explorer.encoders.registry import Registry
from explorer.errors import DataError, EncoderError, SettingError
from explorer.operations import project as operation
from explorer.operations.project import clean, place, project
from explorer.training.export import save_encoder

CORPUS = [
    f"the {size} {who} {what}"
    for size in ("big", "small")
    for who in ("dog", "cat", "woman")
    for what in ("runs", "sings")
]
PLAIN = {"precision": "float32", "k": 3}


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory, tiny_encoder: Callable) -> Registry:
    root = tmp_path_factory.mktemp("encoders")
    save_encoder(tiny_encoder("bert", "mean"), root / "bert-mean", {}, half=False)
    save_encoder(tiny_encoder("albert", "cnn"), root / "albert-cnn", {}, half=False)
    return Registry([root])


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EXPLORER_CACHE", str(tmp_path))
    return tmp_path / "maps"


def refuse(*args: object, **kwargs: object) -> None:
    raise AssertionError("this was to come from the cache")


def test_clean_tells_what_it_left_out() -> None:
    cleaned = clean(["a dog", " ", None, "a cat ", float("nan"), "a cat", "a dog"])
    assert cleaned.sentences == ("a dog", "a cat")
    assert cleaned.rows == (0, 3)
    assert cleaned.note == "7 rows: 3 empty, 2 repeated, 2 different sentences."


def test_clean_samples_the_same_sentences_in_any_order() -> None:
    texts = [f"sentence {number}" for number in range(50)]
    first, backwards = clean(texts, most=20, seed=3), clean(texts[::-1], most=20, seed=3)
    assert set(first.sentences) == set(backwards.sentences)
    assert list(first.rows) == sorted(first.rows)
    assert [texts[row] for row in first.rows] == list(first.sentences)
    assert first.note.endswith("20 of 50 are shown, sampled with seed 3.")
    assert set(clean(texts, most=20, seed=4).sentences) != set(first.sentences)


def test_clean_refuses_what_holds_no_sentence() -> None:
    with pytest.raises(DataError, match="None of the 0 rows"):
        clean([])
    with pytest.raises(DataError, match="None of the 2 rows"):
        clean(["", None])
    with pytest.raises(DataError, match="Row 2 is 7, which is not text"):
        clean(["a dog", 7])
    for most in (0, 20_001):
        with pytest.raises(SettingError, match="use 1 to 20,000"):
            clean(["a dog"], most=most)


def test_project_maps_every_encoder_and_aligns_to_the_first(registry: Registry) -> None:
    seen: list[tuple[str, int, int]] = []
    maps = project(registry, CORPUS, progress=lambda *step: seen.append(step), **PLAIN)
    first, second = maps.encoders
    assert (first.encoder, second.encoder) == ("bert-mean", "albert-cnn")
    assert first.distance == 0 and 0 < second.distance < 1
    for found in maps.encoders:
        assert found.projection.points.shape == (12, 2)
        assert found.neighbours.rows.shape == (12, 3)
        assert 0 < found.trust.trustworthiness <= 1
    assert np.linalg.norm(first.projection.points) == pytest.approx(np.linalg.norm(second.projection.points))
    for matrix in (maps.overlap, maps.cka, maps.ranks.matrix):
        assert matrix.shape == (2, 2)
        assert np.diag(matrix) == pytest.approx(1)
    overlaps = [difference.overlap for difference in maps.differences]
    assert overlaps == sorted(overlaps) and len(overlaps) == 12
    assert ("bert-mean", 12, 12) in seen and seen[-1] == ("maps", 2, 2)


def test_project_comes_from_the_cache_and_is_equal(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    first = project(registry, CORPUS, **PLAIN)
    monkeypatch.setattr(operation, "lay_out_here", refuse)
    monkeypatch.setattr(encode_module, "encode", refuse)
    again = project(registry, CORPUS, **PLAIN)
    for one, other in zip(first.encoders, again.encoders, strict=True):
        assert (one.from_cache, other.from_cache) == (False, True)
        assert np.array_equal(one.projection.points, other.projection.points)
        assert one.projection.explained == other.projection.explained
    with pytest.raises(AssertionError, match="cache"):
        project(registry, CORPUS, settings=MapSettings(metric="euclidean"), **PLAIN)


def test_project_makes_a_damaged_map_again(registry: Registry, cache: Path) -> None:
    first = project(registry, CORPUS, **PLAIN)
    kept = sorted(cache.glob("*"))
    assert len(kept) == 3  # two maps, and how far they agree
    for path, damaged in zip(kept, (b"PK half a file", b"", b"PK"), strict=True):
        path.write_bytes(damaged)
    again = project(registry, CORPUS, **PLAIN)
    assert np.array_equal(first.procrustes, again.procrustes)
    for one, other in zip(first.encoders, again.encoders, strict=True):
        assert not other.from_cache
        assert np.array_equal(one.projection.points, other.projection.points)


@pytest.mark.parametrize("method", ["pca", "umap"])
def test_project_in_another_order_is_the_same_map_to_the_last_bit(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    settings = MapSettings(method=Method(method), neighbours=4)
    first = project(registry, CORPUS, settings=settings, **PLAIN)
    order = np.random.default_rng(8).permutation(len(CORPUS))
    shuffled = [CORPUS[row] for row in order]
    monkeypatch.setenv("EXPLORER_CACHE", str(tmp_path / "other"))
    other = project(registry, shuffled, settings=settings, **PLAIN)
    for one, moved in zip(first.encoders, other.encoders, strict=True):
        assert not moved.from_cache
        assert np.array_equal(one.vectors[order], moved.vectors)
        assert np.array_equal(one.projection.points[order], moved.projection.points)
        assert one.distance == moved.distance
    assert np.array_equal(first.cka, other.cka) and np.array_equal(first.procrustes, other.procrustes)
    assert np.array_equal(first.ranks.matrix, other.ranks.matrix)


def test_project_finds_the_kept_maps_of_a_corpus_in_another_order(
    registry: Registry, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = project(registry, CORPUS, **PLAIN)
    kept = len(list(cache.glob("*.npz")))
    monkeypatch.setattr(operation, "lay_out_here", refuse)
    monkeypatch.setattr(operation, "cka_matrix", refuse)
    backwards = project(registry, CORPUS[::-1], **PLAIN)
    for one, other in zip(first.encoders, backwards.encoders, strict=True):
        assert other.from_cache
        assert np.array_equal(one.projection.points[::-1], other.projection.points)
    assert len(list(cache.glob("*.npz"))) == kept


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_project_answers_for_few_sentences(registry: Registry, n: int) -> None:
    maps = project(registry, CORPUS[:n], settings=MapSettings(method=Method.UMAP), k=10, precision="float32")
    assert all(found.projection.method is Method.PCA for found in maps.encoders)
    assert all(np.isfinite(found.projection.points).all() for found in maps.encoders)
    assert any("UMAP needs 5" in note for note in maps.notes)
    assert any("instead of 10" in note or "only one sentence" in note for note in maps.notes)
    assert {found.neighbours.k for found in maps.encoders} == {{1: 0, 2: 1, 3: 1, 4: 1}[n]}


def test_few_sentences_are_compared_on_fewer_neighbours_than_all_others(registry: Registry) -> None:
    maps = project(registry, CORPUS[:8], k=10, precision="float32")
    assert {found.neighbours.k for found in maps.encoders} == {3}
    assert any("only 7 others, so the 3 nearest instead of 10" in note for note in maps.notes)


def test_project_names_the_encoder_whose_vectors_are_bad(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operation, "encode_cached", lambda load, key, texts, *rest: np.full((len(texts), 16), np.nan))
    with pytest.raises(DataError, match="bert-mean: The vectors of rows 1, 2"):
        project(registry, CORPUS, **PLAIN)


def test_project_names_the_rows_whose_vectors_are_bad_as_they_were_given(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    def encoded(_load: object, _key: object, texts: list[str], *_rest: object) -> np.ndarray:
        vectors = np.random.default_rng(0).standard_normal((len(texts), 16)).astype(np.float32)
        vectors[texts.index("z last")] = bad
        return vectors

    monkeypatch.setattr(operation, "encode_cached", encoded)
    bad = np.nan
    with pytest.raises(DataError, match="bert-mean: The vectors? of row 1 hold"):
        project(registry, ["z last", *CORPUS], **PLAIN)
    bad = 0
    maps = project(registry, ["z last", *CORPUS], **PLAIN)
    assert maps.encoders[0].projection.zero == (0,)
    assert np.flatnonzero(np.isnan(maps.encoders[1].projection.points[:, 0])).tolist() == [0]
    assert any(note.startswith("Row 1 have a zero vector") for note in maps.notes)


def test_project_stops_where_progress_raises(registry: Registry) -> None:
    def stop(what: str, done: int, total: int) -> None:
        if what == "maps":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        project(registry, CORPUS, progress=stop, **PLAIN)


def test_project_refuses_unknown_encoders_and_settings(registry: Registry) -> None:
    with pytest.raises(EncoderError, match="no encoder 'nobody'"):
        project(registry, CORPUS, encoders=["nobody"])
    with pytest.raises(SettingError, match="is 0"):
        project(registry, CORPUS, k=0)


def test_place_puts_a_known_sentence_on_its_point_and_a_new_one_near_its_neighbours(registry: Registry) -> None:
    maps = project(registry, CORPUS, **PLAIN)
    for found, placed in zip(maps.encoders, place(registry, maps, CORPUS[4]), strict=True):
        assert placed.rows[0] == 4
        assert (placed.x, placed.y) == pytest.approx(tuple(found.projection.points[4]), abs=1e-3)
    for placed in place(registry, maps, "a bird sings", k=3):
        assert len(placed.rows) == 3
        assert "approximate" in placed.note
    with pytest.raises(DataError, match="is empty"):
        place(registry, maps, "  ")


def test_maps_are_aligned_by_the_sentences_that_both_show_or_say_that_they_are_not(registry: Registry) -> None:
    first, second = project(registry, CORPUS, **PLAIN).encoders
    points = first.projection.points.copy()
    points[0] = np.nan
    lacking = replace(first, projection=replace(first.projection, points=points))
    moved = operation._aligned(lacking, second, np.arange(12))
    assert moved.distance is not None and np.isfinite(moved.projection.points).all()
    points[1:-1] = np.nan
    alone = operation._aligned(lacking, second, np.arange(12))
    assert alone.distance is None
    assert alone.projection.notes == (
        f"Its map is not aligned to that of {first.encoder}, with which it shares too few points.",
    )
