"""RegCB.Elimination with LPLR oracles: sqrt(T) regret under pure local privacy, message by message.

Source: Algorithms 1 to 6 of "On the optimal regret of locally private linear contextual bandit"
(Li, Simchi-Levi and Wang, 2024).
Neighbours: replace the user's (x, a, y).  Model: local, delta = 0.
Calibration: "corrected" (private; `lplr.params`) or "paper" (the printed noises, which are not
private for any epsilon).
Differs: the default is one pooled oracle on phi(x, a) (all actions share theta); per_action gives
one oracle per action as printed, where every oracle but that of the arm played gets the dummy.
Users left over by the 2d stages, and those of the last epoch, whose oracle would never be used, are
not asked.
Records outside the unit ball or [-1, 1] are clipped before anything else.
Cost: per round O(epochs K d^2) to select, from epochs that learned something, and O(bins d^3) to
send a message about the bins of a layer.
"""

from typing import NamedTuple

import numpy as np

from companion.accounting.audit import AuditInstance, AuditSpec
from companion.accounting.privacy import NO_PRIVACY
from companion.core import Policy, Universe
from companion.jit import jit
from companion.kernels.mechanisms import clip_to_ball
from companion.lplr import elimination as rounds
from companion.lplr import messages
from companion.lplr.bins import COUNT, SPREAD, room
from companion.lplr.elimination import LPLR, Arms, Clock, Memory, Oracle, answer, hear
from companion.lplr.fit import send
from companion.lplr.messages import past
from companion.lplr.params import MAX_DIMENSION, MAX_USERS, guarantee, lplr_params, widths
from companion.validate import need_choice, need_int, need_options

MAX_NUMBERS = 5 * 10**7  # memory of a policy, in floats


class Params(NamedTuple):
    d: int  # dimension of a context
    T: int  # horizon
    K: int  # number of arms
    per_action: bool  # one oracle per arm (True) or one pooled oracle
    n0: int  # epoch tau = 1, 2, ... has 2^tau n0 rounds
    oracle: Oracle


class State(NamedTuple):
    clock: Clock
    memory: Memory  # one oracle, or one per arm, per epoch
    arms: Arms  # scratch
    x: np.ndarray  # (d,) clipped context
    dummy: np.ndarray  # (d,) zeros, which the oracles of arms not played are fed with
    residual: np.ndarray  # (d,) scratch


def init(p: Params) -> State:
    """State before the first round."""
    own = rounds.memory(p.oracle, rounds.epochs(p.T, p.n0) * (p.K if p.per_action else 1))
    return State(Clock(0, 0, 0), own, rounds.arms(p.K), *[np.zeros(p.d) for _ in range(3)])


def universe_of(p: Params) -> Universe:
    """What is not clipped: the unit ball, rewards in [-1, 1]."""
    return Universe()


@jit
def oracle_of(p, epoch, k):
    """Number of the oracle that an epoch keeps for arm k."""
    return epoch * p.K + k if p.per_action else epoch


@jit
def select(p, s, X, rng):
    """Algorithm 1, lines 6 to 10: a random arm of X (K, d) that no finished epoch eliminates."""
    alive, f, width = s.arms
    rounds.revive(alive)
    for epoch in range(s.clock.epoch):
        if not (p.per_action or rounds.knows(p.oracle, s.memory, epoch)):
            continue  # a shortcut: this epoch would eliminate nobody
        for k in range(p.K):
            if alive[k] == 1:
                clip_to_ball(X[k], 0.0, s.x)
                f[k], width[k] = answer(p.oracle, s.memory, oracle_of(p, epoch, k), s.x, s.residual)
        rounds.eliminate(f, width, alive)  # line 8
    return rounds.pick(alive, rng)  # line 10


@jit
def update(p, s, arm, x, r, rng):
    """Algorithm 1, line 11: the user's message to every oracle of the epoch."""
    epoch, user = s.clock.epoch, s.clock.t - s.clock.begin
    length = rounds.rounds_of(p.n0, epoch)
    y, _ = clip_to_ball(x, r, s.x)
    if s.clock.begin + length < p.T:
        for k in range(p.K if p.per_action else 1):
            phi = s.x if k == arm or not p.per_action else s.dummy
            i = oracle_of(p, epoch, k)
            hear(p.oracle, s.memory, i, user, length, phi, y, rng, s.residual)
    return State(rounds.tick(s.clock, p.n0), s.memory, s.arms, s.x, s.dummy, s.residual)


@jit
def play(p, s, X, R, rng, arms):
    """Play n rounds: contexts X (n, K, d), rewards R (n, K); reads only R[t, arms[t]]."""
    for t in range(X.shape[0]):
        arms[t] = select(p, s, X[t], rng)
        s = update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)
    return s


