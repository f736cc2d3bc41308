"""Noise from a budget, and the budget that a noise spends: Theorems 3.1 and 3.11, and exact ones.

A record enters one leaf g_i of the sum, and given what was released before (theta_i, theta_(i-1)
are then fixed) replacing it moves that leaf alone:
    ||g_i - g_i'||_q <= 2 i beta ||theta_i - theta_(i-1)||_p + 2 L <= 2 (beta D + L),
because theta_i - theta_(i-1) = c (v_(i-1) - theta_(i-1))/i with step scale c <= 1, and D = 2 r.  A
leaf clipped to norm C moves by at most 2 C, for any data.
Source: the paper, sections A.1 and A.6; Bassily, Guzman and Nandi (2021), Lemma 2.7 of the paper.
"""

import math
from typing import NamedTuple

import numpy as np

from companion.accounting.privacy import (
    NO_PRIVACY,
    REPLACE_RECORD,
    Guarantee,
    gaussian_epsilon,
    gaussian_mu,
    need_budget,
    tree_levels,
    zcdp_epsilon,
    zcdp_rho,
)
from companion.kernels.geometry import (
    dual_exponent,
    euclidean_factor,
    need_exponent,
    smooth_exponent,
)
from companion.kernels.tree import root_coefficients
from companion.streaming_sco.learner import (
    ARGMIN,
    FALLING,
    INNER,
    LOSSES,
    METHODS,
    PAPER,
    SCHEDULES,
    SQRT,
    SQUARES,
    TREE,
    Params,
)
from companion.streaming_sco.movement import sum_movement
from companion.validate import need_choice, need_float, need_int, need_positive

PRINTED = METHODS[TREE], METHODS[ARGMIN]  # the methods whose noise the paper prints
LEMMA_LIMIT = 2.0  # epsilon per release up to which Lemma 2.7 is proved (by concentrated privacy)


class Problem(NamedTuple):
    """What a record and a parameter may be, and what follows for gradients."""

    d: int
    n: int
    p: float
    q: float
    radius: float
    loss: int
    low: float
    high: float
    beta: float  # smoothness: ||grad f(a; z) - grad f(b; z)||_q <= beta ||a - b||_p
    lipschitz: float  # L: ||grad f||_q <= L

    @property
    def sensitivity(self) -> float:
        """2 (beta D + L): how far one record moves an unclipped leaf in l_q."""
        return 2.0 * (2.0 * self.radius * self.beta + self.lipschitz)


def problem(d: int, n: int, p: float, radius: float, loss: str, label_bound: float) -> Problem:
    """The checked `Problem`, for contexts with ||x||_q <= 1.

    squares: f = (y - x'theta)^2, |y| <= Y: gradient 2 (x'theta - y) x, so beta = 2, L = 2 (r + Y).
    logistic, probit: gradient (mean(x'theta) - y) x, 0 <= y <= Y: beta is the largest slope of the
    link (1/4, 1/sqrt(2 pi)), L = max(1, Y).  inner product: gradient x, so beta = 0, L = 1.
    """
    d, n, p = need_int("d", d, 1), need_int("n", n, 1), need_exponent("p", p)
    r, Y = need_positive("radius", radius), need_positive("label_bound", label_bound)
    kind = LOSSES.index(need_choice("loss", loss, LOSSES))
    if kind == SQUARES:
        beta, lipschitz, low = 2.0, 2.0 * (r + Y), -Y
    elif kind == INNER:
        beta, lipschitz, low = 0.0, 1.0, -Y
    else:
        beta = 0.25 if loss == "logistic" else 1.0 / math.sqrt(2.0 * math.pi)
        lipschitz, low = max(1.0, Y), 0.0
    return Problem(d, n, p, dual_exponent(p), r, kind, low, Y, beta, lipschitz)


def leaf_clip(c: Problem, clip: float | None, calibration: str) -> float:
    """C: the default is 2 (r + Y) for squares (see `leaf`: g_i is nearly the gradient at a vertex),
    beta D + L, which never binds, for other losses; inf, no clipping, for what the paper prints.
    """
    if clip is not None:
        return need_positive("clip", clip, allow_inf=True)
    if calibration != "corrected":
        return np.inf
    return c.lipschitz if c.loss == SQUARES else 0.5 * c.sensitivity


