"""The ledger of Algorithm 2: every Gaussian release that one user enters, and the epsilon of all.

A release of L2 sensitivity s under noise of standard deviation sigma is s^2/(2 sigma^2)-zCDP and
s/sigma-Gaussian-DP; both add up (as rho, and as squares) over releases chosen adaptively, so a list
of releases with total rho is exactly as private as one Gaussian release with s/sigma = sqrt(2 rho).
Four conversions to epsilon at delta, from exact to loose:
    gdp     the exact curve of that one release
    rdp     the best order of Renyi differential privacy (the paper's remark on its simulations)
    simple  rho + 2 sqrt(rho log(1/delta))  (the conversion that its proofs use)
    paper   closed forms, each of three parts at (epsilon/3, delta/3): rho = epsilon^2/(144
            log(3/delta)) for the trees, epsilon^2/(144 log(8/delta)) for the optimisers
Source: Bun and Steinke (2016); Dong, Roth and Su (2022), Corollary 3.3; Mironov (2017); Section 6
and Appendix J.3 of the paper.
"""

import math
from typing import NamedTuple

from scipy.optimize import brentq, minimize_scalar

from companion.accounting.privacy import gaussian_epsilon, gaussian_scale, need_budget
from companion.validate import need_choice, need_float, need_probability

CALIBRATIONS = ("corrected", "rdp", "simple", "thirds", "paper")


class Release(NamedTuple):
    """`times` Gaussian releases of this L2 sensitivity under N(0, sigma^2) noise."""

    name: str
    times: int
    sensitivity: float
    sigma: float

    @property
    def rho(self) -> float:
        """zCDP of all of them: times s^2/(2 sigma^2); inf without noise."""
        if self.sigma == 0.0:
            return math.inf if self.times * self.sensitivity > 0 else 0.0
        return self.times * self.sensitivity**2 / (2.0 * self.sigma**2)


def total(releases) -> float:
    """rho of a list of releases."""
    return math.fsum(r.rho for r in releases)


def gdp(rho: float, delta: float) -> float:
    """Exact epsilon at delta of Gaussian releases with this total rho >= 0."""
    rho = need_float("rho", rho, 0.0, allow_inf=True)
    if rho == math.inf:
        return math.inf
    return gaussian_epsilon(delta, 1.0, math.sqrt(2.0 * rho)) if rho > 0.0 else 0.0


def rdp(rho: float, delta: float) -> float:
    """Epsilon at delta by the best Renyi order: min over a > 1 of a rho + (log(1/delta) - log(a -
    1) + a log(1 - 1/a))/(a - 1); never below 0."""
    rho, delta = need_float("rho", rho, 0.0), need_probability("delta", delta)

    def epsilon(log_excess):
        a = 1.0 + math.exp(log_excess)
        return a * rho + (-math.log(delta) - log_excess + a * math.log1p(-1.0 / a)) / (a - 1.0)

    best = minimize_scalar(epsilon, bounds=(-12.0, 25.0), method="bounded")
    return max(0.0, float(best.fun))


def simple_rho(epsilon: float, delta: float) -> float:
    """The rho with rho + 2 sqrt(rho log(1/delta)) = epsilon."""
    root = math.log(1.0 / delta)
    return (math.sqrt(root + epsilon) - math.sqrt(root)) ** 2


def together(rho_tree: float, rho_fits: float) -> float:
    """Most that one replaced user can lose of both, if alone she could lose rho_tree and rho_fits.

    Let c be the cosine of the two contexts.  In units of its bound a leaf is A x x' (0 <= A <= 1)
    and a gradient a x (|a| <= 1), so the loss is rho_tree (A^2 + B^2 - 2 A B c^2)/2 + rho_fits (a^2
    + b^2 - 2 a b c)/4.  It is convex in each of A, B, a, b, hence largest at their ends:
        A = B = 1:     rho_tree (1 - c^2) + rho_fits (1 + |c|)/2, over 0 <= |c| <= 1
        A = 1, B = 0:  rho_tree/2 + rho_fits (1 + |c|)/2 <= rho_tree/2 + rho_fits
    Orthogonal contexts move a matrix most, opposite ones a gradient: no user is worst for both.
    """
    c = min(1.0, rho_fits / (4.0 * rho_tree)) if rho_tree > 0.0 else 1.0
    orthogonal = rho_tree * (1.0 - c * c) + 0.5 * rho_fits * (1.0 + c)
    return max(orthogonal, 0.5 * rho_tree + rho_fits)


def budget(
    epsilon: float, delta: float, calibration: str, share: float = 0.5
) -> tuple[float, float]:
    """(rho of the trees, rho of the optimisers) that this accounting spends at (epsilon, delta).

    epsilon in (0, inf), delta in (0, 1); calibration in `CALIBRATIONS`: "corrected" is gdp;
    "thirds" is simple at (epsilon/3, delta/3) for trees and optimisers each, as the paper composes;
    all but "thirds" and "paper" divide one total, of which the trees get `share`; for "corrected"
    the total is what makes `together` exact, for the others the sum.  Raises ValueError on anything
    else.
    """
    epsilon, delta = need_budget(epsilon, delta)
    need_choice("calibration", calibration, CALIBRATIONS)
    if calibration == "paper":
        scale = epsilon**2 / 144.0
        return scale / math.log(3.0 / delta), scale / math.log(8.0 / delta)
    if calibration == "thirds":
        rho = simple_rho(epsilon / 3.0, delta / 3.0)
        return rho, rho
    if calibration == "corrected":
        rho = 0.5 / gaussian_scale(epsilon, delta) ** 2 / together(share, 1.0 - share)
    elif calibration == "simple":
        rho = simple_rho(epsilon, delta)
    else:  # from 0 up to the exact budget, which rdp cannot reach
        high = 0.5 / gaussian_scale(epsilon, delta) ** 2
        rho = brentq(lambda r: rdp(r, delta) - epsilon, 0.0, high, xtol=1e-14, rtol=1e-12)
    return share * rho, (1.0 - share) * rho
