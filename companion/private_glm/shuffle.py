"""ShuffleGLM: batches, per-round G-optimal designs, and estimates from shuffled bit sums.

Source: Algorithms 1 and 4 to 7 of the paper.  Model: shuffle (users trust their device and the
shuffler); neighbours: replace one user's contexts and reward.
Calibration: `batches`.  A weight of x x' is clipped at Delta = min(slope(0), 1/kappa*), so the
sensitivity holds for all data, not with high probability under the model (Lemma F.7).
Differs: batch lengths sum to T; the confidence width has sqrt(kappa) after the first batch only
(`widths`: the paper prints it for all); the optimiser is preconditioned by the released matrix and
takes `steps` gradients where the paper takes (epsilon n)^2/(d log^3); values are quantised on [0,
2 L] (the paper: on [0, L], which overflows); eigenvalues have a floor.  Messages are summed in the
aggregated law (`mechanisms.shuffle_analyse`).
Cost: O(K d^2 + d^3) time per round: K d^2 for each of the M policies that narrow the arms down, d^3
for the design; O(steps d) per user at the end of a batch; (d + 1) numbers of each; 11 times the
floor of `kernels.optimism`: of 2.6 microseconds about 0.9 rule arms out, the others find the
design.
"""

import math
from typing import NamedTuple

import numpy as np

from companion.accounting.audit import AuditInstance, AuditSpec, in_both, shows
from companion.accounting.privacy import need_budget
from companion.baselines.glm_parts import need_bernoulli_link, need_kappa
from companion.core import Policy, Universe
from companion.jit import inlined, jit
from companion.kernels.glm import slope
from companion.kernels.linalg import dot, quad
from companion.kernels.mechanisms import clip_to_ball, shuffle_analyse
from companion.private_glm.batch_attack import on_batch
from companion.private_glm.batches import lengths, plan, top_weight
from companion.private_glm.design import Work, draw, optimal, work_for
from companion.private_glm.elimination import eliminate
from companion.private_glm.learning import Batch, Params, add_user, batch_for, learn
from companion.validate import need_choice, need_float, need_int, need_positive

MOST = 500  # moves of a design


class State(NamedTuple):
    t: int  # rounds played
    k: int  # batch of the next round, from 0
    V: np.ndarray  # (M, d, d) released matrices of finished batches
    V_inv: np.ndarray  # (M, d, d)
    theta: np.ndarray  # (M, d) released estimates
    batch: Batch
    alive: np.ndarray  # (K,) arms that no finished batch rules out
    left: np.ndarray  # (K,) the same as a list, in order, and what else stood there
    doubt: np.ndarray  # (K,) half-widths of the first batch, of arms that were alive then
    half: np.ndarray  # (K,) the same of a later batch
    score: np.ndarray  # (K,) estimated scores of that batch
    A: np.ndarray  # (K, d) scaled arms
    pi: np.ndarray  # (K,) design of the last round that needed one
    clipped: int  # records outside the unit ball or [0, 1]
    work: Work


def init(p: Params) -> State:
    """State before the first round."""
    d, M = p.d, len(p.ends)
    matrices = np.zeros((M, d, d)), np.zeros((M, d, d)), np.zeros((M, d))
    rows = np.zeros(p.K), np.zeros(p.K), np.zeros(p.K), np.zeros((p.K, d)), np.zeros(p.K)
    arms = np.ones(p.K, np.int64), np.arange(p.K)
    return State(0, 0, *matrices, batch_for(p), *arms, *rows, 0, work_for(p.K, d))


def universe_of(p: Params) -> Universe:
    """What is not clipped: the unit ball, rewards in [0, 1]."""
    return Universe(low=0.0)


@jit
def weight(link, score, doubt, theta_bound, cap):
    """Weight of x x' after the first batch (10), (11): slope at the first estimate's score, less
    what that may be wrong by (doubt: the half-width of x after that batch), and at most the cap."""
    return min(slope(link, score) * math.exp(-min(2.0 * theta_bound, doubt)), cap)


