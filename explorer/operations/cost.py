"""Measures what an encoder costs on this machine: load time, speed, memory. Each in a process of its own, so that none
pays for another's memory; the sentences are made here and say nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from statistics import median
from typing import IO

from explorer.encoders.folder import EncoderInfo
from explorer.encoders.registry import Registry
from explorer.errors import EncoderError
from explorer.paths import ROOT

_SUBJECTS = ("The gardener", "A tall woman", "My neighbour", "The young driver", "An old sailor", "Every student")
_VERBS = ("looks at", "carries", "paints", "forgets", "asks about", "walks around")
_OBJECTS = ("the yellow boat", "a broken chair in the yard", "two letters", "the long way to the station", "a song")
_TIMEOUT = 300
# Seconds a child has to end when asked to.
_GRACE = 3


@dataclass(frozen=True)
class Cost:
    """One encoder, measured.

    Args:
        encoder: Its name.
        parameters: Number of weights, the transformer's pooler left out.
        size_bytes: All files of its folder.
        load_seconds: From files to a ready encoder, libraries already imported.
        pair_ms: Median milliseconds to encode one pair of sentences.
        sentences_per_second: Median over rounds of a batch of short sentences, each encoded anew.
        peak_bytes: Most memory of a process that does only this, libraries included.
        n: Number of sentences in a round.
        machine: What it was measured on.
    """

    encoder: str
    parameters: int
    size_bytes: int
    load_seconds: float
    pair_ms: float
    sentences_per_second: float
    peak_bytes: int
    n: int
    machine: str


def measure_here(info: EncoderInfo, *, rounds: int = 3, sentences: int = 180) -> Cost:
    """Returns an encoder's cost, measured in this process; its peak memory is the process's so far."""
    from explorer.encoders.encode import encode
    from explorer.encoders.load import load_encoder
    from explorer.encoders.machine import this_machine
    from explorer.encoders.memory import peak_bytes

    encoder = load_encoder(info.folder)  # the first one also imports what the libraries put off until then
    load = _seconds(lambda: load_encoder(info.folder))
    texts = sample(sentences)
    encode(encoder, texts[:8])
    pairs = [_seconds(partial(encode, encoder, texts[i : i + 2])) for i in range(0, 42, 2)]
    batches = [_seconds(lambda: encode(encoder, texts)) for _ in range(rounds)]
    peak = peak_bytes()
    return Cost(
        encoder=info.name,
        parameters=info.parameters,
        size_bytes=info.size_bytes,
        load_seconds=load,
        pair_ms=1000 * median(pairs),
        sentences_per_second=len(texts) / median(batches),
        peak_bytes=peak,
        n=len(texts),
        machine=str(this_machine()),
    )


class Measurement:
    """An encoder's cost being measured in a new process, which ends with the `with` block if not before.

    Args:
        registry: Where the encoder is.
        name: Of the encoder.

    Raises:
        EncoderError: It is unknown or damaged.
    """

    def __init__(self, registry: Registry, name: str) -> None:
        self.name = registry.info(name).name
        self._command = [sys.executable, "-m", "explorer", "cost", "--here", "--json", "--encoders", name]
        for root in registry.roots:
            self._command += ["--checkpoints", str(root)]
        self._started = time.monotonic()

    def __enter__(self) -> Measurement:
        # To files, not pipes: a child that says much must not wait for someone to read it.
        self._out, self._errors = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self._child = subprocess.Popen(self._command, cwd=ROOT, stdout=self._out, stderr=self._errors)
        return self

    def __exit__(self, *_: object) -> None:
        if self._child.poll() is None:
            self._child.terminate()
            try:
                self._child.wait(_GRACE)
            except subprocess.TimeoutExpired:
                self._child.kill()
                self._child.wait()
        self._out.close()
        self._errors.close()

    def wait(self, seconds: float) -> bool:
        """Returns whether the measurement has ended, after waiting at most so long.

        Raises:
            EncoderError: It takes too long altogether.
        """
        try:
            self._child.wait(seconds)
        except subprocess.TimeoutExpired as error:
            if time.monotonic() - self._started > _TIMEOUT:
                raise EncoderError(
                    f"Measuring {self.name} took over {_TIMEOUT} s and was ended; this machine is busy."
                ) from error
            return False
        return True

    def result(self) -> Cost:
        """Returns the cost, once `wait` said it has ended.

        Raises:
            EncoderError: The measurement failed.
        """
        out, errors = (_content(file) for file in (self._out, self._errors))
        if self._child.returncode:
            reason = errors.strip().splitlines()[-1:] or [f"exit status {self._child.returncode}"]
            raise EncoderError(f"{self.name} could not be measured: {reason[0]}")
        return Cost(**json.loads(out)[0])


def measure(registry: Registry, name: str) -> Cost:
    """Returns an encoder's cost, measured in a new process.

    Raises:
        EncoderError: The encoder is unknown or damaged, or the measurement failed.
    """
    with Measurement(registry, name) as measurement:
        while not measurement.wait(1):
            pass
        return measurement.result()


def as_row(cost: Cost) -> dict[str, object]:
    """Returns a cost as one json object."""
    return asdict(cost)


def sample(count: int) -> list[str]:
    """Returns so many different short sentences, at most 180."""
    return [f"{a} {b} {c}." for a, b, c in product(_SUBJECTS, _VERBS, _OBJECTS)][:count]


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _content(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")
