"""Joint-DP GLM: optimism for generalized linear rewards on continually released matrices.

Source: Algorithm 2 of the paper.  Model: joint (what the *other* users see); neighbours: replace
one user's contexts and reward.
Calibration (`make`): a user enters at most m nodes of one tree, and the gradients of one optimiser.
"corrected" is the exact (Gaussian) accounting of all of them together; "paper" the closed forms,
whose true epsilon the Guarantee reports.  The noise of the two trees, and of the two optimisers, is
such that a user who is in different halves under the two data sets loses no more: see `ledgers`.
Differs (rule "corrected"): an estimate is refreshed when a *released* matrix has outgrown its last
value, tested before every round, never because some user explored (which is that user's secret);
sums and public step counts (`descent`); floors under eigenvalues; the constraint set of the second
estimate is the ball; reward bound R = 1.  rule "paper" refreshes as printed: its guarantee is
infinite, whatever the noise.
Cost: O(K d^2 + d^3 + d^2 log T) time per round, O(T d) per gradient step; T (d + 1) numbers.
"""

import math
from typing import NamedTuple

import numpy as np

from companion._jit import jit
from companion.baselines.glm_parts import best_lower, upper, widest
from companion.core import Policy
from companion.disclosure import Disclosure
from companion.glm import slope
from companion.linalg import dot, inverse
from companion.mechanisms import clip_to_ball
from companion.privacy import tree_levels
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
from companion.private_glm.descent import descend, precondition, release_gradient


class State(NamedTuple):
    t: int  # rounds played
    V: Continual  # of explored rounds
    H: Continual  # weighted, of all others
    H_inv: np.ndarray  # (d, d) inverse of H at the last fit
    theta_o: np.ndarray  # (d,) fitted on explored rounds
    theta_tau: np.ndarray  # (d,) fitted on all others
    fits: np.ndarray  # (2,) number of fits of either
    X: np.ndarray  # (T, d) clipped contexts of the played arms (secret, as all rows below)
    y: np.ndarray  # (T,) clipped rewards
    explored: np.ndarray  # (T,) 1 where Criterion I fired
    clipped: int  # records outside the unit ball or [0, 1]
    P: np.ndarray  # (d, d) scratch
    work: np.ndarray  # (3, d) scratch
    scratch: Scratch


def init(p):
    """State before the first round."""
    d, levels = p.d, tree_levels(p.T)
    matrices = start(d, levels, p.ridge_v), start(d, levels, p.ridge_h), np.eye(d) / p.ridge_h
    rows = np.zeros((p.T, d)), np.zeros(p.T), np.zeros(p.T, np.int64)
    estimates = np.zeros(d), np.zeros(d), np.zeros(2, np.int64)
    scratch = Scratch(np.zeros((d, d)), np.zeros((d, d)))
    return State(0, *matrices, *estimates, *rows, 0, np.zeros((d, d)), np.zeros((3, d)), scratch)


@jit
def fit_explored(p, s, n, rng):
    """theta_o <- fitted on the explored rounds among the first n (line 8)."""
    s.fits[0] += 1
    remember(s.V)
    precondition(p.fit_o, s.V.value, s.P, s.scratch.A, s.scratch.B)
    q, bound = p.fit_o, p.theta_bound
    descend(q, p.link, bound, s.X, s.y, s.explored, 1, n, s.P, rng, s.theta_o, s.work)


@jit
def fit_exploited(p, s, rng):
    """theta_tau, H_tau <- from all other rounds, if H has outgrown H_tau (lines 11 and 12)."""
    if s.fits[1] < p.fit_tau.cutoff and outgrown(s.H, GROWTH, s.scratch):
        s.fits[1] += 1
        remember(s.H)
        inverse(s.H.value, s.H_inv, s.scratch.A)
        precondition(p.fit_tau, s.H.value, s.P, s.scratch.A, s.scratch.B)
        q, bound = p.fit_tau, p.theta_bound
        descend(q, p.link, bound, s.X, s.y, s.explored, 0, s.t, s.P, rng, s.theta_tau, s.work)


