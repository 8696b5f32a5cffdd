"""The tables of the tab Evaluate as markup: scores, overlap, the paper, slices, cost, padding. Values in, markup out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from explorer.data.sts_tasks import TASKS
from explorer.encoders.folder import CROSS_ENCODER, ENCODER, EncoderInfo
from explorer.figures.theme import Identity
from explorer.operations.contamination import in_words
from explorer.operations.task_score import LabelScore
from explorer.ui import words
from explorer.ui.cards import name_plate
from explorer.ui.data_table import Column, data_table, decimals
from explorer.ui.html import Html, join, tag

if TYPE_CHECKING:
    import pandas as pd

    from explorer.analysis.scoring import Score
    from explorer.analysis.statistics import Interval
    from explorer.operations.comparison import Ours, PaperRow
    from explorer.operations.cost import Cost
    from explorer.operations.evaluate_table import OwnTable
    from explorer.operations.evaluation_views import SliceScore
    from explorer.operations.padding import PaddingCheck
    from explorer.operations.task_score import AnyScore, TaskScore

S = TypeVar("S", bound="AnyScore")
Looks = Mapping[str, Identity]
_MOST_PAIRS = 200
_CROSSED = f" ({CROSS_ENCODER})"


def score_table(scores: Sequence[TaskScore], looks: Looks, aggregation: str, measure: str) -> Html:
    """Returns tasks down, encoders across; each cell a score and its interval.

    Args:
        scores: Of one subset.
        looks: By encoder.
        aggregation: Value of an Aggregation; a task without parts has all pairs in any case.
        measure: "spearman" or "pearson".
    """
    return _grid(scores, looks, lambda score: _aggregated(score, aggregation, measure), "Scores by task and encoder")


def label_table(scores: Sequence[LabelScore], looks: Looks) -> Html:
    """Returns tasks down, encoders across; each cell an accuracy and its interval, or why there is none."""
    table = _grid(scores, looks, accuracy_cell, "Accuracy by task and encoder")
    remarks = dict.fromkeys(
        f"{score.encoder}: {score.remark.rstrip('.')}." for score in scores if score.remark and not score.why
    )
    return join(table, *(tag("p", remark, cls="small") for remark in remarks))


def _grid(scores: Sequence[S], looks: Looks, cell: Callable[[S], Html], label: str) -> Html:
    kinds = {s.encoder: s.kind for s in sorted(scores, key=lambda s: s.kind != ENCODER)}
    heads = [Column(plate(name, looks), "" if kind == ENCODER else kind, number=True) for name, kind in kinds.items()]
    by_place = {(score.task, score.split, score.encoder): score for score in scores}
    rows = []
    for task, split in _places(scores):
        row = [by_place.get((task, split, name)) for name in kinds]
        sizes = dict.fromkeys(f"{score.n:,}" for score in row if score and score.n)
        cells = [cell(score) if score else words.DASH for score in row]
        rows.append([f"{TASKS[task].title} {split}", " / ".join(sizes) or words.DASH, *cells])
    return data_table([Column("Task"), Column("n", number=True), *heads], rows, label)


def part_table(scores: Sequence[TaskScore], looks: Looks) -> Html:
    """Returns the parts of every task that has some, encoders across, Spearman with its interval."""
    names = list(dict.fromkeys(score.title for score in scores))
    by_place = {(score.task, score.title): score for score in scores}
    rows = []
    for task, _ in _places(scores):
        parts = dict.fromkeys(part for score in scores if score.task == task for part in score.table.parts)
        for part in parts:
            row = [s.table.parts.get(part) if (s := by_place.get((task, name))) else None for name in names]
            sizes = dict.fromkeys(f"{score.correlation.n:,}" for score in row if score)
            cells = [spearman_cell(score) if score else words.DASH for score in row]
            rows.append([TASKS[task].title, part, " / ".join(sizes), *cells])
    if not rows:
        return tag("p", "None of these tasks has parts.", cls="small")
    heads = [Column("Task"), Column("Part"), Column("n", number=True)]
    return data_table([*heads, *(Column(plate(n, looks), number=True) for n in names)], rows, "Scores by part")


def overlap_table(by_subset: Mapping[tuple[str, str, str, str], AnyScore], looks: Looks) -> Html:
    """Returns each task and encoder with its score on all, clean and overlapping pairs.

    Args:
        by_subset: (task, split, encoder, subset) -> score.
        looks: By encoder.
    """
    columns = [
        *(Column("Task"), Column("Encoder"), Column("Trained on"), Column("Pairs", number=True)),
        *(Column("In training", "as a pair", number=True), Column("In training", "a sentence", number=True)),
        *(Column("All", number=True), Column("Clean", number=True), Column("Overlap", number=True)),
    ]
    rows = []
    for (task, split, encoder, subset), score in by_subset.items():
        if subset != "all":
            continue
        found = score.contamination
        clean, seen = (by_subset.get((task, split, encoder, name)) for name in ("clean", "overlap"))
        least = "at least " if found.unknown else ""
        dashes = found.unknown and not found.pairs and not found.either
        counts = [words.DASH] * 2 if dashes else [f"{least}{found.pairs:,}", f"{least}{found.either:,}"]
        training = tag("span", found.training, tag("small", found.unknown) if found.unknown else None, cls="stacked")
        figures = [words.DASH if item is None or found.unknown else _cell_of(item, item.n) for item in (clean, seen)]
        title = f"{TASKS[task].title} {split}" + (", accuracy" if TASKS[task].labels else "")
        rows.append([title, plate(score.title, looks), training, f"{found.n:,}", *counts, _cell_of(score), *figures])
    return data_table(columns, rows, "Scores on all, clean and overlapping pairs")


def pair_list(pairs: pd.DataFrame, what: str) -> Html:
    """Returns pairs with gold score and cosines as a table; frame: sentence1, sentence2, score, a column an encoder."""
    if pairs.empty:
        return tag("p", f"There are no {what}.", cls="small")
    names = [column for column in pairs.columns if column not in ("sentence1", "sentence2", "score")]
    numbers = [
        Column("Gold", number=True),
        *(Column(name, "its score" if name.endswith(_CROSSED) else "cosine", number=True) for name in names),
    ]
    shown_pairs = pairs.head(_MOST_PAIRS)
    # As many decimals as the longest score has, so that the column lines up.
    places = max(len(f"{score:g}".partition(".")[2]) for score in shown_pairs["score"])
    rows = [
        [row["sentence1"], row["sentence2"], decimals(row["score"], places), *(_cosine(row[name]) for name in names)]
        for row in shown_pairs.to_dict("records")
    ]
    table = tag("div", data_table([Column("Sentence 1"), Column("Sentence 2"), *numbers], rows, what), cls="pairs")
    shown = f"The first {_MOST_PAIRS} of {len(pairs):,} {what}; the CSV has all." if len(pairs) > _MOST_PAIRS else ""
    return join(table, tag("p", shown, cls="small") if shown else None)


def paper_table(rows: Sequence[PaperRow], looks: Looks) -> Html:
    """Returns a table of the paper: published, ours, difference and the reasons that apply."""
    columns = [
        *(Column("The paper's encoder"), Column("Trained on"), Column("Task")),
        *(Column("Published", "Spearman", number=True), Column("Published", "Pearson", number=True)),
        *(Column("Ours"), Column("Spearman", number=True), Column("Difference", number=True)),
        Column("Why they may differ"),
    ]
    made = []
    for row in rows:
        published = [row.encoder, row.training, row.task, words.score(row.spearman), words.score(row.pearson)]
        if not row.ours:
            made.append([*published, tag("span", row.missing, cls="absent"), words.DASH, words.DASH, ""])
        for our in row.ours:
            made.append([*published, plate(our.encoder, looks), *_ours(our)])
    return data_table(columns, made, "The paper's table beside ours")


def slice_table(slices: Sequence[SliceScore], looks: Looks) -> Html:
    """Returns slices down, encoders across; an encoder that is clearly above all others in bold."""
    if not slices:
        return tag("p", "No encoder is scored on this task yet.", cls="nothing")
    names = list(slices[0].scores)
    columns = [Column("By"), Column("Slice"), Column("n", number=True)]
    ways = [""] + [item.way for item in slices]
    rows = [
        [item.way if item.way != before else "", item.name, f"{item.n:,}"]
        + [spearman_cell(item.scores[name], strong=name == item.best) for name in names]
        for before, item in zip(ways, slices, strict=False)
    ]
    return data_table([*columns, *(Column(plate(n, looks), number=True) for n in names)], rows, "Scores by slice")


def cost_table(infos: Sequence[EncoderInfo], costs: Mapping[str, Cost], looks: Looks) -> Html:
    """Returns sizes, always known, and speeds, known once measured."""
    columns = [
        *(Column("Encoder"), Column("Parameters", "million", number=True), Column("Files", "MiB", number=True)),
        *(Column("Load", "seconds", number=True), Column("A pair", "ms", number=True)),
        *(Column("Speed", "sentences/s", number=True), Column("Peak memory", "MiB", number=True)),
    ]
    rows = []
    for info in infos:
        cost = costs.get(info.name)
        speeds = (
            [
                f"{cost.load_seconds:.2f}",
                f"{cost.pair_ms:.1f}",
                f"{cost.sentences_per_second:,.0f}",
                f"{cost.peak_bytes / 2**20:,.0f}",
            ]
            if cost
            else [words.DASH] * 4
        )
        sizes = [words.millions(info.parameters), words.mebibytes(info.size_bytes)]
        rows.append([plate(info.name, looks), *sizes, *speeds])
    machines = dict.fromkeys(cost.machine for cost in costs.values())
    note = f"Measured on: {'; '.join(machines)}." if machines else "A dash: not measured yet."
    return join(data_table(columns, rows, "What each encoder costs"), tag("p", note, cls="small"))


def padding_table(checks: Sequence[PaddingCheck], looks: Looks) -> Html:
    """Returns for each encoder whether padding changes its vectors."""
    columns = [Column("Encoder"), Column("Result"), Column("Smallest cosine", number=True)]
    columns += [Column("Largest change", "of one number", number=True), Column("Sentences", number=True)]
    rows = [
        [
            plate(check.encoder, looks),
            "ignores padding" if check.passed else tag("strong", "sees padding: its scores depend on the batch"),
            f"{check.cosine:.7f}",
            f"{check.shift:.1e}",
            str(check.n),
        ]
        for check in checks
    ]
    return data_table(columns, rows, "Padding check")


def own_table(result: OwnTable, looks: Looks) -> Html:
    """Returns the scores on a person's own table."""
    columns = [Column("Encoder"), Column("n", number=True), Column("Spearman", "× 100", number=True)]
    columns += [Column("95 % interval"), Column("Pearson", "× 100", number=True), Column("Remark")]
    rows = []
    for name, score in result.scores.items():
        found = score.correlation
        few = "" if score.spearman_interval or found.why else "too few pairs for an interval"
        figures = [
            words.score(found.spearman),
            words.interval_text(score.spearman_interval),
            words.score(found.pearson),
        ]
        seen = in_words(result.seen[name]) if name in result.seen else ""
        remark = "; ".join(part for part in (found.why or few, seen) if part)
        rows.append([plate(name, looks), f"{found.n:,}", *figures, remark])
    return data_table(columns, rows, f"Scores on {result.name}")


