"""Attacks on Joint-DP GLM: what the others see of one user's leaf, and of whether she explored.

Mechanisms for `audit`: data -> outputs (n, ...).  The first user's leaf lies in the nodes that end
at 1, 2, 4, ...: with all later contexts at 0 the released sums at powers of two are that leaf plus
one draw of the node noise each.  Whether a user explored is her secret: the printed rule refreshes
an estimate at once if so, and later arms change.
Source: Sections 5, 6 and J.3 of the paper, whose proof composes these nodes.
"""

import numpy as np

from companion.accounting import audit
from companion.accounting import audit as learned
from companion.accounting.lives import lived
from companion.accounting.privacy import tree_levels
from companion.jit import jit
from companion.kernels import tree
from companion.kernels.linalg import copy, dot
from companion.private_glm import ledger
from companion.private_glm.continual import add_leaf


def on_joint(policy):
    """The `audit.Attack`s on a Joint-DP GLM; the printed rule leaks without its nodes."""
    told = on_exploration(policy)
    return told if policy.params.literal else (on_nodes(policy), *told)


def on_nodes(policy):
    """The first user's context is e_1 or e_2 (d >= 2), and enters one of the two trees."""
    start, (a, b) = policy.init(policy.params), np.eye(policy.params.d)[:2]
    explored = start.V.inverse[0, 0] >= policy.params.threshold
    move = np.zeros_like(start.V.exact)
    add_leaf(1.0, a, move)
    add_leaf(-1.0, b, move)
    shown, skip = several(policy), 0 if explored else len(move)  # V stands before H

    def sums(*run):
        arms, seen = shown(*run)
        return arms, seen[:, :, skip:]

    return learned.on_first_nodes(policy, (a, 0.0), (b, 0.0), sums, move, K=1, note="gradients")


def several(policy):
    """`lives.lived`, which shows of every state the released sums of V and of H, and theta_o."""
    d = policy.params.d
    return lived(policy, d * (d + 1) + d, "companion.private_glm.lives")


def on_exploration(policy):
    """A late user has unit vectors, or zeros: has theta_o changed before the next user's selection,
    and does a later user with short contexts, a probe, get another arm than the first?"""
    p, note = policy.params, "what the estimates say"
    T = min(p.T, 21)
    state, hidden = estimate_changes(policy, T - 2), T - 1 - p.d
    arms = audit.playing(policy, user=hidden, several=several(policy))
    return (
        audit.Attack(state, *attack_world(T, T - 2, d=p.d), np.asarray, "state", note),
        audit.Attack(arms, *probe_world(T, hidden, p.d), any_second, "actions", note),
    )


def any_second(actions) -> np.ndarray:
    """Whether anybody was shown the second arm, (n,)."""
    return actions.any(axis=1).astype(float)


