"""Runs a fine-tuning, whatever its objective, with sentence-transformers' trainers; the best checkpoint by dev is kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import isfinite, nan
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from sentence_transformers import CrossEncoder, SentenceTransformer, SentenceTransformerTrainingArguments
from sentence_transformers.cross_encoder import CrossEncoderTrainingArguments
from torch import Tensor
from transformers import PrinterCallback, ProgressCallback

from explorer.encoders.build import build_encoder
from explorer.encoders.precision import bf16_is_fast
from explorer.errors import TrainingError
from explorer.paths import process_count
from explorer.training.callback import StopOnSignal, enter_score, last_checkpoint, read_state, ready_to_resume
from explorer.training.config import LABELS, Objective, TrainConfig
from explorer.training.cross_encoder import build_cross_encoder
from explorer.training.data import DEV, fingerprints, read_graded
from explorer.training.devices import keep_freed_memory, one_device
from explorer.training.evaluator import SPEARMAN, SPREAD, DevEvaluator
from explorer.training.objectives import Stage, batches_of, make_loss, own_layers, plan, rates
from explorer.training.progress import Losses, Progress, Report, Watch, silent
from explorer.training.trainers import EncoderTrainer, PairTrainer

WORK = ".training"
DATA_FILE = "data.json"
NLI_FILE = "nli_head.safetensors"
_SAME_SCORE = 1e-3
_LOGGED = "eval_"  # the trainer's log puts it before the evaluator's names


@dataclass(frozen=True)
class TrainResult:
    """How a run ended.

    Args:
        encoder: The encoder (of the objective cross-encoder: the cross-encoder) with the best checkpoint's weights.
        dev_spearman: Its Spearman on dev, in [-1, 1]; None if the run was stopped.
        best_step: The step of that checkpoint, counted through all stages; 0 where nothing was trained.
        stopped: Whether a signal ended the run early; it can then be resumed.
        nli_head: weight (3, 3H) and bias (3,), float32, of the softmax of nli, of nli-sts at the end of its first stage;
            None for other objectives.
    """

    encoder: SentenceTransformer | CrossEncoder
    dev_spearman: float | None
    best_step: int | None
    stopped: bool
    nli_head: Mapping[str, Tensor] | None = None


def train(config: TrainConfig, *, resume: bool = False, report: Report | None = None) -> TrainResult:
    """Runs or resumes a fine-tuning; its checkpoints stay in `<output>/.training` until `output` is written.

    Args:
        config: See TrainConfig.
        resume: Go on from the last whole checkpoint of the same output; from the start if there was none yet.
        report: Called with a kind of event and its facts as the run goes on: step, dev, warning, checkpoint.

    Raises:
        TrainingError: Nothing to resume, other settings or data than the run had, a detector that was to stop the run, or
            a best checkpoint that cannot be brought back whole.
        DataError: A table cannot be used.
        EncoderError: The backbone cannot be loaded.
    """
    prints = fingerprints(config)
    _check_start(config, resume, prints)
    stages = plan(config, process_count())
    dev = read_graded(config.dev, config.score_scale, DEV)
    device = one_device(config.device)
    model = build_model(config, device)
    config.save(Path(config.output))
    work = Path(config.output) / WORK
    work.mkdir(exist_ok=True)
    (work / DATA_FILE).write_text(json.dumps(prints, indent=2) + "\n", encoding="utf-8")
    stop = StopOnSignal()
    evaluator = DevEvaluator(dev, lambda: stop.stopped)
    run = Run(config, stages, model, evaluator, stop, report or silent, work, device)
    with stop.listening():
        result = run.all(resume)
    # Accelerate's, in bfloat16. Not between two stages: it wraps a model once and would leave the second in float32.
    model.__dict__.pop("forward", None)
    return result


@dataclass(frozen=True)
class Run:
    """A run in progress: its stages one after the other on one model.

    Args:
        config: What it is.
        stages: As planned.
        model: What is trained.
        evaluator: Scores dev.
        stop: Whether a signal has come.
        report: Where events go.
        work: Folder of the checkpoints.
        device: As of `one_device`.
    """

    config: TrainConfig
    stages: list[Stage]
    model: SentenceTransformer | CrossEncoder
    evaluator: DevEvaluator
    stop: StopOnSignal
    report: Report
    work: Path
    device: str

    def all(self, resume: bool) -> TrainResult:
        """Runs what is left and returns how it ended."""
        if not self.stages:
            found = self.evaluator(self.model)[SPEARMAN]
            return self._stopped() if self.stop.stopped else TrainResult(self.model, found, 0, stopped=False)
        begun = resume and last_checkpoint(self._folder(self.stages[-1])) is not None
        head: Mapping[str, Tensor] | None = None
        if begun and (self.work / NLI_FILE).is_file():
            head = load_file(self.work / NLI_FILE)
        result = None
        for stage in self.stages[-1:] if begun else self.stages:
            result = self._stage(stage, resume, head)
            if result.stopped:
                return result
            head = result.nli_head
            if head and stage is not self.stages[-1]:
                save_file(dict(head), self.work / NLI_FILE)
        assert result is not None
        return result

    def _stage(self, stage: Stage, resume: bool, head: Mapping[str, Tensor] | None) -> TrainResult:
        folder = self._folder(stage)
        checkpoint = last_checkpoint(folder) if resume else None
        if checkpoint:
            ready_to_resume(checkpoint)
        losses = Losses()
        total = self.stages[-1].done_before + self.stages[-1].steps
        progress = Progress(self.report, stage, total, losses, self.config.batch_size * process_count())
        trainer = self.trainer(stage, folder)
        if checkpoint is None and stage is self.stages[0]:
            progress.dev(0, self.evaluator(self.model))
        trainer.losses = losses
        for callback in (Watch(self.config, self.report, losses, self.stop, stage.done_before), progress, self.stop):
            trainer.add_callback(callback)
        if checkpoint:
            self._make_up(trainer, stage, checkpoint, progress)
        if checkpoint and read_state(checkpoint).global_step >= stage.steps:
            _bring_back(trainer, checkpoint)
        elif not self.stop.stopped:
            trainer.train(resume_from_checkpoint=checkpoint)
        if stage.objective is Objective.NLI and self.config.siamese:
            head = {name.removeprefix("classifier."): w.cpu().clone() for name, w in own_layers(trainer.loss).items()}
        if self.stop.stopped:
            return self._stopped()
        measured = self.evaluator(self.model)[SPEARMAN]
        if self.stop.stopped:  # which broke it off
            return self._stopped()
        _check_best(trainer.state.best_metric, measured)
        return TrainResult(self.model, measured, stage.done_before + trainer.state.best_global_step, False, head)

    def _stopped(self) -> TrainResult:
        return TrainResult(self.model, None, None, stopped=True)

    def _make_up(self, trainer: Any, stage: Stage, checkpoint: str, progress: Progress) -> None:
        """Scores dev from a checkpoint where an evaluation was due with it and a stop broke that off."""
        state = read_state(checkpoint)
        step = state.global_step
        due = step % stage.every == 0 or step >= stage.steps
        # Only of figures that were broken off is even the spread no number.
        spreads = [entry.get(_LOGGED + SPREAD, nan) for entry in state.log_history if entry["step"] == step]
        if not due or any(map(isfinite, spreads)):
            return
        trainer._load_from_checkpoint(checkpoint)
        figures = self.evaluator(self.model)
        if not self.stop.stopped:
            progress.dev(stage.done_before + step, figures)
            logged = {_LOGGED + name: value for name, value in figures.items()}
            enter_score(checkpoint, logged, _LOGGED + SPEARMAN)

    def _folder(self, stage: Stage) -> Path:
        """Where a stage's checkpoints lie: the last stage's in `.training` itself."""
        return self.work if stage is self.stages[-1] else self.work / stage.name

    def trainer(self, stage: Stage, folder: Path) -> Any:
        """Returns the library's trainer of a stage, with the loss and everything else that decides it."""
        loss = make_loss(stage.objective, self.model, self.config)
        pairs = isinstance(self.model, CrossEncoder)
        kind: Any = CrossEncoderTrainingArguments if pairs else SentenceTransformerTrainingArguments
        arguments = kind(
            **_arguments(self.config, stage, folder, self.device),
            learning_rate_mapping=rates(loss, self.config),
            logging_strategy="steps" if self.report is silent else "no",
        )
        arguments._n_gpu = min(arguments.n_gpu, 1)  # several would be used at once, each with a part of the batch
        kind = PairTrainer if pairs else EncoderTrainer
        trainer = kind(model=self.model, args=arguments, train_dataset=stage.rows, loss=loss, evaluator=self.evaluator)
        if self.report is not silent:
            for callback in (ProgressCallback, PrinterCallback):
                trainer.remove_callback(callback)
        return trainer


