"""Attacks on LPLR's messages, printed and corrected, and the instances that are
measured."""

import math
from functools import partial
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from companion.core import Policy
from companion.jit import jit
from companion.kernels.mechanisms import clip_to_ball
from companion.lplr.lplr import (
    ACTIVE,
    COEF,
    COUNT,
    ERROR,
    FLAT,
    VALUE,
    Oracle,
    State,
    Tree,
    allocate_tree,
    init,
    lplr,
    open_layer,
    send,
)
from companion.validate import need_float, need_int
from evidence.attacks.audit import Attack, AuditInstance, attacked

# Audit data: one user's message, and what of it is released.


def public_state(oracle: Oracle, coef: float = 0.0, width: float = 0.0) -> Tree:
    """A tree that a server may have published: d = 1, an empty layer; d = 2, two layers.

    With d = 2 the first layer's bin 0 is active, with direction e1, coefficient `coef`
    and flat half-width `width`; its children are active, with direction e2 and the
    largest possible eigenvalue.  Raises ValueError for other dimensions.
    """
    need_int("d", oracle.d, 1, 2)
    tree = allocate_tree(oracle)
    open_layer(oracle, tree, 0)
    if oracle.d == 2:
        tree.link[0, ACTIVE] = 1
        tree.stat[0, VALUE] = 1.0
        tree.frame[0] = np.eye(2)
        tree.stat[0, COEF] = need_float("coef", coef)
        tree.stat[0, FLAT] = need_float("width", width, 0.0)
        open_layer(oracle, tree, 1)
        for b in range(tree.start[1], tree.start[2]):
            tree.link[b, ACTIVE] = 1
            tree.stat[b, VALUE] = oracle.edge[b - tree.start[1]] ** 2
            tree.frame[b] = np.eye(2)
    return tree


@jit
def draw_messages(oracle, tree, stage, phi, y, rng, out):
    """out (n, bins, 1 + d + d^2) <- n messages of one user to a stage of the last layer.

    Per bin: count (or interval statistic), vector, matrix by rows.  The tree's statistics
    are lost.
    """
    residual = np.empty(oracle.d)
    h = stage // 2
    d = oracle.d
    for i in range(out.shape[0]):
        for b in range(tree.start[h], tree.start[h + 1]):
            tree.stat[b, COUNT] = tree.stat[b, ERROR] = 0.0
            tree.vec[b, :] = 0.0
            tree.mat[b, :, :] = 0.0
        send(oracle, tree, stage, phi, y, rng, residual)
        for b in range(tree.start[h], tree.start[h + 1]):
            row = out[i, b - tree.start[h]]
            row[0] = tree.stat[b, ERROR if stage % 2 == 1 else COUNT]
            row[1 : 1 + d] = tree.vec[b]
            row[1 + d :] = tree.mat[b].ravel()


def messages(oracle: Oracle, tree: Tree, stage: int, user, rng, n: int) -> np.ndarray:
    """n messages of a user (phi (d,), y) to a stage of the last layer: see
    `draw_messages`."""
    out = np.zeros(
        (n, tree.start[oracle.d] - tree.start[oracle.d - 1], 1 + oracle.d + oracle.d**2)
    )
    own = Tree(*(a.copy() for a in tree))  # audits of one tree may run side by side
    draw_messages(oracle, own, stage, *user, rng, out)
    return out


def laplace_loss(a, b, scale, outputs: np.ndarray) -> np.ndarray:
    """Log-likelihood ratios (n,) of outputs (n, ...), for Lap(scale) around a against
    around b."""
    axes = tuple(range(1, outputs.ndim))
    return ((abs(outputs - b) - abs(outputs - a)) / scale).sum(axis=axes)


def message_loss(oracle: Oracle):
    """Log-likelihood ratio of the corrected message of `message_attack`, as a statistic.

    For d = 1 its matrix noise is Laplace noise of scale 2c.
    """
    # what both users send
    edge = oracle.edge[:2]
    a = np.zeros((2, 3))
    b = np.zeros((2, 3))
    a[0], b[1] = 1.0, (1.0, -edge[1], edge[1] ** 2)
    vector = edge * oracle.vector_scale[0]
    matrix = edge**2 * 2 * oracle.matrix_scale
    scales = np.stack([np.full(2, oracle.count_scale), vector, matrix], axis=1)
    return partial(laplace_loss, a, b, scales)


