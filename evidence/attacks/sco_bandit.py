"""Attacks on the SCO bandit, and the instances that are measured."""

from functools import partial

import numpy as np

from companion.streaming_sco.sco_bandit import sco_bandit
from evidence.attacks import audit


def on_later_users(policy):
    """`audit.Attack` on the arms of all users but the first, whose reward has either
    sign.

    All ask e_1.  Ties go to the lowest arm, and of many arms some have only met the
    vertex r e_1, so a later user is sent to arm 0 just if arm 0 has met no other: a bit
    of every released sum.
    """
    p = policy.params
    X = np.zeros((p.T, p.K, p.d))
    X[:, :, 0] = 1.0
    R = np.zeros((p.T, p.K))
    R[0] = p.learner.high
    other = R.copy()
    other[0] = p.learner.low

    def to_arm_0(arms):
        return (arms == 0).sum(axis=1)

    return audit.Attack(
        mechanism=audit.playing(policy, user=0),
        a=(X, R),
        b=(X, other),
        statistic=to_arm_0,
        sees="actions",
        runs=True,
    )


def sco_bandit_attacks(policy):
    """Two `audit.Attack`s on the first user, whose reward has either sign: the sums of
    arm 0 after 1, 2, 4, ... rounds, all later contexts 0; and the arms of the others."""
    p = policy.params
    x = np.eye(p.d)[0]

    def released(s):
        """The sum of arm 0, of which its gradient is the mean of t + 1 terms."""
        return s.arms.gradient[0] * (s.arms.t[0] + 1.0)

    records = (x, p.learner.high), (x, p.learner.low)
    sums = audit.on_first_user(policy, *records, released, -x)
    return sums, on_later_users(policy)


def sco_bandit_attack_instances():
    """Both calibrations; every arm is free from the first round on."""
    return audit.in_both(sco_bandit, 1, 2, 4, epsilon=1.0, delta=0.1, t0=0, radius=0.02)


def sco_bandit_measured():
    """Instances whose every released sum of every arm is measured.

    The printed constants, 2 (beta D + L), are nearly attained for a small ball and large
    rewards.
    """
    make = partial(sco_bandit, 2, 2, epsilon=1.0, delta=1e-2)
    clipped = make(5, t0=0, clip=0.05)
    forced = make(6, t0=1, clip=0.05)
    printed = make(3, t0=0, radius=0.01, calibration="paper")
    return (
        *audit.instances(clipped),
        *audit.instances(printed, bound_is_tight=False),
        *audit.instances(forced, assumes_compliance=True),
    )


def on_standing_arms(policy):
    """`audit.Attack` on Algorithm 3 with three arms and no forced rounds: is the third
    user sent to arm 2?

    The second user, whose data differ, shows zeros (a tie, so she is sent to arm 0) or
    ones (arm 1, if arm 0 met a vertex below 0).  All others show ones.  An arm that
    nobody played and that makes no synthetic updates stays at 0, and then arm 2 never
    beats arm 1.
    """
    p = policy.params
    X = np.ones((p.T, p.K, p.d))
    R = np.zeros((p.T, p.K))
    silent = X.copy()
    silent[1] = 0.0

    def to_arm_2(arms):
        return arms[:, 1] == 2

    return audit.Attack(
        mechanism=audit.playing(policy, user=1),
        a=(X, R),
        b=(silent, R),
        statistic=to_arm_2,
        sees="actions",
        runs=True,
    )
