"""Attacks on Joint-DP GLM: one user's leaf, and whether she explored; instances."""

import numpy as np

from companion.accounting.privacy import tree_levels
from companion.private_glm import joint_glm as joint
from companion.private_glm.joint_glm import PRESETS, add_leaf, joint_glm
from evidence.attacks import audit

# --- attacks: what others see of one user's leaf, and of whether she explored ----------


def own_attacks(policy):
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
    sums = audit.runs_of(policy, lambda s: s.V.released)
    return audit.on_first_nodes(
        policy, (a, 0.0), (b, 0.0), sums, move, K=1, note="gradients"
    )


def on_exploration(policy):
    """A late user has unit vectors, or zeros: has theta_o changed from before her round
    until after the next user's selection, and does a later user with short contexts, a
    probe, get another arm than the first?"""
    d = policy.params.d
    T = min(policy.params.T, 21)
    probed = T - 1 - d  # the user whose data differ in the probe
    note = "what the estimates say"
    estimates = audit.runs_of(policy, lambda s: s.theta_o)

    def changed(data, rng, n):
        _, seen = estimates(data, rng, n, [T - 2, T])
        return (seen[:, 0] != seen[:, 1]).any(axis=1).astype(float)

    a, b = attack_world(T, T - 2, d)
    state = audit.Attack(
        mechanism=changed,
        a=a,
        b=b,
        statistic=np.asarray,
        sees="state",
        note=note,
    )
    a, b = probe_world(T, probed, d)
    actions = audit.Attack(
        mechanism=audit.playing(policy, user=probed),
        a=a,
        b=b,
        statistic=second_arm,
        sees="actions",
        note=note,
    )
    return state, actions


def second_arm(arms):
    """Whether anybody is shown the second of two arms."""
    return arms.any(axis=1)


def probe_world(T: int, user: int, d: int):
    """(a, b): data (X, R) in which everybody has the arms 0.1 e_j and -0.1 e_j, j in
    turn, but for user `user` (from 0): e_1 and e_2 in a, zeros in b (d >= 2).

    Short contexts do not explore.  With the estimates still 0 both arms have one index
    and the first is shown; the second is, once theta_o rules out the first.
    """
    X = np.zeros((T, 2, d))
    R = np.zeros((T, 2))
    for t in range(T):
        X[t, 0, t % d] = 0.1
        X[t, 1, t % d] = -0.1
    R[:, 0] = 1.0
    other = X.copy()
    X[user] = np.eye(d)[:2]
    other[user] = 0.0
    return (X, R), (other, R)


def attack_world(T: int, user: int, d: int = 3, seed: int = 0):
    """(a, b): two data sets (X, R) that differ in one user.

    Everybody has four unit vectors as contexts, user `user` (from 0) only in a and zeros
    in b, and the next user zeros in both; rewards are coin flips.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((T, 4, d))
    X /= np.linalg.norm(X, axis=2, keepdims=True)
    X[user + 1] = 0.0
    R = (rng.random((T, 4)) < 0.5).astype(float)
    other = X.copy()
    other[user] = 0.0
    return (X, R), (other, R)


def attack_instances():
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


def audit_instances() -> tuple[audit.AuditInstance, ...]:
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


def late_world():
    """(a, b): data (X, R) of two rounds; the second user has unit vectors in a and zeros
    in b."""
    (X, R), _ = attack_world(2, user=0)
    (others, _), _ = attack_world(3, user=1, seed=1)
    X[0] *= 0.3 / np.linalg.norm(X[0], axis=1, keepdims=True)
    X[1] = others[1]
    other = X.copy()
    other[1] = 0.0
    return (X, R), (other, R)


def leaks(rule: str, trials: int, seed: int, level: float = 0.999):
    """{what is looked at: lower bound on epsilon} under a rule that claims (1, 0.01).

    "arms of others" is what joint privacy speaks of: the policy's own `attack`.  The
    other two are functions of all matrices and estimates together, which users do not
    see: whether theta_o changed, and how many estimates theta_tau there were after a last
    user.
    """
    runs = audit.runs_of(late(rule), lambda s: s.fits[1])

    def fits(data, rng, n):
        _, number = runs(data, rng, n, [len(data[0])])
        return number[:, 0]

    a, b = late_world()
    last = audit.Attack(fits, a, b, statistic=None, sees="state")
    state, arms = own_attacks(leaky(rule))[-2:]
    found = {}
    for name, attack in (
        ("arms of others", arms),
        ("times of θ_o", state),
        ("times of θ_τ", last),
    ):
        lost = audit.attacked(attack, delta=0.01, trials=trials, seed=seed, level=level)
        found[name] = lost.epsilon
    return found


def tight_tree(sensitivity, epsilon, delta, T: int, trials: int, seed: int, level=0.999):
    """(audit's lower bound, exact epsilon) of tree V calibrated tightly to (epsilon,
    delta) for leaves that move by `sensitivity`; the user moves from e_1 e_1' to e_2
    e_2'.

    What is seen is N_11 - N_22 (+1 or -1) averaged over the m nodes that the user enters,
    of which each has N(0, sigma^2) on its diagonal.
    """
    m = tree_levels(T)
    sigma = sensitivity * np.sqrt(m / (2.0 * joint.simple_rho(epsilon, delta)))

    def nodes(side, rng, n):
        return side + sigma * np.sqrt(2.0 / m) * rng.standard_normal(n)

    lower = audit.epsilon_lower_bound(
        nodes, 1.0, -1.0, delta=delta, trials=trials, seed=seed, level=level
    )
    return lower.epsilon, joint.exact_epsilon(m / sigma**2, delta)
