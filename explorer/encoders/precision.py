"""Decides which arithmetic a device does fastest; knows nothing of models."""

from __future__ import annotations

import torch


def bf16_is_fast(device: str = "cpu") -> bool:
    """Whether bfloat16 autocast is worth using on `device`: a CPU with AVX512-BF16, or a GPU from Ampere on."""
    if device.startswith("cuda"):
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device != "cpu":
        return False
    return bool(torch.backends.cpu.get_cpu_capability().startswith("AVX512") and torch.cpu._is_avx512_bf16_supported())
