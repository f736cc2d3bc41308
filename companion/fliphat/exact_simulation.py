"""Exact simulation of one-step FLIPHAT on autoregressive contexts: the same law of regret as
`simulate`, with 2 K normals per round in place of K d.

While one estimate is in use, a row x is N(0, Sigma), and arms, rewards and regrets depend on its
two scores z = x'theta, mu = x'beta alone.  With the Cholesky factor L of their covariance (z, mu)
= L e for standard normals e, and x = H e + r with H = Cov(x, e) and a residual r that is normal and
independent of e, so of everything that was decided.  Given all e and rewards, the moment
u = sum clip(y_t) x_t of the rows that were played, of which a release makes its one step, is

    u = H sum clip(y_t) e_t + (sum clip(y_t)^2)^(1/2) r,    r = v - H e(v),

where v is one fresh row for the whole episode: a fresh row has a residual of the law of r.

Exact if every release is at most one step from zero, on the rows of one episode, and nothing but
rewards is clipped (`is_exact`); refused otherwise.  A test compares the law with `simulate`.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from companion.fliphat.environments import Autoregressive, draw_noise, draw_row
from companion.fliphat.fliphat import Params, clip, init, l1_project, sparse_dot, step
from companion.jit import borrowed, jit
from companion.kernels.linalg import dot
from companion.kernels.mechanisms import laplace, random_integer
from companion.simulate import as_result, need_run, parallel_map, stream
from companion.validate import need_choice

PARALLEL = 1e-12  # share of the variance of mu beside z, below which z says all of mu


class World(NamedTuple):
    """The environment in kernel form, with work arrays."""

    K: int
    beta: np.ndarray  # (d,)
    support: np.ndarray  # the coordinates where beta is not zero
    phi: float
    uniform: bool
    noise: float
    H: np.ndarray  # (2, d) Cov(e, x)
    L: np.ndarray  # (3,) z = L_0 e_1, mu = L_1 e_1 + L_2 e_2
    x: np.ndarray  # (d,) a fresh row
    sums: np.ndarray  # (4,) of clip(y) e_1, clip(y) e_2, clip(y)^2 over an episode; regret so far


def world(env) -> World:
    """`World` of an `Autoregressive` environment."""
    law = env.phi, env.rewards == "uniform", env.noise
    work = np.zeros((2, env.d)), np.zeros(3), np.zeros(env.d), np.zeros(4)
    return World(env.K, env.beta, np.flatnonzero(env.beta), *law, *work)


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
    """w.L, w.H <- those of this estimate.

    A part of no variance (theta = 0; beta along theta, or 0) gets weight 0 and direction 0.
    """
    first, second = w.H[0], w.H[1]
    covariance(w.phi, theta, first)
    covariance(w.phi, w.beta, second)
    a, whole = np.sqrt(max(dot(theta, first), 0.0)), dot(w.beta, second)
    for i in range(theta.shape[0]):
        first[i] = first[i] / a if a > 0.0 else 0.0
    b = dot(w.beta, first)
    rest = whole - b * b
    c = np.sqrt(rest) if rest > PARALLEL * whole else 0.0
    for i in range(theta.shape[0]):
        second[i] = (second[i] - b * first[i]) / c if c > 0.0 else 0.0
    w.L[0], w.L[1], w.L[2] = a, b, c


@jit
def play_round(w, guess, bound, rng):
    """Draw the scores of the arms, play greedily (guess: at random), draw the reward; w.sums take
    in clip(y) e, clip(y)^2 and the regret."""
    best, top, played, one, two = -np.inf, -np.inf, 0.0, 0.0, 0.0
    arm = random_integer(rng, w.K) if guess else -1
    for k in range(w.K):
        e, g = rng.standard_normal(), rng.standard_normal()
        z, mu = w.L[0] * e, w.L[1] * e + w.L[2] * g
        top = max(top, mu)
        if k == arm or (not guess and z > best):
            best, played, one, two = z, mu, e, g
    y = clip(played + draw_noise(rng, w.uniform, w.noise), bound)
    w.sums[0] += y * one
    w.sums[1] += y * two
    w.sums[2] += y * y
    w.sums[3] += top - played


@jit
def draw_moment(w, s, rng):
    """s.moment (d,) <- u of the module's formula."""
    draw_row(w.phi, rng, w.x)
    scale, (a, b, c) = np.sqrt(w.sums[2]), (w.L[0], w.L[1], w.L[2])
    one = sparse_dot(w.x, s.theta_hat, s.picks, s.picks.shape[0]) / a if a > 0.0 else 0.0
    mu = sparse_dot(w.x, w.beta, w.support, w.support.shape[0])
    two = (mu - b * one) / c if c > 0.0 else 0.0
    one, two = w.sums[0] - scale * one, w.sums[1] - scale * two
    for j in range(w.x.shape[0]):
        s.moment[j] = scale * w.x[j] + (one * w.H[0, j] + two * w.H[1, j])


