"""Fitting an LPLR oracle: user by user (the algorithm), or from sums drawn at once (the same law,
at any n).

`fit_messages` is Algorithm 2 as a server would run it: every user sends one message about every
tracked bin of a layer. `fit_sums` draws only what the server keeps, the sums over users: one
multinomial for who falls where, binomials for the labels, and the sum of the noises (`lplr.noise`).
It costs O(K d^2 + bins) per layer whatever the number of users. Vector and matrix noise are drawn
for bins that pass the threshold only; they are independent of everything else.
Source: Algorithms 2, 3 and 5.  One fit of 2d stages takes n_total // (2d) users per stage; the rest
are not asked.
"""

import math
from typing import NamedTuple

import numpy as np

from companion._jit import jit
from companion.linalg import add_outer, axpy
from companion.lplr.bins import (
    ACTIVE,
    COUNT,
    SPREAD,
    VALUE,
    enter,
    fit_node,
    leave,
    open_layer,
    reset,
    tree_of,
    walk,
    widen_node,
)
from companion.lplr.noise import add_matrix_noise, laplace_sum, multinomial, sign_sum, tails
from companion.mechanisms import laplace


@jit
def send_update(p, tree, h, b, phi, label, rng):
    """Algorithm 3, one user's message on layer h: b is the user's bin (-1: none), phi its residual,
    label y_h.

    The message is added to the statistics of every node of the layer; on zeroed statistics it *is*
    the message.
    """
    for node in range(tree.start[h], tree.start[h + 1]):
        g = p.edge[(node - tree.start[h]) % p.M]
        tree.stat[node, COUNT] += laplace(rng, p.count_scale)
        for i in range(p.d):
            tree.vec[node, i] += laplace(rng, g * p.vector_scale[h])
        add_matrix_noise(rng, 1, p.matrix_scale, p.one_sided, g * g, tree.work[2], tree.mat[node])
    if b >= 0:
        tree.stat[b, COUNT] += 1.0
        axpy(label, phi, tree.vec[b])
        add_outer(1.0, phi, tree.mat[b])


@jit
def send_spread(p, tree, h, b, phi, eta, rng):
    """Algorithm 5, lines 4 to 7, one user's message on layer h > 0: eta is the half-width gathered
    above bin b.
    """
    for node in range(tree.start[h], tree.start[h + 1]):
        if tree.link[node, ACTIVE] == 1:
            g = p.edge[(node - tree.start[h]) % p.M]
            tree.stat[node, SPREAD] += laplace(
                rng, g * p.spread_scale / math.sqrt(tree.stat[node, VALUE])
            )
    if b >= 0 and tree.link[b, ACTIVE] == 1:
        tree.stat[b, SPREAD] += eta * reach(tree, h, b, phi)


@jit
def reach(tree, h, b, phi):
    """|u'phi| / sqrt(s) in node b of layer h."""
    c = 0.0
    for i in range(phi.shape[0]):
        c += tree.frame[b, h, i] * phi[i]
    return abs(c) / math.sqrt(tree.stat[b, VALUE])


@jit
def observe(p, tree, user, n, phi, y, dummy, rng, residual):
    """Feed user number `user` (from 0, of 2dn) to the oracle: phi (d,), y; a dummy sends noise
    alone.

    The last user of a stage closes it.  Users after 2dn are not asked.
    """
    stage = user // n
    h = stage // 2
    if h >= p.d:
        return
    if user == 0:
        reset(p, tree)
    elif user % (2 * n) == 0:
        open_layer(p, tree, h)
    b, prediction, eta = -1, 0.0, 0.0
    if not dummy:
        b, prediction, eta = walk(p, tree, h, phi, residual)
    if stage % 2 == 0:
        if p.clip:
            prediction = min(max(prediction, -1.0), 1.0)
        send_update(p, tree, h, b, residual, y - prediction, rng)
    elif h > 0:
        send_spread(p, tree, h, b, residual, eta, rng)
    if user % n == n - 1:
        close(p, tree, h, stage % 2, n)


@jit
def close(p, tree, h, part, n):
    """End of a stage of n users on layer h: part 0 fits the models, part 1 the half-widths."""
    for b in range(tree.start[h], tree.start[h + 1]):
        if part == 0:
            fit_node(p, tree, h, b, n)
        elif tree.link[b, ACTIVE] == 1:
            widen_node(p, tree, h, b, n)


@jit
def fit_messages(p, tree, phi, y, rng):
    """Algorithm 2 on the users phi (N, d), y (N,), N // (2d) in each stage; the tree is
    overwritten.
    """
    residual = np.empty(p.d)
    n = phi.shape[0] // (2 * p.d)
    for user in range(2 * p.d * n):
        observe(p, tree, user, n, phi[user], y[user], False, rng, residual)


