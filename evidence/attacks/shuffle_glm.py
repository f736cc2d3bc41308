"""Attacks on ShuffleGLM: what the analyser sees of a batch; instances."""

import numpy as np

from companion.jit import jit
from companion.kernels.mechanisms import clip_to_ball
from companion.private_glm.shuffle_glm import add_user, analyse, init, shuffle_glm
from evidence.attacks import audit

# --- attack: what the analyser sees of a batch, of which one user's context varies


@jit
def first_matrix(p, s, x, y, rng, out):
    """out (d(d+1)/2,) <- the analyser's matrix of a first batch, whose last user has
    context x (d,); the integers of all others are taken to be 0, a public shift; s is
    overwritten."""
    s.counts[:] = 0.0
    s.size[0] = p.ends[0] - 1
    clip_to_ball(x, y, s.x)
    add_user(p, s, 0, 1.0, 0.0, rng)
    analyse(rng, s.counts, s.size[0], p.caps[0], p.levels[0], p.bits_matrix[0], out)


def shuffle_glm_attacks(policy):
    """`audit.Attack`: the matrix of the first batch (d >= 2), whose last user has the
    context e_1 or e_2."""
    p = policy.params
    a, b = np.eye(p.d)[:2]
    move = np.zeros(p.d * (p.d + 1) // 2)  # of rows (11), (21, 22), ...
    move[0] = 1.0
    move[2] = -1.0
    attack = audit.Attack(
        mechanism=audit.drawn(move.shape, first_matrix, p, policy.init(p)),
        a=(a, 0.0),
        b=(b, 0.0),
        statistic=audit.along(move),
        sees="batch",
        note="gradients",
    )
    return (attack,)


def shuffle_glm_measured() -> tuple[audit.AuditInstance, ...]:
    """What the measurement in `evidence.measure` plays: a batch's last user.

    One user cannot move matrix and gradient as far as either can go, so either has nearly
    all of the budget.  The first estimate 0 gives full weights; 200 e_2 gives contexts
    next to e_1 and -e_1 gradients of norm nearly 1 that point apart.  The last case plays
    the end of the first batch and all of a second one.
    """
    matrix = shuffle_glm(2, 3, 2000, share=0.98, **KNOWN)
    gradient = shuffle_glm(2, 3, 2000, share=0.02, **KNOWN)
    printed = shuffle_glm(2, 3, 2000, calibration="paper", **KNOWN)
    both = shuffle_glm(2, 3, 53, share=0.98, **KNOWN)
    return (
        last_user(matrix, 1, 0.0),
        last_user(gradient, 1, 200.0),
        last_user(printed, 1, 0.0),
        last_user(both, 0, 0.0)._replace(rounds=2, bound_is_tight=None),
    )


KNOWN = {
    "epsilon": 1.0,
    "delta": 0.1,
    "theta_bound": 200.0,
    "kappa": 4.0,
    "first": 50,
    "steps": 1,
}


def last_user(policy, k, estimate):
    """Of batch k, where the first estimate was `estimate` times e_2."""
    ends = policy.params.ends
    past = init(policy.params)
    past.t[0] = ends[k] - 1
    past.k[0] = k
    past.size[0] = np.diff(ends, prepend=0)[k] - 1
    past.theta[0, 1] = estimate
    x = np.cos(0.05)
    y = np.sin(0.05)
    return audit.instance(
        policy,
        initial_state=past,
        records=np.array([[x, y, 0.0], [-x, y, 0.0]]),
        bound_is_tight=False,
    )
