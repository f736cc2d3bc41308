"""Experiments of the LPLR paper: runs from grouped sums for any number of users, summaries of
fitted trees, attacks on messages, and closed forms of the theorems.

Grouped sums: within a stage or an epoch every user does the same, and the server keeps sums alone.
So who falls where is one multinomial, the labels of a point are one binomial, and the noises of
all users are added at once (`lplr.laplace_sum`): the exact law at any n.  Tests compare it with
messages sent one by one.
Source: Li, Simchi-Levi and Wang (2024), whose alpha is `epsilon` here; LDP-LinUCB: Zheng et al.
(2020), Algorithm 2.
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from companion.accounting.audit import Attack, attacked
from companion.jit import jit
from companion.kernels.linalg import add_outer, axpy, copy, dot, inverse, matvec, norm
from companion.kernels.mechanisms import laplace
from companion.kernels.ucb import optimistic_arm
from companion.lplr.environments import (
    Law,
    Users,
    draw_users,
    label_sum,
    law_of,
    no_users,
)
from companion.lplr.lplr import (
    ACTIVE,
    COEF,
    COUNT,
    MAX_USERS,
    PARENT,
    Tree,
    add_error,
    add_noise,
    add_statistics,
    allocate_tree,
    close_stage,
    eliminate,
    epoch_length,
    interval,
    laplace_loss,
    lplr_params,
    matrix_sd,
    message_attack,
    messages,
    need_budget,
    need_horizon,
    open_layer,
    predict,
    public_state,
    tree_of,
    walk,
)
from companion.lplr.lplr import Oracle as LplrOracle
from companion.lplr.ssp import (
    Model,
    allocate_model,
    ssp_fit,
    ssp_interval,
    ssp_noise,
    ssp_params,
)
from companion.lplr.ssp import Oracle as SspOracle
from companion.simulate import need_seeds, parallel_map, stream
from companion.validate import need_choice, need_int, need_positive, need_probability


def powers(first: int, step: int, last: int):
    """first, first * step, ... up to last, as integers."""
    return [first, *(powers(first * step, step, last) if first * step <= last else [])]


def by_seed(repetition, args, seeds, executor) -> np.ndarray:
    """Array of repetition(*args, seed) for every seed, in their order."""
    jobs = [(*args, seed) for seed in need_seeds(seeds)]
    return np.array(parallel_map(repetition, jobs, executor), dtype=float)


def drawn(design, seed, signs: bool) -> Law:
    """The law of one repetition: a function draws its design from the environment's stream."""
    return law_of(design(stream(seed, "environment")) if callable(design) else design, signs)


# Fits from grouped sums


@jit
def fit_sums(p, forest, law, n, rng, users):
    """The law of `lplr.fit_messages` for users drawn from a `Law`, for one oracle or several.

    forest: one tree per oracle, overwritten; n users per stage; users.plays grows by those of the
    2d - 1 stages that ask something.
    """
    for stage in range(2 * p.d):
        h = stage // 2
        if stage != 1:
            draw_users(law, n, rng, users)
        for o in range(forest.start.shape[0]):
            tree = tree_of(forest, o)
            if stage % 2 == 0:
                open_layer(p, tree, h)
            if stage != 1:
                for j in range(users.seen.shape[0]):
                    m = users.seen[j]
                    if law.owner[j] != o or m == 0:
                        continue
                    b, prediction, eta = walk(p, tree, h, law.points[j], users.residual)
                    if b >= 0 and stage % 2 == 0:
                        labels = label_sum(rng, m, law.means[j], law.signs)
                        add_statistics(p, tree, b, users.residual, m, labels, prediction)
                    elif b >= 0:
                        add_error(tree, h, b, users.residual, m, eta)
                add_noise(p, tree, stage, n, rng)
            close_stage(p, tree, stage, n)


@jit
def ssp_sums(p, m, law, n, rng, users):
    """Statistics of n users from a `Law`, with noise, into the model m; users.plays grows."""
    m.vec[:] = 0.0
    m.mat[:] = 0.0
    draw_users(law, n, rng, users)
    for j in range(users.seen.shape[0]):
        if users.seen[j] > 0:
            labels = label_sum(rng, users.seen[j], law.means[j], law.signs)
            add_outer(float(users.seen[j]), law.points[j], m.mat)
            axpy(labels, law.points[j], m.vec)
    ssp_noise(p, m, n, rng)


