"""LDP-LinUCB on finitely many contexts, for any horizon.

Source: Zheng et al. (2020), Algorithm 2, refitted when the rounds have grown by a fifth: between
two refits the policy is fixed, so who plays what is one multinomial.
"""

import math
from typing import NamedTuple

import numpy as np

from companion.jit import jit
from companion.kernels.linalg import add_outer, axpy, copy, dot, inverse, matvec, quad
from companion.lplr.bandits import count_regret, game_of
from companion.lplr.crowd import draw, sign_sum
from companion.lplr.params import MAX_USERS
from companion.lplr.repeat import in_parts
from companion.simulate import stream
from companion.validate import need_int, need_positive, need_probability


class Sums(NamedTuple):
    """What the server keeps, and what it makes of it."""

    V: np.ndarray  # (d, d) noisy sum of x x'
    u: np.ndarray  # (d,) noisy sum of y x
    inverse: np.ndarray  # (d, d) of V with its shift
    theta: np.ndarray  # (d,) estimate
    work: np.ndarray  # (d, d) scratch


def no_sums(d: int) -> Sums:
    """Nothing heard yet."""
    return Sums(*[np.zeros(shape) for shape in ((d, d), d, (d, d), d, (d, d))])


@jit
def radius_and_shift(d, t, T, sigma, bonus, failure):
    """Exploration radius after t rounds, and the shift that keeps V positive."""
    log_T = math.log(T)
    shift = sigma * math.sqrt(t) * (4 * math.sqrt(d) + 2 * math.log(2 * T / failure)) * bonus
    radius = 2 * sigma * math.sqrt(d * log_T)
    radius += (math.sqrt(3 * shift) + sigma * math.sqrt(d * t / shift)) * d * log_T
    return radius, shift


@jit
def choose(game, sums, radius):
    """law.prob <- all of a context's chance on the arm of the largest upper confidence bound."""
    C = game.prob.shape[0]
    A = game.gap.shape[0] // C
    for c in range(C):
        best, arm = -math.inf, 0
        for a in range(A):
            x = game.law.points[c * A + a]
            ucb = dot(x, sums.theta) + radius * math.sqrt(max(quad(sums.inverse, x), 0.0))
            if ucb > best:
                best, arm = ucb, a
            game.law.prob[c * A + a] = 0.0
        game.law.prob[c * A + arm] = game.prob[c]


@jit
def hear(game, plays, n, sigma, rng, sums):
    """Add what n users send: V += sum x x', u += sum y x, both with symmetric Gaussian noise."""
    V, u = sums.V, sums.u
    for j in range(plays.shape[0]):
        if plays[j] > 0:
            add_outer(float(plays[j]), game.law.points[j], V)
            axpy(sign_sum(rng, plays[j], game.law.means[j]), game.law.points[j], u)
    noise = sigma * math.sqrt(n)
    for i in range(u.shape[0]):
        u[i] += noise * rng.standard_normal()
        for j in range(i + 1):
            z = noise * rng.standard_normal()
            V[i, j] += z
            V[j, i] += z if j < i else 0.0


@jit
def linucb_batches(
    game,
    T,
    sigma,
    bonus,
    failure,
    rng,
    crowd,
    sums,
):
    """Regret of T rounds, NaN if a matrix is singular (chance 0); sums from `no_sums`."""
    d, t, total = sums.u.shape[0], 0, 0.0
    while t < T:
        n = min(max(1, t // 5), T - t)
        radius, shift = radius_and_shift(d, max(t, 1), T, sigma, bonus, failure)
        copy(sums.V, sums.inverse)
        for i in range(d):
            sums.inverse[i, i] += 2 * shift
        if not inverse(sums.inverse, sums.inverse, sums.work):
            return math.nan
        matvec(sums.inverse, sums.u, sums.theta)
        choose(game, sums, bonus * radius)
        draw(game.law, n, rng, crowd)
        hear(game, crowd.plays, n, sigma, rng, sums)
        total += count_regret(game, crowd.plays)
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
    sigma = 4 * math.sqrt(2 * math.log(1.25 / delta)) / need_positive("epsilon", epsilon)
    args = T, sigma, need_positive("bonus", bonus), need_probability("failure", failure)
    return in_parts(_regrets, (bandit, *args), seeds, executor)


def _regrets(bandit, T, sigma, bonus, failure, seeds):
    (game, work), regrets, d = game_of(bandit), [], bandit.X.shape[2]
    for seed in seeds:
        rng, sums = stream(seed, "LDP-LinUCB"), no_sums(d)
        regrets.append(linucb_batches(game, T, sigma, bonus, failure, rng, work.crowd, sums))
    return np.array(regrets)
