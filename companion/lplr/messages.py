"""One user's message as an audit sees it: the kernel of `lplr.fit`, called on zeroed statistics.

Source: Algorithm 3 and lines 4 to 7 of Algorithm 5 of the LPLR paper.
"""

import numpy as np

from companion._jit import jit
from companion.checks import need_array, need_float, need_int
from companion.lplr.bins import ACTIVE, COEF, COUNT, FLAT, SPREAD, VALUE, open_layer, plant, reset
from companion.lplr.fit import send


@jit
def _messages(p, tree, part, phi, y, rng, out):
    """out (n, bins, 2 + d + d^2) <- messages on the last layer: count, interval part, vector,
    matrix.
    """
    residual, h = np.empty(p.d), p.d - 1
    for i in range(out.shape[0]):
        for b in range(tree.start[h], tree.start[h + 1]):
            tree.stat[b, COUNT] = tree.stat[b, SPREAD] = 0.0
            tree.vec[b, :] = 0.0
            tree.mat[b, :, :] = 0.0
        send(p, tree, h, part, phi, y, rng, residual)
        for b in range(tree.start[h], tree.start[h + 1]):
            row = out[i, b - tree.start[h]]
            row[0], row[1] = tree.stat[b, COUNT], tree.stat[b, SPREAD]
            for j in range(p.d):
                row[2 + j] = tree.vec[b, j]
                for q in range(p.d):
                    row[2 + p.d + j * p.d + q] = tree.mat[b, j, q]


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
    return np.delete(_sent(p, tree, 0, phi, y, rng, n), 1, axis=2)


def spread_messages(p, tree, phi, rng, n):
    """n messages of the LPLR-CI stage of the tree's last layer from a user with phi (d,): (n,
    bins).
    """
    return _sent(p, tree, 1, phi, 0.0, rng, n)[:, :, 1]


def _sent(p, tree, part, phi, y, rng, n):
    phi, y = need_array("phi", phi, (p.d,)), need_float("y", y, -1.0, 1.0)
    out = np.zeros((n, tree.start[p.d] - tree.start[p.d - 1], 2 + p.d + p.d**2))
    _messages(p, tree, part, phi, y, rng, out)
    return out


def laplace_loss(outputs, a, b, scale):
    """Log-likelihood ratio, one number per output (n, ...), of Lap(scale) around a against around b
    (arrays, scale too).
    """
    axes = tuple(range(1, outputs.ndim))
    return ((abs(outputs - b) - abs(outputs - a)) / scale).sum(axis=axes)
