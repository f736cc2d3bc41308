"""Bandit runs on finitely many contexts, epoch by epoch: the exact law of play, for any horizon.

Within an epoch of RegCB.Elimination the policy is fixed, so who plays what is one multinomial, and
the oracle needs sums only.  Pseudo-regret is counted from the numbers of plays.  The last epoch's
oracle would never be used, so its users are not asked.
Source: the LPLR paper, Algorithm 1.
"""

from typing import NamedTuple

import numpy as np

from companion.jit import jit
from companion.lplr import elimination as rounds
from companion.lplr.bins import interval, tree_of
from companion.lplr.crowd import Crowd, Law, crowd, draw
from companion.lplr.elimination import EXACT, LPLR, NONE, SUFFSTATS
from companion.lplr.params import MAX_USERS
from companion.lplr.repeat import in_parts
from companion.simulate import stream
from companion.validate import need_choice, need_int

EPOCHS = 64  # 2^64 rounds: more than any run has
LOST, MISSED, BOUND, ROUNDS, REGRET = 0, 1, 2, 3, 4  # columns of a log, see `elimination`
KINDS = {"lplr": LPLR, "ssp": SUFFSTATS, "exact": EXACT, "none": NONE}


class Runs(NamedTuple):
    """Bandit runs, one entry per repetition."""

    regret: np.ndarray
    lost: np.ndarray  # optimal arms eliminated
    missed: np.ndarray  # intervals that missed their mean
    log: np.ndarray  # (n_reps, EPOCHS, 5), epoch by epoch


class Game(NamedTuple):
    """A `Contexts` bandit in kernel form; law.prob is overwritten by what an epoch plays."""

    law: Law  # of pairs of context and action
    prob: np.ndarray  # (C,)
    best: np.ndarray  # (C,) first best arm
    gap: np.ndarray  # (C*A,) what a play costs


class Work(NamedTuple):
    """Scratch of `elimination`."""

    crowd: Crowd  # of pairs of context and action
    arms: rounds.Arms  # (C, A)


def game_of(bandit, per_action: bool = False) -> tuple[Game, Work]:
    """(`Game`, `Work`) of a bandit; per_action: oracle a is fed with the actions in place a."""
    C, A, d = bandit.X.shape
    owner = np.tile(np.arange(A) if per_action else np.zeros(A), C).astype(np.int64)
    points = np.ascontiguousarray(bandit.X.reshape(C * A, d))
    law = Law(points, bandit.mu.reshape(C * A), np.zeros(C * A), owner, True)
    gap = (bandit.mu.max(axis=1, keepdims=True) - bandit.mu).ravel()
    work = Work(crowd(C * A, d), rounds.arms(C, A))
    return Game(law, bandit.prob, bandit.mu.argmax(axis=1), gap), work


@jit
def spread_out(prob, alive, share):
    """share (C*A,) <- chance of context c and arm a under uniform play of the arms alive."""
    C, A = alive.shape
    for c in range(C):
        left = 0
        for a in range(A):
            left += alive[c, a]
        for a in range(A):
            share[c * A + a] = prob[c] / left if alive[c, a] == 1 else 0.0


