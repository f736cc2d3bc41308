"""Exact shortcuts for FLIPHAT on autoregressive contexts: the same law of regret as `simulate`, far fewer draws.

Every decision and every regret needs the contexts only on I = supp(beta) + supp(theta_hat).

* "lazy": draw the K arms on I, then fill in the chosen row, coordinate by coordinate, from its law given x_I.  Exact for
  every FLIPHAT policy; K |I| + d normals per round.
* "aggregated": an episode enters the release only through u = sum clip(y_t) x_t.  Given all x_I and rewards, the other
  coordinates of every row are the same linear map of x_I plus independent Gaussian noise, so u is that map of u_I plus the
  noise of one row times sqrt(sum clip(y_t)^2): one fill per episode, K |I| normals per round.  Exact if every release is at
  most one iteration from zero on unclipped contexts; refused otherwise.

Tests compare the laws with `simulate`, which draws all K x d coordinates.
"""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from companion._jit import jit
from companion.checks import need_choice, need_int
from companion.core import horizon
from companion.policies import fliphat
from companion.simulate import Result, even_grid, simulate, stream
from companion.sparse import clip
from companion.sparse_environments import Autoregressive, draw_noise

PATHS = ("auto", "full", "lazy", "aggregated")


class World(NamedTuple):
    """The environment in kernel form, with work arrays."""

    K: int
    beta: np.ndarray  # (d,)
    phi: float
    uniform: bool
    noise: float
    revealed: np.ndarray  # (d,) the coordinates in I, increasing, in the first entries
    gain: np.ndarray  # (d,) correlation of a revealed coordinate with the previous one
    spread: np.ndarray  # (d,) and its conditional standard deviation
    left: np.ndarray  # (d,) weight of coordinate j - 1 in the law of a filled coordinate j
    right: np.ndarray  # (d,) weight of the next revealed coordinate (left of all: of coordinate j + 1)
    scale: np.ndarray  # (d,) its conditional standard deviation; 0 on I
    rows: np.ndarray  # (K, d) revealed coordinates of the arms
    x: np.ndarray  # (d,)


def world(env):
    """`World` of an `Autoregressive` environment."""
    d = env.d
    floats = [np.zeros(d) for _ in range(5)]
    return World(
        env.K, env.beta, env.phi, env.rewards == "uniform", env.noise,
        np.zeros(d, np.int64), *floats, np.zeros((env.K, d)), np.zeros(d),
    )  # fmt: skip


@jit
def plan(w, theta):
    """Precompute the laws for I = supp(beta) + supp(theta); returns |I|."""
    d, m, phi = theta.shape[0], 0, w.phi
    for j in range(d):
        if w.beta[j] != 0.0 or theta[j] != 0.0:
            g = phi ** (j - w.revealed[m - 1]) if m > 0 else 0.0
            w.gain[m], w.spread[m] = g, np.sqrt(1.0 - g * g)
            w.revealed[m] = j
            m += 1
    innovation = np.sqrt(1.0 - phi * phi)
    nxt = m - 1
    for j in range(d - 1, -1, -1):
        if nxt >= 0 and w.revealed[nxt] == j:
            w.left[j], w.right[j], w.scale[j] = 0.0, 0.0, 0.0
            nxt -= 1
        elif nxt == m - 1:  # right of all revealed ones: forwards (m = 0: the whole row)
            w.left[j], w.right[j], w.scale[j] = (phi if j > 0 else 0.0), 0.0, (innovation if j > 0 else 1.0)
        elif nxt < 0:  # left of all: backwards
            w.left[j], w.right[j], w.scale[j] = 0.0, phi, innovation
        else:  # a bridge to the next revealed coordinate, r steps away
            r = w.revealed[nxt + 1] - j
            below = 1.0 - phi ** (2 * (r + 1))
            w.left[j] = phi * (1.0 - phi ** (2 * r)) / below
            w.right[j] = phi**r * (1.0 - phi * phi) / below
            w.scale[j] = np.sqrt((1.0 - phi * phi) * (1.0 - phi ** (2 * r)) / below)
    return m