def probe_world(
    T: int, user: int, d: int, size: float = 0.1
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """(a, b): data (X, R) in which everybody has the arms size e_j and -size e_j, j in turn, but
    for user `user` (from 0): e_1 and e_2 in a, zeros in b (d >= 2).

    Short contexts do not explore.  With the estimates still 0 both arms have one index and the
    first is shown; the second is, once theta_o rules out the first.
    """
    X, R = np.zeros((T, 2, d)), np.zeros((T, 2))
    for t in range(T):
        X[t, 0, t % d], X[t, 1, t % d] = size, -size
    R[:, 0] = 1.0
    other = X.copy()
    X[user], other[user] = np.eye(d)[:2], 0.0
    return (X, R), (other, R)


def attack_world(
    T: int = 61, user: int = 59, K: int = 4, d: int = 3, seed: int = 0
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
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


def estimate_changes(policy, user: int):
    """The mechanism that says, of data (X, R), whether theta_o changed while `user` was served:
    from before this user's round until after the next one's selection.  Outputs (n,) of 0 or 1."""

    shown, d = several(policy), policy.params.d

    def mechanism(data, rng, n):
        _, seen = shown(data, rng, n, [user, user + 2])
        return (seen[:, 0, -d:] != seen[:, 1, -d:]).any(axis=1).astype(float)

    return mechanism


def tree_nodes(sigma: float, T: int):
    """The mechanism that averages N_11 - N_22 over the m nodes that one user enters, whose leaf is
    e_1 e_1' or e_2 e_2' (data +1 or -1); every node has N(0, sigma^2) on its diagonal."""
    m = tree_levels(T)

    def mechanism(side, rng, n):
        return side + sigma * np.sqrt(2.0 / m) * rng.standard_normal(n)

    return mechanism


def node_loss(
    T: int, user: int, sigma: float, shift: np.ndarray, trials: int, seed: int
) -> np.ndarray:
    """Privacy loss (trials,) of the tree's nodes, for a leaf of round `user` (from 1) that moves by
    the packed vector `shift`: the log-likelihood ratio of every node that holds the leaf."""
    rng, out = np.random.default_rng(seed), np.empty(trials)
    _node_losses(rng, T, user, sigma, shift, np.zeros((tree_levels(T), len(shift))), out)
    return out


@jit
def _node_losses(rng, T, user, sigma, shift, nodes, out):
    """out (trials,) <- the privacy losses of `node_loss`; nodes (levels, len(shift)): scratch."""
    before, z = np.zeros(shift.shape[0]), np.zeros(shift.shape[0])
    for i in range(out.shape[0]):
        out[i] = 0.0
        nodes[:] = 0.0
        for t in range(1, T + 1):
            rest = t & (t - 1)  # the prefix before the node that t completes
            before[:] = 0.0
            if rest > 0:
                copy(nodes[tree.trailing_zeros(rest)], before)
            row = tree.advance(nodes, t, sigma, rng)
            for j in range(z.shape[0]):
                z[j] = nodes[row, j] - before[j]
            if rest < user <= t:  # this node holds the leaf
                out[i] += (dot(shift, shift) + 2.0 * dot(shift, z)) / (2.0 * sigma**2)


def late_world(K: int = 4, d: int = 3, seed: int = 0):
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


def mean_gradients(rho: float, steps: int, d: int):
    """The mechanism that releases `steps` mean gradients of n rows (all 0) with the printed noise,
    variance 2 steps/(n^2 rho) per coordinate; of these their mean square.  Data: which rounds
    explored, of which there are n."""

    def mechanism(explored, rng, n):
        rows = explored.sum()
        sigma = np.sqrt(2.0 * steps / (rows * rows * rho))
        return sigma**2 * (rng.standard_normal((n, steps * d)) ** 2).mean(axis=1)

    return mechanism


def refitted(policy, times: int = 8):
    """The mechanism that fits theta_o `times` times, from 0, on rows whose contexts are all 0; of
    the estimates their mean square.  Data: which rounds explored."""
    p, nothing = policy.params, np.zeros((1, policy.params.d))

    def mechanism(explored, rng, n):
        out = np.zeros(n)
        s = policy.init(p)._replace(t=len(explored))
        s.rows.side[: len(explored)] = explored
        s.V.last[:] = -1e9 * np.eye(p.d)  # any matrix has outgrown this one
        last = s.V.last.copy()
        for i in range(n):
            for _ in range(times):
                s.theta_o[:], s.fits[0], s.V.last[:] = 0.0, 0, last
                policy.select(p, s, nothing, rng)
                out[i] += (s.theta_o**2).mean() / times
        return out

    return mechanism


def explorations(policy, user: int):
    """The mechanism that counts the rounds of all users but `user` in which Criterion I fired."""

    def mechanism(data, rng, n):
        (X, R), out = data, np.empty(n)
        for i in range(n):
            state, arms = policy.init(policy.params), np.empty(len(X), np.int64)
            explored = policy.play(policy.params, state, X, R, rng, arms).rows.side
            out[i] = explored[: len(X)].sum() - explored[user]
        return out

    return mechanism


def tight_tree(
    sensitivity: float,
    epsilon: float,
    delta: float,
    T: int,
    trials: int,
    seed: int,
    level: float = 0.999,
):
    """(audit's lower bound, exact epsilon) of tree V calibrated tightly to (epsilon, delta) for
    leaves that move by `sensitivity`; the user moves from e_1 to e_2."""
    m = tree_levels(T)
    sigma = sensitivity * np.sqrt(m / (2.0 * ledger.simple_rho(epsilon, delta)))
    found = audit.epsilon_lower_bound(
        tree_nodes(sigma, T), 1.0, -1.0, delta=delta, trials=trials, seed=seed, level=level
    )
    return found.epsilon, ledger.gdp(m / sigma**2, delta)
