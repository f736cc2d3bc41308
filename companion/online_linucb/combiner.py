"""Online LinUCB without a horizon, and the combiner of several Online LinUCBs.

Algorithm 9 starts Algorithm 1 anew for 1, 2, 4, 8, ... rounds.  Epoch m plays 2^m rounds
with the experts, width and clip of horizon 2^m and with the extra perturbation Delta_m^2
= 2^(-m k) wherever lambda_min <= 2^(-m k).

Algorithm 2 is UCB over M base learners, each an Algorithm 1 or 9 with its own state,
which promises a regret of L_i n^alpha_i after n rounds.  By its line numbers:
    4       all base learners are active
    9, 10   i = argmax of the bound: the mean noisy reward
            + min(1, (promise + concentration)/n_i) - R_i/T
    13, 14  base learner i serves the user, who sends the noisy pair
    16..19  i alone learns from the pair
    20, 21  i is dropped if sum(its mean so far - its reward) >= promise + concentration

Source: "Improved rate for locally differentially private linear bandits", Algorithms 9
and 2, the latter after Cutkosky et al. (2020); constants of Theorem 4.1 with P = P' = 1.
Privacy: neighbours, model and calibration of `online_linucb`.  A user is in one epoch, is
asked once, by one base learner, and sends the same message as there; which one asks
follows from earlier messages.  So nothing composes, and the guarantee is that of one
message, which all base learners share.
Differs, Algorithm 9: the last of the EPOCHS = 40 epochs (10^12 rounds) does not end.
What an epoch learned is forgotten at its end, as in the paper, though messages could be
used again at no privacy cost.
Differs, Algorithm 2: line 9 uses n_i before it is known: here it is that before the
round, and n_i = 0 means +infinity (ties: smallest R_i).  The inner logarithm is at least
1.  The last base learner is never dropped.  The default constants are practical ones:
with those of the theorem R_i/T is far above any reward, so that R_i alone decides.
"""

import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from companion.core import Policy, linear_universe, plain_loop
from companion.jit import jit
from companion.online_linucb.online_linucb import Maler, online_linucb, reset
from companion.online_linucb.online_linucb import Params as EpochParams
from companion.online_linucb.online_linucb import State as EpochState
from companion.online_linucb.online_linucb import init as init_epoch
from companion.online_linucb.online_linucb import select as select_in_epoch
from companion.online_linucb.online_linucb import update as update_in_epoch
from companion.validate import (
    LARGEST,
    need_array,
    need_choice,
    need_float,
    need_int,
    need_members,
    need_method,
    need_positive,
    need_probability,
    shown,
)

# Algorithm 9: epochs of 1, 2, 4, ... rounds

EPOCHS = 40


class AnytimeParams(NamedTuple):
    """Algorithm 1's parameters; those that change have an entry per epoch."""

    d: int  # dimension of a context
    sigma: float  # standard deviation of the noise on every coordinate of x and on y
    offset: bool  # universe that records are clipped into: offset sphere, or unit ball
    ball: float  # D
    horizon: np.ndarray  # (E,) rounds of the epoch; the last one does not end
    jitter: np.ndarray  # (E,) Delta^2
    width: np.ndarray  # (E,) beta
    clip: np.ndarray  # (E,) G
    n_rates: np.ndarray  # (E,) Maler's learning rates


class AnytimeState(NamedTuple):
    t: np.ndarray  # (1,) rounds played in all epochs
    epoch: np.ndarray  # (1,) m
    run: EpochState  # of the running epoch; `clipped` counts over all epochs


def of_epochs(runs) -> AnytimeParams:
    """`AnytimeParams` from Algorithm 1's parameters, one per epoch."""
    first = runs[0]
    return AnytimeParams(
        d=first.d,
        sigma=first.sigma,
        offset=first.offset,
        ball=first.maler.ball,
        horizon=np.array([q.T for q in runs]),
        jitter=np.array([q.jitter for q in runs]),
        width=np.array([q.width for q in runs]),
        clip=np.array([q.maler.gradient for q in runs]),
        n_rates=np.array([q.maler.n for q in runs]),
    )


@jit
def epoch_params(p, m):
    """Parameters of Algorithm 1 in epoch m."""
    maler = Maler(
        d=p.d,
        T=p.horizon[m],
        ball=p.ball,
        gradient=p.clip[m],
        n=p.n_rates[m],
    )
    return EpochParams(
        d=p.d,
        T=p.horizon[m],
        sigma=p.sigma,
        jitter=p.jitter[m],
        offset=p.offset,
        width=p.width[m],
        maler=maler,
    )


