"""FLIPHAT: sparse linear bandits in high dimension with joint differential privacy.

Episode l is rounds 2^l to 2^(l+1) - 1.  After it one private regression on its rows
(noisy iterative hard thresholding, N-IHT, whose step is a gradient, `peel` and a
projection) makes the estimate that the next episode plays greedily.

Source: the FLIPHAT paper, Algorithm 1 (N-IHT), 2 (FLIPHAT), 3 (peeling), Theorem 5.1,
Lemma A.2.
Privacy: replace one user's context and reward.  A row moves a coordinate of eta times the
gradient of n rows by at most 4 eta x_max R/n in a step from zero
(`gradient_sensitivity`); peeling s entries is an exact composition of s noisy maxima and
s values (`noise_multiplier`), over all steps that use the row; a row enters one release,
and its user's own arm is not shown to others.
Differs: while the estimate is zero the arm is drawn uniformly (the paper's argmax over
zeros is undefined).  "corrected" clips contexts and has the noise of the proved
sensitivity. `residual_fliphat`, our variant, clips contexts and residuals inside the
gradient, so that much less noise is needed; it may start a release from the last
estimate, or keep all data.
"""

from __future__ import annotations

import math
import warnings
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
from scipy.signal import lfilter
from scipy.stats import binom

from companion.accounting.privacy import (
    NO_PRIVACY,
    REPLACE_RECORD,
    Guarantee,
    beyond,
    edge,
    need_budget,
)
from companion.core import ROOM, Policy, Release, Universe, plain_loop
from companion.jit import jit
from companion.kernels.linalg import axpy
from companion.kernels.mechanisms import peel, random_integer
from companion.validate import (
    LARGEST,
    need_choice,
    need_float,
    need_int,
    need_positive,
    need_probability,
)

# largest `iterations` of the variant, and `iteration_rate` of FLIPHAT
MAX_ITERATIONS = 1000


# Calibration: the noise multiplier xi / sensitivity for a budget
#
# If the vector handed to peeling moves by at most `sensitivity` in every coordinate, then
# with Laplace(xi) noise and ratio = sensitivity / xi one pick is a report-noisy-max, pure
# 2 ratio-DP, and one released value is pure ratio-DP.  k picks and their values are an
# adaptive composition of k of each, whose worst case is that of randomised responses.
# Source: Dwork and Roth (2014), Claim 3.9; Kairouz, Oh and Viswanath (2015), Theorem 3.2.


ROUNDING = 1e-11  # relative error of `delta_of_signs`: this, and 1e-14 for every pick

LAST_DIGITS = 2e-14  # rounding of the largest loss, 3 picks ratio, against epsilon


class SignLaw(NamedTuple):
    """The law of the right answers among k picks and k values, whose loss is L."""

    picks: int  # k
    ratio: float
    pick: np.ndarray  # (k + 1,) P(a = i): picks whose answer is the likelier one
    value: np.ndarray  # (k + 2,) P(b = i), the same of values; 0 at k + 1
    tail: np.ndarray  # (k + 2,) P(b >= i)


def sign_law(picks: int, ratio: float) -> SignLaw:
    """`SignLaw` of so many picks and values at this sensitivity over noise."""
    counts = np.arange(picks + 1)
    pick = binom.pmf(counts, picks, 1.0 / (1.0 + np.exp(-2.0 * ratio)))
    value = binom.pmf(counts, picks, 1.0 / (1.0 + np.exp(-ratio)))
    tail = np.cumsum(value[::-1])[::-1]
    return SignLaw(
        picks=picks,
        ratio=ratio,
        pick=pick,
        value=np.append(value, 0.0),
        tail=np.append(tail, 0.0),
    )


