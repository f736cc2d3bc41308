"""Autoregressive contexts of which a round draws two numbers an arm: its estimated score
z = x'theta and its mean reward mu = x'beta.

Kernels of `companion.fliphat.shortcuts`.  While one estimate is in use, a row x is N(0, Sigma), and
arms, rewards and regrets depend on z and mu alone.  With the Cholesky factor L of their covariance
(z, mu) = L e for standard normals e, and x = H e + r with H = Cov(x, e) and a residual r that is
normal and independent of e, so of everything that was decided.  A fresh row v has a residual of
that law, too, v - H e(v), so the row that was played is (path "lazy")

    x = v + H (e - e(v)).

Given all e and rewards, the moment u = sum clip(y_t) x_t of the rows that were played is therefore
(path "scores")

    u = H sum clip(y_t) e_t + (sum clip(y_t)^2)^(1/2) r,    r = v - H e(v),

with one fresh row v for the whole episode.

In a `Margin` world Sigma is the identity and the two arms are x = c + s/2 and c - s/2 with s'beta
prescribed.  Along the two directions, in coordinates e, c has variance 1/2 and s is that part along
beta plus a normal of variance 2 across it; off them, x is standard normal and independent of all
this, so the same two formulas hold.
Cost: 2 K normals per round and d per row v, whatever the supports.
"""

from typing import NamedTuple

import numpy as np

from companion.fliphat.environments import Autoregressive, draw_noise, draw_row
from companion.fliphat.regression import clip, sparse_dot
from companion.jit import inlined, jit
from companion.kernels.linalg import dot
from companion.kernels.mechanisms import below

PARALLEL = 1e-12  # share of the variance of mu beside z, below which z says all of mu


class Scored(NamedTuple):
    """The environment in kernel form, with work arrays."""

    K: int
    beta: np.ndarray  # (d,)
    support: np.ndarray  # the coordinates where beta is not zero
    phi: float
    uniform: bool
    noise: float
    gap: float  # of a `Margin` world; 0 of an autoregressive one
    power: float  # the gap is gap U^power
    first: np.ndarray  # (d,) Cov(x, e_1)
    second: np.ndarray  # (d,) Cov(x, e_2)
    x: np.ndarray  # (d,) scratch
    sums: np.ndarray  # (4,) of clip(y) e_1, clip(y) e_2, clip(y)^2 over an episode; regret so far


class Factor(NamedTuple):
    """z = a e_1, mu = b e_1 + c e_2."""

    a: float
    b: float
    c: float


def scored(env) -> Scored:
    """`Scored` of an `Autoregressive` or a `Margin` environment."""
    chain, rows = isinstance(env, Autoregressive), np.zeros((3, env.d))
    law = (env.phi, env.rewards == "uniform") if chain else (0.0, False)
    gaps = (0.0, 0.0) if chain else (env.gap, env.power)
    shape = env.K, env.beta, np.flatnonzero(env.beta)
    return Scored(*shape, *law, env.noise, *gaps, *rows, np.zeros(4))


@jit
def covariance(phi, v, out):
    """out (d,) <- Sigma v, Sigma_ij = phi^|i-j|: sums from the left and from the right."""
    d, s = v.shape[0], 0.0
    for i in range(d):
        s = phi * s + v[i]
        out[i] = s
    s = 0.0
    for i in range(d - 1, -1, -1):
        out[i] += phi * s
        s = phi * s + v[i]


@jit
def factor(w, theta):
    """`Factor` for this estimate; w.first, w.second <- Cov(x, e).

    A part of no variance (theta = 0; beta along theta, or 0) gets weight 0 and direction 0.
    """
    covariance(w.phi, theta, w.first)
    covariance(w.phi, w.beta, w.second)
    a, whole = np.sqrt(max(dot(theta, w.first), 0.0)), dot(w.beta, w.second)
    for i in range(theta.shape[0]):
        w.first[i] = w.first[i] / a if a > 0.0 else 0.0
    b = dot(w.beta, w.first)
    rest = whole - b * b
    c = np.sqrt(rest) if rest > PARALLEL * whole else 0.0
    for i in range(theta.shape[0]):
        w.second[i] = (w.second[i] - b * w.first[i]) / c if c > 0.0 else 0.0
    return Factor(a, b, c)


