"""Experiments of the LPLR paper: runs from grouped sums for any number of users,
a summary of fitted trees, and closed forms of the theorems.

Grouped sums: within a stage or an epoch every user does the same, and the server keeps
sums alone. So who falls where is one multinomial, the labels of a point are one binomial,
and the noises of all users are added at once (`lplr.laplace_sum`): the exact law at any
n.  Tests compare it with messages sent one by one.
Source: Li, Simchi-Levi and Wang (2024), whose alpha is `epsilon` here.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from companion.jit import jit
from companion.kernels.linalg import add_outer, axpy, norm
from companion.lplr import lplr, ssp
from companion.lplr.environments import Law, Users, draw_users, label_sum, no_users
from companion.simulate import need_seeds, parallel_map, stream
from companion.validate import need_array, need_choice, need_int


def powers(first: int, step: int, last: int) -> list[int]:
    """first, first * step, ... up to last."""
    values = [first]
    while values[-1] * step <= last:
        values.append(values[-1] * step)
    return values


def by_seed(repetition, args, seeds) -> np.ndarray:
    """Array of repetition(*args, seed) for every seed, in their order."""
    jobs = [(*args, seed) for seed in need_seeds(seeds)]
    return np.array(parallel_map(repetition, jobs), dtype=float)


def drawn(design, seed, signs: bool) -> Law:
    """The law of one repetition, all of whose points go to oracle 0: a function draws its
    design from the environment's stream."""
    if callable(design):
        design = design(stream(seed, "environment"))
    return Law(
        points=design.points,
        means=design.means,
        prob=design.prob,
        owner=np.zeros(len(design.points), dtype=np.int64),
        signs=bool(signs),
    )


# Fits from grouped sums


@jit
def fit_sums(oracle, forest, law, n, rng, users):
    """The law of `lplr.fit_messages` for users drawn from a `Law`, for one oracle or
    several.

    forest: one tree per oracle, overwritten; n users per stage; users.plays grows by
    those of the 2d - 1 stages that ask something.
    """
    for stage in range(2 * oracle.d):
        h = stage // 2
        if stage != 1:
            draw_users(law, n, rng, users)
        for o in range(forest.start.shape[0]):
            tree = lplr.tree_of(forest, o)
            if stage % 2 == 0:
                lplr.open_layer(oracle, tree, h)
            if stage != 1:
                for j in range(users.seen.shape[0]):
                    count = users.seen[j]
                    if law.owner[j] != o or count == 0:
                        continue
                    b, f, eta = lplr.walk(oracle, tree, h, law.points[j], users.residual)
                    if b >= 0 and stage % 2 == 0:
                        labels = label_sum(rng, count, law.means[j], law.signs)
                        lplr.add_statistics(
                            oracle,
                            tree,
                            b,
                            users.residual,
                            count,
                            labels,
                            f,
                        )
                    elif b >= 0:
                        lplr.add_error(tree, h, b, users.residual, count, eta)
                lplr.add_noise(oracle, tree, stage, n, rng)
            lplr.close_stage(oracle, tree, stage, n)


@jit
def ssp_sums(oracle, model, law, n, rng, users):
    """Statistics of n users from a `Law`, with noise, into the model; users.plays
    grows."""
    model.vec[:] = 0.0
    model.mat[:] = 0.0
    draw_users(law, n, rng, users)
    for j in range(users.seen.shape[0]):
        if users.seen[j] > 0:
            labels = label_sum(rng, users.seen[j], law.means[j], law.signs)
            add_outer(float(users.seen[j]), law.points[j], model.mat)
            axpy(labels, law.points[j], model.vec)
    ssp.ssp_noise(oracle, model, n, rng)


class Trials(NamedTuple):
    """Estimation runs, one entry per repetition; expectations are over the design."""

    mad: np.ndarray  # mean absolute error of the plug-in estimate
    mse: np.ndarray  # mean square error of the plug-in estimate
    width: np.ndarray  # mean half-width, ||phi|| where the interval is trivial
    covered: np.ndarray  # 1 if every point's interval holds its mean
    informed: np.ndarray  # chance of a point whose interval is not trivial


