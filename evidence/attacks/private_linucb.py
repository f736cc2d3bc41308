"""Attacks on the three private LinUCBs, and the instances that are measured."""

import numpy as np

from companion.accounting import privacy
from companion.baselines.jdp_linucb import jdp_linucb
from companion.baselines.ldp_linucb import ldp_linucb, randomize
from companion.baselines.sdp_linucb import sdp_linucb, update
from companion.jit import jit
from companion.kernels import mechanisms
from evidence.attacks import audit

BUDGET = {"epsilon": 1.0, "delta": 0.1}  # of the instances that are measured


def far_records(d):
    """Two records (x, r) of the ball, d >= 2, whose statistics are as far apart as
    any."""
    x = np.zeros(d)
    z = np.zeros(d)
    x[0] = 1.0
    z[0] = 0.5
    z[1] = np.sqrt(0.75)
    return (x, 1.0), (z, -1.0)


def far_move(d):
    """How far those two move the packed statistics."""
    packed = np.empty((2, mechanisms.statistics_size(d)))
    for i, (x, r) in enumerate(far_records(d)):
        mechanisms.pack_statistics(x, r, packed[i])
    return packed[0] - packed[1]


def on_one_user(p, draw, sees, runs):
    """`audit.Attack` on what draw(record, rng, out) lets out of one user's statistics:
    those two records, and the best statistic."""
    a, b = far_records(p.d)
    move = far_move(p.d)
    attack = audit.Attack(
        mechanism=audit.filled(move.shape, draw),
        a=a,
        b=b,
        statistic=audit.along(move),
        sees=sees,
        runs=runs,
    )
    return (attack,)


@jit
def messages(p, x, r, rng, clean, out):
    """out (n, :) <- n independent messages of one user."""
    for i in range(out.shape[0]):
        randomize(p, x, r, rng, clean, out[i])


def message_attack(policy):
    """`audit.Attack`: one user's message."""
    p = policy.params

    def sent(record, rng, out):
        x, r = record
        messages(p, x, r, rng, np.empty(p.d), out)

    return on_one_user(p, sent, "message", runs=False)


def tree_attack(policy):
    """`audit.Attack` on the nodes that hold the first user's record, which are the sums
    after 1, 2, 4, ... rounds if all others send zeros."""
    d = policy.params.d
    a, b = far_records(d)
    released = audit.runs_of(policy, lambda s: s.release)
    return (audit.on_first_nodes(policy, a, b, released, far_move(d)),)


def batch_attack(policy):
    """`audit.Attack`: the analyser's estimate of a batch in which all other users have
    rounded already."""
    p = policy.params

    def last(record, rng, out):
        x, r = record
        for row in out:
            s = after(policy, p.batch - 1)
            update(p, s, 0, x, r, rng)
            row[:] = s.message

    return on_one_user(p, last, "batch", runs=True)


def after(policy, t):
    """The first state of a policy, told that t rounds were played."""
    return policy.init(policy.params)._replace(t=np.array([t]))


def ldp_audits():
    """One message of every user."""
    policies = [
        ldp_linucb(2, 8, **BUDGET, calibration=calibration, universe=universe)
        for calibration in ("corrected", "paper")
        for universe in privacy.UNIVERSES
    ]
    return audit.instances(*policies, rounds=3)


def jdp_audits():
    """Every prefix sum."""
    return audit.instances(
        jdp_linucb(2, 10, **BUDGET),
        jdp_linucb(2, 3, **BUDGET, universe="offset_sphere"),
        jdp_linucb(2, 2, **BUDGET, calibration="paper"),
    )


def sdp_audits():
    """The last user of a batch, and two small batches."""
    large = (
        sdp_linucb(2, 800, **BUDGET, batch=400),
        sdp_linucb(2, 800, **BUDGET, batch=400, universe="offset_sphere"),
        sdp_linucb(2, 800, **BUDGET, batch=400, calibration="paper"),
    )
    last = [
        audit.instance(q, initial_state=after(q, 399), bound_is_tight=False)
        for q in large
    ]
    small = sdp_linucb(2, 4, **BUDGET, batch=2)
    return (*last, audit.instance(small, rounds=4, bound_is_tight=None))
