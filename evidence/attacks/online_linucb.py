"""Attacks on OnlineLinUCB, its anytime form, its combiner and corrected ridge;
instances."""

import numpy as np

from companion.accounting.privacy import UNIVERSES
from companion.core import Policy
from companion.jit import jit
from companion.online_linucb.combiner import anytime_linucb, combiner, epoch_params
from companion.online_linucb.corrected_ridge import corrected_ridge
from companion.online_linucb.online_linucb import online_linucb, randomize
from evidence.attacks import audit
from evidence.attacks.audit import AuditInstance, in_both, instances

# --- audit data
# ---------------------------------------------------------------------------------


@jit
def messages(p, x, y, rng, out):
    """out (n, d + 1) <- n independent messages of one user."""
    for i in range(out.shape[0]):
        randomize(p, x, y, rng, out[i])


def own_attacks(policy: Policy):
    """One user's message, for two records that are as far apart as any."""
    p = policy.params
    x = np.zeros(p.d)
    y = 0.0 if p.offset else -1.0
    size = np.sqrt(0.5) if p.offset else 1.0
    x[0] = size
    z = -x
    if p.offset:
        x[-1] = z[-1] = size

    mechanism = audit.filled(
        (p.d + 1,),
        lambda record, rng, out: messages(p, *record, rng, out),
    )
    far = audit.along(np.append(x - z, 1.0 - y))
    return (
        audit.Attack(
            mechanism=mechanism,
            a=(x, 1.0),
            b=(z, y),
            statistic=far,
            sees="message",
            runs=False,
        ),
    )


def audit_instances() -> tuple[AuditInstance, ...]:
    """Both calibrations in both universes."""
    kinds = [
        {"calibration": c, "universe": u}
        for c in ("corrected", "paper")
        for u in UNIVERSES
    ]
    policies = (online_linucb(2, 8, epsilon=1.0, delta=0.1, **kind) for kind in kinds)
    return instances(*policies, rounds=3)


def anytime_attacks(policy: Policy):
    """One user's message in the last epoch, which perturbs least."""
    last = len(policy.params.horizon) - 1
    return own_attacks(policy._replace(params=epoch_params(policy.params, last)))


def anytime_instances() -> tuple[AuditInstance, ...]:
    """Rounds of two epochs, in both calibrations."""
    options = {"epsilon": 1.0, "delta": 0.1, "lambda_min": 1.0}
    return instances(*in_both(anytime_linucb, 2, **options), rounds=3)


def combiner_attacks(policy: Policy):
    """One user's message, which is that of the base learners."""
    return anytime_attacks(policy._replace(params=policy.params.bases[0]))


def combiner_instances() -> tuple[AuditInstance, ...]:
    """Rounds of two base learners, in both calibrations."""
    known = {"epsilon": 1.0, "delta": 0.1}
    anytime = in_both(anytime_linucb, 2, lambda_min=1.0, **known)
    pairs = zip(anytime, in_both(online_linucb, 2, 8, **known), strict=True)
    return instances(*(combiner(pair, 8) for pair in pairs), rounds=3)


def ridge_instances() -> tuple[AuditInstance, ...]:
    """Both calibrations: one message per user."""
    policies = in_both(corrected_ridge, 2, 8, epsilon=1.0, delta=0.1)
    return instances(*policies, rounds=3)
