"""What peeling, N-IHT and FLIPHAT really guarantee, and the noise that a budget needs.

Neighbouring relation: one row (context, reward) is replaced.  If the vector handed to peeling moves
by at most `sensitivity` in every coordinate, then with Laplace(xi) noise and ratio = sensitivity /
xi

* one pick is a report-noisy-max on scores of that sensitivity: pure 2 ratio differential privacy;
* one released value is a Laplace mechanism: pure ratio differential privacy.

k picks with their k values are an adaptive composition of k copies of each, whose exact worst case
is the composition of randomised responses (`composition_delta`).  Source: Dwork and Roth (2014),
Claim 3.9 (report noisy max); Kairouz, Oh and Viswanath (2015), Theorem 3.2 (composition of pure
mechanisms); the FLIPHAT paper, Lemma A.2.
"""

from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.stats import binom

from companion.accounting.privacy import need_budget
from companion.validate import need_float, need_int, need_positive


def need_affordable(epsilon: float, delta: float) -> tuple[float, float]:
    """(epsilon, delta) as floats, epsilon in [1e-9, 1e9] or inf: a budget whose noise is found."""
    epsilon, delta = need_budget(epsilon, delta)
    return epsilon if epsilon == np.inf else need_float("epsilon", epsilon, 1e-9, 1e9), delta


def gradient_sensitivity(n: int, eta: float, x_bound: float, residual_bound: float) -> float:
    """Largest move of a coordinate of -eta times the gradient when one of n rows is replaced.

    A row adds (2 eta/n) x r with |x_j| <= x_bound and |r| <= residual_bound, so a swap moves it by
    twice the bound: 4 eta x_bound residual_bound / n.  Attained at r = residual_bound against
    -residual_bound.
    """
    n, eta = need_int("n", n, 1), need_positive("eta", eta)
    return (
        4.0
        * eta
        * need_positive("x_bound", x_bound)
        * need_positive("residual_bound", residual_bound)
        / n
    )


def paper_factor(sparsity: int, epsilon: float, delta: float, iterations: int = 1) -> float:
    """The paper's xi / sensitivity: 2 sqrt(3 s log(M/delta)) M / epsilon for s = sparsity
    (Algorithms 1 and 3; 0.0 at epsilon = inf).
    """
    sparsity = need_int("sparsity", sparsity, 1)
    iterations = need_int("iterations", iterations, 1)
    epsilon, delta = need_budget(epsilon, delta)
    return 2.0 * np.sqrt(3.0 * sparsity * np.log(iterations / delta)) * iterations / epsilon


@lru_cache(maxsize=8)
def _losses(picks, ratio):
    """Privacy losses j ratio and their probabilities, j = -3k, ..., 3k, for k picks and k released
    values.
    """
    counts = np.arange(picks + 1)
    pick = np.zeros(4 * picks + 1)  # loss (2a - k) 2 ratio: steps of 4
    pick[::4] = binom.pmf(counts, picks, 1.0 / (1.0 + np.exp(-2.0 * ratio)))
    value = np.zeros(2 * picks + 1)  # loss (2b - k) ratio: steps of 2
    value[::2] = binom.pmf(counts, picks, 1.0 / (1.0 + np.exp(-ratio)))
    return ratio * np.arange(-3 * picks, 3 * picks + 1), np.convolve(pick, value)


def composition_delta(epsilon: float, picks: int, ratio: float) -> float:
    """Smallest delta that k = picks picks and values guarantee at epsilon >= 0, if all that is
    known is that they are pure 2 ratio and pure ratio private: the sum over the losses L of P(L)
    max(0, 1 - exp(epsilon - L))."""
    epsilon, ratio = need_float("epsilon", epsilon, 0.0), need_float("ratio", ratio, 0.0)
    if need_int("picks", picks, 0) == 0 or ratio == 0.0:
        return 0.0
    loss, chance = _losses(int(picks), ratio)
    above = loss > epsilon
    return float(np.sum(chance[above] * -np.expm1(epsilon - loss[above])))


def composition_epsilon(delta: float, picks: int, ratio: float) -> float:
    """Smallest epsilon >= 0 with composition_delta(epsilon, picks, ratio) <= delta, for delta in
    (0, 1).
    """
    _, delta = need_budget(1.0, delta)
    picks, ratio = need_int("picks", picks, 0), need_float("ratio", ratio, 0.0, allow_inf=True)
    if picks == 0 or ratio == 0.0:
        return 0.0
    if ratio == np.inf:
        return np.inf
    if composition_delta(0.0, picks, ratio) <= delta:
        return 0.0

    def gap(e):
        return composition_delta(e, picks, ratio) - delta

    return float(brentq(gap, 0.0, 3.0 * picks * ratio, xtol=1e-12))


@lru_cache(maxsize=4096)
def exact_factor(picks: int, epsilon: float, delta: float) -> float:
    """Smallest xi / sensitivity at which k = picks picks and values are (epsilon, delta)-DP, for
    epsilon in [1e-9, 1e9]; 0.0 at epsilon = inf.
    """
    picks = need_int("picks", picks, 1)
    epsilon, delta = need_affordable(epsilon, delta)
    if epsilon == np.inf:
        return 0.0

    def gap(log_ratio):
        return composition_delta(epsilon, picks, np.exp(log_ratio)) - delta

    # at ratio epsilon/(3k) the pure bound holds (delta 0); at the upper end delta is almost one
    low, high = np.log(epsilon / (3.0 * picks)), np.log(epsilon + 50.0)
    low -= 1e-6 if gap(low) > 0.0 else 0.0  # rounding, where the largest loss is epsilon
    log_ratio, back = brentq(gap, low, high, xtol=1e-13), 1e-13
    while gap(log_ratio) > 0.0:  # land on the private side of the root
        log_ratio, back = log_ratio - back, 2.0 * back
    return float(np.exp(-log_ratio))


def noise_scales(
    paper: bool,
    n: np.ndarray,
    sparsity: int,
    epsilon: float,
    delta: float,
    eta: float,
    x_max: float,
    b_max: float,
    R: np.ndarray,
    iterations: np.ndarray,
) -> tuple[tuple[np.ndarray, np.ndarray], float]:
    """((xi_first, xi_rest), epsilon that they guarantee on contexts in [-x_max, x_max]).

    A swap of one of n rows moves eta times the gradient by at most 4 eta x_max R/n in iteration 0,
    where theta = 0, and by 4 eta x_max (R + x_max b_max)/n in later ones.  Corrected: these times
    the factor of exact composition of sparsity M picks.  Paper: eta (R + x_max b_max)/n times the
    factor of Algorithm 3, the budget split over M iterations.  Its arguments are all of `fliphat`.
    """
    moves = 4.0 * eta * x_max * R / n, 4.0 * eta * x_max * (R + x_max * b_max) / n
    steps = [max(int(m), 1) for m in iterations]
    if not paper:
        factors = np.array([exact_factor(sparsity * m, epsilon, delta) for m in steps])
        return (moves[0] * factors, moves[1] * factors), epsilon
    factors = np.array([paper_factor(sparsity, epsilon, delta, m) for m in steps])
    xi = eta * (R + x_max * b_max) / n * factors  # line 7
    worst = 0.0
    for i in np.flatnonzero(iterations * (xi > 0.0)):
        ratio = moves[0 if steps[i] == 1 else 1][i] / xi[i]
        worst = max(worst, composition_epsilon(delta, sparsity * steps[i], ratio))
    return (xi, xi.copy()), worst