def build_model(config: TrainConfig, device: str) -> SentenceTransformer | CrossEncoder:
    """Returns what a run starts from, on the CPU, ready to be trained on `device`.

    Raises:
        EncoderError: The backbone cannot be loaded.
    """
    if config.objective == Objective.CROSS_ENCODER:
        model: Any = build_cross_encoder(config.backbone, max_length=config.max_length, seed=config.seed)
    else:
        model = build_encoder(config.backbone, config.pooling, max_length=config.max_length, seed=config.seed)
    if device == "cpu":
        keep_freed_memory()
    if device == "cpu" and model.transformers_model is not None:
        # The backward pass of torch's fused attention is far slower than the plain one on a CPU in bf16.
        model.transformers_model.set_attn_implementation("eager")
    return model


def _bring_back(trainer: Any, checkpoint: str) -> None:
    """Takes what a checkpoint of the last step says for the training; the library would do one step more."""
    trainer.state = read_state(checkpoint)
    if trainer.state.best_model_checkpoint is not None:
        trainer._load_best_model()


def _check_best(best: float | None, measured: float) -> None:
    """Refuses a model that is not the best checkpoint's."""
    best = nan if best is None else float(best)
    if not abs(measured - best) <= _SAME_SCORE:  # also true of nan, the Spearman of constant scores
        shown = f"{best:.4f}" if isfinite(best) else "undefined"
        raise TrainingError(
            f"The best checkpoint's Spearman on dev was {shown} and is {measured:.4f} after loading; nothing was saved."
        )


