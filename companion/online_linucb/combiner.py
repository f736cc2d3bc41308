"""Combiner: UCB over base learners of which each promises a regret of L_i n^alpha_i if it fits.

A server keeps M copies of Online LinUCB (or of its anytime form), each with its own state.  In
every round one of them serves the user, the one with the best upper confidence bound on its noisy
rewards; those that earned less than they promised are dropped.
Source: "Improved rate for locally differentially private linear bandits", Algorithm 2, after
Cutkosky et al. (2020); constants of Theorem 4.1 with P = P' = 1.
Privacy: neighbours, model and calibration of the base learners, which must share one message.  A
user is asked once, by one learner; which one it is follows from earlier messages.  So the guarantee
is that of one message.
Differs: line 9 uses a learner's number of rounds n before it is known: here n is that before the
round, and n = 0 means +infinity (ties: smallest R_i).  The inner logarithm is at least 1.  The last
learner is never dropped.  The default constants are practical ones: with those of the theorem R_i/T
is far above any reward, so that R_i alone decides.
"""

import math
from typing import NamedTuple

import numpy as np

from companion.accounting.audit import AuditInstance, AuditSpec
from companion.core import Policy, linear_universe, plain_loop
from companion.jit import jit
from companion.online_linucb import anytime
from companion.online_linucb.anytime import anytime_linucb, of_epochs
from companion.online_linucb.online_linucb import RELEASES, online_linucb
from companion.online_linucb.online_linucb import Params as OnlineParams
from companion.validate import (
    LARGEST,
    need_array,
    need_choice,
    need_float,
    need_int,
    need_members,
    need_positive,
    need_probability,
    shown,
)


class Constants(NamedTuple):
    """Theorem 4.1, one entry per base learner; `guess` is lambda_i."""

    guess: np.ndarray
    L: np.ndarray
    alpha: np.ndarray
    eta: np.ndarray
    R: np.ndarray


def theory_constants(d: int, T: int, epsilon: float, failure: float, M=None) -> Constants:
    """Constants of Theorem 4.1 for M learners (None: the theorem's ceil(log2(T)/8) + 1).

    d >= 1, T >= 2, epsilon in (0, inf), failure in (0, 1).  Raises ValueError on anything else.

    >>> (theory_constants(5, 20000, 1.0, 0.1).R / 20000).round(1).tolist()
    [36.9, 6.1, 3.2]
    """
    d, T = need_int("d", d, 1, LARGEST), need_int("T", T, 2, LARGEST)
    epsilon = need_positive("epsilon", epsilon)
    M = int(np.ceil(np.log2(T) / 8)) + 1 if M is None else need_int("M", M, 1, LARGEST)
    failure = need_probability("failure", failure)
    log, root = np.log(T) ** 1.5, epsilon * T**0.125
    guess = 2.0 ** np.arange(M) / T**0.125
    L = log * np.sqrt(d) / (epsilon * guess)
    eta = np.full(M, epsilon / (log * np.sqrt(d * T)))
    alpha = np.full(M, 0.5)
    L[0], eta[0] = log * np.sqrt(d) * (root + 1) / root, root / (np.sqrt(d * T) * (log * root + 1))
    alpha[0] = 0.75
    inner = (1 - alpha) / alpha
    factor = (1 - alpha) ** inner * (1 + alpha) ** (1 / alpha) / alpha**inner
    R = L * T**alpha + factor * L ** (1 / alpha) * T * eta**inner
    R += 288.0 * (3 * np.log(T) + np.log(M / failure)) * T * eta + (1 / eta).sum() - 1 / eta
    return Constants(guess, L, alpha, eta, R)


class Params(NamedTuple):
    d: int  # dimension of a context
    T: int  # horizon
    sigma: float  # standard deviation of the noise on a reward
    L: np.ndarray  # (M,) promised regret after n rounds: L n^alpha
    alpha: np.ndarray  # (M,)
    R: np.ndarray  # (M,) regret targets
    p: float  # multiple of the concentration term
    failure: float  # alpha in the paper
    bases: tuple  # M learners' parameters, all in the anytime form


class State(NamedTuple):
    t: np.ndarray  # (1,) rounds played
    base: np.ndarray  # (1,) learner that serves the next user
    counts: np.ndarray  # (M,) rounds n_i of every learner
    total: np.ndarray  # (M,) its noisy rewards, summed
    excess: np.ndarray  # (M,) sum of (mean before the round - noisy reward)
    active: np.ndarray  # (M,) learners not yet dropped
    bases: tuple  # M learners' states


def init(p: Params) -> State:
    """State before the first round (lines 2 to 5): learners at their start, all of them active."""
    M, total, excess = len(p.bases), np.zeros(len(p.bases)), np.zeros(len(p.bases))
    t, base, counts = np.zeros(1, np.int64), np.array([np.argmin(p.R)]), np.zeros(M, np.int64)
    bases = tuple(anytime.init(q) for q in p.bases)
    return State(t, base, counts, total, excess, np.ones(M, bool), bases)


@jit
def promise(p, i, n):
    """Regret that learner i promises after n >= 1 rounds, plus the concentration of rewards."""
    spread = n * (1.0 + p.sigma * p.sigma)
    log = 3.0 * math.log(p.T) + math.log(p.L.shape[0] * max(math.log(spread), 1.0) / p.failure)
    return p.L[i] * n ** p.alpha[i] + p.p * np.sqrt(spread * log)


