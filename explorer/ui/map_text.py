"""The words of the tab Map, for people who see such a map for the first time. Text alone."""

from __future__ import annotations

from collections.abc import Sequence

from explorer.ui.html import Html, join, tag

METHODS = [("PCA, at once", "pca"), ("UMAP, some seconds (the first time some 20)", "umap")]
METRICS = [("cosine: directions alone", "cosine"), ("euclidean: lengths too", "euclidean")]
NO_ENCODER = "No encoder is ticked; tick at least one, then its map is drawn."
OTHERS = (
    "The maps that this address names were put away meanwhile; sentences of your own have to be given once more. "
    "What is shown is the sample."
)
NO_LABEL = "no labels"
SETTINGS = "Settings of UMAP, neighbours and sample"
STOPPED = "Stopped. Vectors that were finished are kept, so the next start goes on from there."
DOWNLOADS = (
    "The table has a row for every encoder and sentence; text that a spreadsheet would run begins with an apostrophe. "
    "The HTML file holds the linked maps and opens from disk, without a network."
)

N_NEIGHBORS = "UMAP: how many sentences count as near. Few show small groups, many the whole."
MIN_DIST = "UMAP: how close points may lie. Small packs groups tightly, which looks clearer than it is."
METRIC = "What is near. Cosine is what these encoders were trained for."
SEED = "Of UMAP's random numbers, and of the sample of a large corpus. The same seed gives the same map, to the bit."
K = "How many neighbours are listed, compared and looked at for trust."
MOST = (
    "A larger corpus is sampled with the seed; which sentences are drawn does not depend on their order. Four encoders "
    "need some minutes for 20,000 the first time, UMAP some more."
)


def intro(demo: bool) -> Html:
    """Returns what the tab is, in two sentences."""
    text = (
        "Every point is a sentence, every map an encoder. Point at a sentence and it lights up on all maps; click it, and its "
        "nearest sentences in each encoder are listed below, with those that all of them share."
    )
    public = " In this public mode nothing of your own sentences is put into the cache, and uploads are deleted after an hour."
    return tag("div", tag("p", text + (public if demo else ""), cls="small"), cls="lead")


def count(number: int, noun: str) -> str:
    """Returns a number with its noun, in the plural where there is not exactly one."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def before(name: str, own: bool) -> str:
    """Returns that maps are shown once more.

    Args:
        name: Of their corpus.
        own: Whether somebody gave it.
    """
    return f"These are the maps drawn before, of {name if own else 'the sample'}."


def notes(texts: Sequence[str]) -> Html:
    """Returns what a person has to know about the maps: cleaning, caps, settings that had to change."""
    told = [text for text in texts if ": 0 empty, 0 repeated" not in text or "sampled" in text]
    return tag("div", join(*(tag("p", text) for text in told)), cls="small map-notes")
