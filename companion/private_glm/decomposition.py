"""The terms into which the proof of Theorem 6.2 splits regret, measured on runs.

Source: Theorem K.1, Lemmas M.1, P.1 and Q.2 of the paper.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from companion.kernels.glm import slope
from companion.simulate import need_seeds, over, stream

if TYPE_CHECKING:
    from companion.core import Policy


def terms(
    env: Any, policy: "Policy", T: int, seeds: Sequence[Any], executor: Any = None
) -> dict[Any, Any]:
    """What the proof of Theorem 6.2 adds up, as means over runs of a Joint-DP GLM in a `World`.

    Regret in rounds that explore, of the others before the first fit of theta_tau, and after it;
    both elliptical potentials, without noise, beside 2 d log(1 + n L/(d ridge)) for n rounds and
    weights up to L; the share of weights above the slope at theta*.
    """
    rows = over(_terms, [(env, policy, T, s) for s in need_seeds(seeds)], executor)
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}


def _terms(env, policy, T, seed):
    p, rng, state = policy.params, stream(seed, policy.name), policy.init(policy.params)
    theta = env.theta(stream(seed, "environment"))  # what `blocks` draws first
    gaps, weights, fitted, t = np.empty(T), np.empty(T), np.empty(T, bool), 0
    for X, R, mu in env.blocks(T, stream(seed, "environment")):
        for i in range(len(X)):
            arm = np.empty(1, np.int64)
            state = policy.play(p, state, X[i : i + 1], R[i : i + 1], rng, arm)
            gaps[t], fitted[t] = mu[i].max() - mu[i, arm[0]], state.fits[1] > 0
            weights[t] = slope(p.link, X[i, arm[0]] @ state.theta_o) / math.e
            t += 1
    x, wide = state.rows.X[:T], state.rows.side[:T] == 1
    true, top = np.vectorize(slope)(p.link, x @ theta), slope(p.link, 0.0) / math.e
    return {
        "explored": wide.sum(),
        "regret exploring": gaps[wide].sum(),
        "before the first fit": gaps[~wide & ~fitted].sum(),
        "after it": gaps[~wide & fitted].sum(),
        "potential of V": _potential(x[wide], np.ones(wide.sum()), p.ridge_v),
        "bound V": 2.0 * p.d * math.log1p(wide.sum() / (p.d * p.ridge_v)),
        "potential of H": _potential(x[~wide], weights[~wide], p.ridge_h),
        "bound H": 2.0 * p.d * math.log1p((~wide).sum() * top / (p.d * p.ridge_h)),
        "weights above the slope": (weights[~wide] > true[~wide] * (1 + 1e-12)).mean(),
    }


def _potential(X, weights, ridge):
    """Sum of w x' V^-1 x, at most 1 each, over rows of X (n, d), V growing from ridge I."""
    V, total = ridge * np.eye(X.shape[1]), 0.0
    for x, w in zip(X, weights, strict=True):
        total += min(1.0, w * x @ np.linalg.solve(V, x))
        V += w * np.outer(x, x)
    return total
