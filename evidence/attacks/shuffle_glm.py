"""Attacks on ShuffleGLM: what the analyser sees of a batch; instances."""

import numpy as np

from companion.jit import jit
from companion.kernels.linalg import copy
from companion.kernels.mechanisms import clip_to_ball
from companion.private_glm.shuffle_glm import add_user, analyse, init, shuffle_glm
from evidence.attacks import audit

# --- attack: what the analyser sees of a batch, of which one user's context varies
# --------------


@jit
def first_matrices(p, s, x, rng, out):
    """out (n, d(d+1)/2) <- the analyser's matrix of n first batches, whose last user has
    context x (d,); the integers of all others are taken to be 0, a public shift; s is
    overwritten."""
    for i in range(out.shape[0]):
        s.counts[:] = 0.0
        s.size[0] = p.ends[0] - 1
        clip_to_ball(x, 0.0, s.x)
        add_user(p, s, 0, 1.0, 0.0, rng)
        analyse(
            rng,
            s.counts,
            s.size[0],
            p.caps[0],
            p.levels[0],
            p.bits_matrix[0],
            s.triangle,
        )
        copy(s.triangle, out[i])


def own_attacks(policy):
    """`audit.Attack`: the matrix of the first batch (d >= 2), whose last user has the
    context e_1 or e_2."""
    p = policy.params
    s = policy.init(policy.params)
    move = np.zeros(len(s.triangle))
    # of rows (11), (21, 22), ...
    move[0] = 1.0
    move[2] = -1.0
    mechanism = audit.filled(
        move.shape,
        lambda x, rng, out: first_matrices(p, s, x, rng, out),
    )
    how = {"sees": "batch", "note": "gradients", "runs": False}
    return (audit.Attack(mechanism, *np.eye(p.d)[:2], audit.along(move), **how),)


def attack_instances():
    """What the audits attack: nearly all of the budget is the matrix's."""
    known = {"epsilon": 1.0, "delta": 0.1, "first": 50, "steps": 1, "share": 0.98}
    return audit.in_both(shuffle_glm, 2, 3, 400, **known)


def audit_instances() -> tuple[audit.AuditInstance, ...]:
    """What the measurement in `evidence.measure` plays: a batch's last user.

    One user cannot move matrix and gradient as far as either can go, so either has nearly
    all of the budget.  The first estimate 0 gives full weights; 200 e_2 gives contexts
    next to e_1 and
    -e_1 gradients of norm nearly 1 that point apart.  The last case plays the end of the
    first batch and all of a second one.
    """
    found = []
    flat = np.array([[np.cos(a), np.sin(a), 0.0] for a in (0.05, np.pi - 0.05)])
    known = {
        "epsilon": 1.0,
        "delta": 0.01,
        "theta_bound": 200.0,
        "kappa": 4.0,
        "first": 50,
    }
    for share, calibration in ((0.98, "corrected"), (0.02, "corrected"), (0.5, "paper")):
        policy = shuffle_glm(
            2,
            3,
            2000,
            steps=1,
            share=share,
            calibration=calibration,
            **known,
        )
        ends = policy.params.ends
        past = init(policy.params)
        past.t[0], past.k[0], past.size[0] = ends[1] - 1, 1, ends[1] - ends[0] - 1
        past.theta[0, 1] = 200.0 if share == 0.02 else 0.0
        case = audit.instance(
            policy,
            initial_state=past,
            records=flat,
            bound_is_tight=False,
        )
        found.append(case)
    both = shuffle_glm(2, 3, 53, steps=1, share=0.98, **known)
    past = init(both.params)
    past.t[0] = 49
    past.size[0] = 49
    last = audit.instance(
        both,
        initial_state=past,
        rounds=2,
        records=flat,
        bound_is_tight=None,
    )
    return (*found, last)
