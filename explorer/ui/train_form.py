"""The form of the tab Train: what is trained, from which data, with which settings. Places fields and reads them.

Its values travel as a list in the order of FIELDS, so that a preset, or a run to be repeated, can fill it in one go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import gradio as gr

from explorer.encoders.folder import EncoderInfo
from explorer.errors import SettingError
from explorer.operations.training_request import SETTINGS, Request, Source, named_backbone
from explorer.paths import hub_allowed
from explorer.training.config import TrainConfig, suggested_settings
from explorer.training.presets import CLASSROOM, Preset, preset, presets
from explorer.ui import train_text
from explorer.ui.page import BARE, PRIVATE, Page
from explorer.ui.words import family

OTHER = "another"
OWN = "own"
_UPLOADS = ("train", "nli", "dev")
FIELDS = ("backbone", "other", "pooling", "objective", "source", *_UPLOADS, "same", "name", "seeds", *SETTINGS)
_ROWS = {
    "none": "not trained",
    "stsb": "STSb",
    "nli": "NLI",
    "nli+stsb": "NLI, then STSb",
}
_EMBEDDINGS = {
    "cls": "[CLS]",
    "avg": "average",
    "siamese-mean": "siamese, average",
    "siamese-cnn": "siamese, CNN",
    "cross-encoder": "cross-encoder",
}
_DEFAULTS: dict[str, Any] = {item.name: item.default for item in fields(TrainConfig) if item.name in SETTINGS}
_SAMPLE_INSTEAD = {
    "none": "the dev pairs of the shipped sample take the place of its own",
    "stsb": "240 graded pairs of the shipped sample take its place",
    "nli": "labelled pairs of the shipped sample are trained on, a few hundred, and its dev pairs score",
    "nli+stsb": "nor is NLI; the shipped sample takes their place, a few hundred pairs of either kind",
}
_KINDS = [".csv", ".tsv", ".jsonl", ".parquet"]


def preset_choices() -> list[tuple[str, str]]:
    """Returns (label, name) of every preset, one's own settings first."""
    made = [("My own settings", OWN)]
    for item in presets():
        if item.row is None:
            label = "Classroom: one minute, shipped sample" if item.name == CLASSROOM else item.name
        else:
            table, training, backbone, embedding = item.row
            words = f"{_ROWS[training]}, {_EMBEDDINGS[embedding]}"
            label = f"Paper, {table}: {backbone.upper()}, {words}"
        made.append((label, item.name))
    return made


def backbones(infos: Sequence[EncoderInfo]) -> list[tuple[str, str]]:
    """Returns (label, value) of what a run can start from: the encoders here, then another folder or a hub id."""
    other = "Another folder or hub id" if hub_allowed() else "Another folder"
    return [(f"{info.name}: {info.backbone}", info.name) for info in infos] + [(other, OTHER)]


def place(page: Page) -> tuple[gr.Dropdown, gr.HTML, dict[str, Any]]:
    """Places the form; returns the preset chooser, the place for its sentence, and the fields by name."""
    infos = usable(page)
    with gr.Row(elem_classes="controls choices"):
        chooser = gr.Dropdown(preset_choices(), value=OWN, label="Start from", elem_id="train-preset", min_width=300)
        names = [value for _, value in backbones(infos)]
        backbone = gr.Dropdown(backbones(infos), value=names[0], label="Backbone", min_width=300)
    sentence = gr.HTML("", elem_id="train-preset-words", **BARE)
    made: dict[str, Any] = {"backbone": backbone, "other": _other(backbone)}
    with gr.Row(elem_classes="controls choices"):
        made["pooling"] = gr.Radio(
            train_text.LAYERS, value="mean", label="Sentence layer", info=train_text.LAYER_INFO, min_width=300
        )
        kinds = [(title, item.value) for item, (title, _) in train_text.OBJECTIVES.items()]
        made["objective"] = gr.Dropdown(kinds, value="sts", label="Objective", elem_id="train-objective", min_width=300)
    explained = gr.HTML(train_text.objective("sts"), elem_id="train-objective-words", **BARE)
    made["objective"].change(train_text.objective, made["objective"], explained, queue=False, **PRIVATE)
    _place_data(page, made)
    with gr.Row(elem_classes="controls choices"):
        made["name"] = gr.Textbox(
            label="Name", placeholder="Made up if empty", max_length=60, info="Small letters, digits and hyphens."
        )
        made["seeds"] = gr.Slider(1, 5, value=1, step=1, label="Seeds", info="As many runs, one after the other.")
    with gr.Accordion("Advanced settings", open=False, elem_classes="quiet"):
        _place_settings(made)
    return chooser, sentence, made


