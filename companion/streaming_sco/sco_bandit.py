"""Algorithm 3: a bandit with one streaming learner per arm and synthetic updates of the
others.

    1 play every arm t0 times, feeding (x, r) to its learner alone;
          keep the forced estimates
    2 in other rounds: candidates are the arms within h_sub/2 of the best forced estimate
    3     play the candidate with the largest present estimate
    4     feed (x, r) to the arm that was played and (0, zeta(0)) to every other arm
Source: Han, Liang, Liang, Wang, Yao and Zhang (2022), Algorithm 3 and Theorem 4.6; the
learners are those of `streaming`.
Privacy: joint; neighbours replace one user (context and rewards).  Changing a user may
change the arm that was played, and then two learners: the one that lost the record sees a
synthetic one instead, whose gradient is exactly 0, so each of the two moves by half of
what replacing a record moves one.  Two halves cost what one whole costs, or less (see the
chapter): the guarantee is that of a single learner, provided that every arm is updated in
every round after the forced ones.  In a forced round only the forced arm is updated, and
its user must play it.
Differs: local clocks (the paper's global t breaks the sum after the forced rounds);
leaves and rewards are clipped; the learner may be the tree of Algorithm 1 on the l_1
ball.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from companion.accounting.privacy import NO_PRIVACY
from companion.core import WIDEST, Policy, Release, Universe, plain_loop
from companion.jit import inlined, jit
from companion.kernels import glm
from companion.kernels.linalg import copy, dot
from companion.streaming_sco import streaming
from companion.streaming_sco.streaming import (
    calibrated,
    leaf_clip,
    make_problem,
    publish,
    step,
)
from companion.validate import need_choice, need_float, need_int

LEARNERS = ("tree", "argmin", "coordinates", "gumbel")


class Params(NamedTuple):
    d: int  # dimension of the context
    K: int  # arms
    T: int  # horizon
    t0: int  # forced rounds per arm
    gap: float  # h_sub: arms within h_sub/2 of the best forced estimate are candidates
    link: int  # of `glm`
    synthetic: bool  # arms that are not played make a step on (0, zeta(0))
    learner: streaming.Params
    one_context: bool  # True: all rows of X are the same context


class State(NamedTuple):
    t: np.ndarray  # (1,) rounds played
    forced: np.ndarray  # (K, d) estimates at the end of the forced rounds
    arms: streaming.State  # of all arms: its arrays have a leading axis of length K

    @property
    def clipped(self):
        """Records that were outside the universe."""
        return int(self.arms.clipped.sum())


def init(p) -> State:
    """State before the first round."""
    one = streaming.init(p.learner, None)
    arms = streaming.State._make(np.zeros((p.K, *a.shape), a.dtype) for a in one)
    return State(t=np.zeros(1, np.int64), forced=np.zeros((p.K, p.d)), arms=arms)


@inlined
def of_arm(m, k):
    """State of arm k's learner; views, nothing is copied."""
    return streaming.State(
        t=m.t[k],
        clipped=m.clipped[k],
        theta=m.theta[k],
        old=m.old[k],
        total=m.total[k],
        gradient=m.gradient[k],
        v=m.v[k],
        noise=m.noise[k],
        x=m.x[k],
    )


@jit
def select(p, s, X, rng):
    """The forced arm; then the best present estimate among those near the best forced
    one."""
    if s.t[0] < p.K * p.t0:  # line 1
        return s.t[0] // p.t0
    x = X[0]
    top = -np.inf
    for k in range(p.K):
        top = max(top, glm.mean(p.link, dot(x, s.forced[k])))
    best = -np.inf
    arm = 0
    for k in range(p.K):
        if glm.mean(p.link, dot(x, s.forced[k])) > top - 0.5 * p.gap:  # line 2
            z = dot(x, s.arms.theta[k])
            if z > best:  # line 3
                best = z
                arm = k
    return arm


@jit
def update(p, s, arm, x, r, rng):
    """Learn from reward r on context x (d,); s is changed in place."""
    s.t[0] += 1
    for k in range(p.K):
        learner = of_arm(s.arms, k)
        if k == arm:
            step(p.learner, learner, x, r, rng)  # line 4
        elif p.synthetic and s.t[0] > p.K * p.t0:
            learner.t[0] += 1  # the record (0, zeta(0)), whose leaf is 0
            publish(p.learner, learner, rng)
    if s.t[0] == p.K * p.t0:
        copy(s.arms.theta, s.forced)


play = plain_loop(select, update)


