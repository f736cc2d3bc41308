"""Attacks on Joint-DP GLM: what others see of one user's leaf, and of whether it explored.

The first user's leaf lies in the nodes that end at 1, 2, 4, ...: with all later contexts at 0 the
released sums at powers of two are that leaf plus one draw of the node noise each.  Whether a user
explored is that user's secret: the printed rule refreshes an estimate at once if so, and later arms
change.
Source: Sections 5 and J.3 of the paper, whose proof composes these nodes.
"""

import numpy as np

from companion import audit
from companion.privacy import tree_levels
from companion.private_glm.continual import add_leaf


def attacks(policy, start):
    """The `audit.Attack`s on a policy; start: its State before the first round."""
    return nodes(policy, start), *who_explored(policy, start)


def nodes(policy, start):
    """The first user's context is e_1 or e_2 (d >= 2), and enters one of the two trees."""
    p, T = policy.params, 1 << (tree_levels(policy.params.T) - 1)
    explored = start.V.inverse[0, 0] >= p.threshold
    X, R = [np.zeros((T, 1, p.d)) for _ in range(2)], np.zeros((T, 1))
    X[0][0, 0, 0], X[1][0, 0, 1] = 1.0, 1.0
    chosen, ends = np.empty(T, np.int64), [1 << k for k in range(tree_levels(T))]

    def once(data, rng):
        s, seen, begin = policy.init(p), [], 0
        for end in ends:
            s = policy.play(p, s, data[0][begin:end], data[1][begin:end], rng, chosen)
            seen.append((s.V if explored else s.H).release.copy())
            begin = end
        return np.array(seen)

    move = np.zeros_like(start.V.exact)
    add_leaf(1.0, X[0][0, 0], move)
    add_leaf(-1.0, X[1][0, 0], move)
    inputs, far = ((x, R) for x in X), audit.along(np.tile(move, len(ends)))
    return audit.Attack(audit.repeated(once), *inputs, far, "releases", "gradients")


def who_explored(policy, start, K=4):
    """A late user has unit vectors, or zeros: has theta_o changed before the next user's arm?

    Everybody before has unit vectors, with coin flips for rewards; the next one has short ones, and
    plays another arm than at the start if that shows.
    """
    p = policy.params
    T, rng = min(p.T, 21), np.random.default_rng(0)
    X = rng.standard_normal((T, K, p.d))
    X /= np.linalg.norm(X, axis=2, keepdims=True)
    X[-1] *= 0.1
    R = (rng.random((T, K)) < 0.5).astype(float)
    other = X.copy()
    other[-2] = 0.0
    chosen = np.empty(T, np.int64)

    def once(data, rng):
        (X, R), seen = data, []
        s = start
        for i, j in ((0, T - 2), (T - 2, T)):
            s = policy.play(p, policy.init(p) if i == 0 else s, X[i:j], R[i:j], rng, chosen[i:j])
            seen.append(s.theta_o.copy())
        return float((seen[0] != seen[1]).any())

    a, b, note = (X, R), (other, R), "what the estimates say"
    by_arms = audit.playing(policy, user=T - 2)
    return (
        audit.Attack(audit.repeated(once), a, b, np.asarray, "state", note),
        audit.Attack(by_arms, a, b, last_arm, "actions", note),
    )


def last_arm(actions):
    """The arm of the last user, (n,)."""
    return actions[:, -1].astype(float)