def make_params(
    c: Problem,
    clip: float,
    clip_norm: float,
    step_scale: float,
    method: int,
    *,
    exponent: float = 2.0,
    sigma: float = 0.0,
    scale: float = 0.0,
    schedule: int = PAPER,
) -> Params:
    """`Params` of a learner from the problem and the noise; method: its number."""
    step = need_float("step_scale", step_scale, 0.0, 1.0, open_low=True)  # > 1: longer than D
    return Params(c.d, c.n, c.p, c.q, c.radius, c.loss, c.low, c.high, clip, clip_norm, step,
                  method, exponent, sigma, scale, schedule)  # fmt: skip


def sum_noise(
    c: Problem, epsilon: float, delta: float, calibration: str, method: int, clip: float
) -> tuple[dict[str, float], float]:
    """({exponent, sigma}, true epsilon) of the noise of released prefix sums.

    "paper": Theorem 3.1, sigma_+^2 = 8 m'^2 kappa log(m'/delta) (beta D + L)^2 / epsilon^2 with
    m' = ceil(log2 n) + 1 nodes, generalized Gaussian in a norm for which kappa is valid; refused
    where the Lemma 2.7 that it uses per node is not proved (epsilon/m' > 2).  "zcdp": the same
    noise with sigma_+^2 = m kappa s^2/(2 rho), as each of the m = floor(log2 n) + 1 nodes that hold
    a leaf is kappa s^2/(2 sigma_+^2)-zCDP.  "corrected": Gaussian, sigma = s_2 sqrt(m)/mu, exactly;
    the square root has sum f_k^2, the largest squared column norm of B, in the place of m.  For the
    squared loss on the l_2 ball s_2 is smaller than 2 C (`movement`).
    """
    if calibration == "corrected":
        moved = total_movement(c, method, clip)
        sigma = moved / gaussian_mu(epsilon, delta)
        return {"exponent": 2.0, "sigma": sigma}, gaussian_epsilon(delta, sigma, moved)
    released = releases(c.n, method)
    if method == SQRT:
        raise ValueError(f"factorisation 'sqrt' needs calibration='corrected'; got {calibration!r}")
    s = c.sensitivity if clip == np.inf else 2.0 * clip
    exponent, kappa, shrink = smooth(c.q, c.d)
    if calibration == "zcdp":
        sigma = math.sqrt(released * kappa / (2.0 * zcdp_rho(epsilon, delta))) * s
    else:
        m = math.ceil(math.log2(c.n)) + 1
        if epsilon / m > LEMMA_LIMIT:
            raise ValueError(
                f"epsilon must be at most {LEMMA_LIMIT * m:g} (2 per node) for calibration='paper';"
                f" got epsilon={epsilon}"
            )
        sigma = math.sqrt(2.0 * m * m * kappa * math.log(m / delta)) * s / epsilon
    if exponent == 2.0:  # an ordinary Gaussian: its privacy is known exactly
        s2 = s * euclidean_factor(c.q, c.d)
        sigma *= shrink
        true = gaussian_epsilon(delta, sigma, s2 * math.sqrt(released))
    else:
        true = zcdp_epsilon(released * kappa * s * s / (2.0 * sigma * sigma), delta)
    return {"exponent": exponent, "sigma": sigma}, true


def smooth(q: float, d: int) -> tuple[float, float, float]:
    """(exponent, kappa, shrink): l_q is kappa-regular with the norm l_exponent / shrink.

    q >= 2: `smooth_exponent`, shrink 1.  q < 2: d^(1/2 - 1/p) ||.||_2 with kappa = d^(1 - 2/p)
    (Lemma 3.10), so noise of scale sigma in that norm is N(0, sigma^2 d^(2/p - 1) I).
    """
    if q >= 2.0:
        return (*smooth_exponent(q, d), 1.0)
    kappa = d ** (2.0 / q - 1.0)  # 1 - 2/p = 2/q - 1
    return 2.0, kappa, 1.0 / math.sqrt(kappa)


def releases(n: int, method) -> float:
    """Squared growth of one leaf's shift over all that is released: m of the tree, or sum f_k^2."""
    return float((root_coefficients(n) ** 2).sum()) if method == SQRT else float(tree_levels(n))


def total_movement(c, method, clip) -> float:
    """Root of the largest squared l_2 shift of all releases of the noise "corrected".

    Clipped leaves of squares at p = 2: `sum_movement`.  Only the first leaf has all m releases:
    leaf i of the tree lies in m less the one-bits of i - 1.
    """
    released = releases(c.n, method)
    if c.p != 2.0 or c.loss != SQUARES or clip == np.inf:
        return euclidean_sensitivity(c, clip) * math.sqrt(released)
    later = releases(c.n - 1, SQRT) if method == SQRT and c.n > 1 else released - 1.0
    return sum_movement(c.radius, c.high, clip, released, later)


