"""Attacks on Joint-DP GLM: one user's leaf, and whether she explored; instances."""

import numpy as np

from companion.accounting.privacy import tree_levels
from companion.private_glm import joint_glm as joint
from companion.private_glm.joint_glm import (
    PRESETS,
    add_leaf,
    init,
    joint_glm,
)
from evidence.attacks import audit

# --- attacks: what others see of one user's leaf, and of whether she explored
# -------------------


def own_attacks(policy):
    """`audit.Attack`s on the first user's leaf, and on whether a late user explored,
    which alone shows what the printed rule leaks."""
    late = on_exploration(policy)
    return late if policy.params.printed_rule else (on_nodes(policy), *late)


def on_nodes(policy):
    """The first user's context is e_1 or e_2 (d >= 2), and enters one of the two trees.

    Her leaf lies in the nodes that end at 1, 2, 4, ...: with all later contexts at 0 the
    released sums at powers of two are that leaf plus one draw of the node noise each.
    """
    first = policy.init(policy.params)
    a, b = np.eye(policy.params.d)[:2]
    tree_v = first.V.inverse[0, 0] >= policy.params.threshold
    move = np.zeros_like(first.V.exact)
    add_leaf(1.0, a, move)
    add_leaf(-1.0, b, move)
    sums = audit.runs_of(policy, lambda s: (s.V if tree_v else s.H).released)
    return audit.on_first_nodes(
        policy,
        (a, 0.0),
        (b, 0.0),
        sums,
        move,
        K=1,
        note="gradients",
    )


def on_exploration(policy):
    """A late user has unit vectors, or zeros: has theta_o changed before the next user's
    selection, and does a later user with short contexts, a probe, get another arm than
    the first?"""
    p = policy.params
    note = "what the estimates say"
    T = min(p.T, 21)
    state = estimate_changes(policy, T - 2)
    hidden = T - 1 - p.d
    arms = audit.playing(policy, user=hidden)
    return (
        audit.Attack(state, *attack_world(T, T - 2, d=p.d), np.asarray, "state", note),
        audit.Attack(
            arms,
            *probe_world(T, hidden, p.d),
            lambda a: a.any(axis=1),
            "actions",
            note,
        ),
    )


def probe_world(T: int, user: int, d: int, size: float = 0.1):
    """(a, b): data (X, R) in which everybody has the arms size e_j and -size e_j, j in
    turn, but for user `user` (from 0): e_1 and e_2 in a, zeros in b (d >= 2).

    Short contexts do not explore.  With the estimates still 0 both arms have one index
    and the first is shown; the second is, once theta_o rules out the first.
    """
    X = np.zeros((T, 2, d))
    R = np.zeros((T, 2))
    for t in range(T):
        X[t, 0, t % d], X[t, 1, t % d] = size, -size
    R[:, 0] = 1.0
    other = X.copy()
    X[user] = np.eye(d)[:2]
    other[user] = 0.0
    return (X, R), (other, R)


