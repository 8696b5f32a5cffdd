"""The explaining words of the tab Train: what is shown, what it means, what one may not conclude from it. Text only."""

from __future__ import annotations

from explorer.jobs.events import State
from explorer.training.config import Objective
from explorer.training.presets import CLASSROOM, preset
from explorer.ui.html import Html, tag

LEAD = (
    "Train an encoder of your own on this machine. A run is a process of its own: close the page, or restart the explorer, and "
    "it goes on; come back and it is here. When it has finished, its encoder is in every tab, a cross-encoder in Evaluate."
)
_MORE = (
    "Fine-tuning starts from a backbone that already knows language, and changes it a little, batch by batch, so that a number "
    "called the loss becomes smaller. A step is one batch. An epoch is one pass over all training pairs.",
    "The loss says how far the encoder is from the answers it is shown, on the batch it has just seen. Going down means that it "
    "fits the training pairs, not that it is good at new ones.",
    "That is why some pairs, the dev pairs, are kept out of training. Now and then they are scored, and Spearman × 100 says how "
    "far the cosines put them in the same order as their grades: 100 is the same order, 0 is no relation. The best moment by "
    "dev is what is saved, not the last one.",
    "The learning rate is the size of a step. It rises during the warm-up, since the first steps are the least certain, and then "
    "falls to zero.",
    "A seed decides everything that is left to chance: the order of the pairs, dropout, and the first weights of a new layer. "
    "The same seed on the same processor gives the same run, on a GPU almost; another seed shows how much chance matters.",
)
CLASSROOM_TITLE = "The one-minute classroom run"
CLASSROOM_WATCH = "Watch the loss fall and the dev score climb."
CLASSROOM_NOTE = "Longer on a busy machine. Nothing leaves it."
CURVES = (
    "the loss of every step (of a long run, means of equally many) with its running mean; "
    "Spearman × 100 on the dev pairs each time they were scored, the best one "
    "ringed; the learning rate. All three against the step.",
    "that a lower loss makes a better encoder: compare dev scores, not losses, and never losses of two objectives, whose units "
    "differ. The dev score chose the moment that is saved, so it flatters a little; a fair figure comes from pairs that chose "
    "nothing: the tab Evaluate, split Test.",
)
COMPARED = (
    "the same three curves for several runs, each in a colour and a dash of its own. The losses are running means.",
    "which setting is better from one run each: another seed moves a score too, on few dev pairs by more than a point. Runs "
    "scored on different dev pairs cannot be compared at all.",
)
SEEDS = (
    "runs that differ in nothing but the seed: the dev scores of what they saved, the mean, "
    "and the standard deviation (how far a score "
    "typically lies from the mean).",
    "much about another setting whose mean differs by less than the spread. Three seeds show that chance matters, not exactly "
    "how much.",
)
NOT_COMPARED = "Choose two runs or more; their curves are drawn in one picture."
NO_SEEDS = "No two runs differ in the seed alone. In the form, “Seeds” starts several such runs at once."
NO_RUNS = "There is no run yet. Press the button above: the curves appear here."
NOT_CHOSEN = "Choose a run in the list to see its curves."
NOT_CHECKED = "“Check first” reads the data and tries a few steps, before anything starts."
OBJECTIVES = {
    Objective.STS: (
        "Graded pairs",
        "The cosine of two sentences should equal the score that the pair was given, divided by the highest: the paper's "
        "training on STSb. Needs pairs with scores.",
    ),
    Objective.NLI: (
        "Labels of pairs (NLI)",
        "A small extra layer guesses from both vectors and their difference whether the first sentence entails the second, "
        "contradicts it or neither. Needs pairs with labels.",
    ),
    Objective.TRIPLET: (
        "Triplets",
        "A sentence should lie closer to its positive than to its negative, by a margin. Needs triplets, or pairs with labels, "
        "which are made into triplets.",
    ),
    Objective.RANKING: (
        "Ranking in the batch",
        "Each sentence should find its own partner among all partners in the batch; larger batches are harder, and often better. "
        "Needs triplets, or pairs with labels.",
    ),
    Objective.NLI_STS: (
        "Labels, then grades",
        "Two stages in one run: first labels of pairs, then graded pairs, as in the paper's lower rows. Needs both tables.",
    ),
    Objective.CROSS_ENCODER: (
        "Cross-encoder (reference)",
        "Reads both sentences at once and gives their score. Usually better at pairs, but it makes no sentence vectors, so "
        "nothing can be stored or searched: the paper's reference in table 2.",
    ),
}
LAYERS = [("[CLS] vector", "cls"), ("Average", "mean"), ("CNN", "cnn")]
LAYER_INFO = (
    "What makes one vector of the word pieces' vectors. Average takes their mean; the CNN is new and starts at random."
)
STATES = {
    State.QUEUED: ("Queued", "It waits until the run before it on the same device has ended."),
    State.STARTING: ("Starting", "It loads the backbone and the tables, and scores dev before the first step."),
    State.RUNNING: ("Running", "It is about to make its first step."),
    State.SAVING: ("Saving", "The best checkpoint is measured again and written as an encoder."),
    State.STOPPING: ("Stopping", "It saves a checkpoint and ends; after eight seconds it is ended."),
    State.FINISHED: ("Finished", "Its encoder is in every tab."),
    State.FAILED: ("Failed", ""),
    State.STOPPED: ("Stopped", ""),
    State.LOST: ("Lost", ""),
}
GOES_ON = "It can go on from its last checkpoint."
SAME_AGAIN = (
    "Resumed, it would most likely come to the same; “Run again” puts its settings into the form, to change them."
)
BEGINS_ANEW = "It was stopped before its first checkpoint; resumed, it begins anew."
DATA_HELP = (
    "Graded pairs have the columns sentence1, sentence2 and score; labelled pairs sentence1, sentence2 and label (entailment, "
    "neutral or contradiction); triplets anchor, positive and negative. Files are .csv, .tsv, .jsonl or .parquet."
)
# Label and a short explanation of each setting.
SETTINGS = {
    "epochs": ("Epochs", "Passes over the training table."),
    "nli_epochs": ("Epochs of stage 1", "Labels, then grades: passes over the labelled pairs."),
    "max_steps": ("Most steps", "Per stage; 0 goes by epochs."),
    "batch_size": ("Batch size", "Rows in one step, on each GPU."),
    "max_length": ("Longest input", "Word pieces; the rest is cut off."),
    "learning_rate": ("Learning rate", "Of the backbone, at its peak."),
    "head_learning_rate": ("Learning rate, new layers", "Of the CNN and the label layer."),
    "warmup_ratio": ("Warm-up", "Share of all steps, 0 to 1."),
    "weight_decay": ("Weight decay", "Pulls weights towards 0."),
    "score_scale": ("Highest gold score", "5 for 0 to 5, 1 for 0 to 1."),
    "evaluations_per_epoch": ("Dev scorings an epoch", "Each also writes a checkpoint."),
    "patience": ("Patience", "Dev scorings without a better one before it says so; 0: never."),
    "seed": ("Seed", "Decides everything left to chance."),
    "device": ("Device", "auto, cpu, mps, cuda:0 …"),
    "siamese": ("Siamese", "Each sentence is read alone; off: both at once, as in the paper's plain fine-tuning."),
    "stop_on_nan": ("Stop if the loss is no number", "It cannot recover from that."),
    "stop_on_collapse": ("Stop on collapse", "When all dev pairs get the same cosine."),
    "stop_on_plateau": ("Stop when patience is used up", "Keeps the best so far."),
}
REFUSED_LEAD = "Training is switched off on this page."


def intro() -> Html:
    """Returns what the tab is about."""
    more = tag("details", tag("summary", "What am I looking at?"), *(tag("p", text) for text in _MORE))
    return tag("div", tag("p", LEAD, cls="small lead"), more)


def classroom() -> Html:
    """Returns the words of the classroom card."""
    made = preset(CLASSROOM)
    sentence = f"{made.sentence if made else ''} {CLASSROOM_WATCH}"
    return tag(
        "div",
        tag("h2", CLASSROOM_TITLE),
        tag("p", sentence, cls="says"),
        tag("p", CLASSROOM_NOTE, cls="small"),
        cls="invitation",
    )


def objective(value: str) -> Html:
    """Returns the plain sentence on an objective."""
    known = {item.value: words for item, words in OBJECTIVES.items()}
    return tag("p", known[value][1] if value in known else "", cls="small explains")


def refused(reason: str) -> Html:
    """Returns the page's words where nothing may be trained."""
    return tag("div", tag("h2", REFUSED_LEAD), tag("p", reason), cls="refused", role="note")
