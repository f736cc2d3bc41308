"""One rule of inference: half of the repetitions choose, the other half judge.

What is chosen because it was best in some repetitions looks better there than it is: with ten equal
policies a 95 % interval of the best one lies below the truth far too often.  So
the first half of the repetitions names the leader, and intervals of the second half, in which it
was not chosen, judge it against each rival (Bonferroni over the rivals) and against random play.
"""

import numpy as np

from companion.stats import difference, ratio


def choosing(finals) -> np.ndarray:
    """The repetitions that choose, of finals (n_reps,)."""
    return finals[: len(finals) // 2]


def judging(finals) -> np.ndarray:
    """The repetitions that judge."""
    return finals[len(finals) // 2 :]


def leader(finals, looks: int = 1):
    """(name that is chosen, those it is not shown to beat) of {name: finals (n_reps,)}.

    Shown: the 95 % interval of the paired difference in the judging half, Bonferroni over the
    rivals and over `looks` >= 1 settings that are looked at, lies below 0.
    """
    first = min(finals, key=lambda n: choosing(finals[n]).mean())
    rivals = [n for n in finals if n != first]
    level = 1 - 0.05 / (looks * max(len(rivals), 1))
    mine = judging(finals[first])
    return first, [n for n in rivals if not difference(mine, judging(finals[n]), level).high < 0]


def judged(a, b: np.ndarray):
    """Interval for mean(a) / mean(b) in the repetitions that judge."""
    return ratio(judging(a), judging(b))
