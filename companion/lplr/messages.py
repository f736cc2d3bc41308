"""One user's message as an audit sees it: the kernel of `lplr.fit`, called on zeroed statistics.

Source: Algorithm 3 and lines 4 to 7 of Algorithm 5 of the LPLR paper.
"""

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from companion.accounting.audit import Attack, attacked
from companion.jit import jit
from companion.kernels.mechanisms import clip_to_ball
from companion.lplr.bins import ACTIVE, COEF, COUNT, FLAT, SPREAD, VALUE, open_layer, plant
from companion.lplr.fit import send
from companion.lplr.params import lplr_params
from companion.validate import need_array, need_float, need_int


@jit
def _messages(p, tree, part, phi, y, rng, out):
    """out (n, bins, 1 + d + d^2) <- messages on the last layer: one number, vector, matrix."""
    residual, h, d = np.empty(p.d), p.d - 1, p.d
    for i in range(out.shape[0]):
        for b in range(tree.start[h], tree.start[h + 1]):
            tree.stat[b, COUNT] = tree.stat[b, SPREAD] = 0.0
            tree.vec[b, :] = 0.0
            tree.mat[b, :, :] = 0.0
        send(p, tree, 2 * h + part, phi, y, rng, residual)
        for b in range(tree.start[h], tree.start[h + 1]):
            row = out[i, b - tree.start[h]]
            row[0] = tree.stat[b, SPREAD if part == 1 else COUNT]
            for j in range(d):
                row[1 + j] = tree.vec[b, j]
                for q in range(d):
                    row[1 + d + j * d + q] = tree.mat[b, j, q]


def past(p, coef: float = 0.0, width: float = 0.0):
    """A public state that a server may have reached: d = 1, an empty layer; d = 2, two layers.

    With d = 2 the first layer's bin 0 is active, with direction e1, coefficient `coef` and flat
    half-width `width`; its children are active, with direction e2 and the largest possible
    eigenvalue.  Raises ValueError for other dimensions.
    """
    need_int("d", p.d, 1, 2)
    tree = plant(p)
    open_layer(p, tree, 0)
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


def update_messages(p, tree, user: int, rng: np.random.Generator, n: int) -> np.ndarray:
    """n messages of the LPLR-UPDATE stage of the tree's last layer from a user (phi (d,), y):
    (n, bins, 1 + d + d^2), per bin count, vector, matrix by rows.
    """
    return _sent(p, tree, 0, user, rng, n)


def spread_messages(p, tree, user: int, rng: np.random.Generator, n: int) -> np.ndarray:
    """n messages of the LPLR-CI stage of that layer from a user (phi (d,), y): (n, bins)."""
    return _sent(p, tree, 1, user, rng, n)[:, :, 0]


def _own(tree):
    """A copy to write to: audits of one tree may run side by side."""
    return type(tree)(*(a.copy() for a in tree))


def _sent(p, tree, part, user, rng, n):
    phi, y = need_array("phi", user[0], (p.d,)), need_float("y", user[1], -1.0, 1.0)
    out = np.zeros((n, tree.start[p.d] - tree.start[p.d - 1], 1 + p.d + p.d**2))
    _messages(p, _own(tree), part, phi, y, rng, out)
    return out


def laplace_loss(a, b: np.ndarray, scale: float, outputs: np.ndarray) -> np.ndarray:
    """Log-likelihood ratios (n,) of outputs (n, ...), for Lap(scale) around a against around b."""
    axes = tuple(range(1, outputs.ndim))
    return ((abs(outputs - b) - abs(outputs - a)) / scale).sum(axis=axes)


def attack(p):
    """`audit.Attack` on the first stage of an oracle with d = 1: a user in bin 0, one in bin 1.

    The statistic is the log-likelihood ratio; for the printed one-sided noise, the matrix part,
    which can fall below what one of the two users can send.  Raises ValueError for other d.
    """
    if p.d != 1:
        raise ValueError(f"policy must have d=1; got d={p.d}")
    tree = past(p)

    def mechanism(user, rng, n):
        inside, out = np.empty(1), np.zeros((n, p.M, 3))
        y, _ = clip_to_ball(*user, inside)
        _messages(p, _own(tree), 0, inside, y, rng, out)
        return out[:, :2]

    statistic = _matrix if p.one_sided else _whole(p)
    users = (np.array([1.0]), 1.0), (np.array([p.edge[1]]), -1.0)
    return (Attack(mechanism, *users, statistic, "message", "the second stage", False, True),)


def _matrix(o):
    return o[:, 0, 2]


