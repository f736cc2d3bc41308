"""Attacks on OnlineLinUCB, its anytime form, its combiner and corrected ridge;
instances."""

import numpy as np

from companion.core import Policy
from companion.online_linucb.combiner import anytime_linucb, combiner, epoch_params
from companion.online_linucb.corrected_ridge import corrected_ridge
from companion.online_linucb.online_linucb import online_linucb, randomize
from evidence.attacks import audit
from evidence.attacks.audit import AuditInstance, in_both, instances
from evidence.attacks.private_linucb import BUDGET, in_both_universes


def online_linucb_attacks(policy: Policy):
    """One user's message, for two records as far apart as any in the ball, and the best
    statistic."""
    p = policy.params
    x = np.eye(p.d)[0]
    attack = audit.Attack(
        mechanism=audit.drawn((p.d + 1,), randomize, p),
        a=(x, 1.0),
        b=(-x, -1.0),
        statistic=audit.along(np.append(x, 1.0)),
        sees="message",
    )
    return (attack,)


corrected_ridge_attacks = online_linucb_attacks


def online_linucb_measured() -> tuple[AuditInstance, ...]:
    """Both calibrations in both universes."""
    return in_both_universes(online_linucb)


def anytime_linucb_attacks(policy: Policy):
    """One user's message in the last epoch, which perturbs least."""
    last = len(policy.params.horizon) - 1
    return online_linucb_attacks(
        policy._replace(params=epoch_params(policy.params, last))
    )


def anytime_linucb_measured() -> tuple[AuditInstance, ...]:
    """Rounds of two epochs, in both calibrations."""
    policies = in_both(anytime_linucb, 2, **BUDGET, lambda_min=1.0)
    return instances(*policies, rounds=3)


def combiner_attacks(policy: Policy):
    """One user's message, which is that of the base learners."""
    return anytime_linucb_attacks(policy._replace(params=policy.params.bases[0]))


def combiner_measured() -> tuple[AuditInstance, ...]:
    """Rounds of two base learners, in both calibrations."""
    anytime = in_both(anytime_linucb, 2, **BUDGET, lambda_min=1.0)
    known = in_both(online_linucb, 2, 8, **BUDGET)
    policies = [combiner(pair, 8) for pair in zip(anytime, known, strict=True)]
    return instances(*policies, rounds=3)


def corrected_ridge_measured() -> tuple[AuditInstance, ...]:
    """Both calibrations: one message per user."""
    policies = in_both(corrected_ridge, 2, 8, **BUDGET)
    return instances(*policies, rounds=3)
