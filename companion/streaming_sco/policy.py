"""Algorithm 3: a bandit with one streaming learner per arm and synthetic updates of the others.

Source: the paper, Algorithm 3 and Theorem 4.6.
Model: joint differential privacy.  Changing a user may change the arm that was played, and then two
learners: the one that lost the record sees a synthetic one instead, whose gradient is exactly 0, so
each of the two moves by half of what replacing a record moves one.  Two halves cost what one whole
costs, or less (see the chapter): the guarantee is that of a single learner, provided that every arm
is updated in every round.
Cost: O(K d) time per round, O(K d) memory, times log T with the tree; 5 times the floor of
`kernels.optimism` with d normals for every arm.
Differs: local clocks (the paper's global t breaks the sum after the forced rounds); leaves and
rewards are clipped; the learner may be the tree of Algorithm 1 on the l_1 ball.
"""

from typing import NamedTuple

import numpy as np

from companion.accounting import audit as learned
from companion.accounting.audit import AuditInstance, AuditSpec, corners, in_both, lives, shows
from companion.accounting.lives import lived
from companion.accounting.privacy import NO_PRIVACY
from companion.core import Policy, Universe
from companion.jit import inlined, jit
from companion.kernels import glm
from companion.kernels.linalg import copy, dot
from companion.kernels.lives import live
from companion.streaming_sco import attacks
from companion.streaming_sco import calibration as noise
from companion.streaming_sco import learner as learning
from companion.streaming_sco.learner import Memory, advance, memory, publish
from companion.validate import need_choice, need_float, need_int

LEARNERS = ("tree", "argmin", "coordinates", "gumbel")
CALIBRATIONS = ("paper", "corrected")
UNIT = "user (context and rewards)"


class Params(NamedTuple):
    d: int  # dimension of the context
    K: int  # arms
    T: int  # horizon
    t0: int  # forced rounds per arm
    gap: float  # h_sub: arms within h_sub/2 of the best forced estimate are candidates
    link: int  # of `glm`
    synthetic: bool  # arms that are not played make a step on (0, zeta(0))
    learner: learning.Params
    one_context: bool  # True: all rows of X are the same context


class State(NamedTuple):
    t: int  # rounds played
    clipped: int  # records that were outside the universe
    clock: np.ndarray  # (K,) steps of every arm
    forced: np.ndarray  # (K, d) estimates at the end of the forced rounds
    arms: Memory  # of all arms: its arrays have a leading axis of length K


def init(p: Params) -> State:
    """State before the first round."""
    arms = Memory(*(np.zeros((p.K, *a.shape)) for a in memory(p.learner)))
    return State(0, 0, np.zeros(p.K, np.int64), np.zeros((p.K, p.d)), arms)


def universe_of(p: Params) -> Universe:
    """What is not clipped: ||x||_inf <= 1 and rewards within the bounds of the learner."""
    return Universe(low=p.learner.low, high=p.learner.high, norm=np.inf)


@inlined
def of_arm(m, k):
    """Memory of arm k alone; views, nothing is copied."""
    return Memory(m.theta[k], m.old[k], m.total[k], m.gradient[k], m.v[k], m.noise[k], m.x[k])


@jit
def select(p, s, X, rng):
    """The forced arm; then the best present estimate among those near the best forced one."""
    if s.t < p.K * p.t0:
        return s.t // p.t0
    x, top = X[0], -np.inf
    for k in range(p.K):
        top = max(top, glm.mean(p.link, dot(x, s.forced[k])))
    best, arm = -np.inf, 0
    for k in range(p.K):
        if glm.mean(p.link, dot(x, s.forced[k])) > top - 0.5 * p.gap:
            z = dot(x, s.arms.theta[k])
            if z > best:
                best, arm = z, k
    return arm


@jit
def update(p, s, arm, x, r, rng):
    """State after reward r on context x (d,); the arrays of s are overwritten."""
    t, clipped = s.t + 1, s.clipped
    for k in range(p.K):
        if k == arm:
            s.clock[k] += 1
            clipped += advance(p.learner, s.clock[k], of_arm(s.arms, k), x, r, rng)
        elif p.synthetic and t > p.K * p.t0:  # the record (0, zeta(0)), whose leaf is 0
            s.clock[k] += 1
            publish(p.learner, s.clock[k], of_arm(s.arms, k), rng)
    if t == p.K * p.t0:
        copy(s.arms.theta, s.forced)
    return State(t, clipped, s.clock, s.forced, s.arms)


@jit
def play(p, s, X, R, rng, arms):
    """Play n rounds: contexts X (n, K, d), rewards R (n, K); reads only R[t, arms[t]]."""
    for t in range(X.shape[0]):
        arms[t] = select(p, s, X[t], rng)
        s = update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)
    return s


