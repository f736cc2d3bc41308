"""Differentially private bandits, small enough to read and fast enough to use."""

from companion import (
    _stamps as _stamps,  # first: what it sees is what is imported after it
)

__version__ = "0.1.0"
