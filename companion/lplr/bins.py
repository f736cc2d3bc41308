"""The bin tree of LPLR: how a vector walks through it, and how its nodes are fitted.

Nodes of one layer are neighbours in memory: M children of every active node of the layer above.
Node b of layer h holds vectors whose residual has norm in (gamma^(-k-1), gamma^-k], where k = (b -
start[h]) mod M.  Layers count from 0.
Source: Figure 2 (the walk), Algorithm 4 (LPLR-PCR), Algorithm 5 lines 9 to 17 (intervals),
Algorithm 6 (LPLR-AGGREGATE).
Differs: Algorithm 4, line 6 is compress-and-clip, V (V'XV)_+ V'; an inactive bin has half-width
eta(parent) + ||phi_h||, where line 11 of Algorithm 5 prints gamma^-k alone (which ignores the
errors of the layers above); residual labels use clipped predictions; the second test of line 10 is
implied by the first and left out.
"""

import math
from typing import NamedTuple

import numpy as np

from companion.jit import jit
from companion.kernels.linalg import axpy, copy, dot, jacobi, norm

PARENT, CHILD, ACTIVE = 0, 1, 2  # columns of Tree.link
COUNT, SPREAD, VALUE, COEF, FLAT, SLOPE = 0, 1, 2, 3, 4, 5  # columns of Tree.stat


class Tree(NamedTuple):
    """Row b of every array belongs to node b; the last row is the root.

    link: parent; first child, -1 if none; 1 if the node has a model.  stat: noisy number of users
    c; noisy interval statistic; top eigenvalue s; coefficient t of the model theta = t u;
    half-width flat + slope |u'phi|.
    """

    start: np.ndarray  # (d+1,) first node of every layer; start[h+1] is one past layer h
    link: np.ndarray  # (nodes+1, 3) integers
    stat: np.ndarray  # (nodes+1, 6)
    vec: np.ndarray  # (nodes+1, d) noisy sum of y_h phi_h
    mat: np.ndarray  # (nodes+1, d, d) noisy sum of phi_h phi_h'
    frame: np.ndarray  # (nodes+1, d, d) rows: directions of the path, then a basis of the rest
    work: np.ndarray  # (3, d, d) scratch


def room(p) -> int:
    """Largest number of nodes that a tree can have."""
    return sum(p.M**h for h in range(1, p.d + 1))


def plant(p, copies: int | None = None) -> Tree:
    """A tree, or a forest whose arrays have a leading axis of `copies`; `open_layer` grows it."""
    lead, n, d = () if copies is None else (copies,), room(p) + 1, p.d
    counts = [np.zeros((*lead, *s), dtype=np.int64) for s in ((d + 1,), (n, 3))]
    shapes = (n, 6), (n, d), (n, d, d), (n, d, d), (3, d, d)
    return Tree(*counts, *[np.zeros((*lead, *s)) for s in shapes])


@jit
def tree_of(f, i):
    """Tree number i of a forest, sharing its memory."""
    return Tree(f.start[i], f.link[i], f.stat[i], f.vec[i], f.mat[i], f.frame[i], f.work[i])


@jit
def open_layer(p, tree, h):
    """Give every active node of the layer above M children of layer h, with all statistics zero.

    With h = 0 the tree is cut down to its root, whose frame is the identity, and its children.
    """
    root = tree.link.shape[0] - 1
    first, last = (root, root + 1) if h == 0 else (tree.start[h - 1], tree.start[h])
    if h == 0:
        tree.start[0], tree.link[root, ACTIVE] = 0, 1
        tree.frame[root] = 0.0
        for i in range(p.d):
            tree.frame[root, i, i] = 1.0
    b = tree.start[h]
    for a in range(first, last):
        if tree.link[a, ACTIVE] == 0:
            continue
        tree.link[a, CHILD] = b
        for _ in range(p.M):
            tree.link[b, PARENT], tree.link[b, CHILD], tree.link[b, ACTIVE] = a, -1, 0
            tree.stat[b], tree.vec[b], tree.mat[b] = 0.0, 0.0, 0.0
            b += 1
    tree.start[h + 1] = b


@jit
def bin_index(p, length):
    """max {k <= M : length <= gamma^-k}; the tolerance 1e-9 keeps exact powers in their own bin."""
    if not length > 0.0:
        return p.M
    k = math.floor(-math.log(length) / p.log_gamma + 1e-9)
    return min(max(k, 0), p.M)


@jit
def enter(p, tree, a, residual):
    """Child of node a that the residual falls in, or -1 if it is too short for any."""
    k = bin_index(p, norm(residual))
    return tree.link[a, CHILD] + k if k < p.M else -1


@jit
def walk(p, tree, h, phi, residual):
    """Figure 2: the node of layer h < d that phi falls in, or for h = d the last one it passes.

    Returns (node, or -1 where the walk stops above; prediction and half-width gathered on the way);
    residual (d,) <- what is left of phi.
    """
    a, prediction, eta = tree.link.shape[0] - 1, 0.0, 0.0
    copy(phi, residual)
    for layer in range(h):
        b = enter(p, tree, a, residual)
        if b < 0 or tree.link[b, ACTIVE] == 0:
            return -1, prediction, eta
        c = dot(tree.frame[b, layer], residual)
        axpy(-c, tree.frame[b, layer], residual)  # pass through b: its direction is taken out
        eta = min(p.cap, eta + tree.stat[b, FLAT] + tree.stat[b, SLOPE] * abs(c))
        prediction += tree.stat[b, COEF] * c
        a = b
    return (enter(p, tree, a, residual) if h < p.d else a), prediction, eta


