"""Thompson sampling on tree-noised sums, as somebody might write it from the literature.

Source: Agrawal and Goyal (2013) for the sampling; Chan, Shi and Song (2011) for the tree; Shariff
and Sheffet (2018) for private linear bandits with a shifted regulariser.
Neighbours: replace one user's record (x, r).  Model: joint.
"""

from typing import NamedTuple

import numpy as np

from companion.accounting.privacy import REPLACE_RECORD, Guarantee, gaussian_epsilon, gaussian_scale
from companion.core import Policy
from companion.validate import need_int, need_positive, need_probability

TUNED = "width"


class Params(NamedTuple):
    d: int
    T: int
    levels: int  # of the tree
    sigma: float  # of the noise on every number of every node
    ridge: float
    width: float  # of the sampling


class State(NamedTuple):
    t: np.ndarray  # (1,) rounds played
    partial: np.ndarray  # (levels, d, d + 1) exact sums of the open nodes
    noisy: np.ndarray  # (levels, d, d + 1) the same with noise: what may be seen
    V: np.ndarray  # (d, d)
    b: np.ndarray  # (d,)


def init(p):
    """State before the first round."""
    nodes = (p.levels, p.d, p.d + 1)
    return State(
        np.zeros(1), np.zeros(nodes), np.zeros(nodes), p.ridge * np.eye(p.d), np.zeros(p.d)
    )


def noise(p, rng):
    """Symmetric Gaussian noise for the matrix, independent noise for the vector: (d, d + 1)."""
    upper = np.triu(rng.standard_normal((p.d, p.d)))
    return p.sigma * np.column_stack([upper + np.triu(upper, 1).T, rng.standard_normal(p.d)])


def select(p, s, X, rng):
    """The best row of X (K, d) for one sample of the parameter."""
    root = np.linalg.cholesky(np.linalg.inv(s.V))
    sample = np.linalg.solve(s.V, s.b) + p.width * root @ rng.standard_normal(p.d)
    return int(np.argmax(X @ sample))


def update(p, s, arm, x, r, rng):
    """Learn from reward r on context x (d,); s is changed in place."""
    x = x / max(1.0, np.linalg.norm(x))
    r = min(max(r, -1.0), 1.0)
    s.t[0] += 1.0
    t = int(s.t[0])
    level = (t & -t).bit_length() - 1  # of the node that this round completes
    s.partial[level] = s.partial[:level].sum(axis=0) + np.column_stack([np.outer(x, x), r * x])
    s.partial[:level] = 0.0
    s.noisy[:level] = 0.0
    s.noisy[level] = s.partial[level] + noise(p, rng)
    seen = sum(s.noisy[j] for j in range(p.levels) if t >> j & 1)
    values, vectors = np.linalg.eigh(seen[:, : p.d])
    values = np.maximum(values + p.ridge, p.ridge / 2.0)  # the shift makes this rare
    s.V[:] = (vectors * values) @ vectors.T
    s.b[:] = seen[:, p.d]


def play(p, s, X, R, rng, arms):
    """Play n rounds: contexts X (n, K, d), rewards R (n, K); reads only R[t, arms[t]]."""
    for t in range(X.shape[0]):
        arms[t] = select(p, s, X[t], rng)
        update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)


def thompson_on_tree(d, T, *, epsilon, delta, width=0.5) -> Policy:
    """Contexts in the unit ball, rewards in [-1, 1]; epsilon in (0, inf), delta in (0, 1)."""
    d, T, epsilon = need_int("d", d, 1), need_int("T", T, 1), need_positive("epsilon", epsilon)
    delta, width = need_probability("delta", delta), need_positive("width", width)
    # xx' moves by at most sqrt(2) and r x by at most 2, so a node by sqrt(6); a record is in
    # `levels` nodes, which are one Gaussian release together.
    levels = T.bit_length()
    moves = np.sqrt(6.0 * levels)
    sigma = gaussian_scale(epsilon, delta, moves)
    ridge = 1.0 + sigma * np.sqrt(d * levels)
    given = gaussian_epsilon(delta, sigma, moves)
    guarantee = Guarantee("joint", given, delta, REPLACE_RECORD, "user")
    p = Params(d, T, levels, sigma, ridge, width)
    return Policy("Thompson sampling on a tree", p, init, select, update, play, guarantee)


def example():
    """A small instance."""
    return thompson_on_tree(3, 400, epsilon=1.0, delta=0.01)
