"""Distillation: the student's shape and start, the loss, a short run, a stop and a resume."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import DATA
from transformers import AlbertModel, AutoModel, AutoTokenizer, BertConfig, BertModel

from explorer.data.sources import read_sentences
from explorer.encoders.build import build_encoder
from explorer.errors import EncoderError, TrainingError
from explorer.training.callback import StopOnSignal
from explorer.training.distill import DISTILL_FILE, DistillConfig, build_student, distill, distillation_loss

SENTENCES = read_sentences([DATA / "pairs.tsv", DATA / "text.txt"])


@pytest.fixture(scope="module")
def teacher(tiny_backbone: Callable[[str], Path]) -> BertModel:
    return AutoModel.from_pretrained(tiny_backbone("bert")).eval()


@pytest.fixture
def make_config(tiny_backbone: Callable[[str], Path], tmp_path: Path) -> Callable[..., DistillConfig]:
    def make(name: str = "student", **options: Any) -> DistillConfig:
        defaults: dict[str, Any] = {"embedding_size": 8, "batch_size": 8, "epochs": 2, "warmup_steps": 1}
        paths = str(tiny_backbone("bert")), str(tmp_path / name)
        return DistillConfig(*paths, ("pairs.tsv", "text.txt"), len(SENTENCES), **{**defaults, **options})

    return make


def config(**weights: float) -> DistillConfig:
    return replace(DistillConfig("teacher", "out", ("text",), 1), **weights)


def test_build_student_has_one_shared_layer_and_the_teachers_width_and_depth(teacher: BertModel) -> None:
    student = build_student(teacher, 8)
    assert isinstance(student, AlbertModel)
    assert student.config.num_hidden_layers == teacher.config.num_hidden_layers == 2
    assert student.config.hidden_size == 16
    assert student.embeddings.word_embeddings.weight.shape == (teacher.config.vocab_size, 8)
    assert student.encoder.embedding_hidden_mapping_in.weight.shape == (16, 8)
    assert len(student.encoder.albert_layer_groups) == 1
    assert len(student.encoder.albert_layer_groups[0].albert_layers) == 1
    assert student.config.hidden_dropout_prob == student.config.attention_probs_dropout_prob == 0.0


def test_build_student_of_minilms_size_has_5_8_million_parameters() -> None:
    size = BertConfig(hidden_size=384, num_hidden_layers=1, num_attention_heads=12, intermediate_size=1536)
    student = build_student(BertModel(size), 128)
    # Embeddings 30,522 x 128 + 512 x 128 + 2 x 128 and their LayerNorm 256; the mapping 128 x 384 + 384; the layer:
    # attention 4 x (384 x 384 + 384), feed-forward 2 x 384 x 1,536 + 1,536 + 384, two LayerNorms of 768.
    by_hand = 30_522 * 128 + 512 * 128 + 2 * 128 + 256 + 128 * 384 + 384
    by_hand += 4 * (384 * 384 + 384) + 2 * 384 * 1_536 + 1_536 + 384 + 2 * 768
    counted = sum(parameter.numel() for name, parameter in student.named_parameters() if "pooler" not in name)
    assert counted == by_hand
    assert round(counted / 1e6, 1) == 5.8


def test_build_student_starts_from_the_mean_of_the_layers(teacher: BertModel) -> None:
    shared = build_student(teacher, 8).encoder.albert_layer_groups[0].albert_layers[0]
    layers = teacher.encoder.layer
    mean = (layers[0].attention.self.query.weight + layers[1].attention.self.query.weight) / 2
    assert torch.allclose(shared.attention.query.weight, mean)
    assert torch.allclose(shared.ffn_output.bias, (layers[0].output.dense.bias + layers[1].output.dense.bias) / 2)


def test_build_student_spans_the_teachers_centred_embeddings(teacher: BertModel) -> None:
    """At full rank the factors give the table back, up to one scale and the LayerNorm's gain (1 here)."""
    student = build_student(teacher, 16)
    source = teacher.embeddings
    table = source.word_embeddings.weight + source.token_type_embeddings.weight[0]
    table = table - table.mean(0)
    made = student.embeddings.word_embeddings.weight @ student.encoder.embedding_hidden_mapping_in.weight.T
    scale = (made * table).sum() / table.square().sum()
    assert scale > 0
    assert torch.allclose(made, scale * table, atol=1e-4)


def test_build_student_leaves_the_teacher_alone(teacher: BertModel) -> None:
    before = {name: parameter.clone() for name, parameter in teacher.state_dict().items()}
    build_student(teacher, 8)
    assert all(torch.equal(before[name], parameter) for name, parameter in teacher.state_dict().items())


def test_distillation_loss_of_equal_states_is_zero() -> None:
    states, mask = torch.randn(5, 7, 4), torch.ones(5, 7, dtype=torch.long)
    assert distillation_loss(states, states, mask, config()).item() == pytest.approx(0, abs=1e-5)


def test_distillation_loss_ignores_what_stands_in_the_padding() -> None:
    student, teacher = torch.randn(2, 3, 6, 4).unbind(0)
    mask = (torch.arange(6) < torch.tensor([6, 3, 1])[:, None]).long()
    before = distillation_loss(student, teacher, mask, config())
    student, teacher = (torch.where(mask[..., None].bool(), states, 99.0) for states in (student, teacher))
    assert torch.allclose(before, distillation_loss(student, teacher, mask, config()))


