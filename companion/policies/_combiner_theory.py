"""Constants of the combiner's Theorem 4.1, in plain Python, with P = P' = 1.

Source: "Improved rate for locally differentially private linear bandits", Theorem 4.1.
"""

from typing import NamedTuple

import numpy as np

from companion.checks import need_int, need_positive, need_probability


class Constants(NamedTuple):
    """Theorem 4.1, one entry per base learner; `guess` is lambda_i."""

    guess: np.ndarray
    L: np.ndarray
    alpha: np.ndarray
    eta: np.ndarray
    R: np.ndarray


def theory_constants(d, T, epsilon, failure, M=None):
    """Constants of Theorem 4.1 for M learners (None: the theorem's ceil(log2(T)/8) + 1).

    d >= 1, T >= 2, epsilon in (0, inf), failure in (0, 1).  Raises ValueError on anything else.

    >>> [round(v, 1) for v in theory_constants(5, 20000, 1.0, 0.1).R / 20000]
    [36.9, 6.1, 3.2]
    """
    d, T, epsilon = need_int("d", d, 1), need_int("T", T, 2), need_positive("epsilon", epsilon)
    M = int(np.ceil(np.log2(T) / 8)) + 1 if M is None else need_int("M", M, 1)
    failure = need_probability("failure", failure)
    log, root = np.log(T) ** 1.5, epsilon * T**0.125
    guess = 2.0 ** np.arange(M) / T**0.125
    L = log * np.sqrt(d) / (epsilon * guess)
    eta = np.full(M, epsilon / (log * np.sqrt(d * T)))
    alpha = np.full(M, 0.5)
    L[0], eta[0] = log * np.sqrt(d) * (root + 1) / root, root / (np.sqrt(d * T) * (log * root + 1))
    alpha[0] = 0.75
    inner = (1 - alpha) / alpha
    factor = (1 - alpha) ** inner * (1 + alpha) ** (1 / alpha) / alpha**inner
    R = L * T**alpha + factor * L ** (1 / alpha) * T * eta**inner
    R += 288.0 * (3 * np.log(T) + np.log(M / failure)) * T * eta + (1 / eta).sum() - 1 / eta
    return Constants(guess, L, alpha, eta, R)
