"""fetch_model against a hub on loopback: what comes, what does not, and what a person is told when something fails."""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT
from loopback_hub import LoopbackHub
from safetensors.numpy import load_file, save_file

from explorer.encoders.build import build_encoder
from explorer.encoders.hub import fetch_model
from explorer.encoders.registry import Registry
from explorer.errors import EncoderError
from explorer.paths import downloads_folder

SENTENCES = ["The old man plays a red guitar.", "Snow on the mountain"]


def copy(hub: LoopbackHub, name: str, tmp_path: Path) -> Path:
    """A copy of a served repository that a test may change."""
    repository = hub.repositories[name]
    repository.folder = Path(shutil.copytree(repository.folder, tmp_path / "changed"))
    return repository.folder


def test_fetch_model_brings_an_encoder_that_the_registry_lists_and_loads(
    hub: LoopbackHub, hub_encoder: str, tiny_encoder: Any
) -> None:
    seen: list[tuple[int, int]] = []
    folder = fetch_model(hub_encoder, progress=lambda done, total: seen.append((done, total)))
    assert folder == downloads_folder() / "tiny-lab--mean-encoder"
    assert seen == sorted(seen)
    assert seen[-1][0] == seen[-1][1] == sum(path.stat().st_size for path in _served(hub, hub_encoder))
    registry = Registry([downloads_folder()])
    infos, problems = registry.scan()
    assert [info.name for info in infos] == ["tiny-lab--mean-encoder"]
    assert not problems
    assert registry.choose([hub_encoder]) == infos
    assert infos[0].backbone == "tiny-lab/mean-encoder (BERT, H 16)"
    got = registry.load("tiny-lab--mean-encoder").encode(SENTENCES)
    np.testing.assert_allclose(got, tiny_encoder("bert", "mean").encode(SENTENCES), atol=1e-5)


def _served(hub: LoopbackHub, name: str) -> list[Path]:
    wanted = (".json", ".txt", ".safetensors")
    return [path for key, path in hub.repositories[name].files().items() if key.endswith(wanted)]


def test_fetch_model_asks_nothing_the_second_time(hub: LoopbackHub, hub_encoder: str) -> None:
    first = fetch_model(hub_encoder)
    hub.requests.clear()
    assert fetch_model(hub_encoder) == first
    Registry([downloads_folder()]).load(first.name)
    assert hub.requests == []


def test_fetch_model_gives_a_plain_backbone_average_pooling_and_says_so(hub: LoopbackHub, hub_backbone: str) -> None:
    folder = fetch_model(hub_backbone)
    (info,) = Registry([downloads_folder()]).scan()[0]
    assert (info.name, info.family, info.pooling) == ("tiny-lab--plain_albert", "albert", "mean")
    assert "average pooling added" in info.backbone
    assert info.facts["hub"]["repository"] == hub_backbone
    assert Registry([downloads_folder()]).load(info.name).encode(SENTENCES).shape == (2, 16)
    assert (folder / "config.json").is_file()


def test_fetch_model_leaves_out_a_last_scaling(hub: LoopbackHub, hub_encoder: str, tmp_path: Path) -> None:
    served = copy(hub, hub_encoder, tmp_path)
    modules = json.loads((served / "modules.json").read_text())
    modules.append({"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"})
    (served / "modules.json").write_text(json.dumps(modules))
    folder = fetch_model(hub_encoder)
    assert len(json.loads((folder / "modules.json").read_text())) == 2
    assert len(json.loads(next(hub.home.rglob("snapshots/*/modules.json")).read_text())) == 3


def test_fetch_model_downloads_no_code_no_pickle_and_no_export(
    hub: LoopbackHub, hub_encoder: str, tmp_path: Path
) -> None:
    served = copy(hub, hub_encoder, tmp_path)
    (served / "onnx").mkdir()
    (served / "onnx" / "config.json").write_text("{}")
    for name in ("pytorch_model.bin", "modeling_x.py", "explorer.json", "README.md", "1_Pooling/evil.py"):
        (served / name).write_text("{}")
    folder = fetch_model(hub_encoder)
    asked = {path.split("/")[-1] for _, path, _ in hub.requests}
    assert not asked & {"pytorch_model.bin", "modeling_x.py", "explorer.json", "README.md", "evil.py"}
    assert not any("onnx" in path for _, path, _ in hub.requests)
    assert not list(folder.rglob("*.py")) + list(folder.rglob("*.bin"))


def ranges(hub: LoopbackHub) -> set[str]:
    return {part for _, path, part in hub.requests if path.endswith("model.safetensors")}


