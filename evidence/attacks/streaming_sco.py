"""Attacks on streaming Frank-Wolfe, and the instances that are measured."""

from functools import partial
from itertools import product

import numpy as np

from companion.accounting.privacy import tree_levels
from companion.jit import jit
from companion.kernels import geometry
from companion.kernels.mechanisms import generalized_gaussian
from companion.streaming_sco.streaming import (
    FACTORISATIONS,
    choose,
    leaf,
    noise_scale,
    streaming_fw,
    vertex_fw,
)
from evidence.attacks import audit

# What audits attack and measure.  The first record lies in the nodes that end at 1, 2, 4,
# ...: the released prefix sums at powers of two.  With all later records at 0 each of
# them is the first leaf plus one draw of the node's noise; section A.1 of the paper
# composes exactly these.


def record_leaf(p, t, x, y):
    """g_t (d,) of the record x (d,), y, t = 1 or 2, after theta_1 = 0 and the vertex r
    e_1."""
    inside = np.empty(p.d)
    theta = np.zeros(p.d)
    theta[0] = 0.5 * p.step * p.radius * (t - 1)
    y, _ = geometry.admit(x, float(y), p.q, p.low, p.high, inside)
    return leaf(p, t, inside, y, theta, np.zeros(p.d)) * inside


def longest_context(p):
    """A context (d,) of l_q norm 1 whose gradients are as long as any in l_2: q >= 2."""
    return np.full(p.d, p.d ** (-1.0 / p.q))


@jit
def node_outputs(rng, p, g, out):
    """out (runs, m, d) <- the released sums of the nodes that hold a leaf g, other leaves
    0."""
    for i in range(out.shape[0]):
        for k in range(out.shape[1]):
            generalized_gaussian(rng, p.exponent, p.sigma, out[i, k])
            for j in range(p.d):
                out[i, k, j] += g[j]


@jit
def vertices(p, sums, out):
    """out (runs, m, d) <- the vertices that the released sums lead to, as theta shows
    them."""
    for i in range(sums.shape[0]):
        for k in range(sums.shape[1]):
            geometry.vertex(sums[i, k], p.p, p.radius, out[i, k])


def by_kernel(mechanism, a, b, statistic, sees, note=""):
    """`audit.Attack` whose outputs a kernel draws, many at once."""
    return audit.Attack(mechanism, a, b, statistic, sees, note, runs=False)


def node_sums(p, t, levels, outputs=node_outputs):
    """The mechanism that maps record t = 1 or 2, (x (d,), y), to the released sums (n,
    levels, d) of the nodes that hold it; outputs: the kernel that draws."""

    def draw(record, rng, out):
        outputs(rng, p, record_leaf(p, t, *record), out)

    return audit.filled((levels, p.d), draw)


def on_nodes(optimiser, outputs=node_outputs, labels=None):
    """Two `audit.Attack`s: the nodes that hold the first record, and the vertices that
    they lead to, which the public parameters reveal.  outputs: as in `node_sums`; labels:
    the record's (None:
    the ends of their range)."""
    p = optimiser.params
    levels = tree_levels(p.n)
    nodes = node_sums(p, 1, levels, outputs)

    def seen(record, rng, out):
        vertices(p, nodes(record, rng, len(out)), out)

    shown = audit.filled((levels, p.d), seen)
    x = longest_context(p)
    high, low = labels or (p.high, p.low)
    a = (x, high)
    b = (x, low)
    statistic = audit.along(np.tile(-x, levels))
    return (
        by_kernel(nodes, a, b, statistic, "releases"),
        by_kernel(shown, a, b, statistic, "parameters", "other times"),
    )


def farthest_pair(p):
    """Two records (x (d,), low), d >= 2, whose second leaves are as far apart in l_2 as
    any of their kind: x_1 = a, all other entries equal, or their opposites."""
    farthest = -1.0
    for a in np.linspace(0.0, 0.99, 100):
        x = np.ones(p.d)
        if p.q < np.inf:
            x[:] = ((1.0 - a**p.q) / (p.d - 1)) ** (1.0 / p.q)
        z = -x
        x[0] = z[0] = a
        far = np.linalg.norm(record_leaf(p, 2, x, p.low) - record_leaf(p, 2, z, p.low))
        if far >= farthest:
            farthest = far
            pair = (x, p.low), (z, p.low)
    return pair


def on_second_nodes(optimiser):
    """`audit.Attack` on the nodes that hold the second record, d >= 2: its leaf can move
    further than the first, at theta = 0, ever does.  It lies in one node less."""
    p = optimiser.params
    levels = tree_levels(p.n) - 1
    a, b = farthest_pair(p)
    move = record_leaf(p, 2, *a) - record_leaf(p, 2, *b)
    statistic = audit.along(np.tile(move, levels))
    nodes = node_sums(p, 2, levels)
    return by_kernel(nodes, a, b, statistic, "releases", "the first node")


