"""One rule of inference: half of the repetitions choose, the other half judge.

What is chosen because it was best in some repetitions looks better there than it is: with ten equal
policies a 95 % interval of the best one lies below the truth far too often (`false_alarms`).  So
the first half of the repetitions names the leader, and intervals of the second half, in which it
was not chosen, judge it against each rival (Bonferroni over the rivals) and against random play.
"""

import numpy as np

from companion.stats import difference, ratio

EQUAL = {  # laws of positive regrets with mean 1, (rng, shape) -> numbers
    "normal": lambda rng, shape: 1.0 + 0.25 * rng.standard_normal(shape),
    "skewed": lambda rng, shape: 0.3 + 0.7 * rng.standard_exponential(shape),
}


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


def false_alarms(law, n_reps: int, policies: int = 10, draws: int = 1_000, seed: int = 0):
    """How often the rule errs where no policy is better than random play, {error: share of draws}.

    Regrets of the policies are independent with one law of `EQUAL`, those of random play vary less,
    as they do in the arena.  "learns": the leader is judged better than random play; "decided": it
    is judged better than some rival; "missed": a 95 % interval of a ratio that was not chosen does
    not contain 1.
    """
    rng, wrong = np.random.default_rng(seed), np.zeros(3)
    for _ in range(draws):
        finals = dict(enumerate(EQUAL[law](rng, (policies, n_reps))))
        random = 1.0 + 0.1 * rng.standard_normal(n_reps)
        first, close = leader(finals)
        plain = ratio(finals[0], random)
        wrong += (
            judged(finals[first], random).high < 1,
            len(close) < policies - 1,
            not plain.low <= 1 <= plain.high,
        )
    return dict(zip(("learns", "decided", "missed"), (wrong / draws).tolist(), strict=True))
