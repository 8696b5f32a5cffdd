"""What a run's head says of its numbers."""

from __future__ import annotations

from pathlib import Path

from explorer.jobs import events
from explorer.jobs.job import Job, JobReader
from explorer.ui.train_views import job_view
from tests.ui.train_helpers import living, write_run


def read(runs: Path, name: str) -> Job:
    job = JobReader(runs).read(name)
    assert job is not None
    return job


def test_a_finished_run_has_one_dev_score_that_of_its_saved_encoder(tmp_path: Path) -> None:
    write_run(tmp_path, "done", steps=4, end=("finished", {"scores": {"dev_spearman": 0.7721}}))
    job = read(tmp_path, "done")
    assert job.dev_spearman == 0.7721  # 0.504 is the best that was logged
    assert "77.21" in job_view(job)
    write_run(tmp_path, "undefined", steps=4, end=("finished", {"scores": {"dev_spearman": None}}))
    assert read(tmp_path, "undefined").dev_spearman == 0.504


def test_the_speed_of_a_finished_run_is_its_mean_and_of_a_live_one_its_newest(tmp_path: Path) -> None:
    folder = write_run(tmp_path, "run")
    speeds = {"sentences_per_second": 9.0, "mean_sentences_per_second": 22.0}
    events.append(folder, "step", step=1, steps=2, loss=0.25, **speeds)
    with living(folder):
        live = job_view(read(tmp_path, "run"))
    assert "Sentences a second</dt><dd>9<" in live
    assert "Loss of the newest step</dt><dd>0.2500<" in live
    events.append(folder, "finished", scores={"dev_spearman": 0.5})
    done = job_view(read(tmp_path, "run"))
    assert "Sentences a second, on average</dt><dd>22<" in done
    assert "Loss of the last step</dt><dd>0.2500<" in done
