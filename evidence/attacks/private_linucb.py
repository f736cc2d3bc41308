"""Attacks on the three private LinUCBs, and the instances that are measured."""

import numpy as np

from companion.accounting import privacy
from companion.accounting.privacy import tree_levels
from companion.baselines.jdp_linucb import jdp_linucb
from companion.baselines.ldp_linucb import ldp_linucb, randomize
from companion.baselines.sdp_linucb import sdp_linucb, update
from companion.jit import jit
from companion.kernels import mechanisms
from companion.kernels.linalg import copy
from evidence.attacks import audit

BUDGET = {"epsilon": 1.0, "delta": 0.1}  # of the instances that are measured


def far_records(offset, d):
    """Two records (x, r) of the universe, d >= 2, whose statistics are as far apart as
    any."""
    x = np.zeros(d)
    z = np.zeros(d)
    if offset:
        x[0] = np.sqrt(0.5)
        z[0] = -x[0]
        x[-1] = z[-1] = np.sqrt(0.5)
        return (x, 1.0), (z, 1.0)
    x[0] = 1.0
    z[0] = 0.5
    z[1] = np.sqrt(0.75)
    return (x, 1.0), (z, -1.0)


def far_move(offset, d):
    """How far those two move the packed statistics."""
    packed = np.empty((2, mechanisms.statistics_size(d)))
    for i, (x, r) in enumerate(far_records(offset, d)):
        mechanisms.pack_statistics(x, r, packed[i])
    return packed[0] - packed[1]


def on_one_user(p, draw, sees, runs):
    """`audit.Attack` on what draw(record, rng, out) lets out of one user's statistics:
    those two records, and the best statistic."""
    a, b = far_records(p.offset, p.d)
    attack = audit.Attack(
        mechanism=audit.filled((mechanisms.statistics_size(p.d),), draw),
        a=a,
        b=b,
        statistic=audit.along(far_move(p.offset, p.d)),
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


def tree_attacks(policy):
    """Two `audit.Attack`s on the first user: the nodes that hold its record, which are
    the sums after 1, 2, 4, ... rounds if all others send zeros; and the arms of those who
    come next.
    """
    p = policy.params
    a, b = far_records(p.offset, p.d)
    released = audit.runs_of(policy, lambda s: s.release)
    nodes = audit.on_first_nodes(policy, a, b, released, far_move(p.offset, p.d))
    return nodes, later_signs_attack(policy)


def later_signs_attack(policy):
    """`audit.Attack` on the arms of all users but the first, whose context is e_1 and
    whose reward has either sign.  The others are offered e_1 and -e_1 and are paid
    nothing, so they play the noisy sign of the first reward; those count who meet a sum
    of the nodes that hold it.
    """
    d = policy.params.d
    T = 1 << (tree_levels(policy.params.T) - 1)
    X = np.zeros((T, 2, d))
    X[:, 0, 0] = 1.0
    X[:, 1, 0] = -1.0
    X[0, 1, 0] = 1.0  # either arm
    paid = np.zeros((T, 2))
    paid[0] = 1.0
    powers = [-1.0 if t & (t - 1) == 0 else 0.0 for t in range(1, T)]
    return audit.Attack(
        mechanism=audit.playing(policy, user=0),
        a=(X, paid),
        b=(X, -paid),
        statistic=audit.along(powers),
        sees="actions",
    )


@jit
def batches(p, s, x, r, rng, out):
    """out (n, packed) <- the analyser's estimate of n batches whose last user has the
    record x, r; all others have rounded already; s, a state before the last round, is
    overwritten."""
    t = s.t[0]
    for i in range(out.shape[0]):
        s.counts[:] = 0.0
        s.t[0] = t
        update(p, s, 0, x, r, rng)
        copy(s.message, out[i])


def batch_attack(policy):
    """`audit.Attack`: the estimate of a batch in which all other users have rounded
    already."""
    p = policy.params

    def last(record, rng, out):
        x, r = record
        batches(p, after(policy, p.batch - 1), x, r, rng, out)

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
