"""What a fitted tree says: estimates and half-widths at points, layer by layer, and as a table.

Source: Algorithm 6 and Lemma 3 of the LPLR paper.
"""

import math

import numpy as np

from companion.kernels.linalg import norm
from companion.lplr.bins import ACTIVE, COEF, PARENT, interval, walk


def read(p, tree, points: np.ndarray):
    """Estimates and half-widths (0 and ||phi|| where trivial), each (K,), at points (K, d)."""
    points, residual = np.ascontiguousarray(points, dtype=float), np.empty(p.d)
    pairs = [interval(p, tree, x, residual) for x in points]
    return tuple(np.array(a) for a in zip(*pairs, strict=True))


def layer_widths(p, tree, design) -> np.ndarray:
    """Lemma 3's E_h = sum over bins B of layer h of psi_B sqrt(E_B[eta_B^2]), for every layer (d,).

    Points that stop on a layer count there, with the half-width they stop with.
    """
    squares, residual = [{} for _ in range(p.d)], np.empty(p.d)
    for phi, chance in zip(design.points, design.prob, strict=True):
        path = ()
        for h in range(p.d):
            b, _, eta = walk(p, tree, h, phi, residual)
            on, path = b >= 0 and tree.link[b, ACTIVE] == 1, (*path, b)
            left = norm(residual)
            eta = walk(p, tree, h + 1, phi, residual)[2] if on else eta + left
            share, total = squares[h].get(path, (0.0, 0.0))
            squares[h][path] = share + chance, total + chance * min(eta, p.cap) ** 2
            if not on:
                break
    return np.array([sum(math.sqrt(s * t) for s, t in layer.values()) for layer in squares])


def tree_rows(p, tree, n: int):
    """A fitted tree as rows for a table, one dict per tracked bin; n users were in a stage.

    A bin of layer 1 is called B and its index k; a deeper one its parent's name and its own k.
    """
    rows, names = [], {tree.link.shape[0] - 1: "root"}
    for h in range(p.d):
        for b in range(tree.start[h], tree.start[h + 1]):
            k, up = (b - tree.start[h]) % p.M, names[tree.link[b, PARENT]]
            names[b] = f"B{k}" if h == 0 else f"{up}{k}"
            on, (count, _, value, coef) = tree.link[b, ACTIVE] == 1, tree.stat[b, : COEF + 1]
            row = {"bin": names[b], "layer": h + 1, "parent": up, "noisy_share": count / n}
            row |= {"active": on, "eigenvalue": value, "coefficient": coef}
            rows.append(row | {f"u{i + 1}": u for i, u in enumerate(tree.frame[b, h])})
    return rows
