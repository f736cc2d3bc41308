"""An attack on FLIPHAT through the actions of other users: count the signs of the last release.

All users but one have zero contexts while the last release's rows are gathered.  The last of them
has x = x_max 1 and the reward R or, for the neighbour, -R, so every coordinate of the gradient
moves by its whole sensitivity.  Picks are random, but each released value shows the sign of the
reward.  Two later users read it off: they bring e_j and 0, then 0 and e_j, and the advice shows
whether theta_j is positive, negative or zero.
"""

from functools import partial

import numpy as np
from scipy.stats import binom

from companion.accounting import audit
from companion.accounting.lives import lived
from companion.fliphat.episodes import State, release, store
from companion.jit import jit
from companion.validate import need_probability

PLAYS = "companion.fliphat.policy"  # where `play_many` stands, for all variants
FAR = 1e3  # size of a context or reward that a policy does not clip


def sign_attack(policy, far: float = np.inf):
    """`audit.Attack` on the last release of a FLIPHAT or residual FLIPHAT policy: positive minus
    negative signs that the actions of others show.

    far: size of a context or reward that the policy does not clip.  Raises ValueError if the
    policy's T leaves no 2 d rounds after that release, or it clips nothing and far is infinite.
    """
    a, b, user = _inputs(policy, far)
    statistic = partial(signs, policy.params.d)
    return audit.Attack(_seen(policy, user), a, b, statistic, "actions", "the values")


def _seen(policy, user):
    """The mechanism of many runs that shows the actions of all users but this one."""
    several = lived(policy, policy.params.d, PLAYS)
    return audit.playing(policy, user=user, several=several)


def _inputs(policy, far):
    """(a, b, user): streams (X (T, 2, d), R (T, 2)) that differ in round `user` (from 0) alone."""
    p = policy.params
    first, rounds = 1 << len(p.iterations), (1 << len(p.iterations)) - 1 + 2 * p.d
    if rounds > p.T or p.iterations[-1:].sum() == 0:
        raise ValueError(f"policy must have a step and T >= {rounds} rounds; got T={p.T}")
    inputs = []
    for sign in (1.0, -1.0):
        X, R = np.zeros((rounds, 2, p.d)), np.zeros((rounds, 2))
        X[first - 2] = _bound("contexts", p.row_clip, p.gradient_clip, far)
        R[first - 2] = sign * _bound("rewards", p.reward_clip[-1], p.residual_clip, far)
        for j in range(p.d):
            X[first - 1 + 2 * j, 0, j] = 1.0  # e_j or 0
            X[first + 2 * j, 1, j] = 1.0  # 0 or e_j
        inputs.append((X, R))
    return *inputs, first - 2


@jit
def last_releases(p, s, X, y, rng, out):
    """out (n, d) <- the last release of n runs in which everybody plays the rows X with rewards y;
    the arrays of s, a state before the first round, are overwritten."""
    episodes = p.iterations.shape[0]
    first = 0 if not p.forget else (1 << (episodes - 1)) - 1
    for i in range(out.shape[0]):
        n = 0
        s.theta_hat[:] = 0.0
        for t in range(first, X.shape[0]):
            now = State(t, n, 0, 0, s.theta_hat, s.picks, s.X, s.y, s.work)
            store(p, now, X[t], y[t])
            n += 1
        now = State(X.shape[0], n, 0, 0, s.theta_hat, s.picks, s.X, s.y, s.work)
        release(p, now, n, episodes - 1, rng)
        for j in range(p.d):
            out[i, j] = s.theta_hat[j]


def own_attacks(policy):
    """`audit.Attack`s on the last release: `on_picks` for a policy that keeps one of two
    coordinates, by one step; for any other `sign_attack`."""
    p = policy.params
    if (p.d, p.sparsity, p.iterations[-1]) == (2, 1, 1):
        return on_picks(policy)
    return (sign_attack(policy, FAR),)


