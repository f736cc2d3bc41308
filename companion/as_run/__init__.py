"""What the programs behind published numbers really ran, where that departs from their own papers.

Used only by the cells that explain the numbers; nothing else imports it.  One module per program:
`online_linucb`, whose names are also here, and `fliphat`.
"""

from companion.as_run.online_linucb import KINDS, NORM, Arms, baseline, count, refit, scales

__all__ = ["KINDS", "NORM", "Arms", "baseline", "count", "refit", "scales"]
