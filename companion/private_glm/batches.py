"""Batches of ShuffleGLM, and the binomial noise that a budget needs in each of them.

A user belongs to one batch.  Its matrix and its `steps` gradients are bit sums (`mechanisms`,
"shuffled vector sum"): every coordinate v of a vector in [-L, L]^n is scaled to (v + L) g/L,
rounded at random and hidden among Bin(b, 1/4) ones.  Here g counts per L, half of the paper's g,
which counts the range [0, 2L].
Sensitivity of the integers under replacing a user: 2 g for a gradient (norm at most L = 1, so two
differ by 2L), sqrt2 g for a weighted x x' (Frobenius distance sqrt2 L for weights up to L), each
plus sqrt(n) for the rounding of n coordinates with shared randomness.
Matrix and gradients share one zCDP budget; b is the normal approximation times the
least factor of `FACTORS` at which `accounting.binomial` proves (epsilon, delta) for all 1 + steps
releases.
"""

import functools
import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from companion.accounting.binomial import Noise, releases_delta, releases_epsilon
from companion.accounting.privacy import NO_PRIVACY, REPLACE_RECORD, Guarantee, gaussian_scale
from companion.kernels.glm import slope
from companion.validate import need_choice, need_float, need_int, need_positive, need_probability

P = 0.25  # chance of a further one
UNIT = "user (contexts in the unit ball, reward in [0, 1])"
FACTORS = (1.0, 1.005, 1.01, 1.02, 1.03, 1.05, 1.08, 1.12, 1.2, 1.3, 1.5, 2.0, 3.0, 5.0, 10.0)