def sco_bandit(
    d: int,
    K: int,
    T: int,
    *,
    epsilon: float,
    delta: float | None = None,
    t0: int = 100,
    gap: float = 1.0,
    link: Literal["linear", "logistic", "probit"] = "linear",
    radius: float = 1.0,
    label_bound: float = 1.0,
    learner: Literal["tree", "argmin", "coordinates", "gumbel"] = "tree",
    calibration: Literal["corrected", "paper"] = "corrected",
    schedule: Literal["falling", "constant"] = "constant",
    clip: float | None = None,
    synthetic: bool = True,
) -> Policy:
    """Algorithm 3 for one context, ||x||_inf <= 1, per round, the same for all arms.

    The guarantee holds for users who play the forced arm in forced rounds: another arm
    moves the arms' clocks, which others' advice shows.

    Parameters
    ----------
    d, K, T : dimension, arms, horizon; d >= 1, K in [1, 10,000], T >= 2
    epsilon, delta : budget; epsilon in [1e-4, inf] (inf: no noise), delta in (0, 1)
        (None: 1/T)
    t0 : forced rounds per arm, K t0 < T
    gap : h_sub > 0, arms within half of it of the best forced estimate are candidates
    link : "linear", "logistic" or "probit"
    radius : of the l_1 ball of the estimates
    label_bound : rewards are clipped to +-label_bound ([0, label_bound] unless linear)
    learner : "tree" (Algorithm 1), or a selector of Algorithm 2: "argmin", "coordinates",
        "gumbel"
    calibration, schedule : as in `streaming_fw` and `vertex_fw`; "paper" or "corrected"
    clip : bound C of leaves, in l_2 for the tree and in l_inf for vertices; None: what
        `leaf_clip` gives (2 (radius + label_bound) if linear), for "paper" none.  In l_2
        it binds for contexts longer than 1: the step of a longer one is shortened, and in
        return the noise of the tree is smaller by sqrt(d) than a bound that never binds
        would need.  The sensitivity is 2 C for every C, so the guarantee is the same
    synthetic : False leaves out the synthetic updates, and then there is no joint privacy

    Returns
    -------
    Policy

    Raises
    ------
    ValueError
        on anything else.

    Examples
    --------
    >>> live = sco_bandit(2, 3, 1000, epsilon=1.0, delta=0.001).start(seed=1)
    >>> live.select([[0.5, 1.0]] * 3)
    0
    """
    T = need_int("T", T, 2)
    K = need_int("K", K, 1, WIDEST)
    t0 = need_int("t0", t0, 0)
    if t0 * K >= T:
        raise ValueError(
            f"t0 must leave rounds after the K t0 forced ones; got {t0=}, {K=}, {T=}"
        )
    number = glm.need_link("link", link)
    gap = need_float("gap", gap, 0.0, open_low=True)
    loss = "squares" if link == "linear" else link
    problem = make_problem(d, T, 1.0, radius, loss, label_bound)
    need_choice("calibration", calibration, ("paper", "corrected"))
    need_choice("learner", learner, LEARNERS)
    need_choice("synthetic", synthetic, (True, False))
    if clip is None and learner == "tree" and calibration == "corrected":
        clip = leaf_clip(problem, None, calibration)  # in l_2, without the factor sqrt(d)
    q, guarantee = calibrated(
        problem,
        epsilon,
        delta,
        calibration,
        learner,
        schedule,
        clip,
        step_scale=1.0,
    )
    if synthetic and guarantee is not NO_PRIVACY:
        guarantee = guarantee._replace(model="joint", unit="user (context and rewards)")
    else:
        guarantee = NO_PRIVACY
    params = Params(
        d=q.d,
        K=K,
        T=T,
        t0=t0,
        gap=gap,
        link=number,
        synthetic=synthetic,
        learner=q,
        one_context=True,
    )
    if learner == "tree":
        releases = (Release(streaming.release, "gradient", "gaussian"),)
        private_fields = ("arms.clipped", "arms.total", "arms.noise", "arms.x")
    else:
        law = "scores: laplace" if learner == "argmin" else f"scores: {learner}"
        choose = streaming.choose
        releases = (Release(choose, "total", law), Release(choose, "v", "vertex"))
        private_fields = ("arms.clipped", "arms.total", "arms.gradient", "arms.x")
    return Policy(
        name="Algorithm 3",
        params=params,
        init=init,
        select=select,
        update=update,
        play=play,
        guarantee=guarantee,
        universe=Universe(low=q.low, high=q.high, norm=np.inf),
        delayed_feedback=True,
        releases=releases,
        private=private_fields,
    )
