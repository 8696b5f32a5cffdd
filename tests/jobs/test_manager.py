"""Jobs from their first to their last moment, with real worker processes that need no torch."""

from __future__ import annotations

import itertools
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from conftest import ROOT

from explorer.errors import TrainingError
from explorer.jobs import locks
from explorer.jobs.commands import command_arguments, launch_arguments
from explorer.jobs.events import State
from explorer.jobs.manager import Jobs
from explorer.jobs.paths import JobPaths, is_name
from tests.jobs.helpers import ended, jobs_doing, states_seen, until, wait_for

CPU = {"device": "cpu"}


def owner_of(folder: Path) -> int:
    owner = locks.read_owner(JobPaths(folder).lock)
    assert owner is not None
    return owner.pid


def test_a_job_goes_from_queued_to_finished(tmp_path: Path) -> None:
    jobs = jobs_doing(tmp_path / "runs", "count")
    config = CPU | {"objective": "sts", "pooling": "cnn", "seconds": 0.1, "name": "Über"}
    id = jobs.submit(config)
    seen = list(states_seen(jobs, id))
    assert seen[0] is State.QUEUED
    assert [state for state in seen if state is not State.SAVING][1:] == [State.STARTING, State.RUNNING, State.FINISHED]
    job = jobs.get(id)
    assert id.startswith("sts-cnn-")
    assert (job.config, job.device, job.step, job.steps, job.checkpoint) == (config, "cpu", 3, 3, 3)
    assert (job.loss, job.dev_spearman) == (pytest.approx(1 / 3), pytest.approx(0.3))
    assert job.scores == {"dev_spearman": pytest.approx(0.3)}
    assert job.has_encoder
    assert job.created and job.started and job.ended
    assert job.created <= job.started <= job.ended
    assert [job.id for job in jobs.list()] == [id]
    assert [event["kind"] for event in jobs.events(id)][:3] == ["queued", "started", "step"]


@pytest.mark.parametrize(
    ("task", "reason", "log"),
    [
        ("fail", "train.tsv, row 3: score 'x' is not a number.", "DataError"),
        ("break_down", "Unexpected error, ZeroDivisionError: division by zero; the log tells more.", "a second line"),
        ("leave", "Unexpected error, SystemExit: 7; the log tells more.", "SystemExit"),
        ("is_not_there", "Unexpected error, AttributeError", "is_not_there"),
    ],
)
def test_a_job_that_fails_says_why(tmp_path: Path, task: str, reason: str, log: str) -> None:
    jobs = jobs_doing(tmp_path, task)
    job = ended(jobs, jobs.submit(CPU))
    assert job.state is State.FAILED
    assert job.reason.startswith(reason)
    until(lambda: log in jobs.log_tail(job.id))


def test_two_jobs_on_one_device_run_one_after_the_other_and_another_device_does_not_wait(tmp_path: Path) -> None:
    jobs = jobs_doing(tmp_path, "count")
    first, second = (jobs.submit(CPU | {"seconds": 0.2}, name=name) for name in ("z-first", "a-second"))
    other = jobs.submit({"device": "mps", "seconds": 0.2}, name="other")
    for id in (first, second, other):
        ended(jobs, id)
    one, two, three = (jobs.get(id) for id in (first, second, other))
    assert one.ended is not None and two.started is not None and three.started is not None
    assert two.started >= one.ended
    assert three.started < one.ended


def test_a_job_that_died_in_the_queue_holds_nobody_up(tmp_path: Path) -> None:
    jobs = jobs_doing(tmp_path, "count")
    first, second, third = (jobs.submit(CPU | {"seconds": 0.3}, name=name) for name in ("one", "two", "three"))
    os.kill(owner_of(jobs.get(second).folder), signal.SIGKILL)
    assert ended(jobs, second).state is State.LOST
    assert ended(jobs, third).state is State.FINISHED
    assert jobs.get(first).state is State.FINISHED


def test_stop_lets_the_worker_save_and_resume_goes_on_from_there(tmp_path: Path) -> None:
    jobs = jobs_doing(tmp_path, "count")
    id = jobs.submit(CPU | {"steps": 6, "seconds": 0.15})
    until(lambda: (jobs.get(id).step or 0) >= 2)
    group = owner_of(jobs.get(id).folder)
    job = jobs.stop(id)
    assert (job.state, job.reason) == (State.STOPPED, "")
    assert locks.members(group) == []
    assert job.checkpoint is not None
    assert jobs.events(id)[-1] | {"time": 0} == {"time": 0, "kind": "stopped", "step": job.checkpoint}
    with pytest.raises(TrainingError, match="has ended already"):
        jobs.stop(id)
    jobs.resume(id)
    assert ended(jobs, id).state is State.FINISHED
    steps = [event["step"] for event in jobs.events(id) if event["kind"] == "step"]
    assert steps == [1, 2, 3, 4, 5, 6]
    with pytest.raises(TrainingError, match="is finished; only a job that failed, was stopped or is lost"):
        jobs.resume(id)