@jit
def step_with_noise(p, s, episode, n, noise, rng):
    """`step` in which the noise of pick i is xi times noise[i] (sparsity or more, d)."""
    xi = p.xi_first[episode]
    s.taken[:] = False
    for j in range(p.d):
        s.v[j] = p.eta * 2.0 / n * s.moment[j]
    for i in range(p.sparsity):
        best, at = -np.inf, 0
        for j in range(p.d):
            z = abs(s.v[j]) + xi * noise[i, j]
            if not s.taken[j] and z > best:
                best, at = z, j
        s.taken[at] = True
        s.picks[i] = at
    for i in range(p.sparsity):
        s.theta_hat[s.picks[i]] = s.v[s.picks[i]] + laplace(rng, xi)
    l1_project(s.theta_hat, s.picks, p.sparsity, p.l1_radius, s.magnitudes)
    s.size[0] = p.sparsity


@jit
def run(p, s, w, rng, noise_rng, pool, grid, regret):
    """Play to round grid[-1]; regret[i] <- cumulative regret after round grid[i].

    pool: empty, or (episodes + sparsity, d), overwritten with the noise that releases reuse.
    """
    p, s, w = borrowed(p), borrowed(s), borrowed(w)
    at, episode = 0, 0
    for i in range(pool.shape[0]):
        for j in range(p.d):
            pool[i, j] = laplace(noise_rng, 1.0)
    while 1 << episode <= grid[-1]:
        released = episode < p.iterations.shape[0]
        bound = p.reward_clip[episode] if released else np.inf
        factor(w, s.theta_hat)
        w.sums[:3] = 0.0
        for t in range(1 << episode, min((2 << episode) - 1, grid[-1]) + 1):
            play_round(w, s.size[0] == 0, bound, rng)
            if t == grid[at]:
                regret[at] = w.sums[3]
                at += 1
        if released:
            draw_moment(w, s, rng)
        if 2 << episode <= grid[-1]:
            s.theta_hat[:] = 0.0
            s.size[0] = 0
            if p.iterations[episode] == 1 and pool.shape[0] > 0:
                step_with_noise(p, s, episode, 1 << episode, pool[episode:], noise_rng)
            elif p.iterations[episode] == 1:
                step(p, s, episode, 0, 1 << episode, noise_rng)
        episode += 1


def is_exact(policy) -> bool:
    """Whether `simulate_one_step` has the law of this FLIPHAT policy."""
    p = policy.params
    if not isinstance(p, Params):
        return False
    unclipped = p.row_clip == p.gradient_clip == p.residual_clip == np.inf
    return unclipped and p.forget and not p.warm and p.iterations.max(initial=0) <= 1


def simulate_one_step(
    env, policies, T: int, seeds, executor=None, *, grid=None, reuse_noise: bool = False
):
    """`simulate` for one-step FLIPHAT policies on an `Autoregressive` environment.

    Arguments, executor and result as in `companion.simulate.simulate`; but policies of one
    repetition draw contexts of their own.  reuse_noise=True is what the authors' program does: pick
    i of episode l has the unit noise of pick i - 1 of episode l + 1, which voids the guarantee.
    Raises ValueError on another environment, and on a policy for which this is not exact.
    """
    policies, T, seeds, grid = need_run(policies, T, seeds, grid)
    need_choice("reuse_noise", reuse_noise, (True, False))
    if not isinstance(env, Autoregressive):
        raise ValueError(f"env must be an Autoregressive environment; got {type(env).__name__}")
    for p in policies:
        if not is_exact(p) or p.params.d != env.d:
            raise ValueError(
                "policies must be FLIPHAT of at most one step, from zero, on unclipped contexts of "
                f"dimension d={env.d}; got {p.name!r}"
            )
    jobs = [(env, policies, grid, reuse_noise, seed) for seed in seeds]
    return as_result(policies, grid, parallel_map(_repetition, jobs, executor))


def _repetition(env, policies, grid, reuse_noise, seed):
    """One repetition: (regret (n_policies, n_grid), seconds (n_policies,)), contexts included."""
    regret, seconds = np.zeros((len(policies), len(grid))), np.zeros(len(policies))
    for i, policy in enumerate(policies):
        p, begin = policy.params, time.thread_time()
        contexts, noise = stream(seed, f"contexts of {policy.name}"), stream(seed, policy.name)
        pool = np.empty((len(p.iterations) + p.sparsity if reuse_noise else 0, p.d))
        run(p, init(p, 0), world(env), contexts, noise, pool, grid, regret[i])
        seconds[i] = time.thread_time() - begin
    return regret, seconds
