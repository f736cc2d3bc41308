"""Attacks on Joint-DP GLM: one user's leaf, and whether she explored; instances."""

import numpy as np

from companion.accounting.privacy import tree_levels
from companion.private_glm import joint_glm as joint
from companion.private_glm.joint_glm import PRESETS, add_leaf, joint_glm
from evidence.attacks import audit

# --- attacks: what others see of one user's leaf, and of whether she explored ----------


def joint_glm_attacks(policy):
    """`audit.Attack`s on the first user's leaf, and on whether a late user explored,
    which alone shows what the printed rule leaks."""
    if policy.params.printed_rule:
        return on_exploration(policy)
    return on_nodes(policy), *on_exploration(policy)


def on_nodes(policy):
    """The first user's context is e_1 or e_2 (d >= 2), which enters the tree of V where
    she explores.

    Her leaf lies in the nodes that end at 1, 2, 4, ...: with all later contexts at 0 the
    released sums at powers of two are that leaf plus one draw of the node noise each.
    """
    d = policy.params.d
    a, b = np.eye(d)[:2]
    move = np.zeros(d * (d + 1) // 2)
    add_leaf(1.0, a, move)
    add_leaf(-1.0, b, move)
    return audit.on_first_user(
        policy, (a, 0.0), (b, 0.0), lambda s: s.V.released, move, note="gradients"
    )


def on_exploration(policy):
    """A late user has unit vectors, or zeros: has theta_o changed from before her round
    until after the next user's selection, and does a later user get another arm than the
    first?"""
    d = policy.params.d
    T = min(policy.params.T, 21)
    user = T - 1 - d
    a, b = world(T, user, d)
    state = audit.Attack(
        mechanism=audit.showing(policy, lambda s: s.theta_o, [user, user + 2]),
        a=a,
        b=b,
        statistic=changed,
        sees="state",
        note="what the estimates say",
        runs=True,
    )
    actions = state._replace(
        mechanism=audit.playing(policy, user=user),
        statistic=second_arm,
        sees="actions",
    )
    return state, actions


def changed(estimates):
    """Whether the second of two estimates, (n, 2, d), is another than the first."""
    return (estimates[:, 0] != estimates[:, 1]).any(axis=1)


def second_arm(arms):
    """Whether anybody is shown the second of two arms."""
    return arms.any(axis=1)


def world(T: int, user: int, d: int):
    """(a, b): data (X, R) in which everybody has the arms 0.1 e_j and -0.1 e_j, j in
    turn, but for user `user` (from 0): e_1 and e_2 in a, zeros in b (d >= 2).

    Short contexts do not explore.  With the estimates still 0 both arms have one index
    and the first is shown; the second is, once theta_o rules out the first.
    """
    short = 0.1 * np.eye(d)[np.arange(T) % d]
    X = np.stack([short, -short], axis=1)
    R = np.zeros((T, 2))
    R[:, 0] = 1.0
    other = X.copy()
    X[user] = np.eye(d)[:2]
    other[user] = 0.0
    return (X, R), (other, R)


def joint_glm_attack_instances():
    """What the audits attack: both calibrations of the noise, and the printed rule of
    refreshing.

    At this gamma every unit vector is explored.
    """
    once = PRESETS["explore"]._replace(
        gamma=3.0, share=0.9, steps_o=1, steps_tau=1, cutoff_o=1, cutoff_tau=1
    )
    known = {"epsilon": 1.0, "delta": 0.1, "theta_bound": 2.0, "kappa": 20.0}
    return (
        *audit.in_both(joint_glm, 3, 4, preset=once, **known),
        leaky("paper", delta=0.1, T=16).renamed("Joint-DP GLM, printed rule"),
    )


def joint_glm_measured() -> tuple[audit.AuditInstance, ...]:
    """What the measurement in `evidence.measure` plays: prefixes and gradients.

    Rounds are few, so the last matrices are such that noise alone outgrows them.
    With theta = 200 e_2 and r = 0, a gradient is nearly x for every x above the first
    axis.  In the last life some users explore, others do not, and both estimates are
    fitted.
    """
    once = PRESETS["tight"]._replace(
        a_v=0.0, a_h=0.0, steps_o=1, steps_tau=1, cutoff_o=1, cutoff_tau=1
    )
    instances = []
    for calibration, gamma, T, link in (
        ("corrected", 0.1, 4, "logistic"),
        ("paper", 0.1, 4, "logistic"),
        ("corrected", 1e3, 4, "logistic"),
        ("corrected", 1.3, 8, "probit"),
    ):
        policy = joint_glm(
            2,
            T,
            epsilon=1.0,
            delta=0.02,
            theta_bound=200.0,
            kappa=4.0,
            link=link,
            preset=once._replace(calibration=calibration, gamma=gamma),
        )
        p = policy.params
        past = policy.init(p)
        if gamma < 1e3:
            past.theta_tau[1] = 200.0
            past.H.last[:] = (0.5 * p.ridge_h + 1e-3) * np.eye(2)
        if gamma > 1.0:
            past.theta_o[1] = 200.0
            past.V.last[:] = (p.ridge_v - 0.5 * p.guard + 1e-3) * np.eye(2)
        case = audit.instance(policy, initial_state=past, rounds=T, bound_is_tight=False)
        instances.append(case)
    return tuple(instances)


def leaky(rule: str, delta: float = 0.01, T: int = 64):
    """Joint-DP GLM as attacked: it explores in every round that offers a unit vector.

    The bound on theta is large, so that an estimate of noise alone rules arms out.
    """
    preset = PRESETS["explore"]._replace(gamma=3.0, cutoff_o=100)
    return joint_glm(
        3,
        T,
        epsilon=1.0,
        delta=delta,
        theta_bound=10.0,
        kappa=20.0,
        preset=preset,
        rule=rule,
    )


def late(rule: str):
    """Joint-DP GLM that explores unit vectors but not those of norm 0.3, with so small a
    ridge of H that noise alone outgrows it after one round."""
    preset = PRESETS["tight"]._replace(gamma=4.0, a_h=0.0)
    return joint_glm(
        3,
        64,
        epsilon=1.0,
        delta=0.01,
        theta_bound=1e4,
        kappa=20.0,
        preset=preset,
        rule=rule,
    )


def leaks(rule: str, **how):
    """{what is looked at: lower bound on epsilon} under a rule that claims (1, 0.01).

    how: trials, seed, level.

    "arms of others" is what joint privacy speaks of: the policy's own `attack`.  The
    other two are functions of all matrices and estimates together, which users do not
    see: whether theta_o changed, and how many estimates theta_tau there were after a last
    user.
    """
    fits = audit.showing(late(rule), lambda s: s.fits[1:], [2])
    last = audit.Attack(fits, *world(2, 1, 3), statistic=np.ravel, sees="state")
    state, arms = joint_glm_attacks(leaky(rule))[-2:]
    found = {"arms of others": arms, "times of θ_o": state, "times of θ_τ": last}
    for name, attack in found.items():
        lost = audit.attacked(attack, delta=0.01, **how)
        found[name] = lost.epsilon
    return found


def tight_tree(sensitivity, epsilon, delta, T: int, **how):
    """(audit's lower bound, exact epsilon) of tree V calibrated tightly to (epsilon,
    delta) for leaves that move by `sensitivity`; the user moves from e_1 e_1' to e_2
    e_2'.

    What is seen is N_11 - N_22 (+1 or -1) averaged over the m nodes that the user enters,
    of which each has N(0, sigma^2) on its diagonal; how: trials, seed, level.
    """
    m = tree_levels(T)
    sigma = sensitivity * np.sqrt(m / (2.0 * joint.simple_rho(epsilon, delta)))

    def nodes(side, rng, n):
        return side + sigma * np.sqrt(2.0 / m) * rng.standard_normal(n)

    lower = audit.epsilon_lower_bound(nodes, 1.0, -1.0, delta=delta, **how)
    return lower.epsilon, joint.exact_epsilon(m / sigma**2, delta)