@jit
def fit_sums(p, forest, points, means, prob, owner, n, signs, rng, plays, work):
    """The law of `fit_messages` for users drawn from a finite law, for one oracle or several at
    once.

    forest: one tree per oracle; points (K, d), means (K,) of the labels (+1/-1 if signs, else
    exact), prob (K,) with sum <= 1 (the rest are dummies), owner (K,) which oracle a point is fed
    to (the others get the dummy); n users per stage; plays (K,) int64 grows by the users seen in
    the 2d - 1 stages that ask something (the first interval stage has nothing to measure); work
    from `workspace`.  The forest is overwritten.
    """
    walkers, tail, seen = work
    for j in range(points.shape[0]):
        walkers.sums[j, 0] = walkers.sums[j, 1] = 0.0
        walkers.node[j] = forest.link.shape[1] - 1
        for i in range(p.d):
            walkers.residual[j, i] = points[j, i]
    tails(prob, tail)
    for h in range(p.d):
        for part in range(2):
            if h > 0 or part == 0:
                multinomial(rng, n, prob, tail, seen)
                for j in range(points.shape[0]):
                    plays[j] += seen[j]
            for o in range(forest.start.shape[0]):
                tree = tree_of(forest, o)
                if part == 0:
                    update_layer(p, tree, h, o, owner, walkers, seen, means, n, signs, rng)
                else:
                    spread_layer(p, tree, h, o, owner, walkers, seen, n, rng)


class Walkers(NamedTuple):
    """Where every point stands in its tree, between two layers."""

    node: np.ndarray  # (K,) node it has come to; negative: it has stopped
    residual: np.ndarray  # (K, d)
    sums: np.ndarray  # (K, 2) prediction and half-width gathered so far


@jit
def update_layer(p, tree, h, o, owner, walkers, seen, means, n, signs, rng):
    """Algorithm 3 for n users and all nodes of layer h of oracle o, then Algorithm 4; seen (K,)
    users are at each point.
    """
    if h == 0:
        reset(p, tree)
    else:
        open_layer(p, tree, h)
    for j in range(seen.shape[0]):
        if owner[j] == o and walkers.node[j] >= 0:
            phi = walkers.residual[j]
            b = walkers.node[j] = enter(p, tree, walkers.node[j], phi)
            if b >= 0 and seen[j] > 0:
                prediction, users = walkers.sums[j, 0], float(seen[j])
                if p.clip:
                    prediction = min(max(prediction, -1.0), 1.0)
                labels = sign_sum(rng, seen[j], means[j]) if signs else users * means[j]
                tree.stat[b, COUNT] += users
                axpy(labels - users * prediction, phi, tree.vec[b])
                add_outer(users, phi, tree.mat[b])
    for b in range(tree.start[h], tree.start[h + 1]):
        g = p.edge[(b - tree.start[h]) % p.M]
        tree.stat[b, COUNT] += laplace_sum(rng, n, p.count_scale)
        if tree.stat[b, COUNT] > p.threshold * math.sqrt(n):
            for i in range(p.d):
                tree.vec[b, i] += laplace_sum(rng, n, g * p.vector_scale[h])
            add_matrix_noise(rng, n, p.matrix_scale, p.one_sided, g * g, tree.work[2], tree.mat[b])
            fit_node(p, tree, h, b, n)


@jit
def spread_layer(p, tree, h, o, owner, walkers, seen, n, rng):
    """Algorithm 5 for n users on layer h of oracle o; then every point walks through its node, or
    stops.
    """
    for j in range(seen.shape[0]):
        b = walkers.node[j]
        if h > 0 and owner[j] == o and b >= 0 and tree.link[b, ACTIVE] == 1:
            part = reach(tree, h, b, walkers.residual[j])
            tree.stat[b, SPREAD] += seen[j] * walkers.sums[j, 1] * part
    for b in range(tree.start[h], tree.start[h + 1]):
        if tree.link[b, ACTIVE] == 1:
            if h > 0:
                scale = p.edge[(b - tree.start[h]) % p.M] * p.spread_scale
                scale /= math.sqrt(tree.stat[b, VALUE])
                tree.stat[b, SPREAD] += laplace_sum(rng, n, scale)
            widen_node(p, tree, h, b, n)
    for j in range(seen.shape[0]):
        b = walkers.node[j]
        if owner[j] == o and b >= 0:
            if tree.link[b, ACTIVE] == 1:
                prediction, eta = leave(
                    p, tree, b, h, walkers.residual[j], walkers.sums[j, 0], walkers.sums[j, 1]
                )
                walkers.sums[j, 0], walkers.sums[j, 1] = prediction, eta
            else:
                walkers.node[j] = -1


def workspace(K, d):
    """Scratch of `fit_sums` for K points in R^d."""
    walkers = Walkers(np.empty(K, dtype=np.int64), np.empty((K, d)), np.empty((K, 2)))
    return walkers, np.empty(K), np.empty(K, dtype=np.int64)