@inlined
def decide(p, s, X, rng):
    """A row of X (K, d) drawn from the design of the scaled arms alive (lines 16 to 20)."""
    arm = s.left[0] if eliminate(p, s, X) == 1 else -1
    if arm < 0:
        scale(p, s, X)
        optimal(s.A, s.alive, p.tolerance, MOST, s.pi, s.work)
        arm = draw(s.pi, rng)
    return arm


@inlined
def scale(p, s, X):
    """s.A (K, d) <- the rows of X that are alive, times the roots of their weights."""
    for a in range(p.K):
        if s.alive[a]:
            root = 1.0
            if s.k > 0:
                score = dot(X[a], s.theta[0])
                w = weight(p.link, score, s.doubt[a], p.theta_bound, p.caps[s.k])
                root = math.sqrt(w)
            for i in range(p.d):
                s.A[a, i] = root * X[a, i]


@jit
def select(p, s, X, rng):
    """`decide`, as a call of its own."""
    return decide(p, s, X, rng)


@jit
def clip(x, r, out):
    """(reward in [0, 1], 1 if the record was clipped else 0); out <- x clipped to the unit ball."""
    y = min(max(r, 0.0), 1.0)
    _, outside = clip_to_ball(x, 0.0, out)
    return y, (1 if outside + (y != r) > 0 else 0)


@inlined
def at(s, t, k, clipped):
    """The state s with other counts."""
    rows = s.alive, s.left, s.doubt, s.half, s.score, s.A, s.pi
    return State(t, k, s.V, s.V_inv, s.theta, s.batch, *rows, clipped, s.work)


@inlined
def update(p, s, arm, x, r, rng):
    """State after reward r on context x (d,); at the end of a batch its sums are released."""
    k, b = s.k, s.batch
    y, outside = clip(x, r, b.x)
    if k == len(p.ends) - 1:  # the last batch's messages are never read
        return at(s, s.t + 1, k, s.clipped + outside)
    w = 1.0
    if k > 0:
        doubt = p.widths[0] * math.sqrt(quad(s.V_inv[0], b.x))
        w = weight(p.link, dot(b.x, s.theta[0]), doubt, p.theta_bound, p.caps[k])
    add_user(p, b, k, w, y, rng)
    if s.t + 1 == p.ends[k]:
        theta = s.theta[k]
        for i in range(p.d):
            theta[i] = s.theta[k - 1, i] if k > 0 else 0.0
        learn(p, b, k, s.V[k], s.V_inv[k], theta, s.work, rng)
        k += 1
    return at(s, s.t + 1, k, s.clipped + outside)


@jit
def rounds(p, s, X, R, rng, arms):
    """(rounds, batch, clipped records) after all rounds of `play`."""
    for t in range(X.shape[0]):
        arms[t] = decide(p, s, X[t], rng)
        s = update(p, s, arms[t], X[t, arms[t]], R[t, arms[t]], rng)
    return s.t, s.k, s.clipped


@jit
def play(p, s, X, R, rng, arms):
    """Play n rounds: contexts X (n, K, d), rewards R (n, K); reads only R[t, arms[t]]."""
    t, k, clipped = rounds(p, s, X, R, rng, arms)
    return at(s, t, k, clipped)


