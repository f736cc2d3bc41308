"""An attack on FLIPHAT through the actions of other users: count the signs of the last release.

All users but one have zero contexts while the last release's rows are gathered.  The last of them
has x = x_max 1 and the reward R or, for the neighbour, -R, so every coordinate of the gradient
moves by its whole sensitivity.  Picks are random, but each released value betrays the sign of the
reward, and two later users read it off: offered e_j or 0, then 0 or e_j, the advice tells whether
theta_j is positive, negative or zero.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from companion.checks import need_probability


class Attack(NamedTuple):
    """Inputs a and b, as (X (T, 2, d), R (T, 2)), differ in round `user` (from 0) alone; statistic
    maps the actions (n, T - 1) of the others to positive minus negative signs, (n,).
    """

    policy: object
    a: tuple
    b: tuple
    user: int
    statistic: object


def sign_attack(policy):
    """The `Attack` on the last release of a FLIPHAT or residual FLIPHAT policy.

    Raises ValueError if the policy's T leaves no 2 d rounds after that release, or clips nothing.
    """
    p = policy.params
    first, rounds = 1 << len(p.iterations), (1 << len(p.iterations)) - 1 + 2 * p.d
    if rounds > p.T or p.iterations[-1:].sum() == 0:
        raise ValueError(f"policy must have a step and T >= {rounds} rounds; got T={p.T}")
    inputs = []
    for sign in (1.0, -1.0):
        X, R = np.zeros((rounds, 2, p.d)), np.zeros((rounds, 2))
        X[first - 2] = _bound("contexts", p.row_clip, p.gradient_clip)
        R[first - 2] = sign * _bound("rewards", p.reward_clip[-1], p.residual_clip)
        for j in range(p.d):
            X[first - 1 + 2 * j, 0, j] = 1.0  # e_j or 0
            X[first + 2 * j, 1, j] = 1.0  # 0 or e_j
        inputs.append((X, R))
    return Attack(policy, *inputs, first - 2, partial(signs, p.d))


def _bound(what, *bounds):
    """The smallest of the bounds."""
    if not min(bounds) < np.inf:
        raise ValueError(f"policy must clip {what}; got bounds {bounds}")
    return min(bounds)


def signs(d, actions):
    """Positive minus negative signs among d coordinates, read off the last actions (n, >= 2 d)."""
    questions = actions[:, -2 * d :]
    return (questions[:, 1::2] == 1).sum(axis=1) - (questions[:, 0::2] == 1).sum(axis=1)


def sign_epsilon(policy, delta):
    """Exact epsilon at delta of the signs that `sign_attack` counts: those of `sparsity`
    independent values +-Delta/2 with Laplace(xi) noise, Delta the sensitivity; one iteration only.
    """
    p, delta = policy.params, need_probability("delta", delta)
    if p.iterations[-1] != 1 or p.sparsity > p.d:
        raise ValueError(f"policy must take one step; got {p.iterations[-1]}")
    n = 1 << (len(p.iterations) - 1) if p.forget else (1 << len(p.iterations)) - 1
    bounds = min(p.row_clip, p.gradient_clip) * min(p.reward_clip[-1], p.residual_clip)
    u = 2 * p.eta * bounds / (n * p.xi_first[-1])
    k = np.arange(p.sparsity + 1)
    loss = (2 * k - p.sparsity) * (u + np.log(2 - np.exp(-u)))  # log(right / wrong) for each sign
    chance = binom.pmf(k, p.sparsity, 1 - 0.5 * np.exp(-u))
    low, high = 0.0, float(loss[-1])
    while high - low > 1e-9 * max(high, 1.0):
        e = (low + high) / 2
        excess = (chance * np.maximum(0, -np.expm1(np.minimum(e - loss, 0)))).sum()
        low, high = (e, high) if excess > delta else (low, e)
    return high
