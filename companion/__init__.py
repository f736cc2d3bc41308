"""Differentially private bandits, small enough to read and fast enough to use."""

__version__ = "0.1.0"
