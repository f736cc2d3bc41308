"""Combiner: UCB over base learners of which each promises a regret of L_i n^alpha_i if it fits.

A server keeps M copies of Online LinUCB (or of its anytime version), each with its own state.  In
every round one of them serves the user, the one with the best upper confidence bound on its noisy
rewards; those that earned less than they promised are dropped.
Source: "Improved rate for locally differentially private linear bandits", Algorithm 2, after
Cutkosky et al. (2020); constants of Theorem 4.1 with P = P' = 1.
Neighbours, model, calibration: those of the base learners, which must share one message.  A user is
asked once, by one learner; which one it is follows from earlier messages.  So the guarantee is that
of one message.
Cost: O(K d^2 + d^2 log T) time per round, that of one base learner and O(M); memory of M base
learners; 9 times the floor of `kernels.optimism` with two, most of it the experts of the one that
plays.
Differs: line 9 uses a learner's number of rounds n before it is known: here n is that before the
round, and n = 0 means +infinity (ties: smallest R_i).  The inner logarithm is at least 1.  The last
learner is never dropped.  The default constants are practical ones: with those of the theorem R_i/T
is far above any reward, so that R_i alone decides.
"""

import math
from typing import NamedTuple

import numpy as np

from companion.accounting.audit import AuditInstance, AuditSpec
from companion.core import Policy, linear_universe
from companion.jit import inlined, jit
from companion.online_linucb import anytime, policy
from companion.online_linucb.copies import base_params, base_state, stack, store
from companion.online_linucb.theory import theory_constants
from companion.validate import (
    LARGEST,
    need_array,
    need_choice,
    need_float,
    need_int,
    need_members,
    need_probability,
    shown,
)


class Params(NamedTuple):
    d: int  # dimension of a context
    T: int  # horizon
    sigma: float  # standard deviation of the noise on a reward
    L: np.ndarray  # (M,) promised regret after n rounds: L n^alpha
    alpha: np.ndarray  # (M,)
    R: np.ndarray  # (M,) regret targets
    p: float  # multiple of the concentration term
    failure: float  # alpha in the paper
    bases: anytime.Params  # every field with a leading axis of length M


class State(NamedTuple):
    t: int  # rounds played
    base: int  # learner that serves the next user
    counts: np.ndarray  # (M,) rounds n_i of every learner
    total: np.ndarray  # (M,) its noisy rewards, summed
    excess: np.ndarray  # (M,) sum of (mean before the round - noisy reward)
    active: np.ndarray  # (M,) learners not yet dropped
    bases: anytime.State  # every field with a leading axis of length M


def init(p: Params) -> State:
    """State before the first round (lines 2 to 5): learners at their start, all of them active."""
    M = len(p.L)
    bases = stack([anytime.init(base_params(p.bases, i)) for i in range(M)])
    zeros = [np.zeros(M) for _ in range(2)]
    return State(0, int(np.argmin(p.R)), np.zeros(M, np.int64), *zeros, np.ones(M, bool), bases)


def universe_of(p: Params):
    """What is not clipped: the same for all learners."""
    return linear_universe(bool(p.bases.offset[0]))


@jit
def promise(p, i, n):
    """Regret that learner i promises after n >= 1 rounds, plus the concentration of rewards."""
    spread = n * (1.0 + p.sigma * p.sigma)
    log = 3.0 * math.log(p.T) + math.log(len(p.L) * max(math.log(spread), 1.0) / p.failure)
    return p.L[i] * n ** p.alpha[i] + p.p * np.sqrt(spread * log)


@jit
def choose(p, s):
    """Lines 9 and 10: the active learner with the largest bound; those never asked come first."""
    best, arm = -np.inf, -1
    for i in range(len(p.L)):
        if s.active[i] and s.counts[i] == 0 and (arm < 0 or p.R[i] < p.R[arm]):
            arm = i
    if arm >= 0:
        return arm
    for i in range(len(p.L)):
        if s.active[i]:
            n = float(s.counts[i])
            bound = s.total[i] / n + min(1.0, promise(p, i, n) / n) - p.R[i] / p.T
            if bound > best:
                best, arm = bound, i
    return arm


@jit
def record(p, s, i, y):
    """Lines 16 to 21: noisy reward y of learner i, dropped if it earned less than promised."""
    mean = s.total[i] / s.counts[i] if s.counts[i] > 0 else 0.0
    s.excess[i] += mean - y
    s.counts[i] += 1
    s.total[i] += y
    others = s.active.sum() > 1
    if others and s.excess[i] >= promise(p, i, float(s.counts[i])):
        s.active[i] = False


@jit
def select(p, s, X, rng):
    """Line 13: the row of X (K, d) that the serving learner plays."""
    i = s.base
    return anytime.select(base_params(p.bases, i), base_state(s.bases, i), X, rng)


