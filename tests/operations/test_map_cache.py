"""Kept maps and agreements: what is written comes back, and a damaged file is removed as if there had been none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.analysis.agreement import RankAgreement
from explorer.analysis.projection import MapSettings, project
from explorer.operations.map_cache import Agreement, read_agreement, read_map, write_agreement, write_map

VECTORS = np.random.default_rng(5).standard_normal((6, 4)).astype(np.float32)
SOUND = {"method": "pca", "neighbours": None, "explained": [0.5, 0.3], "zero": [], "notes": []}


def damage(path: Path, after: int) -> None:
    """Sets the bits of one byte of every entry in the zip's directory: its version, or whether it is encrypted."""
    content = bytearray(path.read_bytes())
    place = content.find(b"PK\x01\x02")
    while place >= 0:
        content[place + after] ^= 0x81
        place = content.find(b"PK\x01\x02", place + 1)
    path.write_bytes(content)


def test_a_map_comes_back(tmp_path: Path) -> None:
    made, path = project(VECTORS), tmp_path / "map.npz"
    write_map(path, made)
    found = read_map(path, MapSettings(), 6)
    assert found is not None and np.array_equal(found.points, made.points)
    assert (found.explained, found.method, found.zero) == (made.explained, made.method, ())
    assert read_map(tmp_path / "none.npz", MapSettings(), 6) is None


@pytest.mark.parametrize("after", [6, 8])
def test_a_damaged_directory_is_as_good_as_no_file(tmp_path: Path, after: int) -> None:
    map_file, agreement_file = tmp_path / "map.npz", tmp_path / "agreement.npz"
    write_map(map_file, project(VECTORS))
    write_agreement(agreement_file, Agreement(np.eye(2), np.zeros((2, 2)), RankAgreement(np.eye(2), 3, 3)))
    assert read_agreement(agreement_file, 2) is not None
    damage(map_file, after)
    damage(agreement_file, after)
    assert read_map(map_file, MapSettings(), 6) is None and not map_file.exists()
    assert read_agreement(agreement_file, 2) is None and not agreement_file.exists()


@pytest.mark.parametrize(
    "facts",
    [[1, 2], 5, None, {}, {**SOUND, "explained": [0.5]}, {**SOUND, "zero": 3}, {**SOUND, "method": "none"}],
)
def test_facts_of_another_kind_are_damage(tmp_path: Path, facts: Any) -> None:
    path = tmp_path / "map.npz"
    np.savez(path, points=project(VECTORS).points, facts=np.array(json.dumps(facts)))
    assert read_map(path, MapSettings(), 6) is None and not path.exists()
