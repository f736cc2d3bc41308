"""One user's message as an audit sees it: the kernels of `lplr.fit`, called on zeroed statistics.

Source: Algorithm 3 and lines 4 to 7 of Algorithm 5 of the LPLR paper.
"""

import numpy as np

from companion._jit import jit
from companion.checks import need_array, need_float, need_int
from companion.lplr.bins import (
    ACTIVE,
    COEF,
    COUNT,
    FLAT,
    SPREAD,
    VALUE,
    open_layer,
    plant,
    reset,
    walk,
)
from companion.lplr.fit import send_spread, send_update


@jit
def _updates(p, tree, h, phi, y, rng, out):
    residual = np.empty(p.d)
    for i in range(out.shape[0]):
        b, prediction, _ = walk(p, tree, h, phi, residual)
        if p.clip:
            prediction = min(max(prediction, -1.0), 1.0)
        for node in range(tree.start[h], tree.start[h + 1]):
            tree.stat[node, COUNT] = 0.0
            tree.vec[node, :] = 0.0
            tree.mat[node, :, :] = 0.0
        send_update(p, tree, h, b, residual, y - prediction, rng)
        for node in range(tree.start[h], tree.start[h + 1]):
            row = out[i, node - tree.start[h]]
            row[0] = tree.stat[node, COUNT]
            for j in range(p.d):
                row[1 + j] = tree.vec[node, j]
                for q in range(p.d):
                    row[1 + p.d + j * p.d + q] = tree.mat[node, j, q]


@jit
def _spreads(p, tree, h, phi, rng, out):
    residual = np.empty(p.d)
    for i in range(out.shape[0]):
        b, _, eta = walk(p, tree, h, phi, residual)
        for node in range(tree.start[h], tree.start[h + 1]):
            tree.stat[node, SPREAD] = 0.0
        send_spread(p, tree, h, b, residual, eta, rng)
        for node in range(tree.start[h], tree.start[h + 1]):
            out[i, node - tree.start[h]] = tree.stat[node, SPREAD]


def past(p, coef=0.0, width=0.0):
    """A public state that a server may have reached: d = 1, an empty layer; d = 2, two layers.

    With d = 2 the first layer's bin 0 is active, with direction e1, coefficient `coef` and flat
    half-width `width`; its children are active, with direction e2 and the largest possible
    eigenvalue.  Raises ValueError for other dimensions.
    """
    need_int("d", p.d, 1, 2)
    tree = plant(p)
    reset(p, tree)
    if p.d == 2:
        tree.link[0, ACTIVE], tree.stat[0, VALUE], tree.frame[0] = 1, 1.0, np.eye(2)
        tree.stat[0, COEF] = need_float("coef", coef)
        tree.stat[0, FLAT] = need_float("width", width, 0.0)
        open_layer(p, tree, 1)
        for b in range(tree.start[1], tree.start[2]):
            tree.link[b, ACTIVE] = 1
            tree.stat[b, VALUE] = p.edge[b - tree.start[1]] ** 2
            tree.frame[b] = np.eye(2)
    return tree


def update_messages(p, tree, phi, y, rng, n):
    """n messages of the LPLR-UPDATE stage of the tree's last layer from a user with phi (d,), y:
    (n, bins, 1 + d + d^2).

    Per bin: count, vector, matrix by rows.
    """
    phi, y = need_array("phi", phi, (p.d,)), need_float("y", y, -1.0, 1.0)
    h = p.d - 1
    out = np.zeros((n, tree.start[h + 1] - tree.start[h], 1 + p.d + p.d**2))
    _updates(p, tree, h, phi, y, rng, out)
    return out


def spread_messages(p, tree, phi, rng, n):
    """n messages of the LPLR-CI stage of the tree's last layer from a user with phi (d,): (n,
    bins).
    """
    h = p.d - 1
    out = np.zeros((n, tree.start[h + 1] - tree.start[h]))
    _spreads(p, tree, h, need_array("phi", phi, (p.d,)), rng, out)
    return out


def laplace_loss(outputs, a, b, scale):
    """Log-likelihood ratio, one number per output (n, ...), of Lap(scale) around a against around b
    (arrays, scale too).
    """
    axes = tuple(range(1, outputs.ndim))
    return ((abs(outputs - b) - abs(outputs - a)) / scale).sum(axis=axes)
