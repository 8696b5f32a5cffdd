"""The registry reads metadata only, and a damaged folder never takes the good ones with it."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from explorer.encoders.registry import Registry
from explorer.errors import EncoderError
from explorer.training.export import count_parameters, save_encoder


@pytest.fixture
def roots(tmp_path: Path, tiny_encoder: Callable) -> Path:
    """A folder with two good encoders, good-mean and good-cnn."""
    for pooling in ("mean", "cnn"):
        save_encoder(tiny_encoder("bert", pooling), tmp_path / f"good-{pooling}", {})
    return tmp_path


def test_scan_reads_what_the_folders_hold(roots: Path, tiny_encoder: Callable) -> None:
    (roots / "good-cnn" / "explorer.json").write_text(json.dumps({"backbone": "a tiny one", "scores": {"x": 1}}))
    infos, problems = Registry([roots]).scan()
    assert problems == []
    cnn, mean = infos
    assert (cnn.name, cnn.family, cnn.pooling, cnn.backbone) == ("good-cnn", "bert", "cnn", "a tiny one")
    assert (mean.pooling, mean.embedding_dimension, mean.max_length) == ("mean", 16, 32)
    assert cnn.scores == {"x": 1.0}
    assert cnn.parameters == sum(count_parameters(tiny_encoder("bert", "cnn")).values())
    assert cnn.parameters - mean.parameters == 84_481
    assert cnn.size_bytes == sum(f.stat().st_size for f in (roots / "good-cnn").rglob("*") if f.is_file())


def test_scan_imports_no_torch(roots: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from explorer.encoders.registry import Registry; "
        f"assert len(Registry([Path({str(roots)!r})]).scan()[0]) == 2; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_weights_hash_follows_the_content(roots: Path) -> None:
    before = Registry([roots]).info("good-cnn").weights_hash
    path = roots / "good-cnn" / "1_CNNPooling" / "model.safetensors"
    save_file({name: value + 1 for name, value in load_file(path).items()}, path)
    assert Registry([roots]).info("good-cnn").weights_hash != before


def _missing_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


def _missing_head(folder: Path) -> None:
    (folder / "1_CNNPooling" / "model.safetensors").unlink()


def _wrong_json(folder: Path) -> None:
    (folder / "config.json").write_text("{not json")


def _wrong_modules(folder: Path) -> None:
    (folder / "modules.json").write_text('{"type": 3}')


def _unknown_type(folder: Path) -> None:
    _set_type(folder, "sentence_transformers.models.Dense")


def _evil_type(folder: Path) -> None:
    (folder / "evil.py").write_text("raise SystemExit('code of a folder was run')")
    _set_type(folder, "evil.CNNPooling")


def _set_type(folder: Path, name: str) -> None:
    modules = json.loads((folder / "modules.json").read_text())
    modules[1]["type"] = name
    (folder / "modules.json").write_text(json.dumps(modules))


def _outside(folder: Path) -> None:
    modules = json.loads((folder / "modules.json").read_text())
    modules[1]["path"] = "../good-cnn/1_CNNPooling"
    (folder / "modules.json").write_text(json.dumps(modules))


def _pickle_only(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"a": 1}))


def _cut_short(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def _no_weights_at_all(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"")


def _lfs_pointer(folder: Path) -> None:
    (folder / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")


def _no_vocabulary(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


def _list_for_config(folder: Path) -> None:
    (folder / "config.json").write_text("[]")


def _list_for_facts(folder: Path) -> None:
    (folder / "explorer.json").write_text("[]")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (_missing_weights, "model.safetensors is missing"),
        (_missing_head, "1_CNNPooling/model.safetensors is missing"),
        (_wrong_json, "cannot be read as json"),
        (_wrong_modules, "not a list of modules"),
        (_unknown_type, "'sentence_transformers.models.Dense' is not one this program builds"),
        (_evil_type, "'evil.CNNPooling' is not one this program builds"),
        (_outside, "points outside its folder"),
        (_pickle_only, "pytorch_model.bin is a pickle"),
        (_cut_short, "is damaged"),
        (_no_weights_at_all, "is damaged"),
        (_lfs_pointer, "is damaged"),
        (_no_vocabulary, "tokenizer.json is missing"),
        (_list_for_config, "config.json holds no json object"),
        (_list_for_facts, "explorer.json holds no json object"),
    ],
)
def test_scan_reports_a_damaged_folder_and_keeps_the_others(
    roots: Path, damage: Callable[[Path], None], words: str
) -> None:
    shutil.copytree(roots / "good-cnn", roots / "damaged")
    damage(roots / "damaged")
    registry = Registry([roots])
    infos, problems = registry.scan()
    assert [info.name for info in infos] == ["good-cnn", "good-mean"]
    assert [problem.name for problem in problems] == ["damaged"]
    assert words in problems[0].message
    with pytest.raises(EncoderError, match="damaged"):
        registry.load("damaged")
    assert registry.load("good-cnn").get_embedding_dimension() == 16


def _rewrite(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    path = folder / "model.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path, metadata={"format": "pt"})


def _other_shape(folder: Path) -> None:
    _rewrite(folder, lambda t: t.update({"encoder.layer.0.output.dense.bias": torch.zeros(7)}))


def _one_missing(folder: Path) -> None:
    _rewrite(folder, lambda t: t.pop("encoder.layer.1.output.dense.bias"))


def _not_finite(folder: Path) -> None:
    _rewrite(folder, lambda t: t["encoder.layer.1.output.dense.bias"].fill_(float("nan")))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (_other_shape, "cannot be loaded|has the shape"),
        (_one_missing, "encoder.layer.1.output.dense.bias is missing"),
        (_not_finite, "not finite"),
    ],
)
def test_load_refuses_weights_that_do_not_fit_and_scan_tells_from_then_on(
    roots: Path, damage: Callable[[Path], None], words: str
) -> None:
    shutil.copytree(roots / "good-cnn", roots / "damaged")
    damage(roots / "damaged")
    registry = Registry([roots])
    with pytest.raises(EncoderError, match=words):
        registry.load("damaged")
    infos, problems = registry.scan()
    assert [info.name for info in infos] == ["good-cnn", "good-mean"]
    assert [problem.name for problem in problems] == ["damaged"]


def test_scan_passes_over_scores_that_were_undefined(roots: Path) -> None:
    (roots / "good-cnn" / "explorer.json").write_text(
        '{"scores": {"stsb_test_spearman": null, "stsb_dev_spearman": 80}}'
    )
    assert Registry([roots]).info("good-cnn").scores == {"stsb_dev_spearman": 80.0}


def test_weights_hash_follows_the_tokenizer_and_the_configuration(roots: Path) -> None:
    hashes = [Registry([roots]).info("good-cnn").weights_hash]
    for name in ("tokenizer.json", "config.json"):
        path = roots / "good-cnn" / name
        path.write_text(path.read_text() + "\n")
        hashes.append(Registry([roots]).info("good-cnn").weights_hash)
    assert len(set(hashes)) == 3


def test_an_encoder_that_was_mended_is_there_again(roots: Path) -> None:
    shutil.copytree(roots / "good-cnn", roots / "damaged")
    _one_missing(roots / "damaged")
    registry = Registry([roots])
    with pytest.raises(EncoderError):
        registry.load("damaged")
    shutil.copyfile(roots / "good-cnn" / "model.safetensors", roots / "damaged" / "model.safetensors")
    assert registry.scan()[1] == []
    assert registry.load("damaged").get_embedding_dimension() == 16


def test_a_loaded_encoder_does_not_wait_for_another(roots: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry, reached, go_on = Registry([roots]), threading.Event(), threading.Event()
    ready = registry.load("good-mean")

    def slow(folder: Path) -> object:
        reached.set()
        assert go_on.wait(30)
        return ready

    monkeypatch.setattr("explorer.encoders.load.load_encoder", slow)
    loading = threading.Thread(target=registry.load, args=("good-cnn",))
    loading.start()
    assert reached.wait(30)
    found: list[object] = []
    asking = threading.Thread(target=lambda: found.append(registry.load("good-mean")))
    asking.start()
    asking.join(30)
    go_on.set()
    loading.join(30)
    assert found == [ready]


def test_load_gives_the_same_object_twice(roots: Path) -> None:
    registry = Registry([roots])
    assert registry.load("good-mean") is registry.load("good-mean")


def test_load_names_the_encoders_there_are(roots: Path) -> None:
    with pytest.raises(EncoderError, match="no encoder 'bert-large'; the encoders here are: good-cnn, good-mean"):
        Registry([roots]).load("bert-large")


def test_scan_of_nothing_is_empty(tmp_path: Path) -> None:
    assert Registry([tmp_path / "absent", tmp_path]).scan() == ([], [])
    with pytest.raises(EncoderError, match="No encoder"):
        Registry([tmp_path]).choose()


def test_scan_passes_over_a_training_that_has_not_finished(roots: Path) -> None:
    (roots / "new" / ".training" / "checkpoint-5").mkdir(parents=True)
    (roots / "new" / "train_config.json").write_text("{}")
    infos, problems = Registry([roots]).scan()
    assert len(infos) == 2
    assert problems == []


def test_scan_reports_a_name_that_stands_twice(roots: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    shutil.copytree(roots / "good-cnn", other / "good-cnn")
    infos, problems = Registry([roots, other]).scan()
    assert len(infos) == 2
    assert "exists twice" in problems[0].message


@pytest.fixture
def run(tmp_path: Path, tiny_encoder: Callable) -> Path:
    """The folder of a finished training job, runs/mine."""
    folder = tmp_path / "runs" / "mine"
    folder.mkdir(parents=True)
    (folder / "events.jsonl").write_text('{"time": 1, "kind": "finished"}\n')
    (folder / "config.json").write_text("{}")
    save_encoder(tiny_encoder("bert", "cnn"), folder / "encoder", {})
    return folder


def test_scan_finds_the_encoder_of_a_job_by_the_jobs_name(run: Path) -> None:
    registry = Registry([run.parent])
    infos, problems = registry.scan()
    assert [(info.name, info.folder, info.kind) for info in infos] == [("mine", run / "encoder", "encoder")]
    assert problems == []
    assert registry.load("mine").get_embedding_dimension() == 16


def test_scan_passes_over_jobs_without_an_encoder(run: Path) -> None:
    for name in ("queued", "stopped"):
        (run.parent / name).mkdir()
        (run.parent / name / "events.jsonl").write_text("")
    (run.parent / "stopped" / "encoder" / ".training").mkdir(parents=True)
    infos, problems = Registry([run.parent]).scan()
    assert [info.name for info in infos] == ["mine"]
    assert problems == []


def test_a_registry_follows_a_job_that_is_renamed_and_deleted(run: Path) -> None:
    registry = Registry([run.parent])
    encoder = registry.load("mine")
    run.rename(run.with_name("other"))
    assert registry.load("other") is not encoder
    with pytest.raises(EncoderError, match="no encoder 'mine'; the encoders here are: other"):
        registry.load("mine")
    shutil.rmtree(run.with_name("other"))
    assert registry.scan() == ([], [])
    assert registry._loaded == {}


def test_a_damaged_encoder_of_a_job_is_named_by_its_job(run: Path) -> None:
    (run / "encoder" / "tokenizer.json").unlink()
    ((problem,), infos) = Registry([run.parent]).scan()[::-1]
    assert infos == []
    assert (problem.name, problem.message.split(":")[0]) == ("mine", "mine")


def test_a_cross_encoder_is_listed_as_one_and_makes_no_embedding(
    tmp_path: Path, tiny_backbone: Callable, tiny_encoder: Callable
) -> None:
    from sentence_transformers import CrossEncoder

    CrossEncoder(str(tiny_backbone("bert")), num_labels=1, device="cpu").save_pretrained(str(tmp_path / "crossed"))
    save_encoder(tiny_encoder("bert", "mean"), tmp_path / "plain", {})
    registry = Registry([tmp_path])
    assert [(info.name, info.kind, info.pooling) for info in registry.scan()[0]] == [
        ("crossed", "cross-encoder", "none"),
        ("plain", "encoder", "mean"),
    ]
    assert [info.name for info in registry.choose()] == ["plain"]
    with pytest.raises(EncoderError, match="crossed is a cross-encoder"):
        registry.load("crossed")
