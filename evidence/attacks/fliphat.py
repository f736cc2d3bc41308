"""Attacks on FLIPHAT's last release, and the instances that are measured."""

from functools import partial

import numpy as np

from companion.fliphat.fliphat import fliphat, residual_fliphat, select, update
from companion.jit import jit
from evidence.attacks.audit import Attack, along, drawn, instances, playing

# All users but one have zero contexts while the last release's rows are gathered.  The
# last of them has x = x_max 1 and the reward R or, for the neighbour, -R, so every
# coordinate of the gradient moves by its whole sensitivity.  Later users bring e_j and 0,
# then 0 and e_j: the advice shows whether theta_j is positive, negative or zero.

OUTLIER = 1e3  # size of a context or reward that a policy does not clip


def neighbouring_inputs(policy):
    """(a, b, user): streams (X (T, 2, d), R (T, 2)) that differ in round `user` (from 0)
    alone."""
    p = policy.params
    first = 1 << len(p.iterations)  # the round after the last release
    user = first - 2
    rounds = first - 1 + 2 * p.d
    if rounds > p.T or p.iterations[-1:].sum() == 0:
        raise ValueError(f"policy must have a step and T >= {rounds} rounds; got T={p.T}")
    X = np.zeros((rounds, 2, p.d))
    R = np.zeros((rounds, 2))
    X[user] = min(p.row_clip, p.gradient_clip, OUTLIER)
    R[user] = min(p.reward_clip[-1], p.residual_clip, OUTLIER)
    X[first - 1 :: 2, 0] = np.eye(p.d)  # e_j or 0
    X[first::2, 1] = np.eye(p.d)  # 0 or e_j
    return (X, R), (X, -R), user


@jit
def last_estimate(p, s, X, R, rng, out):
    """out (d,) <- the last estimate of a run on contexts X (T, K, d) and rewards R (T,
    K); s is a State, which is overwritten."""
    s.t[0] = 0
    s.n[0] = 0
    s.n_picks[0] = 0
    s.theta_hat[:] = 0.0
    for t in range(X.shape[0]):
        arm = select(p, s, X[t], rng)
        update(p, s, arm, X[t, arm], R[t, arm], rng)
    out[:] = s.theta_hat


def count_signs(d, actions):
    """Positive minus negative signs among d coordinates, read off the last actions (n, >=
    2 d)."""
    advice = actions[:, -2 * d :]
    return (advice[:, 1::2] == 1).sum(axis=1) - (advice[:, 0::2] == 1).sum(axis=1)


def sign_attack(policy):
    """Counts positive minus negative signs of the last release that the actions of others
    show.

    Raises ValueError if the policy's T leaves no 2 d rounds after that release.
    """
    a, b, user = neighbouring_inputs(policy)
    return Attack(
        mechanism=playing(policy, user=user),
        a=a,
        b=b,
        statistic=partial(count_signs, policy.params.d),
        sees="actions",
        note="the values",
        runs=True,
    )


def pick_attack(policy):
    """On the last release of a policy that keeps one of two coordinates, by one step.

    Two users have x = x_max (1, 1), the last one x_max (1, -1); all have the largest
    reward, the last one for the neighbour its opposite.  Both coordinates move by their
    whole sensitivity, in opposite directions, so that pick and value show it.
    """
    (X, R), _, last = neighbouring_inputs(policy)
    X = X[: last + 1]
    R = R[: last + 1]
    X[-3:] = X[-1]
    X[-1, :, 1] *= -1.0
    R[-3:] = R[-1]
    other = R.copy()
    other[-1] *= -1.0
    p = policy.params
    return Attack(
        mechanism=drawn((p.d,), last_estimate, p, policy.init(p)),
        a=(X, R),
        b=(X, other),
        statistic=along([1.0, -1.0]),
        sees="releases",
    )


def fliphat_attacks(policy):
    """The `Attack` on the last release."""
    p = policy.params
    if (p.d, p.sparsity, p.iterations[-1]) == (2, 1, 1):
        return (pick_attack(policy),)
    return (sign_attack(policy),)


residual_fliphat_attacks = fliphat_attacks


# What is attacked: a last release of one step on four rows, of one pick.  At epsilon = 1
# no pair of rows loses half of what is proved for one pick; at 4 one does.


def fliphat_attack_instances():
    """FLIPHAT with the corrected noise at epsilon = 4, and with the printed one at 1."""
    make = partial(
        fliphat,
        d=2,
        T=12,
        sparsity=1,
        delta=0.1,
        b_max=1.0,
        x_max=3.0,
        noise=10.0,
        iteration_rate=0.7,
    )
    return make(epsilon=4.0), make(epsilon=1.0, calibration="paper", clip_contexts=True)


def residual_fliphat_attack_instances():
    """The residual variant at epsilon = 4."""
    return (
        residual_fliphat(
            2, 12, sparsity=1, epsilon=4.0, delta=0.1, iterations=1, min_rows=4
        ),
    )


def fliphat_measured():
    """What the audits play: three releases, in both calibrations."""
    make = partial(
        fliphat,
        d=3,
        T=8,
        sparsity=2,
        epsilon=1.0,
        delta=0.01,
        b_max=1.0,
        iteration_rate=1.5,
    )
    printed = make(calibration="paper", noise=10.0, clip_contexts=True)
    # of the printed noise, a step is charged as the worst
    return (
        *instances(make(), rounds=7),
        *instances(printed, rounds=7, bound_is_tight=False),
    )


def residual_fliphat_measured():
    """The same for `residual_fliphat`: warm starts, kept data, a projection."""
    make = partial(
        residual_fliphat, d=3, T=8, sparsity=2, epsilon=1.0, delta=0.01, min_rows=0
    )
    warm = make(iterations=2, warm_start=True)
    both = make(iterations=2, warm_start=True, forget=False, l1_radius=2.0)
    return instances(warm, both, rounds=7)