def euclidean_sensitivity(c, clip) -> float:
    """How far one record moves a leaf in l_2: 2 C if clipped there, else from the l_q bound."""
    return c.sensitivity * euclidean_factor(c.q, c.d) if clip == np.inf else 2.0 * clip


def vertex_noise(
    c: Problem,
    epsilon: float,
    delta: float,
    calibration: str,
    selector: str,
    schedule: int,
    clip: float,
) -> tuple[dict[str, float], float]:
    """({scale, schedule}, true epsilon) of the noisy vertex selection.

    The score of a vertex v is <d_t, v>; a record moves d_t by at most s/(t + 1) in l_inf, so the
    *range* of the change over the ball is at most D s/(t + 1), and a selection with noise b_t loses
    at most epsilon_t = range/b_t (a common shift of all scores changes nothing).  zCDP adds up:
    rho_t = epsilon_t^2/2 for Laplace noise, epsilon_t^2/8 for Gumbel (the exponential mechanism).
    "paper": b_t = 4 D (beta D + L) sqrt(log n log(1/delta))/(epsilon sqrt t).  "corrected":
    epsilon_t = a/sqrt t (falling) or constant, so that the sum is rho(epsilon, delta).
    """
    s = c.sensitivity if clip == np.inf else 2.0 * clip
    spread, t = 2.0 * c.radius * s, np.arange(1, c.n + 1)
    unit = 8.0 if selector == "gumbel" else 2.0
    if calibration == "paper":
        if c.n < 2:
            raise ValueError(f"n must be at least 2 for calibration='paper'; got n={c.n}")
        scale = 2.0 * spread * math.sqrt(math.log(c.n) * math.log(1.0 / delta)) / epsilon
        losses = spread / (t + 1) / (scale / np.sqrt(t))
        schedule = PAPER
    else:
        shape = 1.0 / np.sqrt(t) if schedule == FALLING else np.ones(c.n)
        a = math.sqrt(unit * zcdp_rho(epsilon, delta) / (shape**2).sum())
        scale, losses = spread / a, a * shape
    rho = float((losses**2).sum()) / unit
    true = min(zcdp_epsilon(rho, delta), float(losses.sum()))
    return {"scale": scale, "schedule": schedule}, true


def calibrated(
    c: Problem,
    epsilon: float,
    delta: float | None,
    calibration: str,
    method: str,
    *,
    schedule: str = "constant",
    clip: float | None = None,
    step_scale: float = 1.0,
    model: str = "central",
    unit: str = "record",
) -> tuple[Params, Guarantee]:
    """(Params, Guarantee): a learner with the noise that a budget buys, and what it then promises.

    c: a `Problem`; epsilon in (0, inf] (inf: no noise), delta in (0, 1) (None: 1/n); calibration,
    method, schedule, clip, step_scale: as `streaming_fw` and `vertex_fw` say; model, unit: of the
    guarantee.  The default clip of a released sum is that of `leaf_clip`, in l_2.
    """
    epsilon, delta = need_budget(epsilon, 1.0 / c.n if delta is None and c.n > 1 else delta)
    kind = SCHEDULES.index(need_choice("schedule", schedule, SCHEDULES[1:]))
    if calibration == "paper" and (clip is not None or method not in PRINTED):
        raise ValueError(
            f"calibration='paper' must go with one of {PRINTED} and clip=None; got {method!r}, "
            f"clip={clip!r}"
        )
    number, bound = METHODS.index(method), leaf_clip(c, clip, calibration)
    noise, said, norm = {}, NO_PRIVACY, np.inf
    if number <= SQRT:
        norm = c.q if calibration == "zcdp" else 2.0
        bound *= euclidean_factor(c.q, c.d) if clip is None else 1.0
    if epsilon < np.inf:
        if number <= SQRT:
            noise, true = sum_noise(c, epsilon, delta, calibration, number, bound)
        else:
            noise, true = vertex_noise(c, epsilon, delta, calibration, method, kind, bound)
        claimed = (epsilon, delta) if calibration == "paper" else None
        said = Guarantee(model, true, delta, REPLACE_RECORD, unit, claimed)
    return make_params(c, bound, norm, step_scale, number, **noise), said
