"""What the chapters measure of whole runs: fits and coverage; closed forms.

Source: Joint-DP GLM and ShuffleGLM of Sarmasarkar's paper, with constants of this book's;
the theory's universal constants are set to 1.
Everything random comes from the seeds that are passed; `simulate.parallel_map` spreads
repetitions.
"""

import math
from typing import NamedTuple

import numpy as np

from companion.baselines import rs_glinucb
from companion.jit import jit
from companion.kernels.glm import fit, slope
from companion.kernels.linalg import inverse
from companion.kernels.ucb import widest
from companion.private_glm import joint_glm as joint
from companion.private_glm.joint_glm import joint_glm
from companion.simulate import need_seeds, parallel_map, play_block, stream, trace

slopes = np.vectorize(slope)


class FitCounts(NamedTuple):
    """Several runs of one Joint-DP GLM."""

    regret: np.ndarray  # (n,) after the last round
    fits: np.ndarray  # (n, 2) of theta_o and theta_tau
    explored: np.ndarray  # (n,) rounds in which Criterion I fired
    # (n,) at most 50 rounds before the first fit of theta_tau, or T + 1
    first_fit: np.ndarray


def fit_counts(env, policy, T: int, seeds) -> FitCounts:
    """`FitCounts` of a Joint-DP GLM, on the streams of `simulate`, one run per seed.

    Raises AssertionError if a run makes more fits than its ledger pays for.
    """
    jobs = [(env, policy, T, seed) for seed in need_seeds(seeds)]
    runs = parallel_map(_fit_counts, jobs)
    regrets, fits, explored, firsts = zip(*runs, strict=True)
    counts = FitCounts(
        regret=np.array(regrets),
        fits=np.array(fits),
        explored=np.array(explored),
        first_fit=np.array(firsts),
    )
    paid = [policy.params.fit_o.cutoff, policy.params.fit_tau.cutoff]
    assert (counts.fits <= paid).all(), "more fits than were paid for"
    return counts


def _fit_counts(env, policy, T, seed):
    """One run, in pieces of 50 rounds, after which the number of fits is read."""
    state = policy.init(policy.params)
    rng = stream(seed, policy.name)
    gaps = []
    first = T + 1
    begun = 0
    for X, R, mu in env.blocks(T, stream(seed, "environment")):
        for begin in range(0, len(X), 50):
            end = min(begin + 50, len(X))
            arms = np.empty(end - begin, np.int64)
            play_block(policy, state, X[begin:end], R[begin:end], rng, arms)
            if state.fits[1] > 0:
                first = min(first, begun + 1)
            means = mu[begin:end]
            played = np.take_along_axis(means, arms[:, None], axis=1)
            gaps.append(means.max(axis=1) - played[:, 0])
            begun += len(arms)
    regret = np.concatenate(gaps).sum()
    return regret, state.fits.copy(), state.explored.sum(), first


# --- the paper's line-ups --------------------------------------------------------------


def lineup(d: int, T: int, delta: float, choices, **model):
    """Joint-DP GLMs, one for every (preset, epsilon) in choices, named after both.

    Raises AssertionError if one spends more than its epsilon.
    """
    policies = []
    for name, e in choices:
        policy = joint_glm(d, T, epsilon=e, delta=delta, preset=name, **model)
        spent = policy.guarantee.epsilon
        assert spent <= e * (1 + 1e-9), f"{name} spends {spent} of {e}"
        budget = "no noise" if e == math.inf else f"ε = {e:g}"
        policies.append(policy.renamed(f"{name}, {budget}"))
    return policies


# --- what the widths of ShuffleGLM cover -----------------------------------------------


class Coverage(NamedTuple):
    """What the widths of n runs of a ShuffleGLM, up to its last batch, say of fresh
    contexts."""

    inside: np.ndarray  # (n, M - 1) arms with the score in that batch's width, share
    too_heavy: np.ndarray  # (n,) arms of a weight above the slope at theta*, share
    lost: np.ndarray  # (n,) rounds in which the best arm was ruled out, share


