"""Calibration and composition: sensitivity in, noise scale out; noise scale in, guarantee
out.

Closed forms over SciPy; compositions without one go to the `dp-accounting` library (tests
compare the two).  What was searched for is remembered: policies of one budget are made
again and again. Searches end on the private side: scales and epsilons are rounded up, rho
down, by more than the rounding errors of what they were compared with.
Source: Dwork and Roth (2014), Theorem A.1 (classical Gaussian); Balle and Wang (2018),
Theorem 8 (exact); Canonne, Kamath and Steinke (2020), Proposition 12 (concentrated
privacy).
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import erfcx, ndtr

from companion.validate import (
    need_choice,
    need_float,
    need_int,
    need_positive,
    need_probability,
)

NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)  # of the mean slope in `delta_at`
NARROW = 1.0  # shifts up to here are integrated: the difference of two tails would cancel
FAR_SHIFT = 1e8  # from this shift a on, rounding hides the tail of the loss
FAR_BUDGET = 5e15  # the epsilon that belongs to it
FAR_RHO = 1e12  # from this rho or epsilon on, rounding hides the tail of `zcdp_delta`
ROUNDING = 1e-12  # relative error of the deltas of this module, see `delta_bound`


def edge(holds, inside: float, outside: float) -> float:
    """The last value on the way from inside to outside at which `holds(value)` is true.

    inside, outside: positive; `holds` is true at the first, false at the second, and
    changes once. The search halves the way in logarithms, so it is as fine at 1e-20 as at
    1, and returns a value at which `holds` was seen to be true, within a relative 1e-14
    of one at which it was not.

    >>> edge(lambda x: x * x <= 2e-40, 1e-30, 1.0)
    1.414213562373...e-20
    """
    while abs(np.log(outside) - np.log(inside)) > 1e-14:
        middle = float(np.sqrt(inside) * np.sqrt(outside))
        if middle in (inside, outside):
            break
        if holds(middle):
            inside = middle
        else:
            outside = middle
    return inside


def beyond(holds, start: float, factor: float) -> float:
    """The first of start, start factor, start factor^2, ... at which `holds(value)` is
    true."""
    while not holds(start):
        start *= factor
    return start


def tail_ratio(t):
    """R(t) = Phi(-t) / phi(t), the tail of a standard normal over its density."""
    return np.sqrt(np.pi / 2.0) * erfcx(t / np.sqrt(2.0))


def delta_at(epsilon: float, a):
    """Smallest delta at epsilon >= 0 and a = sensitivity / sigma > 0, a number or an
    array.

    With x = epsilon/a - a/2 and y = x + a it is Phi(-x) - e^epsilon Phi(-y).  As y^2 -
    x^2 = 2 epsilon, the second term is phi(x) R(y), R as in `tail_ratio`.  For a small
    shift a the two are nearly equal, and their difference is an integral: phi(x) times
    that of -R'(t) = 1 - t R(t) over t from x to y, by Gauss's rule, where nothing
    cancels.
    """
    a = np.asarray(a, dtype=np.float64)
    x = epsilon / a - a / 2.0
    with np.errstate(over="ignore", invalid="ignore"):  # in the branch that is not taken
        density = np.exp(-x * x / 2.0) / np.sqrt(2.0 * np.pi)
        # ndtr errs more far out
        tail = np.where(x > 0.0, density * tail_ratio(x), ndtr(-x))
        wide = tail - density * tail_ratio(x + a)
        t = x[..., None] + a[..., None] * (NODES + 1.0) / 2.0
        slope = np.maximum(1.0 - t * tail_ratio(t), 0.0) @ (WEIGHTS / 2.0)
        narrow = density * a * slope
    return np.maximum(np.where(a > NARROW, wide, narrow), 0.0)


def delta_bound(epsilon: float, a):
    """`delta_at`, enlarged by more than its rounding error.

    For |x| <= 40 (beyond, delta underflows) errors of x, about 2e-16 (1 + a), change
    phi(x) by 40 times as much; cancellation and special functions add less than 1e-12.
    """
    return delta_at(epsilon, a) * (1.0 + ROUNDING + 1e-14 * a)


@lru_cache(maxsize=1024)
def epsilon_at(delta: float, a: float) -> float:
    """Smallest epsilon >= 0 at this delta and a = sensitivity / sigma > 0, rounded up."""
    if delta_bound(0.0, a) <= delta:
        return 0.0
    # log of the loss tail: epsilon = a^2/2 + a z is enough when Phi(-z) = delta.
    high = a * a / 2 + a * 40.0
    if a > FAR_SHIFT:  # what is enough is at most 1e-6 of it too large
        return high

    def enough(epsilon):
        return delta_bound(epsilon, a) <= delta

    return edge(enough, high, beyond(lambda e: e < 1e-300 or not enough(e), high, 0.1))


@lru_cache(maxsize=1024)
def unit_scale(epsilon: float, delta: float) -> float:
    """Smallest sigma for sensitivity 1 at a finite budget, rounded up."""
    if epsilon > FAR_BUDGET:  # 1/a with a^2/2 + 40 a = epsilon, as in `epsilon_at`
        return (40.0 + np.sqrt(1600.0 + 2.0 * epsilon)) / (2.0 * epsilon)

    def enough(sigma):
        return delta_bound(epsilon, 1.0 / sigma) <= delta

    high = beyond(enough, 1e-3, 10.0)
    return edge(enough, high, beyond(lambda sigma: not enough(sigma), high, 0.1))


class Guarantee(NamedTuple):
    """The privacy that the noise really drawn gives, as data.

    model: who is trusted ("none": no privacy, "local", "shuffle", "joint", "central");
    epsilon, delta: the budget; neighbours: the relation between two inputs; unit: whose
    data it is; claimed: what the source asserts of the same noise, where that differs (an
    `(epsilon, delta)` pair or None).
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
            text += (
                f" (claimed: epsilon = {self.claimed[0]:.3g}, delta = "
                f"{self.claimed[1]:.3g})"
            )
        return text