def delta_of_signs(epsilon: float, law: SignLaw) -> float:
    """The sum of P(L) max(0, 1 - exp(epsilon - L)).

    The loss is L = (2 (2a - picks) + (2b - picks)) ratio with independent binomial a and
    b.  For a given a, T(a) is the expectation over b.  A larger a by one adds 4 ratio to
    L, so
        T(a + 1) = e^(-4 ratio) T(a) + (1 - e^(-4 ratio)) P(L > epsilon | a) + two terms,
    those of the two values of b whose L passes epsilon.  All terms are positive: the time
    is linear in `picks`, and the error relative, at most 1e-11 + 1e-14 picks, however
    small delta is.
    """
    k = law.picks
    ratio = law.ratio
    if epsilon >= 3.0 * k * ratio:  # the largest loss
        return 0.0
    counts = np.arange(k + 1)
    start = (epsilon / ratio + 3.0 * k) / 2.0  # L > epsilon for b > start - 2 a
    first = math.floor(start) + 1
    over = first - start
    b = np.clip(first - 2 * counts, 0, k + 1)  # the first such b; k + 1: there is none
    inside = (first - 2 * counts >= 0) & (first - 2 * counts <= k)
    above = (first - 2 * counts >= -1) & (first - 2 * counts < k)
    new = np.where(inside, law.value[b], 0.0) * -np.expm1(-2.0 * ratio * over)
    next_value = law.value[np.clip(first - 2 * counts + 1, 0, k + 1)]
    new += np.where(above, next_value, 0.0) * -np.expm1(-2.0 * ratio * (over + 1.0))
    new[1:] += law.tail[b[:-1]] * -np.expm1(-4.0 * ratio)
    expected = lfilter([1.0], [1.0, -np.exp(-4.0 * ratio)], new)
    return float(law.pick @ expected)


def composition_delta(epsilon: float, picks: int, ratio: float) -> float:
    """Smallest delta of `picks` picks and values at this ratio, sensitivity over
    noise."""
    epsilon = need_float("epsilon", epsilon, 0.0)
    ratio = need_float("ratio", ratio, 0.0)
    picks = need_int("picks", picks, 0)
    return delta_of_signs(epsilon, sign_law(picks, ratio))


def _spends_at_most(epsilon, delta, law):
    """Whether `delta_of_signs`, enlarged by more than its rounding error, is at most
    delta."""
    error = ROUNDING + 1e-14 * law.picks
    return delta_of_signs(epsilon, law) * (1.0 + error) <= delta


def composition_epsilon(delta: float, picks: int, ratio: float) -> float:
    """Smallest epsilon >= 0 with composition_delta(epsilon, picks, ratio) <= delta in (0,
    1), rounded up."""
    delta = need_probability("delta", delta)
    picks = need_int("picks", picks, 0)
    ratio = need_float("ratio", ratio, 0.0, allow_inf=True)
    if picks == 0 or ratio == 0.0:
        return 0.0
    if ratio == np.inf:
        return np.inf
    law = sign_law(picks, ratio)

    def enough(epsilon):
        return _spends_at_most(epsilon, delta, law)

    if enough(0.0):
        return 0.0
    high = 3.0 * picks * ratio
    found = edge(enough, high, beyond(lambda e: e < 1e-300 or not enough(e), high, 0.1))
    return found * (1.0 + LAST_DIGITS)


def _need_noise_budget(epsilon, delta):
    """(epsilon, delta), epsilon in [1e-9, 1e9] or inf: a budget whose noise can be
    computed."""
    epsilon, delta = need_budget(epsilon, delta)
    if epsilon < np.inf:
        need_float("epsilon", epsilon, 1e-9, 1e9)
    return epsilon, delta


@lru_cache(maxsize=4096)
def noise_multiplier(picks: int, epsilon: float, delta: float) -> float:
    """Smallest xi / sensitivity at which `picks` picks and values are (epsilon,
    delta)-DP.

    epsilon in [1e-9, 1e9], or inf (the multiplier is then 0).  Rounded up: the delta it
    is found for is below the asked one by the error of `delta_of_signs`.
    """
    picks = need_int("picks", picks, 1)
    epsilon, delta = _need_noise_budget(epsilon, delta)
    if epsilon == np.inf:
        return 0.0

    def enough(ratio):
        return _spends_at_most(epsilon, delta, sign_law(picks, ratio))

    # at this ratio the pure bound holds (delta 0); rounding may hide that it does
    low = beyond(enough, epsilon / (3.0 * picks), 1.0 - 1e-6)
    ratio = edge(enough, low, beyond(lambda ratio: not enough(ratio), low, 2.0))
    return (1.0 + LAST_DIGITS) / ratio