FRESH = 400  # contexts of which the widths are asked


def coverage(env, policy, T: int, seeds) -> Coverage:
    """`Coverage` of a ShuffleGLM in a `World`, a run per seed, on the streams of
    `simulate`."""
    jobs = [(env, policy, T, seed) for seed in need_seeds(seeds)]
    runs = parallel_map(_coverage, jobs)
    inside, too_heavy, lost = zip(*runs, strict=True)
    return Coverage(
        inside=np.array(inside),
        too_heavy=np.array(too_heavy),
        lost=np.array(lost),
    )


def _coverage(env, policy, T, seed):
    p = policy.params
    theta = env.theta(stream(seed, "environment"))  # what `blocks` draws first
    _, s, *_ = next(trace(env, policy, T, seed, int(p.ends[-2])))
    X = env.arms(stream(seed, "fresh"), FRESH)
    true = X @ theta
    roots = form_roots(X, s.V_inv[:-1])
    widths = roots * p.widths[:, None, None]
    scores = np.einsum("nki,ji->jnk", X, s.theta[:-1])
    upper = scores + widths
    lower = scores - widths
    alive = np.ones(true.shape, bool)
    for k in range(len(widths)):
        best = np.where(alive, lower[k], -np.inf).max(axis=1)
        alive &= upper[k] >= best[:, None]
    best_arm = true.argmax(axis=1)
    lost = ~alive[np.arange(FRESH), best_arm]
    weights = capped_slopes(p, scores[0], widths[0])
    heavy = weights > slopes(p.link, true) * (1 + 1e-12)
    inside = np.abs(scores - true) <= widths
    return inside.mean(axis=(1, 2)), heavy.mean(), lost.mean()


def form_roots(X, matrices):
    """sqrt(x' A x), (m, n, K), of the arms of X (n, K, d) for matrices A (m, d, d)."""
    return np.sqrt(np.einsum("nki,jil,nkl->jnk", X, matrices, X))


def capped_slopes(p, scores, doubt):
    """Weights of ShuffleGLM: the slope at a score, less what a doubt of this size may
    take off it, at most the cap."""
    least = np.exp(-np.minimum(2.0 * p.theta_bound, doubt))
    return np.minimum(slopes(p.link, scores) * least, p.caps[1])


# --- Table 2: RS-GLinUCB as its public program ran it ----------------------------------
#
# The matrix at the last fit is the *same array* as the running one, which is updated in
# place, so det H never exceeds 1.5 det H again.  The second estimate is fitted exactly
# once, right after the warm-up, on the few rows of the warm-up, while the width uses the
# current H.  In the long run regret is linear, with a slope that depends on luck.
# Source: Sawarni et al. (2024).


@jit
def aliased_select(p, s, X, rng):
    """As `rs_glinucb.select`, with one fit of all rows, and the width from the running
    matrix."""
    forms = np.empty(X.shape[0])
    square, arm = widest(X, s.V_inv, forms)
    s.warm[0] = 1 if square > p.threshold else 0
    if s.warm[0] == 0:
        rs_glinucb.fit_warm_up(p, s)
        if s.log_det[0] == -np.inf:
            s.log_det[0] = 0.0
            fit(
                p.link,
                s.X,
                s.y,
                s.t[0],
                rs_glinucb.PENALTY,
                p.tolerance,
                s.theta_hat,
                s.work,
            )
        inverse(s.H, s.H_inv, s.L)
        arm = rs_glinucb.choose(p, s, X, forms)
    return arm


def aliased(policy):
    """The same RS-GLinUCB as the program ran it."""
    return policy._replace(name="RS-GLinUCB, as run", play=None, select=aliased_select)


# --- the switching rule of Algorithm 2 -------------------------------------------------


