"""Sentence Encoder Explorer: compare BERT and ALBERT sentence encoders. Importing this package loads no torch."""

__version__ = "0.1.0"
