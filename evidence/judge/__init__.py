"""A policy that need not be of this package: its contract, guarantee, attacks, place,
cost.

A call for a file that is there takes minutes; `quick=True` makes it one.  What cannot be
judged is said in the report, whose last line begins with one word:

>>> from evidence.judge import judge
>>> print(judge("my_policy.py", quick=True).word)
NOTHING
"""

from evidence.judge.judging import Report, judge

__all__ = ["Report", "judge"]
