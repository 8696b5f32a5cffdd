"""The errors a person can cause. Each message says what was wrong, the value found, and how to mend it.

ExplorerError
├── DataError         a table, file or text that cannot be used
├── EncoderError      an encoder that is unknown, damaged or not allowed
├── TrainingError     a training request that cannot be carried out
└── SettingError      an option outside its range
"""

from __future__ import annotations


class ExplorerError(Exception):
    """Base of every error shown to a person; its text is one sentence or two, safe to print."""


class DataError(ExplorerError):
    """A table, file or text that cannot be used."""


class EncoderError(ExplorerError):
    """An encoder that is unknown, damaged or not allowed."""


class TrainingError(ExplorerError):
    """A training request that cannot be carried out."""


class SettingError(ExplorerError):
    """An option outside its range."""