def lplr(
    d: int,
    T: int,
    K: int,
    *,
    epsilon: float = 1.0,
    per_action: bool = False,
    n0: int = 64,
    **options,
) -> Policy:
    """RegCB.Elimination with LPLR oracles for T rounds with K arms each.

    d >= 1 (practical: up to 4); T >= 4d; K >= 1; epsilon in (0, inf], pure local privacy (inf: no
    noise); per_action: one oracle per arm instead of a pooled one; n0 >= d; further options as in
    `companion.lplr.params.lplr_params` (gamma, calibration, constants, z, ...).  Raises ValueError
    on anything else.

    >>> float(lplr(2, 1000, 5).guarantee.epsilon)
    1.0
    """
    need_options("lplr", options, lplr_params, widths)
    policy = eliminating(LPLR, d, T, K, epsilon, per_action, n0, options)
    return policy._replace(guarantee=guarantee(policy.params.oracle.lplr, float(epsilon)))


def eliminating(
    kind: int,
    d: int,
    T: int,
    K: int,
    epsilon: float,
    per_action: bool,
    n0: int,
    options,
):
    """Elimination with an oracle of this kind, checked; its guarantee is still to be filled in."""
    d = need_int("d", d, 1, MAX_DIMENSION)
    T, K = need_int("T", T, 4 * d, MAX_USERS), need_int("K", K, 1)
    n0 = need_int("n0", n0, d, MAX_USERS)
    per_action = need_choice("per_action", per_action, (True, False))
    o = rounds.oracle(kind, d, T, epsilon, options)
    copies = rounds.epochs(T, n0) * (K if per_action else 1)
    size = copies * max(room(o.lplr), 2) * (2 * d * d + d + 9) + 3 * K
    if size > MAX_NUMBERS:
        raise ValueError(f"T, d and K need {size} numbers of memory, more than {MAX_NUMBERS}")
    p = Params(d, T, K, per_action, n0, o)
    return Policy(
        "LPLR",
        p,
        init,
        select,
        update,
        play,
        NO_PRIVACY,
        universe=universe_of(p),
        delayed_feedback=True,
        audit=AuditSpec(own_attacks, attack_instances, audit_instances),
    )


def own_attacks(policy: Policy):
    """`audit.Attack`: one user's message, for d = 1."""
    return messages.attack(policy.params.oracle.lplr)


def attack_instances():
    """What the audits attack, in both calibrations; ours at a budget at which few messages show all
    of the loss."""
    own = lplr(1, 64, 3, epsilon=3.0, M=2, n0=8)
    return own, lplr(1, 64, 3, M=2, n0=8, calibration="paper")


SECRET = ("x", "residual", "arms")  # fields of the State that are scratch on the user's device


def message(_, p: Params, tree, stage: int, *user) -> list[tuple[str, np.ndarray]]:
    """What `send` lets out, for `companion.accounting.audit`."""
    here = slice(*tree.start[stage // 2 : stage // 2 + 2])
    if stage % 2 == 1:
        return [("laplace", tree.stat[here, SPREAD])]
    laplace = tree.stat[here, COUNT], tree.vec[here]
    return [*(("laplace", a) for a in laplace), ("wishart", tree.mat[here])]


def second_layer(policy: Policy, t: int) -> State:
    """A State in which the server has made up layer 1: direction (1, -1), a coefficient of 5."""
    s, tree = init(policy.params), past(policy.params.oracle.lplr, 5.0, 7.0)
    tree.frame[:] = np.sqrt(0.5) * np.array([[1.0, -1.0], [1.0, 1.0]])
    for several, one in zip(s.memory.forest, tree, strict=True):
        several[0] = one
    return s._replace(clock=Clock(t, 0, 0))


def audit_instances() -> tuple[AuditInstance, ...]:
    """What the laboratory of `companion.audits` plays: the messages of three
    stages, and of one oracle per arm; records on the edges of both bins, in both layers.
    """
    options = {"n0": 8, "gamma": 20.0, "M": 2}
    c, r = np.meshgrid([-0.99, -0.25, 0.0, 0.25, 0.99], [-0.96, -0.05, 0.0, 0.05, 0.96])
    x = np.sqrt(0.5) * np.column_stack([(c + r).ravel(), (r - c).ravel()])
    records = np.vstack([np.column_stack([x, np.full(len(x), y)]) for y in (-1.0, 1.0)])
    one, apart = lplr(2, 64, 3, **options), lplr(2, 64, 2, per_action=True, **options)
    printed = lplr(2, 64, 3, calibration="paper", **options)
    pasts = (one, None), (one, second_layer(one, 9)), (one, second_layer(one, 12))
    pasts = *pasts, (apart, None), (printed, None)
    return tuple(AuditInstance(q, {send: message}, SECRET, s, 2, records) for q, s in pasts)
