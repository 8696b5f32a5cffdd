"""The states of a sentence are read once for the clicks that follow, per encoder, and not kept for ever."""

from __future__ import annotations

from collections.abc import Callable

import torch

from explorer.encoders.hidden_states import RecentStates, last_hidden_states


def test_recent_states_run_the_backbone_once_a_text(tiny_encoder: Callable) -> None:
    encoder, other, runs = tiny_encoder("bert", "cnn"), tiny_encoder("albert", "cnn"), []
    encoder[0].register_forward_pre_hook(lambda *_: runs.append(1))
    recent = RecentStates(most=2)
    first = recent.get(encoder, "a dog runs")
    assert recent.get(encoder, "a dog runs") is first
    assert len(runs) == 1
    assert torch.equal(first, last_hidden_states(encoder, "a dog runs"))
    assert not torch.equal(recent.get(other, "a dog runs"), first)
    for text in ("a cat sleeps", "a bird sings", "a dog runs"):
        recent.get(encoder, text)
    assert len(runs) == 5
