"""The four shipped encoders: whole, small enough, honest about themselves, and as good as their cards say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from sentence_transformers import SentenceTransformer

from explorer.analysis.similarity import cosine_of_pairs, percentile
from explorer.data.tables import read_pairs
from explorer.encoders import cnn_pooling
from explorer.encoders.encode import Precision, encode
from explorer.encoders.load import load_encoder
from explorer.encoders.registry import Registry
from explorer.operations.evaluate import evaluate
from explorer.operations.judge import cosines_of_tables
from explorer.operations.score import RANDOM, STSB, read_references, score_pair
from explorer.paths import CHECKPOINTS
from explorer.training.card import model_card

NAMES = ("bert-mean", "bert-cnn", "albert-mean", "albert-cnn")
LEAST_TEST_SPEARMAN = {"bert-mean": 85.3, "bert-cnn": 84.7, "albert-mean": 82.8, "albert-cnn": 82.3}
TEXTS = ["The kettle is boiling.", "Hot water waits in the kitchen.", "A train left.", "?", "Two plus two is four."]
LONG = "rain " * 118


@pytest.fixture(scope="module")
def registry() -> Registry:
    return Registry()


def test_the_four_are_there_in_order_and_nothing_is_wrong_with_them(registry: Registry) -> None:
    infos, problems = registry.scan()
    assert tuple(info.name for info in infos) == NAMES
    assert problems == []
    assert [info.parameters for info in infos] == [22_565_376, 22_649_857, 5_796_864, 5_881_345]


def test_they_take_at_most_120_mebibytes_and_no_file_takes_50(registry: Registry) -> None:
    sizes = [path.stat().st_size for path in CHECKPOINTS.rglob("*") if path.is_file()]
    assert sum(sizes) <= 120 * 2**20
    assert max(sizes) < 50 * 2**20


@pytest.mark.parametrize("name", NAMES)
def test_weights_are_float16_safetensors(name: str) -> None:
    folder = CHECKPOINTS / name
    assert not [path for path in folder.rglob("*") if path.suffix in (".bin", ".pt", ".pkl")]
    for path in folder.rglob("*.safetensors"):
        with safe_open(path, "pt") as file:
            assert {file.get_slice(key).get_dtype() for key in file.keys()} == {"F16"}  # noqa: SIM118


@pytest.mark.parametrize("name", NAMES)
def test_the_card_is_made_from_the_facts_and_the_code_is_this_version(name: str) -> None:
    folder = CHECKPOINTS / name
    facts = json.loads((folder / "explorer.json").read_text(encoding="utf-8"))
    assert (folder / "README.md").read_text(encoding="utf-8") == model_card(name, facts)
    if name.endswith("cnn"):
        assert (folder / "cnn_pooling.py").read_text() == Path(cnn_pooling.__file__).read_text()


@pytest.mark.parametrize("name", NAMES)
def test_a_sentence_alone_equals_the_same_beside_a_long_one(registry: Registry, name: str) -> None:
    encoder = registry.load(name)
    together = encode(encoder, [*TEXTS, LONG], precision="float32")[:-1]
    alone = np.concatenate([encode(encoder, [text], precision="float32") for text in TEXTS])
    assert cosine_of_pairs(together, alone).min() >= 0.99999


def test_the_order_of_a_pair_does_not_matter(registry: Registry) -> None:
    forward, backward = score_pair(registry, *TEXTS[:2]), score_pair(registry, *TEXTS[1::-1])
    assert [score.cosine for score in forward] == pytest.approx([score.cosine for score in backward], abs=1e-6)


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith("mean")])
def test_a_plain_sentence_transformers_load_agrees(registry: Registry, name: str) -> None:
    plain = SentenceTransformer(str(CHECKPOINTS / name), device="cpu", model_kwargs={"dtype": "float32"})
    vectors = plain.encode(TEXTS, show_progress_bar=False)
    np.testing.assert_allclose(vectors, encode(registry.load(name), TEXTS, precision="float32"), atol=1e-5)


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith("cnn")])
def test_a_cnn_folder_loads_as_its_card_says(registry: Registry, name: str, tmp_path: Path) -> None:
    folder = CHECKPOINTS / name
    ours = encode(registry.load(name), TEXTS, precision="float32")
    code = (
        "import json, sys; from sentence_transformers import SentenceTransformer; import torch; "
        f"encoder = SentenceTransformer({str(folder)!r}, model_kwargs={{'dtype': torch.float32}}, "
        "trust_remote_code=True, device='cpu'); assert 'explorer' not in sys.modules; "
        f"print(json.dumps(encoder.encode({TEXTS!r}, show_progress_bar=False).tolist()))"
    )
    environment = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    without = np.array(json.loads(done.stdout.strip().splitlines()[-1]))
    np.testing.assert_allclose(without, ours, atol=1e-5)
    with_repository = load_encoder(folder).encode(TEXTS, show_progress_bar=False)
    np.testing.assert_allclose(with_repository, ours, atol=1e-5)


def test_test_spearman_is_what_the_cards_say_and_enough(registry: Registry, shared_data: Path) -> None:
    for score in evaluate(registry, shared_data):
        assert score.n == 1379
        assert score.spearman is not None
        assert score.spearman >= LEAST_TEST_SPEARMAN[score.encoder]
        assert score.spearman == pytest.approx(registry.info(score.encoder).scores["stsb_test_spearman"], abs=0.05)


def test_the_references_are_the_cosines_of_stsb_dev(registry: Registry, shared_data: Path) -> None:
    pairs = read_pairs(shared_data / "stsb" / "dev.tsv")
    (cosines,) = cosines_of_tables(registry, registry.info("albert-mean"), [pairs], Precision.AUTO, None)
    reference = read_references(registry.info("albert-mean"))
    assert reference[STSB].n == reference[RANDOM].n == 1500
    for value in np.quantile(cosines, [0.1, 0.5, 0.9]):
        assert percentile(value, reference[STSB].quantiles) == pytest.approx(100 * (cosines < value).mean(), abs=0.6)
    assert reference[RANDOM].quantiles[100] < reference[STSB].quantiles[100]


def test_no_training_sentence_is_in_a_checkpoint(shared_data: Path) -> None:
    pairs = read_pairs(shared_data / "stsb" / "train.tsv")
    sentences = {text for text in [*pairs["sentence1"], *pairs["sentence2"]] if len(text) > 25}
    for path in CHECKPOINTS.rglob("*"):
        if path.is_file() and path.suffix in (".md", ".json", ".tsv", ".py") and path.name != "tokenizer.json":
            text = path.read_text(encoding="utf-8")
            assert not [sentence for sentence in sentences if sentence in text], path
