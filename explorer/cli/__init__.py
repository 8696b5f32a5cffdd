"""The command line: python -m explorer. Results go to standard output, progress and messages to standard error.

Torch is imported only by the commands that compute.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from explorer.cli import encoders, evaluate, filters, jobs, project, train
from explorer.errors import ExplorerError


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit status: 0, 2 for an error a person can mend, 130 when interrupted."""
    options = _parser().parse_args(arguments)
    _quiet_libraries(hub=options.hub)
    try:
        options.run(options)
    except ExplorerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130
    return 0


def _quiet_libraries(*, hub: bool) -> None:
    """Keeps libraries off the network and their chatter off the terminal, unless the environment says otherwise."""
    if not hub:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("HF_HUB_DISABLE_XET", "1")  # plain HTTP, whose progress can be told and which can be stopped
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m explorer", description="Compare BERT and ALBERT sentence encoders.", allow_abbrev=False
    )
    commands = parser.add_subparsers(required=True, metavar="command")
    for group in (encoders, filters, project, evaluate, train, jobs):
        group.add(commands)
    return parser