def message_attack(oracle: Oracle) -> Attack:
    """`Attack` on the first stage of an oracle with d = 1: a user in bin 0, one in bin 1.

    The statistic is the log-likelihood ratio; for the printed one-sided noise, the matrix
    part, which can fall below what one of the two users can send.  Raises ValueError for
    other d.
    """
    need_int("d", oracle.d, 1, 1)
    tree = public_state(oracle)

    def mechanism(user, rng, n):
        inside = np.empty(1)
        y, _ = clip_to_ball(*user, inside)  # the only clip: audits take it away
        return messages(oracle, tree, 0, (inside, y), rng, n)[:, :2]

    matrix = itemgetter((slice(None), 0, 2))  # of bin 0, behind its count and its vector
    statistic = matrix if oracle.one_sided else message_loss(oracle)
    users = (np.array([1.0]), 1.0), (np.array([oracle.edge[1]]), -1.0)
    how = {"sees": "message", "note": "the second stage", "runs": False}
    return Attack(mechanism, *users, statistic, **how)


def own_attacks(policy: Policy) -> tuple[Attack, ...]:
    """`Attack`: one user's message, for d = 1."""
    return (message_attack(policy.params.oracle),)


def attack_instances() -> tuple[Policy, ...]:
    """What the audits attack, in both calibrations; ours at a budget at which few
    messages show all of the loss."""
    own = lplr(1, 64, 3, epsilon=3.0, M=2, n0=8)
    return own, lplr(1, 64, 3, M=2, n0=8, calibration="paper")


