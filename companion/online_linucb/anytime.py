"""Online LinUCB without a horizon: Algorithm 1 is started anew for 1, 2, 4, 8, ... rounds.

Source: "Improved rate for locally differentially private linear bandits", Algorithm 9; base
learner 1 of its combiner (Algorithm 2) is this one with k = 1/8.
Epoch m plays 2^m rounds with the learner, width and clip of horizon 2^m and with the extra
perturbation Delta_m^2 = 2^(-m k) wherever lambda_min <= 2^(-m k).
Privacy: neighbours, model and calibration of `online_linucb`.  A user is in one epoch and sends the
same message as there, so nothing composes and the guarantee is that of one message.
Differs: the last of the EPOCHS = 40 epochs (10^12 rounds) does not end.  What an epoch learned is
forgotten at its end, as in the paper, though messages could be used again at no privacy cost.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from companion.accounting.audit import AuditInstance, AuditSpec
from companion.core import Policy, linear_universe, plain_loop
from companion.jit import jit
from companion.online_linucb.online_linucb import (
    RELEASES,
    Learner,
    message_attack,
    online_linucb,
    reset,
)
from companion.online_linucb.online_linucb import Params as BaseParams
from companion.online_linucb.online_linucb import State as BaseState
from companion.online_linucb.online_linucb import init as base_init
from companion.online_linucb.online_linucb import select as base_select
from companion.online_linucb.online_linucb import update as base_update
from companion.validate import need_float, need_positive

EPOCHS = 40


class Params(NamedTuple):
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


class State(NamedTuple):
    t: np.ndarray  # (1,) rounds played in all epochs
    epoch: np.ndarray  # (1,) m
    run: BaseState  # of the running epoch; `clipped` counts over all epochs


@jit
def epoch_params(p, m):
    """Parameters of Algorithm 1 in epoch m."""
    learner = Learner(p.d, p.horizon[m], p.ball, p.clip[m], p.n_rates[m])
    return BaseParams(p.d, p.horizon[m], p.sigma, p.jitter[m], p.offset, p.width[m], learner)


def init(p: Params) -> State:
    """State before the first round, with room for the epoch that has most learning rates."""
    run = base_init(epoch_params(p, int(np.argmax(p.n_rates))))
    reset(epoch_params(p, 0), run)
    return State(np.zeros(1, np.int64), np.zeros(1, np.int64), run)


@jit
def select(p, s, X, rng):
    """The optimistic row of X (K, d)."""
    return base_select(epoch_params(p, s.epoch[0]), s.run, X, rng)


@jit
def update(p, s, arm, x, r, rng):
    """Algorithm 1 learns from reward r on context x (d,); it is reset where an epoch ends."""
    m = s.epoch[0]
    base_update(epoch_params(p, m), s.run, arm, x, r, rng)
    s.t[0] += 1
    if s.run.t[0] == p.horizon[m] and m + 1 < p.horizon.shape[0]:
        s.epoch[0] = m + 1
        reset(epoch_params(p, m + 1), s.run)


play = plain_loop(select, update)


def of_epochs(runs) -> Params:
    """`Params` from Algorithm 1's parameters, one per epoch."""
    first = runs[0]
    each = [(q.T, q.jitter, q.width, q.learner.gradient, q.learner.n) for q in runs]
    arrays = [np.array(column) for column in zip(*each, strict=True)]
    return Params(first.d, first.sigma, first.offset, first.learner.ball, *arrays)


def anytime_linucb(
    d: int,
    *,
    epsilon: float,
    delta: float,
    k: float = 0.125,
    lambda_min: float = 0.0,
    calibration: str = "corrected",
    universe: str = "ball",
    learner: str = "maler",
    width: Callable[[float, int], float] | None = None,
    clip: Callable[[float, float, int], float] | None = None,
    ball: float = 1.0,
) -> Policy:
    """Online LinUCB without a horizon (Algorithm 9).

    Parameters
    ----------
    d, epsilon, delta, calibration, universe, learner, ball : as in `online_linucb`; without noise
        there is no perturbation.
    k : power of the perturbation, above 0.
    lambda_min : in [0, 1], what is known of the second moment of the played contexts (0: nothing,
        every epoch perturbs).
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
    k, lambda_min = need_positive("k", k), need_float("lambda_min", lambda_min, 0.0, 1.0)
    takes = {"width": (width, "(sigma, horizon)"), "clip": (clip, "(sigma, jitter, d)")}
    for name, (given, arguments) in takes.items():
        if not (callable(given) or given is None):
            raise ValueError(
                f"{name} must be None or a function {arguments} that returns a number, because "
                f"every epoch has its own; got {name}={given!r}"
            )
    options = {"calibration": calibration, "universe": universe, "learner": learner}
    options |= {"epsilon": epsilon, "delta": delta, "ball": ball}
    first = online_linucb(d, 1, **options)
    sigma, runs = first.params.sigma, []
    for m in range(EPOCHS):
        jitter = 2.0 ** (-m * k)
        jitter = jitter if sigma > 0.0 and lambda_min <= jitter else 0.0
        beta = None if width is None else width(sigma, 2**m)
        G = None if clip is None else clip(sigma, jitter, d)
        runs.append(online_linucb(d, 2**m, jitter=jitter, width=beta, clip=G, **options).params)
    p = of_epochs(runs)
    return Policy(
        f"{first.name}, anytime",
        p,
        init,
        select,
        update,
        play,
        first.guarantee,
        universe=linear_universe(p.offset),
        delayed_feedback=True,
        audit=AuditSpec(own_attacks, measured=audit_instances),
    )


def own_attacks(policy: Policy):
    """One user's message in the last epoch, which perturbs least."""
    return message_attack(epoch_params(policy.params, len(policy.params.horizon) - 1))


def audit_instances() -> tuple[AuditInstance, ...]:
    """Rounds of two epochs, in both calibrations."""
    return tuple(
        AuditInstance(
            anytime_linucb(2, epsilon=1.0, delta=0.1, lambda_min=1.0, calibration=c),
            RELEASES,
            rounds=3,
        )
        for c in ("corrected", "paper")
    )
