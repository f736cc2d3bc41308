"""Calibration and composition: sensitivity in, noise scale out; noise scale in, guarantee out.

Closed forms over SciPy; compositions without one go to the `dp-accounting` library (tests compare
the two).  What was searched for is remembered: policies of one budget are made again and again.
Source: Dwork and Roth (2014), Theorem A.1 (classical Gaussian); Balle and Wang (2018), Theorem 8
(exact); Canonne, Kamath and Steinke (2020), Proposition 12 (concentrated privacy).
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import log_ndtr, ndtr

from companion.validate import (
    need_choice,
    need_float,
    need_int,
    need_positive,
    need_probability,
)


def delta_at(epsilon: float, a):
    """Smallest delta at epsilon >= 0 and a = sensitivity / sigma > 0, a number or an array."""
    with np.errstate(over="ignore"):  # far below the answer the bound is -inf, which is below delta
        return ndtr(a / 2 - epsilon / a) - np.exp(epsilon + log_ndtr(-a / 2 - epsilon / a))


@lru_cache(maxsize=1024)
def epsilon_at(delta: float, a: float) -> float:
    """Smallest epsilon >= 0 at this delta and a = sensitivity / sigma > 0."""
    if delta_at(0.0, a) <= delta:
        return 0.0
    # log of the loss tail: epsilon = a^2/2 + a z is enough when Phi(-z) = delta.
    high = a * a / 2 + a * 40.0
    if a > 1e8:  # where rounding hides the tail; what is enough is at most 1e-6 of it too large
        return high
    return float(brentq(lambda e: delta_at(e, a) - delta, 0.0, high, xtol=1e-13, rtol=1e-13))


@lru_cache(maxsize=1024)
def unit_scale(epsilon: float, delta: float) -> float:
    """Smallest sigma for sensitivity 1 at a finite budget."""
    low, high = 1e-3, 1e3
    while delta_at(epsilon, 1.0 / low) <= delta:
        low /= 10.0
    while delta_at(epsilon, 1.0 / high) > delta:
        high *= 10.0
    return float(
        brentq(lambda s: delta_at(epsilon, 1.0 / s) - delta, low, high, xtol=1e-15, rtol=1e-14)
    )


class Guarantee(NamedTuple):
    """The privacy that the noise really drawn gives, as data.

    model: who is trusted ("none": no privacy, "local", "shuffle", "joint", "central"); epsilon,
    delta: the budget; neighbours: the relation between two inputs; unit: whose data it is;
    claimed: what the source asserts of the same noise, where that differs (an `(epsilon, delta)`
    pair or None).
    """

    model: str
    epsilon: float
    delta: float
    neighbours: str
    unit: str
    claimed: tuple | None = None

    def __str__(self):
        if self.model == "none":
            return "no privacy"
        text = f"({self.epsilon:.3g}, {self.delta:.3g})-{self.model} DP"
        text += f", {self.neighbours}, per {self.unit}"
        if self.claimed is not None:
            text += f" (claimed: epsilon = {self.claimed[0]:.3g}, delta = {self.claimed[1]:.3g})"
        return text


NO_PRIVACY = Guarantee("none", np.inf, 1.0, "none", "none")
REPLACE_RECORD = "replace one record"
ADD_OR_REMOVE = "add or remove one record"
REPLACE_REWARD = "replace one reward"  # contexts are public
RELATIONS = REPLACE_RECORD, ADD_OR_REMOVE, REPLACE_REWARD

# L2 sensitivities of what one user (x, y) releases, by the universe that x and y come from.
#   "ball":          ||x|| <= 1, |y| <= 1.
#       pair:        ||x - x'||^2 + (y - y')^2 <= 4 + 4.
#       statistics:  (x x', x y) in Frobenius + Euclidean norm.  With c = <x, x'> on the sphere the
#                    two parts are at most 2 - 2c^2 and 2 + 2|c|; the sum 4 + 2|c| - 2c^2 is
#                    largest at |c| = 1/2, where it is 4.5.
#   "offset_sphere": x = (u, 1/sqrt2), ||u|| <= 1/sqrt2, 0 <= y <= 1, where c lies in [0, 1].
#       pair:        2 + 1.
#       statistics:  2 - 2c^2 + max(2 - 2c, 1) <= 4, attained at c = 0.
PAIR_SENSITIVITY = {"ball": np.sqrt(8.0), "offset_sphere": np.sqrt(3.0)}
STATISTICS_SENSITIVITY = {"ball": np.sqrt(4.5), "offset_sphere": 2.0}
UNIVERSES = tuple(PAIR_SENSITIVITY)


def need_budget(epsilon: float, delta) -> tuple[float, float]:
    """(epsilon, delta) as floats, epsilon in (0, inf], delta in (0, 1)."""
    return need_positive("epsilon", epsilon, allow_inf=True), need_probability("delta", delta)


def gaussian_delta(epsilon: float, sigma: float, sensitivity: float = 1.0) -> float:
    """Smallest delta at which N(0, sigma^2) noise at this L2 sensitivity is (epsilon, delta)-DP.

    epsilon >= 0, sigma >= 0 (0: no privacy, delta = 1), sensitivity > 0.  Balle and Wang (2018),
    Theorem 8.
    """
    epsilon = need_float("epsilon", epsilon, 0.0)
    sigma = need_float("sigma", sigma, 0.0)
    a = need_positive("sensitivity", sensitivity)
    return 1.0 if sigma == 0.0 else float(delta_at(epsilon, a / sigma))


def gaussian_epsilon(delta: float, sigma: float, sensitivity: float = 1.0) -> float:
    """Smallest epsilon >= 0 at which N(0, sigma^2) noise is (epsilon, delta)-DP (inf at 0).

    >>> round(gaussian_epsilon(1e-5, sigma=3.73), 2)
    1.0
    """
    delta, sigma = need_probability("delta", delta), need_float("sigma", sigma, 0.0)
    sensitivity = need_positive("sensitivity", sensitivity)
    return np.inf if sigma == 0.0 else epsilon_at(delta, sensitivity / sigma)


def gaussian_scale(
    epsilon: float, delta: float, sensitivity: float = 1.0, method: str = "analytic"
) -> float:
    """Standard deviation of the Gaussian mechanism for a query of this L2 sensitivity.

    epsilon in (0, inf] (inf: 0.0), delta in (0, 1).  method: "analytic" is exact; "classical" is
    sensitivity sqrt(2 ln(1.25/delta))/epsilon, proved for epsilon <= 1 only and refused above;
    "classical-unchecked" is the same formula anywhere, for reproducing papers that use it so.

    >>> round(gaussian_scale(1.0, 1e-5), 2)
    3.73
    """
    epsilon, delta = need_budget(epsilon, delta)
    sensitivity = need_positive("sensitivity", sensitivity)
    need_choice("method", method, ("analytic", "classical", "classical-unchecked"))
    if epsilon == np.inf:
        return 0.0
    if method == "classical" and epsilon > 1.0:
        raise ValueError(
            f"epsilon must be in (0, 1] for the classical Gaussian mechanism; got epsilon={epsilon}"
        )
    if method != "analytic":
        return sensitivity * np.sqrt(2.0 * np.log(1.25 / delta)) / epsilon
    return sensitivity * unit_scale(epsilon, delta)


def gaussian_release(
    model, epsilon, delta, calibration, universe, sensitivities, *, paper=None, releases=1
) -> tuple[float, Guarantee]:
    """(sigma, Guarantee) of one Gaussian release of one user's record, or of several at once.

    model of the Guarantee; sensitivities: universe -> L2 sensitivity of one release; a record
    enters `releases` >= 1 of them, which together have sqrt(releases) times that sensitivity.
    calibration "corrected" is the exact sigma for it; "paper" the classical formula, unchecked, for
    the sensitivity `paper` (None: the true one), and the Guarantee says what it really gives.
    epsilon = inf: no noise, no privacy.  Raises ValueError on anything else.
    """
    need_choice("calibration", calibration, ("paper", "corrected"))
    need_choice("universe", universe, UNIVERSES)
    epsilon, delta = need_budget(epsilon, delta)
    if epsilon == np.inf:
        return 0.0, NO_PRIVACY
    sensitivity, claimed = sensitivities[universe] * np.sqrt(releases), None
    if calibration == "corrected":
        sigma = gaussian_scale(epsilon, delta, sensitivity)
    else:
        printed, claimed = sensitivity if paper is None else paper, (epsilon, delta)
        sigma = gaussian_scale(epsilon, delta, printed, "classical-unchecked")
    true = gaussian_epsilon(delta, sigma, sensitivity)
    return sigma, Guarantee(model, true, delta, REPLACE_RECORD, f"user ({universe})", claimed)


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Largest mu = sensitivity / sigma of a Gaussian mechanism that is (epsilon, delta)-DP.

    epsilon in (0, inf], delta in (0, 1); inf at epsilon = inf.  k releases of mu_1, ..., mu_k, each
    chosen after the ones before, are together one of mu^2 = sum mu_i^2.
    """
    scale = gaussian_scale(epsilon, delta)
    return 1.0 / scale if scale > 0.0 else np.inf


