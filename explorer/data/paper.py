"""The published figures of Choi, Kim, Joe and Gwon, arXiv 2101.10642 (and ALBERT's, arXiv 1909.11942). Reads, never judges.

Table 1 scores encoders on the STSb test set; scores are Spearman and Pearson x 100, measured on bert-base and albert-base.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import pandas as pd

from explorer.errors import DataError
from explorer.paths import ASSETS

Table = Literal["table1", "table2", "table3", "albert_sizes", "albert_ablations"]
FOLDER = ASSETS / "paper"
_SIAMESE = {"mean": "siamese-mean", "cnn": "siamese-cnn"}


@dataclass(frozen=True)
class PublishedScore:
    """One row of the paper's table 1.

    Args:
        backbone: "bert" or "albert", the paper's base sizes.
        embedding: The paper's sentence layer: "siamese-mean" or "siamese-cnn" here.
        training: "none", "stsb", "nli" or "nli+stsb".
        spearman: STSb test, x 100.
        pearson: STSb test, x 100.
    """

    backbone: str
    embedding: str
    training: str
    spearman: float
    pearson: float


def read_table(name: Table, folder: Path = FOLDER) -> pd.DataFrame:
    """Returns one published table, in the paper's order.

    Raises:
        DataError: The file is missing.
    """
    path = folder / f"{name}.tsv"
    if not path.is_file():
        raise DataError(f"The paper's figures {name}.tsv are missing from {folder.name}/; restore the file.")
    return pd.read_csv(path, sep="\t")


def published_score(family: str, pooling: str, training: str = "stsb") -> PublishedScore | None:
    """Returns the paper's figures for a siamese encoder of the same kind; None where it has none.

    Args:
        family: An encoder's backbone family, "bert" or "albert".
        pooling: An encoder's sentence layer, "mean" or "cnn".
        training: The data the paper's encoder was trained on.
    """
    return _siamese_rows().get((family, _SIAMESE.get(pooling, ""), training))


@cache
def _siamese_rows() -> dict[tuple[str, str, str], PublishedScore]:
    rows = (
        PublishedScore(
            str(row.backbone), str(row.embedding), str(row.training), float(row.spearman), float(row.pearson)
        )
        for row in read_table("table1").itertuples()
    )
    return {(row.backbone, row.embedding, row.training): row for row in rows}
