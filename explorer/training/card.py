"""Renders an encoder's model card from its facts: figures and provenance, never a sentence of the training data."""

from __future__ import annotations

import json
from typing import Any

from explorer.data.paper import published_score

SENTENCE_LAYERS = {
    "cls": "the vector of [CLS]",
    "mean": "average pooling over the real tokens",
    "cnn": "the CNN of arXiv 2101.10642, figure 2 (five blocks of max pooling, convolution along the tokens and tanh; "
    "window 2, stride 2, ceil mode, masked; then the mean over what is left)",
}
CROSS_ENCODER = "cross-encoder"
# Graded pairs that figures may be of, as they are called in facts and shown.
SPLITS = {"stsb_dev": "STSb dev", "stsb_test": "STSb test", "dev": "dev", "test": "test"}
LICENCES = {
    "stsb/": "STS Benchmark pairs are under CC BY-SA 4.0 (parts vary).",
    "sick/": "SICK pairs are under CC BY-NC-SA 3.0.",
    "snli/": "SNLI pairs are under CC BY-SA 4.0.",
}


def model_card(name: str, facts: dict[str, Any]) -> str:
    """Returns README.md: front matter with the measured scores, then the card.

    Args:
        name: The encoder's name.
        facts: Content of explorer.json; it has a licence and a language only where somebody who may say so wrote them.
    """
    sections = [
        f"---\n{_front_matter(name, facts)}---",
        f"# {name}",
        _summary(facts),
        "## Architecture\n\n" + _architecture(facts),
        "## Use\n\n" + (_use_pairs(name) if _crossed(facts) else _use(name, facts["pooling"])),
        "## Data and training\n\n" + _training(facts),
        "## Figures\n\n" + _figures(facts),
        "## Limits\n\n" + _limits(facts),
    ]
    return "\n\n".join(sections) + "\n"


def _crossed(facts: dict[str, Any]) -> bool:
    return facts.get("kind") == CROSS_ENCODER


def _front_matter(name: str, facts: dict[str, Any]) -> str:
    task = "text-ranking" if _crossed(facts) else "sentence-similarity"
    last = "cross-encoder" if _crossed(facts) else "feature-extraction"
    lines = [
        *(f"{key}: {facts[fact]}" for key, fact in (("language", "language"), ("license", "licence")) if fact in facts),
        "library_name: sentence-transformers",
        f"pipeline_tag: {task}",
        f"tags: [sentence-transformers, {task}, {last}]",
        "model-index:",
        f"- name: {name}",
        "  results:",
    ]
    for split in ("dev", "test"):
        spearman = facts["scores"].get(f"stsb_{split}_spearman")
        if spearman is not None:
            lines += [
                "  - task: {type: semantic-similarity, name: Semantic Similarity}",
                f"    dataset: {{name: STS Benchmark {split}, type: stsb, split: {split}}}",
                "    metrics:",
                f"    - {{type: spearman_cosine, value: {spearman / 100:.4f}, name: Spearman of the cosine}}",
            ]
    if lines[-1] == "  results:":
        lines = lines[:-3]
    elif _crossed(facts):
        lines = [line.replace("spearman_cosine", "spearman").replace(" of the cosine", "") for line in lines]
    return "\n".join(lines) + "\n"


def _summary(facts: dict[str, Any]) -> str:
    if _crossed(facts):
        text = (
            f"A cross-encoder: {facts['backbone']} reads both sentences of a pair at once and gives one score, 0 to 1."
        )
    else:
        text = (
            f"A sentence encoder: {facts['backbone']}, then {SENTENCE_LAYERS[facts['pooling']]}. {_how_trained(facts)}"
        )
    return f"{text}\n\n{facts['backbone_origin']}".strip()


def _how_trained(facts: dict[str, Any]) -> str:
    settings = facts["hyperparameters"]
    if settings.get("epochs") == 0:
        return "Nothing was trained: it is the backbone as it came."
    if not settings.get("siamese", True):
        return "Its backbone was trained in the ordinary way, on pairs read at once."
    return f"Trained as a siamese network on {_PAIRS.get(settings.get('objective', 'sts'), 'sentence pairs')}."


_PAIRS = {
    "sts": "graded sentence pairs",
    "nli": "labelled sentence pairs",
    "nli-sts": "labelled sentence pairs, then on graded ones",
    "triplet": "triplets of sentences",
    "ranking": "pairs of sentences that belong together",
}


def _architecture(facts: dict[str, Any]) -> str:
    a = facts["architecture"]
    parts = a["parameters"]
    rows = {
        "Backbone": f"{facts['family']}: {a['layers']} layers, H {a['hidden_size']}, {a['heads']} heads, "
        f"feed-forward {a['intermediate_size']}, E {a['embedding_size']}, vocabulary {a['vocabulary']:,}",
        "Sentence layer": SENTENCE_LAYERS.get(facts["pooling"], ""),
        "Sentence embedding": f"{a['hidden_size']} numbers",
        "Longest input": f"{a['max_length']} word pieces",
        "Parameters": f"{sum(parts.values()):,} (embeddings {parts['embeddings']:,}, layers {parts['layers']:,}, "
        f"sentence layer {parts['sentence_layer']:,}); the transformer's own pooler, which nothing reads, is left out",
        "Stored as": "float16 safetensors; read them as float32 (float16 arithmetic is very slow on a CPU)",
    }
    if _crossed(facts):
        del rows["Sentence layer"], rows["Sentence embedding"]
        rows["Parameters"] = (
            f"{sum(parts.values()):,} (embeddings {parts['embeddings']:,}, layers {parts['layers']:,}, "
            f"pooler and classifier {parts['sentence_layer']:,})"
        )
        rows["Stored as"] = "float32 safetensors"
    return "| | |\n|---|---|\n" + "\n".join(f"| {key} | {value} |" for key, value in rows.items())