def sentence_list(sentences: Sequence[str], empty: str) -> Html:
    """Returns sentences as a list, or what to say if there are none."""
    if not sentences:
        return tag("p", empty, cls="small")
    return tag("ul", *(tag("li", sentence) for sentence in sentences), cls="plain small")


def spearman_cell(score: Score, n: int | None = None, *, strong: bool = False) -> Html:
    """Returns a Spearman with its interval below it, n too if given, or why it is undefined."""
    return _cell(score.correlation.spearman, score.spearman_interval, score.correlation.why, n, strong)


def accuracy_cell(score: LabelScore, n: int | None = None) -> Html:
    """Returns an accuracy with its interval below it, n too if given, or why there is none."""
    return _cell(score.accuracy.value, score.interval, score.why, n)


def plate(name: str, looks: Looks) -> Html:
    """Returns an encoder's name with its swatch, or the name alone if it is not here any more."""
    own = name.removesuffix(_CROSSED)
    return name_plate(name, looks[own]) if own in looks else tag("span", name)


def _cell_of(score: AnyScore, n: int | None = None) -> Html:
    return accuracy_cell(score, n) if isinstance(score, LabelScore) else spearman_cell(score.table.all_pairs, n)


def _aggregated(score: TaskScore, aggregation: str, measure: str) -> Html:
    kinds = {how.value: value for how, value in score.table.aggregations.items()}
    found = kinds.get(aggregation, score.table.all_pairs)
    if measure == "pearson":
        return _cell(found.correlation.pearson, found.pearson_interval, found.correlation.why)
    return spearman_cell(found)


def _cell(value: float | None, found: Interval | None, why: str, n: int | None = None, strong: bool = False) -> Html:
    figure = words.score(value)
    below = why or (words.interval_text(found) if found else "")
    count = f"n = {n:,}" if n is not None else None
    lines = [tag("small", line) for line in (below, count) if line]
    return tag("span", tag("strong", figure) if strong else figure, *lines, cls="stacked")


def _ours(our: Ours) -> list[str]:
    below = words.interval_text(our.interval) if our.interval else our.source
    figure = tag("span", words.score(our.spearman), tag("small", below), cls="stacked")
    sign = "+" if our.difference > 0 else ""
    return [figure, sign + words.score(our.difference), "; ".join(our.reasons)]


def _cosine(value: float) -> str:
    return words.cosine(value) if value == value else words.DASH


def _places(scores: Sequence[AnyScore]) -> list[tuple[str, str]]:
    order = list(TASKS)
    return sorted({(score.task, score.split) for score in scores}, key=lambda place: (order.index(place[0]), place[1]))
