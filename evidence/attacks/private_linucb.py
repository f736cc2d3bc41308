"""Attacks on the three private LinUCBs, and the instances that are measured."""

from functools import partial

import numpy as np

from companion.baselines.jdp_linucb import jdp_linucb
from companion.baselines.ldp_linucb import ldp_linucb, randomize
from companion.baselines.sdp_linucb import init, sdp_linucb
from companion.jit import jit
from companion.kernels import mechanisms
from evidence.attacks import audit

BUDGET = {"epsilon": 1.0, "delta": 0.1}  # of the instances that are measured


def far_records(d):
    """Two records (x, r) of the ball, d >= 2, whose statistics are as far apart as any,
    and how far they move the packed statistics."""
    x = np.eye(d)[0]
    z = 0.5 * x
    z[1] = np.sqrt(0.75)
    packed = np.empty((2, mechanisms.statistics_size(d)))
    mechanisms.pack_statistics(x, 1.0, packed[0])
    mechanisms.pack_statistics(z, -1.0, packed[1])
    return (x, 1.0), (z, -1.0), packed[0] - packed[1]


@jit
def message(p, x, r, rng, out):
    """out <- one user's message."""
    randomize(p, x, r, rng, np.empty(p.d), out)


def ldp_linucb_attacks(policy):
    """`audit.Attack`: one user's message."""
    p = policy.params
    a, b, move = far_records(p.d)
    attack = audit.Attack(
        mechanism=audit.drawn(move.shape, message, p),
        a=a,
        b=b,
        statistic=audit.along(move),
        sees="message",
    )
    return (attack,)


def jdp_linucb_attacks(policy):
    """`audit.Attack` on the nodes that hold the first user's record."""
    a, b, move = far_records(policy.params.d)
    return (audit.on_first_user(policy, a, b, lambda s: s.release, move),)


def sdp_linucb_attacks(policy):
    """`audit.Attack`: the analyser's estimate of a batch in which all other users have
    rounded already."""
    a, b, move = far_records(policy.params.d)
    late = policy._replace(init=last_of_batch)
    return (
        audit.on_first_user(
            late, a, b, lambda s: s.message, move, ends=[1], sees="batch"
        ),
    )


def last_of_batch(p):
    """The first state, told that all users of a batch but the last have played."""
    s = init(p)
    s.t[0] = p.batch - 1
    return s


def in_both_universes(factory):
    """Instances of a local policy, both calibrations in both universes; one message of
    every user."""
    ball = audit.in_both(factory, 2, 8, **BUDGET)
    sphere = audit.in_both(factory, 2, 8, **BUDGET, universe="offset_sphere")
    return audit.instances(*ball, *sphere, rounds=3)


def ldp_linucb_measured():
    """One message of every user."""
    return in_both_universes(ldp_linucb)


def jdp_linucb_measured():
    """Every prefix sum."""
    return audit.instances(
        jdp_linucb(2, 10, **BUDGET),
        jdp_linucb(2, 3, **BUDGET, universe="offset_sphere"),
        jdp_linucb(2, 2, **BUDGET, calibration="paper"),
    )


def sdp_linucb_measured():
    """The last user of a batch, and two small batches."""
    make = partial(sdp_linucb, 2, 800, **BUDGET, batch=400)
    last = []
    for policy in (make(), make(universe="offset_sphere"), make(calibration="paper")):
        past = last_of_batch(policy.params)
        last.append(audit.instance(policy, initial_state=past, bound_is_tight=False))
    small = sdp_linucb(2, 4, **BUDGET, batch=2)
    return (*last, audit.instance(small, rounds=4, bound_is_tight=None))