def paper_multiplier(
    sparsity: int,
    epsilon: float,
    delta: float,
    iterations: int = 1,
) -> float:
    """The paper's xi / sensitivity, 2 sqrt(3 s log(M/delta)) M / epsilon (Algorithms 1
    and 3)."""
    sparsity = need_int("sparsity", sparsity, 1)
    iterations = need_int("iterations", iterations, 1)
    epsilon, delta = need_budget(epsilon, delta)
    return (
        2.0 * np.sqrt(3.0 * sparsity * np.log(iterations / delta)) * iterations / epsilon
    )


def gradient_sensitivity(n, eta, x_bound, residual_bound):
    """Largest move of a coordinate of eta times the gradient when one of n rows is
    replaced.

    A row adds (2 eta/n) x r with |x_j| <= x_bound and |r| <= residual_bound, so a swap
    moves it by twice the bound.  Attained at r = residual_bound against -residual_bound.
    """
    return 4.0 * eta * x_bound * residual_bound / n


def corrected_scales(n, *, sparsity, epsilon, delta, eta, x_max, b_max, R, iterations):
    """(xi_first, xi_rest), each (L,): scales that make every release (epsilon,
    delta)-private on contexts in [-x_max, x_max].

    n, R, iterations (L,): rows, reward bound and steps of every release.  The residual is
    at most R in the first step, where theta = 0, and R + x_max b_max in later ones, where
    the projection keeps the l1 norm of theta at most b_max.  A scale is
    `gradient_sensitivity` at this bound times the multiplier of exact composition of all
    picks of a release.
    """
    multipliers = []
    for m in np.maximum(iterations, 1):
        multipliers.append(noise_multiplier(sparsity * m, epsilon, delta))
    first = gradient_sensitivity(n, eta, x_max, R)
    rest = gradient_sensitivity(n, eta, x_max, R + x_max * b_max)
    return first * multipliers, rest * multipliers


def printed_scales(n, *, sparsity, epsilon, delta, eta, x_max, b_max, R, iterations):
    """(xi (L,), epsilon that it gives on contexts in [-x_max, x_max]), as printed.

    The scale is eta (R + x_max b_max)/n times the multiplier of Algorithm 3, with the
    budget split over the steps; arguments and sensitivities as in `corrected_scales`.
    """
    multipliers = []
    for m in np.maximum(iterations, 1):
        multipliers.append(paper_multiplier(sparsity, epsilon, delta, m))
    xi = eta * (R + x_max * b_max) / n * multipliers  # line 7
    largest = {}  # ratio of all releases of so many steps
    for i, m in enumerate(iterations):
        if m == 0 or xi[i] == 0.0:
            continue
        bound = R[i] if m == 1 else R[i] + x_max * b_max
        ratio = gradient_sensitivity(n[i], eta, x_max, bound) / xi[i]
        largest[m] = max(largest.get(m, 0.0), ratio)
    worst = 0.0
    for m, ratio in largest.items():
        worst = max(worst, composition_epsilon(delta, sparsity * int(m), ratio))
    return xi, worst


# Parameters and state


class Params(NamedTuple):
    d: int  # dimension of a context
    T: int  # horizon
    sparsity: int  # s, coordinates that an estimate keeps
    eta: float  # step size
    l1_radius: float  # C, radius of the l1 ball; inf: no projection
    iterations: np.ndarray  # (L,) M_l, steps of the release after episode l, l = 0..L-1
    reward_clip: np.ndarray  # (L,) R_l
    xi_first: np.ndarray  # (L,) Laplace scale of the first step
    xi_rest: np.ndarray  # (L,) and of the later ones
    row_clip: float = np.inf  # contexts are clipped to +- this when stored; inf: not
    gradient_clip: float = np.inf  # and to +- this inside the gradient; inf: not
    residual_clip: float = np.inf  # bound on |y - x'theta| in the gradient; inf: not
    warm_start: bool = False  # a release starts from the last estimate instead of zero
    forget: bool = True  # a row is used in one release only


