"""Streaming Frank-Wolfe with recursive gradients: Algorithms 1, 2 and 4.

With steps 1/(t + 1) and d_0 = 0 the recursion (1) of the paper,
    d_t = grad f(theta_t; z_t) + (1 - 1/(t + 1)) (d_(t-1) - grad f(theta_(t-1); z_t)),
is a running sum, d_t = (g_1 + ... + g_t)/(t + 1), of leaves
    g_t = (t + 1) grad f(theta_t; z_t) - t grad f(theta_(t-1); z_t).
Algorithm 1 releases the sum with the noise of a tree (Algorithm 4) or of a square-root
factorisation.  Algorithm 2 keeps it secret and shows a vertex of the l_1 ball, chosen at
random:
    1 for t = 1, ..., n:
    2     S <- S + g_t
    3     Algorithm 1: release S with the noise of its blocks of records
    4     d_t = S/(t + 1), v_t = argmin <d_t, v> in the ball (Algorithm 2: a noisy choice)
    5     publish theta_(t+1) = theta_t + 1/(t + 1) (v_t - theta_t)
Source: Han, Liang, Liang, Wang, Yao and Zhang (2022), Algorithms 1, 2, 4; Theorems 3.1
and 3.11.
Privacy: central; neighbours replace one record, which enters one leaf.  Given what was
released before, theta_t and theta_(t-1) are fixed, so that leaf alone moves, by at most
    2 t beta ||theta_t - theta_(t-1)||_p + 2 L <= 2 (beta D + L) in l_q, D = 2 r,
or by 2 C if it is clipped to norm C.  Releases compose as one Gaussian mechanism
(`movement`) or by concentrated privacy.
Differs: d_0 = 0 (line 4 of Algorithm 2 counts record 1 twice); steps in line 5 may be
c/(t + 1) with 0 < c <= 1, while leaves keep their weights; leaves may be clipped; records
outside ||x||_q <= 1, low <= y <= Y are clipped into it and counted; the default
calibration has the noise that the budget needs exactly; the tree is in streaming form, in
which powers of two are no special case; besides the paper's Laplace noise on all 2 d
scores, one draw per coordinate ("coordinates") or the exponential mechanism ("gumbel")
may choose the vertex.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from companion.accounting import privacy
from companion.accounting.privacy import (
    NO_PRIVACY,
    REPLACE_RECORD,
    Guarantee,
    tree_levels,
)
from companion.baselines.arguments import need_size, need_spending
from companion.core import Optimiser, Release
from companion.jit import borrowed, inlined, jit
from companion.kernels import geometry, glm
from companion.kernels.geometry import euclidean_factor
from companion.kernels.mechanisms import (
    generalized_gaussian,
    laplace,
    signed_exponential,
    signed_noisy_max,
)
from companion.kernels.tree import complete, root_coefficients, root_noise, trailing_zeros
from companion.validate import need_choice, need_float, need_int

LOSSES = ("squares", "logistic", "probit", "inner product")
SQUARES, LOGISTIC, PROBIT, INNER = range(4)  # 1 and 2 are the links of `glm`
METHODS = ("tree", "sqrt", "argmin", "coordinates", "gumbel")
TREE, SQRT, ARGMIN, COORDINATES, GUMBEL = range(5)
SCHEDULES = ("paper", "falling", "constant")
PAPER, FALLING, CONSTANT = range(3)
FACTORISATIONS = METHODS[: SQRT + 1]
SELECTORS = METHODS[SQRT + 1 :]


# What a record and a parameter may be.


class Problem(NamedTuple):
    """A loss on the l_p ball, and what follows for gradients."""

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
    def sensitivity(self):
        """2 (beta D + L): how far one record moves an unclipped leaf in l_q."""
        return 2.0 * (2.0 * self.radius * self.beta + self.lipschitz)


def make_problem(d, n, p, radius, loss, label_bound) -> Problem:
    """The checked `Problem`, for contexts with ||x||_q <= 1.

    squares: f = (y - x'theta)^2, |y| <= Y: gradient 2 (x'theta - y) x, so beta = 2, L = 2
    (r + Y). logistic, probit: gradient (mean(x'theta) - y) x, 0 <= y <= Y: beta is the
    largest slope of the link (1/4, 1/sqrt(2 pi)), L = max(1, Y).  inner product: gradient
    x, so beta = 0, L = 1.
    """
    d = need_int("d", d, 1)
    n = need_int("n", n, 1)
    p = geometry.need_exponent("p", p)
    r = need_size("radius", radius)
    Y = need_size("label_bound", label_bound)
    kind = LOSSES.index(need_choice("loss", loss, LOSSES))
    if kind == SQUARES:
        beta = 2.0
        lipschitz = 2.0 * (r + Y)
        low = -Y
    elif kind == INNER:
        beta = 0.0
        lipschitz = 1.0
        low = -Y
    else:
        beta = 0.25 if loss == "logistic" else 1.0 / math.sqrt(2.0 * math.pi)
        lipschitz = max(1.0, Y)
        low = 0.0
    return Problem(
        d=d,
        n=n,
        p=p,
        q=geometry.dual_exponent(p),
        radius=r,
        loss=kind,
        low=low,
        high=Y,
        beta=beta,
        lipschitz=lipschitz,
    )


def leaf_clip(problem, clip, calibration):
    """C: the default is 2 (r + Y) for squares (g_t is nearly the gradient at a vertex),
    beta D + L, which never binds, for other losses; inf, no clipping, for what the paper
    prints."""
    if clip is not None:
        return need_size("clip", clip, allow_inf=True)
    if calibration != "corrected":
        return np.inf
    return problem.lipschitz if problem.loss == SQUARES else 0.5 * problem.sensitivity


# Noise of released sums: Theorem 3.1, and exactly.


def leaf_growth(n, method):
    """By what the squared shift of one leaf grows over all that is released.

    tree: floor(log2 n) + 1 blocks hold the first leaf; sqrt: sum f_k^2, the largest
    squared column norm of the root of the matrix of prefix sums.
    """
    if method == SQRT:
        return float((root_coefficients(n) ** 2).sum())
    return float(tree_levels(n))


def leaf_movement(size, labels):
    """The largest ||g - g'||_2 for squares, ||x||_2 <= 1, |y| <= Y = labels, |w| = size.

    The leaf is g = 2 (x'w - y) x with w = (t + 1) theta_t - t theta_(t-1), which is
    public before the record comes.  For unit x, z at angles a, b to a unit vector u, at
    an angle psi to w,
        u'(g - g') <= |w| (cos(2 a + psi) - cos(2 b + psi)) + 2 Y (|cos a| + |cos b|)
                   <= 2 |w| |sin(a - b)| + 2 Y (|cos a| + |cos b|),
    where the middle terms cancelled.  Signs of x and z change neither side, so both
    cosines may be taken non-negative; for a fixed a - b their sum is largest at a = -b =
    gamma:
        ||g - g'||_2 <= max over gamma of 2 |w| sin(2 gamma) + 4 Y cos(gamma),
    where sin(gamma) = (-Y + sqrt(Y^2 + 8 |w|^2))/(4 |w|).  Shorter contexts and other
    planes give no more: the bound is convex in the length of the part in the plane of u
    and w.  It is attained by x, z = cos(phi) w/|w| +- sin(phi) e, y = -Y for both, e
    orthogonal to w, phi = pi/2 - gamma.

    >>> leaf_movement(0.0, 1.0), round(leaf_movement(2.0, 1.2), 4)
    (4.0, 7.6907)
    """
    if size == 0.0:
        return 4.0 * labels
    sine = (math.sqrt(labels * labels + 8.0 * size * size) - labels) / (4.0 * size)
    return 4.0 * math.sqrt(1.0 - sine * sine) * (size * sine + labels)


FARTHEST = 1.5  # |w| / r, see `movement`


def movement(problem, method, clip):
    """Root of the largest squared l_2 shift of all released sums when one record is
    replaced.

    In general s_2 sqrt(`leaf_growth`), s_2 = 2 C or, unclipped, what 2 (beta D + L) in
    l_q makes in l_2.  Clipped squares on the l_2 ball move less (`leaf_movement`;
    clipping brings no two leaves further apart).  There w = 0 at t = 1 and (3/2) c v_1 at
    t = 2, c <= 1 the step scale; later w = (1 - c - c/t) theta_(t-1) + c (1 + 1/t)
    v_(t-1), of length at most r (1 + 2/t), and at t = 3 at most (3/2) r as ||theta_2|| <=
    r/2.  So |w| <= (3/2) r.  Only the first leaf has all releases: leaf i of the tree
    lies in as many less the one-bits of i - 1.
    """
    n = problem.n
    first = leaf_growth(problem.n, method)
    if clip == np.inf:
        s2 = problem.sensitivity * euclidean_factor(problem.q, problem.d)
        return s2 * math.sqrt(first)
    if problem.p != 2.0 or problem.loss != SQUARES:
        return 2.0 * clip * math.sqrt(first)
    later = leaf_growth(n - 1, SQRT) if method == SQRT and n > 1 else first - 1.0
    shifts = [leaf_movement(w * problem.radius, problem.high) for w in (0.0, FARTHEST)]
    at_first, after = (min(2.0 * clip, shift) for shift in shifts)
    return max(at_first * math.sqrt(first), after * math.sqrt(later))


def smooth_norm(q, d):
    """(exponent, kappa, shrink): l_q is kappa-regular with the norm l_exponent / shrink.

    q >= 2: `smooth_exponent`, shrink 1.  q < 2: d^(1/2 - 1/p) ||.||_2 with kappa = d^(1 -
    2/p) (Lemma 3.10), so noise of scale sigma in that norm is N(0, sigma^2 d^(2/p - 1)
    I).
    """
    if q >= 2.0:
        return (*geometry.smooth_exponent(q, d), 1.0)
    kappa = d ** (2.0 / q - 1.0)  # 1 - 2/p = 2/q - 1
    return 2.0, kappa, 1.0 / math.sqrt(kappa)


# epsilon per release up to which Lemma 2.7 is proved (by concentrated privacy)
LEMMA_LIMIT = 2.0


def sum_noise(problem, epsilon, delta, calibration, method, clip):
    """(exponent, sigma, true epsilon) of the noise of released prefix sums.

    "paper": Theorem 3.1, sigma_+^2 = 8 m'^2 kappa log(m'/delta) (beta D + L)^2 /
    epsilon^2 with m' = ceil(log2 n) + 1 nodes, generalized Gaussian in a norm for which
    kappa is valid; refused where Lemma 2.7, used per node, is not proved (epsilon/m' >
    2).  "zcdp": the same noise with sigma_+^2 = m kappa s^2/(2 rho), as each of the m
    nodes that hold a leaf is kappa s^2/(2 sigma_+^2)-zCDP.  "corrected": Gaussian, sigma
    = `movement`/mu, exactly.
    """
    if calibration == "corrected":
        moved = movement(problem, method, clip)
        sigma = moved / privacy.gaussian_mu(epsilon, delta)
        return 2.0, sigma, privacy.gaussian_epsilon(delta, sigma, moved)
    if method == SQRT:
        raise ValueError(
            f"factorisation 'sqrt' needs calibration='corrected'; got {calibration!r}"
        )
    growth = leaf_growth(problem.n, method)
    s = problem.sensitivity if clip == np.inf else 2.0 * clip
    exponent, kappa, shrink = smooth_norm(problem.q, problem.d)
    if calibration == "zcdp":
        sigma = math.sqrt(growth * kappa / (2.0 * privacy.zcdp_rho(epsilon, delta))) * s
    else:
        m = math.ceil(math.log2(problem.n)) + 1
        if epsilon / m > LEMMA_LIMIT:
            raise ValueError(
                f"epsilon must be at most {LEMMA_LIMIT * m:g} (2 per node) for "
                f"calibration='paper'; got epsilon={epsilon}"
            )
        sigma = math.sqrt(2.0 * m * m * kappa * math.log(m / delta)) * s / epsilon
    if exponent == 2.0:  # an ordinary Gaussian: its privacy is known exactly
        sigma *= shrink
        moved = s * euclidean_factor(problem.q, problem.d) * math.sqrt(growth)
        return exponent, sigma, privacy.gaussian_epsilon(delta, sigma, moved)
    rho = growth * kappa * s * s / (2.0 * sigma * sigma)
    return exponent, sigma, privacy.zcdp_epsilon(rho, delta)


# Noise of chosen vertices: Theorem 3.11, and by concentrated privacy.


def schedule_sums(schedule, n):
    """(sum of a_t, sum of a_t^2) over t = 1..n for losses epsilon_t proportional to a_t.

    Beyond the first million a_t <= 1/sqrt t is summed by its integral, which is larger.
    """
    if schedule == CONSTANT:
        return float(n), float(n)
    m = min(n, 1_000_000)
    t = np.arange(1.0, m + 1.0)
    a = 1.0 / np.sqrt(t) if schedule == FALLING else np.sqrt(t) / (t + 1.0)
    return a.sum() + 2.0 * (math.sqrt(n) - math.sqrt(m)), (a**2).sum() + math.log(n / m)


def vertex_noise(problem, epsilon, delta, calibration, method, schedule, clip):
    """(scale, schedule, true epsilon) of the noisy choice of a vertex.

    The score of a vertex v is <d_t, v>; a record moves d_t by at most s/(t + 1) in l_inf,
    so the *range* of the change over the ball is at most D s/(t + 1), and a choice with
    noise b_t loses at most epsilon_t = range/b_t (a common shift of all scores changes
    nothing).  zCDP adds up: rho_t = epsilon_t^2/2 for Laplace noise, epsilon_t^2/8 for
    Gumbel (the exponential mechanism).
    "paper": b_t = 4 D (beta D + L) sqrt(log n log(1/delta))/(epsilon sqrt t).
    "corrected": epsilon_t = a/sqrt t (falling) or constant, so that the sum is
    rho(epsilon, delta).
    """
    n = problem.n
    s = problem.sensitivity if clip == np.inf else 2.0 * clip
    spread = 2.0 * problem.radius * s
    unit = 8.0 if method == GUMBEL else 2.0
    if calibration == "paper":
        if n < 2:
            raise ValueError(f"n must be at least 2 for calibration='paper'; got {n=}")
        schedule = PAPER
        scale = 2.0 * spread * math.sqrt(math.log(n) * math.log(1.0 / delta)) / epsilon
    total, squares = schedule_sums(schedule, n)
    if calibration != "paper":
        scale = spread / math.sqrt(unit * privacy.zcdp_rho(epsilon, delta) / squares)
    loss = spread / scale
    true = privacy.zcdp_epsilon(loss**2 * squares / unit, delta)
    return scale, schedule, min(true, loss * total)


class Params(NamedTuple):
    d: int  # dimension
    n: int  # records for which the guarantee holds
    p: float  # the ball is that of l_p ...
    q: float  # ... and gradients live in l_q
    radius: float  # r
    loss: int  # of LOSSES
    low: float  # labels are clipped to [low, high]
    high: float
    clip: float  # bound of a leaf g_t in l_clip_norm; inf: none
    clip_norm: float
    step: float  # c in (0, 1]: steps are c/(t + 1)
    method: int  # of METHODS
    exponent: float = 2.0  # the noise of sums is that of the norm l_exponent
    sigma: float = 0.0  # its scale
    scale: float = 0.0  # vertices: b_t is this times the schedule
    schedule: int = PAPER  # of SCHEDULES


def calibrated(problem, epsilon, delta, calibration, method, schedule, clip, step_scale):
    """(Params, Guarantee): a learner with the noise that a budget buys, and what it then
    promises.

    problem: a `Problem`; all else as `streaming_fw` and `vertex_fw` say.
    """
    epsilon, delta = need_spending(epsilon, delta, problem.n)
    schedule = SCHEDULES.index(need_choice("schedule", schedule, SCHEDULES[1:]))
    # > 1: longer than D
    step = need_float("step_scale", step_scale, 0.0, 1.0, open_low=True)
    printed = METHODS[TREE], METHODS[ARGMIN]
    if calibration == "paper" and (clip is not None or method not in printed):
        raise ValueError(
            f"calibration='paper' must go with one of {printed} and clip=None; got "
            f"{method!r}, clip={clip!r}"
        )
    number = METHODS.index(method)
    bound = leaf_clip(problem, clip, calibration)
    norm = np.inf
    if number == SQRT:
        # n d numbers are kept
        need_int("n", problem.n, 1, max(1, 100_000_000 // problem.d))
    if number <= SQRT:
        norm = problem.q if calibration == "zcdp" else 2.0
        bound *= euclidean_factor(problem.q, problem.d) if clip is None else 1.0
    p = Params(
        d=problem.d,
        n=problem.n,
        p=problem.p,
        q=problem.q,
        radius=problem.radius,
        loss=problem.loss,
        low=problem.low,
        high=problem.high,
        clip=bound,
        clip_norm=norm,
        step=step,
        method=number,
    )
    if epsilon == np.inf:
        return p, NO_PRIVACY
    if number <= SQRT:
        law = sum_noise(problem, epsilon, delta, calibration, number, bound)
        exponent, sigma, true = law
        p = p._replace(exponent=exponent, sigma=sigma)
    else:
        law = vertex_noise(problem, epsilon, delta, calibration, number, schedule, bound)
        scale, schedule, true = law
        p = p._replace(scale=scale, schedule=schedule)
    claimed = (epsilon, delta) if calibration == "paper" else None
    return p, Guarantee(
        model="central",
        epsilon=true,
        delta=delta,
        neighbours=REPLACE_RECORD,
        unit="record",
        claimed=claimed,
    )


# The algorithms.


class State(NamedTuple):
    t: np.ndarray  # (1,) records read
    clipped: np.ndarray  # (1,) those of them that were outside the universe
    theta: np.ndarray  # (d,) public parameter
    old: np.ndarray  # (d,) the one before
    total: np.ndarray  # (d,) exact g_1 + ... + g_t (secret)
    gradient: np.ndarray  # (d,) d_t as released; for vertices it is exact, and secret
    v: np.ndarray  # (d,) vertex
    # tree: (levels, d) prefix noise by last level; sqrt: (n, d) of every prefix
    noise: np.ndarray
    x: np.ndarray  # (d,) clipped context


def init(p, rng) -> State:
    """State before the first record: theta_0 = theta_1 = 0.  rng draws the path of
    "sqrt"."""
    if p.method == SQRT and p.sigma > 0.0:
        noise = root_noise(p.n, p.d, p.sigma, rng)
    elif p.method == TREE:
        noise = np.zeros((tree_levels(p.n), p.d))
    else:
        noise = np.zeros((1, p.d))
    return State(
        t=np.zeros(1, np.int64),
        clipped=np.zeros(1, np.int64),
        theta=np.zeros(p.d),
        old=np.zeros(p.d),
        total=np.zeros(p.d),
        gradient=np.zeros(p.d),
        v=np.zeros(p.d),
        noise=noise,
        x=np.zeros(p.d),
    )


@jit
def loss_slope(loss, z, y):
    """Derivative of the loss in the score z = x'theta: the gradient is this times x."""
    if loss == SQUARES:
        return 2.0 * (z - y)
    if loss == INNER:
        return 1.0
    return glm.mean(loss, z) - y


@inlined
def leaf(p, t, x, y, theta, old):
    """The slope with g_t = slope x, clipped: a gradient of a linear model is a multiple
    of x."""
    z = 0.0
    z_old = 0.0
    for i in range(x.shape[0]):
        z += x[i] * theta[i]
        z_old += x[i] * old[i]
    slope = (t + 1.0) * loss_slope(p.loss, z, y) - t * loss_slope(p.loss, z_old, y)
    if p.clip < np.inf:
        size = abs(slope) * geometry.lq_norm(x, p.clip_norm)
        if size > p.clip:
            slope *= p.clip / size
    return slope


@inlined
def add_leaf(p, s, x, y):
    """Line 2: the leaf of the clipped record joins the exact, secret sum."""
    y, clipped = geometry.admit(x, y, p.q, p.low, p.high, s.x)
    s.clipped[0] += clipped
    s.t[0] += 1
    slope = leaf(p, s.t[0], s.x, y, s.theta, s.old)
    for i in range(p.d):
        s.total[i] += slope * s.x[i]


@jit
def mean_gradient(p, t, total, noise, gradient):
    """gradient <- d_t from the sum of t leaves and the noise of this prefix."""
    weight = 1.0 / (t + 1.0)
    for i in range(p.d):
        gradient[i] = weight * (total[i] + noise[i])


@inlined
def release(p, t, total, noise, gradient, rng):
    """Lines 3, 4 (Algorithm 4): gradient <- d_t from the released sum; noise as in
    `State`."""
    row = 0
    if p.method == SQRT:
        row = t - 1 if p.sigma > 0.0 else 0
    elif p.sigma > 0.0:
        row = trailing_zeros(t)
        generalized_gaussian(rng, p.exponent, p.sigma, noise[row])
        complete(noise, t)
    mean_gradient(p, t, total, noise[row], gradient)


@jit
def noise_scale(p, t):
    """b_t of the vertex selection at local time t >= 1."""
    if p.schedule == PAPER:
        return p.scale / math.sqrt(t)
    return p.scale * (math.sqrt(t) if p.schedule == FALLING else 1.0) / (t + 1.0)


@jit
def choose(p, t, total, gradient, v, rng):
    """Algorithm 2: v <- a vertex +-r e_j with noisily small <d_t, v>; d_t stays
    secret."""
    b = noise_scale(p, t) / p.radius
    best = 0.0
    at = 0
    for j in range(p.d):
        gradient[j] = total[j] / (t + 1.0)
        v[j] = 0.0
    if b == 0.0:
        geometry.vertex(gradient, 1.0, p.radius, v)
        return
    if p.method == COORDINATES:  # place 2 j stands for -r e_j, 2 j + 1 for r e_j
        for j in range(p.d):
            z = gradient[j] + laplace(rng, b)
            if abs(z) > abs(best):
                best = z
                at = 2 * j if z > 0.0 else 2 * j + 1
    elif p.method == ARGMIN:
        at = signed_noisy_max(rng, gradient, b, geometry.largest(gradient))
    else:
        at = signed_exponential(rng, gradient, b, geometry.largest(gradient))
    # place 2 j is -r e_j, place 2 j + 1 is r e_j
    v[at >> 1] = -p.radius if at & 1 == 0 else p.radius


@inlined
def move(p, s):
    """Line 5: theta_(t+1) <- theta_t + c/(t + 1) (v_t - theta_t)."""
    eta = p.step / (s.t[0] + 1.0)
    for i in range(p.d):
        s.old[i] = s.theta[i]
        s.theta[i] += eta * (s.v[i] - s.theta[i])


@inlined
def publish(p, s, rng):
    """Lines 3 to 5, once the leaf is in the sum: the vertex, and the next parameter."""
    if p.method <= SQRT:
        release(p, s.t[0], s.total, s.noise, s.gradient, rng)  # lines 3, 4
        geometry.vertex(s.gradient, p.p, p.radius, s.v)  # line 4
    else:
        choose(p, s.t[0], s.total, s.gradient, s.v, rng)
    move(p, s)


@jit
def step(p, s, x, y, rng):
    """Read the record x (d,), y; s is changed in place, s.theta is public."""
    add_leaf(p, s, x, y)  # line 2
    publish(p, s, rng)  # lines 3 to 5


@jit
def run(p, s, X, Y, rng, out):
    """Read n records X (n, d), Y (n,); out (n, d) <- the public parameter after each."""
    p = borrowed(p)
    s = borrowed(s)
    for t in range(X.shape[0]):
        step(p, s, X[t], Y[t], rng)
        for i in range(p.d):
            out[t, i] = s.theta[i]


def streaming_fw(
    d: int,
    n: int,
    *,
    epsilon: float,
    delta: float | None = None,
    p: float = 2.0,
    radius: float = 1.0,
    loss: Literal["squares", "logistic", "probit", "inner product"] = "squares",
    label_bound: float = 1.0,
    calibration: Literal["corrected", "zcdp", "paper"] = "corrected",
    factorisation: Literal["tree", "sqrt"] = "tree",
    clip: float | None = None,
    step_scale: float = 1.0,
) -> Optimiser:
    """Algorithm 1: streaming Frank-Wolfe on the l_p ball, whose sum of leaves is
    released.

    Parameters
    ----------
    d, n : dimension, at least 1; records for which the guarantee holds, at least 1
    epsilon, delta : budget; epsilon in [1e-4, inf] (inf: no noise), delta in (0, 1)
        (None: 1/n)
    p : exponent of the ball, in [1, inf]; contexts have ||x||_q <= 1, 1/p + 1/q = 1
    radius : of the ball, above 0
    loss : "squares", "logistic", "probit" or "inner product"
    label_bound : labels are clipped to +-label_bound ([0, label_bound] for logistic and
        probit)
    calibration : "paper" (Theorem 3.1 at valid constants), "zcdp" (the same noise,
        counted better) or "corrected" (exactly what the budget needs)
    factorisation : "tree", or "sqrt", which keeps n d numbers
    clip : bound C of the leaves in l_2 (in l_q for "zcdp"; refused for "paper"); inf:
        none; None: for "corrected" the C of `leaf_clip` times d^max(0, 1/2 - 1/q), else
        none
    step_scale : c in (0, 1], steps are c/(t + 1)

    Returns
    -------
    Optimiser

    Raises
    ------
    ValueError
        on anything else.

    Examples
    --------
    >>> live = streaming_fw(2, 100, epsilon=1.0, delta=0.01).start(seed=1)
    >>> live.update([0.6, 0.8], 0.5).shape  # the public parameter after one record
    (2,)
    """
    problem = make_problem(d, n, p, radius, loss, label_bound)
    need_choice("calibration", calibration, ("paper", "zcdp", "corrected"))
    need_choice("factorisation", factorisation, FACTORISATIONS)
    params, guarantee = calibrated(
        problem,
        epsilon,
        delta,
        calibration,
        factorisation,
        "constant",
        clip,
        step_scale,
    )
    name = "Algorithm 1" if factorisation == "tree" else "Algorithm 1, square root"
    law = "gaussian" if params.exponent == 2.0 else "prefix"
    return Optimiser(
        name=name,
        params=params,
        init=init,
        step=step,
        run=run,
        guarantee=guarantee,
        releases=(Release(release, "gradient", law),),
        private=("clipped", "total", "x", "noise"),
    )


def vertex_fw(
    d: int,
    n: int,
    *,
    epsilon: float,
    delta: float | None = None,
    radius: float = 1.0,
    loss: Literal["squares", "logistic", "probit", "inner product"] = "squares",
    label_bound: float = 1.0,
    calibration: Literal["corrected", "paper"] = "corrected",
    selector: Literal["argmin", "coordinates", "gumbel"] = "gumbel",
    schedule: Literal["falling", "constant"] = "constant",
    clip: float | None = None,
    step_scale: float = 1.0,
) -> Optimiser:
    """Algorithm 2: streaming Frank-Wolfe on the l_1 ball by noisy choice of a vertex.

    Parameters
    ----------
    d, n, epsilon, delta, radius, loss, label_bound, step_scale : as in `streaming_fw`,
        for p = 1
    calibration : "paper" (Theorem 3.11 at valid constants) or "corrected" (concentrated
        privacy)
    selector : "argmin" (the paper's Laplace noise on all 2 d scores), "coordinates" (one
        draw per coordinate) or "gumbel" (the exponential mechanism)
    schedule : of the losses epsilon_t: "falling" like 1/sqrt t, or "constant"; for
        "corrected"
    clip : bound C of the leaves in l_inf (refused for "paper"); inf: none; None: as in
        `leaf_clip`

    Returns
    -------
    Optimiser

    Raises
    ------
    ValueError
        on anything else.

    Examples
    --------
    >>> live = vertex_fw(2, 100, epsilon=1.0, delta=0.01).start(seed=1)
    >>> float(abs(live.update([0.6, 1.0], 0.5)).sum())  # half of the way to a vertex
    0.5
    """
    problem = make_problem(d, n, 1.0, radius, loss, label_bound)
    need_choice("calibration", calibration, ("paper", "corrected"))
    need_choice("selector", selector, SELECTORS)
    params, guarantee = calibrated(
        problem,
        epsilon,
        delta,
        calibration,
        selector,
        schedule,
        clip,
        step_scale,
    )
    law = "scores: laplace" if selector == "argmin" else f"scores: {selector}"
    return Optimiser(
        name="Algorithm 2",
        params=params,
        init=init,
        step=step,
        run=run,
        guarantee=guarantee,
        releases=(Release(choose, "total", law), Release(choose, "v", "vertex")),
        private=("clipped", "total", "x", "gradient"),
    )
