"""What the maps say in words: what each part shows, and what one may not conclude from it. Text alone."""

from __future__ import annotations

from typing import Any

from explorer.analysis.projection import Method

NEIGHBOURS = (
    "which sentences each encoder finds most alike to the chosen one, by the cosine of their whole vectors. Lines "
    "on the maps lead "
    "to them; a long line means the map tears them apart.",
    "that a higher cosine of one encoder means more than a lower one of another: each has its own usual range.",
)
MATRICES = (
    "four answers to one question: do two encoders see the same corpus alike? Overlap looks at the nearest "
    "sentences alone; the "
    "other three look at all of them.",
    "which encoder is right. Two can agree and both be wrong; the tab Evaluate compares them with what people said.",
)
DISAGREEMENT = (
    "All of this is computed from the vectors in the full space; the maps play no part in it. The figures hold for this "
    "corpus."
)
MORE_TITLE = "What do distances and gaps on such a map mean?"
TRUST = {
    Method.PCA: (
        "Trustworthiness asks whether a point's neighbours on the map are its neighbours in the full space: 1 where "
        "all are, about "
        "0.5 for points thrown at random. Neighbours kept is the share of its nearest sentences that are still among "
        "the nearest "
        "on the map. Ringed are the least trustworthy points, at most one in twenty: do not read anything into who "
        "stands beside "
        "them."
    ),
}
TRUST[Method.UMAP] = TRUST[Method.PCA]
_UMAP = (
    "UMAP keeps neighbours and nothing else. It draws a graph of each sentence's nearest sentences and looks for a "
    "picture in which "
    "neighbours stay together. What it does not keep is easily read into it all the same:",
    "A gap between two islands does not say how different they are, nor that nothing lies between them: UMAP tears "
    "a cloud apart "
    "where it is thin, and with few neighbours it finds islands in pure noise. The distance between islands, their "
    "order and their "
    "place on the page mean next to nothing. Neither does the size or the density of an island: UMAP evens out "
    "density on purpose.",
    "Another seed, or other values of n_neighbors and min_dist, give another picture of the same vectors. What "
    "stays when you change "
    "them is worth a second look; what does not was never there. Before you conclude anything, ask the lists of "
    "neighbours: they "
    "come from the full space.",
)
_PCA = (
    "PCA looks at the cloud of vectors from the side from which it is widest. It is a plain shadow: nothing is "
    "bent, and what is far "
    "apart here is far apart in truth. But what is close here may be far apart in the hundreds of directions that "
    "the shadow hides; "
    "under each map stands how little of the variance its two axes show.",
    "So distances on a PCA map are lower bounds, and crowds in its middle are mostly sentences that differ in "
    "other directions. The "
    "lists of neighbours come from the full space and do not have this fault.",
)
ALIGNED = (
    "All maps after the first are shifted, turned, mirrored and scaled onto the first, since a map has no "
    "direction of its own. The "
    "Procrustes distance of the maps says how unlike they still are: 0 for the same shape, 1 for nothing in common. That of "
    "the vectors compares the encoders in the full space."
)


def words(method: Method) -> dict[str, Any]:
    """Returns the texts that go with maps made by a method."""
    return {
        "neighbours": NEIGHBOURS,
        "matrices": MATRICES,
        "disagreement": DISAGREEMENT,
        "trust": [TRUST[method], ALIGNED],
        "more_title": MORE_TITLE,
        "more": list(_UMAP if method is Method.UMAP else _PCA),
    }
