"""Renders an encoder's model card from its facts: figures and provenance, never a sentence of the training data."""

from __future__ import annotations

import json
from typing import Any

SENTENCE_LAYERS = {
    "cls": "the vector of [CLS]",
    "mean": "average pooling over the real tokens",
    "cnn": "the CNN of arXiv 2101.10642, figure 2 (five blocks of max pooling, convolution along the tokens and tanh; "
    "window 2, stride 2, ceil mode, masked; then the mean over what is left)",
}
PAPER_ROWS = {
    ("bert", "mean"): ("SBERT on bert-base", 84.66),
    ("bert", "cnn"): ("CNN-SBERT on bert-base", 85.72),
    ("albert", "mean"): ("SALBERT on albert-base", 74.33),
    ("albert", "cnn"): ("CNN-SALBERT on albert-base", 82.30),
}


def model_card(name: str, facts: dict[str, Any]) -> str:
    """Returns README.md: front matter with the measured scores, then the card.

    Args:
        name: The encoder's name.
        facts: Content of explorer.json.
    """
    sections = [
        f"---\n{_front_matter(name, facts)}---",
        f"# {name}",
        _summary(facts),
        "## Architecture\n\n" + _architecture(facts),
        "## Use\n\n" + _use(name, facts["pooling"]),
        "## Data and training\n\n" + _training(facts),
        "## Figures\n\n" + _figures(facts),
        "## Limits\n\n" + _limits(facts),
    ]
    return "\n\n".join(sections) + "\n"


def _front_matter(name: str, facts: dict[str, Any]) -> str:
    lines = [
        "language: en",
        "license: apache-2.0",
        "library_name: sentence-transformers",
        "pipeline_tag: sentence-similarity",
        "tags: [sentence-transformers, sentence-similarity, feature-extraction]",
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
    return "\n".join(lines) + "\n"


def _summary(facts: dict[str, Any]) -> str:
    return (
        f"A sentence encoder: {facts['backbone']}, then {SENTENCE_LAYERS[facts['pooling']]}. Trained as a siamese network "
        f"on graded sentence pairs.\n\n{facts['backbone_origin']}".strip()
    )


def _architecture(facts: dict[str, Any]) -> str:
    a = facts["architecture"]
    parts = a["parameters"]
    rows = {
        "Backbone": f"{facts['family']}: {a['layers']} layers, H {a['hidden_size']}, {a['heads']} heads, "
        f"feed-forward {a['intermediate_size']}, E {a['embedding_size']}, vocabulary {a['vocabulary']:,}",
        "Sentence layer": SENTENCE_LAYERS[facts["pooling"]],
        "Sentence embedding": f"{a['hidden_size']} numbers",
        "Longest input": f"{a['max_length']} word pieces",
        "Parameters": f"{sum(parts.values()):,} (embeddings {parts['embeddings']:,}, layers {parts['layers']:,}, "
        f"sentence layer {parts['sentence_layer']:,}); the transformer's own pooler, which nothing reads, is left out",
        "Stored as": "float16 safetensors; read them as float32 (float16 arithmetic is very slow on a CPU)",
    }
    return "| | |\n|---|---|\n" + "\n".join(f"| {key} | {value} |" for key, value in rows.items())


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
    data = "\n".join(
        f"- {table['table']}: {table['n']:,} pairs, {table['use']} (sha256 {table['sha256'][:16]}...)"
        for table in facts["training_data"]
    )
    text = (
        f"{data}\n\nSTS Benchmark pairs are under CC BY-SA 4.0 (parts vary). No sentence of them is in this folder.\n\n"
        f"Objective: {facts['objective']}. The checkpoint with the best dev Spearman was kept (step {facts['best_step']}); "
        f"the test pairs were scored once, after that.\n\nCommand:\n\n```\n{facts['command']}\n```\n\nAll settings:\n\n"
        f"```json\n{json.dumps(facts['hyperparameters'], indent=2)}\n```"
    )
    if facts.get("distillation"):
        text += (
            "\n\nThe backbone was made by `python -m explorer distill` from text without labels:\n\n"
            f"```json\n{json.dumps(facts['distillation'], indent=2)}\n```"
        )
    return text


def _figures(facts: dict[str, Any]) -> str:
    rows = []
    for split in ("dev", "test"):
        if f"stsb_{split}_spearman" in facts["scores"]:
            spearman, pearson = (facts["scores"][f"stsb_{split}_{kind}"] for kind in ("spearman", "pearson"))
            rows.append(f"| STSb {split} | {facts['n'][f'stsb_{split}']:,} | {spearman:.2f} | {pearson:.2f} |")
    table = "| pairs | n | Spearman x 100 | Pearson x 100 |\n|---|---:|---:|---:|\n" + "\n".join(rows)
    text = f"{table}\n\nOf the cosine, over all pairs, float32, on the weights as stored here; one seed."
    row = PAPER_ROWS.get((facts["family"], facts["pooling"]))
    if row:
        text += (
            f" The paper's row of the same kind, {row[0]} trained on STSb, has {row[1]:.2f} on test: another backbone with "
            "another start, so the two are not one experiment."
        )
    return text


def _limits(facts: dict[str, Any]) -> str:
    return (
        "English only. Raw cosines of different encoders are not comparable; reference_cosines.tsv in this folder holds "
        "the quantiles of this encoder's cosines over STSb dev pairs and over random pairs. Negation, who does what to "
        "whom, and numbers change a cosine less than they change a meaning. Word pieces past "
        f"{facts['architecture']['max_length']} are not read. Many STS12-16 test pairs also stand in the STSb training "
        "pairs, so scores on those tasks are partly scores on training data."
    )