@jit
def show_gradient(s, out):
    """out <- arm 0's mean gradient (d,)."""
    copy(s.arms.gradient[0], out)


@jit
def play_many(p, s, rng, lives):
    """Play as `companion.accounting.lives` says; lives show what arm 0 has released last, the
    mean gradient (d,)."""
    live(play, show_gradient, p, s, rng, lives)


def sco_bandit(
    d: int,
    K: int,
    T: int,
    *,
    epsilon: float,
    delta: float | None = None,
    t0: int = 100,
    gap: float = 1.0,
    link: str = "linear",
    radius: float = 1.0,
    label_bound: float = 1.0,
    learner: str = "tree",
    calibration: str = "corrected",
    schedule: str = "constant",
    clip: float | None = None,
    synthetic: bool = True,
) -> Policy:
    """Algorithm 3 for K >= 1 arms, T rounds and one context, ||x||_inf <= 1, per round.

    epsilon in (0, inf] (inf: no noise), delta in (0, 1) (None: 1/T); t0 >= 0 forced rounds per arm,
    K t0 < T; gap > 0 (h_sub); link: "linear", "logistic" or "probit"; radius of the l_1 ball of the
    estimates; rewards are clipped to +-label_bound ([0, label_bound] unless linear); learner: the
    tree of Algorithm 1, or a selector of Algorithm 2; calibration, schedule, clip as in
    `streaming_fw` and `vertex_fw`; synthetic=False leaves out the synthetic updates, and then there
    is no joint privacy.  The guarantee holds for users who play the forced arm in forced rounds:
    another arm moves the arms' clocks, which others' advice shows.  Raises ValueError on anything
    else.
    """
    T, K, t0 = need_int("T", T, 2), need_int("K", K, 1), need_int("t0", t0, 0)
    if t0 * K >= T:
        raise ValueError(f"t0 must leave rounds after the K t0 forced ones; got {t0=}, {K=}, {T=}")
    number, gap = glm.need_link("link", link), need_float("gap", gap, 0.0, open_low=True)
    c = noise.problem(d, T, 1.0, radius, "squares" if link == "linear" else link, label_bound)
    need_choice("calibration", calibration, CALIBRATIONS)
    need_choice("learner", learner, LEARNERS)
    q, said = noise.calibrated(c, epsilon, delta, calibration, learner, schedule=schedule,
                               clip=clip, model="joint", unit=UNIT)  # fmt: skip
    if not need_choice("synthetic", synthetic, (True, False)):
        said = NO_PRIVACY
    p = Params(c.d, K, T, t0, gap, number, synthetic, q, True)
    return Policy(
        "Algorithm 3",
        p,
        init,
        select,
        update,
        play,
        said,
        universe=universe_of(p),
        delayed_feedback=True,
        audit=AuditSpec(own_attacks, attack_instances, audit_instances),
    )


def own_attacks(policy: Policy):
    """Two `audit.Attack`s on the first user, whose reward has either sign: the sums of arm 0 after
    1, 2, 4, ... rounds, all later contexts 0; and the arms of the others.
    """
    p = policy.params
    x, ends = np.eye(p.d)[0], (p.learner.high, p.learner.low)
    a, b = ((x, r) for r in ends)
    several = lived(policy, p.d)  # shows means, of t + 1 records
    released = learned.on_first_nodes(policy, a, b, several, -x, K=p.K, weights=lambda t: t + 1.0)
    return released, attacks.on_later_users(policy)


def attack_instances():
    """What the audits attack, in both calibrations; every arm is free from the first round on."""
    return in_both(sco_bandit, 1, 2, 4, epsilon=1.0, delta=0.1, t0=0, radius=0.02)


def audit_instances() -> tuple[AuditInstance, ...]:
    """What the laboratory of `companion.audits` plays: every sum of every arm.

    The printed constants, 2 (beta D + L), are nearly attained for a small ball and large rewards.
    """
    sums = shows(learning.release, "gaussian", "gradient")
    secret = "clipped", "arms.total", "arms.noise", "arms.x"
    clipped, forced = (
        sco_bandit(2, 2, 5 + t0, epsilon=1.0, delta=1e-2, t0=t0, clip=0.05) for t0 in (0, 1)
    )
    printed = sco_bandit(2, 2, 3, epsilon=1.0, delta=1e-2, t0=0, radius=0.01, calibration="paper")
    how = ((clipped, {}), (printed, {"reaches": False}), (forced, {"follows": True}))
    found = [lives(sums, secret, q, records=corners(2), **o) for q, o in how]
    return tuple(life for (life,) in found)
