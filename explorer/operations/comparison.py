"""The paper's tables beside what was measured here: published, ours, difference and why they may differ; what the CNN adds.

A published figure is only ever shown beside ours, never averaged or plotted together with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from explorer.analysis.accuracy import compare_right
from explorer.analysis.scoring import Score, compare, mean_of
from explorer.analysis.statistics import Difference, Interval, in_words
from explorer.analysis.sts import Correlation
from explorer.data.paper import Table, read_table
from explorer.data.sts_tasks import TASKS
from explorer.encoders.folder import CROSS_ENCODER, EncoderInfo
from explorer.operations.contamination import is_untrained
from explorer.operations.task_score import AnyScore, LabelScore, Subset, TaskScore

TABLES: Mapping[Table, str] = {
    "table1": "Table 1: STSb test, by training data and sentence layer",
    "table2": "Table 2: STSb as a GLUE task, a cross-encoder",
    "table3": "Table 3: STS12 to STS16 and STSb, trained on NLI, then STSb",
}
TRAINING = {"none": "nothing", "stsb": "STSb", "nli": "NLI", "nli+stsb": "NLI, then STSb"}
LAYERS = {
    "cls": "[CLS] vector",
    "avg": "average of the plain backbone",
    "siamese-mean": "siamese, average pooling",
    "siamese-cnn": "siamese, CNN",
}
# Table 3's names -> backbone and sentence layer.
ENCODERS = {
    "SBERT": ("bert", "siamese-mean"),
    "CNN-SBERT": ("bert", "siamese-cnn"),
    "SALBERT": ("albert", "siamese-mean"),
    "CNN-SALBERT": ("albert", "siamese-cnn"),
}
AVERAGE = "Avg"
_YEARS = tuple(f"sts{year}" for year in range(12, 17))
_AVERAGED = ("stsb", *_YEARS)
MEASURED, RECORDED = "measured here", "from its card"


@dataclass(frozen=True)
class Ours:
    """One of our encoders beside a row of the paper; figures are Spearman x 100.

    Args:
        encoder: Its name.
        spearman: Ours.
        interval: 95 % interval; None where it was not measured in this run.
        source: MEASURED or RECORDED.
        difference: Ours less the published figure.
        reasons: Why the two may differ, besides chance.
    """

    encoder: str
    spearman: float
    interval: Interval | None
    source: str
    difference: float
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class PaperRow:
    """One row of the paper; figures x 100, as printed.

    Args:
        encoder: In the paper's kinds: backbone and sentence layer.
        training: What it was trained on.
        task: What it was scored on.
        spearman: Published.
        pearson: Published.
        ours: Our encoders of the same kind.
        missing: Why there is none of ours; empty if there is.
    """

    encoder: str
    training: str
    task: str
    spearman: float
    pearson: float
    ours: tuple[Ours, ...] = ()
    missing: str = ""


@dataclass(frozen=True)
class Gain:
    """What the CNN adds to average pooling, Spearman x 100.

    Args:
        family: "bert" or "albert".
        task: As in tables: "STSb" or "STS12".
        published: CNN less average pooling, in the paper.
        ours: The same for two encoders of ours that differ in nothing else; None if there are none or no score.
        encoders: Our two encoders, CNN first; empty if there are none.
    """

    family: str
    task: str
    published: float
    ours: Difference | None
    encoders: tuple[str, ...] = ()


def paper_rows(table: Table, infos: Sequence[EncoderInfo], scores: Iterable[AnyScore] = ()) -> list[PaperRow]:
    """Returns a table of the paper, row by row in its order, with our encoders of the same kind beside it.

    Args:
        table: "table1", "table2" or "table3".
        infos: Our encoders.
        scores: What was measured here; where nothing was, the figure of the encoder's own card is used.
    """
    found, read = _by_task(scores), read_table(table)
    if table == "table2":
        return [_cross_encoder_row(row, infos, found) for row in read.itertuples()]
    rows = []
    for row in read.itertuples():
        family, layer = (row.backbone, row.embedding) if table == "table1" else ENCODERS[row.encoder]
        training, task = (row.training, "STSb") if table == "table1" else ("nli+stsb", row.task)
        kind = [info for info in infos if (info.family, layer_of(info)) == (family, layer)]
        if table == "table1":
            kind = [info for info in kind if training_label(info) == training]
        made = tuple(
            our for info in kind if (our := _ours(info, family, training, task, row.spearman, found)) is not None
        )
        rows.append(
            PaperRow(
                encoder=f"{family.upper()}, {LAYERS[layer]}",
                training=TRAINING[training],
                task="average of the six" if task == AVERAGE else task,
                spearman=row.spearman,
                pearson=row.pearson,
                ours=made,
                missing="" if made else "not measured yet" if kind else "no encoder of this kind here",
            )
        )
    return rows


def _cross_encoder_row(row: Any, infos: Sequence[EncoderInfo], found: Mapping[tuple[str, str], TaskScore]) -> PaperRow:
    """A row of table 2, with our cross-encoders of the same family."""
    kind = [info for info in infos if info.family == row.backbone and info.kind == CROSS_ENCODER]
    made = tuple(
        our for info in kind if (our := _ours(info, row.backbone, "stsb", "STSb", row.spearman, found)) is not None
    )
    none = "no cross-encoder here; it reads both sentences at once and makes no embedding"
    missing = "" if made else "not measured yet" if kind else none
    name = f"{row.backbone.upper()}, cross-encoder"
    return PaperRow(name, TRAINING["stsb"], "STSb", row.spearman, row.pearson, made, missing)


def cnn_gains(infos: Sequence[EncoderInfo], scores: Iterable[AnyScore] = ()) -> list[Gain]:
    """Returns what the CNN adds on every task, BERT first; published gains are of the paper's encoders.

    STSb is the paper's table 1 trained on STSb, as ours are; the other tasks are its table 3, trained on NLI, then STSb.
    """
    found, gains = _by_task(scores), []
    published = _published_spearman()
    for family in ("bert", "albert"):
        pair = _twins(infos, family)
        for task in _AVERAGED:
            title = TASKS[task].title
            paper = published[family, "siamese-cnn", title] - published[family, "siamese-mean", title]
            ours = _difference(pair, task, found) if pair else None
            gains.append(Gain(family, title, round(paper, 2), ours, tuple(info.name for info in pair)))
    return gains


def comparisons(scores: Sequence[AnyScore]) -> list[str]:
    """Returns in words, for each two encoders scored on the same pairs, which is ahead and whether that is clear.

    Two that were scored on different versions of a table cannot be compared; the sentence then says so.
    """
    sentences = []
    for first, second in combinations(scores, 2):
        places = [(score.task, score.split, score.subset) for score in (first, second)]
        if places[0] != places[1] or first.encoder == second.encoder:
            continue
        if first.rows.shape != second.rows.shape:
            sentences.append(
                f"{first.title} and {second.title} were scored on different versions of the table "
                f"({len(first.rows):,} and {len(second.rows):,} pairs); evaluate both again."
            )
        elif (first.rows == second.rows).all() and (found := _compare(first, second)) is not None:
            sentences.append(in_words(first.title, second.title, found))
    return sentences


def _compare(first: AnyScore, second: AnyScore) -> Difference | None:
    """The difference of two scores on the same pairs; None where one is undefined or they are of different kinds."""
    if isinstance(first, TaskScore) and isinstance(second, TaskScore):
        return compare(first.table.all_pairs, second.table.all_pairs)
    if isinstance(first, LabelScore) and isinstance(second, LabelScore) and len(first.right) and len(second.right):
        return compare_right(first.right[first.rows], second.right[second.rows])
    return None


def training_label(info: EncoderInfo) -> str:
    """Returns what an encoder was trained on, as a key of TRAINING; empty if that is unknown or something else."""
    if is_untrained(info):
        return "none"
    record = info.facts.get("training_data")
    rows = record if isinstance(record, list) else []
    names = {str(row.get("table", "")) for row in rows if isinstance(row, Mapping) and row.get("use") == "train"}
    sets = {_set_of(name) for name in names}
    nli = {name for name in sets if name in ("snli", "mnli", "multinli", "nli", "allnli")}
    if not sets or sets - nli - {"stsb"}:
        return ""
    return "+".join((["nli"] if nli else []) + (["stsb"] if "stsb" in sets else []))


def layer_of(info: EncoderInfo) -> str:
    """Returns an encoder's sentence layer as a key of LAYERS; empty for one the paper has not.

    The paper reads plain backbones, and those fine-tuned on both sentences at once, by [CLS] and by their average.
    """
    settings = info.facts.get("hyperparameters")
    plain = is_untrained(info) or (isinstance(settings, Mapping) and settings.get("siamese") is False)
    if info.kind == CROSS_ENCODER:
        return ""
    if plain:
        return {"cls": "cls", "mean": "avg"}.get(info.pooling, "")
    return {"mean": "siamese-mean", "cnn": "siamese-cnn"}.get(info.pooling, "")


def _set_of(table: str) -> str:
    """The data set of a table like "stsb/train.tsv" or, fetched from the hub, "tables/all-nli.parquet"."""
    folder, _, name = table.partition("/")
    return (name.split(".")[0] if folder == "tables" else folder.removesuffix(".tsv")).replace("-", "")


def _ours(
    info: EncoderInfo,
    family: str,
    training: str,
    task: str,
    published: float,
    found: Mapping[tuple[str, str], TaskScore],
) -> Ours | None:
    score = _score(info, task, found)
    if score is None or score.correlation.spearman is None:
        return None
    value = score.correlation.spearman
    measured = task == AVERAGE or (info.name, task.lower()) in found
    reasons = _reasons(info, family, training, found.get((info.name, task.lower())))
    return Ours(
        info.name,
        value,
        score.spearman_interval,
        MEASURED if measured else RECORDED,
        round(value, 2) - published,
        tuple(reasons),
    )


def _score(info: EncoderInfo, task: str, found: Mapping[tuple[str, str], TaskScore]) -> Score | None:
    """Our score on a task as the paper names it: measured, the mean of six, or what the card records."""
    if task == AVERAGE:
        six = {name: found.get((info.name, name)) for name in _AVERAGED}
        known = {name: score.table.all_pairs for name, score in six.items() if score is not None}
        return mean_of(known) if len(known) == len(six) else None
    measured = found.get((info.name, task.lower()))
    if measured is not None:
        return measured.table.all_pairs
    return _recorded(info) if task == "STSb" else None


def _recorded(info: EncoderInfo) -> Score | None:
    spearman, pearson = (info.scores.get(f"stsb_test_{kind}") for kind in ("spearman", "pearson"))
    count = info.facts.get("n", {})
    n = count.get("stsb_test", 0) if isinstance(count, Mapping) else 0
    return None if spearman is None else Score(Correlation(int(n), spearman, pearson))


def _reasons(info: EncoderInfo, family: str, training: str, score: TaskScore | None) -> list[str]:
    base = f"{family}-base"
    reasons = [] if base in info.backbone.lower() else [f"another backbone: {info.backbone}, not {base}"]
    own = training_label(info)
    if own != training:
        reasons.append(f"other training data: {TRAINING.get(own, 'not recorded')}, not {TRAINING[training]}")
    if info.facts.get("distillation"):
        reasons.append("our backbone was distilled, not pre-trained")
    reasons.append("one seed each")
    found = score.contamination if score is not None and score.task in _YEARS else None
    if found is not None and found.pairs and not found.unknown:
        reasons.append(f"{found.pairs:,} of {found.n:,} pairs are in STSb train, which both were trained on")
    return reasons


def _by_task(scores: Iterable[AnyScore]) -> dict[tuple[str, str], TaskScore]:
    """(encoder, task) -> its correlation over all test pairs."""
    return {
        (score.encoder, score.task): score
        for score in scores
        if isinstance(score, TaskScore) and score.subset is Subset.ALL and score.split == "test"
    }


def _published_spearman() -> dict[tuple[str, str, str], float]:
    """(backbone, sentence layer, task) -> published Spearman: STSb from table 1, the years from table 3."""
    years = {(*ENCODERS[row.encoder], str(row.task)): float(row.spearman) for row in read_table("table3").itertuples()}
    stsb = {
        (str(row.backbone), str(row.embedding), "STSb"): float(row.spearman)
        for row in read_table("table1").itertuples()
        if row.training == "stsb"
    }
    return years | stsb


def _twins(infos: Sequence[EncoderInfo], family: str) -> tuple[EncoderInfo, ...]:
    """The first CNN encoder and the first with average pooling that share backbone and training; empty if none do."""
    for cnn in (info for info in infos if (info.family, layer_of(info)) == (family, "siamese-cnn")):
        for mean in (info for info in infos if (info.family, layer_of(info)) == (family, "siamese-mean")):
            if (cnn.backbone, training_label(cnn)) == (mean.backbone, training_label(mean)):
                return cnn, mean
    return ()


def _difference(
    pair: Sequence[EncoderInfo], task: str, found: Mapping[tuple[str, str], TaskScore]
) -> Difference | None:
    first, second = (_score(info, TASKS[task].title, found) for info in pair)
    return compare(first, second) if first is not None and second is not None else None