def init_anytime(p: AnytimeParams) -> AnytimeState:
    """State before the first round, with room for the epoch that has most learning
    rates."""
    run = init_epoch(epoch_params(p, int(np.argmax(p.n_rates))))
    reset(epoch_params(p, 0), run)
    return AnytimeState(
        t=np.zeros(1, np.int64),
        epoch=np.zeros(1, np.int64),
        run=run,
    )


@jit
def select_anytime(p, s, X, rng):
    """The optimistic row of X (K, d)."""
    return select_in_epoch(epoch_params(p, s.epoch[0]), s.run, X, rng)


@jit
def update_anytime(p, s, arm, x, r, rng):
    """Algorithm 1 learns from reward r on context x (d,); it is reset where an epoch
    ends."""
    m = s.epoch[0]
    update_in_epoch(epoch_params(p, m), s.run, arm, x, r, rng)
    s.t[0] += 1
    if s.run.t[0] == p.horizon[m] and m + 1 < p.horizon.shape[0]:
        s.epoch[0] = m + 1
        reset(epoch_params(p, m + 1), s.run)


def anytime_linucb(
    d: int,
    *,
    epsilon: float,
    delta: float,
    k: float = 0.125,
    lambda_min: float = 0.0,
    calibration: Literal["corrected", "paper"] = "corrected",
    universe: Literal["ball", "offset_sphere"] = "ball",
    learner: Literal["maler", "ogd"] = "maler",
    width: Callable[[float, int], float] | None = None,
    clip: Callable[[float, float, int], float] | None = None,
    ball: float = 1.0,
) -> Policy:
    """Online LinUCB without a horizon (Algorithm 9).

    Parameters
    ----------
    d, epsilon, delta, calibration, universe, learner, ball : as in `online_linucb`;
        without noise there is no perturbation.
    k : power of the perturbation, above 0.
    lambda_min : in [0, 1], a known lower bound on the least eigenvalue of E[x x'] of the
        played contexts (0: nothing is known, every epoch perturbs).
    width : function (sigma, horizon) of an epoch; None: as in `online_linucb`.
    clip : function (sigma, jitter, d) of an epoch; None: `practical_clip`.

    Returns
    -------
    Policy, whose guarantee is that of one message.

    Raises
    ------
    ValueError on anything else, a number for width or clip included.

    Examples
    --------
    >>> print(anytime_linucb(2, epsilon=1.0, delta=0.1).guarantee)
    (1, 0.1)-local DP, replace one record, per user (ball)
    """
    k = need_positive("k", k)
    lambda_min = need_float("lambda_min", lambda_min, 0.0, 1.0)
    if width is not None:
        need_method("width", width)
    if clip is not None:
        need_method("clip", clip)

    def of_horizon(T, jitter, beta, G):
        return online_linucb(
            d,
            T,
            epsilon=epsilon,
            delta=delta,
            calibration=calibration,
            universe=universe,
            learner=learner,
            width=beta,
            clip=G,
            jitter=jitter,
            ball=ball,
        )

    first = of_horizon(1, 0.0, None, None)
    sigma = first.params.sigma
    runs = []
    for m in range(EPOCHS):
        jitter = 2.0 ** (-m * k)
        if sigma == 0.0 or lambda_min > jitter:
            jitter = 0.0
        beta = None if width is None else width(sigma, 2**m)
        G = None if clip is None else clip(sigma, jitter, d)
        runs.append(of_horizon(2**m, jitter, beta, G))
    return first._replace(
        name=f"{first.name}, anytime",
        params=of_epochs([run.params for run in runs]),
        init=init_anytime,
        select=select_anytime,
        update=update_anytime,
        play=None,
        private=("run.clipped",),
    )


# Algorithm 2: UCB over base learners


class Constants(NamedTuple):
    """Theorem 4.1, one entry per base learner; `guess` is lambda_i."""

    guess: np.ndarray
    L: np.ndarray
    alpha: np.ndarray
    R: np.ndarray