def test_stop_from_another_process_leaves_no_process_of_the_job(tmp_path: Path) -> None:
    jobs = jobs_doing(tmp_path, "stubborn")
    id = jobs.submit(CPU)
    wait_for(jobs, id, State.RUNNING)
    group = owner_of(jobs.get(id).folder)
    children = [int(pid) for pid in (jobs.get(id).folder / "children").read_text().split()]
    assert {group, *children} <= set(locks.members(group))
    code = (
        f"from pathlib import Path; from explorer.jobs.manager import Jobs; Jobs(Path({str(tmp_path)!r})).stop({id!r})"
    )
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    assert time.monotonic() - began < 10.5
    assert locks.members(group) == []
    assert not any(map(locks.is_alive, children))
    until(lambda: not Path(f"/proc/{group}").exists(), 5)  # no zombie either
    job = jobs.get(id)
    assert (job.state, job.checkpoint, job.step) == (State.STOPPED, 3, 4)


@pytest.mark.parametrize("wait", [0.0, 0.02, 0.08, 0.15])
def test_stop_works_from_the_first_moment_on(tmp_path: Path, wait: float) -> None:
    jobs = jobs_doing(tmp_path, "count")
    jobs.submit(CPU | {"steps": 50}, name="first")
    id = jobs.submit(CPU, name="second")
    time.sleep(wait)
    assert jobs.stop(id).state is State.STOPPED
    assert jobs.stop("first").state is State.STOPPED
    assert jobs.events(id)[-1]["kind"] == "stopped"


def test_a_killed_worker_is_lost_and_can_be_resumed(tmp_path: Path) -> None:
    jobs = jobs_doing(tmp_path, "count")
    id = jobs.submit(CPU | {"steps": 6, "seconds": 0.1})
    until(lambda: (jobs.get(id).checkpoint or 0) >= 2)
    os.kill(owner_of(jobs.get(id).folder), signal.SIGKILL)
    job = wait_for(jobs, id, State.LOST, seconds=5)
    assert job.reason == f"Its worker process is gone without a word; its last checkpoint is of step {job.checkpoint}."
    assert job.eta_seconds is None
    jobs.resume(id)
    assert ended(jobs, id).state is State.FINISHED


def test_a_worker_outlives_the_process_that_started_it(tmp_path: Path) -> None:
    code = (
        "import os, signal; from tests.jobs.helpers import jobs_doing; from pathlib import Path\n"
        f"jobs = jobs_doing(Path({str(tmp_path)!r}), 'count')\n"
        "jobs.submit({'device': 'cpu', 'steps': 8, 'seconds': 0.1}, name='one')\n"
        "jobs.submit({'device': 'cpu', 'steps': 1}, name='two')\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == -signal.SIGKILL
    jobs = Jobs(tmp_path)
    assert jobs.get("one").alive and jobs.get("two").alive
    assert ended(jobs, "one").state is State.FINISHED
    assert ended(jobs, "two").state is State.FINISHED


def test_a_worker_started_by_hand_goes_on_with_a_stopped_job_and_never_twice(tmp_path: Path) -> None:
    jobs = jobs_doing(tmp_path, "count")
    id = jobs.submit(CPU | {"steps": 400, "seconds": 0.05})
    until(lambda: (jobs.get(id).step or 0) >= 1)
    command = [sys.executable, "-m", "explorer.training.worker", str(tmp_path / id), "--task", "tests.jobs.tasks:count"]
    refused = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert (refused.returncode, refused.stderr) == (2, f"{id} runs already.\n")
    jobs.stop(id)
    (jobs.get(id).folder / "config.json").write_text('{"device": "cpu", "steps": 2}')
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 0
    assert jobs.get(id).state is State.FINISHED
    assert subprocess.run(command, cwd=ROOT, check=False, capture_output=True).returncode == 2


def test_ended_workers_leave_no_zombies(tmp_path: Path) -> None:
    jobs = jobs_doing(tmp_path, "count")
    id = jobs.submit(CPU | {"steps": 1})
    pid = owner_of(jobs.get(id).folder)
    ended(jobs, id)
    until(lambda: not Path(f"/proc/{pid}").exists(), 5)


def test_twenty_readers_read_the_same_while_a_job_runs(tmp_path: Path) -> None:
    jobs = jobs_doing(tmp_path, "count")
    id = jobs.submit(CPU | {"steps": 20, "seconds": 0.02})
    failures: list[Exception] = []

    def look(reader: Jobs) -> None:
        try:
            before = 0
            while (job := reader.get(id)).alive:
                assert (job.step or 0) >= before
                before = job.step or 0
                reader.list()
                reader.log_tail(id)
            assert job.state is State.FINISHED, job
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=look, args=(jobs if number % 2 else Jobs(tmp_path),)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []


def test_looking_at_many_jobs_is_cheap(tmp_path: Path) -> None:
    for number in range(50):
        folder = tmp_path / f"run-{number}"
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        steps = "".join(f'{{"time": {step}, "kind": "step", "step": {step}}}\n' for step in range(500))
        (folder / "events.jsonl").write_text('{"time": 1, "kind": "queued"}\n' + steps)
    jobs = Jobs(tmp_path)
    jobs.list()
    began = time.process_time()
    for _ in range(20):
        assert len(jobs.list()) == 50
    assert (time.process_time() - began) / 20 < 0.05


def test_list_passes_over_what_is_no_job(tmp_path: Path) -> None:
    jobs = jobs_doing(tmp_path, "count")
    id = jobs.submit(CPU | {"steps": 1}, name="real")
    ended(jobs, id)
    (tmp_path / "an-encoder").mkdir()
    (tmp_path / "an-encoder" / "config.json").write_text("{}")
    (tmp_path / "a-file").write_text("x")
    (tmp_path / "Bad_Name").mkdir()
    (tmp_path / "Bad_Name" / "events.jsonl").write_text('{"time": 1, "kind": "finished"}\n')
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "broken-config").mkdir()
    (tmp_path / "broken-config" / "config.json").write_text("{half")
    (tmp_path / "broken-config" / "events.jsonl").write_text('{"time": 1, "kind": "finished"}\n')
    assert {job.id: job.reason for job in jobs.list()} == {
        "real": "",
        "broken-config": "Its config.json cannot be read.",
    }
    for name in ("link", "an-encoder", "../real", "Bad_Name", "/etc", ""):
        with pytest.raises(TrainingError, match="There is no job"):
            jobs.get(name)