class State(NamedTuple):
    t: np.ndarray  # (1,) rounds played
    n: np.ndarray  # (1,) rows stored
    clipped: np.ndarray  # (1,) stored rows with a coordinate beyond a context bound
    n_picks: np.ndarray  # (1,) picks in use: 0 or sparsity; 0: the estimate is zero
    theta_hat: np.ndarray  # (d,) estimate, zero off picks[:n_picks]
    picks: np.ndarray  # (sparsity,) coordinates
    # (capacity, d) contexts of the current episode (of all, if nothing is forgotten)
    X: np.ndarray
    y: np.ndarray  # (capacity,) their rewards
    moment: np.ndarray  # (d,) scratch: sum of clipped context times clipped residual
    v: np.ndarray  # (d,) scratch: the vector handed to peeling
    taken: np.ndarray  # (d,) scratch, bool: picked already
    magnitudes: np.ndarray  # (sparsity,) scratch


def rows_in_release(T: int, forget: bool = True) -> np.ndarray:
    """Rows behind each release of T rounds: 2^l, or all 2^(l+1) - 1; release l comes
    before round 2^(l+1) <= T."""
    n = 2 ** np.arange(need_int("T", T, 1, LARGEST).bit_length() - 1, dtype=np.int64)
    return n if forget else 2 * n - 1


def init(p, rows=None):
    """State before the first round, with room for so many rows (None: those of a
    release)."""
    if rows is None:
        rows = int(rows_in_release(p.T, p.forget)[-1]) if p.T > 1 else 1
    return State(
        t=np.zeros(1, np.int64),
        n=np.zeros(1, np.int64),
        clipped=np.zeros(1, np.int64),
        n_picks=np.zeros(1, np.int64),
        theta_hat=np.zeros(p.d),
        picks=np.zeros(p.sparsity, np.int64),
        X=np.zeros((rows, p.d)),
        y=np.zeros(rows),
        moment=np.zeros(p.d),
        v=np.zeros(p.d),
        taken=np.zeros(p.d, np.bool_),
        magnitudes=np.zeros(p.sparsity),
    )


# Algorithm 1, N-IHT


@jit
def clip(z, bound):
    """z moved into [-bound, bound]; bound may be inf."""
    return min(max(z, -bound), bound)


@jit
def sparse_dot(x, theta, picks, n_picks):
    """x'theta for a theta that is zero off picks[:n_picks]."""
    z = 0.0
    for i in range(n_picks):
        z += x[picks[i]] * theta[picks[i]]
    return z


@jit
def l1_project(v, picks, n_picks, radius, magnitudes):
    """v <- its projection on the l1 ball; v is zero off picks[:n_picks]; overwrites
    magnitudes."""
    total = 0.0
    for i in range(n_picks):
        a = abs(v[picks[i]])
        total += a
        k = i
        while k > 0 and magnitudes[k - 1] < a:  # insertion sort, largest first
            magnitudes[k] = magnitudes[k - 1]
            k -= 1
        magnitudes[k] = a
    if total <= radius:
        return
    running = 0.0
    level = 0.0
    for k in range(n_picks):
        running += magnitudes[k]
        if magnitudes[k] > (running - radius) / (k + 1):
            level = (running - radius) / (k + 1)
    for i in range(n_picks):
        z = v[picks[i]]
        v[picks[i]] = np.sign(z) * max(abs(z) - level, 0.0)