def shuffle_glm(
    d: int,
    K: int,
    T: int,
    *,
    epsilon: float,
    delta: float,
    link: str = "logistic",
    theta_bound: float = 1.0,
    kappa: float | None = None,
    kappa_star: float | None = None,
    M: int = 3,
    first: int | None = None,
    schedule: str = "corrected",
    gamma: float | None = None,
    widths: str = "corrected",
    steps: int = 20,
    penalty: float = 1.0,
    tolerance: float = 2.0,
    calibration: str = "corrected",
    share: float = 0.5,
) -> Policy:
    """ShuffleGLM for T rounds of K arms in the unit ball of R^d; contexts and rewards are clipped.

    d, K >= 1; epsilon in (0, inf] (inf: exact sums), delta in (0, 1); link "logistic" or "probit";
    theta_bound > 0 bounds the norm of theta; kappa bounds 1/slope over all arms from above (None:
    1/slope(theta_bound)), kappa_star from below (None: 1/slope(0)); M, first, schedule: batches, as
    in `batches.lengths`; gamma > 0 of the confidence width (None: max(1, epsilon^(-1/2))); widths
    "corrected" or "paper"; steps >= 1 gradients with ridge `penalty` > 0; tolerance > 1 of the
    designs; calibration "corrected" or "paper"; share in (0, 1) of the budget for the matrix.
    Raises ValueError on anything else.
    """
    d, K = need_int("d", d, 1), need_int("K", K, 1)
    epsilon, delta = need_budget(epsilon, delta)
    link, bound = need_bernoulli_link(link), need_positive("theta_bound", theta_bound)
    kappa = need_kappa(link, bound, kappa)
    top = top_weight(link, kappa, kappa_star)
    gamma = max(1.0, epsilon**-0.5) if gamma is None else need_positive("gamma", gamma)
    everywhere = need_choice("widths", widths, ("corrected", "paper")) == "paper"
    steps, penalty = need_int("steps", steps, 1, 10_000), need_positive("penalty", penalty)
    tolerance = need_float("tolerance", tolerance, 1.0, open_low=True)
    n = lengths(T, M, first, schedule)
    q, batch = plan(n[:-1], d, steps, epsilon, delta, calibration, share), np.arange(len(n))
    caps = np.where(batch == 0, 1.0, top)
    factors = np.where((batch == 0) | everywhere, math.sqrt(kappa), 1.0)
    ridge = 1.0 + 2.0 * math.sqrt(d) * caps[:-1] * q.spread
    bits, fit = (q.g, q.matrix, q.gradient), (steps, penalty, tolerance)
    widths_of = gamma * factors[:-1]
    p = Params(d, K, int(n.sum()), link, bound, np.cumsum(n), *bits, ridge, caps, widths_of, *fit)
    return Policy(
        "ShuffleGLM",
        p,
        init,
        select,
        update,
        play,
        q.guarantee,
        universe=universe_of(p),
        delayed_feedback=True,
        audit=AuditSpec(own_attacks, attack_instances, audit_instances),
    )


def own_attacks(policy: Policy):
    """`audit.Attack`: the matrix of the first batch (d >= 2)."""
    return (on_batch(policy.params, batch_for(policy.params)),)


def attack_instances():
    """What the audits attack: nearly all of the budget is the matrix's."""
    return in_both(shuffle_glm, 2, 3, 400, epsilon=1.0, delta=0.1, first=50, steps=1, share=0.98)


def audit_instances() -> tuple[AuditInstance, ...]:
    """What the laboratory of `companion.audits` plays: a batch's last user.

    One user cannot move matrix and gradient as far as either can go, so either has nearly all of
    the budget.  The first estimate 0 gives full weights; 200 e_2 gives contexts next to e_1 and
    -e_1 gradients of norm nearly 1 that point apart.  The last case plays the end of the first
    batch and all of a second one.
    """

    mine = tuple(f"batch.{name}" for name in Batch._fields if name != "size")
    rows = "alive", "left", "doubt", "half", "score", "A", "pi"  # of a round, on the user's device
    secret, found = (*mine, *rows, "clipped", "work"), []
    flat = np.array([[np.cos(a), np.sin(a), 0.0] for a in (0.05, np.pi - 0.05)])
    for share, calibration in ((0.98, "corrected"), (0.02, "corrected"), (0.5, "paper")):
        policy = shuffle_glm(
            2, 3, 2000, epsilon=1.0, delta=0.01, theta_bound=200.0, kappa=4.0, first=50, steps=1, share=share,
            calibration=calibration,
        )  # fmt: skip
        ends = policy.params.ends
        past = init(policy.params)._replace(t=int(ends[1]) - 1, k=1)
        past.batch.size[0] = ends[1] - ends[0] - 1
        past.theta[0, 1] = 200.0 if share == 0.02 else 0.0
        kernels = shows(shuffle_analyse, "counts", "out")
        case = AuditInstance(policy, kernels, secret, past, records=flat, bound_is_tight=False)
        found.append(case)
    both = shuffle_glm(
        2,
        3,
        53,
        epsilon=1.0,
        delta=0.01,
        theta_bound=200.0,
        kappa=4.0,
        first=50,
        steps=1,
        share=0.98,
    )
    past = init(both.params)._replace(t=49)
    past.batch.size[0] = 49
    return (*found, AuditInstance(both, kernels, secret, past, 2, flat, None))
