"""A diary survives half lines, foreign lines and older kinds, and a job's state follows from it alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.jobs.events import State, append, judge, read, summarize

STARTED = [{"kind": "queued", "device": "cpu"}, {"kind": "started", "device": "cpu", "pid": 7}]
RUNNING = [*STARTED, {"kind": "step", "step": 4, "steps": 9, "loss": 0.5}]


def diary(*told: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"time": float(number), **event} for number, event in enumerate(told)]


def test_read_gives_what_append_wrote_and_goes_on_from_there(tmp_path: Path) -> None:
    append(tmp_path, "queued", device="cpu")
    first, offset = read(tmp_path)
    append(tmp_path, "step", step=1, loss=0.25)
    second, _ = read(tmp_path, offset)
    assert [event["kind"] for event in first + second] == ["queued", "step"]
    assert second[0]["loss"] == 0.25
    assert abs(second[0]["time"] - first[0]["time"]) < 10


def test_read_leaves_a_half_written_line_until_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text('{"time": 1, "kind": "queued"}\n{"time": 2, "ki')
    found, offset = read(tmp_path)
    assert len(found) == 1
    with path.open("a") as file:
        file.write('nd": "started"}\n')
    assert [event["kind"] for event in read(tmp_path, offset)[0]] == ["started"]


def test_append_after_a_broken_write_starts_a_line_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text('{"time": 1, "kind": "queued"}\n{"time": 2, "kind": "st')
    append(tmp_path, "failed", reason="x")
    assert [event["kind"] for event in read(tmp_path)[0]] == ["queued", "failed"]


@pytest.mark.parametrize(
    "line", ["", "[]", "null", "{", '{"kind": 3, "time": 1}', '{"kind": "step"}', '"x"', "\x00\xff"]
)
def test_read_passes_over_lines_that_are_no_events(tmp_path: Path, line: str) -> None:
    (tmp_path / "events.jsonl").write_text(f'{line}\n{{"time": 1, "kind": "queued"}}\n', encoding="latin-1")
    assert [event["kind"] for event in read(tmp_path)[0]] == ["queued"]


def test_read_of_nothing_is_empty(tmp_path: Path) -> None:
    assert read(tmp_path / "nowhere", 5) == ([], 5)


def test_append_writes_plain_json_whatever_the_numbers_are(tmp_path: Path) -> None:
    append(tmp_path, "step", loss=float("nan"), rate=np.float32(0.5), n=np.int64(3), at=Path("x"), many=[float("inf")])
    event = json.loads((tmp_path / "events.jsonl").read_text(), parse_constant=pytest.fail)
    assert (event["loss"], event["rate"], event["n"], event["at"], event["many"]) == (None, 0.5, 3, "x", [None])


@pytest.mark.parametrize(
    ("told", "held", "state"),
    [
        ([], True, State.QUEUED),
        (STARTED[:1], True, State.QUEUED),
        (STARTED[:1], False, State.LOST),
        (STARTED, True, State.STARTING),
        (STARTED, False, State.LOST),
        (RUNNING, True, State.RUNNING),
        (RUNNING, False, State.LOST),
        ([*RUNNING, {"kind": "of the future"}], True, State.RUNNING),
        ([*STARTED, {"kind": "dev", "spearman": None}], True, State.RUNNING),
        ([*RUNNING, {"kind": "saving"}], True, State.SAVING),
        ([*RUNNING, {"kind": "stopping"}], True, State.STOPPING),
        ([*RUNNING, {"kind": "stopping"}, RUNNING[-1]], True, State.STOPPING),
        ([*RUNNING, {"kind": "stopping"}], False, State.STOPPED),
        ([*RUNNING, {"kind": "stopping"}, {"kind": "stopped"}], False, State.STOPPED),
        ([*RUNNING, {"kind": "stopping"}, {"kind": "finished"}], False, State.FINISHED),
        ([*RUNNING, {"kind": "failed", "reason": "x"}], True, State.FAILED),
        ([*RUNNING, {"kind": "failed", "reason": "x"}, RUNNING[-1]], False, State.FAILED),
        ([*RUNNING, {"kind": "stopped"}, *STARTED], True, State.STARTING),
        ([*RUNNING, {"kind": "finished"}], False, State.FINISHED),
    ],
)
def test_judge(told: list[dict], held: bool, state: State) -> None:
    assert judge(summarize(diary(*told)), held, now=20.0)[0] is state


def test_judge_gives_the_reason() -> None:
    def reason(held: bool, now: float, *told: dict[str, Any]) -> str:
        return judge(summarize(diary(*told)), held, now)[1]

    checkpoint = {"kind": "checkpoint", "step": 40}
    assert reason(False, 9.0, *RUNNING, {"kind": "failed", "reason": "why"}) == "why"
    assert reason(False, 9.0, *RUNNING, checkpoint) == (
        "Its worker process is gone without a word; its last checkpoint is of step 40."
    )
    assert reason(False, 9.0, *RUNNING) == "Its worker process is gone without a word, before its first checkpoint."
    assert reason(True, 9.0, *RUNNING) == ""
    assert "No news for 20 minutes" in reason(True, 1202.0, *RUNNING)
    assert reason(True, 9.0, *RUNNING, {"kind": "failed", "reason": "why"}, *STARTED) == ""


@pytest.mark.parametrize(
    "line",
    [
        b'{"time": 1, "kind": ' + b"[" * 5_000,
        b'{"time": 1e18, "kind": "step", "step": 9}',
        b'{"time": ' + b"9" * 400 + b', "kind": "step", "step": 9}',
        b'{"time": -1, "kind": "step", "step": 9}',
        b'{"time": true, "kind": []}',
    ],
)
def test_a_line_that_is_no_event_is_passed_over(tmp_path: Path, line: bytes) -> None:
    append(tmp_path, "step", step=3)
    with (tmp_path / "events.jsonl").open("ab") as file:
        file.write(line + b"\n")
    append(tmp_path, "step", step=4)
    assert [event["step"] for event in read(tmp_path)[0]] == [3, 4]


def test_what_should_be_a_number_and_is_not_is_unknown(tmp_path: Path) -> None:
    facts = {"step": "x", "steps": 2.5, "loss": "NaN", "eta_seconds": [1], "learning_rate": 10**400, "stage": "sts"}
    append(tmp_path, "step", **facts)
    append(tmp_path, "dev", step=1, spearman="0.9")
    append(tmp_path, "finished", scores=[1])
    told = summarize(read(tmp_path)[0])
    assert {name for name, value in told.latest.items() if value is not None} == {"stage"}
    assert (told.dev_spearman, told.scores, told.state) == (None, {}, State.FINISHED)


def test_a_download_is_told_and_is_no_state_of_its_own() -> None:
    told = diary(*STARTED, {"kind": "fetching", "megabytes": 3.5, "of": 40.0}, {"kind": "fetching", "of": None})
    assert summarize(told).fetched == (3.5, 40.0)
    assert judge(summarize(told), True, now=9.0)[0] is State.STARTING


def test_the_best_dev_score_is_never_that_of_what_was_not_trained_yet() -> None:
    told = diary(*STARTED, {"kind": "dev", "step": 0, "spearman": 0.9})
    assert summarize(told).dev_spearman is None
    trained = diary({"kind": "dev", "step": 5, "spearman": 0.7}, {"kind": "dev", "step": 10, "spearman": 0.6})
    assert summarize([*told, *trained]).dev_spearman == 0.7


def test_what_a_resumed_job_worked_is_all_its_legs_and_not_the_waits() -> None:
    def at(time: float, kind: str, **facts: Any) -> dict[str, Any]:
        return {"time": time, "kind": kind, **facts}

    told = [at(0, "queued"), at(10, "started"), at(110, "step", step=1), at(120, "stopped")]
    told += [at(500, "queued"), at(600, "started"), at(640, "step", step=2)]
    whole = summarize(told)
    assert (whole.created, whole.started, whole.leg, whole.worked) == (0, 10, 600, 110)
    assert summarize([*told, at(900, "queued")]).worked == 150  # lost: until it was last heard of
    assert summarize([*told, at(900, "queued"), at(950, "queued")]).worked == 150
    assert whole == summarize(told[3:], summarize(told[:3]))


def test_summarize_in_parts_is_summarize_at_once() -> None:
    told = diary(
        *RUNNING,
        {"kind": "dev", "spearman": 0.5, "stage": "nli"},
        {"kind": "dev", "spearman": 0.4, "stage": "nli"},
        {"kind": "warning", "message": "w"},
        {"kind": "dev", "spearman": 0.2, "stage": "sts"},
        {"kind": "dev", "spearman": 0.3, "stage": "sts"},
        {"kind": "finished", "scores": {"dev_spearman": 0.3}},
    )
    whole = summarize(told)
    assert whole == summarize(told[5:], summarize(told[:5]))
    assert (whole.dev_spearman, whole.dev_stage, whole.warnings) == (0.3, "sts", ("w",))
    assert (whole.created, whole.started, whole.ended, whole.device) == (0.0, 1.0, 8.0, "cpu")
    assert (whole.latest["step"], whole.scores) == (4, {"dev_spearman": 0.3})


def test_summarize_takes_long_diaries() -> None:
    summary = summarize(diary(*STARTED, *({"kind": "step", "step": step} for step in range(20_000))))
    assert summary.latest["step"] == 19_999
    assert judge(summary, True, 20_010.0)[0] is State.RUNNING
