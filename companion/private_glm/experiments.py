"""What the chapters measure: counts beside regrets, the two audits, optimiser, switching rules.

Everything random comes from the seeds that are passed; repetitions are spread by `simulate.over`.
"""

import math
from typing import NamedTuple

import numpy as np

from companion import tree
from companion._jit import jit
from companion.glm import mean
from companion.likelihood import canonical
from companion.linalg import axpy, cholesky, dot, project_ball
from companion.mechanisms import add_gaussian
from companion.privacy import tree_levels
from companion.private_glm.continual import Scratch, above, add_leaf, raise_floor, unpack
from companion.private_glm.joint import joint_glm
from companion.simulate import even_grid, need_seeds, over, stream


class Counted(NamedTuple):
    """Several runs of one Joint-DP GLM."""

    rounds: np.ndarray  # (m,) grid
    regret: np.ndarray  # (n, m)
    fits: np.ndarray  # (n, 2) of theta_o and theta_tau
    explored: np.ndarray  # (n,) rounds in which Criterion I fired
    first_fit: np.ndarray  # (n,) round of the first fit of theta_tau on the grid; T + 1 without one


def counted(env, policy, T, seeds, executor=None):
    """`Counted` runs of a Joint-DP GLM, on the streams of `simulate`, one per seed.

    Raises AssertionError if a run makes more fits than its ledger pays for.
    """
    grid = even_grid(T)
    runs = over(_counted, [(env, policy, T, s, grid) for s in need_seeds(seeds)], executor)
    regret, fits, explored, first = (np.array(part) for part in zip(*runs, strict=True))
    p = policy.params
    assert (fits <= [p.fit_o.cutoff, p.fit_tau.cutoff]).all(), "more fits than were paid for"
    return Counted(grid, regret, fits, explored, first)


def _counted(env, policy, T, seed, grid):
    rng, state = stream(seed, policy.name), policy.init(policy.params)
    gaps, t, first = np.empty(T), 0, T + 1
    for X, R, mu in env.blocks(T, stream(seed, "environment")):
        for start in range(0, len(X), 100):
            cut = slice(start, start + 100)
            arms = np.empty(len(X[cut]), np.int64)
            state = policy.play(policy.params, state, X[cut], R[cut], rng, arms)
            gaps[t : t + len(arms)] = mu[cut].max(axis=1) - mu[cut][np.arange(len(arms)), arms]
            t += len(arms)
            first = min(first, t) if state.fits[1] > 0 else first
    return np.cumsum(gaps)[grid - 1], state.fits.copy(), state.explored.sum(), first


# --- audits -------------------------------------------------------------------------------------


