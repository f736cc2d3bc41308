"""Fitting an LPLR oracle: user by user (the algorithm), or from sums drawn at once (the same law,
at any n).

Two stages of n users ask about layer h = 0, 1, ...: stage 2h (Algorithm 3) for counts, vectors and
matrices, stage 2h + 1 (Algorithm 5, lines 4 to 7) for how errors add up.  `send` is one user's
message about every node of the layer; `fit_sums` draws only what the server keeps, the sums over
users: one multinomial for who falls where, binomials for the labels, and the sum of the noises
(`lplr.noise`), at O(K d^2 + bins) per layer whatever the number of users.  Both `tell` and
`add_noise` with the same kernels, and both leave out stage 1, which has nothing to measure.
Source: Algorithms 2, 3 and 5.  One fit of 2d stages takes n_total // (2d) users per stage; the rest
are not asked.
"""

import math

import numpy as np

from companion.jit import jit
from companion.kernels.linalg import add_outer, axpy, dot
from companion.lplr import bins
from companion.lplr.bins import ACTIVE, COUNT, SPREAD, VALUE, open_layer, plant, tree_of, walk
from companion.lplr.crowd import draw, sign_sum
from companion.lplr.environments import SLACK, need_ball
from companion.lplr.noise import add_matrix_noise, laplace_sum
from companion.validate import need_array, need_int


@jit
def tell(
    p,
    tree,
    stage,
    phi,
    users,
    label,
    signs,
    rng,
    residual,
):
    """What users with this phi hold, added to the node that they fall in; 0 falls nowhere.

    Algorithm 3, lines 3 to 5: each of them 1, y_h phi and phi phi'; y_h = y - clip(prediction) lies
    in [-2, 2]: the clip bounds what one user can change.  Algorithm 5, line 6: eta |u'phi| /
    sqrt(s) if the node is active.  signs: labels are +1 or -1 with mean `label`, else they equal
    it.

    Size: nine arguments, as one kernel serves both paths: what users hold and how many they are
    (phi, users, label, signs), where they are asked (p, tree, stage), a stream and scratch.
    """
    h = stage // 2
    b, prediction, eta = walk(p, tree, h, phi, residual)
    if b >= 0 and stage % 2 == 0:
        labels = sign_sum(rng, users, label) if signs else users * label
        if p.clip:
            prediction = min(max(prediction, -1.0), 1.0)
        tree.stat[b, COUNT] += users
        axpy(labels - users * prediction, residual, tree.vec[b])
        add_outer(float(users), residual, tree.mat[b])
    elif b >= 0 and tree.link[b, ACTIVE] == 1:
        reach = abs(dot(tree.frame[b, h], residual)) / math.sqrt(tree.stat[b, VALUE])
        tree.stat[b, SPREAD] += users * eta * reach


@jit
def add_noise(p, tree, stage, n, rng):
    """The noise of n users' messages about every node of the stage's layer.

    Of several users at once, vectors and matrices of nodes below the threshold get none: it is
    independent of everything else, and nobody reads them.
    """
    h = stage // 2
    for b in range(tree.start[h], tree.start[h + 1]):
        g = p.edge[(b - tree.start[h]) % p.M]
        if stage % 2 == 0:
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
def close(p, tree, stage, n):
    """End of a stage of n users: fit the layer's models, or their half-widths."""
    h = stage // 2
    for b in range(tree.start[h], tree.start[h + 1]):
        if stage % 2 == 0:
            bins.fit_node(p, tree, h, b, n)
        elif tree.link[b, ACTIVE] == 1:
            bins.widen_node(p, tree, h, b, n)


@jit
def send(p, tree, stage, phi, y, rng, residual):
    """One user's message, added to the statistics (on zeroed ones it *is* the message)."""
    tell(p, tree, stage, phi, 1, y, False, rng, residual)
    add_noise(p, tree, stage, 1, rng)


@jit
def observe(p, tree, user, n, phi, y, rng, residual):
    """Feed user number `user` (from 0, of 2dn) to the oracle: phi (d,), y; the dummy is phi = 0.

    The last user of a stage closes it.  Users after 2dn are not asked.
    """
    stage = user // n
    if stage >= 2 * p.d:
        return
    if user % (2 * n) == 0:
        open_layer(p, tree, stage // 2)
    if stage != 1:
        send(p, tree, stage, phi, y, rng, residual)
    if user % n == n - 1:
        close(p, tree, stage, n)


@jit
def fit_messages(p, tree, phi, y, rng):
    """Algorithm 2 on users phi (N, d), y (N,), N // (2d) in each stage; the tree is overwritten."""
    residual = np.empty(p.d)
    n = phi.shape[0] // (2 * p.d)
    for user in range(2 * p.d * n):
        observe(p, tree, user, n, phi[user], y[user], rng, residual)


@jit
def fit_sums(p, forest, law, n, rng, crowd):
    """The law of `fit_messages` for users drawn from a `Law`, for one oracle or several at once.

    forest: one tree per oracle, overwritten; n users per stage; crowd.plays grows by the users seen
    in the 2d - 1 stages that ask something.
    """
    seen = crowd.seen
    for stage in range(2 * p.d):
        if stage != 1:
            draw(law, n, rng, crowd)
        for o in range(forest.start.shape[0]):
            tree = tree_of(forest, o)
            if stage % 2 == 0:
                open_layer(p, tree, stage // 2)
            if stage != 1:
                for j in range(seen.shape[0]):
                    if law.owner[j] == o and seen[j] > 0:
                        x, y = law.points[j], law.means[j]
                        tell(p, tree, stage, x, seen[j], y, law.signs, rng, crowd.residual)
                add_noise(p, tree, stage, n, rng)
            close(p, tree, stage, n)


def fit_users(p, phi: np.ndarray, y: float, rng: np.random.Generator):
    """A tree fitted by Algorithm 2 to users phi (N, d), y (N,), message by message, in their order.

    Raises ValueError on NaN, ||phi|| > 1, |y| > 1, or fewer than 2d users.
    """
    phi = need_array("phi", phi, ("N", p.d))
    y = need_array("y", y, (need_int("rows of phi", len(phi), 2 * p.d),))
    need_ball("phi", phi)
    if not np.abs(y).max() <= 1 + SLACK:
        raise ValueError(f"y must be in [-1, 1]; got {y[np.abs(y).argmax()]:.6g}")
    tree = plant(p)
    fit_messages(p, tree, phi, y, rng)
    return tree