def theory_constants(d: int, T: int, epsilon: float, failure: float, M=None) -> Constants:
    """Constants of Theorem 4.1 for M base learners (None: the theorem's ceil(log2(T)/8) +
    1).

    d >= 1, T >= 2, epsilon in (0, inf), failure in (0, 1).  Raises ValueError on anything
    else.

    >>> (theory_constants(5, 20000, 1.0, 0.1).R / 20000).round(1).tolist()
    [36.9, 6.1, 3.2]
    """
    d = need_int("d", d, 1, LARGEST)
    T = need_int("T", T, 2, LARGEST)
    epsilon = need_positive("epsilon", epsilon)
    M = int(np.ceil(np.log2(T) / 8)) + 1 if M is None else need_int("M", M, 1, LARGEST)
    failure = need_probability("failure", failure)
    log = np.log(T) ** 1.5
    root = epsilon * T**0.125
    guess = 2.0 ** np.arange(M) / T**0.125
    L = log * np.sqrt(d) / (epsilon * guess)
    eta = np.full(M, epsilon / (log * np.sqrt(d * T)))
    alpha = np.full(M, 0.5)
    L[0] = log * np.sqrt(d) * (root + 1) / root
    eta[0] = root / (np.sqrt(d * T) * (log * root + 1))
    alpha[0] = 0.75
    inner = (1 - alpha) / alpha
    factor = (1 - alpha) ** inner * (1 + alpha) ** (1 / alpha) / alpha**inner
    R = L * T**alpha
    R += factor * L ** (1 / alpha) * T * eta**inner
    R += 288.0 * (3 * np.log(T) + np.log(M / failure)) * T * eta
    R += (1 / eta).sum() - 1 / eta
    return Constants(guess=guess, L=L, alpha=alpha, R=R)


class Params(NamedTuple):
    d: int  # dimension of a context
    T: int  # horizon
    sigma: float  # standard deviation of the noise on a reward
    L: np.ndarray  # (M,) promised regret after n rounds: L n^alpha
    alpha: np.ndarray  # (M,)
    R: np.ndarray  # (M,) regret targets
    p: float  # multiple of the concentration term
    failure: float  # alpha in the paper
    bases: tuple  # M base learners' parameters, all in the form of Algorithm 9


class State(NamedTuple):
    t: np.ndarray  # (1,) rounds played
    serving: np.ndarray  # (1,) base learner that serves the next user
    counts: np.ndarray  # (M,) rounds n_i of every base learner
    total: np.ndarray  # (M,) its noisy rewards, summed
    excess: np.ndarray  # (M,) sum of (mean before the round - noisy reward)
    active: np.ndarray  # (M,) base learners not yet dropped
    bases: tuple  # M base learners' states


def init(p: Params) -> State:
    """State before the first round (lines 2 to 5): base learners at their start, all
    active."""
    M = len(p.bases)
    return State(
        t=np.zeros(1, np.int64),
        serving=np.array([np.argmin(p.R)]),
        counts=np.zeros(M, np.int64),
        total=np.zeros(M),
        excess=np.zeros(M),
        active=np.ones(M, bool),
        bases=tuple(init_anytime(q) for q in p.bases),
    )


@jit
def promise(p, i, n):
    """Regret that base learner i promises after n >= 1 rounds, plus the rewards'
    concentration."""
    spread = n * (1.0 + p.sigma * p.sigma)
    often = p.L.shape[0] * max(math.log(spread), 1.0)
    log = 3.0 * math.log(p.T) + math.log(often / p.failure)
    return p.L[i] * n ** p.alpha[i] + p.p * np.sqrt(spread * log)


@jit
def choose(p, s):
    """Lines 9, 10: the active base learner of the largest bound, +infinity if it was
    never asked; the smaller R_i on ties."""
    best = -np.inf
    chosen = -1
    for i in range(p.L.shape[0]):
        if not s.active[i]:
            continue
        n = float(s.counts[i])
        bound = np.inf
        if n > 0.0:
            bound = s.total[i] / n + min(1.0, promise(p, i, n) / n) - p.R[i] / p.T
        if bound > best or (bound == best and p.R[i] < p.R[chosen]):
            best = bound
            chosen = i
    return chosen


@jit
def record(p, s, i, y):
    """Lines 16 to 21: count noisy reward y of base learner i; drop i if its rewards fell
    below its own mean so far by `promise` (regret bound and concentration) or more in
    total."""
    mean = s.total[i] / s.counts[i] if s.counts[i] > 0 else 0.0
    s.excess[i] += mean - y
    s.counts[i] += 1
    s.total[i] += y
    if s.active.sum() > 1 and s.excess[i] >= promise(p, i, float(s.counts[i])):
        s.active[i] = False


@jit
def select(p, s, X, rng):
    """Line 13: the row of X (K, d) that the serving base learner plays."""
    i = s.serving[0]
    return select_anytime(p.bases[i], s.bases[i], X, rng)


