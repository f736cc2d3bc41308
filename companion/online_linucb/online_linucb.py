"""Online LinUCB under local differential privacy: noise on action and reward, an online
learner.

The user plays the action of largest upper confidence bound, adds Gaussian noise to the
action x and the reward y, and sends only the noisy pair.  On the server an online learner
(Maler, or gradient descent) minimises the squared loss of the noisy pair minus sigma^2
||theta||^2, the bias that the noise on x causes.  The confidence ellipsoid's centre is a
ridge regression on the learner's predictions <theta_t, x~>, not on the noisy rewards.

Algorithm 1, by its line numbers; V_0 = I, u_0 = 0, theta_1 = 0:
    8, 9    x_t = argmax <x, V^-1 u> + beta ||x||_(V^-1)           user
    10      play x_t, see y_t
    11, 12  send x~ = x_t + noise, y~ = y_t + noise
    14      g = 2 x~ (<x~, theta_t> - y~) - 2 sigma^2 theta_t        server
    17      theta_(t+1) <- the experts' prediction after g
    19      V += x~ x~', u += <theta_t, x~> x~

Source: "Improved rate for locally differentially private linear bandits", Algorithm 1
with Maler (Algorithms 5 to 8, after Wang, Lu and Zhang 2020); with epsilon = inf
Algorithm 4, whose width is that of Theorem A.2.
Privacy: local; neighbours replace one user's record (x, y).  The pair is one Gaussian
release of L2 sensitivity 2 sqrt2 (ball) or sqrt3 (offset sphere), with sigma from the
exact curve of Balle and Wang.  Every user sends one message, so nothing composes; all
else is computed from messages but `State.clipped`, an exact count for experiments, which
must not be released. calibration="paper" is 2 sqrt(2 ln(1.25/delta))/epsilon on each of x
and y, as if each were released alone: too little in the ball (2 < 2 sqrt2), enough on the
offset sphere (2 > sqrt3), by a formula proved for epsilon <= 1.  The guarantee says what
it really gives.
Differs: gradients are clipped to G (appendix B calls G "the clipping constant", Algorithm
1 does not clip).  Width and G take practical forms by default: with those of the theory
the policy plays nearly at random.  Priors, which the paper leaves open, are Maler's;
Algorithm 7's constant, printed as 2/(G D), is Maler's 1/(8 G D).
"""

import math
from typing import Literal, NamedTuple

import numpy as np

from companion.accounting.privacy import PAIR_SENSITIVITY, gaussian_release
from companion.core import WIDEST, Policy, Release, linear_universe, plain_loop
from companion.jit import jit
from companion.kernels.linalg import (
    add_outer,
    axpy,
    dot,
    matvec,
    project_ball,
    project_ball_in_norm,
    set_identity,
    sherman_morrison,
)
from companion.kernels.mechanisms import add_gaussian, clip_record
from companion.kernels.ucb import optimistic_arm
from companion.validate import LARGEST, need_choice, need_float, need_int, need_positive

# calibration


def pair_noise(epsilon: float, delta: float, calibration: str, universe: str):
    """(sigma, Guarantee) of the pair (x, y) with Gaussian noise: nothing else is
    released."""
    # Line 2 prints one block's sensitivity, 2, for each of the two blocks.
    return gaussian_release(
        "local",
        epsilon,
        delta,
        calibration,
        universe,
        PAIR_SENSITIVITY,
        paper=2.0,
    )


def practical_width(sigma: float, T: int, factor: float = 10.0) -> float:
    """factor * sigma * sqrt(ln T): tuned; the theory needs sigma sqrt(T) ||theta -
    theta*||."""
    return factor * sigma * np.sqrt(np.log(T))


def practical_clip(sigma: float, jitter: float, d: int, factor: float = 10.0) -> float:
    """factor times the typical norm of a gradient, 2 (sigma^2 + Delta^2) sqrt(2 d) +
    2."""
    return factor * (2.0 * (sigma**2 + jitter) * np.sqrt(2.0 * d) + 2.0)


def regret_bound(maler, T: int) -> float:
    """Lemma H.6 for convex losses: regret of Maler after T rounds; the diameter is 2
    D."""
    return (2.0 * np.log(3.0) + 1.5) * maler.gradient * 2.0 * maler.ball * np.sqrt(T)


def conversion_width(maler, T: int, noise: float = 0.5, failure: float = 0.01) -> float:
    """Theorem A.2 (no privacy) at S = 1, with M_T of Lemma H.6: the square root of
    S^2 + 1 + 2 M_T + 32 R^2 ln((R sqrt8 + sqrt(1 + M_T))/failure).
    """
    M = regret_bound(maler, T)
    log = np.log((noise * np.sqrt(8.0) + np.sqrt(1.0 + M)) / failure)
    return float(np.sqrt(2.0 + 2.0 * M + 32.0 * noise**2 * log))