@inlined
def update(p, s, arm, x, r, rng):
    """State after reward r on context x (d,); the arrays of s are overwritten."""
    q, run = base_params(p.bases, s.base), base_state(s.bases, s.base)
    y, clipped = anytime.randomize(q, run, x, r, rng)
    store(s.bases, s.base, anytime.receive(q, run, y, clipped))
    record(p, s, s.base, y)
    s = State(s.t + 1, s.base, s.counts, s.total, s.excess, s.active, s.bases)
    return State(s.t, choose(p, s), s.counts, s.total, s.excess, s.active, s.bases)


@jit
def rounds(p, s, X, R, rng, arms):
    """(rounds, learner that serves the next user) after all rounds of `play`."""
    for t in range(X.shape[0]):
        arms[t] = select(p, s, X[t], rng)
        s = update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)
    return s.t, s.base


@jit
def play(p, s, X, R, rng, arms):
    """Play n rounds: contexts X (n, K, d), rewards R (n, K); reads only R[t, arms[t]]."""
    t, base = rounds(p, s, X, R, rng, arms)
    return State(t, base, s.counts, s.total, s.excess, s.active, s.bases)


def as_copies(bases, T: int):
    """Base learners' parameters in the anytime form.  Raises ValueError if they do not match."""
    bases = need_members("bases", bases)
    copies = []
    for i, b in enumerate(bases):
        q = getattr(b, "params", None)
        if isinstance(q, policy.Params):
            if q.T < T:
                raise ValueError(f"bases[{i}] must have a horizon of at least {T=}; got {q.T}")
            q = anytime.stack_epochs([q])
        if not isinstance(q, anytime.Params):
            raise ValueError(
                f"bases[{i}] must be an online_linucb or anytime_linucb; got {shown(b)}"
            )
        copies.append(q)
    messages = {(b.guarantee, q.d, q.sigma, q.offset) for b, q in zip(bases, copies, strict=True)}
    if len(messages) > 1:
        raise ValueError(f"bases must share d, noise, universe, guarantee; got {messages}")
    return copies


def need_promises(L, alpha, R, M: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(L, alpha, R) as arrays (M,): L > 0, alpha in (0, 1), R >= 0; a number stands for all M."""
    L, alpha, R = (
        np.full(M, need_float(name, v)) if np.isscalar(v) else need_array(name, v, (M,))
        for name, v in (("L", L), ("alpha", alpha), ("R", R))
    )
    for name, good in (
        ("L > 0", L > 0),
        ("0 < alpha < 1", (alpha > 0) & (alpha < 1)),
        ("R >= 0", R >= 0),
    ):
        if not good.all():
            raise ValueError(f"need {name} for every learner; got {L=}, {alpha=}, {R=}")
    return L, alpha, R


def combiner(
    bases,
    T: int,
    *,
    constants: str = "practical",
    L: float = 0.3,
    alpha: float | None = None,
    R: float = 0.0,
    p: float = 1.0,
    failure: float | None = None,
) -> Policy:
    """Algorithm 2 over base learners made by `online_linucb` or `anytime_linucb`.

    bases share d, noise and guarantee; T >= 2, horizon.  constants "practical": L > 0, alpha in
    (0, 1) (None: 3/4 for anytime learners, 1/2 for the others) and R >= 0 are numbers, or sequences
    with one number per learner; "theory": `theory_constants` for the base learners' epsilon, and L,
    alpha, R are not read.  p >= 0 scales the concentration term; failure in (0, 1), None: 1/T.
    Raises ValueError on anything else.
    """
    T = need_int("T", T, 2, LARGEST)
    need_choice("constants", constants, ("practical", "theory"))
    copies, bases = as_copies(bases, T), tuple(bases)
    M, guarantee = len(copies), bases[0].guarantee
    failure = 1.0 / T if failure is None else need_probability("failure", failure)
    if constants == "theory":
        epsilon = (guarantee.claimed or (guarantee.epsilon,))[0]
        c = theory_constants(copies[0].d, T, epsilon, failure, M)
        L, alpha, R = c.L, c.alpha, c.R
    elif alpha is None:
        alpha = [0.75 if isinstance(b.params, anytime.Params) else 0.5 for b in bases]
    promises, p = need_promises(L, alpha, R, M), need_float("p", p, 0.0)
    q = Params(copies[0].d, T, copies[0].sigma, *promises, p, failure, stack(copies))
    return Policy(
        f"Combiner of {M}",
        q,
        init,
        select,
        update,
        play,
        guarantee,
        universe=universe_of(q),
        audit=AuditSpec(own_attacks, measured=audit_instances),
    )


def own_attacks(policy: Policy):
    """`audit.Attack`: one user's message, which is that of the learners."""
    return anytime.own_attacks(policy._replace(params=base_params(policy.params.bases, 0)))


def audit_instances() -> tuple[AuditInstance, ...]:
    """What the laboratory of `companion.audits` plays: rounds of two learners."""
    kernels = {policy.randomize: policy.pair_of}

    def of_two(calibration):
        options = {"calibration": calibration}
        one = anytime.anytime_linucb(2, epsilon=1.0, lambda_min=1.0, **options)
        return combiner([one, policy.online_linucb(2, 8, epsilon=1.0, **options)], 8)

    return tuple(AuditInstance(of_two(c), kernels, rounds=3) for c in ("corrected", "paper"))