@jit
def fill(w, m, innovations, rng, x):
    """x (d,), given on I, <- its law on the other coordinates; innovations multiplies the standard deviations."""
    first = w.revealed[0] if m > 0 else 0
    for j in range(first - 1, -1, -1):
        x[j] = w.right[j] * x[j + 1] + innovations * w.scale[j] * rng.standard_normal()
    nxt = 0
    for j in range(first, x.shape[0]):
        if nxt < m and w.revealed[nxt] == j:
            nxt += 1
        else:
            z = w.right[j] * x[w.revealed[nxt]] if nxt < m else 0.0
            if j > 0:
                z += w.left[j] * x[j - 1]
            x[j] = z + innovations * w.scale[j] * rng.standard_normal()


@jit
def draw_round(w, m, theta, zero, rng):
    """Draw the arms on I and play greedily for theta (zero: at random); (arm, its mean reward, regret)."""
    best, arm, top, played = -np.inf, 0, -np.inf, 0.0
    guess = rng.integers(0, w.K) if zero else -1
    for k in range(w.K):
        row, z, mu = w.rows[k], 0.0, 0.0
        for i in range(m):
            j = w.revealed[i]
            row[i] = w.spread[i] * rng.standard_normal()
            if i > 0:
                row[i] += w.gain[i] * row[i - 1]
            z += row[i] * theta[j]
            mu += row[i] * w.beta[j]
        top = max(top, mu)
        if k == guess or (not zero and z > best):
            best, arm, played = z, k, mu
    return arm, played, top - played


@jit
def run_lazy(p, s, w, rng, noise_rng, grid, regret):
    """Play p.T rounds with the policy's own `update`; regret[i] <- cumulative regret after round grid[i]."""
    m, total, at = plan(w, s.theta_hat), 0.0, 0
    for t in range(1, grid[-1] + 1):
        arm, mu, loss = draw_round(w, m, s.theta_hat, s.size == 0, rng)
        for i in range(m):
            w.x[w.revealed[i]] = w.rows[arm, i]
        if t < 1 << p.iterations.shape[0]:  # rows of the last episode are never looked at
            fill(w, m, 1.0, rng, w.x)
        s = fliphat.update(p, s, w.x, mu + draw_noise(rng, w.uniform, w.noise), noise_rng)
        if (t + 1) & t == 0:
            m = plan(w, s.theta_hat)
        total += loss
        if t == grid[at]:
            regret[at] = total
            at += 1
    return s


@jit
def episode_moment(w, theta, zero, first, last, reward_clip, needed, rng, total, grid, regret, moment):
    """Rounds first..last with one estimate; moment (d,) <- moment + sum clip(y) x if needed; returns the total regret.

    More than 8 arguments: an episode's inputs, and the curve that it continues.
    """
    m = plan(w, theta)
    at, weight = 0, 0.0
    while at < grid.shape[0] and grid[at] < first:
        at += 1
    for i in range(m):
        w.x[w.revealed[i]] = 0.0
    for t in range(first, last + 1):
        arm, mu, loss = draw_round(w, m, theta, zero, rng)
        y = clip(mu + draw_noise(rng, w.uniform, w.noise), reward_clip)
        for i in range(m):
            w.x[w.revealed[i]] += y * w.rows[arm, i]
        weight += y * y
        total += loss
        if at < grid.shape[0] and t == grid[at]:
            regret[at] = total
            at += 1
    if needed:
        fill(w, m, np.sqrt(weight), rng, w.x)
        for j in range(moment.shape[0]):
            moment[j] += w.x[j]
    return total


