"""LDP-LinUCB: every user sends x x' and r x with Gaussian noise; the server adds the messages up.

Source: Zheng, Cai, Huang, Li and Wang (2020), as the baseline "LDP" of the online-LinUCB paper.
Neighbours: replace one user's record (x, r).  Model: local.
Calibration: "corrected" releases the two statistics as ONE Gaussian query in the geometry of
Frobenius + Euclidean norm, exact sigma for its sensitivity (`privacy.STATISTICS_SENSITIVITY`);
"paper" is sigma = 4 sqrt(2 ln(1.25/delta))/epsilon on every coordinate, as a comment in the
authors' program has it (its code lacks the sqrt2).  Off-diagonal noise is sigma/sqrt2, because such
an entry counts twice in the Frobenius norm.
Width: radius of LinUCB at ridge lambda_t = 1 + shift sigma sqrt(d t), which dominates the noise in
the Gram matrix.
Cost: O(K d^2 + d^3) time per round, O(d^2) memory; 4 times the floor of `kernels.optimism`: of 1.4
microseconds 0.6 learn, where the inverse takes 0.2 and noise 0.1; the others select.
"""

from typing import NamedTuple

import numpy as np

from companion.accounting import audit
from companion.accounting import audit as learned
from companion.accounting.audit import AuditInstance, AuditSpec, lives, shows
from companion.accounting.privacy import STATISTICS_SENSITIVITY, UNIVERSES, gaussian_release
from companion.baselines import noisy_ridge
from companion.baselines.noisy_ridge import Model, choose, choose_next, init_model, refit
from companion.core import Policy, linear_universe
from companion.jit import jit
from companion.kernels.mechanisms import (
    add_gaussian,
    add_unpacked,
    clip_record,
    pack_statistics,
    statistics_size,
)
from companion.kernels.ucb import nothing_seen
from companion.validate import need_options


class State(NamedTuple):
    t: int  # rounds played
    G: np.ndarray  # (d, d) sum of noisy x x'
    b: np.ndarray  # (d,) sum of noisy r x
    model: Model
    x: np.ndarray  # (d,) clipped context
    message: np.ndarray  # packed statistics of one user
    clipped: int  # records that were outside the universe


def init(p) -> State:
    """State before the first round."""
    d = p.d
    message = np.zeros(statistics_size(d))
    return State(0, np.zeros((d, d)), np.zeros(d), init_model(p), np.zeros(d), message, 0)


def universe_of(p):
    """What is not clipped."""
    return linear_universe(p.offset)


@jit
def randomize(p, x, r, rng, clean, message):
    """Everything that leaves the device: message <- packed (x x', r x) + N(0, sigma^2 I);
    returns 1 if clipped.
    """
    r, clipped = clip_record(p.offset, x, r, clean)
    pack_statistics(clean, r, message)
    add_gaussian(rng, p.sigma, message)
    return clipped


@jit
def messages(p, x, r, rng, clean, out):
    """out (n, :) <- n independent messages of one user, for audits."""
    for i in range(out.shape[0]):
        randomize(p, x, r, rng, clean, out[i])


@jit
def select(p, s, X, rng):
    """The optimistic row of X (K, d)."""
    return choose(s.model, X)


@jit
def update(p, s, arm, x, r, rng):
    """State after reward r on context x (d,); the model is fitted anew at the end of every
    batch.
    """
    t = s.t + 1
    clipped = s.clipped + randomize(p, x, r, rng, s.x, s.message)
    add_unpacked(1.0, s.message, s.G, s.b)
    if t % p.batch == 0:
        refit(p, s.model, t, p.sigma * np.sqrt(float(p.d * t)), s.G, s.b)
    return State(t, s.G, s.b, s.model, s.x, s.message, clipped)


@jit
def play(p, s, X, R, rng, arms):
    """Play n rounds: contexts X (n, K, d), rewards R (n, K); reads only R[t, arms[t]]."""
    seen = nothing_seen(X)
    for t in range(X.shape[0]):
        arms[t] = choose_next(s.model, X, t, seen)
        s = update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)
    return s


def ldp_linucb(
    d: int,
    T: int,
    *,
    epsilon: float,
    delta: float,
    calibration: str = "corrected",
    universe: str = "ball",
    **options,
) -> Policy:
    """LinUCB on locally randomised statistics; epsilon = inf is LinUCB itself.

    d >= 1; T >= 1; epsilon in (0, inf], delta in (0, 1); calibration "corrected" or "paper";
    universe "ball" (||x|| <= 1, |r| <= 1) or "offset_sphere" (x = (u, 1/sqrt2), 0 <= r <= 1):
    records outside are clipped into it and counted; options: ridge, shift, noise, theta_bound,
    failure and width of `noisy_ridge.make_params`.  Raises ValueError on anything else.

    >>> print(ldp_linucb(2, T=100, epsilon=1.0, delta=0.1).guarantee)
    (1, 0.1)-local DP, replace one record, per user (ball)
    """
    need_options("ldp_linucb", options, noisy_ridge.make_params)
    sigma, guarantee = gaussian_release(
        "local", epsilon, delta, calibration, universe, STATISTICS_SENSITIVITY, paper=4.0
    )
    p = noisy_ridge.make_params(d, T, 1, sigma, universe, **options)
    return Policy(
        "LDP-LinUCB",
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
    """`audit.Attack`: one user's message."""
    p = policy.params

    def sent(record, rng, out):
        messages(p, *record, rng, np.empty(p.d), out)

    mechanism = learned.filled((statistics_size(p.d),), sent)
    far = noisy_ridge.far_apart(p)
    return (audit.Attack(mechanism, *far, "message", "", False, True),)


def audit_instances() -> tuple[AuditInstance, ...]:
    """What the laboratory of `companion.audits` plays: one message per user."""
    kinds = [(c, u) for c in ("corrected", "paper") for u in UNIVERSES]
    instances = (
        ldp_linucb(2, 8, epsilon=1.0, delta=0.1, calibration=c, universe=u) for c, u in kinds
    )
    return lives(shows(randomize, "gaussian", "message"), ("x",), *instances, rounds=3)
