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
    lplr_params,
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
    edge = oracle.edge[:2]
    # what both users send: count, vector and matrix of bins 0 and 1
    a = np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    b = np.array([[0.0, 0.0, 0.0], [1.0, -edge[1], edge[1] ** 2]])
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

    matrix_of_bin_0 = itemgetter((slice(None), 0, 2))  # behind its count and its vector
    return Attack(
        mechanism=mechanism,
        a=(np.array([1.0]), 1.0),
        b=(np.array([oracle.edge[1]]), -1.0),
        statistic=matrix_of_bin_0 if oracle.one_sided else message_loss(oracle),
        sees="message",
        note="the second stage",
        runs=False,
    )


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
    for of_all, own in zip(s.forest, tree, strict=True):
        of_all[0] = own
    s.t[0] = t
    return s


def audit_instances() -> tuple[AuditInstance, ...]:
    """Messages of three stages, and of one oracle per arm, in both calibrations; records
    on the edges of both bins, in both layers."""
    first, rest = np.meshgrid(
        [-0.99, -0.25, 0.0, 0.25, 0.99],
        [-0.96, -0.05, 0.0, 0.05, 0.96],
    )
    x = np.sqrt(0.5) * np.column_stack([(first + rest).ravel(), (rest - first).ravel()])
    records = np.vstack([np.column_stack([x, np.full(len(x), y)]) for y in (-1.0, 1.0)])
    pooled = lplr(2, 64, 3, n0=8, gamma=20.0, M=2)
    apart = lplr(2, 64, 2, per_action=True, n0=8, gamma=20.0, M=2)
    printed = lplr(2, 64, 3, calibration="paper", n0=8, gamma=20.0, M=2)
    begun = [
        (pooled, None),
        (pooled, second_layer(pooled, 9)),
        (pooled, second_layer(pooled, 12)),
        (apart, None),
        (printed, None),
    ]
    instances = []
    for policy, state in begun:
        instance = AuditInstance(
            policy=policy,
            releases={send: released},
            private_fields=policy.private,
            initial_state=state,
            rounds=2,
            records=records,
        )
        instances.append(instance)
    return tuple(instances)


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
    attack = case.faulty if planted else case.attack
    return attacked(attack, delta=0.0, trials=trials, seed=seed)


def halved(oracle: Oracle) -> Oracle:
    """Half of the noise: a fault that an audit has to find."""
    return oracle._replace(
        count_scale=oracle.count_scale / 2,
        vector_scale=oracle.vector_scale / 2,
        matrix_scale=oracle.matrix_scale / 2,
        error_scale=oracle.error_scale / 2,
    )


# Statistics of messages (n, bins, 1 + d + d^2)


def counts(sent):
    """The count of bin 0 is at least 1, that of bin 1 at most 0."""
    return (sent[:, 0, 0] >= 1) & (sent[:, 1, 0] <= 0)


def counts_and_vectors(sent):
    """The same, and the vectors are not below what the user of bin 0 sends."""
    return counts(sent) & (sent[:, 0, 1] >= 1) & (sent[:, 1, 1] >= 0)


def second_vector_entry(sent):
    """The vector of bin 0 along the direction of layer 2."""
    return sent[:, 0, 2]


def outside_support(scale, sent):
    """The printed matrix about bin 0 cannot have come from a user with vector e2
    there."""
    Z = sent[:, 0, 3:].reshape(-1, 2, 2) + 3 * scale * np.eye(2) - np.diag([0.0, 1.0])
    return np.linalg.eigvalsh(Z)[:, 0] < -1e-9


def interval_loss(oracle: Oracle, sent):
    """Log-likelihood ratio of the interval statistics of bins 0 and 1."""
    largest = oracle.cap * np.eye(2)
    return laplace_loss(largest[0], largest[1], oracle.error_scale, sent[:, :, 0])


# Attacks on a part of a message to the last layer


def part_attack(oracle, users, statistic, interval_stage=False, **state) -> Attack:
    """`Attack` on LPLR-UPDATE or LPLR-CI with a public state (keywords of
    `public_state`)."""
    stage = 2 * oracle.d - 1 if interval_stage else 2 * oracle.d - 2
    return Attack(
        mechanism=partial(messages, oracle, public_state(oracle, **state), stage),
        a=users[0],
        b=users[1],
        statistic=statistic,
        sees="message",
        runs=False,
    )


