"""Attacks on Joint-DP GLM: what the others see of one user's leaf, and of whether she explored.
On ShuffleGLM: what the analyser sees of a batch (`on_batch`).

Mechanisms for `audit`: data -> outputs (n, ...).  The first user's leaf lies in the nodes that end
at 1, 2, 4, ...: with all later contexts at 0 the released sums at powers of two are that leaf plus
one draw of the node noise each.  Whether a user explored is her secret: the printed rule refreshes
an estimate at once if so, and later arms change.
Source: Sections 5, 6 and J.3 of the paper, whose proof composes these nodes.
"""

import numpy as np

from companion import audit, tree
from companion._jit import jit
from companion.linalg import dot
from companion.mechanisms import clip_to_ball
from companion.privacy import tree_levels
from companion.private_glm import ledger
from companion.private_glm.continual import add_leaf
from companion.private_glm.learning import add_user, analyse


def on_joint(policy):
    """The `audit.Attack`s on a Joint-DP GLM; the printed rule betrays itself without its nodes."""
    told = on_exploration(policy)
    return told if policy.params.literal else (on_nodes(policy), *told)


def on_nodes(policy):
    """The first user's context is e_1 or e_2 (d >= 2), and enters one of the two trees."""
    p, start = policy.params, policy.init(policy.params)
    T = 1 << (tree_levels(p.T) - 1)
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


def on_exploration(policy):
    """A late user has unit vectors, or zeros: has theta_o changed before the next user's arm?

    The next user has short contexts, and plays another arm than at the start if that shows.
    """
    T = min(policy.params.T, 21)
    user, note = T - 2, "what the estimates say"
    a, b = attack_world(T, user, d=policy.params.d, after=0.1)
    state, arms = estimate_changes(policy, user), audit.playing(policy, user=user)
    return (
        audit.Attack(state, a, b, np.asarray, "state", note),
        audit.Attack(arms, a, b, last_arm, "actions", note),
    )


def last_arm(actions):
    """The arm of the last user, (n,)."""
    return actions[:, -1].astype(float)


def attack_world(T=61, user=59, K=4, d=3, seed=0, after=0.0):
    """(a, b): two data sets (X, R) that differ in one user.

    Everybody has K unit vectors as contexts, user `user` (from 0) only in a and zeros in b, and the
    next user vectors of norm `after` in both; rewards are coin flips.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((T, K, d))
    X /= np.linalg.norm(X, axis=2, keepdims=True)
    X[user + 1] *= after
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
    variance 2 steps/(n^2 rho) per coordinate; of these their mean square.  Data: which rounds
    explored, of which there are n."""

    def mechanism(explored, rng, n):
        rows = explored.sum()
        sigma = np.sqrt(2.0 * steps / (rows * rows * rho))
        return sigma**2 * (rng.standard_normal((n, steps * d)) ** 2).mean(axis=1)

    return mechanism


def refitted(policy, times=8):
    """The mechanism that fits theta_o `times` times, from 0, on rows whose contexts are all 0; of
    the estimates their mean square.  Data: which rounds explored."""
    p, nothing = policy.params, np.zeros((1, policy.params.d))

    def mechanism(explored, rng, n):
        out = np.zeros(n)
        s = policy.init(p)._replace(t=len(explored))
        s.explored[: len(explored)] = explored
        s.V.last[:] = -1e9 * np.eye(p.d)  # any matrix has outgrown this one
        last = s.V.last.copy()
        for i in range(n):
            for _ in range(times):
                s.theta_o[:], s.fits[0], s.V.last[:] = 0.0, 0, last
                policy.select(p, s, nothing, rng)
                out[i] += (s.theta_o**2).mean() / times
        return out

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


def tight_tree(sensitivity, epsilon, delta, T, trials, seed, level=0.999):
    """(audit's lower bound, exact epsilon) of tree V calibrated tightly to (epsilon, delta) for
    leaves that move by `sensitivity`; the user moves from e_1 to e_2."""
    m = tree_levels(T)
    sigma = sensitivity * np.sqrt(m / (2.0 * ledger.simple_rho(epsilon, delta)))
    found = audit.epsilon_lower_bound(
        tree_nodes(sigma, T), 1.0, -1.0, delta=delta, trials=trials, seed=seed, level=level
    )
    return found.epsilon, ledger.gdp(m / sigma**2, delta)


@jit
def first_matrices(p, b, x, rng, out):
    """out (n, d(d+1)/2) <- the analyser's matrix of n first batches, whose last user has context x
    (d,); all other users send zeros and have rounded already; b is overwritten."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            b.counts[j] = 0.0
        b.size[0] = p.ends[0] - 1
        clip_to_ball(x, 0.0, b.x)
        add_user(p, b, 0, 1.0, 0.0, rng)
        analyse(rng, b.counts, b.size[0], p.caps[0], p.g[0], p.bits_matrix[0], b.triangle)
        for j in range(out.shape[1]):
            out[i, j] = b.triangle[j]


def on_batch(p, b):
    """ShuffleGLM's first matrix, of which the last user has the context e_1 or e_2; p, b: its
    Params and an empty `Batch`."""

    def mechanism(x, rng, n):
        out = np.empty((n, len(b.triangle)))
        first_matrices(p, b, x, rng, out)
        return out

    move = np.zeros(len(b.triangle))
    move[0], move[2] = 1.0, -1.0  # of rows (11), (21, 22), ...
    far, contexts = audit.along(move), np.eye(p.d)[:2]
    return audit.Attack(mechanism, *contexts, far, "batch", "gradients", runs=False)