def released(_, oracle, tree, stage, *user):
    """What `send` lets out, for `AuditInstance`."""
    here = slice(*tree.start[stage // 2 : stage // 2 + 2])
    if stage % 2 == 1:
        return [("laplace", tree.stat[here, ERROR])]
    counts = "laplace", tree.stat[here, COUNT]
    return [counts, ("laplace", tree.vec[here]), ("wishart", tree.mat[here])]


def second_layer(policy: Policy, t: int) -> State:
    """A State in which the server has made up layer 1: direction (1, -1), a coefficient
    of 5."""
    s = init(policy.params)
    tree = public_state(policy.params.oracle, 5.0, 7.0)
    tree.frame[:] = np.sqrt(0.5) * np.array([[1.0, -1.0], [1.0, 1.0]])
    for several, one in zip(s.forest, tree, strict=True):
        several[0] = one
    s.t[0] = t
    return s


def audit_instances() -> tuple[AuditInstance, ...]:
    """Messages of three stages, and of one oracle per arm, in both calibrations; records
    on the edges of both bins, in both layers."""
    settings = {"n0": 8, "gamma": 20.0, "M": 2}
    first, rest = np.meshgrid(
        [-0.99, -0.25, 0.0, 0.25, 0.99],
        [-0.96, -0.05, 0.0, 0.05, 0.96],
    )
    x = np.sqrt(0.5) * np.column_stack([(first + rest).ravel(), (rest - first).ravel()])
    records = np.vstack([np.column_stack([x, np.full(len(x), y)]) for y in (-1.0, 1.0)])
    one = lplr(2, 64, 3, **settings)
    apart = lplr(2, 64, 2, per_action=True, **settings)
    printed = lplr(2, 64, 3, calibration="paper", **settings)
    deeper = [(one, second_layer(one, t)) for t in (9, 12)]
    begun = (one, None), *deeper, (apart, None), (printed, None)
    found = []
    for policy, state in begun:
        case = AuditInstance(
            policy=policy,
            releases={send: released},
            private_fields=policy.private,
            initial_state=state,
            rounds=2,
            records=records,
        )
        found.append(case)
    return tuple(found)


class Case(NamedTuple):
    """One audit: what is released, the `Attack` on it, and what it may lose."""

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


def halved(oracle):
    """Half of the noise: a fault that an audit has to find."""
    scales = "count_scale", "vector_scale", "matrix_scale", "error_scale"
    return oracle._replace(**{scale: getattr(oracle, scale) / 2 for scale in scales})


def counts(o):
    """The count of bin 0 is at least 1, that of bin 1 at most 0."""
    return (o[:, 0, 0] >= 1) & (o[:, 1, 0] <= 0)


def counts_and_vectors(o):
    """The same, and the vectors are not below what the user of bin 0 sends."""
    return counts(o) & (o[:, 0, 1] >= 1) & (o[:, 1, 1] >= 0)


def outside_support(scale, o):
    """The printed matrix about bin 0 cannot have come from a user with vector e2
    there."""
    Z = o[:, 0, 3:].reshape(-1, 2, 2) + 3 * scale * np.eye(2) - np.diag([0.0, 1.0])
    return np.linalg.eigvalsh(Z)[:, 0] < -1e-9


def audits(epsilon: float, coef: float = 8.0):
    """`Case`s for the printed and the corrected message at this budget; the corrected
    message as a whole has the policy's own attack, the others attack a part alone.

    coef: coefficient of the public state that convicts the residual labels.
    """
    (printed_1, printed_2), (corrected_1, corrected_2) = (
        [lplr.lplr_params(d, 10**4, epsilon, M=2, calibration=how) for d in (1, 2)]
        for how in ("paper", "corrected")
    )
    edge = printed_1.edge[1]
    root = math.sqrt(0.5)
    # d = 1: users of bins 0 and 1
    bins = (np.array([1.0]), 1.0), (np.array([edge]), -1.0)
    # layer 2
    deep = (np.array([0.0, 1.0]), 0.0), (np.array([math.sqrt(1 - edge**2), edge]), 0.0)
    signs = (np.array([-root, root]), 1.0), (np.array([root, root]), -1.0)

    def attack(oracle, users, statistic, part=0, **state):
        # LPLR-UPDATE (0) or LPLR-CI (1) of the last layer
        stage = 2 * oracle.d - 2 + part
        mechanism = partial(messages, oracle, public_state(oracle, **state), stage)
        return Attack(mechanism, *users, statistic, "message", runs=False)

    def matrix(oracle):
        return attack(oracle, deep[::-1], partial(outside_support, oracle.matrix_scale))

    def labels(oracle):
        return attack(oracle, signs, lambda o: o[:, 0, 2], coef=coef)

    def intervals(oracle):
        statistic = partial(laplace_loss, *oracle.cap * np.eye(2), oracle.error_scale)
        return attack(
            oracle,
            deep,
            lambda o: statistic(o[:, :, 0]),
            part=1,
            width=oracle.cap,
        )

    def on_bins(statistic):
        return lambda oracle: attack(oracle, bins, statistic)

    def case(what, oracle, on, claimed, proven, fault="half of the noise", plant=halved):
        return Case(
            what=what,
            attack=on(oracle),
            claimed=claimed,
            proven=proven,
            fault=fault,
            faulty=on(plant(oracle)),
        )

    third = epsilon / 3
    label = f"printed: residual label, past coefficient {coef:g}"
    unclipped = "labels that are not clipped", lambda oracle: oracle._replace(clip=False)
    vectors = on_bins(counts_and_vectors)
    return [
        case("printed: counts", printed_1, on_bins(counts), third, 2 * third),
        case("printed: counts and vectors", printed_1, vectors, 2 * third, 4 * third),
        case("printed: matrix", printed_2, matrix, third, math.inf),
        case(label, printed_2, labels, third, third * (1 + coef * root)),
        case("printed: interval stage", printed_2, intervals, epsilon, 2 * epsilon),
        case("corrected: whole message", corrected_1, message_attack, epsilon, epsilon),
        case(
            "corrected: residual label",
            corrected_2,
            labels,
            third,
            epsilon / 6,
            *unclipped,
        ),
        case("corrected: interval stage", corrected_2, intervals, epsilon, epsilon),
    ]