def test_distillation_loss_of_a_case_by_hand() -> None:
    """Two sentences of one token, H = 2: teacher (1, 0) and (0, 2), student (0, 1) and (0, 2)."""
    teacher = torch.tensor([[[1.0, 0.0]], [[0.0, 2.0]]])
    student = torch.tensor([[[0.0, 1.0]], [[0.0, 2.0]]])
    mask = torch.ones(2, 1, dtype=torch.long)
    only = {"hidden_weight": 0.0, "pooled_weight": 0.0, "similarity_weight": 0.0}
    # Squared errors 1 + 1 over the teacher's squares 1 + 4.
    assert distillation_loss(student, teacher, mask, config(**only | {"hidden_weight": 1.0})).item() == pytest.approx(
        0.4
    )
    # Cosines 0 and 1, so 1 - 0.5.
    assert distillation_loss(student, teacher, mask, config(**only | {"pooled_weight": 1.0})).item() == pytest.approx(
        0.5
    )
    # With two sentences each row has one other sentence: both distributions are (1,), so their divergence is 0.
    assert distillation_loss(student, teacher, mask, config(**only | {"similarity_weight": 1.0})).item() == 0.0


def test_distillation_loss_compares_similarities_within_the_batch() -> None:
    """Three sentences; the student's vectors are the teacher's rotated: pooled terms differ, similarities agree."""
    teacher = torch.tensor([[[1.0, 0.0]], [[0.8, 0.6]], [[0.0, 1.0]]])
    rotated = teacher @ torch.tensor([[0.0, 1.0], [-1.0, 0.0]])
    mask = torch.ones(3, 1, dtype=torch.long)
    only = config(hidden_weight=0.0, pooled_weight=0.0, similarity_weight=1.0)
    assert distillation_loss(rotated, teacher, mask, only).item() == pytest.approx(0, abs=1e-5)
    assert distillation_loss(teacher.flip(0)[[0, 2, 1]], teacher, mask, only).item() > 0.01


def test_distillation_loss_takes_a_batch_of_one() -> None:
    student, teacher = torch.randn(2, 1, 5, 4).unbind(0)
    assert torch.isfinite(distillation_loss(student, teacher, torch.ones(1, 5, dtype=torch.long), config()))


def test_distill_writes_a_backbone_that_an_encoder_can_be_built_on(
    make_config: Callable[..., DistillConfig], tmp_path: Path
) -> None:
    settings = make_config()
    folder = distill(settings, SENTENCES)
    assert folder == tmp_path / "student"
    assert not (folder / ".training").exists()
    written = json.loads((folder / DISTILL_FILE).read_text(encoding="utf-8"))
    assert written == json.loads(json.dumps(asdict(settings)))
    assert json.loads((folder / "config.json").read_text())["hidden_dropout_prob"] == 0.1  # for what is trained on it
    assert AutoTokenizer.from_pretrained(folder)(SENTENCES[0])["input_ids"][0] == 2
    assert build_encoder(folder, "mean").encode(SENTENCES[:2], show_progress_bar=False).shape == (2, 16)


def test_distill_brings_the_student_nearer_to_its_teacher(
    make_config: Callable[..., DistillConfig], teacher: BertModel
) -> None:
    settings = make_config(epochs=30, learning_rate=5e-3)
    folder = distill(settings, SENTENCES)
    assert folder is not None
    tokenizer = AutoTokenizer.from_pretrained(folder)
    inputs = tokenizer(SENTENCES, padding=True, return_tensors="pt", return_token_type_ids=True)
    with torch.no_grad():
        target = teacher(**inputs).last_hidden_state
        losses = [
            distillation_loss(model(**inputs).last_hidden_state, target, inputs["attention_mask"], settings).item()
            for model in (build_student(teacher, 8).eval(), AlbertModel.from_pretrained(folder).eval())
        ]
    assert losses[1] < 0.7 * losses[0]


def test_distill_stopped_and_resumed_ends_like_one_run(
    make_config: Callable[..., DistillConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = distill(make_config("whole"), SENTENCES)
    settings = make_config("halved")
    with monkeypatch.context() as patch:
        stop_at_step(patch, 3)
        assert distill(settings, SENTENCES) is None
    assert (tmp_path / "halved" / ".training" / "checkpoint-3").is_dir()
    with pytest.raises(TrainingError, match="unfinished run"):
        distill(settings, SENTENCES)
    resumed = distill(settings, SENTENCES, resume=True)
    assert whole is not None
    assert resumed is not None
    one, two = (AlbertModel.from_pretrained(folder).state_dict() for folder in (whole, resumed))
    assert all(torch.allclose(one[name], two[name], atol=1e-6) for name in one)


def test_distill_refuses_to_resume_nothing(make_config: Callable[..., DistillConfig]) -> None:
    with pytest.raises(TrainingError, match="Nothing to resume"):
        distill(make_config(), SENTENCES, resume=True)


def test_distill_refuses_a_teacher_of_another_architecture(
    make_config: Callable[..., DistillConfig], tiny_backbone: Callable[[str], Path], tmp_path: Path
) -> None:
    with pytest.raises(EncoderError, match="of the albert architecture"):
        distill(replace(make_config(), teacher=str(tiny_backbone("albert"))), SENTENCES)
    with pytest.raises(EncoderError, match="cannot be loaded"):
        distill(replace(make_config(), teacher=str(tmp_path / "nothing")), SENTENCES)
    assert not (tmp_path / "student" / DISTILL_FILE).exists()


def stop_at_step(patch: pytest.MonkeyPatch, step: int) -> None:
    """Makes the process signal itself, as Ctrl-C would, at the end of that step."""
    original = StopOnSignal.on_step_end

    def on_step_end(self: StopOnSignal, args: Any, state: Any, control: Any, **kwargs: Any) -> Any:
        if state.global_step == step:
            signal.raise_signal(signal.SIGINT)
        return original(self, args, state, control, **kwargs)

    patch.setattr(StopOnSignal, "on_step_end", on_step_end)
