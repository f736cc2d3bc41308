"""Attacks on the streaming optimisers: what an adversary sees of one record, from the kernels.

The first record lies in the nodes that end at 1, 2, 4, ...: the released prefix sums at powers of
two.  With all later records at 0 each of them is the first leaf plus one draw of the node noise.
Source: section A.1 of the paper, which composes exactly these outputs.
"""

from functools import partial

import numpy as np

from companion.accounting import audit
from companion.accounting import audit as learned
from companion.accounting.lives import lived
from companion.accounting.privacy import tree_levels
from companion.jit import jit
from companion.kernels.geometry import admit, vertex
from companion.kernels.mechanisms import generalized_gaussian
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


def first_leaf(p, x: np.ndarray, y: float) -> np.ndarray:
    """g_1 of the record x (d,), y: the gradient at 0, clipped."""
    inside, zero = np.empty(p.d), np.zeros(p.d)
    y, _ = admit(x, float(y), p.q, p.low, p.high, inside)
    return learner.leaf(p, 1, inside, y, zero, zero) * inside


def loudest(p) -> np.ndarray:
    """A context (d,) of l_q norm 1 whose gradients are as long as any in l_2: q >= 2."""
    return np.full(p.d, p.d ** (-1.0 / p.q))


def shown(optimiser, target: str, outputs):
    """The mechanism that maps the first record (x, y) to what is seen of it: an array (n, m, d).

    target "nodes" (the released sums, which the proof composes) or "vertices" (where they lead: all
    that is public); outputs: the kernel that draws.
    """
    p = optimiser.params

    def mechanism(record, rng, n):
        sums = np.empty((n, tree_levels(p.n), p.d))
        outputs(rng, p, first_leaf(p, *record), sums)
        if target == "nodes":
            return sums
        seen = np.empty_like(sums)
        vertices(p, sums, seen)
        return seen

    return mechanism


def on_nodes(optimiser, outputs=node_outputs, labels=None):
    """Two `audit.Attack`s: the nodes that hold the first record, and the vertices that they lead
    to, which the public parameters reveal.  labels: the record's (None: the ends of their range).
    """
    p = optimiser.params
    x, ends = loudest(p), labels or (p.high, p.low)
    pair, along_x = [(x, y) for y in ends], audit.along(np.tile(-x, tree_levels(p.n)))
    nodes, seen = (shown(optimiser, target, outputs) for target in ("nodes", "vertices"))
    return (
        audit.Attack(nodes, *pair, along_x, "releases", runs=False),
        audit.Attack(seen, *pair, along_x, "parameters", "other times", runs=False),
    )


def second_leaf(p, x: np.ndarray, y: float) -> np.ndarray:
    """g_2 of the record x (d,), y after theta_1 = 0 and the vertex r e_1, which is public."""
    inside, theta = np.empty(p.d), np.zeros(p.d)
    theta[0] = 0.5 * p.step * p.radius
    y, _ = admit(x, float(y), p.q, p.low, p.high, inside)
    return learner.leaf(p, 2, inside, y, theta, np.zeros(p.d)) * inside


def loudest_pair(p) -> tuple[tuple[np.ndarray, float], tuple[np.ndarray, float]]:
    """Two records (x (d,), low), d >= 2, whose second leaves are as far apart in l_2 as any of
    their kind: x_1 = a, all other entries equal, or their opposites."""
    pairs = []
    for a in np.linspace(0.0, 0.99, 100):
        rest = (1.0 - a**p.q) if p.q < np.inf else 1.0
        x = np.full(p.d, (rest / (p.d - 1)) ** (1.0 / p.q) if p.q < np.inf else 1.0)
        x[0], z = a, -x
        z[0] = a
        far = np.linalg.norm(second_leaf(p, x, p.low) - second_leaf(p, z, p.low))
        pairs.append((float(far), a, (x, p.low), (z, p.low)))
    return max(pairs, key=lambda pair: pair[:2])[2:]