def usable(page: Page) -> list[EncoderInfo]:
    """Returns the encoders a run can start from."""
    return page.registry.encoders()


def request_of(values: Sequence[Any]) -> Request:
    """Returns what the form asks for.

    Args:
        values: Of the fields, in the order of FIELDS; an emptied number is None.
    """
    given = dict(zip(FIELDS, values, strict=True))
    settings = {name: _DEFAULTS[name] if given[name] is None else given[name] for name in SETTINGS}
    backbone = given["other"] if given["backbone"] == OTHER else given["backbone"]
    uploads = {name: str(given[name]) for name in _UPLOADS if given[name]}
    return Request(
        backbone=str(backbone or ""),
        pooling=str(given["pooling"]),
        objective=str(given["objective"]),
        source=str(given["source"]),
        uploads=dict(given["same"] or {}) if given["source"] == Source.SAME else uploads,
        name=str(given["name"] or "").strip(),
        seeds=int(given["seeds"] or 1),
        settings=settings,
    )


def filled_from_preset(name: str, infos: Sequence[EncoderInfo], has_data: bool) -> dict[str, Any]:
    """Returns the fields' values that a preset sets; those it leaves open are missing.

    Where its own backbone cannot be fetched, the shipped encoder of the same architecture takes its place.
    """
    item = preset(name)
    if item is None:
        return {}
    source = Source.DATA if has_data and item.data != "sample" else Source.SAMPLE
    if not has_data and item.data != "sample" and hub_allowed():
        source = Source.HUB
    backbone = _backbone_of(item, infos)
    layer = {"pooling": "mean", "objective": "sts"}
    return {**_DEFAULTS, **layer, **item.settings, **backbone, "source": source.value, "name": "", "seeds": 1}


def stand_ins(name: str, values: Mapping[str, Any]) -> dict[str, str]:
    """Returns what took the place of a preset's own backbone and tables, by "backbone" and "source", a sentence each.

    Args:
        name: The preset's.
        values: What `filled_from_preset` made of it.
    """
    item, found = preset(name), {}
    if item is None or item.row is None:
        return {}
    if values.get("backbone") != OTHER:
        instead = values.get("backbone") or "nothing"
        found["backbone"] = (
            f"The paper starts from {family(item.row[2])}-base, which is not here; this starts from {instead}. Its figures are "
            "not the paper's."
        )
    if values.get("source") == Source.SAMPLE:
        found["source"] = f"STSb is not here: {_SAMPLE_INSTEAD[item.data]}."
    return found


def filled_from_config(config: Mapping[str, Any], infos: Sequence[EncoderInfo]) -> dict[str, Any]:
    """Returns the fields' values that repeat a run; its tables are taken from where it had them.

    Raises:
        SettingError: The form cannot hold one, as of a run by another version.
    """
    known = named_backbone(str(config.get("backbone", "")), infos)
    backbone = {"backbone": known, "other": ""} if known else {"backbone": OTHER, "other": config.get("backbone", "")}
    values = {name: config[name] for name in (*SETTINGS, "pooling", "objective") if name in config}
    _check_repeatable({"pooling": "mean", **values})
    same = {name: str(config[name]) for name in (*_UPLOADS, "test") if config.get(name)}
    return {**_DEFAULTS, **values, **backbone, "same": same, "name": "", "seeds": 1}


def _check_repeatable(values: Mapping[str, Any]) -> None:
    nli = {"nli": "nli"} if values.get("objective") == "nli-sts" else {}
    try:
        TrainConfig.from_mapping({**values, **nli, "backbone": "any", "train": "any", "dev": "any", "output": ""})
    except SettingError as error:
        raise SettingError(f"The run cannot be repeated as it was: {error}") from error