@jit
def add_to_moment(p, s, episode, x, y):
    """s.moment <- s.moment + clipped context times clipped residual: one row of -n/2
    gradient."""
    fitted = sparse_dot(x, s.theta_hat, s.picks, s.n_picks[0])
    residual = clip(clip(y, p.reward_clip[episode]) - fitted, p.residual_clip)
    if p.gradient_clip == np.inf:
        axpy(residual, x, s.moment)
    else:
        for j in range(p.d):
            s.moment[j] += residual * clip(x[j], p.gradient_clip)


@jit
def step(p, s, episode, m, n, rng):
    """Step m of a release on n rows, whose moment at theta_hat is in s.moment."""
    for j in range(p.d):
        s.v[j] = s.theta_hat[j] + p.eta * 2.0 / n * s.moment[j]  # line 3
    xi = p.xi_first[episode] if m == 0 else p.xi_rest[episode]
    peel(rng, s.v, p.sparsity, xi, s.theta_hat, s.picks, s.taken)  # line 4: Algorithm 3
    l1_project(s.theta_hat, s.picks, p.sparsity, p.l1_radius, s.magnitudes)  # line 5
    s.n_picks[0] = p.sparsity


@jit
def release(p, s, episode, rng):
    """s.theta_hat <- N-IHT on the stored rows: all that others ever see of them."""
    if not p.warm_start:
        s.theta_hat[:] = 0.0
        s.n_picks[0] = 0
    n = s.n[0]
    for m in range(p.iterations[episode]):
        s.moment[:] = 0.0
        for i in range(n):
            add_to_moment(p, s, episode, s.X[i], s.y[i])
        step(p, s, episode, m, n, rng)


# Algorithm 2, FLIPHAT


@jit
def store(p, s, x, r):
    """Append the row (clipped x, r) to the data of the episode."""
    outside = False
    row = s.X[s.n[0]]
    bound = min(p.row_clip, p.gradient_clip)
    for j in range(p.d):
        if abs(x[j]) > bound:
            outside = True
        row[j] = clip(x[j], p.row_clip)
    s.y[s.n[0]] = r
    s.n[0] += 1
    if outside:
        s.clipped[0] += 1


@jit
def select(p, s, X, rng):
    """Row of X (K, d) with the largest x'theta_hat, the first one on ties; a random row
    while there is no estimate.
    """
    if s.n_picks[0] == 0:
        return random_integer(rng, X.shape[0])  # line 2
    best = -np.inf
    arm = 0
    for k in range(X.shape[0]):
        z = sparse_dot(X[k], s.theta_hat, s.picks, s.n_picks[0])
        if z > best:
            best = z
            arm = k
    return arm  # line 11


@jit
def update(p, s, arm, x, r, rng):
    """Learn from reward r on context x (d,); s is changed in place."""
    s.t[0] += 1
    # the last release comes before round `end`
    t = s.t[0]
    end = 1 << p.iterations.shape[0]
    if t < end:
        store(p, s, x, r)  # line 13
    if ((t + 1) & t) == 0 and t + 1 <= end:  # line 6: round t + 1 = 2^l begins an episode
        episode = 0
        while 2 << episode <= t:  # t = 2^(episode + 1) - 1
            episode += 1
        release(p, s, episode, rng)  # lines 7, 8
        if p.forget:
            s.n[0] = 0  # line 9


play = plain_loop(select, update)

RELEASES = (
    Release(peel, "v", "peeling"),
    Release(peel, "out", "peeled"),
    Release(peel, "picks", "picks"),
)
# the curator's fields
PRIVATE = ("X", "y", "moment", "v", "taken", "magnitudes", "clipped")


# The two policies


def _need_scale(name, value):
    """A step or bound in [1e-50, 1e50]: noise in proportion to three of them is never 0
    or inf."""
    return need_float(name, value, 1e-50, 1e50)


def _joint(epsilon, delta, claimed=None):
    """The `Guarantee` of joint privacy of a user whose record is replaced."""
    return Guarantee(
        model="joint",
        epsilon=epsilon,
        delta=delta,
        neighbours=REPLACE_RECORD,
        unit="user",
        claimed=claimed,
    )


