"""The file with the linked maps: whole, and nothing in it can end its script."""

from __future__ import annotations

import json
import re

from explorer.figures.map import document, palette, script

HOSTILE = "</script><script>window.hacked=1</script><!-- <b>"


def test_document_carries_the_data_and_lets_nothing_out_of_it() -> None:
    payload = {"title": HOSTILE, "notes": [HOSTILE], "sentences": [HOSTILE, "café"]}
    written = document(payload, "Made now.")
    assert written.count("<script") == 3 and written.count("</script>") == 3
    data = re.search(r'<script id="payload" type="application/json">(.*?)</script>', written, flags=re.DOTALL)
    assert data and json.loads(data[1]) == payload
    assert "<b>" not in written.replace(data[1], "")


def test_document_asks_no_other_host() -> None:
    written = document({"title": "maps", "notes": [], "sentences": []}, "Made now.")
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|url\((?!\"data:)", written)


def test_palette_has_as_many_categories_in_either_mode() -> None:
    colours = palette()
    assert len(colours["categories"]["light"]) == len(colours["categories"]["dark"]) == 8
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for mode in colours["ramp"].values() for colour in mode)


def test_script_is_every_part_once() -> None:
    assert [script().count(f"class {name} ") for name in ("Plot", "Lists", "Atlas")] == [1, 1, 1]
