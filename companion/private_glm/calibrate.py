"""From a budget to the noise of Joint-DP GLM, and back: what one user can lose.

Sensitivities under replacing one user (x, r) by (x', r'), ||x|| <= 1, r in [0, 1], 0 <= w <= L/e
with L = slope(0), the largest slope of either link:
    tree V      ||x x' - y y'||_F <= sqrt2, attained by orthogonal x, y; alone 1
    tree H      ||w x x' - v y y'||_F <= sqrt2 L/e; alone L/e
    gradients   of the sum: 2; alone 1
"Alone" is the user who explores under one data set only: x x' is then in V under one of them and
nothing under the other, and likewise for H and for the two optimisers.
A user is in m = floor(log2 T) + 1 nodes of a tree.  With sigma_H = sigma_V L/e both trees have the
same rho = m/sigma_V^2, and the mixed user m (1/2 + 1/2)/sigma_V^2, the same again.  With sigma^2 =
2 cutoff steps/rho for gradients, the mixed user loses rho/4 in each of two optimisers.
"""

import math
from typing import NamedTuple

from companion.accounting.privacy import (
    NO_PRIVACY,
    REPLACE_RECORD,
    Guarantee,
    need_budget,
    tree_levels,
)
from companion.baselines.glm_parts import need_bernoulli_link, need_kappa
from companion.kernels.glm import slope
from companion.private_glm.descent import SENSITIVITY, Descent
from companion.private_glm.ledger import Release, budget, gdp, together, total
from companion.validate import need_choice, need_int, need_positive

GROWTH = 2.0  # of a released matrix between two fits, in the order of matrices
FALSE_FIT = 0.01  # chance that noise alone lets tr V grow by the guard, once in T rounds
UNIT = "user (contexts in the unit ball, reward in [0, 1])"


class Params(NamedTuple):
    """What does not change during a run of Joint-DP GLM."""

    d: int  # dimension of a context
    T: int  # horizon
    link: int  # number of the link
    theta_bound: float  # S
    threshold: float  # 1/(gamma^2 kappa): Criterion I fires at squared widths from here on
    elimination: float  # gamma sqrt(kappa)
    width: float  # beta
    ridge_v: float  # lambda of V
    ridge_h: float  # lambda of H
    sigma_v: float  # noise of a node of V's tree
    sigma_h: float  # noise of a node of H's tree
    guard: float  # least gain of tr V between two fits of theta_o
    fit_o: Descent  # on explored rounds
    fit_tau: Descent  # on all others
    literal: bool  # whether fits follow the printed rule


def top_weight(link: int) -> float:
    """Largest weight of a leaf of tree H: slope(0)/e."""
    return slope(link, 0.0) / math.e


def ledgers(p: Params) -> dict[str, list[Release]]:
    """{which user: its releases}: who explores under both data sets, under none, or under one."""
    m, root, top = tree_levels(p.T), math.sqrt(2.0), top_weight(p.link)
    n_o, n_tau = (q.cutoff * q.steps for q in (p.fit_o, p.fit_tau))
    return {
        "explores": [
            Release("nodes of tree V", m, root, p.sigma_v),
            Release("gradients, explored", n_o, SENSITIVITY, p.fit_o.sigma),
        ],
        "exploits": [
            Release("nodes of tree H", m, root * top, p.sigma_h),
            Release("gradients, exploited", n_tau, SENSITIVITY, p.fit_tau.sigma),
        ],
        "changes sides": [
            Release("nodes of tree V", m, 1.0, p.sigma_v),
            Release("nodes of tree H", m, top, p.sigma_h),
            Release("gradients, explored", n_o, 0.5 * SENSITIVITY, p.fit_o.sigma),
            Release("gradients, exploited", n_tau, 0.5 * SENSITIVITY, p.fit_tau.sigma),
        ],
    }


def spent(p: Params) -> float:
    """Total rho of the user who loses most: `together` where one user enters a tree and a fit."""
    if p.sigma_v == 0.0:
        return math.inf
    found = ledgers(p)
    same_side = [together(*(r.rho for r in found[who])) for who in ("explores", "exploits")]
    return max(*same_side, total(found["changes sides"]))


def noise(epsilon: float, delta: float, T: int, link: int, q) -> tuple[float, float, float, float]:
    """(sigma_v, sigma_h, sigma of gradients o, of gradients tau) of this budget and preset q."""
    if epsilon == math.inf:
        return 0.0, 0.0, 0.0, 0.0
    rho_tree, rho_fits = budget(epsilon, delta, q.calibration, q.share)
    sigma_v = math.sqrt(tree_levels(T) / rho_tree)

    def gradients(n):
        return SENSITIVITY * math.sqrt(n / (2.0 * rho_fits))

    o, tau = gradients(q.cutoff_o * q.steps_o), gradients(q.cutoff_tau * q.steps_tau)
    return sigma_v, sigma_v * top_weight(link), o, tau


def guard(d: int, T: int, worst: float) -> float:
    """Least gain of tr V for a fit of theta_o, from the noise `worst` of an entry of a prefix.

    The noise of a trace is normal with standard deviation at most sqrt(d) worst, so by the union
    bound over T rounds it exceeds sqrt(2 log(T/`FALSE_FIT`)) times that with chance `FALSE_FIT` at
    most.  A fit to noise alone rules out good arms for the rest of the run.
    """
    return math.sqrt(2.0 * math.log(T / FALSE_FIT) * d) * worst


def make(
    d: int,
    T: int,
    epsilon: float,
    delta: float,
    link: str,
    theta_bound: float,
    kappa,
    rule: str,
    q,
) -> tuple[Params, Guarantee]:
    """(Params, Guarantee) from the arguments of `joint.joint_glm` and a `Preset` q; raises
    ValueError by name."""
    d, T = need_int("d", d, 1), need_int("T", T, 1)
    epsilon, delta = need_budget(epsilon, delta)
    link, bound = need_bernoulli_link(link), need_positive("theta_bound", theta_bound)
    kappa = need_kappa(link, bound, kappa)
    need_choice("rule", rule, ("corrected", "paper"))
    sigma_v, sigma_h, sigma_o, sigma_tau = noise(epsilon, delta, T, link, q)
    worst = sigma_v * math.sqrt(tree_levels(T))  # noise of the prefix with most blocks
    size = math.sqrt(d / 3.0)
    p = Params(
        d, T, link, bound,
        1.0 / (q.gamma**2 * kappa),
        q.gamma * math.sqrt(kappa),
        q.width,
        max(1.0, q.a_v * worst * size),
        max(0.5, q.a_h * worst * top_weight(link) * size),
        sigma_v, sigma_h,
        guard(d, T, worst),
        Descent(link, bound, q.steps_o, q.cutoff_o, sigma_o, q.penalty, 0.5 * slope(link, 0.0)),
        Descent(link, bound, q.steps_tau, q.cutoff_tau, sigma_tau, q.penalty, math.e),
        rule == "paper",
    )  # fmt: skip
    return p, guarantee(p, epsilon, delta, q.calibration)


def guarantee(p: Params, epsilon: float, delta: float, calibration: str) -> Guarantee:
    """What the noise in p gives: from the ledger; nothing under the printed rule of refreshing."""
    if epsilon == math.inf:
        return NO_PRIVACY
    true = math.inf if p.literal else gdp(spent(p), delta)
    claimed = (epsilon, delta) if p.literal or calibration != "corrected" else None
    return Guarantee("joint", true, delta, REPLACE_RECORD, UNIT, claimed)