@jit
def answers(o, m, law, work):
    """The oracle's estimates and half-widths everywhere -> work.arms."""
    if o.kind == LPLR:
        tree_answers(o, m, law, work)
        return
    A = work.arms.f.shape[1]
    for j in range(law.points.shape[0]):
        f, width = 0.0, 1.0
        if o.kind == EXACT:
            f, width = law.means[j], 0.0
        elif o.kind != NONE:
            f, width = rounds.answer(o, m, law.owner[j], law.points[j], work.crowd.residual)
        work.arms.f[j // A, j % A], work.arms.width[j // A, j % A] = f, width


@jit
def tree_answers(o, m, law, work):
    """`answers` of LPLR oracles, tree by tree: to take one out of the forest takes longer than to
    ask it."""
    A = work.arms.f.shape[1]
    for i in range(m.forest.start.shape[0]):
        tree = tree_of(m.forest, i)
        for j in range(law.points.shape[0]):
            if law.owner[j] == i:
                f, width = interval(o.lplr, tree, law.points[j], work.crowd.residual)
                work.arms.f[j // A, j % A], work.arms.width[j // A, j % A] = f, width


@jit
def judge(game, work, log):
    """Eliminate in every context and log what Lemma EC.2 speaks of (see `elimination`)."""
    alive, f, width = work.arms
    C, A = alive.shape
    log[LOST] = log[MISSED] = log[BOUND] = 0.0
    for c in range(C):
        best = game.best[c]
        for a in range(A):
            error = abs(f[c, a] - game.law.means[c * A + a])
            if alive[c, a] == 1 and error > width[c, a] + 1e-12:
                log[MISSED] += 1.0
        rounds.eliminate(f[c], width[c], alive[c])
        log[LOST] += 1.0 - alive[c, best]
        left, total = 0, 0.0
        for a in range(A):
            if alive[c, a] == 1:
                left += 1
                total += 2.0 * (width[c, a] + width[c, best]) if a != best else 0.0
        log[BOUND] += game.prob[c] * total / left


@jit
def count_regret(game, plays):
    """Pseudo-regret of plays (C*A,), which are set to 0."""
    total = 0.0
    for j in range(plays.shape[0]):
        total += plays[j] * game.gap[j]
    plays[:] = 0
    return total


@jit
def elimination(o, m, game, T, n0, rng, work, log):
    """Algorithm 1 with oracle o for T rounds.

    log (EPOCHS, 5) <- per epoch: optimal arms LOST so far; intervals that MISSED; BOUND, the mean
    of 2 (width_a + width_a*) over what the next epoch plays, which bounds its regret per round;
    ROUNDS; REGRET.
    """
    law, left, tau = game.law, T, 0
    rounds.revive(work.arms.alive)
    while left > 0:
        n = min(rounds.rounds_of(n0, tau), left)
        left -= n
        spread_out(game.prob, work.arms.alive, law.prob)
        asked = rounds.hear_sums(o, m, law, n, rng, work.crowd) if left > 0 else 0
        draw(law, n - asked, rng, work.crowd)
        log[tau, ROUNDS], log[tau, REGRET] = n, count_regret(game, work.crowd.plays)
        if left > 0:
            answers(o, m, law, work)
            judge(game, work, log[tau])
        tau += 1


def eliminate_with(
    oracle,
    bandit,
    T: int,
    seeds,
    executor=None,
    *,
    epsilon: float = 1.0,
    per_action: bool = False,
    n0: int = 64,
    **options,
) -> Runs:
    """RegCB.Elimination (Algorithm 1) on a `Contexts` bandit for T rounds, exact in law: `Runs`.

    oracle: "lplr", "ssp" (epsilon = inf: least squares), "exact" or "none" (never learns); options
    of `lplr_params` or `ssp_params`, the last two have none.  per_action: one LPLR oracle for every
    place among the actions, as printed, not one in all.  epsilon in (0, inf]; n0 >= d: epochs have
    2^tau n0 rounds; seeds and executor as for `simulate`.  Raises ValueError on anything else.
    """
    kind = KINDS[need_choice("oracle", oracle, tuple(KINDS))]
    need_choice("per_action", per_action, (True, False))
    d = bandit.X.shape[2]
    T, n0 = need_int("T", T, 4 * d, MAX_USERS), need_int("n0", n0, d, MAX_USERS)
    o = rounds.oracle(kind, d, T, epsilon, options)
    log = in_parts(_eliminations, (o, bandit, per_action, T, n0), seeds, executor)
    lost, missed = log[:, :, LOST].max(axis=1), log[:, :, MISSED].sum(axis=1)
    return Runs(log[:, :, REGRET].sum(axis=1), lost, missed, log)


def _eliminations(o, bandit, per_action, T, n0, seeds):
    m = rounds.memory(o, bandit.X.shape[1] if per_action else 1)
    (game, work), log = game_of(bandit, per_action), np.zeros((len(seeds), EPOCHS, 5))
    for one, seed in zip(log, seeds, strict=True):
        elimination(o, m, game, T, n0, stream(seed, "elimination"), work, one)
    return log