def test_submit_refuses_names_that_are_taken_or_no_names(tmp_path: Path) -> None:
    jobs = jobs_doing(tmp_path, "count")
    jobs.submit(CPU | {"steps": 1}, name="mine")
    for name, words in (("mine", "already"), ("bert-mean", "already"), ("../x", "cannot name"), ("A", "cannot name")):
        with pytest.raises(TrainingError, match=words):
            jobs.submit(CPU, name=name)
    assert not is_name("x" * 61) and not is_name("-x") and not is_name(None) and is_name("x" * 60)
    ended(jobs, "mine")


def test_submit_makes_up_different_names(tmp_path: Path) -> None:
    jobs = jobs_doing(tmp_path, "count")
    ids = [jobs.submit(CPU | {"steps": 0}) for _ in range(3)]
    assert len(set(ids)) == 3
    for id in ids:
        ended(jobs, id)


def test_submit_into_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(TrainingError, match="No job can be made in"):
        jobs_doing(tmp_path / "runs", "count").submit(CPU)


def test_delete_and_rename_only_what_has_ended_and_only_within_the_folder(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    jobs = jobs_doing(tmp_path / "runs", "count")
    id = jobs.submit(CPU | {"steps": 400}, name="mine")
    for act in (lambda: jobs.delete(id), lambda: jobs.rename(id, "other")):
        with pytest.raises(TrainingError, match="stop it before it can be"):
            act()
    jobs.stop(id)
    (jobs.get(id).folder / "link").symlink_to(outside)
    with pytest.raises(TrainingError, match="'bert-cnn' already"):
        jobs.rename(id, "bert-cnn")
    assert jobs.rename(id, "other").state is State.STOPPED
    with pytest.raises(TrainingError, match="no job 'mine'; the jobs here are: other"):
        jobs.get("mine")
    (jobs.runs_folder / "linked").symlink_to(outside)
    for name in ("linked", "../outside"):
        with pytest.raises(TrainingError, match="There is no job"):
            jobs.delete(name)
    jobs.delete("other")
    assert jobs.list() == []
    assert (outside / "precious").read_text() == "x"
    assert [path.name for path in jobs.runs_folder.iterdir() if not path.name.startswith(".")] == ["linked"]


def test_what_a_run_starts_from_stays_as_long_as_that_run_may_need_it(tmp_path: Path) -> None:
    jobs = jobs_doing(tmp_path, "count")
    ended(jobs, jobs.submit(CPU | {"steps": 1}, name="first"))
    jobs.submit(CPU | {"steps": 400, "backbone": str(tmp_path / "first" / "encoder")}, name="second")
    for state in ("queued|starting|running", "stopped"):
        for act in (lambda: jobs.delete("first"), lambda: jobs.rename("first", "other")):
            with pytest.raises(TrainingError, match=rf"second starts from first and is ({state}); let it finish"):
                act()
        if jobs.get("second").alive:
            jobs.stop("second")
    jobs.delete("second")
    assert jobs.rename("first", "other").id == "other"
    jobs.delete("other")


def test_resume_judges_again_once_nobody_else_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = jobs_doing(tmp_path, "count")
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "events.jsonl").write_text('{"time": 1, "kind": "stopped"}\n')
    take = locks.take

    def slow(path: Path, **options: float) -> int | None:
        with (folder / "events.jsonl").open("a") as file:
            file.write('{"time": 2, "kind": "queued"}\n{"time": 3, "kind": "finished"}\n')
        return take(path, **options)

    monkeypatch.setattr(locks, "take", slow)
    with pytest.raises(TrainingError, match="mine is finished; only"):
        jobs.resume("mine")
    assert not locks.is_held(folder / "lock")


