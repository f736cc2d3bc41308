"""Attacks on LPLR's messages, printed and corrected, and the instances that are
measured."""

import math
from functools import partial
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
    lplr_params,
    open_layer,
    send,
)
from companion.validate import need_int
from evidence.attacks.audit import Attack, AuditInstance, attacked, drawn

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
        tree.stat[0, COEF] = coef
        tree.stat[0, FLAT] = width
        open_layer(oracle, tree, 1)
        below = slice(tree.start[1], tree.start[2])
        tree.link[below, ACTIVE] = 1
        tree.stat[below, VALUE] = oracle.edge[: oracle.M] ** 2
        tree.frame[below] = np.eye(2)
    return tree


@jit
def message(oracle, tree, stage, x, r, rng, out):
    """out (bins, 1 + d + d^2) <- one user's message to a stage of the last layer.

    Per bin: count (or interval statistic), vector, matrix by rows.  The tree's statistics
    are lost.
    """
    d = oracle.d
    first = tree.start[stage // 2]
    number = ERROR if stage % 2 == 1 else COUNT
    tree.stat[:, number] = 0.0
    tree.vec[:] = 0.0
    tree.mat[:] = 0.0
    phi = np.empty(d)
    y, _ = clip_to_ball(x, r, phi)  # the only clip: audits take it away
    send(oracle, tree, stage, phi, y, rng, np.empty(d))
    for b in range(out.shape[0]):
        out[b, 0] = tree.stat[first + b, number]
        out[b, 1 : 1 + d] = tree.vec[first + b]
        out[b, 1 + d :] = tree.mat[first + b].ravel()


def part_attack(oracle: Oracle, stage, users, statistic, note="", **state) -> Attack:
    """`Attack` on one message to a stage of the last layer, whose node above has M bins.

    users: two of (phi (d,), y); state: keywords of `public_state`.
    """
    shape = oracle.M, 1 + oracle.d + oracle.d**2
    return Attack(
        mechanism=drawn(shape, message, oracle, public_state(oracle, **state), stage),
        a=users[0],
        b=users[1],
        statistic=statistic,
        sees="message",
        note=note,
    )


# Statistics of messages (n, bins, 1 + d + d^2)


def laplace_loss(a, b, scale, outputs: np.ndarray) -> np.ndarray:
    """Log-likelihood ratios (n,) of outputs (n, ...), for Lap(scale) around a against
    around b."""
    losses = (abs(outputs - b) - abs(outputs - a)) / scale
    return losses.sum(axis=tuple(range(1, outputs.ndim)))


def message_loss(oracle: Oracle, numbers, sent):
    """Log-likelihood ratio of the first `numbers` of count, vector and matrix, for the
    users of `first_layer_attack`.

    For d = 1 the corrected matrix noise is Laplace noise of scale 2c.
    """
    edge = oracle.edge[:2]
    # what both users send: count, vector and matrix of bins 0 and 1
    a = np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    b = np.array([[0.0, 0.0, 0.0], [1.0, -edge[1], edge[1] ** 2]])
    noise = [oracle.count_scale, oracle.vector_scale[0], 2 * oracle.matrix_scale]
    scales = edge[:, None] ** np.arange(3) * noise
    seen = np.s_[:, :numbers]
    return laplace_loss(a[seen], b[seen], scales[seen], sent[:, :2, :numbers])


def third_number(sent):
    """Of bin 0: the matrix for d = 1, for d = 2 the vector along the direction of layer
    2."""
    return sent[:, 0, 2]


def outside_support(scale, sent):
    """The printed matrix about bin 0 cannot have come from a user with vector e2
    there."""
    matrix = sent[:, 0, 3:].reshape(-1, 2, 2)
    noise = matrix + 3 * scale * np.eye(2) - np.diag([0.0, 1.0])
    smallest = np.linalg.eigvalsh(noise)[:, 0]
    return smallest < -1e-9


def interval_loss(oracle: Oracle, sent):
    """Log-likelihood ratio of the interval statistics of bins 0 and 1."""
    inside, outside = oracle.cap * np.eye(2)
    return laplace_loss(inside, outside, oracle.error_scale, sent[:, :, 0])


# Attacks on a part of a message


def first_layer_attack(numbers, oracle: Oracle) -> Attack:
    """d = 1: a user in bin 0 against one in bin 1, by the first `numbers` of count,
    vector and matrix.

    The statistic is the log-likelihood ratio; for the printed one-sided noise of all
    three, the matrix part, which can fall below what one of the two users can send.
    Raises ValueError unless d = 1.
    """
    need_int("d", oracle.d, 1, 1)
    near = (np.array([1.0]), 1.0)
    far = (np.array([oracle.edge[1]]), -1.0)
    statistic = partial(message_loss, oracle, numbers)
    if numbers == 3 and oracle.one_sided:
        statistic = third_number
    return part_attack(oracle, 0, (near, far), statistic, "the second stage")


def second_layer_users(oracle: Oracle):
    """d = 2: users whose residuals fall in bins 0 and 1 of layer 2."""
    edge = oracle.edge[1]
    long = np.array([0.0, 1.0])
    short = np.array([math.sqrt(1 - edge**2), edge])
    return (long, 0.0), (short, 0.0)


def matrix_attack(oracle: Oracle) -> Attack:
    """The matrix about a bin, from a user outside against one inside."""
    inside, outside = second_layer_users(oracle)
    statistic = partial(outside_support, oracle.matrix_scale)
    return part_attack(oracle, 2, (outside, inside), statistic)


def label_attack(coef: float, oracle: Oracle) -> Attack:
    """Residual labels after the public coefficient `coef`: +-(1 + coef sqrt(1/2))."""
    root = math.sqrt(0.5)
    high = (np.array([-root, root]), 1.0)
    low = (np.array([root, root]), -1.0)
    return part_attack(oracle, 2, (high, low), third_number, coef=coef)


def interval_attack(oracle: Oracle) -> Attack:
    """The stage of the half-widths, from two bins of layer 2."""
    users = second_layer_users(oracle)
    loss = partial(interval_loss, oracle)
    return part_attack(oracle, 3, users, loss, width=oracle.cap)


def lplr_attacks(policy: Policy) -> tuple[Attack, ...]:
    """`Attack`: one user's message, for d = 1."""
    return (first_layer_attack(3, policy.params.oracle),)


def lplr_attack_instances() -> tuple[Policy, ...]:
    """What the audits attack, in both calibrations; ours at a budget at which few
    messages show all of the loss."""
    own = lplr(1, 64, 3, epsilon=3.0, M=2, n0=8)
    return own, lplr(1, 64, 3, M=2, n0=8, calibration="paper")


def released(_, oracle, tree, stage, *user):
    """What `send` lets out, for `AuditInstance`."""
    h = stage // 2
    here = slice(tree.start[h], tree.start[h + 1])
    if stage % 2 == 1:
        return [("laplace", tree.stat[here, ERROR])]
    return [
        ("laplace", tree.stat[here, COUNT]),
        ("laplace", tree.vec[here]),
        ("wishart", tree.mat[here]),
    ]


DIRECTIONS = np.sqrt(0.5) * np.array([[1.0, -1.0], [1.0, 1.0]])  # of both layers


def second_layer(policy: Policy, t: int) -> State:
    """A State in which the server has made up layer 1: direction (1, -1), a coefficient
    of 5."""
    s = init(policy.params)
    tree = public_state(policy.params.oracle, 5.0, 7.0)
    tree.frame[:] = DIRECTIONS
    for of_all, own in zip(s.forest, tree, strict=True):
        of_all[0] = own
    s.t[0] = t
    return s


def lplr_measured() -> tuple[AuditInstance, ...]:
    """Messages of three stages, and of one oracle per arm, in both calibrations; records
    on the edges of both bins, in both layers."""
    first = [-0.99, -0.25, 0.0, 0.25, 0.99]
    rest = [-0.96, -0.05, 0.0, 0.05, 0.96]
    x = np.array([(a, b) for b in rest for a in first]) @ DIRECTIONS
    low = np.insert(x, 2, -1.0, axis=1)
    high = np.insert(x, 2, 1.0, axis=1)
    make = partial(lplr, 2, 64, n0=8, gamma=20.0, M=2)
    pooled = make(3)
    apart = make(2, per_action=True)
    printed = make(3, calibration="paper")
    instances = []
    for policy, past in (
        (pooled, None),
        (pooled, second_layer(pooled, 9)),
        (pooled, second_layer(pooled, 12)),
        (apart, None),
        (printed, None),
    ):
        case = AuditInstance(
            policy,
            {send: released},
            policy.private,
            initial_state=past,
            rounds=2,
            records=np.vstack([low, high]),
        )
        instances.append(case)
    return tuple(instances)


class Case(NamedTuple):
    """One audit: what is released, the `Attack` on it, and what it may lose."""

    what: str
    attack: Attack
    promised: float  # the largest loss that was promised
    proven: float  # the largest loss for these users
    fault: str  # what is planted in `faulty`, in words
    faulty: Attack  # the same attack on a message with a fault, which has to be found


def audited(attack: Attack, trials: int, seed: int):
    """The lower bound of a case's attack, or of its planted fault: an `audit.Audit`."""
    return attacked(attack, delta=0.0, trials=trials, seed=seed)


def audits(epsilon: float, coef: float = 8.0) -> list[Case]:
    """`Case`s for the printed and the corrected message at this budget; the corrected
    message as a whole has the policy's own attack, the others attack a part alone.

    The planted fault is half of the noise, that of twice the budget; or labels that are
    not clipped. coef: coefficient of the public state that convicts the residual labels.
    """
    third = epsilon / 3
    longest = third * (1 + coef * math.sqrt(0.5))  # loss of the longest label

    def oracle(d, calibration, budget):
        return lplr_params(d, 10**4, budget, M=2, calibration=calibration)

    def case(what, d, attack_on, proven):
        calibration = "paper" if what.startswith("printed") else "corrected"
        return Case(
            what=what,
            attack=attack_on(oracle(d, calibration, epsilon)),
            promised=epsilon,
            proven=proven,
            fault="half of the noise",
            faulty=attack_on(oracle(d, calibration, 2 * epsilon)),
        )

    on_counts = partial(first_layer_attack, 1)
    on_vectors = partial(first_layer_attack, 2)
    on_all = partial(first_layer_attack, 3)
    on_labels = partial(label_attack, coef)
    label = f"printed: residual label, past coefficient {coef:g}"
    unclipped = oracle(2, "corrected", epsilon)._replace(clip=False)
    labels = case("corrected: residual label", 2, on_labels, epsilon / 6)
    return [
        case("printed: counts", 1, on_counts, 2 * third),
        case("printed: counts and vectors", 1, on_vectors, 4 * third),
        case("printed: matrix", 2, matrix_attack, math.inf),
        case(label, 2, on_labels, longest),
        case("printed: interval stage", 2, interval_attack, 2 * epsilon),
        case("corrected: whole message", 1, on_all, epsilon),
        labels._replace(
            promised=third,
            fault="labels that are not clipped",
            faulty=on_labels(unclipped),
        ),
        case("corrected: interval stage", 2, interval_attack, epsilon),
    ]