class Trials(NamedTuple):
    """Estimation runs, one entry per repetition; expectations are over the design."""

    mad: np.ndarray  # mean absolute error of the plug-in estimate
    mse: np.ndarray  # mean square error of the plug-in estimate
    width: np.ndarray  # mean half-width, ||phi|| where the interval is trivial
    covered: np.ndarray  # 1 if every point's interval holds its mean
    active: np.ndarray  # bins with a model
    bin_error: np.ndarray  # what the bins should cost, see `bin_error`
    informed: np.ndarray  # chance of a point whose interval is not trivial


@jit
def bin_error(p, tree, n):
    """Sum over bins with a model of the smaller of share x size and noise, for n users per stage.

    In bin k, with share psi, predictions have size gamma^-k.  Noise moves them by about sqrt(2
    b_v^2 + (sd of the matrix) gamma^-2k) / (psi sqrt n): times psi, a bin costs the same whatever
    its share, but never more than psi gamma^-k, as coefficients are clipped.
    """
    total, matrix = 0.0, matrix_sd(p)
    for h in range(p.d):
        for b in range(tree.start[h], tree.start[h + 1]):
            if tree.link[b, ACTIVE] == 1:
                g = p.edge[(b - tree.start[h]) % p.M]
                noise = math.sqrt(2.0 * p.vector_scale[h] ** 2 + (matrix * g) ** 2)
                total += min(tree.stat[b, COUNT] / n * g, noise / math.sqrt(n))
    return total


@jit
def score(p, tree, law, n, residual):
    """The `Trials` of one tree; the bins' error includes the size of what is left by walks."""
    mad, mse, width, covered, informed = 0.0, 0.0, 0.0, 1.0, 0.0
    cost = bin_error(p, tree, n)
    for j in range(law.points.shape[0]):
        f, half = predict(p, tree, law.points[j], residual)
        error, length = abs(f - law.means[j]), norm(law.points[j])
        mad += law.prob[j] * error
        mse += law.prob[j] * error**2
        cost += law.prob[j] * norm(residual)
        if half >= length:  # as `lplr.interval`
            error, half = abs(law.means[j]), length
        else:
            informed += law.prob[j]
        width += law.prob[j] * half
        if error > half + 1e-12:
            covered = 0.0
    active = tree.link[: tree.start[p.d], ACTIVE].sum()
    return Trials(mad, mse, width, covered, active, cost, informed)


def estimate_lplr(design, p, n: int, seeds, executor=None, *, signs: bool = True) -> Trials:
    """LPLR runs with p (`lplr_params`) on n users from a design, n // (2d) per stage: `Trials`.

    design: a `Design`, or a function of a generator that draws one for every repetition; seeds and
    executor as for `simulate`; signs: labels are +1 or -1 (else noiseless).  Raises ValueError if n
    < 2d, n > 1e18 or p has another dimension.
    """
    n = need_int("n", n, 2 * p.d, MAX_USERS)
    return Trials(*by_seed(_score, (design, p, n, signs), seeds, executor).T)