def _use_pairs(name: str) -> str:
    return (
        "```python\nfrom sentence_transformers import CrossEncoder\n\n"
        f'model = CrossEncoder("{name}")\n'
        'scores = model.predict([("A first sentence.", "A second one.")])\n```'
    )


def _use(name: str, pooling: str) -> str:
    flag = ", trust_remote_code=True" if pooling == "cnn" else ""
    plain = (
        "```python\nimport torch\nfrom sentence_transformers import SentenceTransformer\n\n"
        f'encoder = SentenceTransformer("{name}", model_kwargs={{"dtype": torch.float32}}{flag})\n'
        'vectors = encoder.encode(["A first sentence.", "A second one."])\n```'
    )
    own = (
        "With the Sentence Encoder Explorer's repository at hand (no code of this folder is run):\n\n"
        "```python\nfrom pathlib import Path\nfrom explorer.encoders.load import load_encoder\n\n"
        f'encoder = load_encoder(Path("checkpoints/{name}"))\n```'
    )
    why = (
        "\n\nThe flag is needed because the sentence layer is not part of sentence-transformers: its code is cnn_pooling.py "
        "in this folder; read it first, since the flag lets it run."
        if pooling == "cnn"
        else ""
    )
    return f"Anywhere, with sentence-transformers alone:\n\n{plain}{why}\n\n{own}"


def _training(facts: dict[str, Any]) -> str:
    tables = facts["training_data"]
    data = "\n".join(
        f"- {table['table']}: {table['n']:,} {table.get('rows', 'pairs')}, {table['use']} (sha256 {table['sha256'][:16]}...)"
        for table in tables
    )
    licences = [text for start, text in LICENCES.items() if any(t["table"].startswith(start) for t in tables)]
    kept = f"The checkpoint with the best dev Spearman was kept (step {facts['best_step']})"
    if facts["hyperparameters"].get("epochs") == 0:
        kept = "No step was made"
    text = (
        f"{data}\n\n{' '.join([*licences, 'No sentence of these tables is in this folder.'])}\n\n"
        f"Objective: {facts['objective']}. {kept}; test pairs, if any, were scored once, after that. "
        f"Seed: {facts['hyperparameters'].get('seed')}.\n\n"
        f"Command:\n\n```\n{facts['command']}\n```\n\nAll settings:\n\n"
        f"```json\n{json.dumps(facts['hyperparameters'], indent=2)}\n```"
    )
    if facts.get("nli_head"):
        text += (
            f"\n\nnli_head.safetensors holds the softmax layer of the labels {', '.join(facts['nli_head']['labels'])} on "
            f"{facts['nli_head']['input']}. {facts['nli_head']['note']}".rstrip()
        )
    if facts.get("distillation"):
        text += (
            "\n\nThe backbone was made by `python -m explorer distill` from text without labels:\n\n"
            f"```json\n{json.dumps(facts['distillation'], indent=2)}\n```"
        )
    return text


def _figures(facts: dict[str, Any]) -> str:
    rows = []
    for split, label in SPLITS.items():
        if f"{split}_spearman" in facts["scores"]:
            values = (facts["scores"][f"{split}_{kind}"] for kind in ("spearman", "pearson"))
            shown = " | ".join("undefined" if value is None else f"{value:.2f}" for value in values)
            rows.append(f"| {label} | {facts['n'][split]:,} | {shown} |")
    table = "| pairs | n | Spearman x 100 | Pearson x 100 |\n|---|---:|---:|---:|\n" + "\n".join(rows)
    what = "score" if _crossed(facts) else "cosine"
    text = f"{table}\n\nOf the {what}, over all pairs, float32, on the weights as stored here; one seed."
    settings = facts["hyperparameters"]
    plain = settings.get("objective", "sts") == "sts" and settings.get("siamese", True) and settings.get("epochs") != 0
    row = published_score(facts["family"], facts["pooling"]) if plain and "stsb_dev" in facts["n"] else None
    if row:
        name = f"{'CNN-' if facts['pooling'] == 'cnn' else ''}S{row.backbone.upper()} on {row.backbone}-base"
        text += (
            f" The paper's row of the same kind, {name} trained on STSb, has {row.spearman:.2f} on test: another backbone with "
            "another start, so the two are not one experiment."
        )
    return text


def _limits(facts: dict[str, Any]) -> str:
    english = "English only. " if facts.get("language") == "en" else ""
    if _crossed(facts):
        return (
            f"{english}It gives no embeddings: every pair is read anew, so many sentences cannot be searched with it. "
            f"Word pieces past {facts['architecture']['max_length']} of a pair are not read."
        )
    return (
        f"{english}Raw cosines of different encoders are not comparable; reference_cosines.tsv in this folder holds "
        "quantiles of this encoder's cosines, for instance over random pairs. Negation, who does what to "
        "whom, and numbers change a cosine less than they change a meaning. Word pieces past "
        f"{facts['architecture']['max_length']} are not read. Many STS12-16 test pairs also stand in the STSb training "
        "pairs, so scores on those tasks are partly scores on training data."
    )
