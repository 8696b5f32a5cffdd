"""Prints how often the bootstrap interval holds the truth, how often the paired comparison raises a false alarm, and its speed.

Tables are simulated: a pair has a true likeness, gold is that likeness with the raters' noise, rounded to steps of 0.2 as
STS gold is; each encoder's cosine is the likeness with noise of its own. Truth comes from a table of a million pairs.

    python -m benchmarks.bootstrap [--tables 1000] [--pairs 400]
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from explorer.analysis.statistics import difference, interval, resample
from explorer.analysis.sts import correlate

NOISE = 0.6
SHARED = 0.5


@dataclass(frozen=True)
class Shares:
    """What a simulation found: shares, in 0..1, of the tables."""

    covered_spearman: float
    covered_pearson: float
    false_alarms: float


def simulate(n: int, rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns (2, n) cosines of two encoders that are equally good and share part of their errors, and (n,) gold 0..5."""
    likeness = rng.normal(size=n)
    gold = np.clip(np.round((2.5 + 1.2 * (likeness + 0.3 * rng.normal(size=n))) * 5) / 5, 0, 5)
    shared = rng.normal(size=n)
    errors = SHARED * shared + np.sqrt(1 - SHARED**2) * rng.normal(size=(2, n))
    return np.tanh(0.5 * (likeness + NOISE * errors)), gold


def run(tables: int, pairs: int, *, resamples: int = 1000, seed: int = 1, large: int = 1_000_000) -> Shares:
    """Returns the shares over `tables` simulated tables of `pairs` pairs each; truth is what `large` pairs give."""
    rng = np.random.default_rng(seed)
    cosines, gold = simulate(large, rng)
    truth = [100 * float(kind(cosines[0], gold).statistic) for kind in (stats.spearmanr, stats.pearsonr)]
    covered, alarms = np.zeros(2), 0
    for table in range(tables):
        cosines, gold = simulate(pairs, rng)
        drawn = resample(cosines, gold, resamples=resamples, seed=table)
        first, second = correlate(cosines[0], gold), correlate(cosines[1], gold)
        for i, (values, observed) in enumerate(
            [(drawn.spearman[0], first.spearman), (drawn.pearson[0], first.pearson)]
        ):
            found = interval(values, observed or 0.0)
            covered[i] += found is not None and found.low <= truth[i] <= found.high
        gap = (first.spearman or 0.0) - (second.spearman or 0.0)
        alarms += difference(drawn.spearman[0], drawn.spearman[1], gap, pairs).clear
    return Shares(covered[0] / tables, covered[1] / tables, alarms / tables)


def speed(pairs: int = 3750, encoders: int = 4, resamples: int = 1000) -> float:
    """Returns the processor seconds an encoder's intervals take."""
    rng = np.random.default_rng(0)
    cosines = np.concatenate([simulate(pairs, rng)[0] for _ in range(encoders // 2)])
    _, gold = simulate(pairs, rng)
    start = time.process_time()
    resample(cosines, gold, resamples=resamples)
    return (time.process_time() - start) / encoders


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--pairs", type=int, default=400)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    found = run(options.tables, options.pairs, resamples=options.resamples, seed=options.seed)
    print(f"{options.tables:,} tables of {options.pairs:,} pairs, {options.resamples:,} resamples, seed {options.seed}")
    print(f"95 % interval holds the truth: Spearman {found.covered_spearman:.1%}, Pearson {found.covered_pearson:.1%}")
    print(f"two equally good encoders found clearly different: {found.false_alarms:.1%}")
    print(f"an encoder's intervals at n = 3,750: {speed():.2f} processor seconds")


if __name__ == "__main__":
    main()
