"""Accuracy of NLI labels: a head worked out by hand, Wilson's interval, an honest paired comparison."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.analysis.accuracy import accuracy, compare_right, predict


def test_predict_by_hand() -> None:
    # One hidden number: u, v, |u - v|. Entailment likes a small gap, contradiction a large one, neutral is in between.
    weight = np.array([[0, 0, -1], [0, 0, 0], [0, 0, 1]], dtype=np.float32)
    bias = np.array([1, 0.2, -1], dtype=np.float32)
    first, second = np.array([[2.0], [2.0], [0.0]], dtype=np.float32), np.array([[2.0], [1.0], [3.0]], dtype=np.float32)
    # Gaps 0, 1, 3: logits (1, 0.2, -1), (0, 0.2, 0), (-2, 0.2, 2).
    assert predict(first, second, weight, bias).tolist() == [0, 1, 2]


def test_predict_is_the_softmax_layer_of_sentence_bert() -> None:
    rng = np.random.default_rng(0)
    u, v, weight, bias = (rng.normal(size=shape).astype(np.float32) for shape in ((9, 4), (9, 4), (3, 12), (3,)))
    logits = np.concatenate([u, v, np.abs(u - v)], axis=1) @ weight.T + bias
    assert predict(u, v, weight, bias).tolist() == logits.argmax(axis=1).tolist()


def test_accuracy_by_hand() -> None:
    # Wilson for 3 of 4: centre (0.75 + 3.8415 / 8) / (1 + 3.8415 / 4) = 0.6275, half 0.3269.
    found = accuracy([True, True, False, True])
    assert (found.n, found.value) == (4, 75.0)
    assert (found.interval.low, found.interval.high) == (pytest.approx(30.06, abs=0.01), pytest.approx(95.44, abs=0.01))
    whole = accuracy([True] * 10).interval
    assert whole.low < 80 < whole.high == 100.0
    assert (accuracy([]).value, accuracy([]).why) == (None, "undefined: no pairs")


def test_compare_right_is_paired() -> None:
    # Two encoders that are right on the same pairs do not differ at all, however few pairs those are.
    same = np.arange(200) % 3 == 0
    found = compare_right(same, same)
    assert (found.value, found.clear) == (0.0, False)
    better = same | (np.arange(200) % 10 == 1)
    found = compare_right(better, same)
    assert found.value == pytest.approx(100 * np.mean(better & ~same))
    assert found.clear
    assert compare_right(same, better).value == -found.value
    assert not compare_right(same[:9], ~same[:9]).clear


def test_compare_right_rarely_raises_a_false_alarm() -> None:
    rng, alarms = np.random.default_rng(1), 0
    for table in range(500):
        first, second = rng.random((2, 300)) < 0.7
        alarms += compare_right(first, second, seed=table).clear
    assert 0.02 <= alarms / 500 <= 0.09
