"""Which word pieces, and which characters, a position in a CNN layer can see. Integer arithmetic; runs no network.

Layers count from 1 as in the paper's figure; layer 0 is the word pieces themselves. Positions count from 0. Every interval is
half-open: [start, stop).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from explorer.encoders.cnn_pooling import KERNEL_SIZES
from explorer.encoders.encode import WordPieces
from explorer.errors import SettingError

_JOINERS = "\u200c\u200d"


@dataclass(frozen=True)
class Span:
    """A run of word pieces and the text it stands for.

    Args:
        start_piece: First word piece, special ones counted.
        stop_piece: One after the last.
        start: First character in the text; 0 where the pieces are all special.
        stop: One after the last character; 0 where the pieces are all special.
        text: The characters [start, stop) of the text; empty where the pieces are all special.
    """

    start_piece: int
    stop_piece: int
    start: int
    stop: int
    text: str


def layer_length(layer: int, length: int) -> int:
    """Returns T_l = ceil(T / 2^l), the positions of a layer over a sentence of `length` word pieces."""
    return -(-length // 2**layer)


def receptive_field(
    layer: int, position: int, length: int, kernel_sizes: Sequence[int] = KERNEL_SIZES
) -> tuple[int, int]:
    """Returns the word pieces [start, stop) that can change a layer's activation at one position; no others can.

    Each block reads k neighbours of its max-pooled input, and each of those is the larger of two positions of the layer
    before: [a, b) becomes [a - k // 2, b + k // 2) cut to what exists, then [2 a, 2 b) cut again.

    Args:
        layer: 0 (the word pieces) to the number of blocks.
        position: 0 to T_l - 1.
        length: T, the sentence's word pieces, special ones counted.
        kernel_sizes: Kernel length of each block.

    Raises:
        SettingError: No such layer or position.
    """
    if not 0 <= layer <= len(kernel_sizes):
        raise SettingError(f"There is no layer {layer}; use 1 to {len(kernel_sizes)}.")
    here = layer_length(layer, length)
    if not 0 <= position < here:
        raise SettingError(f"Layer {layer} has no position {position} over {length} word pieces; use 0 to {here - 1}.")
    start, stop = position, position + 1
    for block in range(layer, 0, -1):
        reach = kernel_sizes[block - 1] // 2
        start, stop = max(0, start - reach), min(layer_length(block, length), stop + reach)
        start, stop = 2 * start, min(layer_length(block - 1, length), 2 * stop)
    return start, stop


def centre(layer: int, position: int, length: int) -> tuple[int, int]:
    """Returns the word pieces [start, stop) a position stands over: the middle of its receptive field, [2^l t, 2^l (t + 1)).

    Side by side, the positions of a layer cover every word piece once.

    Args:
        layer: From 0, the word pieces.
        position: 0 to T_l - 1.
        length: T, the sentence's word pieces.
    """
    return position * 2**layer, min((position + 1) * 2**layer, length)


def character_span(pieces: WordPieces, start_piece: int, stop_piece: int, text: str) -> Span:
    """Returns the stretch of text from the first to the last character of some word pieces.

    A tokenizer may drop accents, joiners and variation selectors, so that no piece owns them; they go with the piece they
    follow, and a letter never loses its accent. What stands between two pieces of the run belongs to it.

    Args:
        pieces: The text as its encoder reads it.
        start_piece: First piece.
        stop_piece: One after the last; at least start_piece + 1.
        text: What the pieces were made from.
    """
    owned = [offset for offset in pieces.offsets[start_piece:stop_piece] if offset[1] > offset[0]]
    if not owned:
        return Span(start_piece, stop_piece, 0, 0, "")
    start, stop = min(a for a, _ in owned), max(b for _, b in owned)
    following = min((a for a, b in pieces.offsets if b > a and a >= stop), default=len(text))
    while stop < following and _belongs_to_the_letter_before(text[stop]):
        stop += 1
    return Span(start_piece, stop_piece, start, stop, text[start:stop])


def layer_spans(
    layer: int, pieces: WordPieces, text: str, kernel_sizes: Sequence[int] = KERNEL_SIZES
) -> tuple[Span, ...]:
    """Returns the receptive field of every position of a layer, as spans of pieces and characters."""
    length = len(pieces.pieces)
    fields = (receptive_field(layer, t, length, kernel_sizes) for t in range(layer_length(layer, length)))
    return tuple(character_span(pieces, start, stop, text) for start, stop in fields)


def _belongs_to_the_letter_before(character: str) -> bool:
    return unicodedata.category(character) in ("Mn", "Mc", "Me") or character in _JOINERS