def zcdp_delta(rho: float, epsilon: float) -> float:
    """A delta at which every rho-zCDP mechanism is (epsilon, delta)-DP; rho, epsilon >= 0.

    min over a > 1 of exp((a - 1)(a rho - epsilon)) (1 - 1/a)^a / (a - 1).
    """
    rho, epsilon = need_float("rho", rho, 0.0), need_float("epsilon", epsilon, 0.0)
    if rho == 0.0:
        return 0.0

    def log_delta(u):  # u = log(a - 1); (1 - 1/a)^a / (a - 1) = (a - 1)^(a - 1) / a^a
        over = np.exp(u)
        a = 1.0 + over
        with np.errstate(over="ignore"):  # beyond all floats is not the minimum
            return over * (a * rho - epsilon) + over * u - a * np.log1p(over)

    centre = np.log(max((epsilon - rho) / (2.0 * rho), 1e-3))  # the minimum but for the factor
    found = minimize_scalar(log_delta, bounds=(centre - 12, centre + 12), method="bounded",
                            options={"xatol": 1e-10})  # fmt: skip
    return float(np.exp(min(0.0, found.fun)))


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Smallest epsilon >= 0 that `zcdp_delta` gives for rho-zCDP at delta in (0, 1)."""
    rho, delta = need_float("rho", rho, 0.0, allow_inf=True), need_probability("delta", delta)
    if rho == np.inf:
        return np.inf
    if zcdp_delta(rho, 0.0) <= delta:
        return 0.0
    high = rho + 2.0 * np.sqrt(rho * np.log(1.0 / delta))  # Bun and Steinke (2016)
    if rho > 1e12:  # where rounding hides the tail; this is at most 1e-4 of it too large
        return float(high)
    return float(brentq(lambda e: zcdp_delta(rho, e) - delta, 0.0, high, xtol=1e-13, rtol=1e-13))


def zcdp_rho(epsilon: float, delta: float) -> float:
    """Largest rho at which rho-zCDP is (epsilon, delta)-DP by `zcdp_delta` (epsilon = inf: inf)."""
    epsilon, delta = need_budget(epsilon, delta)
    if epsilon == np.inf:
        return np.inf
    high = epsilon + 1.0  # rho < epsilon unless delta is large
    while zcdp_delta(high, epsilon) <= delta:
        high *= 2.0
    return float(brentq(lambda rho: zcdp_delta(rho, epsilon) - delta, 0.0, high, xtol=1e-16))


def laplace_scale(epsilon: float, sensitivity: float = 1.0) -> float:
    """Scale of the Laplace mechanism at this L1 sensitivity: sensitivity / epsilon (inf: 0.0).

    >>> laplace_scale(0.5, sensitivity=2.0)
    4.0
    """
    epsilon = need_positive("epsilon", epsilon, allow_inf=True)
    return need_positive("sensitivity", sensitivity) / epsilon


def tree_levels(T: float) -> int:
    """Levels of the tree over T rounds, floor(log2 T) + 1: a user is in at most so many nodes."""
    return need_int("T", T, 1).bit_length()


def shuffle_epsilon(epsilon0: float, delta: float, n: int) -> float:
    """Central epsilon at delta of n shuffled messages, each epsilon0-LDP; epsilon0 itself where no
    bound is smaller.

    Feldman, McMillan and Talwar (2021), Theorem 3.1: for epsilon0 <= ln(n / (16 ln(2/delta))),
    epsilon = ln(1 + (e^epsilon0 - 1)/(e^epsilon0 + 1) (8 sqrt(e^epsilon0 ln(4/delta)/n) + 8
    e^epsilon0/n)).
    """
    epsilon0 = need_positive("epsilon0", epsilon0, allow_inf=True)
    delta = need_probability("delta", delta)
    n = need_int("n", n, 1)
    if not epsilon0 <= np.log(n / (16.0 * np.log(2.0 / delta))):
        return epsilon0
    e = np.exp(epsilon0)
    blanket = 8.0 * np.sqrt(e * np.log(4.0 / delta) / n) + 8.0 * e / n
    return float(min(epsilon0, np.log1p((e - 1.0) / (e + 1.0) * blanket)))
