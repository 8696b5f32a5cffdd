"""Corpus scans: cached, found again, made again when damaged; n-grams with the values a single sentence shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.encoders.registry import Registry
from explorer.errors import DataError, SettingError
from explorer.operations import filter_corpus
from explorer.operations.filter_corpus import filter_likes, rank_filters, scan_corpus
from explorer.operations.filter_tables import likes_table, ranking_table
from explorer.operations.filters import look_at_filter
from explorer.training.export import save_encoder

CORPUS = [
    f"the {size} {who} {what} {where}"
    for size in ("big", "small")
    for who in ("dog", "cats", "woman")
    for what in ("runs", "is eating bread")
    for where in ("in the street", "on a mountain", "")
]


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory, tiny_encoder: Callable) -> Registry:
    root = tmp_path_factory.mktemp("encoders")
    save_encoder(tiny_encoder("bert", "cnn"), root / "bert-cnn", {}, half=False)
    return Registry([root])


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EXPLORER_CACHE", str(tmp_path))
    return tmp_path / "filters"


def no_encoding(*args: object, **kwargs: object) -> None:
    raise AssertionError("the backbone was run again")


def test_scan_reads_distinct_sentences_and_reports_progress(registry: Registry) -> None:
    seen: list[tuple[int, int]] = []
    scan = scan_corpus(
        registry, "bert-cnn", [*CORPUS, *CORPUS, " "], progress=lambda done, total: seen.append((done, total))
    )
    assert len(scan.sentences) == len(CORPUS)
    assert seen[-1] == (len(CORPUS), len(CORPUS))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert not scan.from_cache


def test_second_scan_comes_from_the_cache_and_is_equal(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    first = scan_corpus(registry, "bert-cnn", CORPUS)
    with monkeypatch.context() as patch:
        patch.setattr(filter_corpus, "run_backbone", no_encoding)
        second = scan_corpus(registry, "bert-cnn", CORPUS)
    assert second.from_cache
    assert rank_filters(first) == rank_filters(second)
    assert filter_likes(registry, first, 2, 3) == filter_likes(registry, second, 2, 3)


@pytest.mark.parametrize(
    "change",
    [
        {"corpus": CORPUS[1:]},
        {"corpus": CORPUS[::-1]},
        {"summary": "maximum"},
        {"keep": 20},
        {"precision": "bfloat16"},
        {"summary": "dimension", "dimension": 2},
    ],
)
def test_another_question_is_not_answered_from_the_cache(registry: Registry, change: dict) -> None:
    usual = {"corpus": CORPUS, "precision": "float32"}
    scan_corpus(registry, "bert-cnn", **usual)
    assert scan_corpus(registry, "bert-cnn", **usual).from_cache
    assert not scan_corpus(registry, "bert-cnn", **{**usual, **change}).from_cache


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 cut short", b"not an archive"])
def test_a_damaged_cache_file_is_made_again(registry: Registry, cache: Path, damage: bytes) -> None:
    first = scan_corpus(registry, "bert-cnn", CORPUS)
    (file,) = cache.iterdir()
    file.write_bytes(damage)
    again = scan_corpus(registry, "bert-cnn", CORPUS)
    assert not again.from_cache
    assert rank_filters(again) == rank_filters(first)
    assert scan_corpus(registry, "bert-cnn", CORPUS).from_cache


def test_a_cache_file_whose_directory_is_damaged_is_made_again(registry: Registry, cache: Path) -> None:
    scan_corpus(registry, "bert-cnn", CORPUS)
    (file,) = cache.iterdir()
    content = bytearray(file.read_bytes())
    content[content.index(b"PK\x01\x02") + 6] ^= 0x81  # the version that is needed to unpack it
    file.write_bytes(content)
    assert not scan_corpus(registry, "bert-cnn", CORPUS).from_cache
    assert scan_corpus(registry, "bert-cnn", CORPUS).from_cache


def test_a_stopped_scan_leaves_nothing_behind(registry: Registry, cache: Path) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scan_corpus(registry, "bert-cnn", CORPUS, progress=stop)
    assert not cache.exists() or not list(cache.iterdir())


def test_likes_show_the_values_of_a_single_sentence_and_their_span(registry: Registry) -> None:
    scan = scan_corpus(registry, "bert-cnn", CORPUS)
    likes = filter_likes(registry, scan, 1, 4, show=5)
    assert likes.highest[0].value == max(gram.value for gram in likes.highest)
    assert likes.lowest[0].value == min(gram.value for gram in likes.lowest)
    for gram in (*likes.highest, *likes.lowest):
        single = look_at_filter(registry, "bert-cnn", gram.sentence, 1, 4)
        assert single.values[gram.position] == pytest.approx(gram.value, abs=1e-6)
        assert single.spans[gram.position] == gram.span
        assert gram.sentence[gram.span.start : gram.span.stop] == gram.span.text
        assert gram.centre.start_piece >= gram.span.start_piece
        assert scan.sentences[gram.row] == gram.sentence
    assert len({gram.text for gram in likes.highest}) == len(likes.highest) <= 5
    assert sum(gram.count for gram in likes.highest) <= len(scan.sentences)
    assert len(likes_table(likes)) == len(likes.highest) + len(likes.lowest)


def test_ranking_is_by_selectivity_and_covers_every_filter(registry: Registry) -> None:
    scan = scan_corpus(registry, "bert-cnn", CORPUS)
    facts = rank_filters(scan)
    assert len(facts) == 32 + 64 + 128 + 128 + 1
    assert [fact.selectivity for fact in facts] == sorted((fact.selectivity for fact in facts), reverse=True)
    assert {(fact.layer, fact.filter) for fact in rank_filters(scan, 2)} == {(2, number) for number in range(64)}
    assert ranking_table(facts).shape[0] == len(facts)


def test_one_sentence_is_a_corpus(registry: Registry) -> None:
    scan = scan_corpus(registry, "bert-cnn", ["a"])
    assert len(filter_likes(registry, scan, 5, 0).highest) == 1


def test_bad_requests_have_one_clear_sentence(registry: Registry) -> None:
    with pytest.raises(DataError, match="The corpus holds no sentence"):
        scan_corpus(registry, "bert-cnn", ["", "  "])
    with pytest.raises(DataError, match="Sentence 2 of the corpus"):
        scan_corpus(registry, "bert-cnn", ["a dog", None])  # type: ignore[list-item]
    with pytest.raises(SettingError, match="Unknown summary"):
        scan_corpus(registry, "bert-cnn", CORPUS, summary="median")
    with pytest.raises(SettingError, match="hidden dimension"):
        scan_corpus(registry, "bert-cnn", CORPUS, summary="dimension")
    with pytest.raises(SettingError, match="keep is 3"):
        scan_corpus(registry, "bert-cnn", CORPUS, keep=3)
    scan = scan_corpus(registry, "bert-cnn", CORPUS)
    with pytest.raises(SettingError, match="no layer 6"):
        rank_filters(scan, 6)
    with pytest.raises(SettingError, match="no filter in layer 5 1"):
        filter_likes(registry, scan, 5, 1)


def test_only_the_newest_scans_are_kept(registry: Registry, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filter_corpus, "_MOST_KEPT", 2)
    for text in ("a dog", "a cat", "a bird"):
        scan_corpus(registry, "bert-cnn", [text])
    assert len(list(cache.rglob("*.npz"))) == 2
    assert scan_corpus(registry, "bert-cnn", ["a bird"]).from_cache
