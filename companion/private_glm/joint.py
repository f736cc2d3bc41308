"""Joint-DP GLM: optimism for generalized linear rewards on continually released matrices.

Source: Algorithm 2 of the paper.  Model: joint (what the *other* users see); neighbours: replace
one user's contexts and reward.
Calibration (`make`): a user enters at most m nodes of one tree, and the gradients of one optimiser.
"corrected" is the exact (Gaussian) accounting of all of them together; "paper" the closed forms,
whose true epsilon the Guarantee reports.  The noise of the two trees, and of the two optimisers, is
such that a user who is in different halves under the two data sets loses no more: see `ledgers`.
Differs (rule "corrected"): an estimate is refreshed when a *released* matrix has outgrown its last
value, tested before every round, never because some user explored (which is that user's secret);
sums and public step counts (`descent`); floors under eigenvalues; the second estimate's constraint
set is the ball; reward bound R = 1.  rule "paper" refreshes as printed, without a guarantee.
Cost: O(K d + d^3 + d^2 log T) time per round, O(T d) per gradient step; T (d + 1) numbers; 7.6
times the floor of `kernels.optimism`: of 2.7 microseconds 1.3 learn, the others rule arms out.

Size: the rounds, which read next to the paper's box, and what audits need of them.
"""

import math
from typing import NamedTuple

import numpy as np

from companion.accounting.audit import AuditInstance, AuditSpec, shows
from companion.accounting.privacy import tree_levels
from companion.core import Policy, Universe
from companion.jit import inlined, jit
from companion.kernels.glm import slope
from companion.kernels.linalg import dot, inverse
from companion.kernels.mechanisms import clip_to_ball
from companion.kernels.ucb import best_left, best_lower, tabulate, widest
from companion.private_glm import attacks, calibrate
from companion.private_glm.calibrate import GROWTH
from companion.private_glm.continual import (
    Continual,
    Scratch,
    add_leaf,
    invert,
    outgrown,
    publish,
    release,
    remember,
    start,
    trace_gain,
)
from companion.private_glm.descent import Rows, descend, precondition, release_gradient
from companion.private_glm.presets import PRESETS, need_preset


class State(NamedTuple):
    t: int  # rounds played
    V: Continual  # of explored rounds
    H: Continual  # weighted, of all others
    H_inv: np.ndarray  # (d, d) inverse of H at the last fit
    theta_o: np.ndarray  # (d,) fitted on explored rounds
    theta_tau: np.ndarray  # (d,) fitted on all others
    fits: np.ndarray  # (2,) number of fits of either
    rows: Rows  # of all rounds; a row's side is 1 where Criterion I fired
    clipped: int  # records outside the unit ball or [0, 1]
    P: np.ndarray  # (d, d) scratch
    work: np.ndarray  # (3, d) scratch
    scratch: Scratch


def init(p) -> State:
    """State before the first round."""
    d, levels = p.d, tree_levels(p.T)
    matrices = start(d, levels, p.ridge_v), start(d, levels, p.ridge_h), np.eye(d) / p.ridge_h
    rows = Rows(np.zeros((p.T, d)), np.zeros(p.T), np.zeros(p.T, np.int64))
    estimates = np.zeros(d), np.zeros(d), np.zeros(2, np.int64)
    P, *scratch = np.zeros((3, d, d))
    return State(0, *matrices, *estimates, rows, 0, P, np.zeros((3, d)), Scratch(*scratch))


def universe_of(p) -> Universe:
    """What is not clipped: the unit ball, rewards in [0, 1]."""
    return Universe(low=0.0)


@jit
def fit_explored(p, s, n, rng):
    """theta_o <- fitted on the explored rounds among the first n (line 8)."""
    s.fits[0] += 1
    remember(s.V)
    q = p.fit_o
    precondition(q.curvature, q.penalty, s.V.value, s.P, s.scratch.A, s.scratch.B)
    descend(q, s.rows, 1, n, s.P, rng, s.theta_o, s.work)


