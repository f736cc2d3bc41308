"""What the policies and the experiments share of Algorithm 1: epochs, the arms that stay, and the
oracles that decide it, LPLR trees or perturbed sufficient statistics behind one face.

Source: the LPLR paper, Algorithm 1 (RegCB.Elimination, simplified).  Epoch tau = 1, 2, ... has
2^tau n0 rounds.
"""

import math
from typing import NamedTuple

import numpy as np

from companion.jit import jit
from companion.lplr import sufficient_statistics as statistics
from companion.lplr.bins import ACTIVE, Tree, interval, plant, tree_of
from companion.lplr.fit import fit_sums, observe
from companion.lplr.params import Params, lplr_params

LPLR, SUFFSTATS, EXACT, NONE = 0, 1, 2, 3  # kinds; the last two exist in experiments only


class Oracle(NamedTuple):
    """Parameters; `kind` says which part is used."""

    kind: int
    lplr: Params
    ssp: statistics.SSP


class Memory(NamedTuple):
    """What several oracles of one kind remember."""

    forest: Tree
    models: statistics.Model


class Clock(NamedTuple):
    """Where play stands."""

    t: int  # rounds played
    epoch: int  # epochs finished
    begin: int  # round at which the current epoch began


class Arms(NamedTuple):
    """Scratch, arm by arm."""

    alive: np.ndarray  # (..., K) 1 if the arm stays
    f: np.ndarray  # (..., K) estimates
    width: np.ndarray  # (..., K) half-widths


def oracle(kind: int, d: int, T: int, epsilon: float, options) -> Oracle:
    """An oracle of this kind for horizon T; options as in `lplr_params` or `ssp_params`."""
    if options and kind in (EXACT, NONE):
        raise ValueError(f"options must be empty for this oracle; got {sorted(options)}")
    p = lplr_params(d, T, epsilon, **options) if kind == LPLR else lplr_params(d, 2, M=1)
    own = {"epsilon": epsilon} | options if kind == SUFFSTATS else {"epsilon": math.inf}
    return Oracle(kind, p, statistics.ssp_params(d, **own))


def memory(o: Oracle, copies: int) -> Memory:
    """Memory of several oracles, empty."""
    trees, models = (copies, 1) if o.kind == LPLR else (1, copies)
    return Memory(plant(o.lplr, trees), statistics.ssp_model(o.ssp.d, models))


def arms(*shape) -> Arms:
    """Fresh scratch for arms (..., K)."""
    return Arms(np.zeros(shape, dtype=np.int64), np.zeros(shape), np.zeros(shape))


@jit
def answer(o, m, i, phi, residual):
    """(estimate, half-width) of oracle number i at phi."""
    if o.kind == LPLR:
        return interval(o.lplr, tree_of(m.forest, i), phi, residual)
    return statistics.ssp_interval(o.ssp, statistics.model_of(m.models, i), phi)


@jit
def knows(o, m, i):
    """Whether oracle number i can say anything.

    A tree without a model on its first layer answers (0, ||phi||) everywhere: nobody is eliminated,
    as no upper end is below 0 and no lower end above it.
    """
    if o.kind != LPLR:
        return True
    tree, models = tree_of(m.forest, i), 0
    for b in range(tree.start[0], tree.start[1]):
        models += tree.link[b, ACTIVE]
    return models > 0


@jit
def hear(
    o,
    m,
    i,
    user,
    rounds,
    phi,
    y,
    rng,
    residual,
):
    """The message of user number `user` (from 0) of an epoch's rounds to oracle number i.

    Fits the oracle when a stage ends.

    Size: nine arguments: the oracle (o, m, i), the user's place (user, rounds) and data (phi, y), a
    stream and scratch.
    """
    if o.kind == LPLR:
        n = rounds // (2 * o.lplr.d)
        observe(o.lplr, tree_of(m.forest, i), user, n, phi, y, rng, residual)
    else:
        statistics.ssp_observe(o.ssp, statistics.model_of(m.models, i), user, rounds, phi, y, rng)


@jit
def hear_sums(o, m, law, rounds, rng, crowd):
    """An epoch's users at once, as in `fit.fit_sums`; returns how many were asked."""
    if o.kind == LPLR:
        n = rounds // (2 * o.lplr.d)
        fit_sums(o.lplr, m.forest, law, n, rng, crowd)
        return (2 * o.lplr.d - 1) * n
    if o.kind == SUFFSTATS:
        model = statistics.model_of(m.models, 0)
        statistics.ssp_sums(o.ssp, model, law, rounds, rng, crowd)
        statistics.ssp_fit(o.ssp, model, rounds)
        return rounds
    return 0


@jit
def rounds_of(n0, epoch):
    """Rounds of an epoch, counted from 0."""
    return n0 * 2 ** (epoch + 1)


@jit
def tick(clock, n0):
    """The clock one round later."""
    t = clock.t + 1
    if t == clock.begin + rounds_of(n0, clock.epoch):
        return Clock(t, clock.epoch + 1, t)
    return Clock(t, clock.epoch, clock.begin)


def epochs(T: int, n0: int) -> int:
    """Number of epochs that T rounds begin."""
    count, left = 0, T
    while left > 0:
        count += 1
        left -= 2**count * n0
    return count


@jit
def revive(alive):
    """Line 6: every arm of alive (..., K) is in play again."""
    alive[:] = 1


@jit
def eliminate(f, width, alive):
    """Line 8: arms whose upper end f + width is below the largest lower end leave alive (K,)."""
    best = -math.inf
    for k in range(alive.shape[0]):
        if alive[k] == 1:
            best = max(best, f[k] - width[k])
    for k in range(alive.shape[0]):
        if alive[k] == 1 and f[k] + width[k] < best:
            alive[k] = 0


@jit
def pick(alive, rng):
    """Line 10: one of the arms in alive (K,), all with the same chance."""
    left = 0
    for k in range(alive.shape[0]):
        left += alive[k]
    choice = rng.integers(0, left)
    for k in range(alive.shape[0]):
        choice -= alive[k]
        if choice < 0:
            return k
    return 0
