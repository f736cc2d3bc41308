"""Closed forms behind the theorems: lower bounds, chi-square divergences, lemmas, privacy losses.

Source: the LPLR paper, Theorems 1 and 2, Lemmas EC.1, 1 and 3 (alpha there is `epsilon` here); the
constants of the lower bounds and the proposition on sufficient statistics: see the chapter.
"""

import math

import numpy as np

from companion.jit import jit


def theorem_1(n: int, epsilon: float = 1.0) -> tuple[float, float]:
    """(share, bound): chance of e2 in Theorem 1's design; what no private estimator's MSE can beat.

    Le Cam's method with MSE(theta_0) + MSE(theta_1) >= c/(2 sqrt n) and total variation at most 1/4
    gives 3c/(16 sqrt n).
    """
    c = 1 / (4 * math.sqrt(2) * math.expm1(epsilon))
    if not c <= math.sqrt(n):
        raise ValueError(f"n must be at least {c * c:.3g} for epsilon={epsilon}; got n={n}")
    return c / math.sqrt(n), 3 * c / (16 * math.sqrt(n))


def sufficient_statistics_bound(n: int, scale: float):
    """(r, bound): design phi = r, and the least MAD from r^2 + Lap(scale) and r y + Lap(scale)."""
    r = math.sqrt(scale) * n**-0.25
    return r, 3 * r / 16


def chi_square_laplace(mu: np.ndarray, epsilon: float = 1.0, nodes: int = 60) -> float:
    """chi^2 of the mixture of Lap(+-mu, 1/epsilon) against its centre; mu (1,) or (2,) above 0.

    The density ratio is constant beyond mu in every coordinate, so only [-mu, mu] needs quadrature
    (Gauss-Legendre).
    """
    x, w = np.polynomial.legendre.leggauss(nodes)
    plus, minus, weight = np.zeros(1), np.zeros(1), np.ones(1)
    for size in np.asarray(mu, dtype=float) * epsilon:
        half, tail = size / 2, math.exp(-size) / 2
        u = np.concatenate([half * (x + 1), -half * (x + 1), [size, -size]])
        own = np.concatenate([half * w, half * w, [0, 0]]) * np.exp(-abs(u)) / 2
        own[-2:] = tail
        plus = (plus[:, None] + (abs(u - size) - abs(u))).ravel()
        minus = (minus[:, None] + (abs(u + size) - abs(u))).ravel()
        weight = (weight[:, None] * own).ravel()
    excess = 0.5 * (np.expm1(-plus) + np.expm1(-minus))
    return float(weight @ excess**2)


@jit
def _log_sum(a, b):
    top = max(a, b)
    return math.log(math.exp(a - top) + math.exp(b - top)) + top


@jit
def _llr(v, w, m, epsilon):
    """Log-likelihood ratio of Theorem 2's models for one user's perturbed (phi_2, y - 1/4)."""
    near, far = -epsilon * abs(v - m), -epsilon * abs(v + m)
    first = _log_sum(near, far) - epsilon * abs(w)
    return _log_sum(near - epsilon * abs(w - m / 2), far - epsilon * abs(w + m / 2)) - first


@jit
def _cut(rng, length, epsilon):
    """Exponential variable of rate epsilon, given that it is at most length."""
    return -math.log1p(rng.random() * math.expm1(-epsilon * length)) / epsilon


@jit
def _thirds(rng, n, above, below):
    """How many of n users lie above, between and below two limits, by the chances of both ends."""
    top = rng.binomial(n, above)
    bottom = rng.binomial(n - top, below / (1.0 - above))
    return top, n - top - bottom, bottom