@jit
def choose(p, s):
    """Lines 9 and 10: the active learner with the largest bound; those never asked come first."""
    best, chosen = -np.inf, -1
    for i in range(p.L.shape[0]):
        if s.active[i] and s.counts[i] == 0 and (chosen < 0 or p.R[i] < p.R[chosen]):
            chosen = i
    if chosen >= 0:
        return chosen
    for i in range(p.L.shape[0]):
        if s.active[i]:
            n = float(s.counts[i])
            bound = s.total[i] / n + min(1.0, promise(p, i, n) / n) - p.R[i] / p.T
            if bound > best:
                best, chosen = bound, i
    return chosen


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
    i = s.base[0]
    return anytime.select(p.bases[i], s.bases[i], X, rng)


@jit
def update(p, s, arm, x, r, rng):
    """The serving learner learns from reward r on context x (d,); then the next one is chosen."""
    i = s.base[0]
    learner = s.bases[i]
    anytime.update(p.bases[i], learner, arm, x, r, rng)
    record(p, s, i, learner.run.message[p.d])
    s.t[0] += 1
    s.base[0] = choose(p, s)


play = plain_loop(select, update)


def need_bases(bases, T: int):
    """Base learners' parameters in the anytime form.  Raises ValueError if they do not match."""
    params = []
    for i, b in enumerate(bases):
        q = getattr(b, "params", None)
        if isinstance(q, OnlineParams):
            if q.T < T:
                raise ValueError(f"bases[{i}] must have a horizon of at least {T=}; got {q.T}")
            q = of_epochs([q])
        if not isinstance(q, anytime.Params):
            raise ValueError(
                f"bases[{i}] must be an online_linucb or anytime_linucb; got {shown(b)}"
            )
        params.append(q)
    messages = {(b.guarantee, q.d, q.sigma, q.offset) for b, q in zip(bases, params, strict=True)}
    if len(messages) > 1:
        raise ValueError(f"bases must share d, noise, universe, guarantee; got {messages}")
    return tuple(params)


def need_promises(L, alpha, R, M: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(L, alpha, R) as arrays (M,): L > 0, alpha in (0, 1), R >= 0; a number stands for all M."""
    L, alpha, R = (
        np.full(M, need_float(name, v)) if np.isscalar(v) else need_array(name, v, (M,))
        for name, v in (("L", L), ("alpha", alpha), ("R", R))
    )
    if not ((L > 0) & (alpha > 0) & (alpha < 1) & (R >= 0)).all():
        wanted = "L must be above 0, alpha in (0, 1) and R at least 0"
        raise ValueError(f"{wanted} for every learner; got {L=}, {alpha=}, {R=}")
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
    """The private bandit combiner (Algorithm 2) over several Online LinUCBs.

    Parameters
    ----------
    bases : policies made by `online_linucb` or `anytime_linucb`, with the same d, noise and
        guarantee.
    T : horizon in rounds, at least 2.
    constants : "practical"; or "theory", `theory_constants` for the base learners' epsilon, where
        L, alpha and R are not read.
    L, alpha, R : L > 0, alpha in (0, 1) (None: 3/4 for anytime learners, 1/2 for the others) and
        R >= 0, numbers, or sequences with one number per learner.
    p : multiple of the concentration term, at least 0.
    failure : in (0, 1); None: 1/T.

    Returns
    -------
    Policy, whose guarantee is that of one base learner.

    Raises
    ------
    ValueError on anything else.

    Examples
    --------
    >>> narrow, wide = (online_linucb(2, 50, epsilon=1.0, delta=0.1, width=w) for w in (1.0, 9.0))
    >>> combiner([narrow, wide], 50).name
    'Combiner of 2'
    """
    T = need_int("T", T, 2, LARGEST)
    need_choice("constants", constants, ("practical", "theory"))
    bases = tuple(need_members("bases", bases))
    params, M, guarantee = need_bases(bases, T), len(bases), bases[0].guarantee
    failure = 1.0 / T if failure is None else need_probability("failure", failure)
    if constants == "theory":
        epsilon = (guarantee.claimed or (guarantee.epsilon,))[0]
        c = theory_constants(params[0].d, T, epsilon, failure, M)
        L, alpha, R = c.L, c.alpha, c.R
    elif alpha is None:
        alpha = [0.75 if isinstance(b.params, anytime.Params) else 0.5 for b in bases]
    promises, p = need_promises(L, alpha, R, M), need_float("p", p, 0.0)
    first = params[0]
    return Policy(
        f"Combiner of {M}",
        Params(first.d, T, first.sigma, *promises, p, failure, params),
        init,
        select,
        update,
        play,
        guarantee,
        universe=linear_universe(first.offset),
        audit=AuditSpec(own_attacks, measured=audit_instances),
    )


def own_attacks(policy: Policy):
    """One user's message, which is that of the learners."""
    return anytime.own_attacks(policy._replace(params=policy.params.bases[0]))


def audit_instances() -> tuple[AuditInstance, ...]:
    """Rounds of two learners, in both calibrations."""

    def of_two(calibration):
        options = {"epsilon": 1.0, "delta": 0.1, "calibration": calibration}
        one = anytime_linucb(2, lambda_min=1.0, **options)
        return combiner([one, online_linucb(2, 8, **options)], 8)

    return tuple(AuditInstance(of_two(c), RELEASES, rounds=3) for c in ("corrected", "paper"))
