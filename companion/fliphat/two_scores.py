"""Autoregressive contexts of which a round draws two numbers an arm: its estimated score
z = x'theta and its mean reward mu = x'beta.

Kernels of `companion.fliphat.shortcuts`, path "scores".  While one estimate is in use, a row x is
N(0, Sigma), and arms, rewards and regrets depend on z and mu alone.  With the Cholesky factor L of
their covariance (z, mu) = L e for standard normals e, and x = H e + r with H = Cov(x, e) and a
residual r that is normal and independent of e, so of everything that was decided.  Given all e and
rewards, the moment u = sum clip(y_t) x_t of the rows that were played is therefore

    u = H sum clip(y_t) e_t + (sum clip(y_t)^2)^(1/2) r,    r = x - H e(x),

with one fresh row x for the whole episode: e(x) are its own two numbers, and what is left of it
once they are taken away has the law of r.
Cost: 2 K normals per round and d per episode, whatever the supports.
"""

from typing import Any, NamedTuple

import numpy as np

from companion._jit import inlined, jit
from companion._types import Array, Ints, Rng
from companion.fliphat.environments import draw_noise
from companion.fliphat.regression import clip
from companion.kernels.linalg import axpy, dot

PARALLEL = 1e-12  # share of the variance of mu beside z, below which z says all of mu


class Scored(NamedTuple):
    """The environment in kernel form, with work arrays."""

    K: int
    beta: np.ndarray  # (d,)
    phi: float
    uniform: bool
    noise: float
    first: np.ndarray  # (d,) Cov(x, e_1)
    second: np.ndarray  # (d,) Cov(x, e_2)
    x: np.ndarray  # (d,) scratch
    sums: np.ndarray  # (4,) of clip(y) e_1, clip(y) e_2, clip(y)^2 over an episode; regret so far


class Factor(NamedTuple):
    """z = a e_1, mu = b e_1 + c e_2."""

    a: float
    b: float
    c: float


def scored(env: Any) -> Scored:
    """`Scored` of an `Autoregressive` environment."""
    uniform, rows = env.rewards == "uniform", np.zeros((3, env.d))
    return Scored(env.K, env.beta, env.phi, uniform, env.noise, *rows, np.zeros(4))  # type: ignore[call-arg]


@jit
def covariance(phi: float, v: Array, out: Array) -> None:
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
def factor(w: Scored, theta: Array) -> Factor:
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


@inlined
def play_round(w: Scored, f: Factor, zero: bool, bound: float, rng: Rng) -> Any:
    """Draw the scores of the arms, play greedily (zero: at random), draw the reward, clip it to the
    bound and add it to w.sums; returns the regret so far."""
    best, top, played, one, two = -np.inf, -np.inf, 0.0, 0.0, 0.0
    guess = rng.integers(0, w.K) if zero else -1
    for k in range(w.K):
        e, g = rng.standard_normal(), rng.standard_normal()
        z, mu = f.a * e, f.b * e + f.c * g
        top = max(top, mu)
        if k == guess or (not zero and z > best):
            best, played, one, two = z, mu, e, g
    y = clip(played + draw_noise(rng, w.uniform, w.noise), bound)
    w.sums[0] += y * one
    w.sums[1] += y * two
    w.sums[2] += y * y
    w.sums[3] += top - played
    return w.sums[3]


@jit
def add_moment(w: Scored, theta: Array, f: Factor, rng: Rng, moment: Array) -> None:
    """moment (d,) <- moment + a draw of sum clip(y) x given w.sums: see the module."""
    d, x = theta.shape[0], w.x
    innovation, root = np.sqrt(1.0 - w.phi * w.phi), np.sqrt(w.sums[2])
    x[0] = rng.standard_normal()
    for j in range(1, d):
        x[j] = w.phi * x[j - 1] + innovation * rng.standard_normal()
    one = dot(x, theta) / f.a if f.a > 0.0 else 0.0
    two = (dot(x, w.beta) - f.b * one) / f.c if f.c > 0.0 else 0.0
    axpy(root, x, moment)
    axpy(w.sums[0] - root * one, w.first, moment)
    axpy(w.sums[1] - root * two, w.second, moment)


@jit
def play_episode(
    p: Any, s: Any, w: Scored, episode: int, size: int, rng: Rng, grid: Ints, regret: Array
) -> None:
    """Play one episode, to round grid[-1] at most, with s.theta_hat (zero if size == 0);
    s.work.moment <- sum clip(y) x, if a release needs it; regret as in `shortcuts.run_lazy`."""
    needed, at = episode < p.iterations.shape[0], 0
    bound = p.reward_clip[episode] if needed else np.inf
    first, last = 1 << episode, min((2 << episode) - 1, grid[-1])
    f = factor(w, s.theta_hat)
    w.sums[:3] = 0.0
    while grid[at] < first:
        at += 1
    for t in range(first, last + 1):
        total = play_round(w, f, size == 0, bound, rng)
        if t == grid[at]:
            regret[at] = total
            at += 1
    s.work.moment[:] = 0.0
    if needed:
        add_moment(w, s.theta_hat, f, rng, s.work.moment)