@jit
def play_margin(w, f, zero, rng):
    """`play_round` in a `Margin` world."""
    size = np.sqrt(f.b * f.b + f.c * f.c)
    g = w.gap if w.power == 0.0 else w.gap * rng.random() ** w.power
    g = g if rng.random() < 0.5 else -g  # by which the first arm is better
    along, across = g / size, np.sqrt(2.0) * rng.standard_normal()
    one = (along * f.b - across * f.c) / size  # s in coordinates e
    two = (along * f.c + across * f.b) / size
    second = rng.random() < 0.5 if zero else one * f.a < 0.0
    half = -0.5 if second else 0.5
    one = np.sqrt(0.5) * rng.standard_normal() + half * one
    two = np.sqrt(0.5) * rng.standard_normal() + half * two
    w.sums[3] += max(-2.0 * half * g, 0.0)
    return one, two, f.b * one + f.c * two + w.noise * rng.standard_normal()


@inlined
def play_round(w, f, zero, rng):
    """Draw the scores of the arms, play greedily (zero: at random) and draw the reward; adds the
    regret to w.sums, and returns (e_1, e_2) of the arm that was played, and the reward."""
    if w.gap > 0.0:
        return play_margin(w, f, zero, rng)
    best, top, played, one, two = -np.inf, -np.inf, 0.0, 0.0, 0.0
    guess = below(rng, w.K) if zero else -1
    for k in range(w.K):
        e, g = rng.standard_normal(), rng.standard_normal()
        z, mu = f.a * e, f.b * e + f.c * g
        top = max(top, mu)
        if k == guess or (not zero and z > best):
            best, played, one, two = z, mu, e, g
    w.sums[3] += top - played
    return one, two, played + draw_noise(rng, w.uniform, w.noise)


@jit
def move(w, f, theta, picks, e, scale, v, out):
    """out (d,) <- scale v + H (e - scale e(v)) for the pair e, in the words of the module; f is
    made for theta, which is zero off picks."""
    one = sparse_dot(v, theta, picks, picks.shape[0]) / f.a if f.a > 0.0 else 0.0
    mu = sparse_dot(v, w.beta, w.support, w.support.shape[0])
    two = (mu - f.b * one) / f.c if f.c > 0.0 else 0.0
    one, two = e[0] - scale * one, e[1] - scale * two
    for j in range(v.shape[0]):
        out[j] = scale * v[j] + (one * w.first[j] + two * w.second[j])


class Part(NamedTuple):
    """Rounds first, ..., min(2 first - 1, grid[-1]) of a run, and what is kept of them."""

    first: int
    Z: np.ndarray  # row t - first makes the row of round t
    grid: np.ndarray  # (n,), rising: rounds after which regret is kept
    regret: np.ndarray  # (n,) <- cumulative regret after these rounds


@jit
def place(grid, first):
    """The first place of the grid that is not before round `first`."""
    at = 0
    while grid[at] < first:
        at += 1
    return at


@jit
def play_episode(p, s, w, episode, size, rng, grid, regret):
    """Play one episode, to round grid[-1] at most, with s.theta_hat (zero if size == 0);
    s.work.moment <- sum clip(y) x, if a release needs it, and regret[i] <- cumulative regret after
    round grid[i]."""
    needed = episode < p.iterations.shape[0]
    bound = p.reward_clip[episode] if needed else np.inf
    first, last = 1 << episode, min((2 << episode) - 1, grid[-1])
    f = factor(w, s.theta_hat)
    w.sums[:3] = 0.0
    at = place(grid, first)
    for t in range(first, last + 1):
        one, two, y = play_round(w, f, size == 0, rng)
        y = clip(y, bound)
        w.sums[0] += y * one
        w.sums[1] += y * two
        w.sums[2] += y * y
        if t == grid[at]:
            regret[at] = w.sums[3]
            at += 1
    if needed:
        draw_row(w.phi, rng, w.x)
        move(w, f, s.theta_hat, s.picks, w.sums, np.sqrt(w.sums[2]), w.x, s.work.moment)
