"""The explaining words of the page, each term where it first appears. Text only."""

from __future__ import annotations

from explorer.ui.html import Html, tag

TITLE = "Sentence Encoder Explorer"
TAGLINE = (
    "Type two sentences and see how alike four small encoders find them: BERT and ALBERT architectures, each with average "
    "pooling and with a CNN on top."
)
_WHY = (
    (
        "Cosine",
        "An encoder turns a sentence into a list of numbers, its embedding. The cosine compares the directions of two "
        "embeddings: 1 the same, 0 unrelated, \N{MINUS SIGN}1 opposite.",
    ),
    (
        "Pooling",
        "The backbone gives one embedding for each word piece; pooling makes one of them all. Average pooling takes their "
        "mean. CNN pooling first sends them through five layers of small filters, each halving their number and looking at up "
        "to five neighbours.",
    ),
    (
        "Why not compare the cosines",
        "Each encoder has its own scale: 0.6 can be high for one and ordinary for the next. Compare the percentiles. They say "
        "how a score ranks among known pairs scored by the same encoder.",
    ),
)
_MORE = (
    "Both sentences go through the same encoder, one after the other; only their two embeddings meet, in the cosine. The "
    "encoders were trained on the STS Benchmark (STSb), where people gave pairs of sentences a score from 0, nothing in "
    "common, to 5, the same meaning.",
    "The two rows under “Higher than” place the cosine among pairs the same encoder has scored before: the pairs of STSb's "
    "development set, called the related pairs here since most are related to some degree, and pairs of sentences drawn from "
    "it at random, most of which are not. A score above nearly all random pairs, yet below most related pairs, means: related, "
    "but not close.",
    "Word pieces are what an encoder really reads: frequent words whole, rare ones in parts (a part that continues a word "
    "begins with ##). [CLS] and [SEP] mark the ends and are not counted here.",
    "What one may not conclude: that a high score means the sentences say the same, or that one is true if the other is. "
    "Negations, numbers and exchanged roles change the meaning and hardly move the score; the examples show it. Nor does one "
    "pair say which encoder is better: that takes many pairs with gold scores, as in the table's STSb columns.",
)
_PIECES = (
    "The same sentences as each vocabulary divides them, parts with the same letters under each other. Encoders that divide a "
    "sentence alike share a line, with its number of word pieces; how a sentence is divided says nothing of how well it is "
    "understood."
)
_SMALL_PRINT = (
    "Everything is computed by this program; the page asks no other host for anything. The same scores are an API endpoint, "
    "/compare (see the foot of the page), and a command: python -m explorer score."
)


def header() -> Html:
    """Returns the head of the page."""
    return tag("div", tag("h1", TITLE), tag("p", TAGLINE), cls="masthead")


def try_label() -> Html:
    """Returns the words before the example buttons."""
    return tag("span", "Try a contrast", cls="label")


def why() -> Html:
    """Returns the three terms, and more for those who open it."""
    terms = [tag("div", tag("h3", term), tag("p", text)) for term, text in _WHY]
    more = tag("details", tag("summary", "What am I looking at?"), *(tag("p", text) for text in _MORE))
    heading = tag("h2", "How to read the scores", cls="unseen")
    return tag("section", heading, tag("div", *terms, cls="terms"), more, cls="why")


def pieces_heading() -> Html:
    """Returns the heading of the aligned word pieces and the sentence on what they show."""
    return tag("div", tag("h2", "What the encoders read"), tag("p", _PIECES, cls="small"), cls="heading")


def small_print() -> Html:
    """Returns the last lines of the tab."""
    return tag("p", _SMALL_PRINT, cls="small print")
