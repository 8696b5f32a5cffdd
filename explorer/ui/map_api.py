"""The API endpoints of the maps: the same figures as the tab and the command line, as plain values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import gradio as gr

from explorer.errors import SettingError
from explorer.ui.errors import for_person, refuse
from explorer.ui.map_desk import LINES, MapDesk, Wanted, whole

if TYPE_CHECKING:
    from explorer.operations.project import Maps

_ON_MAPS: dict[str, Any] = {"concurrency_id": "maps", "concurrency_limit": 6}


def build(desk: MapDesk) -> None:
    """Adds the endpoints to the page being built."""
    for make in (_project, _agreement, _place):
        endpoint = make(desk)
        gr.api(endpoint, api_name=endpoint.__name__, **_ON_MAPS)


@for_person(refuse)
def answer(desk: MapDesk, sentences: object, wanted: Wanted, report: Callable[[Maps], Any]) -> Any:
    """Returns what `report` says of the maps.

    Args:
        desk: Makes the maps.
        sentences: A list of text; None for the shipped corpus.
        wanted: Everything else; its encoders are checked here, whatever a caller gave.
        report: Called with the maps; may raise what a person can mend.

    Raises:
        gr.Error: With the one sentence on what is wrong.
    """
    encoders = texts_of(wanted.encoders, "encoders", "the encoders' names")
    wanted = replace(wanted, encoders=encoders)
    if sentences is not None:
        lines = [" ".join(text.split()) for text in texts_of(sentences, "sentences", "sentences") or ()]
        wanted = replace(wanted, kind=LINES, text="\n".join(lines))
    return report(desk.make(wanted)[1])


def texts_of(given: object, what: str, of: str) -> list[str] | None:
    """Returns a list of text as it was given, or None.

    Args:
        given: Anything a caller of the API can send.
        what: The argument's name.
        of: What the list is to hold.

    Raises:
        SettingError: It is no list, or something in it is no text.
    """
    from explorer.data.frames import shown

    if given is None:
        return None
    if not isinstance(given, list | tuple):
        one = f", such as [{shown(given)}]" if isinstance(given, str) else ""
        raise SettingError(f"{what} is {shown(given)}; give a list of {of}{one}.")
    for number, text in enumerate(given, start=1):
        if not isinstance(text, str):
            raise SettingError(
                f"{what} holds {shown(text)} as number {number}, which is not text; give a list of {of}."
            )
    return list(given)


def _project(desk: MapDesk) -> Callable[..., Any]:
    def project(
        sentences: list[str] | None = None,
        encoders: list[str] | None = None,
        method: str = "pca",
        n_neighbors: int = 15,
        min_dist: float = 0.1,
        metric: str = "cosine",
        seed: int = 42,
        k: int = 10,
    ) -> list[dict[str, Any]]:
        """Returns one object an encoder: every sentence's point, neighbours and trust, and its agreement with the others.

        Without sentences the shipped corpus is mapped. method is pca or umap. `row` and `neighbours` count sentences from 0.
        """
        from explorer.operations.map_report import map_objects

        wanted = Wanted(encoders=encoders, method=method, neighbours=n_neighbors, min_dist=min_dist, metric=metric)
        return answer(desk, sentences, replace(wanted, seed=seed, k=k, most=desk.caps[-1]), map_objects)

    return project


def _agreement(desk: MapDesk) -> Callable[..., Any]:
    def agreement(
        sentences: list[str] | None = None, encoders: list[str] | None = None, k: int = 10, show: int = 20
    ) -> dict[str, Any]:
        """Returns how alike encoders see a corpus: a row a pair of encoders, and the sentences they differ on most.

        Overlap of the k nearest sentences (Jaccard), linear CKA, Spearman correlation of all similarities, Procrustes
        distance of the vectors.
        """
        from explorer.operations.map_report import agreement_rows, difference_rows

        wanted = Wanted(encoders=encoders, k=k, most=desk.caps[-1])
        most = _shown_at_most(show)
        return answer(
            desk,
            sentences,
            wanted,
            lambda maps: {"pairs": agreement_rows(maps), "sentences": difference_rows(maps, most)},
        )

    return agreement


def _place(desk: MapDesk) -> Callable[..., Any]:
    def neighbours(
        sentence: str,
        sentences: list[str] | None = None,
        encoders: list[str] | None = None,
        k: int = 10,
        method: str = "pca",
        seed: int = 42,
    ) -> list[dict[str, Any]]:
        """Returns a sentence's k nearest sentences in every encoder, and its approximate place on the map.

        Without sentences it is looked for in the shipped corpus.
        """
        from explorer.operations.map_report import placement_rows
        from explorer.operations.project import place

        wanted = Wanted(encoders=encoders, method=method, seed=seed, k=k, most=desk.caps[-1])
        return answer(
            desk, sentences, wanted, lambda maps: placement_rows(maps, place(desk.registry, maps, sentence, int(k)))
        )

    return neighbours


@for_person(refuse)
def _shown_at_most(show: object) -> int:
    number = whole(show, "show")
    if number < 0:
        raise SettingError(f"show is {number}; use a whole number from 0.")
    return number