@inlined
def fit_exploited(p, s, rng):
    """theta_tau, H_tau <- from all other rounds, if H has outgrown H_tau (lines 11 and 12)."""
    if s.fits[1] < p.fit_tau.cutoff and outgrown(s.H, GROWTH, s.scratch):
        s.fits[1] += 1
        remember(s.H)
        inverse(s.H.value, s.H_inv, s.scratch.A)
        q = p.fit_tau
        precondition(q.curvature, q.penalty, s.H.value, s.P, s.scratch.A, s.scratch.B)
        descend(q, s.rows, 0, s.t, s.P, rng, s.theta_tau, s.work)


@inlined
def refresh(p, s, rng):
    """Both tests, from released matrices alone, before a round's contexts are seen."""
    grown = s.fits[0] < p.fit_o.cutoff and outgrown(s.V, GROWTH, s.scratch)
    if grown and trace_gain(s.V) >= p.guard:  # else it is the tree's noise that has grown
        fit_explored(p, s, s.t, rng)
    fit_exploited(p, s, rng)


@inlined
def choose(p, s, X, table):
    """Optimistic arm (line 15) among those that theta_o does not rule out (line 14)."""
    low = best_lower(X, s.V.inverse, p.elimination, table)
    return best_left(X, s.V.inverse, p.elimination, low, s.H_inv, p.width, table)


@inlined
def decide(p, s, X, rng, table):
    """Row of X (K, d) to play: the widest while it is too wide (lines 4 to 6), else `choose`."""
    if not p.literal:
        refresh(p, s, rng)
    tabulate(X, s.theta_o, s.theta_tau, table)
    square, arm = widest(X, s.V.inverse, p.threshold, table)
    s.rows.side[s.t] = 1 if square >= p.threshold else 0
    if s.rows.side[s.t] == 0:
        if p.literal:
            fit_exploited(p, s, rng)
            tabulate(X, s.theta_o, s.theta_tau, table)
        arm = choose(p, s, X, table)
    return arm


@jit
def select(p, s, X, rng):
    """`decide`, with scratch of its own."""
    return decide(p, s, X, rng, np.empty((4, X.shape[0])))


@jit
def leaf_weight(link, score):
    """Weight of x x' in H: slope(x'theta_o)/e, at most slope(0)/e whatever theta_o is."""
    return slope(link, score) / math.e


@inlined
def update(p, s, arm, x, r, rng):
    """State after reward r on context x (d,); the arrays of s are overwritten."""
    t, explored = s.t + 1, s.rows.side[s.t] == 1
    row, y = s.rows.X[s.t], min(max(r, 0.0), 1.0)
    _, outside = clip_to_ball(x, 0.0, row)
    s.rows.y[s.t] = y
    if explored:
        add_leaf(1.0, row, s.V.exact)  # line 21
    else:
        add_leaf(leaf_weight(p.link, dot(row, s.theta_o)), row, s.H.exact)  # line 24
    if explored or p.sigma_v > 0.0:  # without noise a sum is as it was until a leaf enters it
        publish(s.V, t, p.ridge_v, 0.5 * p.ridge_v, p.sigma_v, rng, s.scratch)
        invert(s.V, s.scratch)
    if p.sigma_h > 0.0 or not explored:  # both trees: leaf t
        publish(s.H, t, p.ridge_h, 0.5 * p.ridge_h, p.sigma_h, rng, s.scratch)
    if p.literal and explored and s.fits[0] < p.fit_o.cutoff:
        fit_explored(p, s, t, rng)
    return at(s, t, s.clipped + (1 if outside + (y != r) > 0 else 0))


@inlined
def at(s, t, clipped):
    """The state s with other counts."""
    estimates = s.H_inv, s.theta_o, s.theta_tau, s.fits
    return State(t, s.V, s.H, *estimates, s.rows, clipped, s.P, s.work, s.scratch)


@jit
def rounds(p, s, X, R, rng, arms, table):
    """(rounds, clipped records) after all rounds of `play`."""
    for t in range(X.shape[0]):
        arms[t] = decide(p, s, X[t], rng, table)
        s = update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)
    return s.t, s.clipped


@jit
def play(p, s, X, R, rng, arms):
    """Play n rounds: contexts X (n, K, d), rewards R (n, K); reads only R[t, arms[t]]."""
    t, clipped = rounds(p, s, X, R, rng, arms, np.empty((4, X.shape[1])))
    return at(s, t, clipped)


