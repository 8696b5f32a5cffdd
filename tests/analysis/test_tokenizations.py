"""Two tokenizations of one text: told when equal, matched by characters when not, every piece once."""

from __future__ import annotations

from explorer.analysis.tokenizations import match_tokenizations
from explorer.encoders.encode import WordPieces


def make(*pieces: tuple[str, int, int]) -> WordPieces:
    names, offsets = tuple(p[0] for p in pieces), tuple((p[1], p[2]) for p in pieces)
    return WordPieces(names, tuple(range(len(pieces))), offsets, 0)


TEXT = "embeddings rule"
BERT = make(
    ("[CLS]", 0, 0), ("em", 0, 2), ("##bed", 2, 5), ("##ding", 5, 9), ("##s", 9, 10), ("rule", 11, 15), ("[SEP]", 0, 0)
)
ALBERT = make(("[CLS]", 0, 0), ("\u2581embed", 0, 5), ("dings", 5, 10), ("\u2581rule", 10, 15), ("[SEP]", 0, 0))


def test_equal_tokenizations_are_told_plainly() -> None:
    result = match_tokenizations(BERT, BERT, TEXT)
    assert result.same
    assert result.summary == "Both tokenizers cut this sentence into the same 7 word pieces."
    assert all(group.first == group.second for group in result.groups)


def test_different_tokenizations_are_matched_by_characters() -> None:
    result = match_tokenizations(BERT, ALBERT, TEXT)
    assert not result.same
    assert [(g.text, g.first, g.second) for g in result.groups] == [
        ("", (0, 1), (0, 1)),
        ("embed", (1, 3), (1, 2)),
        ("dings", (3, 5), (2, 3)),
        ("rule", (5, 6), (3, 4)),
        ("", (6, 7), (4, 5)),
    ]
    assert result.summary == "7 and 5 word pieces; 0 of 3 stretches of text are cut into the same pieces."


def test_every_piece_is_in_exactly_one_group() -> None:
    for pieces1, pieces2 in ((BERT, ALBERT), (ALBERT, BERT)):
        groups = match_tokenizations(pieces1, pieces2, TEXT).groups
        assert [i for group in groups for i in range(*group.first)] == list(range(len(pieces1.pieces)))
        assert [i for group in groups for i in range(*group.second)] == list(range(len(pieces2.pieces)))


def test_pieces_that_cross_each_other_are_one_group() -> None:
    one, other = make(("ab", 0, 2), ("cd", 2, 4)), make(("a", 0, 1), ("bc", 1, 3), ("d", 3, 4))
    (group,) = match_tokenizations(one, other, "abcd").groups
    assert (group.first, group.second, group.text) == ((0, 2), (0, 3), "abcd")


def test_a_cut_off_tokenization_has_no_pieces_for_the_rest() -> None:
    short = make(("[CLS]", 0, 0), ("em", 0, 2), ("[SEP]", 0, 0))
    groups = match_tokenizations(BERT, short, TEXT).groups
    assert [(g.text, g.second) for g in groups][1:] == [
        ("em", (1, 2)),
        ("bed", (2, 2)),
        ("ding", (2, 2)),
        ("s", (2, 2)),
        ("rule", (2, 2)),
        ("", (2, 3)),
    ]


def test_only_special_pieces_match_too() -> None:
    nothing = make(("[CLS]", 0, 0), ("[SEP]", 0, 0))
    (group,) = match_tokenizations(nothing, nothing, "").groups
    assert (group.first, group.second) == ((0, 2), (0, 2))