def attack_world(T: int = 61, user: int = 59, K: int = 4, d: int = 3, seed: int = 0):
    """(a, b): two data sets (X, R) that differ in one user.

    Everybody has K unit vectors as contexts, user `user` (from 0) only in a and zeros in
    b, and the next user zeros in both; rewards are coin flips.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((T, K, d))
    X /= np.linalg.norm(X, axis=2, keepdims=True)
    X[user + 1] = 0.0
    R = (rng.random((T, K)) < 0.5).astype(float)
    other = X.copy()
    other[user] = 0.0
    return (X, R), (other, R)


def estimate_changes(policy, user: int):
    """The mechanism that says, of data (X, R), whether theta_o changed while `user` was
    served:
    from before this user's round until after the next one's selection.  Outputs (n,) of 0
    or 1."""
    shown = audit.runs_of(policy, lambda s: s.theta_o)

    def mechanism(data, rng, n):
        _, seen = shown(data, rng, n, [user, user + 2])
        return (seen[:, 0] != seen[:, 1]).any(axis=1).astype(float)

    return mechanism


def attack_instances():
    """What the audits attack: both calibrations of the noise, and the printed rule of
    refreshing.

    At this gamma every unit vector is explored.
    """
    often = PRESETS["explore"]._replace(gamma=3.0)
    known = {"epsilon": 1.0, "delta": 0.1}
    known["kappa"] = 20.0
    once = often._replace(share=0.9, steps_o=1, steps_tau=1, cutoff_o=1, cutoff_tau=1)
    many = often._replace(cutoff_o=100)  # an estimate of noise alone rules arms out
    leaky = joint_glm(3, 16, theta_bound=10.0, preset=many, rule="paper", **known)
    return (
        *audit.in_both(joint_glm, 3, 4, theta_bound=2.0, preset=once, **known),
        leaky.renamed("Joint-DP GLM, printed rule"),
    )


def audit_instances() -> tuple[audit.AuditInstance, ...]:
    """What the measurement in `evidence.measure` plays: prefixes and gradients.

    Rounds are few, so the last matrices are such that noise alone outgrows them.
    With theta = 200 e_2 and r = 0, a gradient is nearly x for every x above the first
    axis.  In the last life some users explore, others do not, and both estimates are
    fitted.
    """
    found = []
    once = {
        "a_v": 0.0,
        "a_h": 0.0,
        "steps_o": 1,
        "steps_tau": 1,
        "cutoff_o": 1,
        "cutoff_tau": 1,
    }
    known = {"epsilon": 1.0, "delta": 0.02, "theta_bound": 200.0, "kappa": 4.0}
    kinds = ("corrected", "paper", "corrected", "corrected")
    for calibration, gamma in zip(kinds, (0.1, 0.1, 1e3, 1.3), strict=True):
        T, known["link"] = (8, "probit") if gamma == 1.3 else (4, "logistic")
        preset = PRESETS["tight"]._replace(gamma=gamma, **once)
        policy = joint_glm(2, T, preset=preset, calibration=calibration, **known)
        past = init(policy.params)
        p = policy.params
        if gamma < 1e3:
            past.theta_tau[1] = 200.0
            past.H.last[:] = (0.5 * p.ridge_h + 1e-3) * np.eye(2)
        if gamma > 1.0:
            past.theta_o[1] = 200.0
            past.V.last[:] = (p.ridge_v - 0.5 * p.guard + 1e-3) * np.eye(2)
        case = audit.instance(policy, initial_state=past, rounds=T, bound_is_tight=False)
        found.append(case)
    return tuple(found)


def leaky(rule: str, epsilon: float = 1.0, delta: float = 0.01):
    """Joint-DP GLM as attacked: it explores in every round that offers a unit vector.

    The bound on theta is large, so that an estimate of noise alone rules arms out.
    """
    preset = joint.PRESETS["explore"]._replace(gamma=3.0, cutoff_o=100)
    model = {"theta_bound": 10.0, "kappa": 20.0, "preset": preset, "rule": rule}
    return joint_glm(3, 64, epsilon=epsilon, delta=delta, **model)


def late(rule: str, epsilon: float = 1.0, delta: float = 0.01):
    """Joint-DP GLM that explores unit vectors but not those of norm 0.3, with so small a
    ridge of H that noise alone outgrows it after one round."""
    preset = joint.PRESETS["tight"]._replace(gamma=4.0, a_h=0.0)
    model = {"theta_bound": 1e4, "kappa": 20.0, "preset": preset, "rule": rule}
    return joint_glm(3, 64, epsilon=epsilon, delta=delta, **model)


def late_world(K: int = 4, d: int = 3, seed: int = 0):
    """(a, b): data (X, R) of two rounds; the second user has unit vectors in a and zeros
    in b."""
    (X, R), _ = attack_world(T=2, user=0, K=K, d=d, seed=seed)
    X[1] = attack_world(T=3, user=1, K=K, d=d, seed=seed + 1)[0][0][1]
    X[0] *= 0.3 / np.maximum(np.linalg.norm(X[0], axis=1, keepdims=True), 1e-300)
    other = X.copy()
    other[1] = 0.0
    return (X, R), (other, R)


def at_the_end(policy, number):
    """The mechanism that shows number(state) when all users of data (X, R) have left."""
    several = audit.runs_of(policy, number)
    return lambda data, rng, n: several(data, rng, n, [len(data[0])])[1][:, 0]


def leaks(rule: str, trials: int, seed: int, level: float = 0.999):
    """{what is looked at: lower bound on epsilon} under a rule that claims (1, 0.01).

    "arms of others" is what joint privacy speaks of: the policy's own `attack`.  The
    other two are functions of all matrices and estimates together, which users do not
    see: whether theta_o changed, and how many estimates theta_tau there were after a last
    user.
    """
    options = {"delta": 0.01, "trials": trials, "seed": seed, "level": level}
    state, arms = own_attacks(leaky(rule))[-2:]
    counted = at_the_end(late(rule), lambda s: s.fits[1])
    return {
        "arms of others": audit.attacked(arms, **options).epsilon,
        "times of θ_o": audit.attacked(state, **options).epsilon,
        "times of θ_τ": audit.epsilon_lower_bound(
            counted,
            *late_world(),
            **options,
        ).epsilon,
    }


def exploration_audit(
    epsilon: float,
    trials: int,
    seed: int,
    level: float = 0.999,
) -> float:
    """The audit's lower bound at delta = 0.01 for the number of rounds of all users but
    the 21st in which Criterion I fired, on data of this user that move it."""
    preset = joint.PRESETS["tight"]._replace(gamma=2.0, a_v=1.0)
    model = {"theta_bound": 2.0, "kappa": 4.1, "preset": preset}
    policy = joint_glm(3, 64, epsilon=epsilon, delta=0.01, **model)
    mechanism = at_the_end(policy, lambda s: s.explored.sum() - s.explored[20])
    options = {"delta": 0.01, "trials": trials, "seed": seed, "level": level}
    return audit.epsilon_lower_bound(mechanism, *attack_world(user=20), **options).epsilon


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

    options = {"delta": delta, "trials": trials, "seed": seed, "level": level}
    lower = audit.epsilon_lower_bound(nodes, 1.0, -1.0, **options).epsilon
    return lower, joint.exact_epsilon(m / sigma**2, delta)
