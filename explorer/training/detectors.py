"""What goes wrong in trainings and can be seen early: a loss that is no number, embeddings that are all alike, no progress.

Pure: figures in, a sentence or nothing out.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

# Standard deviation of the dev cosines under which the encoder says the same of every pair.
LEAST_SPREAD = 1e-3


def bad_loss(loss: float, step: int) -> str | None:
    """Returns what to say of a loss that is not a finite number; None of one that is."""
    if isfinite(loss):
        return None
    return (
        f"The loss is {loss} at step {step}; the weights are of no use from here on. Try a lower learning rate or a longer "
        "warm-up."
    )


def collapsed(spread: float, step: int) -> str | None:
    """Returns what to say when all dev pairs get about the same score, or None; a spread that is nan is not judged."""
    if not spread < LEAST_SPREAD:
        return None
    return (
        f"The encoder has collapsed at step {step}: it finds all dev pairs equally alike (standard deviation {spread:.1e}, under "
        f"{LEAST_SPREAD:g}). Try a lower learning rate, a longer warm-up or another seed."
    )


def no_progress(history: Sequence[float], patience: int, step: int) -> str | None:
    """Returns what to say when the last `patience` evaluations brought nothing better; None if not, or for patience 0.

    Args:
        history: Dev Spearman of all evaluations so far, in [-1, 1]; nan counts as nothing better.
        patience: Evaluations to wait.
        step: The step of the last.
    """
    if patience <= 0 or len(history) <= patience:
        return None
    best = max((value for value in history if isfinite(value)), default=None)
    since = len(history) - 1 - (history.index(best) if best is not None else -1)
    if since < patience:
        return None
    shown = "none has been a number" if best is None else f"the best Spearman stays {100 * best:.2f}"
    return f"No better result on dev in {since} evaluations up to step {step}: {shown}."