def axis_switches(
    d: int,
    T: int,
    weight: float,
    ridge: float,
    blocks,
    growth=joint.GROWTH,
) -> int:
    """Noise-free switches of the directional rule where contexts are unit vectors of this
    weight:
    each axis for T/d rounds on end if blocks, else all in turn."""
    switches = 0
    total = np.zeros(d)  # of the diagonal; the matrix has no other entries
    last = np.full(d, ridge)
    for t in range(T):
        axis = t % d
        if blocks:
            axis = t * d // T
        total[axis] += weight
        grown = ridge + total[axis]
        if grown >= growth * last[axis]:
            switches += 1
            last = ridge + total
    return switches


# --- closed forms: (50) to (52) and Section J.1, Lemmas P.4 and U.4, (6) and (122) -----


def printed_ridge(*, d, T, epsilon, delta, failure, kappa_star) -> float:
    """lambda of (50) for rewards in [0, 1] (R = 1)."""
    log_T = math.log(T / failure)
    log_delta = math.log(1.0 / delta)
    norm = math.sqrt(log_T) + math.sqrt(d)
    noise = math.sqrt(d) * log_delta * math.log(T) * norm
    return 1.25 * d * log_T + 100.0 * noise / (epsilon * kappa_star)


def printed_gamma(
    *,
    d,
    T,
    epsilon,
    delta,
    failure,
    theta_bound,
    kappa,
    kappa_star,
) -> float:
    """gamma of (52) for rewards in [0, 1]; Criterion I fires at squared widths from
    1/(gamma^2 kappa) on."""
    log_T = math.log(T / failure)
    log_delta = math.log(1.0 / delta)
    rewards = math.sqrt(d * log_T)
    trees = (d * (d + log_T)) ** 0.25 * math.sqrt(log_T * log_delta)
    fits = d * math.sqrt(kappa) * log_T * math.sqrt(log_delta) / epsilon
    statistics = rewards + trees / math.sqrt(epsilon * kappa_star)
    return theta_bound * statistics + theta_bound**4 * fits


def switches_bound(d: int, t: int, ridge: float, L: float = 1.0) -> float:
    """Lemma P.4: most switches in t rounds, 1 + d/log(11/8) log(1 + t L^2/(ridge d))."""
    growth = math.log1p(t * L * L / (ridge * d))
    return 1.0 + d * growth / math.log(11.0 / 8.0)


def printed_tree_rho(epsilon: float, delta: float, kappa_star: float) -> float:
    """zCDP of tree V under the printed node noise, at its true sensitivity sqrt2: m nodes
    of 1/sigma^2 each, kappa*^2 epsilon^2/(72 log^2(32/delta))."""
    return (kappa_star * epsilon / math.log(32.0 / delta)) ** 2 / 72.0


def first_batch(
    kappa: float,
    theta_bound: float,
    d: int,
    gamma: float,
    alpha: float,
) -> float:
    """B_1 of (6): (sqrt(kappa) e^(3S) d^2 gamma^2 alpha/S)^(2/3)."""
    base = d * d * gamma**2 * alpha / theta_bound
    base *= math.sqrt(kappa) * math.exp(3.0 * theta_bound)
    return base ** (2.0 / 3.0)


def composed(epsilon: float, delta: float, iterations: int) -> float:
    """Epsilon of Algorithm 7's gradients by its own composition theorem.

    Each is (epsilon_0, delta/(N + 1)) with epsilon_0 = epsilon/(2 sqrt(2 N
    log(1/delta))); N of them leave a slack of delta/(N + 1), and N epsilon_0 (e^epsilon_0
    - 1) + epsilon_0 sqrt(2 N log((N + 1)/delta)) (Dwork and Roth 2014, Theorem 3.20).
    """
    root = math.sqrt(2.0 * iterations * math.log(1.0 / delta))
    each = epsilon / (2.0 * root)
    slack = math.log((iterations + 1) / delta)
    mean = iterations * each * math.expm1(each)
    return mean + each * math.sqrt(2.0 * iterations * slack)


def count2(d: int, T: int) -> float:
    """Lemma J.6 at R = 1: most fits on all other rounds, 4 log2(1 + T/d)."""
    return 4.0 * math.log2(1.0 + T / d)
