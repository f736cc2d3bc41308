"""The terms into which the proof of Theorem 6.2 splits regret, measured on runs.

Source: Theorem K.1, Lemmas M.1, P.1 and Q.2 of the paper.
"""

import math

import numpy as np

from companion.jit import jit
from companion.kernels.glm import slope
from companion.kernels.linalg import dot, quad, sherman_morrison
from companion.private_glm.joint import at, rounds
from companion.simulate import need_seeds, over, stream


def terms(env, policy, T: int, seeds, executor=None):
    """What the proof of Theorem 6.2 adds up, as means over runs of a Joint-DP GLM in a `World`.

    Regret in rounds that explore, of the others before the first fit of theta_tau, and after it;
    both elliptical potentials, without noise, beside 2 d log(1 + n L/(d ridge)) for n rounds and
    weights up to L; the share of weights above the slope at theta*.
    """
    rows = over(_terms, [(env, policy, T, s) for s in need_seeds(seeds)], executor)
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}


@jit
def one_by_one(p, s, X, R, rng, arms, watched, table):
    """`joint.rounds`; watched (n, 2) <- after every round the weight in H of the played context at
    theta_o, and how often theta_tau was fitted."""
    for t in range(X.shape[0]):
        x, r, arm = X[t : t + 1], R[t : t + 1], arms[t : t + 1]
        played, clipped = rounds(p, s, x, r, rng, arm, table)
        s = at(s, played, clipped)
        watched[t, 0] = slope(p.link, dot(X[t, arms[t]], s.theta_o)) / math.e
        watched[t, 1] = s.fits[1]
    return s.t, s.clipped


def _terms(env, policy, T, seed):
    p, rng, state = policy.params, stream(seed, policy.name), policy.init(policy.params)
    theta = env.theta(stream(seed, "environment"))  # what `blocks` draws first
    gaps, watched, t, table = np.empty(T), np.empty((T, 2)), 0, np.empty((4, env.K))
    for X, R, mu in env.blocks(T, stream(seed, "environment")):
        n, arms = len(X), np.empty(len(X), np.int64)
        played = one_by_one(p, state, X, R, rng, arms, watched[t : t + n], table)
        state = state._replace(t=played[0], clipped=played[1])
        gaps[t : t + n] = mu.max(axis=1) - mu[np.arange(n), arms]
        t += n
    x, wide = state.rows.X[:T], state.rows.side[:T] == 1
    weights, fitted = watched[:, 0], watched[:, 1] > 0
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
    rows = np.sqrt(weights)[:, None] * X
    return potential(rows, np.eye(X.shape[1]) / ridge, np.empty(X.shape[1]))


@jit
def potential(X, V_inv, work):
    """Sum of x' V^-1 x, at most 1 each, over rows of X (n, d), V growing by x x'; V_inv (d, d) and
    work (d,) are overwritten."""
    total = 0.0
    for t in range(X.shape[0]):
        total += min(1.0, quad(V_inv, X[t]))
        sherman_morrison(V_inv, X[t], work)
    return total
