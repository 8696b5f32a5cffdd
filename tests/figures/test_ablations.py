"""The bars of an ablation: largest first, one scale, text escaped."""

from __future__ import annotations

import numpy as np

from explorer.analysis.ablation import Ablation
from explorer.figures.ablations import ablations_figure


def test_ablations_show_the_largest_changes_first_on_one_scale() -> None:
    first, second = np.array([0.1, -0.3, 0.0, 0.2]), np.array([0.01, 0.0, -0.02, 0.0])
    figure = ablations_figure(
        {"bert-cnn": Ablation(2, 0.5, 0.5 + first, first), "<b>": Ablation(2, 0.9, 0.9 + second, second)}, show=3
    )
    bars = figure.data
    assert [list(trace.customdata[0]) for trace in bars] == [["bert-cnn", 2, 1], ["<b>", 2, 2]]
    assert list(bars[0].text) == ["\N{MINUS SIGN}0.3000", "+0.2000", "+0.1000"]
    assert list(bars[0].x) == [-0.3, 0.2, 0.1]
    assert figure.layout.xaxis.range == figure.layout.xaxis2.range
    assert not [note for note in figure.layout.annotations if "<b>" in note.text]