@jit
def _sum_of_ratios(m, epsilon, n, second, rng):
    """Log-likelihood ratio of n users; second: whether Theorem 2's second hypothesis is true.

    The ratio stands still where v leaves [-m, m] and where w leaves [-m/2, m/2], and (-v, -w) has
    that of (v, w).  So users may be drawn with s = m, most are only counted, and the others get
    exponential distances from the centre, cut at the limits.
    """
    near, half, total = epsilon * m, m / 2, 0.0
    over = 0.5 if second else 0.5 * math.exp(-near / 2)
    under = 0.5 * math.exp(-near) if second else over
    rows = _thirds(rng, n, 0.5, 0.5 * math.exp(-2 * near))
    for i in range(3):
        cells = _thirds(rng, rows[i], over, under)
        for j in range(3):
            v, w = m * (1 - i), half * (1 - j)
            if i != 1 and j != 1:
                total += cells[j] * _llr(v, w, m, epsilon)
                continue
            for _ in range(cells[j]):
                if i == 1:
                    v = m - _cut(rng, 2 * m, epsilon)
                if j == 1 and second:
                    w = half - _cut(rng, m, epsilon)
                elif j == 1:
                    w = _cut(rng, half, epsilon) * (1.0 if rng.random() < 0.5 else -1.0)
                total += _llr(v, w, m, epsilon)
    return total


@jit
def likelihood_ratio_errors(m, epsilon, n, trials, rng):
    """Wrong decisions of the likelihood-ratio test between Theorem 2's two hypotheses, out of 2 x
    trials samples of n users; m: size of the second feature.
    """
    wrong = 0
    for which in range(2):
        for _ in range(trials):
            total = _sum_of_ratios(m, epsilon, n, which == 1, rng)
            if (total > 0.0) != (which == 1):
                wrong += 1
    return wrong


def lemma_1(p, n: int, epsilon: float, failure: float, share=1.0, k: int = 0):
    """Bounds of Lemma 1 (logarithm corrected) on (share, vector, matrix) errors of a bin."""
    d, beta = p.d, 1 / (2 * p.M)
    L = math.log(48 * d / (beta * failure)) / (epsilon * math.sqrt(n))
    vector, matrix = (19 * d**2 + 29 * d) * p.edge[k], (7 * (d + 1) ** 3 + 29 * d) * p.edge[k] ** 2
    return 6.2 * d * L, vector * L / share, matrix * L / share


def support_violation(epsilon: float, norm: float = 1.0) -> float:
    """P(W not >= vv') for the printed W ~ Wishart_d(d+1, 4.5/epsilon I): no user with v sends it.

    1/(v'W^-1 v) is c/|v|^2 times a chi-square with 2 degrees of freedom, so this is 1 -
    exp(-|v|^2/2c) in every d.
    """
    return -math.expm1(-epsilon * norm**2 / 9)


def lemma_3(p, n: int, epsilon: float, failure: float) -> float:
    """12 M^h K / sqrt n of Lemma 3 for every layer h, (d,), n users per stage, smallest kappas."""
    L = math.log(48 * p.d * 2 * p.M / failure) / epsilon  # 1/beta is about 2M
    gamma, d = math.exp(p.log_gamma), p.d
    quiet = max(43 * gamma**2 * (d + 1) ** 3, 15 * gamma * d**1.5)
    K = L * (300 * gamma**2 * (d + 1) ** 4 + 118 * gamma * d**2 + quiet)
    return 12 * K / math.sqrt(n) * float(p.M) ** np.arange(1, d + 1)


def action_loss(p) -> float:
    """Exact loss of a change of action with one oracle per action: data against dummy in two.

    Per oracle one bin is touched or not: 1/b_c + sqrt(d) Y/b_v + 1/(2c), with Y = 1 on the first
    layer and 2 below.  Of the symmetric matrix noise; the one-sided one has none.
    """
    vector = max(math.sqrt(p.d) * min(h + 1, 2) / b for h, b in enumerate(p.vector_scale))
    return 2 * (1 / p.count_scale + vector + 1 / (2 * p.matrix_scale))


def two_oracles_loss(epsilon: float) -> float:
    """Exact loss of a change of action, for oracles that send 1{data} + Lap(1/epsilon).

    Each fulfils Definition 2 for epsilon.  Two of them change by 1, and losses of independent
    Laplace noises add up.
    """
    return float(np.abs(np.array([1.0, 0.0]) - [0.0, 1.0]).sum() * epsilon)