def test_delete_clears_what_an_earlier_one_left_and_submit_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = jobs_doing(tmp_path, "count")
    ended(jobs, jobs.submit(CPU | {"steps": 1}, name="mine"))
    (tmp_path / ".deleted-mine-1" / "encoder").mkdir(parents=True)
    jobs.delete("mine")

    def full(path: Path, **_: float) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(locks, "take", full)
    with pytest.raises(TrainingError, match="No job can be made .*: No space left"):
        jobs.submit(CPU, name="mine")
    assert [path.name for path in tmp_path.iterdir()] == [".turn"]


def test_log_tail_shows_what_a_terminal_would(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "events.jsonl").write_text('{"time": 1, "kind": "finished"}\n')
    jobs = Jobs(tmp_path)
    assert jobs.log_tail("mine") == ""
    (folder / "worker.log").write_bytes(b"start\n" + b"x" * 300_000 + b"\n\n 1%\r 50%\r100%\nend \xff\n")
    assert jobs.log_tail("mine", 2) == "100%\nend \ufffd"


def test_command_runs_the_same_job_again(tmp_path: Path) -> None:
    config = {"backbone": "a b", "pooling": "cnn", "batch_size": 8, "siamese": True, "nli": "", "output": "", "x": None}
    config |= {"stop_on_nan": False}
    jobs = jobs_doing(tmp_path, "count")
    id = jobs.submit(config)
    ended(jobs, id)
    assert jobs.command(id) == (
        "python -m explorer train --backbone 'a b' --pooling cnn --batch-size 8 --siamese --no-stop-on-nan --detach"
    )
    assert shlex.split(jobs.command(id)) == command_arguments(config)
    assert command_arguments({"backbone": "google-bert/bert-base-uncased"})[-2:] == ["--hub", "--detach"]
    assert "--hub" not in command_arguments({"backbone": str(tmp_path)})


def test_several_gpus_are_launched_by_accelerate(tmp_path: Path) -> None:
    arguments = launch_arguments(tmp_path, "a:b", ["cuda:0", "cuda:2"])
    assert arguments[:4] == [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu"]
    options = dict(itertools.pairwise(arguments))
    assert (options["--num_processes"], options["--gpu_ids"]) == ("2", "0,2")
    assert arguments[-6:] == ["--module", "explorer.training.worker", str(tmp_path), "--task", "a:b", "--rank"]


def test_a_job_on_several_gpus_is_one_process_each_and_stops_as_one(tmp_path: Path) -> None:
    jobs = jobs_doing(tmp_path, "ranked")
    id = jobs.submit({"device": "cuda:0,cuda:2", "steps": 10_000})
    folder = jobs.get(id).folder
    until(lambda: (jobs.get(id).step or 0) >= 1 and (folder / "rank-1").exists(), seconds=120)
    ranks = [(folder / f"rank-{rank}").read_text().split() for rank in (0, 1)]
    assert [gpu for _, gpu in ranks] == ["0", "2"]
    steps = [event["step"] for event in jobs.events(id) if event["kind"] == "step"]
    assert steps == sorted(set(steps))  # the first process alone tells
    assert jobs.stop(id).state is State.STOPPED
    assert not any(locks.is_alive(int(pid)) for pid, _ in ranks)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends processes with their parent")
def test_a_killed_worker_on_several_gpus_takes_its_processes_along(tmp_path: Path) -> None:
    jobs = jobs_doing(tmp_path, "ranked")
    id = jobs.submit({"device": "cuda:0,cuda:1", "steps": 10_000})
    folder = jobs.get(id).folder
    until(lambda: all((folder / f"rank-{rank}").exists() for rank in (0, 1)), seconds=120)
    everyone = locks.members(owner_of(folder))
    assert len(everyone) >= 4  # worker, launcher and two
    os.kill(owner_of(folder), signal.SIGKILL)
    until(lambda: not any(map(locks.is_alive, everyone)))
    assert jobs.get(id).state is State.LOST