@jit
def refresh(p, s, rng):
    """Both tests, from released matrices alone, before a round's contexts are seen."""
    grown = s.fits[0] < p.fit_o.cutoff and outgrown(s.V, GROWTH, s.scratch)
    if grown and trace_gain(s.V) >= p.guard:  # else it is the tree's noise that has grown
        fit_explored(p, s, s.t, rng)
    fit_exploited(p, s, rng)


@jit
def choose(p, s, X):
    """Optimistic arm (line 15) among those that theta_o does not rule out (line 14)."""
    first, V_inv, tau, H_inv = s.theta_o, s.V.inverse, s.theta_tau, s.H_inv
    low = best_lower(first, V_inv, p.elimination, X)
    best, arm = -np.inf, 0
    for k in range(X.shape[0]):
        if upper(first, V_inv, p.elimination, X[k]) >= low:
            index = upper(tau, H_inv, p.width, X[k])
            if index > best:
                best, arm = index, k
    return arm


@jit
def select(p, s, X, rng):
    """Row of X (K, d) to play: the widest while it is too wide (lines 4 to 6), else `choose`."""
    if not p.literal:
        refresh(p, s, rng)
    square, arm = widest(s.V.inverse, X)
    s.explored[s.t] = 1 if square >= p.threshold else 0
    if s.explored[s.t] == 1:
        return arm
    if p.literal:
        fit_exploited(p, s, rng)
    return choose(p, s, X)


@jit
def leaf_weight(link, score):
    """Weight of x x' in H: slope(x'theta_o)/e, at most slope(0)/e whatever theta_o is."""
    return slope(link, score) / math.e


@jit
def update(p, s, arm, x, r, rng):
    """State after reward r on context x (d,); the arrays of s are overwritten."""
    t = s.t + 1
    row, y = s.X[s.t], min(max(r, 0.0), 1.0)
    _, outside = clip_to_ball(x, 0.0, row)
    s.y[s.t] = y
    if s.explored[s.t] == 1:
        add_leaf(1.0, row, s.V.exact)  # line 21
    else:
        add_leaf(leaf_weight(p.link, dot(row, s.theta_o)), row, s.H.exact)  # line 24
    publish(s.V, t, p.ridge_v, p.sigma_v, rng, s.scratch)  # both trees complete leaf t
    publish(s.H, t, p.ridge_h, p.sigma_h, rng, s.scratch)
    invert(s.V, s.scratch)
    if p.literal and s.explored[s.t] == 1 and s.fits[0] < p.fit_o.cutoff:
        fit_explored(p, s, t, rng)
    clipped = s.clipped + (1 if outside + (y != r) > 0 else 0)
    estimates = s.H_inv, s.theta_o, s.theta_tau, s.fits
    rows = s.X, s.y, s.explored
    return State(t, s.V, s.H, *estimates, *rows, clipped, s.P, s.work, s.scratch)


@jit
def play(p, s, X, R, rng, arms):
    """Play n rounds: contexts X (n, K, d), rewards R (n, K); reads only R[t, arms[t]]."""
    for t in range(X.shape[0]):
        arms[t] = select(p, s, X[t], rng)
        s = update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)
    return s