def joint_glm(
    d: int,
    T: int,
    *,
    epsilon: float,
    delta: float,
    link: str = "logistic",
    theta_bound: float = 1.0,
    kappa: float | None = None,
    preset="tight",
    calibration: str | None = None,
    width: float | None = None,
    rule: str = "corrected",
) -> Policy:
    """Joint-DP GLM for T rounds in the unit ball of R^d; contexts and rewards are clipped.

    d, T >= 1; epsilon in (0, inf] (inf: no noise), delta in (0, 1); link "logistic" or "probit";
    theta_bound > 0 bounds the norm of theta; kappa, a public constant, bounds 1/slope over all arms
    (None: 1/slope(theta_bound)); preset: what is tuned, a name of `presets.PRESETS` or one of these
    changed by `_replace`; calibration of the noise, one of `ledger.CALIBRATIONS`, and width >= 0 of
    the index (None: the preset's); rule "corrected" or "paper" (no guarantee).  Raises ValueError
    on anything else.
    """
    q = need_preset(preset, calibration=calibration, width=width)
    p, guarantee = calibrate.make(d, T, epsilon, delta, link, theta_bound, kappa, rule, q)
    return Policy(
        "Joint-DP GLM",
        p,
        init,
        select,
        update,
        play,
        guarantee,
        universe=universe_of(p),
        audit=AuditSpec(own_attacks, attack_instances, audit_instances),
    )


def own_attacks(policy: Policy):
    """`audit.Attack`s: what one user adds to a tree, and whether it explored."""
    return attacks.on_joint(policy)


def attack_instances():
    """What the audits attack: both calibrations of the noise, and the printed rule of refreshing.

    At this gamma every unit vector is explored.
    """
    often = PRESETS["explore"]._replace(gamma=3.0)
    calm = often._replace(share=0.9, steps_o=1, steps_tau=1, cutoff_o=1, cutoff_tau=1)
    known, kinds = {"theta_bound": 2.0, "kappa": 20.0}, ("corrected", "paper")
    quiet = (
        joint_glm(3, 4, epsilon=1.0, delta=0.1, preset=calm, calibration=c, **known) for c in kinds
    )
    many = often._replace(cutoff_o=100)
    known["theta_bound"] = 10.0  # an estimate of noise alone rules arms out
    leaky = joint_glm(3, 16, epsilon=1.0, delta=0.1, preset=many, rule="paper", **known)
    return *quiet, leaky.renamed("Joint-DP GLM, printed rule")


def audit_instances() -> tuple[AuditInstance, ...]:
    """What the laboratory of `companion.audits` plays: prefixes and gradients.

    Rounds are few, so the last matrices are such that noise alone outgrows them.
    With theta = 200 e_2 and r = 0, a gradient is nearly x for every x above the first axis.  In the
    last life some users explore, others do not, and both estimates are fitted.
    """

    kernels = shows(release, "gaussian", "c.release") | shows(release_gradient, "gaussian", "g")
    trees, found = ("V.exact", "V.nodes", "H.exact", "H.nodes"), []
    secret = (*trees, "rows", "clipped", "P", "work", "scratch")
    once = {"a_v": 0.0, "a_h": 0.0, "steps_o": 1, "steps_tau": 1, "cutoff_o": 1, "cutoff_tau": 1}
    known = {"theta_bound": 200.0, "kappa": 4.0}
    kinds = ("corrected", "paper", "corrected", "corrected")
    for calibration, gamma in zip(kinds, (0.1, 0.1, 1e3, 1.3), strict=True):
        T, known["link"] = (8, "probit") if gamma == 1.3 else (4, "logistic")
        preset = PRESETS["tight"]._replace(gamma=gamma, **once)
        policy = joint_glm(2, T, epsilon=1.0, preset=preset, calibration=calibration, **known)
        past, p = init(policy.params), policy.params
        if gamma < 1e3:
            past.theta_tau[1] = 200.0
            past.H.last[:] = (0.5 * p.ridge_h + 1e-3) * np.eye(2)
        if gamma > 1.0:
            past.theta_o[1] = 200.0
            past.V.last[:] = (p.ridge_v - 0.5 * p.guard + 1e-3) * np.eye(2)
        found.append(AuditInstance(policy, kernels, secret, past, rounds=T, bound_is_tight=False))
    return tuple(found)