NO_PRIVACY = Guarantee(
    model="none",
    epsilon=np.inf,
    delta=1.0,
    neighbours="none",
    unit="none",
)
REPLACE_RECORD = "replace one record"
ADD_OR_REMOVE = "add or remove one record"
REPLACE_REWARD = "replace one reward"  # contexts are public
RELATIONS = REPLACE_RECORD, ADD_OR_REMOVE, REPLACE_REWARD

# L2 sensitivities of what one user (x, y) releases, by the universe that x and y come
# from.   "ball":          ||x|| <= 1, |y| <= 1.
#       pair:        ||x - x'||^2 + (y - y')^2 <= 4 + 4.
#       statistics:  (x x', x y) in Frobenius + Euclidean norm.  With c = <x, x'> on the
# sphere the                    two parts are at most 2 - 2c^2 and 2 + 2|c|; the sum 4 +
# 2|c| - 2c^2 is                    largest at |c| = 1/2, where it is 4.5.
#   "offset_sphere": x = (u, 1/sqrt2), ||u|| <= 1/sqrt2, 0 <= y <= 1, where c lies in [0,
# 1].       pair:        2 + 1.
#       statistics:  2 - 2c^2 + max(2 - 2c, 1) <= 4, attained at c = 0.
PAIR_SENSITIVITY = {"ball": np.sqrt(8.0), "offset_sphere": np.sqrt(3.0)}
STATISTICS_SENSITIVITY = {"ball": np.sqrt(4.5), "offset_sphere": 2.0}
UNIVERSES = tuple(PAIR_SENSITIVITY)


def need_budget(epsilon: float, delta) -> tuple[float, float]:
    """(epsilon, delta) as floats, epsilon in (0, inf], delta in (0, 1)."""
    return need_positive("epsilon", epsilon, allow_inf=True), need_probability(
        "delta",
        delta,
    )


def gaussian_delta(epsilon: float, sigma: float, sensitivity: float = 1.0) -> float:
    """Smallest delta at which N(0, sigma^2) noise at this L2 sensitivity is (epsilon,
    delta)-DP.

    epsilon >= 0, sigma >= 0 (0: no privacy, delta = 1), sensitivity > 0.  Balle and Wang
    (2018), Theorem 8.  Right to a relative 1e-12 + 1e-14 sensitivity / sigma, and rounded
    up by as much.
    """
    epsilon = need_float("epsilon", epsilon, 0.0)
    sigma = need_float("sigma", sigma, 0.0)
    a = need_positive("sensitivity", sensitivity)
    return 1.0 if sigma == 0.0 else float(min(1.0, delta_bound(epsilon, a / sigma)))