def lengths(T: int, M: int, first: int | None = None, schedule: str = "corrected") -> np.ndarray:
    """Lengths (M,) of the batches of T rounds.

    T >= 1, M >= 2 batches; first: length of the first one, 1 <= first <= T - M + 1 (None: 4
    T^(4/9), at most half).  schedule "corrected": B_k = alpha sqrt(B_(k-1)), B_2 = alpha with the
    alpha at which all batches sum to T; "paper": the printed alpha = T^(1/(2(1 - 2^(1 - M)))), with
    which B_M = T, so that the last batch is cut.  Raises ValueError on anything else.
    """
    M = need_int("M", M, 2)
    T = need_int("T", T, M)
    need_choice("schedule", schedule, ("corrected", "paper"))
    if first is None:
        first = max(1, min(int(4.0 * T ** (4.0 / 9.0)), T // 2))
    first = need_int("first", first, 1, T - M + 1)
    powers = [2.0 - 2.0 ** (2 - k) for k in range(2, M + 1)]
    if schedule == "paper":
        alpha = T ** (1.0 / (2.0 * (1.0 - 2.0 ** (1 - M))))
    else:
        left = T - first
        alpha = brentq(lambda a: sum(a**q for q in powers) - left, 1e-9, left + 1.0, xtol=1e-12)
    out = [first]
    for q in powers[:-1]:  # every later batch keeps at least one round
        room = T - sum(out) - (M - len(out) - 1)
        out.append(max(1, min(int(alpha**q + 1e-9), room)))
    return np.array([*out, T - sum(out)])


def resolution(n: int, d: int) -> int:
    """Levels of the range [0, 2L]: the paper's g = max(2 sqrt(n), d, 4), rounded up."""
    return math.ceil(max(2.0 * math.sqrt(n), d, 4))


def movement(levels: int, entries: int, ratio: float) -> float:
    """L2 sensitivity of the integers: ratio = sensitivity of the reals over their range 2L."""
    return levels * ratio + math.sqrt(entries)


GRADIENT, MATRIX = 1.0, math.sqrt(0.5)  # ratios


def bits_for(n: int, levels: int, entries: int, ratio: float, rho: float, factor: float) -> int:
    """b with which n users' Bin(b, 1/4) have the variance of N(0, sigma^2) at rho, times factor."""
    variance = factor * movement(levels, entries, ratio) ** 2 / (2.0 * rho)
    return math.ceil(variance / (P * (1.0 - P) * n))


def printed_bits(n: int, levels: int, d: int, epsilon: float, delta: float) -> int:
    """b of the paper's (122), rounded up: 24e4 g^2 log^2(4(d^2 + 1)/delta)/(epsilon^2 n)."""
    return math.ceil(24e4 * (levels * math.log(4 * (d * d + 1) / delta) / epsilon) ** 2 / n)


def releases(n: int, d: int, steps: int, bits_matrix: int, bits_gradient: int) -> list[Noise]:
    """All that one user of a batch of n enters, as a list of `binomial.Noise`."""
    levels, entries = resolution(n, d), d * (d + 1) // 2
    return [
        Noise(n * bits_matrix, P, movement(levels, entries, MATRIX), entries, levels + 1),
        Noise(n * bits_gradient, P, movement(levels, d, GRADIENT), d, levels + 1, steps),
    ]


@functools.lru_cache(maxsize=1024)
def calibrated(
    n: int,
    d: int,
    steps: int,
    epsilon: float,
    delta: float,
    calibration: str = "corrected",
    share: float = 0.5,
) -> tuple[int, int, float]:
    """(bits of the matrix, bits of a gradient, proved epsilon) for a batch of n users.

    epsilon in (0, inf), delta in (0, 1), steps >= 1 gradients, share in (0, 1) of the zCDP budget
    for the matrix; calibration "corrected" or "paper":
    (122) at (epsilon/2, delta/2) for the matrix and, for a gradient, at (epsilon/2)/(2 sqrt(2 steps
    log(2/delta))) and (delta/2)/(steps + 1), as in Algorithm 7.  Raises ValueError where no factor
    suffices.
    """
    n, d, steps = need_int("n", n, 1), need_int("d", d, 1), need_int("steps", steps, 1)
    epsilon = need_positive("epsilon", epsilon)
    levels, entries = resolution(n, d), d * (d + 1) // 2
    if calibration == "paper":
        per_step = epsilon / (4.0 * math.sqrt(2.0 * steps * math.log(2.0 / delta)))
        bits = (
            printed_bits(n, levels, d, epsilon / 2.0, delta / 2.0),
            printed_bits(n, levels, d, per_step, delta / (2.0 * (steps + 1))),
        )
        return *bits, releases_epsilon(delta, releases(n, d, steps, *bits))
    rho = 0.5 / gaussian_scale(epsilon, delta) ** 2
    for factor in FACTORS:
        bits = (
            bits_for(n, levels, entries, MATRIX, share * rho, factor),
            bits_for(n, levels, d, GRADIENT, (1.0 - share) * rho / steps, factor),
        )
        found = releases(n, d, steps, *bits)
        if releases_delta(epsilon, found) <= delta:
            return *bits, releases_epsilon(delta, found)
    raise ValueError(f"no noise is proved enough for batches of {n} at {epsilon=}, {delta=}")


def top_weight(link: int, kappa: float, kappa_star: float | None) -> float:
    """Delta = min(slope(0), 1/kappa*), the largest weight of x x' after the first batch; kappa_star
    in (0, kappa], None: 1/slope(0).  Raises ValueError otherwise."""
    flat = slope(link, 0.0)
    if kappa_star is None:
        return flat
    return min(flat, 1.0 / need_float("kappa_star", kappa_star, 0.0, kappa, open_low=True))


class Plan(NamedTuple):
    """What batches of given lengths release."""

    g: np.ndarray  # (M - 1,) levels per L
    matrix: np.ndarray  # (M - 1,) bits per user and entry of the matrix; 0: exact sums
    gradient: np.ndarray  # (M - 1,) the same for a gradient
    spread: np.ndarray  # (M - 1,) standard deviation of an entry of the matrix, for weights up to 1
    guarantee: Guarantee  # users of one batch do not enter another, so the worst batch counts


def plan(
    n: np.ndarray, d: int, steps: int, epsilon: float, delta: float, calibration: str, share: float
) -> Plan:
    """`Plan` of batches of n (M - 1,) users; epsilon = inf: exact sums; else as `calibrated`.

    The analyser's sum has the noise of n b coins of chance P, in units of 1/g.
    """
    need_choice("calibration", calibration, ("corrected", "paper"))
    share, g = need_probability("share", share), np.array([resolution(int(m), d) / 2.0 for m in n])
    if epsilon == math.inf:
        nothing = np.zeros(len(n), np.int64)
        return Plan(g, nothing, nothing.copy(), np.zeros(len(n)), NO_PRIVACY)
    found = [calibrated(int(m), d, steps, epsilon, delta, calibration, share) for m in n]
    matrix, gradient, proved = (np.array(column) for column in zip(*found, strict=True))
    claimed = (epsilon, delta) if calibration == "paper" else None
    guarantee = Guarantee("shuffle", float(proved.max()), delta, REPLACE_RECORD, UNIT, claimed)
    return Plan(g, matrix, gradient, np.sqrt(P * (1.0 - P) * n * matrix) / g, guarantee)