# Maler, or its convex expert alone

LEARNERS = ("maler", "ogd")
# 1/2 min(1/(8 G_l D), 1), surrogates' bound G_l = 7/(50 D)
NEWTON = 0.5 * 1.0 / (8.0 * 7.0 / 50.0)


class Maler(NamedTuple):
    """Parameters of Maler; without learning rates only the convex expert is left, which
    is online gradient descent with step 2D/(G sqrt t)."""

    d: int  # dimension
    T: int  # horizon
    ball: float  # D: predictions stay in the ball of this radius
    gradient: float  # G: bound on the norm of every gradient
    # learning rates, each of one strongly convex and one exp-concave (Newton) expert
    n: int


class Experts(NamedTuple):
    """State of Maler; of arrays with more than n rows only the first n are in use."""

    t: np.ndarray  # (1,) gradients seen
    theta: np.ndarray  # (d,) prediction
    rates: np.ndarray  # (n,) eta_i
    log_w: np.ndarray  # (2 n + 1,) log weights: convex, strongly convex, Newton
    convex: np.ndarray  # (d,) the convex expert
    strong: np.ndarray  # (n, d) strongly convex experts
    newton: np.ndarray  # (n, d) Newton experts
    S: np.ndarray  # (n, d, d) their matrices
    S_inv: np.ndarray  # (n, d, d) inverses of these
    work: np.ndarray  # (d + 3, d) scratch


def maler_params(
    learner: str,
    d: int,
    T: int,
    *,
    ball: float = 1.0,
    gradient: float,
) -> Maler:
    """Parameters of a learner of `LEARNERS` with D = ball in [1e-30, 1e30], or
    ValueError."""
    need_choice("learner", learner, LEARNERS)
    n = int(np.ceil(0.5 * np.log2(T))) + 1 if learner == "maler" else 0
    return Maler(
        d=d,
        T=T,
        ball=need_float("ball", ball, 1e-30, 1e30),
        gradient=gradient,
        n=n,
    )


def init_experts(p: Maler) -> Experts:
    """State before the first gradient."""
    n = p.n
    d = p.d
    s = Experts(
        t=np.zeros(1, np.int64),
        theta=np.zeros(d),
        rates=np.zeros(n),
        log_w=np.zeros(2 * n + 1),
        convex=np.zeros(d),
        strong=np.zeros((n, d)),
        newton=np.zeros((n, d)),
        S=np.zeros((n, d, d)),
        S_inv=np.zeros((n, d, d)),
        work=np.zeros((d + 3, d)),
    )
    reset_experts(p, s)
    return s


@jit
def reset_experts(p, s):
    """Every expert at 0, with Maler's learning rates and priors (which sum to 1)."""
    n = p.n
    scale = 4.0 * NEWTON**2 * p.ball**2
    s.t[0] = 0
    s.theta[:] = 0.0
    s.convex[:] = 0.0
    s.strong[:] = 0.0
    s.newton[:] = 0.0
    s.log_w[0] = math.log(1.0 / 3.0) if n > 0 else 0.0
    for i in range(n):
        s.rates[i] = 2.0**-i / (10.0 * p.ball * p.gradient)  # 2^-i / (5 D_m G), D_m = 2 D
        prior = math.log((1.0 + 1.0 / n) / (3.0 * (i + 1.0) * (i + 2.0)))
        s.log_w[1 + i] = prior
        s.log_w[1 + n + i] = prior
        set_identity(1.0 / scale, s.S[i])
        set_identity(scale, s.S_inv[i])


@jit
def update_experts(p, s, g):
    """Algorithm 5 after gradient g (d,), ||g|| <= G, at s.theta."""
    s.t[0] += 1
    reweigh(p, s, g)
    step_convex(p, s.convex, g, s.t[0])
    for i in range(p.n):
        step_strong(p, s.strong[i], s.rates[i], g, s.theta, s.t[0])
        step_newton(p, s, i, g)
    predict(p, s)


@jit
def reweigh(p, s, g):
    """Algorithm 5: log_w <- log_w - surrogate loss of every expert, normalised to sum
    1."""
    n = p.n
    G = p.gradient
    eta = convex_rate(p)
    c = 2.0 * eta * G * p.ball
    s.log_w[0] += eta * advantage(s.theta, s.convex, g) - c * c
    for i in range(n):
        eta = s.rates[i]
        square = 0.0
        for j in range(p.d):
            square += (s.theta[j] - s.strong[i, j]) ** 2
        along = advantage(s.theta, s.strong[i], g)
        s.log_w[1 + i] += eta * along - eta * eta * G * G * square
        along = advantage(s.theta, s.newton[i], g)
        s.log_w[1 + n + i] += eta * along - eta * eta * along * along
    top = s.log_w.max()
    total = 0.0
    for k in range(2 * n + 1):
        total += math.exp(s.log_w[k] - top)
    for k in range(2 * n + 1):
        s.log_w[k] -= top + math.log(total)