def _score(design, p, n, signs, seed):
    law, tree = _fit(design, p, n, signs, seed)
    return score(p, tree, law, n // (2 * p.d), np.empty(p.d))


def _fit(design, p, n, signs, seed):
    """(law, tree) of one repetition."""
    law, forest = drawn(design, seed, signs), allocate_tree(p, 1)
    if law.points.shape[1] != p.d:
        raise ValueError(f"design must have dimension d={p.d}; got d={law.points.shape[1]}")
    rng, users = stream(seed, "LPLR"), no_users(*law.points.shape)
    fit_sums(p, forest, law, n // (2 * p.d), rng, users)
    return law, tree_of(forest, 0)


def fit_design(design, p, n: int, seed, *, signs: bool = True) -> Tree:
    """The tree of one repetition of `estimate_lplr`; seed: an integer or a SeedSequence."""
    n, (seed,) = need_int("n", n, 2 * p.d, MAX_USERS), need_seeds([seed])
    return _fit(design, p, n, signs, seed)[1]


def ball_least_squares(A, b) -> np.ndarray:
    """argmin v'Av/2 - b'v over ||v|| <= 1, with the negative eigenvalues of the symmetric A set to
    0.

    In the eigenbasis v = c / (a + t), with the least multiplier t >= 0 for which ||v|| <= 1.  No
    coordinate of v exceeds 1, so t >= |c_i| - a_i for all i; and t = ||c|| is enough.
    """
    values, basis = np.linalg.eigh(A)
    a, c = np.maximum(values, 0.0), basis.T @ b

    def coordinates(t):
        return np.divide(c, a + t, out=np.zeros(len(c)), where=a + t > 0.0)

    def excess(t):
        return np.linalg.norm(coordinates(t)) - 1.0

    low, high = max((np.abs(c) - a).max(), 0.0), 1.001 * np.linalg.norm(c)
    return basis @ coordinates(brentq(excess, low, high) if excess(low) > 0.0 else low)


def theta_error(model, law) -> tuple[float, float]:
    """(mad, mse) of least squares from the statistics in model."""
    error = law.points @ ball_least_squares(model.mat, model.vec) - law.means
    return law.prob @ np.abs(error), law.prob @ error**2


def estimate_ssp(design, n: int, seeds, executor=None, *, epsilon: float = 1.0, signs: bool = True):
    """(mad, mse) (2, n_reps) of perturbed sufficient statistics, least squares in the unit ball.

    Arguments as for `estimate_lplr`.
    """
    n, epsilon = need_int("n", n, 1, MAX_USERS), need_budget(epsilon)
    return by_seed(_ssp_error, (design, n, epsilon, signs), seeds, executor).T


def _ssp_error(design, n, epsilon, signs, seed):
    law = drawn(design, seed, signs)
    K, d = law.points.shape
    model = allocate_model(d)
    ssp_sums(ssp_params(d, epsilon), model, law, n, stream(seed, "SSP"), no_users(K, d))
    return theta_error(model, law)


def lplr_and_ssp(design, d: int, n: int, seeds, epsilon: float, signs: bool = True):
    """(`Trials` of LPLR, (mad, mse) of SSP), in the same repetitions on a design in R^d."""
    ours = estimate_lplr(design, lplr_params(d, n, epsilon), n, seeds, signs=signs)
    return ours, estimate_ssp(design, n, seeds, epsilon=epsilon, signs=signs)


@jit
def perturbed_inputs(points, theta, epsilon, n, rng, m):
    """Theorem 2's observations, phi and phi'theta + Lap(1/epsilon), of n users uniform on points.

    Leaves in m the debiased moments: mat, less n (2/epsilon^2) I, and vec.
    """
    m.vec[:] = 0.0
    m.mat[:] = 0.0
    x, d = np.empty(points.shape[1]), points.shape[1]
    for _ in range(n):
        j = rng.integers(0, points.shape[0])
        for i in range(d):
            x[i] = points[j, i] + laplace(rng, 1.0 / epsilon)
        y = dot(points[j], theta) + laplace(rng, 1.0 / epsilon)
        add_outer(1.0, x, m.mat)
        axpy(y, x, m.vec)
    for i in range(d):
        m.mat[i, i] -= n * 2.0 / epsilon**2


def estimate_inputs(design, n: int, seeds, executor=None, *, epsilon: float = 1.0):
    """(mad, mse), each (n_reps,): debiased moments of perturbed inputs, users drawn one by one."""
    if not np.allclose(design.prob, design.prob[0]):
        raise ValueError("design must have equal chances for perturbed inputs")
    n, epsilon = need_int("n", n, 1, MAX_USERS), need_budget(epsilon)
    return by_seed(_input_error, (design, n, epsilon), seeds, executor).T


def _input_error(design, n, epsilon, seed):
    model, rng = allocate_model(len(design.theta)), stream(seed, "perturbed inputs")
    perturbed_inputs(design.points, design.theta, epsilon, n, rng, model)
    return theta_error(model, law_of(design))


# Bandits, epoch by epoch

EPOCHS = 64  # 2^64 rounds: more than any run has
LOST, MISSED, BOUND, ROUNDS, REGRET = 0, 1, 2, 3, 4  # columns of a log, see `elimination`
LPLR, SSP, NONE = 0, 1, 2  # places in KINDS
KINDS = ("lplr", "ssp", "none")


class Runs(NamedTuple):
    """Bandit runs, one entry per repetition."""

    regret: np.ndarray
    log: np.ndarray  # (n_reps, EPOCHS, 5), epoch by epoch: see `elimination`


class Oracles(NamedTuple):
    """Oracles of one kind, which says what of the rest is used."""

    kind: int
    lplr: LplrOracle
    forest: Tree  # one tree per oracle
    ssp: SspOracle
    model: Model


class Game(NamedTuple):
    """A `Contexts` bandit in kernel form, and scratch; law.prob is what an epoch plays."""

    law: Law  # of pairs of context and action
    prob: np.ndarray  # (C,)
    best: np.ndarray  # (C,) first best arm
    gap: np.ndarray  # (C*A,) what a play costs
    users: Users  # of pairs of context and action
    alive: np.ndarray  # (C, A) 1 if the arm stays
    f: np.ndarray  # (C, A) estimates
    width: np.ndarray  # (C, A) half-widths


def game_of(bandit, per_action: bool = False) -> Game:
    """The `Game` of a bandit; per_action: oracle a receives the actions in place a."""
    C, A, d = bandit.X.shape
    owner = np.tile(np.arange(A) if per_action else np.zeros(A), C).astype(np.int64)
    points = np.ascontiguousarray(bandit.X.reshape(C * A, d))
    law = Law(points, bandit.mu.reshape(C * A), np.zeros(C * A), owner, True)
    gap = (bandit.mu.max(axis=1, keepdims=True) - bandit.mu).ravel()
    arms = np.zeros((C, A), np.int64), np.zeros((C, A)), np.zeros((C, A))
    return Game(law, bandit.prob, bandit.mu.argmax(axis=1), gap, no_users(C * A, d), *arms)


@jit
def play_uniformly(game):
    """law.prob <- chance of context c and arm a under uniform play of the arms alive."""
    C, A = game.alive.shape
    for c in range(C):
        left = game.alive[c].sum()
        for a in range(A):
            game.law.prob[c * A + a] = game.prob[c] / left if game.alive[c, a] == 1 else 0.0


@jit
def receive_sums(o, game, rounds, rng):
    """An epoch's users at once; returns how many were asked."""
    if o.kind == LPLR:
        n = rounds // (2 * o.lplr.d)
        fit_sums(o.lplr, o.forest, game.law, n, rng, game.users)
        return (2 * o.lplr.d - 1) * n
    if o.kind == SSP:
        ssp_sums(o.ssp, o.model, game.law, rounds, rng, game.users)
        ssp_fit(o.ssp, o.model, rounds)
        return rounds
    return 0


@jit
def evaluate(o, game):
    """The oracles' estimates and half-widths everywhere -> game.f, game.width."""
    law, A = game.law, game.f.shape[1]
    for i in range(o.forest.start.shape[0]):
        tree = tree_of(o.forest, i)
        for j in range(law.points.shape[0]):
            if law.owner[j] != i:
                continue
            f, width = 0.0, 1.0
            if o.kind == LPLR:
                f, width = interval(o.lplr, tree, law.points[j], game.users.residual)
            elif o.kind == SSP:
                f, width = ssp_interval(o.ssp, o.model, law.points[j])
            game.f[j // A, j % A], game.width[j // A, j % A] = f, width


@jit
def eliminate_and_log(game, log):
    """Eliminate in every context and log what Lemma EC.2 speaks of (see `elimination`)."""
    C, A = game.alive.shape
    log[LOST] = log[MISSED] = log[BOUND] = 0.0
    for c in range(C):
        f, width, alive, best = game.f[c], game.width[c], game.alive[c], game.best[c]
        for a in range(A):
            error = abs(f[a] - game.law.means[c * A + a])
            if alive[a] == 1 and error > width[a] + 1e-12:
                log[MISSED] += 1.0
        eliminate(f, width, alive)
        log[LOST] += 1.0 - alive[best]
        left, total = 0, 0.0
        for a in range(A):
            if alive[a] == 1:
                left += 1
                total += 2.0 * (width[a] + width[best]) if a != best else 0.0
        log[BOUND] += game.prob[c] * total / left


@jit
def count_regret(game):
    """Pseudo-regret of the plays of game.users, which are set to 0."""
    total = 0.0
    for j in range(game.gap.shape[0]):
        total += game.users.plays[j] * game.gap[j]
    game.users.plays[:] = 0
    return total


@jit
def elimination(o, game, T, n0, rng, log):
    """Algorithm 1 for T rounds.  The last epoch's users are not asked: nobody would use its oracle.

    log (EPOCHS, 5) <- per epoch: optimal arms LOST so far; intervals that MISSED; BOUND, the mean
    of 2 (width_a + width_a*) over what the next epoch plays, which bounds its regret per round;
    ROUNDS; REGRET.
    """
    left, tau = T, 0
    game.alive[:] = 1
    while left > 0:
        n = min(epoch_length(n0, tau), left)
        left -= n
        play_uniformly(game)
        asked = receive_sums(o, game, n, rng) if left > 0 else 0
        draw_users(game.law, n - asked, rng, game.users)
        log[tau, ROUNDS], log[tau, REGRET] = n, count_regret(game)
        if left > 0:
            evaluate(o, game)
            eliminate_and_log(game, log[tau])
        tau += 1


def eliminate_with(
    oracle: str,
    bandit,
    T: int,
    seeds,
    executor=None,
    *,
    epsilon: float = 1.0,
    per_action: bool = False,
    n0: int = 64,
    **settings,
) -> Runs:
    """RegCB.Elimination (Algorithm 1) on a `Contexts` bandit for T rounds, exact in law: `Runs`.

    oracle: "lplr", "ssp" (epsilon = inf: least squares) or "none" (never learns);
    settings: keywords of `lplr_params` or `ssp_params`, "none" has none.  per_action: one
    LPLR oracle for every place among the actions, as printed, not one in all.  seeds and executor
    as for `simulate`.  Raises ValueError on anything else.
    """
    kind = KINDS.index(need_choice("oracle", oracle, KINDS))
    need_choice("per_action", per_action, (True, False) if kind == LPLR else (False,))
    if settings and kind == NONE:
        raise ValueError(f"settings must be empty for this oracle; got {sorted(settings)}")
    d, T, _, n0 = need_horizon(bandit.X.shape[2], T, 1, n0)
    p = lplr_params(d, T, epsilon, **settings) if kind == LPLR else lplr_params(d, 2, M=1)
    q = ssp_params(d, epsilon, **settings) if kind == SSP else ssp_params(d)
    log = by_seed(_elimination, (kind, p, q, bandit, per_action, T, n0), seeds, executor)
    return Runs(log[:, :, REGRET].sum(axis=1), log)


def _elimination(kind, p, q, bandit, per_action, T, n0, seed):
    forest = allocate_tree(p, bandit.X.shape[1] if per_action else 1)
    o = Oracles(kind, p, forest, q, allocate_model(q.d))
    game, log = game_of(bandit, per_action), np.zeros((EPOCHS, 5))
    elimination(o, game, T, n0, stream(seed, "elimination"), log)
    return log


# LDP-LinUCB, refitted when the rounds have grown by a fifth: between two refits the policy is fixed


class LinucbSettings(NamedTuple):
    T: int
    sigma: float  # standard deviation of every number that a user sends
    bonus: float = 1.0  # multiplies shift and exploration radius (1: the paper's)
    failure: float = 0.1


@jit
def radius_and_shift(p, d, t):
    """Exploration radius after t rounds, and the shift that keeps V positive."""
    log_T = math.log(p.T)
    shift = p.sigma * math.sqrt(t) * (4 * math.sqrt(d) + 2 * math.log(2 * p.T / p.failure))
    shift *= p.bonus
    radius = 2 * p.sigma * math.sqrt(d * log_T)
    radius += (math.sqrt(3 * shift) + p.sigma * math.sqrt(d * t / shift)) * d * log_T
    return p.bonus * radius, shift


@jit
def receive_batch(game, n, sigma, rng, V, u):
    """Add what n users send: V += sum x x', u += sum y x, both with symmetric Gaussian noise."""
    for j, plays in enumerate(game.users.plays):
        if plays > 0:
            add_outer(float(plays), game.law.points[j], V)
            axpy(label_sum(rng, plays, game.law.means[j], True), game.law.points[j], u)
    noise = sigma * math.sqrt(n)
    for i in range(u.shape[0]):
        u[i] += noise * rng.standard_normal()
        for j in range(i + 1):
            z = noise * rng.standard_normal()
            V[i, j] += z
            V[j, i] += z if j < i else 0.0


@jit
def linucb_batches(p, game, rng):
    """Regret of p.T rounds, NaN if a matrix is singular (chance 0)."""
    (C, A), d, prob, t, total = game.alive.shape, game.law.points.shape[1], game.law.prob, 0, 0.0
    V, inverted, work = np.zeros((d, d)), np.zeros((d, d)), np.zeros((d, d))
    u, theta = np.zeros(d), np.zeros(d)
    while t < p.T:
        n = min(max(1, t // 5), p.T - t)
        radius, shift = radius_and_shift(p, d, max(t, 1))
        copy(V, inverted)
        for i in range(d):
            inverted[i, i] += 2 * shift
        if not inverse(inverted, inverted, work):
            return math.nan
        matvec(inverted, u, theta)
        prob[:] = 0.0
        for c in range(C):
            arms = game.law.points[c * A : (c + 1) * A]
            prob[c * A + optimistic_arm(arms, inverted, theta, radius)] = game.prob[c]
        draw_users(game.law, n, rng, game.users)
        receive_batch(game, n, p.sigma, rng, V, u)
        total += count_regret(game)
        t += n
    return total


def ldp_linucb_regret(
    bandit,
    T: int,
    seeds,
    executor=None,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    bonus: float = 1.0,
    failure: float = 0.1,
) -> np.ndarray:
    """Regret (n_reps,) of LDP-LinUCB with refits at growing times; (epsilon, delta)-local privacy.

    sigma = 4 sqrt(2 ln(1.25/delta))/epsilon; bonus in (0, inf) multiplies its shift and exploration
    radius (1: the paper's); seeds and executor as for `simulate`.
    """
    T, delta = need_int("T", T, 2, MAX_USERS), need_probability("delta", delta)
    sigma = 4 * math.sqrt(2 * math.log(1.25 / delta)) / need_budget(epsilon)
    bonus, failure = need_positive("bonus", bonus), need_probability("failure", failure)
    return by_seed(_regret, (bandit, LinucbSettings(T, sigma, bonus, failure)), seeds, executor)


def _regret(bandit, p, seed):
    return linucb_batches(p, game_of(bandit), stream(seed, "LDP-LinUCB"))


# What a fitted tree says


def layer_widths(p, tree, design) -> np.ndarray:
    """Lemma 3's E_h = sum over bins B of layer h of psi_B sqrt(E_B[eta_B^2]), for every layer (d,).

    Points that stop on a layer count there, with the half-width they stop with.
    """
    squares, residual = [{} for _ in range(p.d)], np.empty(p.d)
    for phi, chance in zip(design.points, design.prob, strict=True):
        path = ()
        for h in range(p.d):
            b, _, eta = walk(p, tree, h, phi, residual)
            on, path = b >= 0 and tree.link[b, ACTIVE] == 1, (*path, b)
            left = norm(residual)
            eta = walk(p, tree, h + 1, phi, residual)[2] if on else eta + left
            share, total = squares[h].get(path, (0.0, 0.0))
            squares[h][path] = share + chance, total + chance * min(eta, p.cap) ** 2
            if not on:
                break
    return np.array([sum(math.sqrt(s * t) for s, t in layer.values()) for layer in squares])


def tree_summary(p, tree, n: int):
    """A fitted tree as rows for a table, one dict per tracked bin; n users were in a stage.

    A bin of layer 1 is called B and its index k; a deeper one its parent's name and its own k.
    """
    rows, names = [], {tree.link.shape[0] - 1: "root"}
    for h in range(p.d):
        for b in range(tree.start[h], tree.start[h + 1]):
            k, up = (b - tree.start[h]) % p.M, names[tree.link[b, PARENT]]
            names[b] = f"B{k}" if h == 0 else f"{up}{k}"
            on, (count, _, value, coef) = tree.link[b, ACTIVE] == 1, tree.stat[b, : COEF + 1]
            row = {"bin": names[b], "layer": h + 1, "parent": up, "noisy_share": count / n}
            row |= {"active": on, "eigenvalue": value, "coefficient": coef}
            rows.append(row | {f"u{i + 1}": u for i, u in enumerate(tree.frame[b, h])})
    return rows


# Attacks on parts of a message, printed and corrected


class Case(NamedTuple):
    """One audit: what is released, the `Attack` on it, and what it may lose."""

    what: str
    attack: Attack
    claimed: float  # loss that the paper claims for this part
    proven: float  # the largest loss for these users
    fault: str  # what is planted in `faulty`, in words
    faulty: Attack  # the same attack on a message with a fault, which has to be found


def audited(case: Case, trials: int, seed: int, planted: bool = False):
    """The lower bound of one case, or of its planted fault: an `audit.Audit`."""
    one = case.faulty if planted else case.attack
    return attacked(one, delta=0.0, trials=trials, seed=seed)


def halved(p):
    """Half of the noise: a fault that an audit has to find."""
    small = {k: getattr(p, k) / 2 for k in ("count_scale", "matrix_scale", "error_scale")}
    return p._replace(vector_scale=p.vector_scale / 2, **small)


def counts(o):
    """The count of bin 0 is at least 1, that of bin 1 at most 0."""
    return (o[:, 0, 0] >= 1) & (o[:, 1, 0] <= 0)


def counts_and_vectors(o):
    """The same, and the vectors are not below what the user of bin 0 sends."""
    return counts(o) & (o[:, 0, 1] >= 1) & (o[:, 1, 1] >= 0)


def outside_support(c, o):
    """The printed matrix about bin 0 cannot have come from a user with vector e2 there."""
    Z = o[:, 0, 3:].reshape(-1, 2, 2) + 3 * c * np.eye(2) - np.diag([0.0, 1.0])
    return np.linalg.eigvalsh(Z)[:, 0] < -1e-9


def audits(epsilon: float, coef: float = 8.0):
    """`Case`s for the printed and the corrected message at this budget; the corrected message as a
    whole has the policy's own attack, the others attack a part alone.

    coef: coefficient of the public state that convicts the residual labels.
    """
    e, root = epsilon, math.sqrt(0.5)
    a1, a2, b1, b2 = (
        lplr_params(d, 10**4, e, M=2, calibration=c) for c in ("paper", "corrected") for d in (1, 2)
    )
    g = a1.edge[1]
    bins = (np.array([1.0]), 1.0), (np.array([g]), -1.0)  # d = 1: users of bins 0 and 1
    deep = (np.array([0.0, 1.0]), 0.0), (np.array([math.sqrt(1 - g * g), g]), 0.0)  # of layer 2
    signs = (np.array([-root, root]), 1.0), (np.array([root, root]), -1.0)

    def attack(p, users, statistic, part=0, **state):
        stage = 2 * p.d - 2 + part  # LPLR-UPDATE (0) or LPLR-CI (1) of the last layer
        mechanism = partial(messages, p, public_state(p, **state), stage)
        return Attack(mechanism, *users, statistic, "message", runs=False)

    def matrix(p):
        return attack(p, deep[::-1], partial(outside_support, p.matrix_scale))

    def labels(p):
        return attack(p, signs, lambda o: o[:, 0, 2], coef=coef)

    def intervals(p):
        ends = p.cap * np.eye(2)
        statistic = partial(laplace_loss, *ends, p.error_scale)
        return attack(p, deep, lambda o: statistic(o[:, :, 0]), part=1, width=p.cap)

    def case(what, p, on, claimed, proven, fault="half of the noise", plant=halved):
        return Case(what, on(p), claimed, proven, fault, on(plant(p)))

    both, label = 2 * e / 3, f"printed: residual label, past coefficient {coef:g}"
    return [
        case("printed: counts", a1, lambda p: attack(p, bins, counts), e / 3, both),
        case("printed: counts and vectors", a1, lambda p: attack(p, bins, counts_and_vectors),
             both, 2 * both),
        case("printed: matrix", a2, matrix, e / 3, math.inf),
        case(label, a2, labels, e / 3, e / 3 * (1 + coef * root)),
        case("printed: interval stage", a2, intervals, e, 2 * e),
        case("corrected: whole message", b1, message_attack, e, e),
        case("corrected: residual label", b2, labels, e / 3, e / 6,
             "labels that are not clipped", lambda p: p._replace(clip=False)),
        case("corrected: interval stage", b2, intervals, e, e),
    ]  # fmt: skip


# Closed forms; the constants of the lower bounds and the proposition on sufficient statistics: see
# the evidence page of the chapter


def theorem_1(n: int, epsilon: float = 1.0) -> tuple[float, float]:
    """(share, bound): chance of e2 in Theorem 1's design; what no private estimator's MSE can beat.

    Le Cam's method with MSE(theta_0) + MSE(theta_1) >= c/(2 sqrt n) and total variation at most 1/4
    gives 3c/(16 sqrt n).
    """
    c = 1 / (4 * math.sqrt(2) * math.expm1(epsilon))
    if not c <= math.sqrt(n):
        raise ValueError(f"n must be at least {c * c:.3g} for epsilon={epsilon}; got n={n}")
    return c / math.sqrt(n), 3 * c / (16 * math.sqrt(n))


def sufficient_statistics_bound(n: int, scale: float):
    """(r, bound): design phi = r, and the least MAD from r^2 + Lap(scale) and r y + Lap(scale)."""
    r = math.sqrt(scale) * n**-0.25
    return r, 3 * r / 16


def chi_square_laplace(mu: np.ndarray, epsilon: float = 1.0, nodes: int = 60) -> float:
    """chi^2 of the mixture of Lap(+-mu, 1/epsilon) against its centre; mu (1,) or (2,) above 0.

    The density ratio is constant beyond mu in every coordinate, so only [-mu, mu] needs quadrature
    (Gauss-Legendre).
    """
    x, w = np.polynomial.legendre.leggauss(nodes)
    plus, minus, weight = np.zeros(1), np.zeros(1), np.ones(1)
    for size in np.asarray(mu, dtype=float) * epsilon:
        half, tail = size / 2, math.exp(-size) / 2
        u = np.concatenate([half * (x + 1), -half * (x + 1), [size, -size]])
        own = np.concatenate([half * w, half * w, [0, 0]]) * np.exp(-abs(u)) / 2
        own[-2:] = tail
        plus = (plus[:, None] + (abs(u - size) - abs(u))).ravel()
        minus = (minus[:, None] + (abs(u + size) - abs(u))).ravel()
        weight = (weight[:, None] * own).ravel()
    excess = 0.5 * (np.expm1(-plus) + np.expm1(-minus))
    return float(weight @ excess**2)


@jit
def _log_sum(a, b):
    top = max(a, b)
    return math.log(math.exp(a - top) + math.exp(b - top)) + top


@jit
def _llr(v, w, m, epsilon):
    """Log-likelihood ratio of Theorem 2's models for one user's perturbed (phi_2, y - 1/4)."""
    near, far = -epsilon * abs(v - m), -epsilon * abs(v + m)
    first = _log_sum(near, far) - epsilon * abs(w)
    return _log_sum(near - epsilon * abs(w - m / 2), far - epsilon * abs(w + m / 2)) - first


@jit
def _cut(rng, length, epsilon):
    """Exponential variable of rate epsilon, given that it is at most length."""
    return -math.log1p(rng.random() * math.expm1(-epsilon * length)) / epsilon


@jit
def _thirds(rng, n, above, below):
    """How many of n users lie above, between and below two limits, by the chances of both ends."""
    top = rng.binomial(n, above)
    bottom = rng.binomial(n - top, below / (1.0 - above))
    return top, n - top - bottom, bottom


@jit
def _sum_of_ratios(m, epsilon, n, second, rng):
    """Log-likelihood ratio of n users; second: whether Theorem 2's second hypothesis is true.

    The ratio stands still where v leaves [-m, m] and where w leaves [-m/2, m/2], and (-v, -w) has
    that of (v, w).  So users may be drawn with s = m, most are only counted, and the others get
    exponential distances from the centre, cut at the limits.
    """
    near, half, total = epsilon * m, m / 2, 0.0
    over = 0.5 if second else 0.5 * math.exp(-near / 2)
    under = 0.5 * math.exp(-near) if second else over
    rows = _thirds(rng, n, 0.5, 0.5 * math.exp(-2 * near))
    for i in range(3):
        cells = _thirds(rng, rows[i], over, under)
        for j in range(3):
            v, w = m * (1 - i), half * (1 - j)
            if i != 1 and j != 1:
                total += cells[j] * _llr(v, w, m, epsilon)
                continue
            for _ in range(cells[j]):
                if i == 1:
                    v = m - _cut(rng, 2 * m, epsilon)
                if j == 1 and second:
                    w = half - _cut(rng, m, epsilon)
                elif j == 1:
                    w = _cut(rng, half, epsilon) * (1.0 if rng.random() < 0.5 else -1.0)
                total += _llr(v, w, m, epsilon)
    return total


@jit
def likelihood_ratio_errors(m, epsilon, n, trials, rng):
    """Wrong decisions of the likelihood-ratio test between Theorem 2's two hypotheses, out of 2 x
    trials samples of n users; m: size of the second feature.
    """
    wrong = 0
    for which in range(2):
        for _ in range(trials):
            total = _sum_of_ratios(m, epsilon, n, which == 1, rng)
            if (total > 0.0) != (which == 1):
                wrong += 1
    return wrong


def lemma_1(p, n: int, epsilon: float, failure: float, share=1.0, k: int = 0):
    """Bounds of Lemma 1 (logarithm corrected) on (share, vector, matrix) errors of a bin."""
    d, beta = p.d, 1 / (2 * p.M)
    L = math.log(48 * d / (beta * failure)) / (epsilon * math.sqrt(n))
    vector, matrix = (19 * d**2 + 29 * d) * p.edge[k], (7 * (d + 1) ** 3 + 29 * d) * p.edge[k] ** 2
    return 6.2 * d * L, vector * L / share, matrix * L / share


def support_violation(epsilon: float, norm: float = 1.0) -> float:
    """P(W not >= vv') for the printed W ~ Wishart_d(d+1, 4.5/epsilon I): no user with v sends it.

    1/(v'W^-1 v) is c/|v|^2 times a chi-square with 2 degrees of freedom, so this is 1 -
    exp(-|v|^2/2c) in every d.
    """
    return -math.expm1(-epsilon * norm**2 / 9)


def lemma_3(p, n: int, epsilon: float, failure: float) -> float:
    """12 M^h K / sqrt n of Lemma 3 for every layer h, (d,), n users per stage, smallest kappas."""
    L = math.log(48 * p.d * 2 * p.M / failure) / epsilon  # 1/beta is about 2M
    gamma, d = math.exp(p.log_gamma), p.d
    quiet = max(43 * gamma**2 * (d + 1) ** 3, 15 * gamma * d**1.5)
    K = L * (300 * gamma**2 * (d + 1) ** 4 + 118 * gamma * d**2 + quiet)
    return 12 * K / math.sqrt(n) * float(p.M) ** np.arange(1, d + 1)
