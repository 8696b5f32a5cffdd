"""Cards hold what a score says, escape every piece, and keep their parts when there is no score."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from explorer.encoders.encode import WordPieces
from explorer.encoders.folder import EncoderInfo
from explorer.operations.score import PairScore
from explorer.ui.cards import cards
from explorer.ui.pieces import aligned_pieces

INFO = EncoderInfo("bert-mean", Path("x"), "bert", "tiny", "mean", 10, 4, 32, 100, "hash")
HOSTILE = WordPieces(("[CLS]", "<img", "src=x>", "[SEP]"), (1, 2, 3, 4), ((0, 0), (0, 4), (5, 11), (0, 0)), truncated=3)
PLAIN = WordPieces(("[CLS]", "a", "[SEP]"), (1, 2, 3), ((0, 0), (0, 1), (0, 0)), truncated=0)
SCORE = PairScore("bert-mean", -0.25, 93.4, None, 1500, 0, HOSTILE, PLAIN, "Related <b>.", ("Cut off.",))


def test_cards_write_cosine_percentiles_reading_and_notes() -> None:
    card = cards([INFO], {"bert-mean": SCORE})
    assert "\N{MINUS SIGN}0.250</output>" in card
    assert "left:37.50%;width:12.50%" in card
    assert "<strong>93 %</strong>" in card
    assert "(n = 1,500)" in card
    assert "(no reference pairs)" in card
    assert "<b>\N{MINUS SIGN}0.250</b>" in card
    assert "Cut off." in card
    assert "Sentence 1: 2 of 5 word pieces" in card
    assert "Sentence 2: 1 word piece<" in card


def test_cards_and_aligned_pieces_escape_everything() -> None:
    for made in (cards([INFO], {"bert-mean": SCORE}), aligned_pieces([SCORE])):
        assert "<img" not in made
        assert "&lt;img" in made
    assert "Related &lt;b&gt;." in cards([INFO], {"bert-mean": SCORE})


def test_cards_without_a_score_have_the_same_parts() -> None:
    empty = cards([INFO], {}, waiting="Loading.")
    for part in ('class="measure"', 'class="ranks"', 'class="reading"', 'class="read"', 'class="notes"'):
        assert empty.count(part) == cards([INFO], {"bert-mean": SCORE}).count(part)
    assert "Loading." in empty


def test_cards_show_why_an_encoder_failed() -> None:
    assert '<p class="reading failed">Weights &lt;do&gt; not fit.</p>' in cards(
        [INFO], {}, {"bert-mean": "Weights <do> not fit."}
    )


def test_aligned_pieces_share_a_row_only_where_the_pieces_are_the_same() -> None:
    other = replace(
        SCORE,
        encoder="albert-cnn",
        pieces1=WordPieces(("[CLS]", "<", "img", "src=x>"), (1, 2, 3, 4), ((0, 0), (0, 1), (1, 4), (5, 11)), 0),
    )
    made = aligned_pieces([SCORE, other])
    assert "bert-mean (2)" in made
    assert "albert-cnn (3)" in made
    assert "all 2 encoders (1)" in made
    assert "grid-column:1/3" in made
