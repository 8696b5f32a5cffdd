"""The sizes of the encoders that are here, for the anatomy; reads config files, no weights."""

from __future__ import annotations

from collections.abc import Sequence

from explorer.analysis.anatomy import CNN_PARAMETERS, PRESETS, Shape, shape_of
from explorer.encoders.folder import EncoderInfo, read_json, read_modules
from explorer.errors import EncoderError, SettingError


def shapes(infos: Sequence[EncoderInfo] = ()) -> dict[str, Shape]:
    """Returns the published backbones, then our encoders, the transformer's pooler left out of ours.

    Encoders of another architecture, or whose files changed meanwhile, are left out.
    """
    found = dict(PRESETS)
    for info in infos:
        try:
            backbone = read_modules(info.folder)[0][1]
            config = read_json(info.folder / backbone / "config.json")
            layer = CNN_PARAMETERS if info.pooling == "cnn" else 0
            found[info.name] = shape_of(config, sentence_layer=layer)
        except (EncoderError, SettingError, KeyError, TypeError, ValueError):
            continue
    return found
