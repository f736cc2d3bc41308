"""Fitting an LPLR oracle: user by user (the algorithm), or from sums drawn at once (the same law,
at any n).

A stage asks n users on one layer: part 0 (Algorithm 3) for counts, vectors and matrices, part 1
(Algorithm 5, lines 4 to 7) for how errors add up.  `send` is one user's message about every node of
the layer; `fit_sums` draws only what the server keeps, the sums over users: one multinomial for who
falls where, binomials for the labels, and the sum of the noises (`lplr.noise`), at O(K d^2 + bins)
per layer whatever the number of users.  Both use the same four kernels for walk, data and noise.
Source: Algorithms 2, 3 and 5.  One fit of 2d stages takes n_total // (2d) users per stage; the rest
are not asked.
"""

import math

import numpy as np

from companion._jit import jit
from companion.linalg import add_outer, axpy, dot
from companion.lplr.bins import (
    ACTIVE,
    COUNT,
    SPREAD,
    VALUE,
    fit_node,
    open_layer,
    reset,
    tree_of,
    walk,
    widen_node,
)
from companion.lplr.noise import add_matrix_noise, laplace_sum, multinomial, sign_sum


@jit
def add_sums(p, tree, b, phi, prediction, users, labels):
    """Algorithm 3, lines 3 to 5: node b gets what `users` users with residual phi and labels of
    this sum hold: 1, y_h phi and phi phi'.

    y_h = y - clip(prediction) lies in [-2, 2]: the clip bounds what one user can change.
    """
    if p.clip:
        prediction = min(max(prediction, -1.0), 1.0)
    tree.stat[b, COUNT] += users
    axpy(labels - users * prediction, phi, tree.vec[b])
    add_outer(users, phi, tree.mat[b])


@jit
def add_spread(tree, h, b, phi, eta, users):
    """Algorithm 5, line 6: node b of layer h, if active, gets eta |u'phi| / sqrt(s) per user."""
    if tree.link[b, ACTIVE] == 1:
        reach = abs(dot(tree.frame[b, h], phi)) / math.sqrt(tree.stat[b, VALUE])
        tree.stat[b, SPREAD] += users * eta * reach


@jit
def add_noise(p, tree, h, part, n, rng):
    """The noise of n users' messages about every node of layer h, in part 0 or 1.

    Of several users at once, vectors and matrices of nodes below the threshold get none: it is
    independent of everything else, and nobody reads them.
    """
    for b in range(tree.start[h], tree.start[h + 1]):
        g = p.edge[(b - tree.start[h]) % p.M]
        if part == 0:
            tree.stat[b, COUNT] += laplace_sum(rng, n, p.count_scale)
            if n == 1 or tree.stat[b, COUNT] > p.threshold * math.sqrt(n):
                for i in range(p.d):
                    tree.vec[b, i] += laplace_sum(rng, n, g * p.vector_scale[h])
                root, out = tree.work[2], tree.mat[b]
                add_matrix_noise(rng, n, p.matrix_scale, p.one_sided, g * g, root, out)
        elif tree.link[b, ACTIVE] == 1:
            scale = g * p.spread_scale / math.sqrt(tree.stat[b, VALUE])
            tree.stat[b, SPREAD] += laplace_sum(rng, n, scale)


@jit
def close(p, tree, h, part, n):
    """End of a stage of n users on layer h: part 0 fits the models, part 1 the half-widths."""
    for b in range(tree.start[h], tree.start[h + 1]):
        if part == 0:
            fit_node(p, tree, h, b, n)
        elif tree.link[b, ACTIVE] == 1:
            widen_node(p, tree, h, b, n)


@jit
def send(p, tree, h, part, phi, y, rng, residual):
    """One user's message on layer h, added to the statistics of its nodes: the user's data where
    phi falls, and noise everywhere.

    On zeroed statistics it *is* the message.  The dummy phi = 0 falls nowhere.
    """
    b, prediction, eta = walk(p, tree, h, phi, residual)
    if b >= 0 and part == 0:
        add_sums(p, tree, b, residual, prediction, 1.0, y)
    elif b >= 0:
        add_spread(tree, h, b, residual, eta, 1.0)
    add_noise(p, tree, h, part, 1, rng)


@jit
def observe(p, tree, user, n, phi, y, rng, residual):
    """Feed user number `user` (from 0, of 2dn) to the oracle: phi (d,), y; the dummy is phi = 0.

    The last user of a stage closes it.  Users after 2dn are not asked, nor are those of layer 1's
    part 1, which has nothing to measure.
    """
    stage = user // n
    h, part = stage // 2, stage % 2
    if h >= p.d:
        return
    if user == 0:
        reset(p, tree)
    elif user % (2 * n) == 0:
        open_layer(p, tree, h)
    if stage != 1:
        send(p, tree, h, part, phi, y, rng, residual)
    if user % n == n - 1:
        close(p, tree, h, part, n)


@jit
def fit_messages(p, tree, phi, y, rng):
    """Algorithm 2 on the users phi (N, d), y (N,), N // (2d) in each stage; the tree is
    overwritten.
    """
    residual = np.empty(p.d)
    n = phi.shape[0] // (2 * p.d)
    for user in range(2 * p.d * n):
        observe(p, tree, user, n, phi[user], y[user], rng, residual)


@jit
def fit_sums(p, forest, law, n, rng, plays, work):
    """The law of `fit_messages` for users drawn from a `Law`, for one oracle or several at once.

    forest: one tree per oracle, overwritten; n users per stage; plays (K,) int64 grows by the users
    seen in the 2d - 1 stages that ask something; work from `workspace`.
    """
    _, tail, seen = work
    for stage in range(2 * p.d):
        if stage != 1:
            multinomial(rng, n, law.prob, tail, seen)
            for j in range(seen.shape[0]):
                plays[j] += seen[j]
        for o in range(forest.start.shape[0]):
            tree = tree_of(forest, o)
            if stage == 0:
                reset(p, tree)
            elif stage % 2 == 0:
                open_layer(p, tree, stage // 2)
            if stage != 1:
                send_sums(p, tree, o, stage, law, rng, work)
                add_noise(p, tree, stage // 2, stage % 2, n, rng)
            close(p, tree, stage // 2, stage % 2, n)


@jit
def send_sums(p, tree, o, stage, law, rng, work):
    """What the users of a stage hold for oracle o, without noise; work[2] counts them by point."""
    residual, _, seen = work
    for j in range(seen.shape[0]):
        if law.owner[j] == o and seen[j] > 0:
            users = float(seen[j])
            b, prediction, eta = walk(p, tree, stage // 2, law.points[j], residual)
            if b >= 0 and stage % 2 == 0:
                labels = users * law.means[j]
                if law.signs:
                    labels = sign_sum(rng, seen[j], law.means[j])
                add_sums(p, tree, b, residual, prediction, users, labels)
            elif b >= 0:
                add_spread(tree, stage // 2, b, residual, eta, users)


def workspace(K, d):
    """Scratch of `fit_sums` for K points in R^d: residual, tail, seen."""
    return np.empty(d), np.empty(K), np.empty(K, dtype=np.int64)
