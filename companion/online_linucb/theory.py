"""Closed forms of the paper in plain Python: widths, bounds on gradients, the combiner's constants.

Source: "Improved rate for locally differentially private linear bandits", Lemma 3.3, Corollary 3.6,
Theorems 4.1 (with P = P' = 1), A.2, C.2, Corollary C.1.
"""

from typing import NamedTuple

import numpy as np

from companion.accounting.privacy import gaussian_scale
from companion.online_linucb import maler
from companion.validate import LARGEST, need_int, need_positive, need_probability


class Constants(NamedTuple):
    """Theorem 4.1, one entry per base learner; `guess` is lambda_i."""

    guess: np.ndarray
    L: np.ndarray
    alpha: np.ndarray
    eta: np.ndarray
    R: np.ndarray


def theory_constants(d: int, T: int, epsilon: float, failure: float, M=None) -> Constants:
    """Constants of Theorem 4.1 for M learners (None: the theorem's ceil(log2(T)/8) + 1).

    d >= 1, T >= 2, epsilon in (0, inf), failure in (0, 1).  Raises ValueError on anything else.

    >>> (theory_constants(5, 20000, 1.0, 0.1).R / 20000).round(1).tolist()
    [36.9, 6.1, 3.2]
    """
    d, T = need_int("d", d, 1, LARGEST), need_int("T", T, 2, LARGEST)
    epsilon = need_positive("epsilon", epsilon)
    M = int(np.ceil(np.log2(T) / 8)) + 1 if M is None else need_int("M", M, 1, LARGEST)
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


def conversion_width(
    learner, T: int, noise: float = 0.5, theta_bound: float = 1.0, failure: float = 0.01
) -> float:
    """Theorem A.2 (no privacy): sqrt(S^2 + 1 + 2 M_T + 32 R^2 ln((R sqrt8 + sqrt(1 +
    M_T))/failure)).
    """
    M = maler.regret_bound(learner, T)
    log = np.log((noise * np.sqrt(8.0) + np.sqrt(1.0 + M)) / failure)
    return float(np.sqrt(theta_bound**2 + 1.0 + 2.0 * M + 32.0 * noise**2 * log))


def theory_clip(sigma: float, jitter, T: int, failure: float, ball: float = 1.0) -> float:
    """Corollary C.1 with its universal constant set to 1: a bound on every gradient of the run."""
    log, D, Delta = np.log(2.0 * T / failure), ball, np.sqrt(jitter)
    first = 2.0 * np.sqrt(2.0 * log) * (2.0 * D * sigma + 2.0 * sigma + D * Delta + Delta)
    noise = 2.0 * D * jitter + 4.0 * D * Delta * sigma + 2.0 * Delta * sigma
    square = (2.0 * D + 2.0 + D) * sigma**2
    return first + 2.0 * log * (noise + square) + 2.0 * D + 2.0


def theory_width(
    learner,
    epsilon: float,
    delta: float,
    jitter,
    T: int,
    failure: float,
    noise: float = 0.5,
) -> float:
    """Lemma 3.3 with gamma = 1, M_T from Lemma H.6 and the trivial Q_T <= 4 D^2 T: sqrt(M_T + K_T).

    What the lemma prints for the noise is sqrt(ln(1/delta))/epsilon, not sigma.

    >>> inner = maler.learner("ogd", 5, 20_000, gradient=theory_clip(22.4754, 0.0, 20_000, 5e-5))
    >>> round(theory_width(inner, 0.2, 0.1, 0.0, 20_000, 5e-5))
    14167
    """
    D, log, Q = learner.ball, np.log(T / failure), 4.0 * learner.ball**2 * T
    scale = np.sqrt(np.log(1.0 / delta)) / epsilon
    K = D * jitter * log * np.sqrt(T * Q) + (noise + D * scale + D * np.sqrt(jitter)) ** 2 * log
    K += (scale**2 + jitter) * log * Q
    return float(np.sqrt(maler.regret_bound(learner, T) + K))


def strong_bounds(learner, mu: np.ndarray, T: int, failure: float) -> tuple[np.ndarray, np.ndarray]:
    """Theorem C.2 for a mu-strongly convex expected loss: bounds on its regret and on Q_T.

    The second, on Q_T = sum ||theta_t - theta*||^2, is 2/mu times the first.
    """
    G, D = learner.gradient, learner.ball
    A = 2.0 * np.log(np.sqrt(3.0) * (0.5 * np.log2(T) + 3.0)) + 1.0 + np.log(T)
    regret = (40.0 * G * D + 18.0 * G**2 / mu) * A + 32.0 * G**2 * np.log(1.0 / failure) / mu
    return regret, 2.0 / mu * regret


def display_3_6(
    d: int,
    T: int,
    epsilon: float,
    delta: float,
    lambda_min: float,
    noise: float = 0.5,
    clip=None,
) -> float:
    """Corollary 3.6 before its last inequality, Delta = 0, D = 1, failure 1/T, its O at constant 1.

    H contains the bound G on gradients, clip(sigma) at the paper's noise (None: Corollary C.1's).
    """
    sigma = gaussian_scale(epsilon, delta, 2.0, "classical-unchecked")  # line 2
    G = theory_clip(sigma, 0.0, T, 1.0 / T) if clip is None else clip(sigma)
    H = (G / lambda_min) ** 2 + G / lambda_min
    scale = np.sqrt(np.log(1.0 / delta)) / epsilon
    width = (noise + scale) * np.sqrt(2.0 * np.log(T)) + np.log(T) * np.sqrt(H) * scale
    return width * np.sqrt(d * T * np.log(T / d))


def practical_width(sigma: float, T: int, factor: float = 10.0) -> float:
    """factor * sigma * sqrt(ln T); what is needed grows like sigma sqrt(T) ||theta - theta*||."""
    return factor * sigma * np.sqrt(np.log(T))


def practical_clip(sigma: float, jitter: float, d: int, factor: float = 10.0) -> float:
    """factor times the typical norm of a gradient, 2 (sigma^2 + Delta^2) sqrt(2 d) + 2."""
    return factor * (2.0 * (sigma**2 + jitter) * np.sqrt(2.0 * d) + 2.0)


def literal(d: int, T: int, epsilon: float, delta: float):
    """Algorithm 1 with OGD as the theory has it: {"width": Lemma 3.3's, "clip": Corollary C.1's}.

    With the paper's noise, failure 1/T and no extra perturbation.
    """
    sigma = gaussian_scale(epsilon, delta, 2.0, "classical-unchecked")  # line 2
    clip = theory_clip(sigma, 0.0, T, 1.0 / T)
    inner = maler.learner("ogd", d, T, gradient=clip)
    return {"width": theory_width(inner, epsilon, delta, 0.0, T, 1.0 / T), "clip": clip}