@jit
def convex_rate(p):
    """eta_c = 1/(4 G D sqrt T)."""
    return 1.0 / (4.0 * p.gradient * p.ball * np.sqrt(float(p.T)))


@jit
def advantage(theta, x, g):
    """<g, theta - x>: the linearised loss of the prediction over that of the expert x."""
    s = 0.0
    for j in range(theta.shape[0]):
        s += (theta[j] - x[j]) * g[j]
    return s


@jit
def step_convex(p, x, g, t):
    """Algorithm 6: gradient step 2D/(G sqrt t), projected on the ball."""
    axpy(-2.0 * p.ball / (p.gradient * np.sqrt(float(t))), g, x)
    project_ball(x, p.ball)


@jit
def step_strong(p, x, eta, g, theta, t):
    """Algorithm 8: projected step 1/(2 eta^2 G^2 t) on eta g + 2 eta^2 G^2 (x -
    theta)."""
    c = 2.0 * eta * eta * p.gradient * p.gradient
    for j in range(p.d):
        x[j] -= (eta * g[j] + c * (x[j] - theta[j])) / (c * t)
    project_ball(x, p.ball)


@jit
def step_newton(p, s, i, g):
    """Algorithm 7: online Newton step of expert i in the norm of S, projected in that
    norm."""
    x = s.newton[i]
    eta = s.rates[i]
    grad = s.work[0]
    v = s.work[1]
    z = s.work[2]
    c = eta - 2.0 * eta * eta * advantage(s.theta, x, g)
    for j in range(p.d):
        grad[j] = c * g[j]
    add_outer(1.0, grad, s.S[i])
    # v: the old S_inv grad, parallel to the new one
    sherman_morrison(s.S_inv[i], grad, v)
    shrink = 1.0 / (1.0 + dot(grad, v))
    for j in range(p.d):
        z[j] = x[j] - shrink * v[j] / NEWTON
    project_ball_in_norm(s.S[i], z, p.ball, s.work[3:], v, x)


@jit
def predict(p, s):
    """Algorithm 5: theta <- mean of the experts, weighted by weight times rate."""
    n = p.n
    total = math.exp(s.log_w[0]) * convex_rate(p)
    for j in range(p.d):
        s.theta[j] = total * s.convex[j]
    for i in range(n):
        a = math.exp(s.log_w[1 + i]) * s.rates[i]
        b = math.exp(s.log_w[1 + n + i]) * s.rates[i]
        total += a + b
        for j in range(p.d):
            s.theta[j] += a * s.strong[i, j] + b * s.newton[i, j]
    for j in range(p.d):
        s.theta[j] /= total


# Algorithm 1


class Params(NamedTuple):
    d: int  # dimension of a context
    T: int  # horizon
    sigma: float  # standard deviation of the noise on every coordinate of x and on y
    jitter: float  # Delta^2, variance of the extra perturbation of x
    offset: bool  # universe that records are clipped into: offset sphere, or unit ball
    width: float  # beta, radius of the ellipsoid
    maler: Maler  # the online learner's parameters


class State(NamedTuple):
    t: np.ndarray  # (1,) rounds played
    V_inv: np.ndarray  # (d, d) inverse of I + sum of noisy x x'
    u: np.ndarray  # (d,) sum of <theta_s, noisy x_s> noisy x_s
    centre: np.ndarray  # (d,) V_inv u
    experts: Experts  # the online learner's state
    message: np.ndarray  # (d + 1,) the last user's noisy x and noisy y
    g: np.ndarray  # (d,) its gradient
    clipped: np.ndarray  # (1,) records outside the universe: exact, must not be shown


def init(p: Params) -> State:
    """State before the first round (lines 2, 3)."""
    return State(
        t=np.zeros(1, np.int64),
        V_inv=np.eye(p.d),
        u=np.zeros(p.d),
        centre=np.zeros(p.d),
        experts=init_experts(p.maler),
        message=np.zeros(p.d + 1),
        g=np.zeros(p.d),
        clipped=np.zeros(1, np.int64),
    )


@jit
def reset(p, s):
    """Lines 2 and 3 once more; clipped records stay counted."""
    s.t[0] = 0
    set_identity(1.0, s.V_inv)
    s.u[:] = 0.0
    s.centre[:] = 0.0
    reset_experts(p.maler, s.experts)


@jit
def select(p, s, X, rng):
    """Lines 8, 9: the optimistic row of X (K, d); the first one on ties."""
    return optimistic_arm(X, s.V_inv, s.centre, p.width)