def gaussian_epsilon(delta: float, sigma: float, sensitivity: float = 1.0) -> float:
    """Smallest epsilon >= 0 at which N(0, sigma^2) noise is (epsilon, delta)-DP (inf at
    0).

    >>> round(gaussian_epsilon(1e-5, sigma=3.73), 2)
    1.0
    """
    delta = need_probability("delta", delta)
    sigma = need_float("sigma", sigma, 0.0)
    sensitivity = need_positive("sensitivity", sensitivity)
    return np.inf if sigma == 0.0 else epsilon_at(delta, sensitivity / sigma)


def gaussian_scale(
    epsilon: float,
    delta: float,
    sensitivity: float = 1.0,
    method: str = "analytic",
) -> float:
    """Standard deviation of the Gaussian mechanism for a query of this L2 sensitivity.

    epsilon in (0, inf] (inf: 0.0), delta in (0, 1).  method: "analytic" is exact;
    "classical" is sensitivity sqrt(2 ln(1.25/delta))/epsilon, proved for epsilon <= 1
    only and refused above; "classical-unchecked" is the same formula anywhere, for
    reproducing papers that use it so.

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
            "epsilon must be in (0, 1] for the classical Gaussian mechanism; got "
            f"epsilon={epsilon}"
        )
    if method != "analytic":
        return sensitivity * np.sqrt(2.0 * np.log(1.25 / delta)) / epsilon
    return sensitivity * unit_scale(epsilon, delta)


def gaussian_release(
    model,
    epsilon,
    delta,
    calibration,
    universe,
    sensitivities,
    *,
    paper=None,
    releases=1,
) -> tuple[float, Guarantee]:
    """(sigma, Guarantee) of one Gaussian release of one user's record, or of several at
    once.

    model of the Guarantee; sensitivities: universe -> L2 sensitivity of one release; a
    record enters `releases` >= 1 of them, which together have sqrt(releases) times that
    sensitivity. calibration "corrected" is the exact sigma for it; "paper" the classical
    formula, unchecked, for the sensitivity `paper` (None: the true one), and the
    Guarantee says what it really gives. epsilon = inf: no noise, no privacy.  Raises
    ValueError on anything else.
    """
    need_choice("calibration", calibration, ("paper", "corrected"))
    need_choice("universe", universe, UNIVERSES)
    epsilon, delta = need_budget(epsilon, delta)
    if epsilon == np.inf:
        return 0.0, NO_PRIVACY
    sensitivity = sensitivities[universe] * np.sqrt(releases)
    claimed = None
    if calibration == "corrected":
        sigma = gaussian_scale(epsilon, delta, sensitivity)
    else:
        printed = sensitivity if paper is None else paper
        claimed = (epsilon, delta)
        sigma = gaussian_scale(epsilon, delta, printed, "classical-unchecked")
    true = gaussian_epsilon(delta, sigma, sensitivity)
    return sigma, Guarantee(
        model=model,
        epsilon=true,
        delta=delta,
        neighbours=REPLACE_RECORD,
        unit=f"user ({universe})",
        claimed=claimed,
    )


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Largest mu = sensitivity / sigma of a Gaussian mechanism that is (epsilon,
    delta)-DP.

    epsilon in (0, inf], delta in (0, 1); inf at epsilon = inf.  k releases of mu_1, ...,
    mu_k, each chosen after the ones before, are together one of mu^2 = sum mu_i^2.
    """
    scale = gaussian_scale(epsilon, delta)
    return 1.0 / scale if scale > 0.0 else np.inf