@jit
def update(p, s, arm, x, r, rng):
    """The serving one learns from reward r on context x (d,); then the next one is
    chosen."""
    i = s.serving[0]
    update_anytime(p.bases[i], s.bases[i], arm, x, r, rng)
    record(p, s, i, s.bases[i].run.message[p.d])
    s.t[0] += 1
    s.serving[0] = choose(p, s)


play = plain_loop(select, update)


def need_bases(bases, T: int):
    """Parameters of base learners in the form of Algorithm 9; ValueError if they do not
    match."""
    params = []
    for i, b in enumerate(bases):
        q = getattr(b, "params", None)
        if isinstance(q, EpochParams):
            if q.T < T:
                raise ValueError(
                    f"bases[{i}] must have a horizon of at least {T=}; got {q.T}"
                )
            q = of_epochs([q])
        if not isinstance(q, AnytimeParams):
            raise ValueError(
                f"bases[{i}] must be online_linucb or anytime_linucb; got {shown(b)}"
            )
        params.append(q)
    messages = {
        (b.guarantee, q.d, q.sigma, q.offset) for b, q in zip(bases, params, strict=True)
    }
    if len(messages) > 1:
        raise ValueError(
            f"bases must share d, noise, universe, guarantee; got {messages}"
        )
    return tuple(params)


def need_each(name: str, value, M: int) -> np.ndarray:
    """`value` as an array (M,); a number stands for all M."""
    if np.isscalar(value):
        return np.full(M, need_float(name, value))
    return need_array(name, value, (M,))


def need_promises(L, alpha, R, M: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(L, alpha, R) as arrays (M,): L > 0, alpha in (0, 1), R >= 0; a number stands for
    all M."""
    L = need_each("L", L, M)
    alpha = need_each("alpha", alpha, M)
    R = need_each("R", R, M)
    if not ((L > 0) & (alpha > 0) & (alpha < 1) & (R >= 0)).all():
        wanted = "L must be above 0, alpha in (0, 1) and R at least 0"
        raise ValueError(f"{wanted} for every base learner; got {L=}, {alpha=}, {R=}")
    return L, alpha, R


def combiner(
    bases,
    T: int,
    *,
    constants: Literal["practical", "theory"] = "practical",
    L: float | Sequence[float] = 0.3,
    alpha: float | Sequence[float] | None = None,
    R: float | Sequence[float] = 0.0,
    p: float = 1.0,
    failure: float | None = None,
) -> Policy:
    """The private bandit combiner (Algorithm 2) over several Online LinUCBs.

    Parameters
    ----------
    bases : policies made by `online_linucb` or `anytime_linucb`, with the same d, noise
        and guarantee.
    T : horizon in rounds, at least 2.
    constants : "practical"; or "theory", `theory_constants` for the base learners'
        epsilon, where L, alpha and R are not read, and the first base learner is taken
        for Algorithm 9.
    L, alpha, R : L > 0, alpha in (0, 1) (None: 3/4 for Algorithm 9, 1/2 for the others)
        and R >= 0, numbers, or sequences with one number per base learner.
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
    >>> narrow = online_linucb(2, 50, epsilon=1.0, delta=0.1, width=1.0)
    >>> wide = online_linucb(2, 50, epsilon=1.0, delta=0.1, width=9.0)
    >>> combiner([narrow, wide], 50).name
    'Combiner of 2'
    """
    T = need_int("T", T, 2, LARGEST)
    need_choice("constants", constants, ("practical", "theory"))
    bases = tuple(need_members("bases", bases))
    params = need_bases(bases, T)
    M = len(bases)
    guarantee = bases[0].guarantee
    failure = 1.0 / T if failure is None else need_probability("failure", failure)
    if constants == "theory":
        epsilon = guarantee.claimed[0] if guarantee.claimed else guarantee.epsilon
        c = theory_constants(params[0].d, T, epsilon, failure, M)
        L = c.L
        alpha = c.alpha
        R = c.R
    elif alpha is None:
        alpha = [0.75 if isinstance(b.params, AnytimeParams) else 0.5 for b in bases]
    L, alpha, R = need_promises(L, alpha, R, M)
    first = params[0]
    q = Params(
        d=first.d,
        T=T,
        sigma=first.sigma,
        L=L,
        alpha=alpha,
        R=R,
        p=need_float("p", p, 0.0),
        failure=failure,
        bases=params,
    )
    counts = [f"bases.{i}.run.clipped" for i in range(M)]
    return Policy(
        name=f"Combiner of {M}",
        params=q,
        init=init,
        select=select,
        update=update,
        play=play,
        guarantee=guarantee,
        universe=linear_universe(first.offset),
        releases=bases[0].releases,
        private=tuple(counts),
    )
