"""What is saved is what was trained, and others can load it: with this repository, without it, and by plain loading."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from sentence_transformers import SentenceTransformer

from explorer.encoders import cnn_pooling
from explorer.encoders.encode import encode
from explorer.encoders.load import load_encoder
from explorer.training.export import recover_folder, replace_folder, save_encoder

TEXTS = ["a dog runs", "two men walk in the rain", "the big red ball sleeps ."]
KINDS = [(family, pooling) for family in ("bert", "albert") for pooling in ("cls", "mean", "cnn")]


@pytest.mark.parametrize(("family", "pooling"), KINDS)
def test_save_encoder_then_load_gives_the_same_vectors(
    tmp_path: Path, tiny_encoder: Callable, family: str, pooling: str
) -> None:
    encoder = tiny_encoder(family, pooling)
    save_encoder(encoder, tmp_path / "x", {}, half=False)
    np.testing.assert_array_equal(
        encode(encoder, TEXTS, precision="float32"), encode(load_encoder(tmp_path / "x"), TEXTS, precision="float32")
    )


@pytest.mark.parametrize("pooling", ["mean", "cnn"])
def test_save_encoder_stores_halves_and_loading_gives_float32(
    tmp_path: Path, tiny_encoder: Callable, pooling: str
) -> None:
    encoder = tiny_encoder("bert", pooling)
    save_encoder(encoder, tmp_path / "x", {"README.md": "# A card\n"})
    for path in (tmp_path / "x").rglob("*.safetensors"):
        with safe_open(path, "pt") as file:
            assert {str(file.get_tensor(name).dtype) for name in file.keys()} == {"torch.float16"}  # noqa: SIM118
    loaded = load_encoder(tmp_path / "x")
    assert {str(parameter.dtype) for parameter in loaded.parameters()} == {"torch.float32"}
    assert {str(parameter.dtype) for parameter in encoder.parameters()} == {
        "torch.float32"
    }  # the argument is untouched
    np.testing.assert_allclose(encode(loaded, TEXTS), encode(encoder, TEXTS), atol=3e-2)
    assert (tmp_path / "x" / "README.md").read_text() == "# A card\n"
    assert all(path.stat().st_mode & 0o044 == 0o044 for path in (tmp_path / "x").rglob("*"))


@pytest.mark.parametrize("pooling", ["mean", "cnn"])
def test_a_saved_folder_loads_in_sentence_transformers_where_this_project_is_not(
    tmp_path: Path, tiny_encoder: Callable, pooling: str
) -> None:
    save_encoder(tiny_encoder("bert", pooling), tmp_path / "x", {}, half=False)
    flag = "True" if pooling == "cnn" else "False"
    code = (
        "import sys, json; from sentence_transformers import SentenceTransformer; "
        f"encoder = SentenceTransformer({str(tmp_path / 'x')!r}, trust_remote_code={flag}, device='cpu'); "
        "assert 'explorer' not in sys.modules; "
        f"print(json.dumps(encoder.encode({TEXTS!r}, show_progress_bar=False).tolist()))"
    )
    environment = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    theirs = np.array(json.loads(done.stdout.strip().splitlines()[-1]))
    np.testing.assert_allclose(theirs, encode(load_encoder(tmp_path / "x"), TEXTS, precision="float32"), atol=1e-5)


def test_a_cnn_folder_carries_the_code_of_its_layer(tmp_path: Path, tiny_encoder: Callable) -> None:
    save_encoder(tiny_encoder("bert", "cnn"), tmp_path / "x", {})
    assert (tmp_path / "x" / "cnn_pooling.py").read_text() == Path(cnn_pooling.__file__).read_text()
    types = [module["type"] for module in json.loads((tmp_path / "x" / "modules.json").read_text())]
    assert types[1] == "cnn_pooling.CNNPooling"


def test_a_cnn_folder_needs_the_flag_in_plain_sentence_transformers(tmp_path: Path, tiny_encoder: Callable) -> None:
    save_encoder(tiny_encoder("bert", "cnn"), tmp_path / "x", {})
    with pytest.raises(ValueError, match="trust_remote_code"):
        SentenceTransformer(str(tmp_path / "x"), device="cpu")


def test_replace_folder_leaves_nothing_behind(tmp_path: Path) -> None:
    for name in ("new", "x"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "content").write_text(name)
    replace_folder(tmp_path / "new", tmp_path / "x")
    assert (tmp_path / "x" / "content").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_replace_folder_is_not_left_half_done_by_a_signal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("new", "x"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "content").write_text(name)
    rename, stopped = Path.rename, []

    def disturbed(path: Path, target: Path) -> Path:
        signal.raise_signal(signal.SIGTERM)
        return rename(path, target)

    before = signal.signal(signal.SIGTERM, lambda *_: stopped.append("here"))
    try:
        monkeypatch.setattr(Path, "rename", disturbed)
        replace_folder(tmp_path / "new", tmp_path / "x")
        assert stopped == []
        signal.raise_signal(signal.SIGTERM)  # from here on it counts again
        assert stopped == ["here"]
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (tmp_path / "x" / "content").read_text() == "new"


def test_recover_folder_brings_back_what_a_kill_left_aside(tmp_path: Path) -> None:
    (tmp_path / ".x.old").mkdir()
    (tmp_path / ".x.old" / "checkpoint").write_text("whole")
    for _ in range(2):
        recover_folder(tmp_path / "x")
        assert [path.name for path in tmp_path.iterdir()] == ["x"]
        assert (tmp_path / "x" / "checkpoint").read_text() == "whole"
    shutil.copytree(tmp_path / "x", tmp_path / ".x.old")
    (tmp_path / "x" / "checkpoint").write_text("new")
    recover_folder(tmp_path / "x")
    assert (tmp_path / "x" / "checkpoint").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