def zcdp_delta(rho, epsilon):
    """A delta at which every rho-zCDP mechanism is (epsilon, delta)-DP; rho, epsilon >=
    0, finite and of any size.

    min over a > 1 of exp((a - 1)(a rho - epsilon)) (1 - 1/a)^a / (a - 1).
    """
    if rho == 0.0:
        return 0.0

    def log_delta(u):  # u = log(a - 1); (1 - 1/a)^a / (a - 1) = (a - 1)^(a - 1) / a^a
        over = np.exp(u)
        factor = -over * np.log1p(1.0 / over) - np.log1p(over)
        with np.errstate(over="ignore"):  # beyond all floats is not the minimum
            return over * ((1.0 + over) * rho - epsilon) + factor

    # the minimum but for the factor
    centre = np.log(max((epsilon - rho) / (2.0 * rho), 1e-3))
    found = minimize_scalar(
        log_delta,
        bounds=(centre - 12, centre + 12),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return float(np.exp(min(0.0, found.fun)))


def _within(rho, epsilon, delta):
    """Whether `zcdp_delta`, enlarged by more than its rounding error, is at most delta:
    below `FAR_RHO` the exponent is right to 1e-14 (1 + sqrt(rho) + sqrt(epsilon))."""
    error = ROUNDING + 1e-14 * (np.sqrt(rho) + np.sqrt(epsilon))
    return zcdp_delta(rho, epsilon) * (1.0 + error) <= delta


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Smallest epsilon >= 0 that `zcdp_delta` gives for rho-zCDP at delta in (0, 1),
    rounded up."""
    rho = need_float("rho", rho, 0.0, allow_inf=True)
    delta = need_probability("delta", delta)
    return np.inf if rho == np.inf else _epsilon_of_rho(rho, delta)


@lru_cache(maxsize=1024)
def _epsilon_of_rho(rho, delta):
    """`zcdp_epsilon` of checked, finite numbers."""
    if _within(rho, 0.0, delta):
        return 0.0
    high = float(rho + 2.0 * np.sqrt(rho * np.log(1.0 / delta)))  # Bun and Steinke (2016)
    if rho > FAR_RHO:  # this is at most 1e-4 of it too large
        return high

    def enough(epsilon):
        return _within(rho, epsilon, delta)

    high = beyond(enough, high, 1.0 + 1e-9)  # it may miss by a rounding error
    return edge(enough, high, beyond(lambda e: e < 1e-300 or not enough(e), high, 0.1))


def zcdp_rho(epsilon: float, delta: float) -> float:
    """Largest rho at which rho-zCDP is (epsilon, delta)-DP by `zcdp_delta` (epsilon =
    inf: inf), rounded down."""
    epsilon, delta = need_budget(epsilon, delta)
    return np.inf if epsilon == np.inf else _rho_of_epsilon(epsilon, delta)


@lru_cache(maxsize=1024)
def _rho_of_epsilon(epsilon, delta):
    """`zcdp_rho` of checked, finite numbers."""
    root = np.sqrt(np.log(1.0 / delta))
    # Bun and Steinke (2016)
    low = float((epsilon / (root + np.sqrt(root * root + epsilon))) ** 2)
    if epsilon > FAR_RHO:
        return low * (1.0 - 1e-12)

    def enough(rho):
        return _within(rho, epsilon, delta)

    low = beyond(enough, low, 0.5)  # it may miss by a rounding error
    return edge(enough, low, beyond(lambda rho: not enough(rho), low, 2.0))


def laplace_scale(epsilon: float, sensitivity: float = 1.0) -> float:
    """Scale of the Laplace mechanism at this L1 sensitivity: sensitivity / epsilon (inf:
    0.0).

    >>> laplace_scale(0.5, sensitivity=2.0)
    4.0
    """
    epsilon = need_positive("epsilon", epsilon, allow_inf=True)
    return need_positive("sensitivity", sensitivity) / epsilon


def tree_levels(T: float) -> int:
    """Levels of the tree over T rounds, floor(log2 T) + 1: a user is in at most so many
    nodes."""
    return need_int("T", T, 1).bit_length()


def shuffle_epsilon(epsilon0: float, delta: float, n: int) -> float:
    """Central epsilon at delta of n shuffled messages, each epsilon0-LDP; epsilon0 itself
    where no bound is smaller.

    Feldman, McMillan and Talwar (2021), Theorem 3.1: for epsilon0 <= ln(n / (16
    ln(2/delta))), epsilon = ln(1 + (e^epsilon0 - 1)/(e^epsilon0 + 1) (8 sqrt(e^epsilon0
    ln(4/delta)/n) + 8 e^epsilon0/n)).
    """
    epsilon0 = need_positive("epsilon0", epsilon0, allow_inf=True)
    delta = need_probability("delta", delta)
    n = need_int("n", n, 1)
    if not epsilon0 <= np.log(n / (16.0 * np.log(2.0 / delta))):
        return epsilon0
    e = np.exp(epsilon0)
    blanket = 8.0 * np.sqrt(e * np.log(4.0 / delta) / n) + 8.0 * e / n
    return float(min(epsilon0, np.log1p((e - 1.0) / (e + 1.0) * blanket)))
