"""The command line and the hub: --add downloads, --hub allows it, without either nothing is asked."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from conftest import ROOT
from loopback_hub import LoopbackHub

from explorer.cli import main


def run(hub: LoopbackHub, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own whose environment leaves the hub to --hub, unless told otherwise."""
    mine = {key: value for key, value in hub.environment().items() if key != "HF_HUB_OFFLINE"}
    command = [sys.executable, "-m", "explorer", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env={**mine, **environment}, capture_output=True, text=True, timeout=120, check=False
    )


def test_encoders_add_downloads_and_lists(hub: LoopbackHub, hub_encoder: str) -> None:
    result = run(hub, "encoders", "--add", hub_encoder, "--json")
    assert result.returncode == 0, result.stderr
    assert "Added tiny-lab--mean-encoder" in result.stderr
    names = [row["name"] for row in json.loads(result.stdout)]
    assert "tiny-lab--mean-encoder" in names
    hub.requests.clear()
    result = run(hub, "score", "a dog", "a cat", "--encoders", "tiny-lab--mean-encoder", "--json")
    assert [row["encoder"] for row in json.loads(result.stdout)] == ["tiny-lab--mean-encoder"]
    assert hub.requests == []


def test_encoders_add_obeys_an_environment_that_forbids_it(hub: LoopbackHub, hub_encoder: str) -> None:
    result = run(hub, "encoders", "--add", hub_encoder, HF_HUB_OFFLINE="1")
    assert result.returncode == 2
    assert "HF_HUB_OFFLINE is set" in result.stderr
    assert hub.requests == []


@pytest.mark.parametrize("command", [["score", "a dog", "a cat"], ["project"]])
def test_a_command_says_that_the_hub_is_switched_off(hub: LoopbackHub, hub_encoder: str, command: list[str]) -> None:
    result = run(hub, *command, "--encoders", hub_encoder, "--hub", HF_HUB_OFFLINE="1")
    assert result.returncode == 2
    assert result.stderr.startswith(f"error: {hub_encoder}: the Hugging Face hub is not asked")
    assert len(result.stderr.splitlines()) == 1
    assert hub.requests == []


def test_score_downloads_a_named_encoder_where_the_hub_is_allowed(hub: LoopbackHub, hub_encoder: str) -> None:
    for more in (["--hub"], []):
        result = run(hub, "score", "a dog", "a cat", "--encoders", hub_encoder, "--json", *more)
        assert [row["encoder"] for row in json.loads(result.stdout)] == ["tiny-lab--mean-encoder"], result.stderr
        assert bool(hub.requests) == bool(more)
        hub.requests.clear()


@pytest.mark.parametrize("name", ["nobody/nothing", "../../etc", "x"])
def test_encoders_add_says_in_a_sentence_what_is_wrong(
    hub: LoopbackHub, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = dict(os.environ)
    assert main(["encoders", "--add", name]) == 2
    assert capsys.readouterr().err.startswith("error: ")
    assert os.environ.get("HF_HUB_OFFLINE") == before.get("HF_HUB_OFFLINE")