class Case(NamedTuple):
    """One audit: what is released, the `audit.Attack` on it, and what it may lose."""

    what: str
    attack: Attack
    claimed: float  # loss that the paper claims for this part
    proven: float  # the largest loss for these users
    fault: str  # what is planted in `faulty`, in words
    faulty: Attack  # the same attack on a message with a fault, which has to be found


def audited(case: Case, trials: int, seed: int, planted: bool = False):
    """The lower bound of one case, or of its planted fault: an `audit.Audit`."""
    one = case.faulty if planted else case.attack
    return attacked(one, delta=0.0, trials=trials, seed=seed)


def _counts(o):  # {count of one bin >= 1, count of the other <= 0}
    return (o[:, 0, 0] >= 1) & (o[:, 1, 0] <= 0)


def _counts_and_vectors(o):
    return _counts(o) & (o[:, 0, 1] >= 1) & (o[:, 1, 1] >= 0)


def _second_entry(o):
    return o[:, 0, 2]


def _outside_support(c, o):
    """The printed matrix about bin 0 cannot have come from a user with vector e2 there."""
    Z = o[:, 0, 3:].reshape(-1, 2, 2) + 3 * c * np.eye(2) - np.diag([0.0, 1.0])
    return np.linalg.eigvalsh(Z)[:, 0] < -1e-9


def _whole(p):
    """Log-likelihood ratio of the corrected message, d = 1, where its matrix noise is Laplace."""
    g, a, b = p.edge[:2], np.zeros((2, 3)), np.zeros((2, 3))
    parts = np.full(2, p.count_scale), g * p.vector_scale[0], g**2 * 2 * p.matrix_scale
    a[0], b[1] = 1.0, (1.0, -g[1], g[1] ** 2)
    return partial(laplace_loss, a, b, np.stack(parts, axis=1))


def _interval(p):
    return partial(laplace_loss, *p.cap * np.eye(2), p.spread_scale)


def halved(p):
    """Half of the noise: a fault that an audit has to find."""
    small = {k: getattr(p, k) / 2 for k in ("count_scale", "matrix_scale", "spread_scale")}
    return p._replace(vector_scale=p.vector_scale / 2, **small)


def _unclipped(p):
    return p._replace(clip=False)


def _updates(users, statistic, **state):
    """An attack, as a function of p, on what users send in the LPLR-UPDATE stage."""

    def on(p):
        mechanism = partial(update_messages, p, past(p, **state))
        return Attack(mechanism, *users, statistic(p), "message", runs=False)

    return on


def _spreads(users):
    """The same in the LPLR-CI stage."""

    def on(p):
        mechanism = partial(spread_messages, p, past(p, width=p.cap))
        return Attack(mechanism, *users, _interval(p), "message", runs=False)

    return on


def audits(epsilon: float, coef: float = 8.0):
    """`Case`s for the printed and the corrected message at this budget; the corrected message as a
    whole has the policy's own `attack`, the others attack a part alone.

    coef: coefficient of the past that convicts the residual labels.
    """
    e, root, M = epsilon, math.sqrt(0.5), 2
    a1, a2, b1, b2 = (
        lplr_params(d, 10**4, e, M=M, calibration=c) for c in ("paper", "corrected") for d in (1, 2)
    )
    g = a1.edge[1]
    bins = (np.array([1.0]), 1.0), (np.array([g]), -1.0)  # d = 1: users of bins 0 and 1
    deep = (np.array([0.0, 1.0]), 0.0), (np.array([math.sqrt(1 - g * g), g]), 0.0)  # of layer 2
    labels = (np.array([-root, root]), 1.0), (np.array([root, root]), -1.0)

    def case(what, p, on, claimed, proven, fault=("half of the noise", halved)):
        words, plant = fault
        return Case(what, on(p), claimed, proven, words, on(plant(p)))

    whole, residual = (lambda p: attack(p)[0]), _updates(labels, lambda p: _second_entry, coef=coef)
    outside = _updates(deep[::-1], lambda p: partial(_outside_support, p.matrix_scale))
    both, label = 2 * e / 3, f"printed: residual label, past coefficient {coef:g}"
    return [
        case("printed: counts", a1, _updates(bins, lambda p: _counts), e / 3, both),
        case("printed: counts and vectors", a1, _updates(bins, lambda p: _counts_and_vectors),
             both, 2 * both),
        case("printed: matrix", a2, outside, e / 3, math.inf),
        case(label, a2, residual, e / 3, e / 3 * (1 + coef * root)),
        case("printed: interval stage", a2, _spreads(deep), e, 2 * e),
        case("corrected: whole message", b1, whole, e, e),
        case("corrected: residual label", b2, residual, e / 3, e / 6,
             ("labels that are not clipped", _unclipped)),
        case("corrected: interval stage", b2, _spreads(deep), e, e),
    ]  # fmt: skip
