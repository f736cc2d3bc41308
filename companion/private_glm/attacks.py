"""Attacks on Joint-DP GLM: what a user's neighbours can see of her, rule by rule.

Mechanisms for `audit`: data -> outputs (n, ...).  `leaky` and `late` are policies that the printed
rule of refreshing gives away; the corrected rule must survive the same data.
"""

import numpy as np

from companion import audit, tree
from companion.linalg import dot
from companion.privacy import tree_levels
from companion.private_glm import ledger
from companion.private_glm.joint import joint_glm


def attack_world(T=61, user=59, K=4, d=3, seed=0):
    """(a, b): two data sets (X, R) that differ in one user.

    Everybody has K unit vectors as contexts, user `user` (from 0) only in a and zeros in b, and the
    next user zeros in both; rewards are coin flips.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((T, K, d))
    X /= np.linalg.norm(X, axis=2, keepdims=True)
    X[user + 1] = 0.0
    R = (rng.random((T, K)) < 0.5).astype(float)
    other = X.copy()
    other[user] = 0.0
    return (X, R), (other, R)


def estimate_changes(policy, user):
    """The mechanism that says, of data (X, R), whether theta_o changed while `user` was served:
    from before this user's round until after the next one's selection.  Outputs (n,) of 0 or 1."""

    def mechanism(data, rng, n):
        (X, R), out = data, np.empty(n)
        for i in range(n):
            state, arms = policy.init(policy.params), np.empty(len(X), np.int64)
            blocks = slice(0, user), slice(user, user + 2)
            state = policy.play(policy.params, state, X[blocks[0]], R[blocks[0]], rng, arms)
            before = state.theta_o.copy()
            state = policy.play(policy.params, state, X[blocks[1]], R[blocks[1]], rng, arms)
            out[i] = float((state.theta_o != before).any())
        return out

    return mechanism


def leaky(rule, epsilon=1.0, delta=0.01):
    """Joint-DP GLM as attacked: it explores in every round that offers a unit vector."""
    return joint_glm(
        3, 64, epsilon, delta, theta_bound=2.0, kappa=20.0, preset="explore", gamma=3.0, rule=rule,
        cutoff_o=100,
    )  # fmt: skip


def tree_nodes(sigma, T):
    """The mechanism that averages N_11 - N_22 over the m nodes that one user enters, whose leaf is
    e_1 e_1' or e_2 e_2' (data +1 or -1); every node has N(0, sigma^2) on its diagonal."""
    m = tree_levels(T)

    def mechanism(side, rng, n):
        return side + sigma * np.sqrt(2.0 / m) * rng.standard_normal(n)

    return mechanism


def node_loss(T, user, sigma, shift, trials, seed):
    """Privacy loss (trials,) of the tree's nodes, for a leaf of round `user` (from 1) that moves by
    the packed vector `shift`: the log-likelihood ratio of every node that holds the leaf."""
    rng, levels, out = np.random.default_rng(seed), tree_levels(T), np.zeros(trials)
    nodes = np.zeros((levels, len(shift)))
    for i in range(trials):
        nodes[:] = 0.0
        for t in range(1, T + 1):
            tree.advance(nodes, t, sigma, rng)
            q = tree.trailing_zeros(t)
            if t - (1 << q) < user <= t:  # this node is complete, and holds the leaf
                z = nodes[q]
                out[i] += (dot(shift, shift) + 2.0 * dot(shift, z)) / (2.0 * sigma**2)
    return out


def late(rule, epsilon=1.0, delta=0.01):
    """Joint-DP GLM that explores unit vectors but not those of norm 0.3, with so small a ridge of H
    that noise alone outgrows it after one round."""
    return joint_glm(3, 64, epsilon, delta, kappa=20.0, gamma=4.0, a_h=0.0, rule=rule)


def late_world(K=4, d=3, seed=0):
    """(a, b): data (X, R) of two rounds; the second user has unit vectors in a and zeros in b."""
    (X, R), _ = attack_world(T=2, user=0, K=K, d=d, seed=seed)
    X[1] = attack_world(T=3, user=1, K=K, d=d, seed=seed + 1)[0][0][1]
    X[0] *= 0.3 / np.maximum(np.linalg.norm(X[0], axis=1, keepdims=True), 1e-300)
    other = X.copy()
    other[1] = 0.0
    return (X, R), (other, R)


def estimates_released(policy):
    """The mechanism that counts the fits of theta_tau when all users of data (X, R) have left."""

    def mechanism(data, rng, n):
        (X, R), out = data, np.empty(n)
        for i in range(n):
            state, arms = policy.init(policy.params), np.empty(len(X), np.int64)
            out[i] = policy.play(policy.params, state, X, R, rng, arms).fits[1]
        return out

    return mechanism


def mean_gradients(rho, steps, d):
    """The mechanism that releases `steps` mean gradients of n rows (all 0) with the printed noise,
    variance 2 steps/(n^2 rho) per coordinate; of the outputs their mean square.  Data: n."""

    def mechanism(rows, rng, n):
        sigma = np.sqrt(2.0 * steps / (rows * rows * rho))
        return sigma**2 * (rng.standard_normal((n, steps * d)) ** 2).mean(axis=1)

    return mechanism


def explorations(policy, user):
    """The mechanism that counts the rounds of all users but `user` in which Criterion I fired."""

    def mechanism(data, rng, n):
        (X, R), out = data, np.empty(n)
        for i in range(n):
            state, arms = policy.init(policy.params), np.empty(len(X), np.int64)
            explored = policy.play(policy.params, state, X, R, rng, arms).explored
            out[i] = explored[: len(X)].sum() - explored[user]
        return out

    return mechanism


def leaks(rule, trials, seed, user=59, level=0.999):
    """{attack: lower bound on epsilon} of the three leaks under a rule that claims (1, 0.01).

    The noise of a sum does not know how many rows there are; that of the printed mean does.
    """

    def found(mechanism, a, b, **options):
        options |= {"delta": 0.01, "trials": trials, "seed": seed, "level": level}
        return audit.epsilon_lower_bound(mechanism, a, b, **options).epsilon

    policy, pair = leaky(rule), attack_world(user=user)
    rows = (2.0, 1.0) if rule == "paper" else (1.0, 1.0)
    return {
        "leak 1, the state": found(estimate_changes(policy, user), *pair),
        "leak 1, arms of others": found(
            audit.playing(policy, user=user), *pair,
            statistic=lambda arms: arms[:, user:].sum(axis=1),
        ),
        "leak 2, estimates released": found(estimates_released(late(rule)), *late_world()),
        "leak 3, noise of gradients": found(mean_gradients(0.1, 20, 3), *rows),
    }  # fmt: skip


def tight_tree(sensitivity, epsilon, delta, T, trials, seed, level=0.999):
    """(audit's lower bound, exact epsilon) of tree V calibrated tightly to (epsilon, delta) for
    leaves that move by `sensitivity`; the user moves from e_1 to e_2."""
    m = tree_levels(T)
    sigma = sensitivity * np.sqrt(m / (2.0 * ledger.simple_rho(epsilon, delta)))
    found = audit.epsilon_lower_bound(
        tree_nodes(sigma, T), 1.0, -1.0, delta=delta, trials=trials, seed=seed, level=level
    )
    return found.epsilon, ledger.gdp(m / sigma**2, delta)


def exploration_audit(epsilon, trials, seed, level=0.999):
    """The audit's lower bound at delta = 0.01 for `explorations`, on data that move them."""
    policy = joint_glm(3, 64, epsilon, 0.01, theta_bound=2.0, kappa=4.1, gamma=2.0, a_v=1.0)
    mechanism, pair = explorations(policy, 20), attack_world(user=20)
    options = {"delta": 0.01, "trials": trials, "seed": seed, "level": level}
    return audit.epsilon_lower_bound(mechanism, *pair, **options).epsilon
