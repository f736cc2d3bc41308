"""JDP-LinUCB: a trusted server keeps exact statistics and shows every user only a tree-noised
version.

Source: Shariff and Sheffet (2018), the baseline "JDP" of the online-LinUCB paper, with a real
binary tree (`companion.tree`).
Neighbours: replace one user's record.  Model: joint (what the *other* users see).
Calibration: a user is in at most m = floor(log2 T) + 1 nodes, so the sequence of node sums is one
Gaussian query with the sensitivity of one user's statistics times sqrt(m).  "corrected" takes the
exact sigma for it, "paper" the classical formula sqrt(2 ln(1.25/delta))/epsilon at the same
sensitivity, also where it is not proved (epsilon > 1).
Width: radius of LinUCB at the constant ridge lambda = 1 + shift sigma sqrt(d m / 2).
Cost: O(K d^2 + d^3 + d^2 log T) time per round, O(d^2 log T) memory.
"""

from typing import NamedTuple

import numpy as np

from companion import audit, tree
from companion._jit import jit
from companion.baselines import noisy_ridge
from companion.baselines.noisy_ridge import Model, choose, init_model, refit
from companion.checks import need_int
from companion.core import Policy
from companion.disclosure import Disclosure
from companion.mechanisms import add_unpacked, clip_record, pack_statistics, statistics_size
from companion.privacy import STATISTICS_SENSITIVITY, gaussian_release, tree_levels


class State(NamedTuple):
    t: int  # rounds played
    exact: np.ndarray  # packed exact statistics (secret)
    nodes: np.ndarray  # (levels, packed) noise of the live blocks
    release: np.ndarray  # packed, what the next user sees
    G: np.ndarray  # (d, d) the same, unpacked
    b: np.ndarray  # (d,)
    model: Model
    x: np.ndarray  # (d,) clipped context
    message: np.ndarray  # packed statistics of one user
    clipped: int  # records that were outside the universe


def init(p):
    """State before the first round."""
    d, n = p.d, statistics_size(p.d)
    exact, nodes, shown = np.zeros(n), np.zeros((tree_levels(p.T), n)), np.zeros(n)
    noisy = np.zeros((d, d)), np.zeros(d), init_model(p)
    return State(0, exact, nodes, shown, *noisy, np.zeros(d), np.zeros(n), 0)


@jit
def release(p, s, t, rng):
    """s.release <- exact statistics of t rounds + noise of the tree's live blocks."""
    tree.advance(s.nodes, t, p.sigma, rng)
    tree.noise(s.nodes, s.release)
    for i in range(s.release.shape[0]):
        s.release[i] += s.exact[i]


@jit
def select(p, s, X, rng):
    """The optimistic row of X (K, d)."""
    return choose(s.model, X)


@jit
def update(p, s, arm, x, r, rng):
    """State after reward r on context x (d,)."""
    t = s.t + 1
    r, clipped = clip_record(p.offset, x, r, s.x)
    pack_statistics(s.x, r, s.message)
    for i in range(s.message.shape[0]):
        s.exact[i] += s.message[i]
    release(p, s, t, rng)
    for i in range(p.d):
        s.b[i] = 0.0
        for j in range(p.d):
            s.G[i, j] = 0.0
    add_unpacked(1.0, s.release, s.G, s.b)
    refit(p, s.model, t, p.sigma * np.sqrt(0.5 * p.d * s.nodes.shape[0]), s.G, s.b)
    clipped += s.clipped
    return State(t, s.exact, s.nodes, s.release, s.G, s.b, s.model, s.x, s.message, clipped)


@jit
def play(p, s, X, R, rng, arms):
    """Play n rounds: contexts X (n, K, d), rewards R (n, K); reads only R[t, arms[t]]."""
    for t in range(X.shape[0]):
        arms[t] = select(p, s, X[t], rng)
        s = update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)
    return s


def jdp_linucb(
    d, T, epsilon, delta=0.1, *, calibration="corrected", universe="ball", **options
) -> Policy:
    """LinUCB on tree-noised statistics; epsilon = inf is LinUCB itself.

    d >= 1; T >= 1, horizon of the tree; epsilon in (0, inf], delta in (0, 1); the rest as in
    `ldp_linucb`.  Raises ValueError on anything else.
    """
    T = need_int("T", T, 1)
    query, levels = STATISTICS_SENSITIVITY, tree_levels(T)
    sigma, guarantee = gaussian_release(
        "joint", epsilon, delta, calibration, universe, query, releases=levels
    )
    p = noisy_ridge.make_params(d, T, 1, sigma, universe, **options)
    return Policy("JDP-LinUCB", p, init, play, guarantee, select, update)


def example():
    """A small instance for the common tests."""
    return jdp_linucb(3, 400, 1.0)


def attack(policy):
    """Two `audit.Attack`s on the first user: the nodes that hold its record, which are the sums
    after 1, 2, 4, ... rounds if all others send zeros; and the arms of those who come next.

    The others are offered e_1 and -e_1 and are paid nothing, so they play the noisy sign of the
    first reward.
    """
    p, T = policy.params, 1 << (tree_levels(policy.params.T) - 1)
    x, z = np.zeros((T, 2, p.d)), np.zeros((T, 2, p.d))
    records = noisy_ridge.far_records(p.offset, p.d)
    x[0], z[0] = records[0][0], records[1][0]
    arms, ends = np.empty(T, np.int64), [1 << k for k in range(tree_levels(T))]

    def nodes(data, rng):
        s, seen, start = init(p), [], 0
        for end in ends:
            s = play(p, s, data[0][start:end], data[1][start:end], rng, arms)
            seen.append(s.release.copy())
            start = end
        return np.array(seen)

    y, w = np.zeros((T, 2)), np.zeros((T, 2))
    y[0], w[0] = records[0][1], records[1][1]
    far = audit.along(np.tile(noisy_ridge.far_move(p.offset, p.d), len(ends)))
    first = audit.Attack(audit.repeated(nodes), (x, y), (z, w), far, "releases")
    asked = np.zeros((T, 2, p.d))
    asked[:, 0, 0], asked[:, 1, 0] = 1.0, -1.0
    asked[0, 1, 0] = 1.0  # either arm
    a, b = (asked, np.zeros((T, 2))), (asked, np.zeros((T, 2)))
    a[1][0], b[1][0] = 1.0, -1.0
    seen = audit.along([-1.0 if t & (t - 1) == 0 else 0.0 for t in range(1, T)])
    return first, audit.Attack(audit.playing(policy, user=0), a, b, seen, "actions")


def disclosures():
    """What the common test of guarantees plays (`companion.disclosure`): every prefix sum."""

    def prefix(_, p, s, t, rng):
        return [("gaussian", s.release)]

    secret = ("exact", "nodes", "x", "message", "clipped")
    return tuple(
        Disclosure(
            jdp_linucb(2, T, 1.0, calibration=c, universe=u), {release: prefix}, secret, rounds=T
        )
        for T, c, u in (
            (7, "corrected", "ball"),
            (3, "corrected", "offset_sphere"),
            (2, "paper", "ball"),
        )
    )