def joint_glm(
    d, T, epsilon, delta=0.02, *, link="logistic", theta_bound=1.0, kappa=None, preset="tight",
    rule="corrected", calibration=None, a_v=None, a_h=None, width=None, gamma=None, steps_o=None,
    steps_tau=None, cutoff_o=None, cutoff_tau=None, penalty=None, share=None,
) -> Policy:  # fmt: skip
    """Joint-DP GLM for T rounds in the unit ball of R^d; contexts and rewards are clipped.

    d, T >= 1; epsilon in (0, inf] (inf: no noise), delta in (0, 1); link "logistic" or "probit";
    theta_bound > 0 bounds the norm of theta; kappa, a public constant, bounds 1/slope over all arms
    (None: 1/slope(theta_bound)); rule "corrected" or "paper" (no guarantee).  preset names a row of
    `presets.PRESETS`; each further argument replaces one of its values (None keeps it): calibration
    of the noise, one of `ledger.CALIBRATIONS`; a_v, a_h, width >= 0; gamma, penalty > 0; steps and
    cutoffs >= 1; share in (0, 1) of the budget for the trees.  Raises ValueError on anything else.
    """
    overrides = {
        "calibration": calibration, "a_v": a_v, "a_h": a_h, "width": width, "gamma": gamma,
        "steps_o": steps_o, "steps_tau": steps_tau, "cutoff_o": cutoff_o,
        "cutoff_tau": cutoff_tau, "penalty": penalty, "share": share,
    }  # fmt: skip
    p, guarantee = calibrate.make(
        d, T, epsilon, delta, link, theta_bound, kappa, preset, rule, overrides
    )
    return Policy("Joint-DP GLM", p, init, play, guarantee, select, update)


def example():
    """A small instance for the common tests: with exploration, fits of both kinds, and noise."""
    return joint_glm(3, 400, 4.0, link="probit", theta_bound=2.0, kappa=6.0, preset="explore")


def attack(policy):
    """`audit.Attack`s: what one user adds to a tree, and whether it explored."""
    return attacks.on_joint(policy)


def victims():
    """What the audits attack: both calibrations of the noise, and the printed rule of refreshing.

    At this gamma every unit vector is explored.
    """
    options = {"theta_bound": 2.0, "kappa": 20.0, "preset": "explore", "gamma": 3.0}
    calm = {"share": 0.9, "steps_o": 1, "steps_tau": 1, "cutoff_o": 1, "cutoff_tau": 1}
    kinds = "corrected", "paper"
    quiet = (joint_glm(3, 4, 1.0, 0.1, calibration=c, **options, **calm) for c in kinds)
    leaky = joint_glm(3, 16, 1.0, 0.1, **options, rule="paper", cutoff_o=100)
    return *quiet, leaky.renamed("Joint-DP GLM, printed rule")


def disclosures():
    """What the common test of guarantees plays (`companion.disclosure`): prefixes and gradients.

    Rounds are few, so the last matrices are such that noise alone outgrows them.
    With theta = 200 e_2 and r = 0, a gradient is nearly x for every x above the first axis.
    """

    def prefix(_, c, t, sigma, rng):
        return [("gaussian", c.release)]

    def slope_sum(_, link, X, y, side, wanted, n, theta, sigma, rng, g):
        return [("gaussian", g)]

    kernels = {release: prefix, release_gradient: slope_sum}
    secret = ("V", "H", "X", "y", "explored", "clipped", "P", "work", "scratch")
    found = []
    for calibration, gamma in (("corrected", 0.1), ("paper", 0.1), ("corrected", 1e3)):
        policy = joint_glm(
            2, 4, 1.0, theta_bound=200.0, kappa=4.0, calibration=calibration, a_v=0.0, a_h=0.0,
            gamma=gamma, steps_o=1, steps_tau=1, cutoff_o=1, cutoff_tau=1,
        )  # fmt: skip
        past = init(policy.params)
        if gamma < 1.0:
            past.theta_tau[1] = 200.0
            past.H.last[:] = (0.5 * policy.params.ridge_h + 1e-3) * np.eye(2)
        else:
            past.theta_o[1] = 200.0
            past.V.last[:] = (policy.params.ridge_v - 0.5 * policy.params.guard + 1e-3) * np.eye(2)
        found.append(Disclosure(policy, kernels, secret, past, rounds=4, reaches=False))
    return tuple(found)