def test_fetch_model_goes_on_after_a_cut_connection(
    hub: LoopbackHub, hub_encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 1000)
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda _: None)
    hub.repositories[hub_encoder].cut["model.safetensors"] = (5000, 1)
    fetch_model(hub_encoder)
    assert "bytes=5000-" in ranges(hub)


def test_fetch_model_keeps_whole_files_when_it_is_stopped(hub: LoopbackHub, hub_encoder: str) -> None:
    class Stop(Exception):
        pass

    def stop(done: int, total: int) -> None:
        if done > total / 2:
            raise Stop

    with pytest.raises(Stop):
        fetch_model(hub_encoder, progress=stop)
    assert Registry([downloads_folder()]).scan() == ([], [])
    hub.requests.clear()
    fetch_model(hub_encoder)
    assert not [path for method, path, _ in hub.requests if method == "GET" and path.endswith("config.json")]


def test_fetch_model_says_that_the_connection_was_cut(
    hub: LoopbackHub, hub_encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda _: None)
    hub.repositories[hub_encoder].cut["model.safetensors"] = (0, 50)
    with pytest.raises(
        EncoderError, match="the connection to the hub was cut; files that came whole are kept, try again"
    ):
        fetch_model(hub_encoder)
    hub.repositories[hub_encoder].cut.clear()
    fetch_model(hub_encoder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gated": True}, "is gated: accept its terms at https://huggingface.co/tiny-lab/mean-encoder and log in"),
        ({"missing": {"tokenizer.json"}}, "tiny-lab/mean-encoder/tokenizer.json is missing on the hub"),
        ({"missing": {"model.safetensors"}}, "model.safetensors is missing on the hub"),
    ],
)
def test_fetch_model_says_what_the_hub_refuses(
    hub: LoopbackHub, hub_encoder: str, change: dict[str, Any], message: str
) -> None:
    for name, value in change.items():
        setattr(hub.repositories[hub_encoder], name, value)
    with pytest.raises(EncoderError, match=message):
        fetch_model(hub_encoder)
    assert Registry([downloads_folder()]).scan() == ([], [])


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("model.safetensors", None, "has no model.safetensors, no weights"),
        ("tokenizer.json", None, "its tokenizer.json is missing"),
        ("config.json", None, "config.json is missing"),
        ("config.json", "[]", "config.json"),
        (
            "modules.json",
            '[{"type": "evil.Module", "path": ""}]',
            "the module type 'evil.Module' is not one this program",
        ),
        ("modules.json", "{}", "modules.json is not a list of modules"),
        ("model.safetensors", "abc", "model.safetensors is damaged"),
    ],
)
def test_fetch_model_refuses_what_cannot_be_used(
    hub: LoopbackHub, hub_encoder: str, tmp_path: Path, file: str, content: str | None, message: str
) -> None:
    served = copy(hub, hub_encoder, tmp_path)
    if content is None:
        (served / file).unlink()
    else:
        (served / file).write_text(content)
    with pytest.raises(EncoderError, match=message):
        fetch_model(hub_encoder)
    assert Registry([downloads_folder()]).scan() == ([], [])
    if file == "modules.json":
        assert not any(path.endswith(".safetensors") for _, path, _ in hub.requests)


def test_fetch_model_names_the_pickle_it_will_not_read(hub: LoopbackHub, hub_backbone: str, tmp_path: Path) -> None:
    served = copy(hub, hub_backbone, tmp_path)
    (served / "model.safetensors").rename(served / "pytorch_model.bin")
    with pytest.raises(EncoderError, match="only pytorch_model.bin, which can run code"):
        fetch_model(hub_backbone)


@pytest.mark.parametrize(
    ("key", "value"), [("auto_map", {"AutoModel": "m.M"}), ("architectures", ["XForSequenceClassification"])]
)
def test_fetch_model_refuses_code_and_classifiers(
    hub: LoopbackHub, hub_backbone: str, tmp_path: Path, key: str, value: object
) -> None:
    served = copy(hub, hub_backbone, tmp_path)
    config = json.loads((served / "config.json").read_text())
    (served / "config.json").write_text(json.dumps({**config, key: value}))
    with pytest.raises(EncoderError, match="code of its own|is a classifier"):
        fetch_model(hub_backbone)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "bert",
        "../etc/passwd",
        "/root/x",
        "a/b/c",
        "a//b",
        "a/..",
        "a b/c",
        "a/b\n",
        None,
        "-a/b",
        "a/b--c",
        "~/x",
        "a\\b/c",
    ],
)
def test_fetch_model_refuses_what_is_no_id(hub: LoopbackHub, name: Any) -> None:
    if name == "a/b\n":
        name = "a/b\nc"
    with pytest.raises(EncoderError, match="is not an id of the Hugging Face hub; write owner/name"):
        fetch_model(name)
    assert hub.requests == []


