"""The explaining words of the tab Evaluate: what each part shows, and what one may not conclude from it. Text only."""

from __future__ import annotations

from explorer.ui.html import Html, tag

NO_DATA = (
    "No folder of evaluation data was given, so the tasks cannot be run yet; start with python app.py --data FOLDER, or with "
    "--hub to fetch STSb below. The paper's tables, the cost, the anatomy and your own table work without one."
)
NO_SCORES = "No scores yet. Choose encoders and tasks above and press Evaluate; STSb is the quickest."
LABELS = (
    "NLI labels (entailment, neutral, contradiction): accuracy × 100 of the encoder's own softmax head, with Wilson's 95 % "
    "interval. Only an encoder trained on such labels has a head; another one's vectors cannot be asked for labels."
)
NOT_IN_PUBLIC = (
    "In public mode nothing is measured here, since visitors would slow each other down; sizes are known anyway."
)
NOTHING_YET = "Nothing is scored yet: choose encoders and tasks, and press Evaluate."
SCALE = (
    "People gave each pair of sentences a score for how alike they are. An encoder is good if its cosines put the pairs in the "
    "same order. Spearman × 100 says how well it does: 100 is the same order, 0 is no relation."
)
_MORE = (
    "Spearman compares ranks: only the order of the cosines counts, not their size, so encoders with different scales can be "
    "compared. Pearson compares the values along a straight line.",
    "STSb is the STS Benchmark. STS12 to STS16 are the tasks of five years, each put together from several sources (its parts). "
    "SICK-R is made from image and video captions. SICK-E and SNLI have labels instead of scores: does the first sentence "
    "entail the second, contradict it, or neither? n is the number of pairs.",
    "A cross-encoder reads both sentences at once. It makes no embedding and no cosine, so it can compare a pair but not search "
    "a million sentences: it stands here as the reference of the paper's table 2, not as a rival.",
    "A year's parts can be joined in three ways, and the figure depends on it. All pairs together is what the paper's kind of "
    "table uses, so it comes first here. Mean of parts gives every source the same weight, weighted mean one by its pairs.",
    "The interval says how far the figure may move with another draw of such pairs: 1,000 times, as many pairs are drawn from "
    "the table with replacement and scored again, and 95 % of these scores lie within it. Whether one encoder is better than "
    "another is asked of the same draws, pair by pair, so it can be clear even where two intervals overlap. Each "
    "comparison stands by itself: among six comparisons of equally good encoders, one is called clear by chance in about "
    "one list of four.",
)
_SHARES = (
    "An encoder that has seen a pair with its gold score in training may remember the answer. Such pairs say how well it "
    "remembers, not how well it understands: read the clean score. Only the tables it was fine-tuned on are compared; what its "
    "backbone read before is not known here."
)


def sources(hub: bool) -> Html:
    """Returns what may be brought in besides what is listed, and why the hub is not asked where it is switched off."""
    text = "Any sentence-transformers folder with a transformer and one sentence layer, or a cross-encoder, can be evaluated. "
    if hub:
        text += "A hub id is downloaded once (safetensors only, no code) and then listed like the others."
    else:
        text += "The Hugging Face hub is switched off; start with python app.py --hub to download from it."
    return tag("p", text, cls="small")


def intro() -> Html:
    """Returns what the tab is about."""
    more = tag("details", tag("summary", "What am I looking at?"), *(tag("p", text) for text in _MORE))
    return tag("div", tag("p", SCALE, cls="small lead"), more)


def heading(title: str, text: str = "") -> Html:
    """Returns the heading of a part of the tab with a sentence on it."""
    return tag("div", tag("h2", title), tag("p", text, cls="small") if text else None, cls="part")


SCORES = (
    "each encoder's score on each task and, below it, the 95 % interval.",
    "how good an encoder is on other texts or other tasks. Two encoders whose scores differ by less than the intervals are "
    "not ranked by them; see the sentences below.",
)
OVERLAP_LEAD = _SHARES
OVERLAP = (
    "how many of a task's pairs are also in the tables the encoder was fine-tuned on, and its score on all pairs, on the others "
    "alone (clean) and on these alone. Two pairs are the same if their letters and digits are, in either order.",
    "that clean pairs are new in every way: paraphrases are not found, a sentence may be known from another pair (the column "
    "“a sentence”), and the backbone may have read any of them before. Clean and overlapping pairs also differ in kind, so "
    "their scores differ for that reason too. “Unknown” is not “none”.",
)
PAPER = (
    "the figures as printed in arXiv 2101.10642 and, beside them, our encoder of the same kind on the same test pairs.",
    "a repetition of the paper: our backbones are smaller and start from weights that had learned from sentence pairs before "
    "(their cards say which), so a difference says nothing against either.",
)
GAINS = (
    "how much the CNN adds to average pooling on the same backbone: hollow grey marks are the paper's, filled ones ours, "
    "once evaluated with the 95 % interval. Left of zero the CNN scores lower.",
    "whether the CNN helps other backbones or other tasks. The paper's marks have no interval, since one run of each encoder is "
    "published; its STSb mark is trained on STSb as ours are, the others on NLI and then STSb.",
)
SLICES = (
    "the score within pairs that have something in common, for each encoder; the best of a row is in bold if it is clearly "
    "better than every other.",
    "which kind of pair is hardest: within a slice gold scores may hardly vary, which lowers every correlation. Compare "
    "encoders along a row, not rows with each other.",
)
COST = (
    "what each encoder needs on this machine, measured when you press the button, each in a process of its own.",
    "what it needs elsewhere: another processor, more threads or longer sentences change every figure but the sizes. While "
    "something else is running, the times are too long.",
)
COST_FIGURE = (
    "the score on STSb test against the number of parameters. Filled marks are ours; hollow grey ones are the paper's encoders "
    "with their published scores, at the size computed for their backbones (see Anatomy), the unused pooler left out as in ours.",
    "that more parameters make the score: the backbones differ in much besides their size, and ALBERT saves parameters, not "
    "work.",
)
PADDING = (
    "the vector of a sentence alone compared with its vector in a batch beside a text of over a hundred word pieces, in float32. "
    "Padding fills the shorter one up; a sound encoder does not see it.",
    "anything about quality. Differences in the sixth decimal are rounding.",
)
ANATOMY = (
    "where the parameters of a backbone are. Change a size and see which part grows. ALBERT stores one layer's weights and runs "
    "them as often as BERT has layers, and it gives each word piece a short vector (E) that one matrix stretches to H.",
    "speed or quality: a shared layer takes as long as one of its own, and scores depend on the training too.",
)
OWN = (
    "A table with the columns sentence1, sentence2 and score (.csv, .tsv, .jsonl or .parquet, any scale of scores) is scored "
    "like a task. Beside each score stands how many of its pairs the encoder was trained on, as far as that is known: such pairs "
    "say how well it remembers. The table is read on this machine, sent nowhere else, and neither it nor its embeddings are "
    "kept for later."
)