def first_layer_attack(statistic, oracle: Oracle) -> Attack:
    """d = 1: a user in bin 0 against one in bin 1."""
    users = (np.array([1.0]), 1.0), (np.array([oracle.edge[1]]), -1.0)
    return part_attack(oracle, users, statistic)


def second_layer_users(oracle: Oracle):
    """d = 2: users whose residuals fall in bins 0 and 1 of layer 2."""
    edge = oracle.edge[1]
    deep = np.array([math.sqrt(1 - edge**2), edge])
    return (np.array([0.0, 1.0]), 0.0), (deep, 0.0)


def matrix_attack(oracle: Oracle) -> Attack:
    """The matrix about a bin, from a user outside against one inside."""
    inside, outside = second_layer_users(oracle)
    statistic = partial(outside_support, oracle.matrix_scale)
    return part_attack(oracle, (outside, inside), statistic)


def label_attack(coef: float, oracle: Oracle) -> Attack:
    """Residual labels after the public coefficient `coef`: +-(1 + coef sqrt(1/2))."""
    root = math.sqrt(0.5)
    users = (np.array([-root, root]), 1.0), (np.array([root, root]), -1.0)
    return part_attack(oracle, users, second_vector_entry, coef=coef)


def interval_attack(oracle: Oracle) -> Attack:
    """The stage of the half-widths, from two bins of layer 2."""
    return part_attack(
        oracle,
        second_layer_users(oracle),
        partial(interval_loss, oracle),
        interval_stage=True,
        width=oracle.cap,
    )


def with_half_noise(what, attack_on, oracle, claimed, proven) -> Case:
    """A `Case` whose planted fault is half of the noise; attack_on: oracle -> Attack."""
    return Case(
        what=what,
        attack=attack_on(oracle),
        claimed=claimed,
        proven=proven,
        fault="half of the noise",
        faulty=attack_on(halved(oracle)),
    )


def audits(epsilon: float, coef: float = 8.0) -> list[Case]:
    """`Case`s for the printed and the corrected message at this budget; the corrected
    message as a whole has the policy's own attack, the others attack a part alone.

    coef: coefficient of the public state that convicts the residual labels.
    """
    printed_1 = lplr_params(1, 10**4, epsilon, M=2, calibration="paper")
    printed_2 = lplr_params(2, 10**4, epsilon, M=2, calibration="paper")
    corrected_1 = lplr_params(1, 10**4, epsilon, M=2)
    corrected_2 = lplr_params(2, 10**4, epsilon, M=2)
    third = epsilon / 3
    on_counts = partial(first_layer_attack, counts)
    on_vectors = partial(first_layer_attack, counts_and_vectors)
    on_labels = partial(label_attack, coef)
    label = f"printed: residual label, past coefficient {coef:g}"
    largest_label = 1 + coef * math.sqrt(0.5)
    whole = "corrected: whole message"
    both = "printed: counts and vectors"
    stage = "interval stage"
    clipped = Case(
        what="corrected: residual label",
        attack=on_labels(corrected_2),
        claimed=third,
        proven=epsilon / 6,
        fault="labels that are not clipped",
        faulty=on_labels(corrected_2._replace(clip=False)),
    )
    return [
        with_half_noise("printed: counts", on_counts, printed_1, third, 2 * third),
        with_half_noise(both, on_vectors, printed_1, 2 * third, 4 * third),
        with_half_noise("printed: matrix", matrix_attack, printed_2, third, math.inf),
        with_half_noise(label, on_labels, printed_2, third, third * largest_label),
        with_half_noise(
            f"printed: {stage}", interval_attack, printed_2, epsilon, 2 * epsilon
        ),
        with_half_noise(whole, message_attack, corrected_1, epsilon, epsilon),
        clipped,
        with_half_noise(
            f"corrected: {stage}", interval_attack, corrected_2, epsilon, epsilon
        ),
    ]