def test_fetch_model_says_that_there_is_no_such_model(hub: LoopbackHub) -> None:
    with pytest.raises(EncoderError, match="There is no model nobody/nothing on the hub, or it is private"):
        fetch_model("nobody/nothing")


def test_fetch_model_refuses_a_revision_that_is_a_path(hub: LoopbackHub, hub_encoder: str) -> None:
    with pytest.raises(EncoderError, match="is not a revision"):
        fetch_model(hub_encoder, revision="../../x")


def test_fetch_model_asks_no_one_when_the_hub_is_forbidden(
    hub: LoopbackHub, hub_encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(EncoderError, match="HF_HUB_OFFLINE is set.*start with --hub"):
        fetch_model(hub_encoder)
    assert hub.requests == []
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    shutil.rmtree(fetch_model(hub_encoder))
    hub.requests.clear()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    (snapshot,) = hub.home.rglob("snapshots/*")
    (snapshot.parents[1] / "refs").mkdir(exist_ok=True)
    (snapshot.parents[1] / "refs" / "main").write_text(snapshot.name)
    assert fetch_model(hub_encoder).is_dir(), "the hub's own cache is enough"
    assert hub.requests == []


def test_fetch_model_says_that_the_hub_cannot_be_reached(hub: LoopbackHub, hub_encoder: str) -> None:
    hub.close()
    with pytest.raises(EncoderError, match="the hub cannot be reached"):
        fetch_model(hub_encoder)


def test_fetch_model_says_that_the_disk_is_full(
    hub: LoopbackHub, hub_encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("huggingface_hub.hf_hub_download", full)
    with pytest.raises(EncoderError, match="the disk is full; free some space"):
        fetch_model(hub_encoder)


def test_fetch_model_in_a_new_process_uses_the_hub_it_is_given(hub: LoopbackHub, hub_encoder: str) -> None:
    code = f"from explorer.encoders.hub import fetch_model; print(fetch_model({hub_encoder!r}))"
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=hub.environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert Path(result.stdout.strip()) == downloads_folder() / "tiny-lab--mean-encoder"
    assert {path.split("/")[1] for _, path, _ in hub.requests} <= {"api", "tiny-lab"}


def test_fetch_model_reads_an_old_backbone_with_a_language_model_head(
    hub: LoopbackHub, tiny_backbone: Callable[[str], Path], tmp_path: Path
) -> None:
    plain = tiny_backbone("bert")
    served = Path(shutil.copytree(plain, tmp_path / "old"))
    tensors = {f"bert.{old_name(key)}": value for key, value in load_file(plain / "model.safetensors").items()}
    head = {
        "cls.predictions.bias": np.zeros(99, np.float32),
        "cls.seq_relationship.weight": np.zeros((2, 16), np.float32),
    }
    save_file({**tensors, **head}, served / "model.safetensors", {"format": "pt"})
    config = json.loads((served / "config.json").read_text())
    (served / "config.json").write_text(json.dumps({**config, "architectures": ["BertForPreTraining"]}))
    hub.add("tiny-lab/old-bert", served)
    hub.add("tiny-lab/new-bert", plain)
    folders = [fetch_model(name) for name in ("tiny-lab/old-bert", "tiny-lab/new-bert")]
    registry = Registry([downloads_folder()])
    old, new = (registry.load(folder.name).encode(SENTENCES) for folder in folders)
    np.testing.assert_array_equal(old, new)
    assert registry.info(folders[0].name).parameters == registry.info(folders[1].name).parameters


def old_name(key: str) -> str:
    return key.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")


def test_build_encoder_starts_from_a_backbone_of_the_hub(
    hub: LoopbackHub, hub_backbone: str, hub_encoder: str, tiny_backbone: Callable[[str], Path]
) -> None:
    got = build_encoder(hub_backbone, "cnn", seed=1).encode(SENTENCES)
    np.testing.assert_array_equal(got, build_encoder(tiny_backbone("albert"), "cnn", seed=1).encode(SENTENCES))
    assert build_encoder(hub_encoder, "cls").encode(SENTENCES).shape == (2, 16)
    with pytest.raises(
        EncoderError,
        match="Backbone 'nobody/nothing' is no folder here, and as an id of the hub it cannot be loaded: There is no model",
    ):
        build_encoder("nobody/nothing", "mean")
