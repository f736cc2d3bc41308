"""RegCB.Elimination with perturbed sufficient statistics: what LPLR improves on, at T^(3/4) in the
worst case.

Every user sends phi phi' and y phi, each with noise for half of epsilon (scales and intervals:
`lplr.sufficient_statistics`).  Kernels and state are those of `lplr.policy`, with another oracle.
Source: the local version of Shariff and Sheffet (2018), as Section 2.2 of the LPLR paper says.
Neighbours: replace the user's (x, a, y).  Model: local, delta = 0.
Records outside the unit ball or [-1, 1] are clipped before anything else.
Cost: per round O(epochs K d^2).
"""

from functools import partial

import numpy as np

from companion.accounting import audit as learned
from companion.accounting.audit import Attack, AuditInstance, shows
from companion.core import Policy
from companion.jit import jit
from companion.kernels.mechanisms import clip_to_ball
from companion.lplr.elimination import SUFFSTATS
from companion.lplr.messages import laplace_loss
from companion.lplr.policy import SECRET, eliminating
from companion.lplr.sufficient_statistics import ssp_guarantee, ssp_model, ssp_observe


def suffstats(
    d: int, T: int, K: int, *, epsilon: float = 1.0, n0: int = 64, z: float | None = None
) -> Policy:
    """Elimination with perturbed sufficient statistics for T rounds with K arms each; epsilon = inf
    is least squares without privacy.

    d >= 1; T >= 4d; K >= 1; epsilon in (0, inf], pure local privacy; n0 >= d; z >= 0 standard
    deviations in the half-widths (None: 3, without privacy 4).  Raises ValueError on anything else.
    """
    policy = eliminating(SUFFSTATS, d, T, K, epsilon, False, n0, {"z": z})
    promise = ssp_guarantee(policy.params.oracle.ssp)
    name = "Least squares" if promise.model == "none" else "SSP"
    return policy._replace(name=name, guarantee=promise)


@jit
def messages(p, m, x, r, rng, out):
    """out (n, 1 + d, d) <- vector, and matrix below it, of n messages of one user, for audits."""
    for i in range(out.shape[0]):
        ssp_observe(p, m, 0, 2, x, r, rng)
        for j in range(p.d):
            out[i, 0, j] = m.vec[j]
            for k in range(p.d):
                out[i, 1 + j, k] = m.mat[j, k]


def own_attacks(policy: Policy) -> tuple[Attack, ...]:
    """`audit.Attack`: one user's message, d >= 2: e_1 or e_2, with reward 1.

    The statistic is the log-likelihood ratio of the vector, and of the matrix what its density
    tends to far from both: exp(-(nuclear norm)/(2 c)).
    """
    p = policy.params.oracle.ssp
    m, x, user = ssp_model(p.d), np.empty(p.d), np.eye(p.d)

    def sent(record, rng, out):
        messages(p, m, x, clip_to_ball(*record, x)[0], rng, out)

    mechanism, told = learned.filled((1 + p.d, p.d), sent), partial(message_loss, p, *user[:2])
    a, b = ((x, 1.0) for x in user[:2])
    return (Attack(mechanism, a, b, told, "message", runs=False, fresh=True),)


def message_loss(p, a, b: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Losses (n,) of outputs (n, 1 + d, d), for the context a against b, both with reward 1."""
    vector = laplace_loss(a, b, p.vector_scale, outputs[:, 0])
    far = [abs(np.linalg.eigvalsh(outputs[:, 1:] - np.outer(x, x))).sum(axis=1) for x in (b, a)]
    return vector + (far[0] - far[1]) / (2 * p.matrix_scale)


def attack_instances():
    """What the audits attack: a budget at which few messages are needed to see all of the loss."""
    return (suffstats(2, 64, 3, epsilon=3.0, n0=8),)


def audit_instances() -> tuple[AuditInstance, ...]:
    """What the laboratory of `companion.audits` plays: messages of two users."""
    message = shows(ssp_observe, "laplace", "m.vec", "wishart", "m.mat")
    return (AuditInstance(suffstats(2, 64, 3, n0=8), message, SECRET, rounds=2),)
