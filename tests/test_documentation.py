"""The documents tell the truth: links lead somewhere, commands and flags exist, versions agree."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from conftest import ROOT

from explorer.encoders.registry import Registry

DOCUMENTS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def relative_links(document: Path) -> list[str]:
    targets = re.findall(r"\]\(([^)\s]+)\)", document.read_text(encoding="utf-8"))
    return [target.split("#")[0] for target in targets if "://" not in target and not target.startswith("#")]


def shell_commands(document: Path) -> list[list[str]]:
    blocks = re.findall(r"```sh\n(.*?)```", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True) for line in lines if line.strip()]


def explorer_commands() -> list[list[str]]:
    prefix = ["python", "-m", "explorer"]
    return [words[3:] for words in shell_commands(ROOT / "README.md") if words[:3] == prefix]


@cache
def help_of(*command: str) -> str:
    result = subprocess.run(
        [sys.executable, "-m", "explorer", *command, "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def subcommands() -> set[str]:
    return set(re.findall(r"^    (\w+)\s", help_of(), flags=re.MULTILINE))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_to_a_file(document: Path) -> None:
    missing = [target for target in relative_links(document) if not (ROOT / target).exists()]
    assert not missing, f"{document.name} links to what is not there: {', '.join(missing)}"


def test_every_documented_command_exists_with_its_flags() -> None:
    commands = explorer_commands()
    assert commands
    for words in commands:
        assert words[0] in subcommands()
        flags = {word for word in words if word.startswith("--")}
        known = set(re.findall(r"--[\w-]+", help_of(words[0])))
        assert flags <= known, f"{words[0]} has no {', '.join(flags - known)}"


def test_every_command_is_documented() -> None:
    documented = {words[0] for words in explorer_commands()}
    assert subcommands() == documented, "the README and the command line name different commands"


def test_every_make_target_that_is_documented_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, flags=re.MULTILINE))
    for document in DOCUMENTS:
        named = {words[1] for words in shell_commands(document) if words[0] == "make"}
        assert named <= targets
    assert [words[:2] for words in shell_commands(ROOT / "README.md")[:2]] == [["make", "run"], ["make", "test"]]


def test_the_readme_opens_with_what_a_space_needs() -> None:
    front = README.split("---\n")[1]
    settings = dict(line.split(": ", 1) for line in front.strip().splitlines())
    pins = dict(re.findall(r"^([\w-]+)==([\w.]+)$", (ROOT / "requirements.txt").read_text(), flags=re.MULTILINE))
    assert settings["sdk"] == "gradio"
    assert settings["sdk_version"] == pins["gradio"]
    assert settings["python_version"] == '"3.11"'
    assert (ROOT / settings["app_file"]).is_file()
    assert settings["license"] == "apache-2.0"
    assert len(settings["short_description"]) <= 60


def test_every_requirement_is_pinned() -> None:
    for name in ("requirements.txt", "requirements-dev.txt"):
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
            if line and not line.startswith(("#", "-r ")):
                assert re.fullmatch(r"[\w-]+==[\w.]+", line), f"{name}: {line}"


@pytest.mark.parametrize("name", ["bert-mean", "bert-cnn", "albert-mean", "albert-cnn"])
def test_the_readmes_figures_are_those_of_the_checkpoints(name: str) -> None:
    table = README.split("<!-- figures -->")[1].split("<!-- /figures -->")[0]
    (row,) = [line for line in table.splitlines() if line.startswith(f"| `{name}` |")]
    info = Registry().info(name)
    shown = [
        f"{info.parameters:,}",
        f"{info.scores['stsb_dev_spearman']:.2f}",
        f"{info.scores['stsb_test_spearman']:.2f}",
    ]
    missing = [figure for figure in shown if figure not in row]
    assert not missing, f"the README's row of {name} lacks {', '.join(missing)}: {row}"
