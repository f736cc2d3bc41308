"""Attacks on ShuffleGLM: what the analyser sees of a batch; instances."""

import numpy as np

from companion.jit import jit
from companion.kernels.linalg import copy
from companion.kernels.mechanisms import clip_to_ball
from companion.private_glm.shuffle_glm import add_user, analyse, init, shuffle_glm
from evidence.attacks import audit

# --- attack: what the analyser sees of a batch, of which one user's context varies


@jit
def first_matrices(p, s, x, rng, out):
    """out (n, d(d+1)/2) <- the analyser's matrix of n first batches, whose last user has
    context x (d,); the integers of all others are taken to be 0, a public shift; s is
    overwritten."""
    cap = p.caps[0]
    levels = p.levels[0]
    bits = p.bits_matrix[0]
    for i in range(out.shape[0]):
        s.counts[:] = 0.0
        s.size[0] = p.ends[0] - 1
        clip_to_ball(x, 0.0, s.x)
        add_user(p, s, 0, 1.0, 0.0, rng)
        analyse(rng, s.counts, s.size[0], cap, levels, bits, s.triangle)
        copy(s.triangle, out[i])


def own_attacks(policy):
    """`audit.Attack`: the matrix of the first batch (d >= 2), whose last user has the
    context e_1 or e_2."""
    p = policy.params
    s = policy.init(p)
    move = np.zeros(len(s.triangle))
    move[0] = 1.0  # of rows (11), (21, 22), ...
    move[2] = -1.0

    def fill(x, rng, out):
        first_matrices(p, s, x, rng, out)

    attack = audit.Attack(
        mechanism=audit.filled(move.shape, fill),
        a=np.eye(p.d)[0],
        b=np.eye(p.d)[1],
        statistic=audit.along(move),
        sees="batch",
        note="gradients",
        runs=False,
    )
    return (attack,)


def attack_instances():
    """What the audits attack: nearly all of the budget is the matrix's."""
    known = {"epsilon": 1.0, "delta": 0.1, "first": 50, "steps": 1, "share": 0.98}
    return audit.in_both(shuffle_glm, 2, 3, 400, **known)


def audit_instances() -> tuple[audit.AuditInstance, ...]:
    """What the measurement in `evidence.measure` plays: a batch's last user.

    One user cannot move matrix and gradient as far as either can go, so either has nearly
    all of the budget.  The first estimate 0 gives full weights; 200 e_2 gives contexts
    next to e_1 and -e_1 gradients of norm nearly 1 that point apart.  The last case plays
    the end of the first batch and all of a second one.
    """
    return (
        _second_batch(0.98, "corrected", 0.0),
        _second_batch(0.02, "corrected", 200.0),
        _second_batch(0.5, "paper", 0.0),
        _both_batches(),
    )


KNOWN = {"epsilon": 1.0, "delta": 0.01, "theta_bound": 200.0, "kappa": 4.0, "first": 50}
NEXT_TO_E1 = [[np.cos(a), np.sin(a), 0.0] for a in (0.05, np.pi - 0.05)]


def _second_batch(share, calibration, estimate):
    """The last user of a second batch, after a first estimate of `estimate` times e_2."""
    policy = shuffle_glm(
        2, 3, 2000, steps=1, share=share, calibration=calibration, **KNOWN
    )
    ends = policy.params.ends
    past = init(policy.params)
    past.t[0] = ends[1] - 1
    past.k[0] = 1
    past.size[0] = ends[1] - ends[0] - 1
    past.theta[0, 1] = estimate
    return audit.instance(
        policy,
        initial_state=past,
        records=np.array(NEXT_TO_E1),
        bound_is_tight=False,
    )


def _both_batches():
    """The last user of a first batch, and a second batch of one."""
    policy = shuffle_glm(2, 3, 53, steps=1, share=0.98, **KNOWN)
    past = init(policy.params)
    past.t[0] = 49
    past.size[0] = 49
    return audit.instance(
        policy,
        initial_state=past,
        rounds=2,
        records=np.array(NEXT_TO_E1),
        bound_is_tight=None,
    )