@jit
def score(oracle, tree, law, residual):
    """The `Trials` of one tree."""
    mad = 0.0
    mse = 0.0
    width = 0.0
    covered = 1.0
    informed = 0.0
    for j in range(law.points.shape[0]):
        f, half = lplr.predict(oracle, tree, law.points[j], residual)
        error = abs(f - law.means[j])
        length = norm(law.points[j])
        mad += law.prob[j] * error
        mse += law.prob[j] * error**2
        if half >= length:  # as `lplr.interval`
            error = abs(law.means[j])
            half = length
        else:
            informed += law.prob[j]
        width += law.prob[j] * half
        if error > half + 1e-12:
            covered = 0.0
    return Trials(
        mad=mad,
        mse=mse,
        width=width,
        covered=covered,
        informed=informed,
    )


def estimate_lplr(
    design,
    oracle: lplr.Oracle,
    n: int,
    seeds,
    *,
    signs: bool = True,
) -> Trials:
    """LPLR runs with an oracle (`lplr_params`) on n users, n // (2d) in a stage:
    `Trials`.

    design: a `Design`, or a function of a generator that draws one for every repetition;
    seeds as for `simulate`; signs: labels are +1 or -1 (else noiseless).  Raises
    ValueError if n < 2d, n > 1e18 or the oracle has another dimension.
    """
    return Trials(*by_seed(_score, (design, oracle, n, signs), seeds).T)


def _score(design, oracle, n, signs, seed):
    law, tree = _fit(design, oracle, n, signs, seed)
    return score(oracle, tree, law, np.empty(oracle.d))


