"""NLI heads and cross-encoders: worked out by hand or equal to sentence-transformers, asked only what they can answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from sentence_transformers import CrossEncoder

from explorer.encoders.cache import EmbeddingCache
from explorer.encoders.cross_encoder import load_cross_encoder
from explorer.encoders.encode import encode
from explorer.encoders.folder import FACTS_FILE
from explorer.encoders.nli_head import HEAD_FILE
from explorer.encoders.registry import Registry
from explorer.errors import EncoderError
from explorer.operations.comparison import comparisons, paper_rows
from explorer.operations.evaluate import evaluate
from explorer.operations.task_score import Subset
from explorer.training.export import save_encoder

LABELS = ("entailment", "neutral", "contradiction")
PAIRS = [
    (LABELS[n % 3], n % 6, f"the {animal} {verb}", f"a {animal} {other}")
    for n, (animal, verb, other) in enumerate(
        (animal, verb, other)
        for animal in ("dog", "cat", "bird", "horse")
        for verb in ("runs", "sleeps")
        for other in ("sings", "eats", "walks")
    )
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, tiny_encoder: Callable, tiny_backbone: Callable) -> Path:
    root = tmp_path_factory.mktemp("judge")
    rows = ["label\tscore\tsentence1\tsentence2", *("\t".join(map(str, row)) for row in PAIRS)]
    for folder, names in (("snli", ("dev", "test")), ("sick", ("test",)), ("stsb", ("test",))):
        (root / "data" / folder).mkdir(parents=True)
        for name in names:
            (root / "data" / folder / f"{name}.tsv").write_text("\n".join(rows).replace("\t0\t", "\t1\t") + "\n")
    facts = {FACTS_FILE: json.dumps({"nli_head": {"labels": list(LABELS), "note": "made before the last stage"}})}
    save_encoder(tiny_encoder("bert", "mean"), root / "encoders" / "with-head", facts, half=False)
    save_encoder(tiny_encoder("bert", "cnn"), root / "encoders" / "without", {}, half=False)
    rng = np.random.default_rng(3)
    head = {"weight": rng.normal(size=(3, 48)).astype(np.float32), "bias": rng.normal(size=3).astype(np.float32)}
    save_file(head, root / "encoders" / "with-head" / HEAD_FILE)
    model = CrossEncoder(str(tiny_backbone("bert")), num_labels=1, max_length=32, local_files_only=True)
    model.save_pretrained(str(root / "encoders" / "cross"), create_model_card=False)
    (root / "encoders" / "cross" / FACTS_FILE).write_text(json.dumps({"kind": "cross-encoder"}))
    return root


@pytest.fixture
def registry(root: Path) -> Registry:
    return Registry([root / "encoders"])


def test_an_nli_head_names_the_labels_its_arithmetic_gives(root: Path, registry: Registry) -> None:
    (score,) = evaluate(registry, root / "data", tasks=["snli"], encoders=["with-head"], precision="float32")
    encoder = registry.load("with-head")
    first, second = (encode(encoder, [row[i] for row in PAIRS], precision="float32") for i in (2, 3))
    head = np.random.default_rng(3)
    weight, bias = head.normal(size=(3, 48)), head.normal(size=3)
    right = 0
    for (label, *_), u, v in zip(PAIRS, first, second, strict=True):
        logits = [sum(w * x for w, x in zip(row, [*u, *v, *abs(u - v)], strict=True)) for row in weight] + bias
        right += LABELS[int(np.argmax(logits))] == label
    assert (score.n, score.accuracy.value) == (24, pytest.approx(100 * right / 24))
    assert score.interval.low < score.accuracy.value < score.interval.high
    assert score.remark == "made before the last stage"


def test_an_encoder_without_a_head_gives_the_reason_and_is_not_loaded(
    root: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "load", lambda name: pytest.fail("loaded"))
    for task, split in (("sick-e", "test"), ("snli", "dev")):
        (score,) = evaluate(registry, root / "data", tasks=[task], split=split, encoders=["without"])
        assert (score.n, score.accuracy.value, score.why) == (24, None, "no NLI head")


def test_labels_and_scores_come_from_one_run_and_the_cache(root: Path, registry: Registry, tmp_path: Path) -> None:
    cache, tasks = EmbeddingCache(tmp_path), ["stsb", "sick-r", "sick-e", "snli"]
    names = ["with-head", "without"]
    scores = list(evaluate(registry, root / "data", tasks=tasks, encoders=names, subsets=list(Subset), cache=cache))
    assert [(s.encoder, s.task) for s in scores if s.subset == "all"] == [(n, t) for n in names for t in tasks]
    assert {s.why for s in scores if s.encoder == "with-head" and s.subset == "clean"} == {
        "unknown: the encoder's folder does not say what it was trained on"
    }
    again = Registry([root / "encoders"])
    again.load = lambda name: pytest.fail("loaded")  # type: ignore[method-assign]
    figures = [s.accuracy.value for s in scores if s.task == "snli"]
    found = evaluate(again, root / "data", tasks=tasks, encoders=names, subsets=list(Subset), cache=cache)
    assert [s.accuracy.value for s in found if s.task == "snli"] == figures


def test_a_damaged_head_is_named(root: Path, tmp_path: Path, tiny_encoder: Callable) -> None:
    for name, tensors, facts, said in (
        ("narrow", {"weight": np.zeros((3, 3)), "bias": np.zeros(3)}, {"labels": list(LABELS)}, "should hold weight"),
        ("silent", {"weight": np.zeros((3, 48)), "bias": np.zeros(3)}, {}, "should name the NLI head's labels"),
    ):
        files = {FACTS_FILE: json.dumps({"nli_head": facts})}
        save_encoder(tiny_encoder("bert", "mean"), tmp_path / name, files)
        save_file({key: value.astype(np.float32) for key, value in tensors.items()}, tmp_path / name / HEAD_FILE)
        with pytest.raises(EncoderError, match=said):
            list(evaluate(Registry([tmp_path]), root / "data", tasks=["snli"], encoders=[name]))


def test_a_cross_encoder_is_scored_as_another_kind(root: Path, registry: Registry, tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path)
    scores = list(evaluate(registry, root / "data", tasks=["stsb", "snli"], precision="float32", cache=cache))
    assert [(s.encoder, s.kind) for s in scores if s.task == "stsb"] == [
        ("with-head", "encoder"),
        ("without", "encoder"),
        ("cross", "cross-encoder"),
    ]
    graded, labelled = (next(s for s in scores if (s.encoder, s.task) == ("cross", task)) for task in ("stsb", "snli"))
    model = load_cross_encoder(root / "encoders" / "cross")
    assert graded.cosines == pytest.approx(model.predict([list(row[2:]) for row in PAIRS]), abs=1e-6)
    assert labelled.why == "no NLI head"
    again = list(evaluate(registry, root / "data", encoders=["cross"], precision="float32", cache=cache))
    assert again[0].spearman == graded.spearman
    assert any("cross" in sentence for sentence in comparisons(scores))
    rows = paper_rows("table2", registry.scan()[0], scores)
    assert [our.encoder for our in rows[0].ours] == ["cross"]
    assert rows[1].missing.startswith("no cross-encoder here")


def test_a_folder_that_is_no_cross_encoder_is_named(tmp_path: Path, tiny_backbone: Callable) -> None:
    with pytest.raises(EncoderError, match="cannot be loaded as a cross-encoder"):
        load_cross_encoder(tmp_path)
    with pytest.raises(EncoderError, match=r"the weight bert\.embeddings.* is missing from model.safetensors"):
        load_cross_encoder(tiny_backbone("bert"))  # a head would be made up at random
    two = CrossEncoder(str(tiny_backbone("bert")), num_labels=2, max_length=32, local_files_only=True)
    two.save_pretrained(str(tmp_path / "two"), create_model_card=False)
    with pytest.raises(EncoderError, match="does not give one finite number"):
        load_cross_encoder(tmp_path / "two")
