"""Planted alternatives for the rules of claims: what a rule must reject."""

import numpy as np

from companion.stats import Interval


def tilted(x: np.ndarray, samples: np.ndarray, by: float) -> np.ndarray:
    """Samples (n, m) at x (m,) > 0 whose mean grows faster by the exponent `by`.

    The same repetitions, noise included, times (x / x[0])^by: what an estimator of rates must tell
    from the original.

    >>> tilted([1.0, 4.0], np.ones((2, 2)), 0.5)[0].tolist()
    [1.0, 2.0]
    """
    x = np.asarray(x, dtype=float)
    return np.asarray(samples, dtype=float) * (x / x[0]) ** by


def rescaled(found: Interval, to: float) -> Interval:
    """The `Interval` of a ratio, had it been `to`: the same runs, one side times a factor.

    >>> tuple(rescaled(Interval(2.0, 1.0, 4.0), 1.0))
    (1.0, 0.5, 2.0)
    """
    return Interval(*(to / found.value * end for end in found))
