"""Attacks on SSP's messages, and the instances that are measured."""

from functools import partial

import numpy as np

from companion.core import Policy
from companion.jit import jit
from companion.kernels.mechanisms import clip_to_ball
from companion.lplr.ssp import Oracle, allocate_model, ssp_receive, suffstats
from evidence.attacks.audit import Attack, AuditInstance, drawn, instances
from evidence.attacks.lplr import laplace_loss


@jit
def message(oracle, model, x, r, rng, out):
    """out (1 + d, d) <- vector, and matrix below it, of one user's message."""
    inside = np.empty(oracle.d)
    y, _ = clip_to_ball(x, r, inside)
    ssp_receive(oracle, model, 0, 2, inside, y, rng)
    out[0] = model.vec
    out[1:] = model.mat


def message_loss(oracle: Oracle, a, b, outputs: np.ndarray) -> np.ndarray:
    """Losses (n,) of outputs (n, 1 + d, d), for the context a against b, both with reward
    1.

    The log-likelihood ratio of the vector, and of the matrix what its density tends to
    far from both: exp(-(nuclear norm)/(2 c)).
    """
    vector = laplace_loss(a, b, oracle.vector_scale, outputs[:, 0])
    matrices = outputs[:, 1:]
    of_a = np.linalg.eigvalsh(matrices - np.outer(a, a))
    of_b = np.linalg.eigvalsh(matrices - np.outer(b, b))
    farther = np.abs(of_b).sum(axis=1) - np.abs(of_a).sum(axis=1)
    return vector + farther / (2 * oracle.matrix_scale)


def suffstats_attacks(policy: Policy) -> tuple[Attack, ...]:
    """`Attack`: one user's message, d >= 2: e_1 or e_2, with reward 1."""
    oracle = policy.params.oracle
    d = oracle.d
    a, b = np.eye(d)[:2]
    attack = Attack(
        mechanism=drawn((1 + d, d), message, oracle, allocate_model(d)),
        a=(a, 1.0),
        b=(b, 1.0),
        statistic=partial(message_loss, oracle, a, b),
        sees="message",
    )
    return (attack,)


def suffstats_attack_instances() -> tuple[Policy, ...]:
    """What the audits attack: a budget at which few messages are needed to see all of the
    loss."""
    return (suffstats(2, 64, 3, epsilon=3.0, n0=8),)


def suffstats_measured() -> tuple[AuditInstance, ...]:
    """Messages of two users."""
    return instances(suffstats(2, 64, 3, n0=8), rounds=2)