def on_picks(policy):
    """What the last release shows, and what the actions of others say of which coordinate it kept.

    Two users have x = x_max (1, 1), the last one x_max (1, -1); all have the largest reward, the
    last one for the neighbour its opposite.  Both coordinates move by their whole sensitivity, in
    opposite directions, so that pick and value show it.
    """
    p = policy.params
    a, b, last = _inputs(policy, FAR)
    rows = len(p.iterations)
    x, r = np.abs(a[0][last, 0, 0]), a[1][last, 0]
    for X, R in (a, b):
        X[last - 2 : last + 1] = x
        X[last, :, 1] = -x
        R[last - 2 : last] = r
    n = 1 << (rows - 1) if p.forget else (1 << rows) - 1
    unit, s = 2 * p.eta * x * r / n, policy.init(p)

    def released(data, rng, n):
        out = np.empty((n, p.d))
        last_releases(p, s, data[0][: last + 1, 0], data[1][: last + 1, 0], rng, out)
        return out

    ratio = partial(pick_loss, unit, p.xi_first[-1])
    return (
        audit.Attack(released, a, b, ratio, "releases", runs=False, fresh=True),
        audit.Attack(_seen(policy, last), a, b, picked, "actions", "the values"),
    )


def pick_loss(unit: float, scale: float, theta: np.ndarray) -> float:
    """Log-likelihood ratio of releases (n, 2): the noisy larger of (3, 1) units, or of (1, 3)."""
    first, gap = np.abs(theta[:, 0]) > 0.0, 2 * unit / scale
    wrong = np.log1p(gap / 2) - gap  # log of twice the chance that Laplace noise turns the order
    z = theta.sum(axis=1)
    value = (np.abs(z - unit) - np.abs(z - 3 * unit)) / scale
    return np.where(first, 1.0, -1.0) * (np.log(2 - np.exp(wrong)) - wrong + value)


def picked(actions) -> np.ndarray:
    """1 where the first coordinate of the estimate is not zero, -1 where the second is, (n,)."""
    answers = actions[:, -4:]
    return answers[:, :2].sum(axis=1) - answers[:, 2:].sum(axis=1)


def _bound(what, *bounds):
    """The smallest of the bounds."""
    if not min(bounds) < np.inf:
        raise ValueError(f"policy must clip {what}; got bounds {bounds}")
    return min(bounds)


def signs(d: int, actions) -> np.ndarray:
    """Positive minus negative signs among d coordinates, read off the last actions (n, >= 2 d)."""
    questions = actions[:, -2 * d :]
    return (questions[:, 1::2] == 1).sum(axis=1) - (questions[:, 0::2] == 1).sum(axis=1)


def sign_epsilon(policy, delta: float) -> float:
    """Exact epsilon at delta of the signs that `sign_attack` counts: those of `sparsity`
    independent values +-Delta/2 with Laplace(xi) noise, Delta the sensitivity; one iteration only.
    """
    p, delta = policy.params, need_probability("delta", delta)
    if p.iterations[-1] != 1 or p.sparsity > p.d:
        raise ValueError(f"policy must take one step; got {p.iterations[-1]}")
    n = 1 << (len(p.iterations) - 1) if p.forget else (1 << len(p.iterations)) - 1
    bounds = min(p.row_clip, p.gradient_clip) * min(p.reward_clip[-1], p.residual_clip)
    return sign_loss(2 * p.eta * bounds / (n * p.xi_first[-1]), p.sparsity, delta)


def sign_loss(u: float, count: int, delta: float) -> float:
    """Exact epsilon at delta of `count` independent signs of u or -u plus unit Laplace noise."""
    k = np.arange(count + 1)
    loss = (2 * k - count) * (u + np.log(2 - np.exp(-u)))  # log(right / wrong) for each sign
    chance = binom.pmf(k, count, 1 - 0.5 * np.exp(-u))
    low, high = 0.0, float(loss[-1])
    while high - low > 1e-9 * max(high, 1.0):
        e = (low + high) / 2
        excess = (chance * np.maximum(0, -np.expm1(np.minimum(e - loss, 0)))).sum()
        low, high = (e, high) if excess > delta else (low, e)
    return high