def _check_start(config: TrainConfig, resume: bool, prints: dict[str, str]) -> None:
    """Refuses to overwrite an unfinished run, and to resume one that is not this one."""
    output = Path(config.output)
    started = (output / WORK / DATA_FILE).is_file()
    if resume and not started:
        raise TrainingError(
            f"Nothing to resume in {config.output!r}: no run is unfinished there. Start without --resume."
        )
    unfinished = next((output / WORK).rglob("checkpoint-*"), None) if started else None
    if unfinished and not resume:
        raise TrainingError(
            f"{config.output!r} holds an unfinished run; add --resume to go on, or choose another --output."
        )
    if resume:
        _check_same(config, TrainConfig.load(output))
        before = json.loads((output / WORK / DATA_FILE).read_text(encoding="utf-8"))
        for name in sorted({*before, *prints}):
            if before.get(name) != prints.get(name):
                raise TrainingError(
                    f"The table {name} ({getattr(config, name)!r}) has changed since the run was started; put the old one "
                    "back, or start a new run."
                )


def _check_same(config: TrainConfig, before: TrainConfig) -> None:
    names = [setting.name for setting in fields(config) if setting.name not in (*LABELS, "output")]
    changed = [name for name in names if getattr(config, name) != getattr(before, name)]
    if changed:
        old, new = (_written(getattr(one, changed[0])) for one in (before, config))
        raise TrainingError(f"The run was started with {changed[0]} {old}, not {new}; resume it as it was started.")


def _written(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else repr(value)


def _arguments(config: TrainConfig, stage: Stage, folder: Path, device: str) -> dict[str, Any]:
    return {
        "output_dir": str(folder),
        "max_steps": stage.steps,
        "per_device_train_batch_size": config.batch_size,
        "learning_rate": config.learning_rate,
        "weight_decay": config.weight_decay,
        "warmup_steps": config.warmup_ratio,
        "max_grad_norm": 1.0,
        "use_cpu": device == "cpu",
        "bf16": bf16_is_fast(device),
        "batch_sampler": batches_of(stage.objective),
        "eval_strategy": "steps",
        "eval_steps": stage.every,
        "save_strategy": "steps",
        "save_steps": stage.every,
        "save_total_limit": 2,
        "load_best_model_at_end": True,
        "metric_for_best_model": f"eval_{SPEARMAN}",
        "greater_is_better": True,
        "logging_steps": max(1, stage.every // 4),
        "logging_nan_inf_filter": False,  # the detectors see to it
        "report_to": "none",
        "seed": config.seed,
    }
