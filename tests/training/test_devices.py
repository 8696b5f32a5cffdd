"""The device of a run, on a machine without a GPU."""

from __future__ import annotations

import pytest
import torch

from explorer.errors import TrainingError
from explorer.paths import process_count
from explorer.training.devices import check_device, one_device


def test_one_device_of_a_machine_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert one_device("auto") == one_device("cpu") == "cpu"
    for name in ("cuda", "cuda:1", "mps"):
        with pytest.raises(TrainingError, match=f"device is '{name}'"):
            one_device(name)


def test_one_device_of_a_machine_with_two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELERATE_TORCH_DEVICE", "")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert [one_device(name) for name in ("auto", "cuda", "cuda:1", "cpu")] == ["cuda:0", "cuda:0", "cuda:1", "cpu"]
    with pytest.raises(TrainingError, match="the GPUs here are cuda:0 to cuda:1"):
        one_device("cuda:2")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert one_device("cuda:3") == "cuda:0"


def test_process_count_is_what_a_launcher_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert process_count() == 1
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert process_count() == 2


@pytest.mark.parametrize("name", ["mps", "cuda", "cuda:7", "cuda:0,cuda:1"])
def test_a_device_that_is_not_here_is_refused_without_choosing_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(TrainingError, match=f"device is {name!r}, but .* choose cpu"):
        check_device(name)
    check_device("cpu")
    check_device("auto")
