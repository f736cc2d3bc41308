"""Attacks on the streaming optimisers: what an adversary sees of one record, from the kernels.

The first record lies in the nodes that end at 1, 2, 4, ...: the released prefix sums at powers of
two.  With all later records at 0 each of them is the first leaf plus one draw of the node noise.
Source: section A.1 of the paper, which composes exactly these outputs.
"""

import numpy as np

from companion._jit import jit
from companion.geometry import vertex
from companion.mechanisms import generalized_gaussian
from companion.privacy import tree_levels
from companion.streaming_sco import learner


@jit
def node_outputs(rng, p, g, out):
    """out (runs, m, d) <- the released sums of the nodes that hold a leaf g, other leaves 0."""
    for i in range(out.shape[0]):
        for k in range(out.shape[1]):
            generalized_gaussian(rng, p.exponent, p.sigma, out[i, k])
            for j in range(p.d):
                out[i, k, j] += g[j]


@jit
def vertices(p, sums, out):
    """out (runs, m, d) <- the vertices that the released sums lead to, as theta shows them."""
    for i in range(sums.shape[0]):
        for k in range(sums.shape[1]):
            vertex(sums[i, k], p.p, p.radius, out[i, k])


def first_leaf(p, x, y):
    """g_1 of the record x (d,), y: the gradient at 0, clipped."""
    zero = np.zeros(p.d)
    return learner.leaf(p, 1, x, float(y), zero, zero) * x


def shown(optimiser, x, target, outputs=node_outputs):
    """The mechanism that maps the first label y to what is seen of it: an array (n, m, d).

    x (d,): the first context; target "nodes" (the released sums, which the proof composes) or
    "thetas" (the vertices that they lead to, all that is public); outputs: the kernel that draws.
    """
    p = optimiser.params

    def mechanism(y, rng, n):
        sums = np.empty((n, tree_levels(p.n), p.d))
        outputs(rng, p, first_leaf(p, x, y), sums)
        if target == "nodes":
            return sums
        seen = np.empty_like(sums)
        vertices(p, sums, seen)
        return seen

    return mechanism


def first_vertex(optimiser):
    """The mechanism that maps the first record (x (d,), y) to the first vertex, (n, d)."""
    p = optimiser.params

    def mechanism(record, rng, n):
        x, y = record
        total, seen = first_leaf(p, x, y), np.empty((n, p.d))
        _choices(p, total, np.zeros(p.d), seen, rng)
        return seen

    return mechanism


@jit
def _choices(p, total, gradient, out, rng):
    for i in range(out.shape[0]):
        learner.choose(p, 1, total, gradient, out[i], rng)


def stands_still(policy, sign, runs, seed, rounds=20):
    """In how many of `runs` runs the published parameter of arm 0 does not move when a user comes
    whose context points along sign times the difference of the two parameters, which she likes.

    policy: Algorithm 3 with two arms; runs in which the parameters agree after the first rounds are
    played again.
    """
    still, done, rng, p = 0, 0, np.random.default_rng(seed), policy.params
    while done < runs:
        state = policy.init(p)
        for t in range(rounds):
            state = policy.update(p, state, t % 2, rng.uniform(-1.0, 1.0, p.d), 0.2, rng)
        before, other = state.arms.theta[0].copy(), state.arms.theta[1].copy()
        if (before == other).all():
            continue
        x, done = sign * np.sign(before - other), done + 1
        arm = policy.select(p, state, np.array([x, x]), rng)
        state = policy.update(p, state, arm, x, 0.5, rng)
        still += int((state.arms.theta[0] == before).all())
    return still