def on_second_nodes(optimiser, outputs=node_outputs):
    """`audit.Attack` on the nodes that hold the second record, d >= 2, after a public past in which
    the parameter has moved: its leaf can move further than the first, at theta = 0, ever does.

    It lies in one node less: the second prefix is released as a block of two.
    """
    p = optimiser.params

    def mechanism(record, rng, n):
        sums = np.empty((n, tree_levels(p.n) - 1, p.d))
        outputs(rng, p, second_leaf(p, *record), sums)
        return sums

    a, b = loudest_pair(p)
    move = second_leaf(p, *a) - second_leaf(p, *b)
    told = audit.along(np.tile(move, tree_levels(p.n) - 1))
    return audit.Attack(mechanism, a, b, told, "releases", "the first node", runs=False)


def on_parameters(optimiser):
    """`audit.Attack` on whole runs: the vertices that all public parameters reveal.

    The label of the first record has either sign; all later records are zero.
    """
    p = optimiser.params
    X, Y, Z = np.zeros((p.n, p.d)), np.zeros(p.n), np.zeros(p.n)
    X[0], Y[0], Z[0] = loudest(p), p.high, p.low
    statistic = partial(vertices_along, p.step, X[0], weights(p))
    return audit.Attack(learned.learning(optimiser), (X, Y), (X, Z), statistic, "parameters")


def weights(p):
    """How much each vertex (n,) of a run says: what its own noise lets it say; of a tree's, that it
    stands on a node which holds the first record."""
    t = np.arange(1, p.n + 1)
    if p.scale == 0.0:
        return (t & (t - 1) == 0).astype(float)
    return 1.0 / ((t + 1.0) * [learner.noise_scale(p, k) for k in t])


def vertices_along(step: float, x: np.ndarray, weight, thetas: np.ndarray) -> np.ndarray:
    """Sum of weight_t <v_t, x> over the vertices v_t of runs (n, T, d), which are theta_t + eta_t
    (v_t - theta_t)."""
    eta = (step / np.arange(2.0, thetas.shape[1] + 2.0))[:, None]
    before = np.concatenate([np.zeros_like(thetas[:, :1]), thetas[:, :-1]], axis=1)
    return ((before + (thetas - before) / eta) @ x) @ weight


def on_choices(optimiser):
    """`audit.Attack` on the same vertices, where they are drawn: later records are zero, so the sum
    of leaves stays the first one."""
    p = optimiser.params
    x, mechanism = loudest(p), chosen(optimiser, p.n)
    said = audit.along(weights(p)[:, None] * x)
    return audit.Attack(mechanism, (x, p.high), (x, p.low), said, "parameters", runs=False)


def chosen(optimiser, steps: int):
    """The mechanism that maps the first record (x (d,), y) to the first vertices, (n, steps, d)."""
    p = optimiser.params

    def mechanism(record, rng, n):
        seen = np.empty((n, steps, p.d))
        choices(p, first_leaf(p, *record), np.zeros(p.d), seen, rng)
        return seen

    return mechanism


@jit
def choices(p, total, gradient, out, rng):
    """out (runs, steps, d) <- vertices chosen from a sum that stays."""
    for i in range(out.shape[0]):
        for k in range(out.shape[1]):
            learner.choose(p, k + 1, total, gradient, out[i, k], rng)


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
    shown = audit.playing(policy, user=0, several=lived(policy, p.d))
    return audit.Attack(shown, (X, R), (X, other), sent_to_first, "actions")


def sent_to_first(arms: np.ndarray) -> np.ndarray:
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
    shown = audit.playing(policy, user=1, several=lived(policy, p.d))
    return audit.Attack(shown, (X, R), (silent, R), third_asked, "actions")


def third_asked(arms: np.ndarray) -> np.ndarray:
    """Whether the third user was sent to arm 2, in runs (n, others than the second)."""
    return arms[:, 1] == 2


def stands_still(policy, sign: float, runs: int, seed: int, rounds: int = 20) -> int:
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
