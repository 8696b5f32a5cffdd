"""The API endpoints of the filters: the same views as the tab and the command line, as plain values."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import gradio as gr

from explorer.encoders.registry import Registry
from explorer.ui.errors import for_person, refuse
from explorer.ui.page import ON_MODEL


def build(registry: Registry) -> None:
    """Adds the endpoints to the page being built."""
    for make in (_activations, _cell, _ablation):
        endpoint = make(partial(report, registry))
        gr.api(endpoint, api_name=endpoint.__name__, **ON_MODEL)


@for_person(refuse)
def report(registry: Registry, view: str, **request: Any) -> list[Any]:
    """Returns one plain value an encoder; see operations.filter_report.

    Raises:
        gr.Error: With the one sentence on what is wrong.
    """
    from explorer.operations.filter_report import FilterRequest, filter_report

    return filter_report(registry, FilterRequest(view, **request)).results


def _activations(answer: Callable[..., list[Any]]) -> Callable[..., Any]:
    def filters_activations(
        sentence: str, summary: str = "mean", dimension: int | None = None, encoders: list[str] | None = None
    ) -> list[Any]:
        """Returns every layer's map of filters by positions, for each encoder with a CNN or for those named."""
        return answer("layers", sentence1=sentence, summary=summary, dimension=dimension, encoders=encoders)

    return filters_activations


def _cell(answer: Callable[..., list[Any]]) -> Callable[..., Any]:
    def filters_cell(
        sentence: str, layer: int, filter: int, position: int, dimension: int = 0, encoders: list[str] | None = None
    ) -> list[Any]:
        """Returns the arithmetic of one cell, from inputs to tanh. Layers count from 1, everything else from 0."""
        return answer(
            "cell",
            sentence1=sentence,
            layer=layer,
            filter=filter,
            position=position,
            dimension=dimension,
            encoders=encoders,
        )

    return filters_cell


def _ablation(answer: Callable[..., list[Any]]) -> Callable[..., Any]:
    def filters_ablation(sentence1: str, sentence2: str, layer: int, encoders: list[str] | None = None) -> list[Any]:
        """Returns a pair's cosine without each filter of a layer in turn, and the change."""
        return answer("ablate", sentence1=sentence1, sentence2=sentence2, layer=layer, encoders=encoders)

    return filters_ablation
