"""Errors-in-variables ridge: the messages of Online LinUCB, a closed form for the learner.

The user sends x and y with Gaussian noise, as in `online_linucb`.  The server knows how much energy
the noise on x brings into the Gram matrix and subtracts it: A = sum(x x' - sigma^2 I), b = sum x y
over the noisy pairs.  Then (A + lambda_t I)^-1 b is ridge regression without attenuation, and the
policy is optimistic around it.
Source: an ablation of ours for the online-LinUCB paper, which minimises the same corrected loss
online; estimator of Fuller (1987), section 2.2.
Neighbours, model, calibration: those of `online_linucb`: nothing but its message is released.
Width: radius of LinUCB at ridge lambda_t = ridge + shift (sigma^2 + sigma) sqrt(d t), which grows
like the noise in A: the noise of one x x' is about sigma on entries times x, and sigma^2 by itself.
A may stay indefinite after that; negative squared widths count as 0.
Cost: O(K d^2 + d^3) time per round, O(d^2) memory; 5 times the floor of `kernels.optimism`: of 1.4
microseconds 0.5 learn, where the inverse takes 0.2; the others select, for wide ellipsoids leave
more arms to compare.
"""

from typing import NamedTuple

import numpy as np

from companion.accounting.audit import AuditInstance, AuditSpec
from companion.baselines import private_linucb as noisy_ridge
from companion.baselines.private_linucb import Model, choose, choose_next, init_model, refit
from companion.core import Policy, linear_universe
from companion.jit import jit
from companion.kernels.linalg import add_outer, axpy
from companion.kernels.ucb import nothing_seen
from companion.online_linucb.policy import message_attack, pair_noise, pair_of, randomize
from companion.validate import need_options


class Params(NamedTuple):
    d: int  # dimension of a context
    T: int  # horizon
    sigma: float  # standard deviation of the noise on every coordinate of x and on y
    jitter: float  # 0: no extra perturbation of x
    offset: bool  # universe that records are clipped into: offset sphere, or unit ball
    statistics: noisy_ridge.Params


class State(NamedTuple):
    t: int  # rounds played
    A: np.ndarray  # (d, d) sum of noisy x x' - sigma^2 I
    b: np.ndarray  # (d,) sum of noisy x noisy y
    model: Model
    x: np.ndarray  # (d,) the message
    clipped: int  # records that were outside the universe


def init(p: Params) -> State:
    """State before the first round."""
    d, model = p.d, init_model(p.statistics)
    return State(0, np.zeros((d, d)), np.zeros(d), model, np.zeros(d), 0)


def universe_of(p: Params):
    """What is not clipped."""
    return linear_universe(p.offset)


@jit
def select(p, s, X, rng):
    """The optimistic row of X (K, d)."""
    return choose(s.model, X)


@jit
def update(p, s, arm, x, r, rng):
    """State after reward r on context x (d,); the arrays of s are overwritten."""
    y, clipped = randomize(p, x, r, rng, s.x)
    t, sigma = s.t + 1, p.sigma
    add_outer(1.0, s.x, s.A)
    for i in range(p.d):
        s.A[i, i] -= sigma * sigma
    axpy(y, s.x, s.b)
    refit(p.statistics, s.model, t, (sigma * sigma + sigma) * np.sqrt(float(p.d * t)), s.A, s.b)
    return State(t, s.A, s.b, s.model, s.x, s.clipped + clipped)


@jit
def play(p, s, X, R, rng, arms):
    """Play n rounds: contexts X (n, K, d), rewards R (n, K); reads only R[t, arms[t]]."""
    seen = nothing_seen(X)
    for t in range(X.shape[0]):
        arms[t] = choose_next(s.model, X, t, seen)
        s = update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)
    return s


def corrected_ridge(
    d: int,
    T: int,
    *,
    epsilon: float,
    delta: float,
    calibration: str = "corrected",
    universe: str = "ball",
    shift: float = 3.0,
    **options,
) -> Policy:
    """LinUCB on noisy pairs, corrected for the noise; epsilon = inf is LinUCB itself.

    shift >= 0, see the module; the rest as in `ldp_linucb`.  Raises ValueError on anything else.
    """
    need_options("corrected_ridge", options, noisy_ridge.make_params)
    sigma, guarantee = pair_noise(epsilon, delta, calibration, universe)
    q = noisy_ridge.make_params(d, T, 1, sigma, universe, shift=shift, **options)
    p = Params(q.d, q.T, sigma, 0.0, q.offset, q)
    return Policy(
        "Corrected ridge",
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
    return message_attack(policy.params)


def audit_instances() -> tuple[AuditInstance, ...]:
    """What the laboratory of `companion.audits` plays: one message per user."""
    return tuple(
        AuditInstance(
            corrected_ridge(2, 8, epsilon=1.0, delta=0.1, calibration=c),
            {randomize: pair_of},
            rounds=3,
        )
        for c in ("corrected", "paper")
    )
