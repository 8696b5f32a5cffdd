"""The exception tree: one base, four kinds, and the drawing at the top of errors.py."""

from __future__ import annotations

import pytest

from explorer import errors
from explorer.errors import DataError, EncoderError, ExplorerError, SettingError, TrainingError


@pytest.mark.parametrize("kind", [DataError, EncoderError, TrainingError, SettingError])
def test_every_kind_is_an_explorer_error(kind: type[ExplorerError]) -> None:
    assert issubclass(kind, ExplorerError)
    assert str(kind("The value 7 is too large; give 5 or less.")) == "The value 7 is too large; give 5 or less."


def test_explorer_error_is_none_of_pythons_own_kinds() -> None:
    assert ExplorerError.__bases__ == (Exception,)


def test_the_drawing_shows_every_class() -> None:
    assert errors.__doc__ is not None
    for name, value in vars(errors).items():
        if isinstance(value, type) and issubclass(value, ExplorerError):
            assert name in errors.__doc__, f"{name} is missing from the tree at the top of errors.py"