def vertex_weights(p):
    """How much each vertex (n,) of a run says: what its own noise lets it say; of a
    tree's, that it stands on a node which holds the first record."""
    t = np.arange(1, p.n + 1)
    if p.scale == 0.0:
        return (t & (t - 1) == 0).astype(float)
    return 1.0 / ((t + 1.0) * [noise_scale(p, k) for k in t])


def vertices_along(step, x, weight, thetas):
    """Sum of weight_t <v_t, x> over the vertices v_t of runs (n, T, d), which are theta_t
    + eta_t (v_t - theta_t)."""
    eta = (step / np.arange(2.0, thetas.shape[1] + 2.0))[:, None]
    before = np.concatenate([np.zeros_like(thetas[:, :1]), thetas[:, :-1]], axis=1)
    return ((before + (thetas - before) / eta) @ x) @ weight


def on_parameters(optimiser):
    """`audit.Attack` on whole runs: the vertices that all public parameters reveal.

    The label of the first record has either sign; all later records are zero.
    """
    p = optimiser.params
    X = np.zeros((p.n, p.d))
    X[0] = longest_context(p)
    Y = np.zeros(p.n)
    Y[0] = p.high
    Z = np.zeros(p.n)
    Z[0] = p.low
    statistic = partial(vertices_along, p.step, X[0], vertex_weights(p))
    runs = audit.learning(optimiser)
    return audit.Attack(runs, (X, Y), (X, Z), statistic, sees="parameters")


@jit
def choices(p, total, gradient, out, rng):
    """out (runs, steps, d) <- vertices chosen from a sum that stays."""
    for i in range(out.shape[0]):
        for k in range(out.shape[1]):
            choose(p, k + 1, total, gradient, out[i, k], rng)


def chosen(optimiser, steps):
    """The mechanism that maps the first record (x (d,), y) to the first vertices, (n,
    steps, d)."""
    p = optimiser.params

    def draw(record, rng, out):
        choices(p, record_leaf(p, 1, *record), np.zeros(p.d), out, rng)

    return audit.filled((steps, p.d), draw)


def sum_attacks(optimiser):
    """`audit.Attack`s on Algorithm 1: the nodes of the first record, the vertices that
    they lead to, those of whole runs, and the nodes of the second record."""
    tried = [*on_nodes(optimiser), on_parameters(optimiser)]
    if optimiser.params.d > 1:
        tried.append(on_second_nodes(optimiser))
    return tuple(tried)


def choice_attacks(optimiser):
    """`audit.Attack`s on Algorithm 2: all vertices as they are drawn (later records are
    zero, so the sum stays the first leaf), and as public parameters show them."""
    p = optimiser.params
    x = longest_context(p)
    statistic = audit.along(vertex_weights(p)[:, None] * x)
    vertices = chosen(optimiser, p.n)
    drawn = by_kernel(vertices, (x, p.high), (x, p.low), statistic, "parameters")
    return drawn, on_parameters(optimiser)


# a ball in which constants are attained
SMALL = {"epsilon": 1.0, "delta": 0.1, "radius": 0.02}


def sum_attack_instances():
    """Algorithm 1 in both calibrations."""
    return audit.in_both(streaming_fw, 2, 16, **SMALL)


def choice_attack_instances():
    """Algorithm 2 in both calibrations; the printed one is for `argmin`."""
    printed = {"calibration": "paper", "selector": "argmin"}
    return vertex_fw(1, 16, **SMALL), vertex_fw(1, 16, **SMALL, **printed)


def measured_sums():
    """Instances whose every released sum is measured.

    The printed constants, 2 (beta D + L), are nearly attained for a small ball and large
    labels.
    """
    known = {"epsilon": 1.0, "delta": 1e-2, "p": 1.5}
    exact = []
    for f in FACTORISATIONS:
        exact.append(streaming_fw(2, 5, clip=0.05, factorisation=f, **known))
    loose = []
    for kind, d in product(("paper", "zcdp"), (2, 9)):
        loose.append(streaming_fw(d, 3, radius=0.01, calibration=kind, **known))
    return *audit.instances(*exact), *audit.instances(*loose, bound_is_tight=False)


def measured_choices():
    """Instances whose every chosen vertex is measured."""
    known = {"epsilon": 1.0, "delta": 1e-2}
    kinds = [
        ("argmin", "falling"),
        ("coordinates", "constant"),
        ("gumbel", "falling"),
        ("gumbel", "constant"),
    ]
    exact = []
    for selector, schedule in kinds:
        keys = {"selector": selector, "schedule": schedule, **known}
        exact.append(vertex_fw(2, 4, clip=0.05, **keys))
    keys = {"selector": "argmin", "calibration": "paper", **known}
    printed = vertex_fw(2, 4, radius=0.01, **keys)
    return *audit.instances(*exact), *audit.instances(printed, bound_is_tight=False)
