"""A policy that need not be of this package: its contract, guarantee, attacks, place, cost."""

from companion.judge.judging import judge
from companion.judge.report import Report

__all__ = ["Report", "judge"]
