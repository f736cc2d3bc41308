"""ShuffleGLM: batches, per-round G-optimal designs, and estimates from shuffled bit sums.

Source: "Shuffle and joint differential privacy for generalized linear contextual
bandits", Algorithms 1 and 4 to 7.
Privacy: shuffle (users trust their device and the shuffler); neighbours: replace one
user's contexts and reward.  A user belongs to one batch and enters its matrix and `steps`
gradients, each a shuffled vector sum: every coordinate v of a vector in [-L, L]^n is
scaled to levels (v + L)/(2 L), rounded at random and hidden among Bin(b, 1/4) ones.
Replacing a user moves the integers by at most `levels` for a gradient (norm at most L =
1), levels/sqrt2 for w x x' with 0 <= w <= L, each plus sqrt(n) for the rounding of n
coordinates with shared randomness.  Matrix and gradients share one zCDP budget; b is
proved by `accounting.binomial` for all 1 + steps releases together (`calibrated`).  A
weight is clipped at Delta = min(slope(0), 1/kappa*), so the sensitivity holds for all
data, not with high probability under the model (Lemma F.7).
Differs: batch lengths sum to T; of the confidence widths only the first batch's has
sqrt(kappa) (`widths`: the paper prints it for all); the optimiser is preconditioned by
the released matrix and takes `steps` gradients where the paper takes (epsilon n)^2/(d
log^3); values are quantised on [0, 2 L] (the paper: on [0, L], which overflows);
eigenvalues have a floor.  Messages are summed in the aggregated law
(`mechanisms.shuffle_analyse`).
"""

import functools
import math
from typing import Literal, NamedTuple

import numpy as np
from scipy.optimize import brentq

from companion.accounting import privacy
from companion.accounting.binomial import (
    Noise,
    need_searchable,
    releases_delta,
    releases_epsilon,
)
from companion.accounting.privacy import (
    NO_PRIVACY,
    REPLACE_RECORD,
    Guarantee,
    need_budget,
)
from companion.baselines.arguments import need_bernoulli_link, need_kappa
from companion.core import ROOM, WIDEST, Policy, Release, Universe, plain_loop
from companion.jit import jit
from companion.kernels.glm import (
    clip_eigenvalues,
    mean,
    preconditioner,
    projected_step,
    slope,
)
from companion.kernels.linalg import axpy, copy, dot, inverse, matvec, quad, set_identity
from companion.kernels.mechanisms import (
    add_packed,
    clip_to_ball,
    shuffle_add,
    shuffle_analyse,
    unpack,
)
from companion.validate import (
    need_array,
    need_choice,
    need_float,
    need_int,
    need_positive,
)

# --- batches, and the noise that a budget needs in each of them

COIN = 0.25  # chance that a noise bit is one
UNIT = "user (contexts in the unit ball, reward in [0, 1])"
# multiples of the Gaussian noise's variance that are tried in turn
FACTORS = (
    1.0,
    1.005,
    1.01,
    1.02,
    1.03,
    1.05,
    1.08,
    1.12,
    1.2,
    1.3,
    1.5,
    2.0,
    3.0,
    5.0,
    10.0,
)


