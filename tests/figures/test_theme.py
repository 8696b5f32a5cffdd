"""Colours can be read in both modes, and an encoder's looks follow from its name, family and pooling."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from explorer.figures.theme import BLUE, DARK, LIGHT, ORANGE, RUN_HUES, Palette, css_variables, identities


@dataclass
class Stub:
    name: str
    family: str
    pooling: str


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_of_black_on_white_is_twenty_one() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize(("palette", "dark"), [(LIGHT, False), (DARK, True)])
def test_palette_text_reaches_four_and_a_half_to_one_and_marks_three(palette: Palette, dark: bool) -> None:
    for background in (palette.paper, palette.surface, palette.sunken):
        for text in (palette.ink, palette.muted, palette.alert, palette.focus):
            assert contrast(text, background) >= 4.5
        assert contrast(palette.edge, background) >= 3
        for hue in (BLUE, ORANGE, *RUN_HUES):
            assert contrast(hue.strong_dark if dark else hue.strong, background) >= 4.5
            assert contrast(hue.plain, background) >= 3
    assert contrast(palette.alert, palette.alert_paper) >= 4.5
    assert min(contrast(palette.action_ink, fill) for fill in (palette.action, palette.action_hover)) >= 4.5


def test_identities_give_the_hue_to_the_backbone_and_the_fill_to_the_pooling() -> None:
    looks = identities(
        [Stub(f"{family}-{pool}", family, pool) for family in ("bert", "albert") for pool in ("mean", "cnn")]
    )
    assert [looks[name].hue for name in ("bert-mean", "bert-cnn", "albert-mean")] == [BLUE, BLUE, ORANGE]
    assert looks["bert-mean"].pattern == looks["albert-mean"].pattern == ""
    assert looks["bert-cnn"].css_class == "hue-blue fill-hatched"


def test_identities_give_own_runs_the_next_hues_in_order() -> None:
    looks = identities(
        [Stub("mine", "bert", "cls"), Stub("bert-mean", "bert", "mean"), Stub("other", "roberta", "mean")]
    )
    assert [looks["mine"].hue, looks["other"].hue] == list(RUN_HUES[:2])
    assert looks["bert-mean"].hue is BLUE
    assert looks["mine"].css_class.endswith("fill-dotted")


def test_css_variables_hold_every_colour_of_both_modes() -> None:
    style = css_variables()
    assert f"--paper: {LIGHT.paper};" in style
    assert f"--alert-paper: {DARK.alert_paper};" in style
    assert f".dark .hue-orange {{ --strong: {ORANGE.strong_dark}; }}" in style