@jit
def predict(p, tree, phi, residual):
    """Algorithm 6: (estimate in [-1, 1], half-width) at phi; (0, 0) at the dummy phi = 0."""
    b, prediction, eta = walk(p, tree, p.d, phi, residual)
    if b < 0:
        eta = min(p.cap, eta + norm(residual))  # nothing is known about the residual
    return min(max(prediction, -1.0), 1.0), eta


@jit
def interval(p, tree, phi, residual):
    """`predict`, or (0, ||phi||) if its half-width is no less: |f*| <= ||phi|| is always true."""
    f, width = predict(p, tree, phi, residual)
    length = norm(phi)
    return (0.0, length) if width >= length else (f, width)


@jit
def fit_node(p, tree, h, b, n):
    """Algorithm 4: direction, eigenvalue and coefficient of node b after n users; or inactive."""
    d, k = p.d, (b - tree.start[h]) % p.M
    if not tree.stat[b, COUNT] > max(p.threshold * math.sqrt(n), 0.0):  # line 2
        return
    m = d - h
    X, rows = tree.work[0, :m, :m], tree.work[1, :m, :m]
    above = tree.frame[tree.link[b, PARENT]]
    for i in range(m):  # line 6: compress to the complement of the directions above
        for j in range(m):
            X[i, j] = 0.0
            for q in range(d):
                X[i, j] += above[h + i, q] * dot(tree.mat[b, q], above[h + j]) / tree.stat[b, COUNT]
    jacobi(X, rows)  # line 7
    top = 0
    for i in range(1, m):
        if X[i, i] > X[top, top]:
            top = i
    value = X[top, top]
    if p.project:  # the true eigenvalue lies there, so this cannot add error
        high = p.edge[k] * p.edge[k]
        value = min(max(value, high * p.smallest_value / m), high)
    if not value > 0.0:
        return
    turn_frame(tree, h, b, top, m)
    coef = dot(tree.frame[b, h], tree.vec[b]) / (value * tree.stat[b, COUNT])  # line 8
    tree.stat[b, COEF] = min(max(coef, -1.0), 1.0) if p.clip else coef
    tree.stat[b, VALUE], tree.link[b, ACTIVE] = value, 1


@jit
def turn_frame(tree, h, b, top, m):
    """Frame of b: the rows above it, its principal direction, then the other eigenvectors."""
    above, frame, rows = tree.frame[tree.link[b, PARENT]], tree.frame[b], tree.work[1]
    copy(above[:h], frame[:h])
    frame[h:] = 0.0
    for i in range(m):
        source = top if i == 0 else (i - 1 if i <= top else i)
        for j in range(m):
            axpy(rows[source, j], above[h + j], frame[h + i])


@jit
def widen_node(p, tree, h, b, n):
    """Algorithm 5, lines 9 to 16: the half-width's coefficients of an active node b of layer h."""
    g, count, value = p.edge[(b - tree.start[h]) % p.M], tree.stat[b, COUNT], tree.stat[b, VALUE]
    share = count / math.sqrt(n)  # psi sqrt(n)
    if p.calibrated:  # standard deviations of the known noise
        mean = 0.0
        if h > 0:
            noise = p.z * math.sqrt(2.0) * p.spread_scale * g / (math.sqrt(value) * share)
            mean = max(0.0, tree.stat[b, SPREAD] / count + noise)
        matrix = matrix_sd(p) * g * g
        noise = math.sqrt(2.0 * (p.vector_scale[h] * g) ** 2 + matrix * matrix)
        own = p.z * (noise / share + g / math.sqrt(count)) / value
        tree.stat[b, SLOPE] = own + mean / math.sqrt(value)
    else:
        tree.stat[b, FLAT] = p.flat / share
        tree.stat[b, SLOPE] = (tree.stat[b, SPREAD] / count + p.tilt / share) / math.sqrt(value)
        tree.stat[b, SLOPE] = max(tree.stat[b, SLOPE], 0.0)


@jit
def matrix_sd(p):
    """Largest standard deviation of u'Nv over unit u, v: one user's matrix noise N in bin k = 0."""
    return p.matrix_scale * math.sqrt((2.0 if p.one_sided else 4.0) * (p.d + 1))


@jit
def bin_tax(p, tree, n):
    """Sum over bins with a model of the smaller of share x size and noise, for n users per stage.

    In bin k, with share psi, predictions have size gamma^-k.  Noise moves them by about sqrt(2
    b_v^2 + (sd of the matrix) gamma^-2k) / (psi sqrt n): times psi, a bin costs the same whatever
    its share, but never more than psi gamma^-k, as coefficients are clipped.
    """
    total, matrix = 0.0, matrix_sd(p)
    for h in range(p.d):
        for b in range(tree.start[h], tree.start[h + 1]):
            if tree.link[b, ACTIVE] == 1:
                g = p.edge[(b - tree.start[h]) % p.M]
                noise = math.sqrt(2.0 * p.vector_scale[h] ** 2 + (matrix * g) ** 2)
                total += min(tree.stat[b, COUNT] / n * g, noise / math.sqrt(n))
    return total