def _fit(design, oracle, n, signs, seed):
    """(law, tree) of one repetition."""
    n = need_int("n", n, 2 * oracle.d, lplr.MAX_USERS)
    law = drawn(design, seed, signs)
    need_array("design", law.points, ("K", oracle.d))
    forest = lplr.allocate_tree(oracle, 1)
    rng = stream(seed, "LPLR")
    users = no_users(len(law.points), oracle.d)
    fit_sums(oracle, forest, law, n // (2 * oracle.d), rng, users)
    return law, lplr.tree_of(forest, 0)


def fit_design(design, oracle, n: int, seed) -> lplr.Tree:
    """The tree of one repetition of `estimate_lplr`; seed: an integer or a
    SeedSequence."""
    (seed,) = need_seeds([seed])
    return _fit(design, oracle, n, True, seed)[1]


def ball_least_squares(A, b) -> np.ndarray:
    """argmin v'Av/2 - b'v over ||v|| <= 1, with the negative eigenvalues of the symmetric
    A set to 0.

    In the eigenbasis v = c / (a + t), with the least multiplier t >= 0 for which ||v|| <=
    1.  No coordinate of v exceeds 1, so t >= |c_i| - a_i for all i; and t = ||c|| is
    enough.
    """
    values, basis = np.linalg.eigh(A)
    a = np.maximum(values, 0.0)
    c = basis.T @ b

    def coordinates(t):
        return np.divide(c, a + t, out=np.zeros(len(c)), where=a + t > 0.0)

    def excess(t):
        return np.linalg.norm(coordinates(t)) - 1.0

    t = max((np.abs(c) - a).max(), 0.0)
    if excess(t) > 0.0:
        t = brentq(excess, t, 1.001 * np.linalg.norm(c))
    return basis @ coordinates(t)


def theta_error(model, law) -> tuple[float, float]:
    """(mad, mse) of least squares from the statistics in model."""
    error = law.points @ ball_least_squares(model.mat, model.vec) - law.means
    return law.prob @ np.abs(error), law.prob @ error**2


def estimate_ssp(design, n: int, seeds, epsilon: float, signs: bool):
    """(mad, mse), each (n_reps,), of least squares in the unit ball from perturbed
    sufficient statistics; arguments as for `estimate_lplr`.
    """
    n = need_int("n", n, 1, lplr.MAX_USERS)
    return by_seed(_ssp_error, (design, n, epsilon, signs), seeds).T


def _ssp_error(design, n, epsilon, signs, seed):
    law = drawn(design, seed, signs)
    oracle = ssp.ssp_params(law.points.shape[1], epsilon)
    users = no_users(len(law.points), oracle.d)
    model = ssp.allocate_model(oracle.d)
    ssp_sums(oracle, model, law, n, stream(seed, "SSP"), users)
    return theta_error(model, law)


def lplr_and_ssp(design, d: int, n: int, seeds, epsilon: float, signs: bool = True):
    """(`Trials` of LPLR, (mad, mse) of SSP), in the same repetitions on a design in
    R^d."""
    oracle = lplr.lplr_params(d, n, epsilon)
    ours = estimate_lplr(design, oracle, n, seeds, signs=signs)
    theirs = estimate_ssp(design, n, seeds, epsilon, signs)
    return ours, theirs


# Bandits, epoch by epoch

EPOCHS = 64  # 2^64 rounds: more than any run has
# columns of a log, see `elimination`
LOST = 0
MISSED = 1
BOUND = 2
ROUNDS = 3
REGRET = 4


class Runs(NamedTuple):
    """Bandit runs, one entry per repetition."""

    regret: np.ndarray
    log: np.ndarray  # (n_reps, EPOCHS, 5), epoch by epoch: see `elimination`


class Game(NamedTuple):
    """A `Contexts` bandit in kernel form, and scratch; law.prob is what an epoch
    plays."""

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
    owner = np.zeros(C * A, np.int64)
    if per_action:
        owner = np.tile(np.arange(A), C)
    law = Law(
        points=np.ascontiguousarray(bandit.X.reshape(C * A, d)),
        means=bandit.mu.reshape(C * A),
        prob=np.zeros(C * A),
        owner=owner,
        signs=True,
    )
    return Game(
        law=law,
        prob=bandit.prob,
        best=bandit.mu.argmax(axis=1),
        gap=(bandit.mu.max(axis=1, keepdims=True) - bandit.mu).ravel(),
        users=no_users(C * A, d),
        alive=np.zeros((C, A), np.int64),
        f=np.zeros((C, A)),
        width=np.zeros((C, A)),
    )


@jit
def play_uniformly(game):
    """law.prob <- chance of context c and arm a under uniform play of the arms alive."""
    C, A = game.alive.shape
    for c in range(C):
        left = game.alive[c].sum()
        for a in range(A):
            chance = 0.0
            if game.alive[c, a] == 1:
                chance = game.prob[c] / left
            game.law.prob[c * A + a] = chance


@jit
def learn_lplr(oracle, forest, game, rounds, rng):
    """An epoch's users at once, then estimates and half-widths everywhere -> game.f,
    game.width; returns how many were asked."""
    n = rounds // (2 * oracle.d)
    A = game.f.shape[1]
    fit_sums(oracle, forest, game.law, n, rng, game.users)
    for j in range(game.law.points.shape[0]):
        tree = lplr.tree_of(forest, game.law.owner[j])
        f, width = lplr.interval(oracle, tree, game.law.points[j], game.users.residual)
        game.f[j // A, j % A] = f
        game.width[j // A, j % A] = width
    return (2 * oracle.d - 1) * n


@jit
def learn_ssp(oracle, model, game, rounds, rng):
    """The same for one SSP model, which asks everybody."""
    ssp_sums(oracle, model, game.law, rounds, rng, game.users)
    ssp.ssp_fit(oracle, model, rounds)
    A = game.f.shape[1]
    for j in range(game.law.points.shape[0]):
        f, width = ssp.ssp_interval(oracle, model, game.law.points[j])
        game.f[j // A, j % A] = f
        game.width[j // A, j % A] = width
    return rounds


@jit
def eliminate_and_log(game, log):
    """Eliminate in every context and log what Lemma EC.2 speaks of (see
    `elimination`)."""
    C, A = game.alive.shape
    log[LOST] = 0.0
    log[MISSED] = 0.0
    log[BOUND] = 0.0
    for c in range(C):
        f = game.f[c]
        width = game.width[c]
        alive = game.alive[c]
        best = game.best[c]
        for a in range(A):
            error = abs(f[a] - game.law.means[c * A + a])
            if alive[a] == 1 and error > width[a] + 1e-12:
                log[MISSED] += 1.0
        lplr.eliminate(f, width, alive)
        log[LOST] += 1.0 - alive[best]
        left = 0
        total = 0.0
        for a in range(A):
            if alive[a] == 1:
                left += 1
                if a != best:
                    total += 2.0 * (width[a] + width[best])
        log[BOUND] += game.prob[c] * total / left


@jit
def count_regret(game):
    """Pseudo-regret of the plays of game.users, which are set to 0."""
    total = 0.0
    for j in range(game.gap.shape[0]):
        total += game.users.plays[j] * game.gap[j]
    game.users.plays[:] = 0
    return total


def elimination(learn, oracle, model, game, T, n0, rng, log):
    """Algorithm 1 for T rounds.  The last epoch's users are not asked: nobody would use
    its oracle.

    learn: `learn_lplr` or `learn_ssp`, which overwrites its forest or model.

    log (EPOCHS, 5) <- per epoch: optimal arms LOST so far; intervals that MISSED; BOUND,
    the mean of 2 (width_a + width_a*) over what the next epoch plays, which bounds its
    regret per round; ROUNDS; REGRET.
    """
    left = T
    tau = 0
    game.alive[:] = 1
    while left > 0:
        n = min(lplr.epoch_length(n0, tau), left)
        left -= n
        play_uniformly(game)
        asked = learn(oracle, model, game, n, rng) if left > 0 else 0
        draw_users(game.law, n - asked, rng, game.users)
        log[tau, ROUNDS] = n
        log[tau, REGRET] = count_regret(game)
        if left > 0:
            eliminate_and_log(game, log[tau])
        tau += 1


def eliminate_with(
    oracle: str,
    bandit,
    T: int,
    seeds,
    *,
    epsilon: float = 1.0,
    per_action: bool = False,
    **settings,
) -> Runs:
    """RegCB.Elimination (Algorithm 1) on a `Contexts` bandit for T rounds, exact in law:
    `Runs`.

    oracle: "lplr" or "ssp" (epsilon = inf: least squares); settings: keywords of
    `lplr_params` or `ssp_params`.  per_action: one LPLR oracle for every place among the
    actions, as printed, not one in all.  seeds as for `simulate`.  Raises ValueError on
    anything else.
    """
    layered = need_choice("oracle", oracle, ("lplr", "ssp")) == "lplr"
    need_choice("per_action", per_action, (True, False) if layered else (False,))
    d, T, _, n0 = lplr.need_horizon(bandit.X.shape[2], T, 1, 64)  # the policies' n0
    if layered:
        params = lplr.lplr_params(d, T, epsilon, **settings)
    else:
        params = ssp.ssp_params(d, epsilon, **settings)
    log = by_seed(_elimination, (params, bandit, per_action, T, n0), seeds)
    return Runs(regret=log[:, :, REGRET].sum(axis=1), log=log)


def _elimination(oracle, bandit, per_action, T, n0, seed):
    game = game_of(bandit, per_action)
    log = np.zeros((EPOCHS, 5))
    if isinstance(oracle, lplr.Oracle):
        learn = learn_lplr
        trees = bandit.X.shape[1] if per_action else 1
        model = lplr.allocate_tree(oracle, trees)
    else:
        learn = learn_ssp
        model = ssp.allocate_model(oracle.d)
    elimination(learn, oracle, model, game, T, n0, stream(seed, "elimination"), log)
    return log


# What a fitted tree says


def tree_summary(oracle, tree, n: int):
    """A fitted tree as rows for a table, one dict per tracked bin; n users were in a
    stage.

    A bin of layer 1 is called B and its index k; a deeper one its parent's name and its
    own k.
    """
    rows = []
    names = {tree.link.shape[0] - 1: "root"}
    for h in range(oracle.d):
        for b in range(tree.start[h], tree.start[h + 1]):
            k = (b - tree.start[h]) % oracle.M
            parent = names[tree.link[b, lplr.PARENT]]
            names[b] = f"B{k}" if h == 0 else f"{parent}{k}"
            row = {
                "bin": names[b],
                "layer": h + 1,
                "parent": parent,
                "noisy_share": tree.stat[b, lplr.COUNT] / n,
                "active": tree.link[b, lplr.ACTIVE] == 1,
                "coefficient": tree.stat[b, lplr.COEF],
            }
            for i, u in enumerate(tree.frame[b, h]):
                row[f"u{i + 1}"] = u
            rows.append(row)
    return rows


# Closed forms; the constants of the lower bounds: see the evidence page of the chapter


def theorem_1(n: int, epsilon: float = 1.0) -> tuple[float, float]:
    """(share, bound): chance of e2 in Theorem 1's design; what no private estimator's MSE
    can beat.

    Le Cam's method with MSE(theta_0) + MSE(theta_1) >= c/(2 sqrt n) and total variation
    at most 1/4 gives 3c/(16 sqrt n).
    """
    c = 1 / (4 * math.sqrt(2) * math.expm1(epsilon))
    if not c <= math.sqrt(n):
        raise ValueError(
            f"n must be at least {c * c:.3g} for epsilon={epsilon}; got n={n}"
        )
    return c / math.sqrt(n), 3 * c / (16 * math.sqrt(n))


@jit
def _llr(v, w, size, epsilon):
    """Log-likelihood ratio of Theorem 2's models for one user's perturbed (phi_2, y -
    1/4)."""
    near = -epsilon * abs(v - size)
    far = -epsilon * abs(v + size)
    first = np.logaddexp(near, far) - epsilon * abs(w)
    below = epsilon * abs(w - size / 2)
    above = epsilon * abs(w + size / 2)
    return np.logaddexp(near - below, far - above) - first


@jit
def _cut(rng, length, epsilon):
    """Exponential variable of rate epsilon, given that it is at most length."""
    return -math.log1p(rng.random() * math.expm1(-epsilon * length)) / epsilon


@jit
def _thirds(rng, n, above, below):
    """How many of n users lie above, between and below two limits, by the chances of both
    ends."""
    top = rng.binomial(n, above)
    bottom = rng.binomial(n - top, below / (1.0 - above))
    return top, n - top - bottom, bottom


@jit
def _sum_of_ratios(size, epsilon, n, second, rng):
    """Log-likelihood ratio of n users; second: whether Theorem 2's second hypothesis is
    true.

    The ratio stands still where v leaves [-size, size] and where w leaves [-size/2,
    size/2], and (-v, -w) has that of (v, w).  So all users may be drawn about +size, most
    are only counted, and the others get exponential distances from the centre, cut at the
    limits.
    """
    near = epsilon * size
    half = size / 2
    total = 0.0
    over = 0.5 if second else 0.5 * math.exp(-near / 2)
    under = 0.5 * math.exp(-near) if second else over
    rows = _thirds(rng, n, 0.5, 0.5 * math.exp(-2 * near))
    for i in range(3):
        cells = _thirds(rng, rows[i], over, under)
        for j in range(3):
            v = size * (1 - i)
            w = half * (1 - j)
            if i != 1 and j != 1:
                total += cells[j] * _llr(v, w, size, epsilon)
                continue
            for _ in range(cells[j]):
                if i == 1:
                    v = size - _cut(rng, 2 * size, epsilon)
                if j == 1 and second:
                    w = half - _cut(rng, size, epsilon)
                elif j == 1:
                    w = _cut(rng, half, epsilon) * (1.0 if rng.random() < 0.5 else -1.0)
                total += _llr(v, w, size, epsilon)
    return total


@jit
def likelihood_ratio_errors(size, epsilon, n, trials, rng):
    """Wrong decisions of the likelihood-ratio test between Theorem 2's two hypotheses,
    out of 2 x trials samples of n users; size: of the second feature.
    """
    wrong = 0
    for which in range(2):
        for _ in range(trials):
            total = _sum_of_ratios(size, epsilon, n, which == 1, rng)
            if (total > 0.0) != (which == 1):
                wrong += 1
    return wrong


def support_violation(epsilon: float, length: float = 1.0) -> float:
    """P(W not >= vv') for the printed W ~ Wishart_d(d+1, 4.5/epsilon I): no user with v
    sends it.

    1/(v'W^-1 v) is c/|v|^2 times a chi-square with 2 degrees of freedom, so this is 1 -
    exp(-|v|^2/2c) in every d.
    """
    return -math.expm1(-epsilon * length**2 / 9)