def attack_world(T=61, user=59, K=4, d=3, seed=0):
    """(a, b): two data sets (X, R) that differ in one user.

    Everybody has K unit vectors as contexts, user `user` (from 0) only in a and zeros in b, and the
    next user zeros in both; rewards are coin flips.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((T, K, d))
    X /= np.linalg.norm(X, axis=2, keepdims=True)
    X[user + 1] = 0.0
    R = (rng.random((T, K)) < 0.5).astype(float)
    other = X.copy()
    other[user] = 0.0
    return (X, R), (other, R)


def estimate_changes(policy, user):
    """The mechanism that says, of data (X, R), whether theta_o changed while `user` was served:
    from before this user's round until after the next one's selection.  Outputs (n,) of 0 or 1."""

    def mechanism(data, rng, n):
        (X, R), out = data, np.empty(n)
        for i in range(n):
            state, arms = policy.init(policy.params), np.empty(len(X), np.int64)
            blocks = slice(0, user), slice(user, user + 2)
            state = policy.play(policy.params, state, X[blocks[0]], R[blocks[0]], rng, arms)
            before = state.theta_o.copy()
            state = policy.play(policy.params, state, X[blocks[1]], R[blocks[1]], rng, arms)
            out[i] = float((state.theta_o != before).any())
        return out

    return mechanism


def leaky(rule, epsilon=1.0, delta=0.01):
    """Joint-DP GLM as attacked: it explores in every round that offers a unit vector."""
    return joint_glm(
        3, 64, epsilon, delta, theta_bound=2.0, kappa=20.0, preset="explore", gamma=3.0, rule=rule,
        cutoff_o=100,
    )  # fmt: skip


def tree_nodes(sigma, T):
    """The mechanism that averages N_11 - N_22 over the m nodes that one user enters, whose leaf is
    e_1 e_1' or e_2 e_2' (data +1 or -1); every node has N(0, sigma^2) on its diagonal."""
    m = tree_levels(T)

    def mechanism(side, rng, n):
        return side + sigma * np.sqrt(2.0 / m) * rng.standard_normal(n)

    return mechanism


def node_loss(T, user, sigma, shift, trials, seed):
    """Privacy loss (trials,) of the tree's nodes, for a leaf of round `user` (from 1) that moves by
    the packed vector `shift`: the log-likelihood ratio of every node that holds the leaf."""
    rng, levels, out = np.random.default_rng(seed), tree_levels(T), np.zeros(trials)
    nodes = np.zeros((levels, len(shift)))
    for i in range(trials):
        nodes[:] = 0.0
        for t in range(1, T + 1):
            tree.advance(nodes, t, sigma, rng)
            q = tree.trailing_zeros(t)
            if t - (1 << q) < user <= t:  # this node is complete, and holds the leaf
                z = nodes[q]
                out[i] += (dot(shift, shift) + 2.0 * dot(shift, z)) / (2.0 * sigma**2)
    return out


# --- optimiser ----------------------------------------------------------------------------------


@jit
def printed_descent(link, X, y, radius, sigma, steps, eta, rng, theta, g, average):
    """average (d,) <- mean iterate of Lemma U.4: `steps` noisy gradients of the mean loss, step
    eta, projection on the ball; sigma is the noise of the mean gradient."""
    n, d = X.shape
    for i in range(d):
        theta[i], average[i] = 0.0, 0.0
    for _ in range(steps):
        axpy(1.0 / steps, theta, average)
        for i in range(d):
            g[i] = 0.0
        for s in range(n):
            axpy((mean(link, dot(X[s], theta)) - y[s]) / n, X[s], g)
        add_gaussian(rng, sigma, g)
        axpy(-eta, g, theta)
        project_ball(theta, radius)


def excess_loss(link, X, y, radius, rho, failure, rng):
    """Excess mean loss of `printed_descent` at zCDP budget rho, with the lemma's noise, step and
    number of steps (L = 1, diameter 2 radius), over the least loss in the ball.

    The least loss is that of 4000 steps without noise from there, each at most 4 (the inverse of
    the largest curvature of either link) long: it differs from the minimum by rounding only.
    """
    n, d = X.shape
    steps = max(1, round((n * n * rho + math.log(1.0 / failure)) / d))
    sigma = math.sqrt(2.0 * steps / (n * n * rho))
    theta, g, average = np.zeros(d), np.zeros(d), np.zeros(d)
    eta = 2.0 * radius / math.sqrt(steps)
    printed_descent(link, X, y, radius, sigma, steps, eta, rng, theta, g, average)
    found = mean_loss(link, X, y, average)
    best = np.zeros(d)
    printed_descent(link, X, y, radius, 0.0, 4000, 2.0, rng, theta, g, best)
    return found - mean_loss(link, X, y, theta)  # the last iterate, not the mean one


@jit
def mean_loss(link, X, y, theta):
    """Mean canonical loss of rows X (n, d), y (n,)."""
    total = 0.0
    for s in range(X.shape[0]):
        total += canonical(link, dot(X[s], theta), y[s])
    return total / X.shape[0]


# --- switching rules ----------------------------------------------------------------------------


@jit
def count_switches(X, weight, ridge, sigma, levels, rng, exact, nodes, noise, w, now, last, out):
    """out (4,) <- switches and worst lambda_max(H_last^-1 H) between them, directional rule, then
    determinant doubling, for the sum of weight x x' over rows X (T, d) released with tree noise.

    Ratios are bounded by doubling from 1 in steps of 5 %; all other arrays are overwritten.
    """
    for rule in range(2):
        exact[:] = 0.0
        nodes[:] = 0.0
        reset(last, ridge)
        last_log_det = X.shape[1] * math.log(ridge)
        out[2 * rule], out[2 * rule + 1] = 0.0, 1.0
        for t in range(X.shape[0]):
            add_leaf(weight, X[t], exact)
            tree.advance(nodes, t + 1, sigma, rng)
            tree.noise(nodes, noise)
            for i in range(noise.shape[0]):
                noise[i] += exact[i]
            unpack(noise, ridge, now)
            raise_floor(now, 0.25 * ridge, w)
            value = log_det(now, w.B)
            switch = value >= last_log_det + math.log(2.0)
            if rule == 0:
                switch = not above(last, now, 2.0, 0.0, w)
            if switch:
                out[2 * rule] += 1.0
                last_log_det = value
                for i in range(now.shape[0]):
                    for j in range(now.shape[0]):
                        last[i, j] = now[i, j]
            else:
                while not above(last, now, out[2 * rule + 1], 0.0, w):
                    out[2 * rule + 1] *= 1.05


@jit
def reset(A, ridge):
    """A <- ridge I."""
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            A[i, j] = ridge if i == j else 0.0


@jit
def log_det(A, L):
    """log det A of a positive definite A; L is overwritten."""
    cholesky(A, L)
    s = 0.0
    for i in range(A.shape[0]):
        s += 2.0 * math.log(L[i, i])
    return s


def switches(X, weight, ridge, sigma, seed):
    """(4,): switches and worst ratio of the directional rule and of determinant doubling."""
    T, d = X.shape
    n, levels = d * (d + 1) // 2, tree_levels(T)
    out, square = np.zeros(4), [np.zeros((d, d)) for _ in range(4)]
    count_switches(
        X, weight, ridge, sigma, levels, np.random.default_rng(seed), np.zeros(n),
        np.zeros((levels, n)), np.zeros(n), Scratch(*square[:2]), *square[2:], out,
    )  # fmt: skip
    return out
