"""Real training jobs on a tiny backbone: they end as encoders, stop with a checkpoint, go on, are exported and renamed."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from conftest import DATA

from explorer.encoders.encode import encode
from explorer.encoders.registry import Registry
from explorer.errors import EncoderError, TrainingError
from explorer.jobs import locks
from explorer.jobs.events import State
from explorer.jobs.manager import Jobs
from explorer.jobs.paths import JobPaths
from explorer.operations.jobs import (
    config_of_job,
    export_zip,
    local_backbone,
    rename,
    run_training,
    seed_groups,
    submit,
    submit_seeds,
)
from explorer.training.config import TrainConfig
from tests.jobs.helpers import until, wait_for

TEXTS = ["a dog runs", "rain in the street"]
PLAIN = """
import json, sys
import torch
from sentence_transformers import SentenceTransformer
assert not any("explorer" in name for name in sys.modules)
encoder = SentenceTransformer(sys.argv[1], trust_remote_code=True, device="cpu", model_kwargs={"dtype": torch.float32})
print(json.dumps(encoder.encode(sys.argv[2:]).tolist()))
"""


@pytest.fixture(scope="module")
def config(tiny_backbone: Callable) -> TrainConfig:
    pairs = str(DATA / "pairs.tsv")
    return TrainConfig(
        str(tiny_backbone("bert")), "cnn", pairs, pairs, "", epochs=2, batch_size=4, max_length=32, device="cpu"
    )


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory, config: TrainConfig) -> Iterator[Jobs]:
    """A folder with one finished job, `mine`."""
    jobs = Jobs(tmp_path_factory.mktemp("runs"))
    submit(jobs, config, name="mine", test=config.dev)
    job = wait_for(jobs, "mine", State.FINISHED, State.FAILED, State.LOST, seconds=400)
    assert job.state is State.FINISHED, (job.reason, jobs.log_tail("mine"))
    yield jobs
    for job in jobs.list():
        if job.alive:
            jobs.stop(job.id)


def test_a_finished_job_is_an_encoder_with_its_card(jobs: Jobs) -> None:
    job = jobs.get("mine")
    info = Registry([jobs.runs_folder]).info("mine")
    assert job.has_encoder
    assert info.pooling == "cnn"
    assert (info.folder / "README.md").read_text().count("# mine") == 1
    assert "--detach" in info.facts["command"]
    assert {"dev_spearman", "test_spearman"} <= set(info.facts["scores"])
    assert job.scores["dev_spearman"] == pytest.approx(info.facts["scores"]["dev_spearman"] / 100, abs=1e-6)
    kinds = [event["kind"] for event in jobs.events("mine")]
    assert kinds[:2] == ["queued", "started"]
    assert {"step", "dev", "checkpoint", "saving"} <= set(kinds)
    assert kinds[-1] == "finished"
    assert (job.step, job.steps) == (6, 6)


def test_the_exported_archive_loads_in_plain_sentence_transformers(jobs: Jobs, tmp_path: Path) -> None:
    archive = export_zip(jobs, "mine", tmp_path)
    assert archive == tmp_path / "mine.zip"
    with zipfile.ZipFile(archive) as content:
        assert all(name.startswith("mine/") and "/." not in name for name in content.namelist())
        content.extractall(tmp_path / "elsewhere")
    command = [sys.executable, "-I", "-c", PLAIN, str(tmp_path / "elsewhere" / "mine"), *TEXTS]
    printed = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    ours = encode(Registry([jobs.runs_folder]).load("mine"), TEXTS, precision="float32")
    np.testing.assert_allclose(json.loads(printed), ours, atol=1e-5)


def test_a_job_that_was_stopped_once_its_encoder_was_in_place_has_finished(jobs: Jobs) -> None:
    paths = JobPaths(jobs.get("mine").folder)
    before = (paths.encoder / "model.safetensors").stat().st_mtime_ns
    told: list[str] = []
    scores = run_training(paths, jobs.get("mine").config, lambda kind, **_: told.append(kind))
    assert (scores, told) == (jobs.get("mine").scores, [])
    assert (paths.encoder / "model.safetensors").stat().st_mtime_ns == before


def test_export_refuses_what_has_no_encoder_or_no_place(jobs: Jobs, tmp_path: Path) -> None:
    folder = jobs.runs_folder / "failed-one"
    folder.mkdir()
    (folder / "events.jsonl").write_text('{"time": 1, "kind": "failed", "reason": "x"}\n')
    with pytest.raises(TrainingError, match="failed-one is failed and has no finished encoder"):
        export_zip(jobs, "failed-one", tmp_path)
    with pytest.raises(TrainingError, match="cannot be written"):
        export_zip(jobs, "mine", tmp_path / "nowhere" / "x.zip")
    jobs.delete("failed-one")


def test_rename_renames_the_encoder_in_a_running_registry_and_in_its_card(jobs: Jobs) -> None:
    registry = Registry([jobs.runs_folder])
    registry.load("mine")
    rename(jobs, "mine", "other")
    assert "# other" in (jobs.get("other").folder / "encoder" / "README.md").read_text()
    assert [info.name for info in registry.encoders()] == ["other"]
    with pytest.raises(EncoderError, match="no encoder 'mine'"):
        registry.load("mine")
    registry.load("other")
    rename(jobs, "other", "mine")


def test_a_real_job_stops_with_a_checkpoint_and_goes_on_to_the_same_end(jobs: Jobs, config: TrainConfig) -> None:
    submit(jobs, replace(config, epochs=200, evaluations_per_epoch=1), name="long")
    until(lambda: (jobs.get("long").step or 0) >= 3 or not jobs.get("long").alive, seconds=400)
    owner = locks.read_owner(jobs.get("long").folder / "lock")
    job = jobs.stop("long")
    assert owner is not None
    assert locks.members(owner.pid) == []
    assert job.state is State.STOPPED
    assert job.checkpoint is not None
    jobs.resume("long")
    until(lambda: (jobs.get("long").step or 0) > job.checkpoint or not jobs.get("long").alive, seconds=400)
    resumed = jobs.get("long")
    assert (resumed.step or 0) > job.checkpoint, (resumed.reason, jobs.log_tail("long"))
    if resumed.alive:  # such a small model may have come to its end meanwhile
        jobs.stop("long")
    steps = [event["step"] for event in jobs.events("long") if event["kind"] == "step"]
    assert steps == sorted(steps)
    jobs.delete("long")


def test_several_seeds_are_one_group(tmp_path: Path, config: TrainConfig) -> None:
    jobs = Jobs(tmp_path, task="tests.jobs.tasks:count")
    ids = submit_seeds(jobs, config, [1, 2, 2], name="mine")
    assert ids == ["mine-seed-1", "mine-seed-2"]
    submit(jobs, replace(config, epochs=3), name="other")
    until(lambda: not any(job.alive for job in jobs.list()), seconds=60)
    (group,) = seed_groups(jobs.list())
    assert (group.ids, group.seeds, group.finished) == (("mine-seed-1", "mine-seed-2"), (1, 2), 2)
    assert (group.mean, group.spread) == (pytest.approx(30), pytest.approx(0))
    with pytest.raises(TrainingError, match="'mine-seed-2' already"):
        submit_seeds(jobs, config, [3, 2], name="mine")
    assert len(jobs.list()) == 3  # none of the two was started


def test_a_seed_counts_once_in_its_group(tmp_path: Path) -> None:
    for number, (seed, end) in enumerate([(42, 0.5), (42, 0.7), (43, 0.8), (42, None)]):
        folder = tmp_path / f"run-{number}"
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps({"seed": seed, "epochs": 1}))
        events = [{"time": number, "kind": "queued"}]
        events += [{"time": number, "kind": "finished", "scores": {"dev_spearman": end}}] if end else []
        (folder / "events.jsonl").write_text("".join(f"{json.dumps(event)}\n" for event in events))
    (group,) = seed_groups(Jobs(tmp_path).list())
    assert (group.ids, group.seeds, group.finished) == (("run-1", "run-2"), (42, 43), 2)
    assert (group.mean, group.spread) == (pytest.approx(75), pytest.approx(50**0.5))


def test_submit_makes_paths_absolute_and_keeps_a_hub_id(
    tmp_path: Path, config: TrainConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(DATA)
    jobs = Jobs(tmp_path, task="tests.jobs.tasks:count")
    asked = replace(config, backbone="owner/name", train="pairs.tsv")
    id = submit(jobs, asked, test="pairs.tsv", devices="cuda:0,cuda:1")
    job = jobs.get(id)
    assert job.config["backbone"] == "owner/name"
    assert job.config["train"] == job.config["test"] == str(DATA / "pairs.tsv")
    assert job.device == "cuda:0,cuda:1"
    ran = config_of_job(JobPaths(job.folder), job.config)
    assert (ran.device, ran.output) == ("cuda", str(job.folder / "encoder"))
    jobs.stop(id)


def test_a_backbone_of_the_hub_is_fetched_with_progress(
    tmp_path: Path, config: TrainConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, dict]] = []

    def fetch_model(repository: str, *, progress: Callable[[int, int], None]) -> Path:
        assert repository == "owner/name"
        progress(1_000_000, 2_000_000)
        progress(2_000_000, 2_000_000)
        return tmp_path / "not-a-model"

    monkeypatch.setattr("explorer.encoders.hub.fetch_model", fetch_model)
    asked = asdict(replace(config, backbone="owner/name"))
    with pytest.raises(EncoderError, match="not-a-model"):
        run_training(JobPaths(tmp_path), asked, lambda kind, **facts: told.append((kind, facts)))
    assert told == [("fetching", {"megabytes": 1.0, "of": 2.0}), ("fetching", {"megabytes": 2.0, "of": 2.0})]


def test_local_backbone_takes_folders_and_refuses_what_is_neither(tmp_path: Path) -> None:
    assert local_backbone(str(tmp_path)) == str(tmp_path)
    (tmp_path / "old" / "0_Transformer").mkdir(parents=True)
    (tmp_path / "old" / "0_Transformer" / "config.json").write_text("{}")
    assert local_backbone(str(tmp_path / "old")) == str(tmp_path / "old" / "0_Transformer")
    for backbone in ("/nowhere", "no-such-thing", "a/b/c"):
        with pytest.raises(EncoderError, match="There is no folder"):
            local_backbone(backbone)


def test_seeds_are_grouped_whether_a_whole_number_was_written_4_or_4_0(tmp_path: Path) -> None:
    for seed, epochs in enumerate((4, 4.0)):
        folder = tmp_path / f"run-{seed}"
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps({"seed": seed, "epochs": epochs, "stop_on_nan": True}))
        (folder / "events.jsonl").write_text(json.dumps({"time": 1.0, "kind": "queued"}) + "\n")
    (group,) = seed_groups(Jobs(tmp_path).list())
    assert sorted(group.seeds) == [0, 1]


@pytest.mark.parametrize("damaged", ["forty-two", None, [42], 1.5, float("nan"), True])
def test_a_run_with_a_damaged_seed_is_listed_and_in_no_group(tmp_path: Path, damaged: object) -> None:
    for number, seed in enumerate((damaged, 42, 43)):
        folder = tmp_path / f"run-{number}"
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps({"seed": seed, "epochs": 1}))
        (folder / "events.jsonl").write_text(json.dumps({"time": 1.0 + number, "kind": "queued"}) + "\n")
    jobs = Jobs(tmp_path).list()
    assert sorted(job.id for job in jobs) == ["run-0", "run-1", "run-2"]
    (group,) = seed_groups(jobs)
    assert (group.ids, group.seeds) == (("run-1", "run-2"), (42, 43))
