"""JDP-LinUCB: a trusted server keeps exact statistics and shows every user only a tree-noised
version.

Source: Shariff and Sheffet (2018), the baseline "JDP" of the online-LinUCB paper, with a real
binary tree (`companion.kernels.tree`).
Neighbours: replace one user's record.  Model: joint (what the *other* users see).
Calibration: a user is in at most m = floor(log2 T) + 1 nodes, so the sequence of node sums is one
Gaussian query with the sensitivity of one user's statistics times sqrt(m).  "corrected" takes the
exact sigma for it, "paper" the classical formula sqrt(2 ln(1.25/delta))/epsilon at the same
sensitivity, also where it is not proved (epsilon > 1).
Width: radius of LinUCB at the constant ridge lambda = 1 + shift sigma sqrt(d m / 2).
Cost: O(K d^2 + d^3 + d^2 log T) time per round, O(d^2 log T) memory; 4 times the floor of
`kernels.optimism`: of 1.4 microseconds 0.6 learn, where the inverse takes 0.2 and noise 0.1; the
others select.
"""

from typing import NamedTuple

import numpy as np

from companion.accounting import audit as learned
from companion.accounting.audit import AuditInstance, AuditSpec, lives, shows
from companion.accounting.lives import lived
from companion.accounting.privacy import STATISTICS_SENSITIVITY, gaussian_release, tree_levels
from companion.baselines import noisy_ridge
from companion.baselines.noisy_ridge import Model, choose, choose_next, init_model, refit
from companion.core import Policy, linear_universe
from companion.jit import jit
from companion.kernels import tree
from companion.kernels.linalg import axpy, copy
from companion.kernels.lives import live
from companion.kernels.mechanisms import add_unpacked, clip_record, pack_statistics, statistics_size
from companion.kernels.ucb import nothing_seen
from companion.validate import need_int, need_options


class State(NamedTuple):
    t: int  # rounds played
    exact: np.ndarray  # packed exact statistics (secret)
    nodes: np.ndarray  # (levels, packed) noise of the prefix up to each live block
    release: np.ndarray  # packed, what the next user sees
    G: np.ndarray  # (d, d) the same, unpacked
    b: np.ndarray  # (d,)
    model: Model
    x: np.ndarray  # (d,) clipped context
    message: np.ndarray  # packed statistics of one user
    clipped: int  # records that were outside the universe


def init(p) -> State:
    """State before the first round."""
    d, n = p.d, statistics_size(p.d)
    exact, nodes, shown = np.zeros(n), np.zeros((tree_levels(p.T), n)), np.zeros(n)
    noisy = np.zeros((d, d)), np.zeros(d), init_model(p)
    return State(0, exact, nodes, shown, *noisy, np.zeros(d), np.zeros(n), 0)


def universe_of(p):
    """What is not clipped."""
    return linear_universe(p.offset)


@jit
def release(p, s, t, rng):
    """s.release <- exact statistics of t rounds + noise of the tree's live blocks."""
    row = tree.advance(s.nodes, t, p.sigma, rng)
    for i in range(s.release.shape[0]):
        s.release[i] = s.exact[i] + s.nodes[row, i]


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
    axpy(1.0, s.message, s.exact)
    release(p, s, t, rng)
    s.b[:] = 0.0
    s.G[:] = 0.0
    add_unpacked(1.0, s.release, s.G, s.b)
    refit(p, s.model, t, p.sigma * np.sqrt(0.5 * p.d * s.nodes.shape[0]), s.G, s.b)
    clipped += s.clipped
    return State(t, s.exact, s.nodes, s.release, s.G, s.b, s.model, s.x, s.message, clipped)


@jit
def play(p, s, X, R, rng, arms):
    """Play n rounds: contexts X (n, K, d), rewards R (n, K); reads only R[t, arms[t]]."""
    seen = nothing_seen(X)
    for t in range(X.shape[0]):
        arms[t] = choose_next(s.model, X, t, seen)
        s = update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)
    return s


@jit
def show_release(s, out):
    """out <- what is released, packed."""
    copy(s.release, out)


@jit
def play_many(p, s, rng, lives):
    """Play as `companion.accounting.lives` says; lives show what is released, packed."""
    live(play, show_release, p, s, rng, lives)


def jdp_linucb(
    d: int,
    T: int,
    *,
    epsilon: float,
    delta: float,
    calibration: str = "corrected",
    universe: str = "ball",
    **options,
) -> Policy:
    """LinUCB on tree-noised statistics; epsilon = inf is LinUCB itself.

    d >= 1; T >= 1, horizon of the tree; epsilon in (0, inf], delta in (0, 1); the rest as in
    `ldp_linucb`.  Raises ValueError on anything else.

    >>> print(jdp_linucb(2, T=100, epsilon=1.0, delta=0.1).guarantee)
    (1, 0.1)-joint DP, replace one record, per user (ball)
    """
    need_options("jdp_linucb", options, noisy_ridge.make_params)
    T = need_int("T", T, 1)
    query, levels = STATISTICS_SENSITIVITY, tree_levels(T)
    sigma, guarantee = gaussian_release(
        "joint", epsilon, delta, calibration, universe, query, releases=levels
    )
    p = noisy_ridge.make_params(d, T, 1, sigma, universe, **options)
    return Policy(
        "JDP-LinUCB",
        p,
        init,
        select,
        update,
        play,
        guarantee,
        universe=universe_of(p),
        delayed_feedback=True,
        audit=AuditSpec(own_attacks, measured=audit_instances),
    )


def own_attacks(policy: Policy):
    """Two `audit.Attack`s on the first user: the nodes that hold its record, which are the sums
    after 1, 2, 4, ... rounds if all others send zeros; and the arms of those who come next.

    The others are offered e_1 and -e_1 and are paid nothing, so they play the noisy sign of the
    first reward.
    """
    p = policy.params
    a, b = noisy_ridge.far_records(p.offset, p.d)
    move = noisy_ridge.far_move(p.offset, p.d)
    several = lived(policy, len(move))
    nodes = learned.on_first_nodes(policy, a, b, several, move)
    return nodes, learned.on_later_signs(policy, several)


def audit_instances() -> tuple[AuditInstance, ...]:
    """What the laboratory of `companion.audits` plays: every prefix sum."""
    secret = ("exact", "nodes", "x", "message", "clipped")
    kinds = (10, "corrected", "ball"), (3, "corrected", "offset_sphere"), (2, "paper", "ball")
    instances = (
        jdp_linucb(2, T, epsilon=1.0, delta=0.1, calibration=c, universe=u) for T, c, u in kinds
    )
    return lives(shows(release, "gaussian", "s.release"), secret, *instances)
