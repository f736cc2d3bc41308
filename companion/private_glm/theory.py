"""The paper's closed forms, with its universal constants set to 1: what they would ask for.

Source: (50) to (52) and Section J.1 (Algorithm 2), Lemma P.4, Lemma U.4, (6) and (122).
"""

import math
from typing import NamedTuple

from companion.validate import need_float, need_int, need_positive, need_probability


class Printed(NamedTuple):
    """Closed forms of Algorithm 2."""

    ridge: float  # lambda, (50)
    width: float  # beta, (51)
    gamma: float  # (52)
    threshold: float  # 1/(gamma^2 kappa R^2), of Criterion I
    cutoff_o: float  # 8 d R^2 kappa gamma^2 log T
    cutoff_tau: float  # 4 log2(1 + T R^3/d)
    sigma: float  # noise of a tree node as printed: sqrt(72 m) log(32/delta)/(kappa* epsilon)


def printed(
    d: int,
    T: int,
    epsilon: float,
    delta: float,
    failure: float,
    theta_bound: float,
    kappa: float,
    kappa_star: float,
    R: float = 1.0,
) -> Printed:
    """(50) to (52) and what follows, all universal constants 1; raises ValueError on bad input."""
    d, T = need_int("d", d, 1), need_int("T", T, 2)
    epsilon, delta = need_positive("epsilon", epsilon), need_probability("delta", delta)
    failure, S = need_probability("failure", failure), need_positive("theta_bound", theta_bound)
    kappa, star = need_positive("kappa", kappa), need_float("kappa_star", kappa_star, 0.0, kappa)
    R = need_positive("R", R)
    L_T, L_d = math.log(T / failure), math.log(1.0 / delta)
    low = min(star, 1.0)
    ridge = 1.25 * d * L_T + 100.0 * math.sqrt(d) * L_d * math.log(T) * (
        math.sqrt(L_T) + math.sqrt(d)
    ) / (epsilon * star)
    private = d**0.25 * math.sqrt(L_T * L_d) * (d + L_T) ** 0.25
    width = R * math.sqrt(d * L_T) + R * S * private / math.sqrt(epsilon * low)
    gamma = (
        R**2 * S * math.sqrt(d * L_T)
        + R**2 * S * private / math.sqrt(epsilon * star)
        + R**4 * S**4 * d * math.sqrt(kappa) * L_T * math.sqrt(L_d) / epsilon
    )
    sigma = math.sqrt(72.0 * math.ceil(math.log2(T) + 1)) * math.log(32.0 / delta)
    return Printed(
        ridge, width, gamma, 1.0 / (gamma**2 * kappa * R**2),
        8.0 * d * R**2 * kappa * gamma**2 * math.log(T),
        count2(d, T, R), sigma / (star * epsilon),
    )  # fmt: skip


def exploration_rounds(d: int, ridge: float, threshold: float) -> float:
    """Least number of unit vectors after which no direction has squared width >= threshold: each of
    d directions needs 1/threshold - ridge of them (noise-free, best case)."""
    return d * max(0.0, 1.0 / threshold - ridge)


def switches(d: int, t: int, ridge: float, L: float = 1.0) -> float:
    """Lemma P.4: most switches in t rounds, 1 + d/log(11/8) log(1 + t L^2/(ridge d))."""
    return 1.0 + d / math.log(11.0 / 8.0) * math.log1p(t * L * L / (ridge * d))


def printed_tree_rho(epsilon: float, delta: float, kappa_star: float) -> float:
    """zCDP of tree V under the printed node noise, at its true sensitivity sqrt2: m nodes of
    1/sigma^2 each, kappa*^2 epsilon^2/(72 log^2(32/delta))."""
    return (kappa_star * epsilon / math.log(32.0 / delta)) ** 2 / 72.0


def lower_bound(d: int, epsilon: float, delta: float) -> float:
    """What the proof of Lemma 7.1 gives, universal constants 1: d epsilon/(epsilon^2 + delta
    log(1/delta)); the lemma prints d/epsilon."""
    return d * epsilon / (epsilon**2 + delta * math.log(1.0 / delta))


def first_batch(kappa: float, theta_bound: float, d: int, gamma: float, alpha: float) -> float:
    """B_1 of (6): (sqrt(kappa) e^(3S) d^2 gamma^2 alpha/S)^(2/3)."""
    S = theta_bound
    return (math.sqrt(kappa) * math.exp(3.0 * S) * d * d * gamma**2 * alpha / S) ** (2.0 / 3.0)


def composed(epsilon: float, delta: float, iterations: int) -> float:
    """Epsilon of Algorithm 7's gradients by its own composition theorem.

    Each is (epsilon_0, delta/(N + 1)) with epsilon_0 = epsilon/(2 sqrt(2 N log(1/delta))); N of
    them leave a slack of delta/(N + 1), and N epsilon_0 (e^epsilon_0 - 1) + epsilon_0 sqrt(2 N
    log((N + 1)/delta)) (Dwork and Roth 2014, Theorem 3.20).
    """
    N = iterations
    e0 = epsilon / (2.0 * math.sqrt(2.0 * N * math.log(1.0 / delta)))
    return N * e0 * math.expm1(e0) + e0 * math.sqrt(2.0 * N * math.log((N + 1) / delta))


def count2(d: int, T: int, R=1.0) -> float:
    """Lemma J.6: most fits on all other rounds, 4 log2(1 + T R^3/d)."""
    return 4.0 * math.log2(1.0 + T * R**3 / d)
