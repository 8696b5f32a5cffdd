"""Makes an ALBERT-architecture backbone (one shared layer, factorised embeddings) from a BERT-architecture one.

Text only: no labels are read. The student starts from the teacher's own weights (SVD of the embeddings, mean of the
layers) and learns its hidden states, its mean-pooled vectors and its similarities within a batch.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import (
    AlbertConfig,
    AlbertModel,
    AutoModel,
    AutoTokenizer,
    BertModel,
    DataCollatorWithPadding,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    Trainer,
    TrainingArguments,
)

from explorer.encoders.precision import bf16_is_fast
from explorer.errors import EncoderError
from explorer.training.callback import StopOnSignal, checkpoint_to_resume

DISTILL_FILE = "distill_config.json"
INIT_STD_FLOOR = 1e-6
FINE_TUNING_DROPOUT = 0.1


@dataclass(frozen=True)
class DistillConfig:
    """Everything that decides a distillation; written beside its output as distill_config.json.

    Args:
        teacher: Local folder or hub id of a BERT-architecture backbone.
        output: Folder the finished student is written to.
        text: Names of the text sources, for the record.
        n_sentences: Number of distinct sentences used.
        embedding_size: E, the width of the factorised embeddings.
        max_length: Longest input in word pieces.
        learning_rate: Peak of the cosine schedule, which ends at 2 % of it.
        temperature: Softmax temperature of the similarity matrices; cosines are divided by it.
    """

    teacher: str
    output: str
    text: tuple[str, ...]
    n_sentences: int
    embedding_size: int = 128
    max_length: int = 64
    batch_size: int = 64
    epochs: float = 2.0
    learning_rate: float = 5e-4
    warmup_steps: int = 300
    hidden_weight: float = 1.0
    pooled_weight: float = 2.0
    similarity_weight: float = 0.5
    temperature: float = 0.05
    seed: int = 42

    def save(self, folder: Path) -> None:
        """Writes the configuration into `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / DISTILL_FILE).write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")


def build_student(teacher: BertModel, embedding_size: int = 128) -> AlbertModel:
    """Returns an ALBERT-architecture model of the teacher's depth and width, started from the teacher's weights.

    Word plus token-type-0 embeddings are centred and factorised by SVD at rank `embedding_size`; positions are
    projected with the same factors; the shared layer is the mean of the teacher's layers. Dropout is 0.

    Args:
        teacher: BERT-architecture model with L layers and hidden size H.
        embedding_size: E, at most H.

    Source: ALBERT, Lan et al. 2019 (arXiv 1909.11942), for the architecture.
    """
    c = teacher.config
    config = AlbertConfig(
        vocab_size=c.vocab_size,
        embedding_size=embedding_size,
        hidden_size=c.hidden_size,
        num_hidden_layers=c.num_hidden_layers,
        num_hidden_groups=1,
        inner_group_num=1,
        num_attention_heads=c.num_attention_heads,
        intermediate_size=c.intermediate_size,
        hidden_act=c.hidden_act,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        classifier_dropout_prob=0.1,
        max_position_embeddings=c.max_position_embeddings,
        type_vocab_size=c.type_vocab_size,
        layer_norm_eps=c.layer_norm_eps,
        pad_token_id=c.pad_token_id,
        bos_token_id=None,
        eos_token_id=None,
    )
    student = AlbertModel(config)
    with torch.no_grad():
        _start_embeddings(student, teacher)
        _start_shared_layer(student, teacher)
    return student


def _start_embeddings(student: AlbertModel, teacher: BertModel) -> None:
    """Factorises the teacher's embeddings: rows scaled to what the LayerNorm makes of them, then SVD."""
    source = teacher.embeddings
    table = source.word_embeddings.weight + source.token_type_embeddings.weight[0]
    mean = table.mean(0)
    _, _, right = torch.linalg.svd(table - mean, full_matrices=False)
    size = student.config.embedding_size
    basis = right[:size]  # (E, H), orthonormal rows
    target = student.embeddings
    target.word_embeddings.weight.copy_((table - mean) @ basis.T)
    target.position_embeddings.weight.copy_(source.position_embeddings.weight @ basis.T)
    target.token_type_embeddings.weight.zero_()
    # The student normalises in E dimensions before the mapping to H, the teacher in H dimensions after it: the mapping
    # carries the teacher's gain and the ratio of the two typical norms.
    low = target.word_embeddings.weight + target.position_embeddings.weight[:1]
    spread = low.std(1).mean().clamp_min(INIT_STD_FLOOR)
    full = table + source.position_embeddings.weight[:1]
    full_spread = full.std(1).mean().clamp_min(INIT_STD_FLOOR)
    gain = source.LayerNorm.weight
    mapping = student.encoder.embedding_hidden_mapping_in
    mapping.weight.copy_((basis * (spread / full_spread) * gain).T)
    centre = (mean - mean.mean()) / full_spread
    mapping.bias.copy_(centre * gain + source.LayerNorm.bias)


def _start_shared_layer(student: AlbertModel, teacher: BertModel) -> None:
    """Copies the mean of the teacher's layers into the one shared layer."""
    shared: nn.Module = student.get_submodule("encoder.albert_layer_groups.0.albert_layers.0")
    names = {
        "attention.self.query": "attention.query",
        "attention.self.key": "attention.key",
        "attention.self.value": "attention.value",
        "attention.output.dense": "attention.dense",
        "attention.output.LayerNorm": "attention.LayerNorm",
        "intermediate.dense": "ffn",
        "output.dense": "ffn_output",
        "output.LayerNorm": "full_layer_layer_norm",
    }
    for theirs, ours in names.items():
        for part in ("weight", "bias"):
            stack = torch.stack([getattr(layer.get_submodule(theirs), part) for layer in teacher.encoder.layer])
            getattr(shared.get_submodule(ours), part).copy_(stack.mean(0))


def distillation_loss(student: Tensor, teacher: Tensor, mask: Tensor, config: DistillConfig) -> Tensor:
    """Returns the scalar loss between two models' last hidden states.

    Args:
        student: (B, T, H) float.
        teacher: (B, T, H) float.
        mask: (B, T) int, 1 on real tokens.
        config: Weights of the three terms: relative MSE over real tokens, 1 - cosine of the mean-pooled vectors, and KL
            between the batch's similarity matrices at `temperature`.
    """
    keep = mask.unsqueeze(-1).to(teacher.dtype)
    hidden = ((student - teacher) ** 2 * keep).sum() / (teacher**2 * keep).sum()
    ours = F.normalize((student * keep).sum(1) / keep.sum(1), dim=-1)
    theirs = F.normalize((teacher * keep).sum(1) / keep.sum(1), dim=-1)
    pooled = 1 - (ours * theirs).sum(-1).mean()
    off = ~torch.eye(len(ours), dtype=torch.bool, device=ours.device)

    def log_similarities(x: Tensor) -> Tensor:
        scores = (x @ x.T)[off].view(len(x), -1) / config.temperature
        return F.log_softmax(scores, dim=-1)

    if len(ours) > 1:
        kl = F.kl_div(log_similarities(ours), log_similarities(theirs), log_target=True, reduction="batchmean")
    else:
        kl = pooled.new_zeros(())
    return config.hidden_weight * hidden + config.pooled_weight * pooled + config.similarity_weight * kl


class DistillationTrainer(Trainer):
    """transformers.Trainer whose loss compares the student with a frozen teacher on the same batch."""

    def __init__(self, *args: Any, teacher: PreTrainedModel, distill_config: DistillConfig, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        nn.Module.to(teacher, self.args.device)
        self.teacher = teacher.eval().requires_grad_(False)
        self.distill_config = distill_config

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        """See distillation_loss."""
        with torch.no_grad():
            target = self.teacher(**inputs).last_hidden_state.float()
        output = model(**inputs).last_hidden_state.float()
        with torch.autocast(output.device.type, enabled=False):
            loss = distillation_loss(output, target, inputs["attention_mask"], self.distill_config)
        return (loss, {"last_hidden_state": output}) if return_outputs else loss


def distill(config: DistillConfig, sentences: Sequence[str], *, resume: bool = False) -> Path | None:
    """Distils and saves the student; checkpoints lie in `<output>/.training` until it has finished.

    Args:
        config: See DistillConfig.
        sentences: Distinct sentences, any order; shuffled with `config.seed`. The same ones when resuming.
        resume: Go on from the last checkpoint of the same output.

    Returns:
        The student's folder, or None if a signal stopped the run; it can then be resumed.

    Raises:
        TrainingError: Nothing to resume, or an unfinished run that a new start would overwrite.
        EncoderError: The teacher cannot be loaded or is not of BERT architecture.
    """
    output = Path(config.output)
    work = output / ".training"
    checkpoint = checkpoint_to_resume(work, resume)
    teacher, tokenizer = _load_teacher(config.teacher)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)  # only the pooler, which nothing reads, starts at random
        student = build_student(teacher, config.embedding_size)
    # The backward pass of torch's fused attention is far slower than the plain one on a CPU in bf16 (2.5 times a step).
    student.set_attn_implementation("eager")
    config.save(output)
    stop = StopOnSignal()
    trainer = DistillationTrainer(
        model=student,
        args=_arguments(config, work),
        train_dataset=_rows(tokenizer, sentences, config.max_length),
        data_collator=_collator(tokenizer),
        teacher=teacher,
        distill_config=config,
        callbacks=[stop],
    )
    with stop.listening():
        trainer.train(resume_from_checkpoint=checkpoint)
    if stop.stopped:
        return None
    # Distilled without dropout, but fine-tuned with it: without, the student overfits a small table.
    student.config.update(dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob"), FINE_TUNING_DROPOUT))
    student.save_pretrained(output)
    tokenizer.save_pretrained(output)
    shutil.rmtree(work)
    return output


def _load_teacher(name: str) -> tuple[BertModel, PreTrainedTokenizerBase]:
    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
        teacher = AutoModel.from_pretrained(name, dtype=torch.float32, use_safetensors=True)
    except (OSError, ValueError) as error:
        raise EncoderError(f"Teacher {name!r} cannot be loaded: {error}") from error
    if not isinstance(teacher, BertModel):
        kind = teacher.config.model_type
        raise EncoderError(f"Teacher {name!r} is of the {kind} architecture; distillation starts from a bert one.")
    return teacher, tokenizer


def _rows(tokenizer: PreTrainedTokenizerBase, sentences: Sequence[str], max_length: int) -> Any:
    """One row a sentence: input_ids, token_type_ids, attention_mask (lists of int) and length in word pieces."""
    encoded = tokenizer(list(sentences), truncation=True, max_length=max_length, return_token_type_ids=True)
    columns = (encoded["input_ids"], encoded["token_type_ids"], encoded["attention_mask"])
    return [
        {"input_ids": ids, "token_type_ids": types, "attention_mask": mask, "length": len(ids)}
        for ids, types, mask in zip(*columns, strict=True)
    ]


def _collator(tokenizer: PreTrainedTokenizerBase) -> Callable[[list[dict]], Any]:
    collate = DataCollatorWithPadding(tokenizer)
    return lambda rows: collate([{k: v for k, v in row.items() if k != "length"} for row in rows])


def _arguments(config: DistillConfig, work: Path) -> TrainingArguments:
    on_gpu = torch.cuda.is_available()
    return TrainingArguments(
        output_dir=str(work),
        num_train_epochs=config.epochs,
        per_device_train_batch_size=config.batch_size,
        learning_rate=config.learning_rate,
        adam_beta2=0.98,
        weight_decay=0.01,
        warmup_steps=config.warmup_steps,
        lr_scheduler_type="cosine_with_min_lr",
        lr_scheduler_kwargs={"min_lr_rate": 0.02},
        max_grad_norm=1.0,
        use_cpu=not on_gpu,
        bf16=bf16_is_fast("cuda" if on_gpu else "cpu"),
        train_sampling_strategy="group_by_length",
        length_column_name="length",
        logging_steps=50,
        save_steps=500,
        save_total_limit=1,
        report_to="none",
        seed=config.seed,
    )
