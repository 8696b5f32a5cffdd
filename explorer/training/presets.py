"""Ready-made settings: every row of the paper's table 1, its table 2, and a run of a minute for a classroom. Reads nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from explorer.paths import ASSETS, CHECKPOINTS
from explorer.training.config import Objective, TrainConfig, suggested_settings

HUB_BACKBONES = {"bert": "google-bert/bert-base-uncased", "albert": "albert/albert-base-v2"}
SAMPLE_PAIRS = ASSETS / "sample_pairs.tsv"
CLASSROOM = "classroom"
# Where a data folder keeps labelled pairs to train on; the first that is there is taken.
NLI_TABLES = ("nli/train.tsv", "allnli/train.tsv", "snli/train.tsv", "sick/train.tsv")
_LAYERS = {"cls": "its [CLS] vector", "mean": "average pooling", "cnn": "the CNN"}
_DATA = {
    "none": "nothing",
    "stsb": "graded pairs (STSb)",
    "nli": "labelled pairs (NLI)",
    "nli+stsb": "labelled pairs (NLI), then graded ones (STSb)",
}
_OBJECTIVES = {"none": Objective.STS, "stsb": Objective.STS, "nli": Objective.NLI, "nli+stsb": Objective.NLI_STS}
_POOLING_OF_ROW = {"cls": "cls", "avg": "mean", "siamese-mean": "mean", "siamese-cnn": "cnn"}


@dataclass(frozen=True)
class Preset:
    """Settings of a run; backbone, tables and output can be others than those it names.

    Args:
        name: Short and unique, such as "stsb-bert-siamese-cnn".
        row: What it reproduces: (table, training, backbone, embedding) as in the paper; None for none.
        sentence: What it does, in one sentence.
        backbone: Hub id or folder it was meant for.
        data: "none", "stsb", "nli", "nli+stsb", or "sample" for the shipped pairs.
        settings: Values of TrainConfig other than backbone, tables and output.
    """

    name: str
    row: tuple[str, str, str, str] | None
    sentence: str
    backbone: str
    data: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def config(
        self, output: str, *, train: str = "", dev: str = "", nli: str = "", backbone: str = "", **changes: Any
    ) -> TrainConfig:
        """Returns the configuration; the tables are needed unless the preset's data is the sample.

        Args:
            output: See TrainConfig.
            train: Likewise; where the preset's data is "nli" these are the labelled pairs.
            dev: Likewise.
            nli: Labelled pairs, where the preset's data is "nli+stsb".
            backbone: Another one than the preset's.
            changes: Any other setting.

        Raises:
            SettingError: A setting is outside its range.
        """
        if self.data == "sample":
            train, dev = train or str(SAMPLE_PAIRS), dev or str(SAMPLE_PAIRS)
        settings = {**self.settings, **changes}
        if self.data == "nli+stsb":
            settings["nli"] = nli
        return TrainConfig(backbone=backbone or self.backbone, train=train, dev=dev, output=output, **settings)

    def tables(self, folder: Path) -> dict[str, str]:
        """Returns train, dev and, where needed, nli for `config`, from a folder with stsb/ and a folder of NLI pairs."""
        dev = {"dev": str(folder / "stsb" / "dev.tsv")}
        if self.data == "sample":
            return {"train": str(SAMPLE_PAIRS), "dev": str(SAMPLE_PAIRS)}
        graded = str(folder / "stsb" / "train.tsv")
        labelled = str(next((folder / name for name in NLI_TABLES if (folder / name).is_file()), folder / "nli"))
        if self.data == "nli":
            return {"train": labelled, **dev}
        return {"train": graded, **dev} | ({"nli": labelled} if self.data == "nli+stsb" else {})


def presets() -> list[Preset]:
    """Returns all presets: the classroom's, then table 1 in the paper's order, then table 2."""
    return [_classroom(), *_table1(), *_table2()]


def preset(name: str) -> Preset | None:
    """Returns the preset of that name; None if there is none."""
    return next((found for found in presets() if found.name == name), None)


def _classroom() -> Preset:
    return Preset(
        name=CLASSROOM,
        row=None,
        sentence="The [CLS] vector of a shipped encoder, which averages instead, learns from 240 graded pairs what pairs mean "
        "the same, in about a minute on two cores.",
        backbone=str(CHECKPOINTS / "bert-mean"),
        data="sample",
        settings={
            "pooling": "cls",
            "epochs": 5.0,
            "batch_size": 16,
            "learning_rate": 2e-4,  # high, since there are few steps and a minute
            "max_length": 64,
            "evaluations_per_epoch": 2,
        },
    )


def _table1() -> list[Preset]:
    return [
        _row(training, backbone, embedding)
        for training in _DATA
        for backbone in HUB_BACKBONES
        for embedding in _POOLING_OF_ROW
        if training != "none" or not embedding.startswith("siamese")
    ]


def _row(training: str, backbone: str, embedding: str) -> Preset:
    siamese = embedding.startswith("siamese")
    pooling, objective = _POOLING_OF_ROW[embedding], _OBJECTIVES[training]
    name = "BERT" if backbone == "bert" else "ALBERT"
    if training == "none":
        sentence = f"{name} as it was pre-trained, read by {_LAYERS[pooling]}; nothing is trained."
        settings: dict[str, Any] = {"epochs": 0.0}
    else:
        how = "as a siamese network" if siamese else "in the ordinary way, both sentences read at once, then"
        sentence = f"{name} trained on {_DATA[training]} {how}{' with' if siamese else ' read by'} {_LAYERS[pooling]}."
        settings = suggested_settings(backbone, objective.value) | {"siamese": siamese}
    settings |= {"pooling": pooling, "objective": objective.value}
    return Preset(
        name=f"{training.replace('+', '-')}-{backbone}-{embedding}",
        row=("table 1", training, backbone, embedding),
        sentence=sentence,
        backbone=HUB_BACKBONES[backbone],
        data=training,
        settings=settings,
    )


def _table2() -> list[Preset]:
    objective = Objective.CROSS_ENCODER.value
    return [
        Preset(
            name=f"stsb-{family}-cross-encoder",
            row=("table 2", "stsb", family, "cross-encoder"),
            sentence=f"{family.upper()} reads both sentences at once and gives their score: the reference, not an encoder.",
            backbone=HUB_BACKBONES[family],
            data="stsb",
            settings=suggested_settings(family, objective) | {"pooling": "cls", "objective": objective},
        )
        for family in HUB_BACKBONES
    ]
