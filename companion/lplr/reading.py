"""What a fitted tree says: estimates, its bins as a table, and the mean half-width of every layer.

Source: Algorithm 6 and Lemma 3 of the LPLR paper.
"""

import math

import numpy as np

from companion.linalg import norm
from companion.lplr.bins import ACTIVE, COEF, COUNT, PARENT, VALUE, enter, interval, leave


def read(p, tree, points):
    """Estimates and half-widths (0 and ||phi|| where trivial), two arrays (K,), of a fitted tree at
    points (K, d).
    """
    points, residual = np.ascontiguousarray(points, dtype=float), np.empty(p.d)
    pairs = [interval(p, tree, x, residual) for x in points]
    return tuple(np.array(a) for a in zip(*pairs, strict=True))


def layer_widths(p, tree, design):
    """Lemma 3's E_h = sum over bins B of layer h of psi_B sqrt(E_B[eta_B^2]), for every layer (d,).

    Points that stop on a layer count there, with the half-width they stop with.
    """
    squares, residual = [{} for _ in range(p.d)], np.empty(p.d)
    for phi, chance in zip(design.points, design.prob, strict=True):
        a, eta = tree.link.shape[0] - 1, 0.0
        residual[:] = phi
        for h in range(p.d):
            b = enter(p, tree, a, residual)
            on = b >= 0 and tree.link[b, ACTIVE] == 1
            eta = leave(p, tree, b, h, residual, 0.0, eta)[1] if on else eta + norm(residual)
            share, total = squares[h].get((a, b), (0.0, 0.0))
            squares[h][a, b] = share + chance, total + chance * min(eta, p.cap) ** 2
            if not on:
                break
            a = b
    return np.array([sum(math.sqrt(s * t) for s, t in layer.values()) for layer in squares])


def tree_rows(p, tree, n):
    """A fitted tree as rows for a table, one dict per tracked bin; n users were in a stage.

    A bin of layer 1 is called B and its index k; a deeper one its parent's name and its own k.
    """
    rows, names = [], {tree.link.shape[0] - 1: "root"}
    for h in range(p.d):
        for b in range(tree.start[h], tree.start[h + 1]):
            k, up = (b - tree.start[h]) % p.M, names[tree.link[b, PARENT]]
            names[b] = f"B{k}" if h == 0 else f"{up}{k}"
            row = {"bin": names[b], "layer": h + 1, "parent": up}
            row |= {"noisy_share": tree.stat[b, COUNT] / n, "active": tree.link[b, ACTIVE] == 1}
            row |= {"eigenvalue": tree.stat[b, VALUE], "coefficient": tree.stat[b, COEF]}
            rows.append(row | {f"u{i + 1}": u for i, u in enumerate(tree.frame[b, h])})
    return rows
