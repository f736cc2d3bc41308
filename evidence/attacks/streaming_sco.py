"""Attacks on streaming Frank-Wolfe, and the instances that are measured."""

from functools import partial

import numpy as np

from companion.accounting.privacy import tree_levels
from companion.jit import jit
from companion.kernels import geometry
from companion.kernels.mechanisms import generalized_gaussian
from companion.streaming_sco.streaming import (
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


@jit
def record_leaf(p, x, y):
    """g_1 (d,) of the first record x (d,), y, at theta_1 = 0."""
    inside = np.empty(p.d)
    zero = np.zeros(p.d)
    y, _ = geometry.admit(x, y, p.q, p.low, p.high, inside)
    return leaf(p, 1, inside, y, zero, zero) * inside


def longest_context(p):
    """A context (d,) of l_q norm 1 whose gradients are as long as any in l_2: q >= 2."""
    return np.full(p.d, p.d ** (-1.0 / p.q))


@jit
def vertices(p, sums, out):
    """out (runs, m, d) <- the vertices that the released sums lead to, as theta shows
    them."""
    for i in range(sums.shape[0]):
        for k in range(sums.shape[1]):
            geometry.vertex(sums[i, k], p.p, p.radius, out[i, k])


def streaming_fw_attacks(optimiser, noise=generalized_gaussian, labels=None):
    """Two `audit.Attack`s: the nodes that hold the first record, other leaves 0, and the
    vertices that they lead to, which the public parameters reveal.  noise: the kernel
    that draws; labels: the record's (None: the ends of their range)."""
    p = optimiser.params
    levels = tree_levels(p.n)

    def nodes(record, rng, n):
        out = np.empty((n * levels, p.d))
        audit.repeated(noise, (rng, p.exponent, p.sigma), out)
        return (record_leaf(p, *record) + out).reshape(n, levels, p.d)

    def shown(record, rng, n):
        sums = nodes(record, rng, n)
        out = np.empty(sums.shape)
        vertices(p, sums, out)
        return out

    x = longest_context(p)
    high, low = labels or (p.high, p.low)
    releases = audit.Attack(
        mechanism=nodes,
        a=(x, high),
        b=(x, low),
        statistic=audit.along(np.tile(-x, levels)),
        sees="releases",
        note="later records",
    )
    return releases, releases._replace(
        mechanism=shown,
        sees="parameters",
        note="other times",
    )


@jit
def choices(p, x, y, rng, out):
    """out (steps, d) <- vertices chosen after the first record x (d,), y, if all others
    are zero: its sum stays."""
    total = record_leaf(p, x, y)
    gradient = np.empty(p.d)
    for k in range(out.shape[0]):
        choose(p, k + 1, total, gradient, out[k], rng)


def chosen(optimiser, steps):
    """The mechanism that maps the first record to the first vertices, (n, steps, d)."""
    p = optimiser.params
    return audit.drawn((steps, p.d), choices, p)


def vertex_fw_attacks(optimiser):
    """One `audit.Attack` on Algorithm 2: all vertices, which the public parameters show.

    Later records are zero, so the sum stays the first leaf.  A vertex weighs as much as
    its own noise lets it say.
    """
    p = optimiser.params
    x = longest_context(p)
    scales = np.array([noise_scale(p, t) for t in range(1, p.n + 1)])
    weights = 1.0 / (np.arange(2.0, p.n + 2) * scales)
    attack = audit.Attack(
        mechanism=chosen(optimiser, p.n),
        a=(x, p.high),
        b=(x, p.low),
        statistic=audit.along(weights[:, None] * x),
        sees="parameters",
    )
    return (attack,)


# a ball in which constants, as 2 L, are nearly attained
SMALL = {"epsilon": 1.0, "delta": 0.1, "radius": 0.02}


def streaming_fw_attack_instances():
    """Algorithm 1 in both calibrations."""
    return audit.in_both(streaming_fw, 2, 16, **SMALL)


def vertex_fw_attack_instances():
    """Algorithm 2 in both calibrations; the printed one is for `argmin`."""
    corrected = vertex_fw(1, 16, **SMALL)
    return corrected, vertex_fw(1, 16, calibration="paper", selector="argmin", **SMALL)


def streaming_fw_measured():
    """Instances whose every released sum is measured.

    The printed constants, 2 (beta D + L), are nearly attained for a small ball and large
    labels.
    """
    make = partial(streaming_fw, epsilon=1.0, delta=1e-2, p=1.5)
    tree = make(2, 5, clip=0.05)
    root = make(2, 5, clip=0.05, factorisation="sqrt")
    loose = []
    for calibration in ("paper", "zcdp"):
        for d in (2, 9):
            loose.append(make(d, 3, radius=0.01, calibration=calibration))
    return *audit.instances(tree, root), *audit.instances(*loose, bound_is_tight=False)


def vertex_fw_measured():
    """Instances whose every chosen vertex is measured."""
    make = partial(vertex_fw, 2, 4, epsilon=1.0, delta=1e-2)
    exact = []
    for selector, schedule in (
        ("argmin", "falling"),
        ("coordinates", "constant"),
        ("gumbel", "falling"),
        ("gumbel", "constant"),
    ):
        exact.append(make(clip=0.05, selector=selector, schedule=schedule))
    printed = make(radius=0.01, calibration="paper", selector="argmin")
    return *audit.instances(*exact), *audit.instances(printed, bound_is_tight=False)
