"""Attacks on the streaming optimisers: what an adversary sees of one record, from the kernels.

The first record lies in the nodes that end at 1, 2, 4, ...: the released prefix sums at powers of
two.  With all later records at 0 each of them is the first leaf plus one draw of the node noise.
Source: section A.1 of the paper, which composes exactly these outputs.
"""

from functools import partial

import numpy as np

from companion import audit
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


def on_nodes(optimiser):
    """`audit.Attack`: the nodes that hold the first record, whose label has either sign."""
    p = optimiser.params
    x = np.zeros(p.d)
    x[0] = 1.0
    move = first_leaf(p, x, p.high) - first_leaf(p, x, p.low)
    far = audit.along(np.tile(move, tree_levels(p.n)))
    mechanism = shown(optimiser, x, "nodes")
    return audit.Attack(mechanism, p.high, p.low, far, "releases", runs=False)


def on_parameters(optimiser):
    """`audit.Attack`: the vertices that the public parameters reveal, one for every record.

    The first context is all ones if the noise is on vertices, else e_1; its label has either sign;
    all later records are zero.
    """
    p = optimiser.params
    X, Y, Z = np.zeros((p.n, p.d)), np.zeros(p.n), np.zeros(p.n)
    X[0, : p.d if p.scale > 0.0 else 1] = 1.0
    Y[0], Z[0] = p.high, p.low
    statistic = partial(vertices_along, p.step, X[0])
    return audit.Attack(audit.learning(optimiser), (X, Y), (X, Z), statistic, "parameters")


def vertices_along(step, x, thetas):
    """Sum of <v_t, x> over the vertices v_t of runs (n, T, d), theta_t + eta_t (v_t - theta_t)."""
    eta = (step / np.arange(2.0, thetas.shape[1] + 2.0))[:, None]
    before = np.concatenate([np.zeros_like(thetas[:, :1]), thetas[:, :-1]], axis=1)
    return ((before + (thetas - before) / eta) @ x).sum(axis=1)


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


def on_later_users(policy):
    """`audit.Attack` on Algorithm 3: the arms of all users but the first, whose reward has either
    sign.

    All ask e_1.  Ties go to the lowest arm, and of many arms some have only met the vertex r e_1,
    so a later user is sent to arm 0 just if arm 0 has met no other: a bit of every released sum.
    """
    p = policy.params
    X, R = np.zeros((p.T, p.K, p.d)), np.zeros((p.T, p.K))
    X[:, :, 0], R[0] = 1.0, p.learner.high
    other = R.copy()
    other[0] = p.learner.low
    shown = audit.playing(policy, user=0)
    return audit.Attack(shown, (X, R), (X, other), sent_to_first, "actions")


def sent_to_first(arms):
    """How many users were sent to arm 0, in runs (n, users)."""
    return (arms == 0).sum(axis=1)


def on_standing_arms(policy):
    """`audit.Attack` on Algorithm 3 with three arms and no forced rounds: is the third user sent to
    arm 2?

    The second user, whose data differ, shows zeros (a tie, so she is sent to arm 0) or ones (arm 1,
    if arm 0 met a vertex below 0).  All others show ones.  An arm that nobody played and that makes
    no synthetic updates stays at 0, and then arm 2 never beats arm 1.
    """
    p = policy.params
    X, R = np.ones((p.T, p.K, p.d)), np.zeros((p.T, p.K))
    silent = X.copy()
    silent[1] = 0.0
    return audit.Attack(audit.playing(policy, user=1), (X, R), (silent, R), third_asked, "actions")


def third_asked(arms):
    """Whether the third user was sent to arm 2, in runs (n, others than the second)."""
    return arms[:, 1] == 2


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
