"""bf16_is_fast answers without touching a device that is not there."""

from __future__ import annotations

import pytest
import torch

from explorer.encoders.precision import bf16_is_fast


def test_bf16_is_fast_answers_for_this_cpu() -> None:
    assert isinstance(bf16_is_fast("cpu"), bool)


@pytest.mark.parametrize(("capability", "instructions", "expected"), [("AVX512", True, True), ("AVX2", True, False)])
def test_bf16_is_fast_needs_both_the_instructions_and_kernels_for_them(
    monkeypatch: pytest.MonkeyPatch, capability: str, instructions: bool, expected: bool
) -> None:
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: instructions)
    assert bf16_is_fast("cpu") is expected


def test_bf16_is_fast_is_false_for_an_unknown_device() -> None:
    assert bf16_is_fast("mps") is False