def _policy(name, p, guarantee):
    """The `Policy` with these Params; warns if no release takes a step."""
    if not (p.iterations > 0).any():
        text = f"none of its {len(p.iterations)} releases takes a step"
        text = f"{name} cannot learn as configured: {text}"
        warnings.warn(text, UserWarning, stacklevel=3)
    cube = Universe(
        radius=min(p.row_clip, p.gradient_clip),
        low=-np.inf,
        high=np.inf,
        norm=np.inf,
    )
    return Policy(
        name=name,
        params=p,
        init=init,
        select=select,
        update=update,
        play=play,
        guarantee=guarantee,
        universe=cube,
        delayed_feedback=True,
        releases=RELEASES,
        private=PRIVATE,
    )


def fliphat(
    d: int,
    T: int,
    *,
    sparsity: int,
    epsilon: float,
    delta: float,
    b_max: float,
    x_max: float | None = None,
    noise: float = 1.0,
    eta: float = 1e-4,
    iteration_rate: float = 0.16,
    calibration: Literal["corrected", "paper"] = "corrected",
    clip_contexts: bool | None = None,
) -> Policy:
    """Algorithm 2 for T rounds of contexts in R^d.

    Parameters
    ----------
    d, T : dimension of a context and horizon, at least 1; d T is at most 10^9.
    sparsity : coordinates that an estimate keeps, in [1, d].
    epsilon, delta : budget; epsilon in [1e-9, 1e9] or inf, delta in (0, 1).
    b_max : bound on the l1 norm of beta, in [1e-50, 1e50], like x_max and eta.
    x_max : bound on the coordinates of a context; None: sqrt(2 log max(d, 2)).
    noise : sigma >= 0, the scale of a reward's own noise (not of the noise for privacy),
        in R_l = x_max b_max + sigma sqrt(2 log(1 + N_l)), N_l = 2^l rows; rewards are
        clipped at R_l.
    eta : step size.
    iteration_rate : in [0, 1000]; release l takes floor(iteration_rate log(1 + N_l
        b_max^2)) steps.
    calibration : "corrected": contexts are clipped to x_max, sensitivity and composition
        are proved (`corrected_scales`).  "paper": as printed; contexts are not clipped
        unless clip_contexts=True, and the guarantee says what that gives (infinite if
        not).

    Returns
    -------
    Policy

    Raises
    ------
    ValueError
        On anything else.  Warns if no release takes a step: such a policy plays at
        random.

    >>> live = fliphat(50, 1000, sparsity=4, epsilon=1.0, delta=0.01, b_max=2.0).start(0)
    >>> live.select(np.ones((1, 50)))
    0
    """
    d = need_int("d", d, 1, ROOM)
    T = need_int("T", T, 1, ROOM // d)
    sparsity = need_int("sparsity", sparsity, 1, d)
    epsilon, delta = _need_noise_budget(epsilon, delta)
    b_max = _need_scale("b_max", b_max)
    eta = _need_scale("eta", eta)
    if x_max is None:
        x_max = np.sqrt(2.0 * np.log(max(d, 2)))
    x_max = _need_scale("x_max", x_max)
    noise = need_float("noise", noise, 0.0, 1e50)
    rate = need_float("iteration_rate", iteration_rate, 0.0, MAX_ITERATIONS)
    need_choice("calibration", calibration, ("corrected", "paper"))
    need_choice("clip_contexts", clip_contexts, (None, True, False))
    paper = calibration == "paper"
    if clip_contexts is False and not paper:
        raise ValueError(
            'clip_contexts must be True with calibration="corrected"; got False'
        )
    n = rows_in_release(T)
    iterations = np.floor(rate * np.log1p(n * b_max**2)).astype(np.int64)
    R = x_max * b_max + noise * np.sqrt(2.0 * np.log1p(n))
    problem = {
        "sparsity": sparsity,
        "epsilon": epsilon,
        "delta": delta,
        "eta": eta,
        "x_max": x_max,
        "b_max": b_max,
        "R": R,
        "iterations": iterations,
    }
    if paper:
        xi_first, proved = printed_scales(n, **problem)
        xi_rest = xi_first.copy()
        claimed = (epsilon, delta)
    else:
        xi_first, xi_rest = corrected_scales(n, **problem)
        proved = epsilon
        claimed = None
    bound = x_max
    if paper and not clip_contexts:  # nothing bounds what a row adds
        bound = np.inf
        proved = np.inf
    p = Params(
        d=d,
        T=T,
        sparsity=sparsity,
        eta=eta,
        l1_radius=b_max,
        iterations=iterations,
        reward_clip=R,
        xi_first=xi_first,
        xi_rest=xi_rest,
        row_clip=bound,
    )
    guarantee = NO_PRIVACY
    if epsilon < np.inf:
        guarantee = _joint(proved, delta, claimed)
    return _policy("FLIPHAT", p, guarantee)


def residual_fliphat(
    d: int,
    T: int,
    *,
    sparsity: int,
    epsilon: float,
    delta: float,
    x_clip: float = 1.0,
    residual_clip: float = 1.0,
    l1_radius: float = np.inf,
    eta: float = 1.0,
    iterations: int = 3,
    warm_start: bool = False,
    forget: bool = True,
    min_rows: int = 32,
) -> Policy:
    """FLIPHAT whose gradient is -2 times the mean of clip(x) clip(y - x'theta).

    It is private for any data.  A swap of one of n rows moves a coordinate of eta times
    the gradient by at most 4 eta x_clip residual_clip/n in every step; the noise follows
    by exact composition of all picks that one row enters: sparsity times iterations,
    times the number of releases if forget=False.

    Parameters
    ----------
    d, T, sparsity, epsilon, delta, eta : as in `fliphat`.
    x_clip, residual_clip : the two bounds, in [1e-50, 1e50].
    l1_radius : radius of the l1 ball, above 0; may be inf.
    iterations : steps of a release, in [1, 1000].
    warm_start : a release starts from the last estimate, which is public by then.
    forget : a row enters one release only; False: all data are kept.
    min_rows : releases on fewer rows are left out; >= 0.

    Returns
    -------
    Policy

    Raises
    ------
    ValueError
        On anything else.  Warns if no release takes a step.

    >>> residual_fliphat(50, 1000, sparsity=4, epsilon=1.0, delta=0.01).guarantee.epsilon
    1.0
    """
    d = need_int("d", d, 1, ROOM)
    T = need_int("T", T, 1, ROOM // d)
    sparsity = need_int("sparsity", sparsity, 1, d)
    epsilon, delta = _need_noise_budget(epsilon, delta)
    x_clip = _need_scale("x_clip", x_clip)
    residual_clip = _need_scale("residual_clip", residual_clip)
    l1_radius = need_positive("l1_radius", l1_radius, allow_inf=True)
    eta = _need_scale("eta", eta)
    m = need_int("iterations", iterations, 1, MAX_ITERATIONS)
    need_choice("warm_start", warm_start, (True, False))
    need_choice("forget", forget, (True, False))
    min_rows = need_int("min_rows", min_rows, 0, LARGEST)
    n = rows_in_release(T, forget)
    steps = np.where(n >= min_rows, m, 0).astype(np.int64)
    uses = 1 if forget else max(int((steps > 0).sum()), 1)
    xi = gradient_sensitivity(n, eta, x_clip, residual_clip)
    xi = xi * noise_multiplier(sparsity * m * uses, epsilon, delta)
    p = Params(
        d=d,
        T=T,
        sparsity=sparsity,
        eta=eta,
        l1_radius=l1_radius,
        iterations=steps,
        reward_clip=np.full(len(n), np.inf),  # a reward is clipped with its residual
        xi_first=xi,
        xi_rest=xi.copy(),
        gradient_clip=x_clip,
        residual_clip=residual_clip,
        warm_start=bool(warm_start),
        forget=bool(forget),
    )
    guarantee = _joint(epsilon, delta) if epsilon < np.inf else NO_PRIVACY
    return _policy("Residual FLIPHAT", p, guarantee)
