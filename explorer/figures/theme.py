"""Every colour of the project: the page's, the figures' and each encoder's. Plain values; draws nothing.

An encoder looks the same everywhere: its hue says the backbone, its fill says the sentence layer (mean plain, CNN strong and
hatched, others dotted). Colour never stands alone: the name is always beside it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Protocol

SANS = (
    'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "Liberation Sans", Arial, sans-serif'
)
MONO = 'ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace'


@dataclass(frozen=True)
class Palette:
    """The colours of one mode, as #rrggbb. Text colours reach 4.5:1 on paper, surface and sunken; edges reach 3:1."""

    paper: str
    surface: str
    sunken: str
    line: str
    edge: str
    ink: str
    muted: str
    action: str
    action_hover: str
    action_ink: str
    focus: str
    alert: str
    alert_paper: str
    alert_line: str


LIGHT = Palette(
    paper="#f8f7f4",
    surface="#ffffff",
    sunken="#f1efea",
    line="#e1ded7",
    edge="#87837a",
    ink="#1f2328",
    muted="#595e66",
    action="#262b31",
    action_hover="#40474f",
    action_ink="#ffffff",
    focus="#6a45c9",
    alert="#97231c",
    alert_paper="#fcefec",
    alert_line="#e3b1aa",
)
DARK = Palette(
    paper="#14171b",
    surface="#1c2025",
    sunken="#23282e",
    line="#30363d",
    edge="#737a83",
    ink="#e9e7e2",
    muted="#a7adb5",
    action="#e9e7e2",
    action_hover="#ffffff",
    action_ink="#1a1d21",
    focus="#b39dff",
    alert="#ffb3a8",
    alert_paper="#38201e",
    alert_line="#74403a",
)


@dataclass(frozen=True)
class Hue:
    """One colour family.

    Args:
        plain: For marks in both modes: 3:1 on every background of either.
        strong: The deep tone of light mode, also for text.
        strong_dark: The bright tone of dark mode, also for text.
    """

    name: str
    plain: str
    strong: str
    strong_dark: str


BLUE = Hue("blue", "#4f86cd", "#174f96", "#9cc4fa")
ORANGE = Hue("orange", "#c4701c", "#8f4300", "#f6b26b")
RUN_HUES = (
    Hue("teal", "#1f9184", "#0b5d55", "#71d1c4"),
    Hue("purple", "#9169d3", "#5b32a3", "#c9adf9"),
    Hue("rose", "#cb5a8e", "#95245c", "#f5a3c7"),
    Hue("olive", "#7f8a21", "#515a07", "#c6d066"),
    Hue("grey", "#7b838d", "#464d56", "#bcc3cb"),
)
_FAMILY_HUES = {"bert": BLUE, "albert": ORANGE}
_PATTERNS = {"mean": "", "cnn": "/"}


@dataclass(frozen=True)
class Identity:
    """How one encoder looks.

    Args:
        hue: Its colour family.
        pattern: Plotly's word for its fill: "" plain, "/" hatched, "." dotted.
    """

    hue: Hue
    pattern: str

    @property
    def css_class(self) -> str:
        """Class that sets --plain, --strong and the fill of bars and swatches."""
        fill = {"": "plain", "/": "hatched", ".": "dotted"}[self.pattern]
        return f"hue-{self.hue.name} fill-{fill}"


class Named(Protocol):
    """What an identity is made from; encoder metadata fits."""

    @property
    def name(self) -> str:
        """The encoder's own name."""

    @property
    def family(self) -> str:
        """Its backbone's model type."""

    @property
    def pooling(self) -> str:
        """Its sentence layer."""


def identities(encoders: Iterable[Named]) -> dict[str, Identity]:
    """Returns each encoder's looks by name.

    The encoders named after what they are (bert-cnn) have the hue of their backbone; all others, own runs among them, take
    the further hues in the order given and start again when those are used up.
    """
    looks, runs = {}, 0
    for encoder in encoders:
        hue = _FAMILY_HUES.get(encoder.family)
        if hue is None or encoder.name != f"{encoder.family}-{encoder.pooling}":
            hue = RUN_HUES[runs % len(RUN_HUES)]
            runs += 1
        looks[encoder.name] = Identity(hue, _PATTERNS.get(encoder.pooling, "."))
    return looks


# Signed values, around zero: purple below, green above; neither is an encoder's hue.
DIVERGING = ((0.0, "#6b3fa0"), (0.25, "#ab8fd0"), (0.5, "#efede8"), (0.75, "#7dbb8a"), (1.0, "#1b6e3a"))
# Unsigned values, from nothing to much.
SEQUENTIAL = ((0.0, "#f1efea"), (0.35, "#a9c5c2"), (0.7, "#4b8d8f"), (1.0, "#14494f"))

# Figures are drawn once for both modes: no background of their own; the style sheet sets the colour of their text.
TEMPLATE: dict[str, Any] = {
    "layout": {
        "font": {"family": SANS, "size": 13, "color": "#757c85"},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "colorway": [hue.plain for hue in (BLUE, ORANGE, *RUN_HUES)],
        "margin": {"l": 56, "r": 16, "t": 32, "b": 48},
        "xaxis": {"gridcolor": "rgba(128,128,128,0.22)", "zerolinecolor": "rgba(128,128,128,0.5)", "automargin": True},
        "yaxis": {"gridcolor": "rgba(128,128,128,0.22)", "zerolinecolor": "rgba(128,128,128,0.5)", "automargin": True},
        "hoverlabel": {"font": {"family": SANS}},
    }
}


def css_variables() -> str:
    """Returns the style rules that hand all these colours to the style sheet, for light and for dark mode."""
    hues = (BLUE, ORANGE, *RUN_HUES)
    blocks = [
        _block(":root", {**_variables(LIGHT), "sans": SANS, "mono": MONO}),
        _block(":root.dark, :root .dark", _variables(DARK)),
    ]
    for hue in hues:
        blocks.append(_block(f".hue-{hue.name}", {"plain": hue.plain, "strong": hue.strong}))
        blocks.append(_block(f".dark .hue-{hue.name}", {"strong": hue.strong_dark}))
    return "\n".join(blocks)


def _variables(palette: Palette) -> dict[str, str]:
    return {field.name.replace("_", "-"): getattr(palette, field.name) for field in fields(palette)}


def _block(selector: str, variables: dict[str, str]) -> str:
    return f"{selector} {{ {' '.join(f'--{name}: {value};' for name, value in variables.items())} }}"
