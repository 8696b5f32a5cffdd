"""The model card: what it must say, what it must never hold, and that its code runs."""

from __future__ import annotations

from typing import Any

import pytest

from explorer.training.card import model_card

FACTS: dict[str, Any] = {
    "backbone": "Tiny (BERT architecture)",
    "backbone_origin": "Made up for this test; Apache-2.0.",
    "family": "bert",
    "pooling": "cnn",
    "architecture": {
        "layers": 2,
        "hidden_size": 16,
        "embedding_size": 16,
        "heads": 2,
        "intermediate_size": 32,
        "vocabulary": 30522,
        "parameters": {"embeddings": 1000, "layers": 2000, "sentence_layer": 84481},
        "max_length": 128,
    },
    "training_data": [{"table": "stsb/train.tsv", "n": 5749, "sha256": "ab" * 32, "use": "train"}],
    "objective": "mean squared error of the cosine",
    "hyperparameters": {"learning_rate": 2e-5, "seed": 42},
    "best_step": 360,
    "command": "python -m explorer train --seed 42",
    "distillation": None,
    "scores": {
        "stsb_dev_spearman": 89.214,
        "stsb_dev_pearson": 88.5,
        "stsb_test_spearman": 84.906,
        "stsb_test_pearson": 84.1,
    },
    "n": {"stsb_dev": 1500, "stsb_test": 1379},
}


@pytest.mark.parametrize(
    "fact",
    [
        "# bert-cnn",
        "Tiny (BERT architecture)",
        "Made up for this test; Apache-2.0.",
        "87,481 (embeddings 1,000, layers 2,000, sentence layer 84,481)",
        "stsb/train.tsv: 5,749 pairs",
        "CC BY-SA 4.0",
        '"seed": 42',
        "python -m explorer train --seed 42",
        "| STSb dev | 1,500 | 89.21 | 88.50 |",
        "| STSb test | 1,379 | 84.91 | 84.10 |",
        "bert-base, trained on STSb, has 85.72|bert-base trained on STSb, has 85.72",
        "128 are not read",
        "trust_remote_code=True",
    ],
)
def test_model_card_says(fact: str) -> None:
    card = model_card("bert-cnn", FACTS)
    assert any(form in card for form in fact.split("|")) or fact in card


def test_model_card_opens_with_front_matter() -> None:
    lines = model_card("bert-cnn", FACTS).splitlines()
    assert lines[0] == "---"
    front = lines[1 : lines.index("---", 1)]
    assert any("value: 0.8491" in line for line in front)


def test_model_card_names_a_licence_and_a_language_only_where_the_facts_do() -> None:
    card = model_card("bert-cnn", FACTS)
    assert "license:" not in card and "language:" not in card and "English only" not in card
    card = model_card("bert-cnn", FACTS | {"licence": "apache-2.0", "language": "en"})
    assert "\nlanguage: en\nlicense: apache-2.0\n" in card and "English only. Raw cosines" in card


def test_model_card_of_average_pooling_needs_no_flag() -> None:
    assert "trust_remote_code" not in model_card("bert-mean", FACTS | {"pooling": "mean"})


def test_model_card_says_where_a_distilled_backbone_comes_from() -> None:
    distilled = {"distillation": {"teacher": "backbones/tiny", "text": ["a.txt"]}}
    assert '"teacher": "backbones/tiny"' in model_card("albert-cnn", FACTS | distilled)
    assert "distill" not in model_card("bert-cnn", FACTS)


def test_model_card_shows_only_what_was_measured() -> None:
    card = model_card("bert-cnn", FACTS | {"scores": {"stsb_dev_spearman": 80.0, "stsb_dev_pearson": 81.0}})
    assert "STSb test" not in card


def test_model_card_code_is_python() -> None:
    card = model_card("bert-cnn", FACTS)
    blocks = [block.split("```")[0] for block in card.split("```python\n")[1:]]
    assert len(blocks) == 2
    for block in blocks:
        compile(block, "card", "exec")