@jit
def run_aggregated(p, s, w, rng, noise_rng, grid, regret):
    """Play to round grid[-1], one fill per episode; regret as in `run_lazy`; returns the state (no rows are stored)."""
    size, total, T = 0, 0.0, grid[-1]
    for episode in range(p.iterations.shape[0] + 1):
        first, last = 1 << episode, min((2 << episode) - 1, T)
        if first > T:
            break
        needed = episode < p.iterations.shape[0]
        bound = p.reward_clip[episode] if needed else np.inf
        for j in range(p.d):
            s.work.moment[j] = 0.0
        total = episode_moment(
            w, s.theta_hat, size == 0, first, last, bound, needed, rng, total, grid, regret, s.work.moment
        )  # fmt: skip
        if needed and last < T:
            size = fliphat.release_from_moment(p, s, 1 << episode, episode, noise_rng)
    return fliphat.State(T, 0, 0, size, s.theta_hat, s.picks, s.X, s.y, s.work)


def aggregated_is_exact(policy):
    """Whether the aggregated path has the law of the policy: at most one iteration, from zero, on one episode, nothing but y clipped."""
    p = policy.params
    unclipped = p.row_clip == p.gradient_clip == p.residual_clip == np.inf
    return bool(unclipped and p.forget and not p.warm and (p.iterations <= 1).all())


def simulate_sparse(env, policies, T, seeds, executor=None, *, grid=None, path="auto"):
    """`simulate` for FLIPHAT policies on an `Autoregressive` environment, by the cheapest path that is exact.

    Arguments, executor and result as in `companion.simulate.simulate`; path "auto" takes "aggregated" where it is exact, else
    "lazy"; "full" draws every coordinate.  Unlike `simulate`, policies of one repetition have independent contexts.
    Raises ValueError on another environment or policy, and on a path that is not exact.
    """
    need_choice("path", path, PATHS)
    T, policies = need_int("T", T, 1), tuple(policies)
    if not isinstance(env, Autoregressive):
        raise ValueError(f"env must be an Autoregressive environment; got {type(env).__name__}")
    for p in policies:
        if not isinstance(p.params, fliphat.Params) or p.params.d != env.d:
            raise ValueError(f"policies must be FLIPHAT policies of dimension d={env.d}; got {p.name!r}")
        if T > horizon(p):
            raise ValueError(f"T must be at most the horizon {horizon(p)} of {p.name!r}; got T={T}")
        if path == "aggregated" and not aggregated_is_exact(p):
            raise ValueError(f"path must be 'lazy' or 'full' for {p.name!r}: aggregation is not exact")
    if len({p.name for p in policies}) < len(policies) or not policies or not seeds:
        raise ValueError("policies must have distinct names, and seeds must not be empty")
    grid = even_grid(T) if grid is None else np.unique(np.append(np.asarray(grid, np.int64), T))
    if grid[0] < 1 or grid[-1] > T:
        raise ValueError(f"grid must hold rounds in [1, {T}]; got {grid}")
    if path == "full":
        return simulate(env, policies, T, seeds, executor, grid=grid)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        work = [[seed, (env, policies, grid, path)] for seed in seeds]
        runs = list((executor or pool).map(_repetition, *zip(*work, strict=True)))
    regret, seconds = (np.stack(parts) for parts in zip(*runs, strict=True))
    guarantees = tuple(p.guarantee for p in policies)
    return Result(tuple(p.name for p in policies), grid, regret, guarantees, seconds)


def _repetition(seed, job):
    """One repetition: (regret (n_policies, n_grid), seconds (n_policies,)), contexts included."""
    env, policies, grid, path = job
    regret, seconds = np.zeros((len(policies), len(grid))), np.zeros(len(policies))
    for i, policy in enumerate(policies):
        p = policy.params
        contexts, noise = stream(seed, f"contexts of {policy.name}"), stream(seed, policy.name)
        fast = path == "aggregated" or (path == "auto" and aggregated_is_exact(policy))
        run = run_aggregated if fast else run_lazy
        begin = time.thread_time()
        run(p, fliphat.init(p), world(env), contexts, noise, grid, regret[i])
        seconds[i] = time.thread_time() - begin
    return regret, seconds