def suggestions(backbone: str, objective: str, infos: Sequence[EncoderInfo]) -> dict[str, Any]:
    """Returns the settings that suit a backbone and an objective."""
    of = next((info.family for info in infos if info.name == backbone), "bert")
    return suggested_settings(of, objective)


def updates(values: Mapping[str, Any]) -> list[Any]:
    """Returns one output a field: its new value, or nothing new."""
    return [values[name] if name in values else gr.skip() for name in FIELDS]


def _backbone_of(item: Preset, infos: Sequence[EncoderInfo]) -> dict[str, str]:
    known = named_backbone(item.backbone, infos)
    if known:
        return {"backbone": known, "other": ""}
    if hub_allowed():
        return {"backbone": OTHER, "other": item.backbone}
    wanted = item.row[2] if item.row else "bert"
    names = [info.name for info in infos if info.family == wanted]
    return {"backbone": names[0], "other": ""} if names else {}


def source_choices(page: Page, again: bool = False) -> list[tuple[str, str]]:
    """Returns (label, value) of where tables may come from; `again` adds those of a run that is repeated."""
    made = [("Shipped sample", Source.SAMPLE.value)]
    if again:
        made.insert(0, ("The same tables", Source.SAME.value))
    if page.data is not None:
        made.append(("Data folder", Source.DATA.value))
    made.append(("Upload", Source.UPLOAD.value))
    if hub_allowed():
        made.append(("Hub: STSb, AllNLI", Source.HUB.value))
    return made


def _other(backbone: gr.Dropdown) -> gr.Textbox:
    label = "Folder on this machine, or hub id" if hub_allowed() else "Folder on this machine"
    hint = "google-bert/bert-base-uncased" if hub_allowed() else "/home/me/models/bert-base-uncased"
    other = gr.Textbox(label=label, placeholder=hint, visible=False, max_length=300, elem_id="train-other")
    backbone.change(lambda value: gr.Textbox(visible=value == OTHER), backbone, other, queue=False, **PRIVATE)
    return other


def _place_data(page: Page, made: dict[str, Any]) -> None:
    made["source"] = gr.Radio(source_choices(page), value=Source.SAMPLE.value, label="Data", elem_id="train-source")
    made["same"] = gr.State(None)
    with gr.Row(elem_classes="controls choices", visible=False) as files:
        made["train"] = gr.File(label="Table to train on", file_types=_KINDS, height=120, elem_id="train-file")
        made["nli"] = gr.File(label="Labelled pairs, first stage", file_types=_KINDS, height=120, visible=False)
        made["dev"] = gr.File(
            label="Graded pairs as dev; its own split or the sample's if empty",
            file_types=_KINDS,
            height=120,
            elem_id="train-dev-file",
        )
    gr.HTML(f'<p class="small">{train_text.DATA_HELP}</p>', **BARE)
    made["source"].change(
        lambda source: gr.Row(visible=source == Source.UPLOAD), made["source"], files, queue=False, **PRIVATE
    )
    made["objective"].change(
        lambda objective: gr.File(visible=objective == "nli-sts"),
        made["objective"],
        made["nli"],
        queue=False,
        **PRIVATE,
    )


def _place_settings(made: dict[str, Any]) -> None:
    groups = (
        ("epochs", "nli_epochs", "max_steps", "batch_size", "max_length"),
        ("learning_rate", "head_learning_rate", "warmup_ratio", "weight_decay", "score_scale"),
        ("evaluations_per_epoch", "patience", "seed", "device"),
    )
    for group in groups:
        with gr.Row(elem_classes="controls numbers-row"):
            for name in group:
                label, info = train_text.SETTINGS[name]
                if name == "device":
                    made[name] = gr.Textbox(_DEFAULTS[name], label=label, info=info, max_length=20, min_width=150)
                else:
                    made[name] = gr.Number(_DEFAULTS[name], label=label, info=info, min_width=150)
    with gr.Row(elem_classes="controls switches"):
        for name in SETTINGS:
            if isinstance(_DEFAULTS[name], bool):
                label, info = train_text.SETTINGS[name]
                made[name] = gr.Checkbox(_DEFAULTS[name], label=label, info=info, min_width=220)