def batch_lengths(T: int, M: int, first: int | None = None) -> np.ndarray:
    """Lengths (M,) of the batches of T rounds: B_k = alpha sqrt(B_(k-1)), B_2 = alpha.

    T >= 2, 2 <= M <= T batches; first: length of the first one, 1 <= first <= T - M + 1
    (None: 4 T^(4/9), at most half).  With alpha all batches sum to T; with the printed
    one, T^(1/(2(1 - 2^(1 - M)))), the last batch alone has T rounds.  Raises ValueError
    on anything else.
    """
    T = need_int("T", T, 2)
    M = need_int("M", M, 2, T)
    if first is None:
        first = max(1, min(int(4.0 * T ** (4.0 / 9.0)), T // 2))
    first = need_int("first", first, 1, T - M + 1)
    powers = [2.0 - 2.0 ** (2 - k) for k in range(2, M + 1)]
    left = T - first
    alpha = brentq(
        lambda a: sum(a**q for q in powers) - left,
        1e-9,
        left + 1.0,
        xtol=1e-12,
    )
    out = [first]
    for q in powers[:-1]:  # every later batch keeps at least one round
        room = T - sum(out) - (M - len(out) - 1)
        out.append(max(1, min(int(alpha**q + 1e-9), room)))
    return np.array([*out, T - sum(out)])


def n_levels(n: int, d: int) -> int:
    """Levels of the range [0, 2L]: the paper's g = max(2 sqrt(n), d, 4), rounded up."""
    return math.ceil(max(2.0 * math.sqrt(n), d, 4))


def sensitivity(levels: int, entries: int, ratio: float) -> float:
    """L2 sensitivity of the integers; ratio: that of the reals over their range 2L."""
    return levels * ratio + math.sqrt(entries)


# sensitivity of either sum over its range 2L
GRADIENT_RATIO = 1.0
MATRIX_RATIO = math.sqrt(0.5)


def noise_bits(
    n: int, levels: int, entries: int, ratio: float, rho: float, factor: float
) -> int:
    """b of n users, whose Bin(n b, 1/4) has `factor` times the variance of normal noise
    at zCDP rho."""
    variance = factor * sensitivity(levels, entries, ratio) ** 2 / (2.0 * rho)
    return math.ceil(variance / (COIN * (1.0 - COIN) * n))


def printed_bits(n: int, levels: int, d: int, epsilon: float, delta: float) -> int:
    """b of (122), rounded up: 24e4 g^2 log^2(4(d^2 + 1)/delta)/(epsilon^2 n)."""
    log_term = math.log(4 * (d * d + 1) / delta)
    return math.ceil(24e4 * (levels * log_term / epsilon) ** 2 / n)


def releases(
    n: int, d: int, steps: int, bits_matrix: int, bits_gradient: int
) -> list[Noise]:
    """All that one user of a batch of n enters, as a list of `binomial.Noise`."""
    levels = n_levels(n, d)
    entries = d * (d + 1) // 2
    largest = levels + 1  # no entry moves further
    matrix = Noise(
        bits=n * bits_matrix,
        p=COIN,
        move=sensitivity(levels, entries, MATRIX_RATIO),
        largest=largest,
        entries=entries,
    )
    gradients = Noise(
        bits=n * bits_gradient,
        p=COIN,
        move=sensitivity(levels, d, GRADIENT_RATIO),
        largest=largest,
        entries=d,
        times=steps,
    )
    return [matrix, gradients]


@functools.lru_cache(maxsize=1024)
def calibrated(
    n: int,
    d: int,
    steps: int,
    epsilon: float,
    delta: float,
    calibration: Literal["corrected", "paper"] = "corrected",
    share: float = 0.5,
) -> tuple[int, int, float]:
    """(bits of the matrix, bits of a gradient, proved epsilon) for a batch of n users.

    epsilon in (0, inf), delta in (0, 1), steps >= 1 gradients, share in (0, 1) of the
    zCDP budget for the matrix.  calibration "corrected": the least of `FACTORS` with
    which all releases are proved together; ValueError where none suffices.  "paper":
    (122) at (epsilon/2, delta/2) for the matrix and, for a gradient, at (epsilon/2)/(2
    sqrt(2 steps log(2/delta))) and (delta/2)/(steps + 1), as in Algorithm 7.
    """
    n = need_int("n", n, 1)
    d = need_int("d", d, 1)
    steps = need_int("steps", steps, 1)
    epsilon = need_positive("epsilon", epsilon)
    levels = n_levels(n, d)
    entries = d * (d + 1) // 2
    if calibration == "paper":
        per_step = epsilon / (4.0 * math.sqrt(2.0 * steps * math.log(2.0 / delta)))
        b_matrix = printed_bits(n, levels, d, epsilon / 2.0, delta / 2.0)
        b_gradient = printed_bits(n, levels, d, per_step, delta / (2.0 * (steps + 1)))
        entered = releases(n, d, steps, b_matrix, b_gradient)
        return b_matrix, b_gradient, releases_epsilon(delta, entered)
    need_searchable(delta)
    rho = 0.5 / privacy.gaussian_scale(epsilon, delta) ** 2
    of_matrix = share * rho
    of_gradient = (1.0 - share) * rho / steps
    for factor in FACTORS:
        b_matrix = noise_bits(n, levels, entries, MATRIX_RATIO, of_matrix, factor)
        b_gradient = noise_bits(n, levels, d, GRADIENT_RATIO, of_gradient, factor)
        entered = releases(n, d, steps, b_matrix, b_gradient)
        if releases_delta(epsilon, entered) <= delta:
            return b_matrix, b_gradient, releases_epsilon(delta, entered)
    raise ValueError(
        f"no noise is proved enough for batches of {n} at {epsilon=}, {delta=}"
    )


# --- what is fixed, and what is remembered

MAX_MOVES = 500  # of a design


class Params(NamedTuple):
    """One entry per batch but the last, where an array is not (M,)."""

    d: int  # dimension of a context
    K: int  # arms
    T: int  # horizon
    link: int  # number of the link
    theta_bound: float  # S
    ends: np.ndarray  # (M,) rounds after which batches end
    levels: np.ndarray  # of the range [0, 2L] of a rounded value
    bits_matrix: np.ndarray  # b of the matrix sum; 0: exact sums
    bits_gradient: np.ndarray  # b of a gradient sum
    ridge: np.ndarray  # lambda
    caps: np.ndarray  # (M,) Delta: largest weight of x x'
    widths: np.ndarray  # gamma sqrt(kappa), then gamma
    steps: int  # gradients per batch
    penalty: float  # ridge of the fits
    tolerance: float  # of the designs


class Work(NamedTuple):
    """Scratch of a design on K arms in R^d."""

    leverage: np.ndarray  # (K,) squared widths at the end
    M: np.ndarray  # (d, d)
    M_inv: np.ndarray  # (d, d)
    B: np.ndarray  # (d, d)
    v: np.ndarray  # (d,)


class State(NamedTuple):
    t: np.ndarray  # (1,) rounds played
    k: np.ndarray  # (1,) batch of the next round, from 0
    V: np.ndarray  # (M, d, d) released matrices of finished batches
    V_inv: np.ndarray  # (M, d, d)
    theta: np.ndarray  # (M, d) released estimates
    size: np.ndarray  # (1,) users of the batch that is under way, so far
    X: np.ndarray  # (n, d) their clipped contexts (each stays with its user)
    y: np.ndarray  # (n,) their clipped rewards
    # (d(d+1)/2,) sum of the rounded values (or of the exact ones) of the matrix
    counts: np.ndarray
    sums: np.ndarray  # (d,) the same for a gradient
    triangle: np.ndarray  # (d(d+1)/2,) one user's, then the analyser's
    x: np.ndarray  # (d,) clipped context of this round
    alive: np.ndarray  # (K,) 1 for the arms that no finished batch rules out
    half: np.ndarray  # (M, K) half-widths of the arms that were alive, by batch
    score: np.ndarray  # (K,) estimated scores of the batch that was looked at last
    A: np.ndarray  # (K, d) scaled arms
    pi: np.ndarray  # (K,) design of the last round that needed one
    clipped: np.ndarray  # (1,) records outside the unit ball or [0, 1]
    work: np.ndarray  # (3, d) scratch of a descent
    design: Work


def work_for(K: int, d: int) -> Work:
    """Scratch of `g_optimal`."""
    return Work(
        leverage=np.zeros(K),
        M=np.zeros((d, d)),
        M_inv=np.zeros((d, d)),
        B=np.zeros((d, d)),
        v=np.zeros(d),
    )


def init(p: Params) -> State:
    """State before the first round."""
    d = p.d
    K = p.K
    M = len(p.ends)
    entries = d * (d + 1) // 2
    longest = int(np.diff(p.ends[:-1], prepend=0).max())  # of those whose data are read
    return State(
        t=np.zeros(1, np.int64),
        k=np.zeros(1, np.int64),
        V=np.zeros((M, d, d)),
        V_inv=np.zeros((M, d, d)),
        theta=np.zeros((M, d)),
        size=np.zeros(1, np.int64),
        X=np.zeros((longest, d)),
        y=np.zeros(longest),
        counts=np.zeros(entries),
        sums=np.zeros(d),
        triangle=np.zeros(entries),
        x=np.zeros(d),
        alive=np.ones(K, np.int64),
        half=np.zeros((M, K)),
        score=np.zeros(K),
        A=np.zeros((K, d)),
        pi=np.zeros(K),
        clipped=np.zeros(1, np.int64),
        work=np.zeros((3, d)),
        design=work_for(K, d),
    )


# --- line 17: which arms the finished batches rule out


@jit
def eliminate(p, s, X):
    """(how many arms are left, the last of them): s.alive (K,) <- 1 at the rows of X
    (K, d) that no finished batch rules out, else 0; s.half[k] <- half-widths that were
    needed."""
    s.alive[:] = 1
    for k in range(s.k[0]):
        low = -np.inf
        for a in range(p.K):
            if s.alive[a] == 1:
                s.score[a] = dot(X[a], s.theta[k])
                s.half[k, a] = p.widths[k] * math.sqrt(quad(s.V_inv[k], X[a]))
                low = max(low, s.score[a] - s.half[k, a])
        for a in range(p.K):
            if s.alive[a] == 1 and s.score[a] + s.half[k, a] < low:
                s.alive[a] = 0
    n = 0
    last = 0
    for a in range(p.K):
        if s.alive[a] == 1:
            n = n + 1
            last = a
    return n, last


# --- lines 18 to 20: a G-optimal design of the arms that are left
#
# A design pi on arms a_1, ..., a_K has the leverages (squared widths) g_i = a_i' M^-1 a_i
# with M = sum pi_i a_i a_i'.  Always sum pi_i g_i = r, the rank of the arms, so max g >=
# r, with equality exactly at the optimum (Kiefer and Wolfowitz 1960).  Moving mass s =
# (g/r - 1)/(g - 1) to the widest arm is the exact line search for log det M (Wynn 1970).
# At max g <= tolerance r the gap log det M* - log det M is at most r log(tolerance), the
# duality gap.  Lemma 4.3's relaxed bound is tolerance 2.

# of the largest squared norm: makes M invertible where the arms do not span
DESIGN_RIDGE = 1e-8


@jit
def uniform_design(A, alive, pi, w):
    """pi <- uniform on the arms alive, w.M_inv <- inverse of its matrix; False if all are
    tiny."""
    K, d = A.shape
    n = 0
    top = 0.0
    first = -1
    for k in range(K):
        pi[k] = 0.0
        if alive[k]:
            if n == 0:
                first = k
            n += 1
            top = max(top, dot(A[k], A[k]))
    if top < 1e-280 or n == 1:  # the ridge of a smaller one would be 0
        pi[first] = 1.0
        return False
    set_identity(DESIGN_RIDGE * top, w.M)
    for k in range(K):
        if alive[k]:
            pi[k] = 1.0 / n
            for i in range(d):
                axpy(A[k, i] / n, A[k], w.M[i])
    inverse(w.M, w.M_inv, w.B)
    return True


@jit
def move_mass(a, s, w):
    """M_inv <- inverse of (1 - s) M + s a a'."""
    d = a.shape[0]
    matvec(w.M_inv, a, w.v)
    c = s / (1.0 - s + s * dot(a, w.v))
    for i in range(d):
        for j in range(d):
            w.M_inv[i, j] = (w.M_inv[i, j] - c * w.v[i] * w.v[j]) / (1.0 - s)


@jit
def g_optimal(A, alive, tolerance, most, pi, w):
    """pi (K,) <- a design on the arms A (K, d) with alive[k], at least one; (moves,
    largest leverage, rank).

    Ends at the largest leverage <= tolerance times the rank, or after `most` moves.  Arms
    that are zero keep their share of the start; if all are, the first one gets
    everything, and (0, 0, 0) is returned, as it is for a single arm.
    """
    if not uniform_design(A, alive, pi, w):
        return 0, 0.0, 0.0
    moves = 0
    while True:
        rank = 0.0
        best = -1.0
        at = 0
        for k in range(A.shape[0]):
            if alive[k]:
                w.leverage[k] = quad(w.M_inv, A[k])
                rank += pi[k] * w.leverage[k]
                if w.leverage[k] > best:
                    best = w.leverage[k]
                    at = k
        if best <= tolerance * rank or moves == most or best <= 1.0:
            return moves, best, rank
        s = (best / rank - 1.0) / (best - 1.0)
        for k in range(A.shape[0]):
            pi[k] *= 1.0 - s
        pi[at] += s
        move_mass(A[at], s, w)
        moves += 1


@jit
def draw(pi, rng):
    """An arm drawn from the design pi (K,)."""
    u = rng.random()
    last = 0
    for k in range(pi.shape[0]):
        if pi[k] > 0.0:
            last = k
            u -= pi[k]
            if u < 0.0:
                return k
    return last


def design(A: np.ndarray, tolerance: float = 2.0, most: int = 500):
    """(pi, largest leverage, rank, moves) of one set of arms A (K, d); tolerance > 1,
    most >= 0.

    Raises ValueError on anything else, and on arms that are not finite.

    >>> import numpy as np
    >>> design(np.eye(3))[0].round(3).tolist()
    [0.333, 0.333, 0.333]
    """
    A = need_array("A", A, ("K", "d"))
    tolerance = need_float("tolerance", tolerance, 1.0, open_low=True)
    most = need_int("most", most, 0)
    pi = np.zeros(len(A))
    alive = np.ones(len(A), np.int64)
    moves, largest, rank = g_optimal(A, alive, tolerance, most, pi, work_for(*A.shape))
    return pi, largest, rank, moves


# --- Algorithms 4 to 7: messages, and what the analyser makes of a batch


@jit
def send(rng, v, L, levels, bits, sums):
    """sums <- with one user's vector v in [-L, L]^n: rounded, or exact if bits is 0."""
    if bits > 0:
        shuffle_add(rng, v, L, 0.5 * levels, sums)
    else:
        axpy(1.0, v, sums)


@jit
def analyse(rng, sums, n, L, levels, bits, out):
    """out <- estimate of the sum of n users' vectors; sums is emptied."""
    if bits > 0:
        shuffle_analyse(rng, sums, n, L, 0.5 * levels, bits, COIN, out)
    else:
        copy(sums, out)
    sums[:] = 0.0


@jit
def add_user(p, s, k, w, y, rng):
    """The user of this round, with clipped context s.x, joins batch k and sends w x
    x'."""
    n = s.size[0]
    s.y[n] = y
    copy(s.x, s.X[n])
    s.triangle[:] = 0.0
    add_packed(w, 1.0, s.x, s.triangle)
    send(rng, s.triangle, p.caps[k], p.levels[k], p.bits_matrix[k], s.counts)
    s.size[0] = n + 1


@jit
def release_matrix(p, s, k, rng):
    """V_k, V_inv_k <- ridge I + the batch's weighted sum of x x', eigenvalues at least
    ridge/2."""
    V = s.V[k]
    w = s.design
    analyse(
        rng,
        s.counts,
        s.size[0],
        p.caps[k],
        p.levels[k],
        p.bits_matrix[k],
        s.triangle,
    )
    set_identity(p.ridge[k], V)
    unpack(1.0, 1.0, s.triangle, V)
    clip_eigenvalues(V, 0.5 * p.ridge[k], w.M, w.B)
    inverse(V, s.V_inv[k], w.M)


@jit
def release_gradient(p, s, k, theta, rng, gradient):
    """gradient (d,) <- the batch's sum of (mean - y) x at theta, from messages."""
    for i in range(s.size[0]):
        residual = mean(p.link, dot(s.X[i], theta)) - s.y[i]
        for j in range(p.d):
            gradient[j] = residual * s.X[i, j]
        send(rng, gradient, 1.0, p.levels[k], p.bits_gradient[k], s.sums)
    analyse(rng, s.sums, s.size[0], 1.0, p.levels[k], p.bits_gradient[k], gradient)


# Curvature of the loss over the matrix of a later batch, whose weights are slopes divided
# by up to exp(half), a factor that falls to 1 as the first batch grows: tuned.
SLOPES_OVER_WEIGHTS = 1.5


@jit
def release_batch(p, s, k, rng):
    """Release batch k: its matrix, then theta_k by p.steps gradients from where it
    stands."""
    w = s.design
    theta = s.theta[k]
    release_matrix(p, s, k, rng)
    curvature = slope(p.link, 0.0) if k == 0 else SLOPES_OVER_WEIGHTS
    preconditioner(curvature, p.penalty, s.V[k], w.B, w.M, w.M_inv)
    for step in range(p.steps):
        release_gradient(p, s, k, theta, rng, s.work[0])
        projected_step(step, p.steps, p.penalty, p.theta_bound, w.B, theta, s.work)
    s.size[0] = 0


# --- the rounds: Algorithm 1


@jit
def weight(link, score, half, theta_bound, cap):
    """Weight of x x' after the first batch (10), (11): slope at the first estimate's
    score, times exp(-h) for its possible error h = min(2 S, half), and at most the cap
    (half: the half-width of x after that batch; S: theta_bound)."""
    return min(slope(link, score) * math.exp(-min(2.0 * theta_bound, half)), cap)


@jit
def scale_arms(p, s, X):
    """s.A (K, d) <- the rows of X that are alive, times the roots of their weights."""
    for a in range(p.K):
        if s.alive[a] == 1:
            root = 1.0
            if s.k[0] > 0:
                score = dot(X[a], s.theta[0])
                cap = p.caps[s.k[0]]
                root = math.sqrt(weight(p.link, score, s.half[0, a], p.theta_bound, cap))
            for i in range(p.d):
                s.A[a, i] = root * X[a, i]


@jit
def select(p, s, X, rng):
    """A row of X (K, d) drawn from the design of the scaled arms that are left (lines 16
    to 20)."""
    n, last = eliminate(p, s, X)
    if n == 1:
        return last
    scale_arms(p, s, X)
    g_optimal(s.A, s.alive, p.tolerance, MAX_MOVES, s.pi, s.design)
    return draw(s.pi, rng)


@jit
def update(p, s, arm, x, r, rng):
    """Learn from reward r on context x (d,): the user sends a message, and at the end of
    a batch its sums are released; s is changed in place."""
    k = s.k[0]
    y = min(max(r, 0.0), 1.0)
    _, outside = clip_to_ball(x, 0.0, s.x)
    if outside > 0 or y != r:
        s.clipped[0] += 1
    s.t[0] += 1
    if k == len(p.ends) - 1:  # the last batch's messages are never read
        return
    w = 1.0
    if k > 0:
        half = p.widths[0] * math.sqrt(quad(s.V_inv[0], s.x))
        w = weight(p.link, dot(s.x, s.theta[0]), half, p.theta_bound, p.caps[k])
    add_user(p, s, k, w, y, rng)
    if s.t[0] == p.ends[k]:
        if k > 0:
            copy(s.theta[k - 1], s.theta[k])
        release_batch(p, s, k, rng)
        s.k[0] += 1


play = plain_loop(select, update)


def shuffle_glm(
    d: int,
    K: int,
    T: int,
    *,
    epsilon: float,
    delta: float,
    link: Literal["logistic", "probit"] = "logistic",
    theta_bound: float = 1.0,
    kappa: float | None = None,
    kappa_star: float | None = None,
    M: int = 3,
    first: int | None = None,
    gamma: float | None = None,
    widths: Literal["corrected", "paper"] = "corrected",
    steps: int = 20,
    penalty: float = 1.0,
    tolerance: float = 2.0,
    calibration: Literal["corrected", "paper"] = "corrected",
    share: float = 0.5,
) -> Policy:
    """ShuffleGLM for T rounds of K arms in the unit ball of R^d; contexts and rewards are
    clipped.

    Parameters
    ----------
    d, K : dimension of a context, and number of arms, both in [1, 10,000]
    T, M, first : horizon, at most 10^9 / d, and batches, as in `batch_lengths`
    epsilon : budget in (0, inf]; inf: exact sums
    delta : in (0, 1)
    link : "logistic" or "probit"
    theta_bound : bound S > 0 on the norm of theta
    kappa : bound on 1/slope over all arms from above; None: 1/slope(theta_bound)
    kappa_star : the same from below, in (0, kappa]; None: 1/slope(0)
    gamma : > 0, of the confidence width; None: max(1, epsilon^(-1/2))
    widths : sqrt(kappa) in the first width ("corrected") or in all ("paper")
    steps, penalty : gradients per batch, at least 1, and ridge > 0 of the fits
    tolerance : > 1, of the designs
    calibration : "corrected" or "paper"
    share : in [1e-6, 1 - 1e-6], of the budget for the matrix

    Returns
    -------
    Policy, whose Guarantee is what is proved of the worst batch.

    Raises
    ------
    ValueError, by name, on anything else.

    >>> policy = shuffle_glm(3, 4, 1000, epsilon=1.0, delta=0.01)
    >>> policy.guarantee.model, bool(0.9 < policy.guarantee.epsilon <= 1.0)
    ('shuffle', True)
    """
    d = need_int("d", d, 1, WIDEST)
    K = need_int("K", K, 1, WIDEST)
    T = need_int("T", T, 2, ROOM // d)
    epsilon, delta = need_budget(epsilon, delta)
    link = need_bernoulli_link(link)
    theta_bound = need_positive("theta_bound", theta_bound)
    kappa = need_kappa(link, theta_bound, kappa)
    heaviest = slope(link, 0.0)  # Delta: largest weight of x x' after the first batch
    if kappa_star is not None:
        kappa_star = need_float("kappa_star", kappa_star, 0.0, kappa, open_low=True)
        heaviest = min(heaviest, 1.0 / kappa_star)
    lengths = batch_lengths(T, M, first)
    if gamma is None:
        gamma = max(1.0, epsilon**-0.5)
    gamma = need_positive("gamma", gamma)
    need_choice("widths", widths, ("corrected", "paper"))
    steps = need_int("steps", steps, 1, 10_000)
    penalty = need_positive("penalty", penalty)
    tolerance = need_float("tolerance", tolerance, 1.0, open_low=True)
    need_choice("calibration", calibration, ("corrected", "paper"))
    share = need_float("share", share, 1e-6, 1.0 - 1e-6)

    caps = np.full(len(lengths), heaviest)
    caps[0] = 1.0
    read = lengths[:-1]  # nobody reads the last batch
    half_widths = np.full(len(read), gamma)
    half_widths[0] = gamma * math.sqrt(kappa)
    if widths == "paper":
        half_widths[:] = gamma * math.sqrt(kappa)
    levels = np.array([n_levels(n, d) for n in read])
    bits_matrix = np.zeros(len(read), np.int64)
    bits_gradient = np.zeros(len(read), np.int64)
    guarantee = NO_PRIVACY
    if epsilon < math.inf:
        proved = np.zeros(len(read))
        for k, n in enumerate(read.tolist()):
            bits_matrix[k], bits_gradient[k], proved[k] = calibrated(
                n, d, steps, epsilon, delta, calibration, share
            )
        guarantee = Guarantee(
            model="shuffle",
            # users of one batch do not enter another: the worst batch counts
            epsilon=float(proved.max()),
            delta=delta,
            neighbours=REPLACE_RECORD,
            unit=UNIT,
            claimed=(epsilon, delta) if calibration == "paper" else None,
        )
    # of an entry of the matrix: n b coins, in steps of 2L/levels
    variance = COIN * (1.0 - COIN) * read * bits_matrix
    noise = caps[:-1] * np.sqrt(variance) / (0.5 * levels)
    p = Params(
        d=d,
        K=K,
        T=T,
        link=link,
        theta_bound=theta_bound,
        ends=np.cumsum(lengths),
        levels=levels,
        bits_matrix=bits_matrix,
        bits_gradient=bits_gradient,
        ridge=1.0 + 2.0 * math.sqrt(d) * noise,
        caps=caps,
        widths=half_widths,
        steps=steps,
        penalty=penalty,
        tolerance=tolerance,
    )
    public = ("t", "k", "V", "V_inv", "theta", "size")
    return Policy(
        name="ShuffleGLM",
        params=p,
        init=init,
        select=select,
        update=update,
        play=play,
        guarantee=guarantee,
        universe=Universe(low=0.0),
        delayed_feedback=True,
        releases=(Release(shuffle_analyse, "out", "counts"),),
        private=tuple(name for name in State._fields if name not in public),
    )