@jit
def randomize(p, x, y, rng, message):
    """Lines 11, 12, all that leaves the device: message (d + 1,) <- noisy x and noisy y.

    Returns 1 if the record was outside the universe, else 0.
    """
    out = message[: p.d]
    y, clipped = clip_record(p.offset, x, y, out)
    if p.jitter > 0.0:
        add_gaussian(rng, np.sqrt(p.jitter), out)
    add_gaussian(rng, p.sigma, out)
    message[p.d] = y + p.sigma * rng.standard_normal()
    return clipped


@jit
def gradient(p, x, y, theta, out):
    """Line 14: out <- gradient of the corrected loss, clipped to norm G; returns <x,
    theta>.

    The loss is (<x, theta> - y)^2 - sigma^2 ||theta||^2.  The extra perturbation Delta^2
    of x is not subtracted: the Delta^2 ||theta||^2 that it leaves makes the expected loss
    strongly convex.
    """
    prediction = dot(x, theta)
    for i in range(p.d):
        out[i] = 2.0 * x[i] * (prediction - y) - 2.0 * p.sigma * p.sigma * theta[i]
    project_ball(out, p.maler.gradient)
    return prediction


@jit
def update(p, s, arm, x, r, rng):
    """Lines 11 to 19 after reward r on context x (d,)."""
    s.clipped[0] += randomize(p, x, r, rng, s.message)  # lines 11, 12
    noisy_x = s.message[: p.d]
    noisy_y = s.message[p.d]
    prediction = gradient(p, noisy_x, noisy_y, s.experts.theta, s.g)  # line 14
    # line 19: V <- V + x x' (centre is scratch)
    sherman_morrison(s.V_inv, noisy_x, s.centre)
    # line 19, with the prediction made before the experts move
    axpy(prediction, noisy_x, s.u)
    matvec(s.V_inv, s.u, s.centre)
    update_experts(p.maler, s.experts, s.g)  # line 17
    s.t[0] += 1


play = plain_loop(select, update)


def online_linucb(
    d: int,
    T: int,
    *,
    epsilon: float,
    delta: float,
    calibration: Literal["corrected", "paper"] = "corrected",
    universe: Literal["ball", "offset_sphere"] = "ball",
    learner: Literal["maler", "ogd"] = "maler",
    width: float | None = None,
    clip: float | None = None,
    jitter: float = 0.0,
    ball: float = 1.0,
) -> Policy:
    """Online LinUCB (Algorithm 1) under local differential privacy.

    Parameters
    ----------
    d : dimension of a context, in [1, 10,000].
    T : horizon in rounds, at least 1.
    epsilon, delta : budget of a user's record; epsilon in (0, inf], delta in (0, 1).
        epsilon = inf gives the non-private Algorithm 4.
    calibration : "corrected" or "paper", see the module.
    universe : "ball" (||x|| <= 1, |y| <= 1) or "offset_sphere" (x = (u, 1/sqrt2), 0 <= y
        <= 1); records outside are clipped into it and counted in `State.clipped`.
    learner : "maler" or "ogd".
    width : radius beta >= 0 of the ellipsoid; None: `practical_width`, or Theorem A.2's
        without noise.
    clip : bound G > 0 on gradients; None: `practical_clip`.
    jitter : Delta^2 >= 0, variance of the extra perturbation of x.
    ball : D in [1e-30, 1e30], the radius within which predictions stay.

    Returns
    -------
    Policy, whose guarantee is that of one message.

    Raises
    ------
    ValueError on anything else.

    Examples
    --------
    >>> print(online_linucb(2, T=100, epsilon=1.0, delta=0.1).guarantee)
    (1, 0.1)-local DP, replace one record, per user (ball)
    """
    d = need_int("d", d, 1, WIDEST)
    T = need_int("T", T, 1, LARGEST)
    sigma, guarantee = pair_noise(epsilon, delta, calibration, universe)
    jitter = need_float("jitter", jitter, 0.0)
    G = practical_clip(sigma, jitter, d) if clip is None else need_positive("clip", clip)
    maler = maler_params(learner, d, T, ball=ball, gradient=G)
    if width is None:
        width = practical_width(sigma, T) if sigma > 0.0 else conversion_width(maler, T)
    width = float(need_float("width", width, 0.0))
    offset = universe == "offset_sphere"
    name = "OnlineLinUCB" if learner == "maler" else "OnlineLinUCB (OGD)"
    p = Params(
        d=d,
        T=T,
        sigma=sigma,
        jitter=jitter,
        offset=offset,
        width=width,
        maler=maler,
    )
    return Policy(
        name=name,
        params=p,
        init=init,
        select=select,
        update=update,
        play=play,
        guarantee=guarantee,
        universe=linear_universe(offset),
        delayed_feedback=True,
        releases=(Release(randomize, "message", "gaussian"),),
        private=("clipped",),
    )
