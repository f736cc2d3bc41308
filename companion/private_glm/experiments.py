"""What the chapters measure of whole runs: figures, coverage, leaks, terms of proofs;
closed forms.

Source: Joint-DP GLM and ShuffleGLM of Sarmasarkar's paper, with constants of this book's;
the theory's universal constants are set to 1.
Everything random comes from the seeds that are passed; `simulate.parallel_map` spreads
repetitions.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from companion.baselines import rs_glinucb
from companion.jit import jit
from companion.kernels.glm import LOGISTIC, fit, mean, objective, slope, work_for
from companion.kernels.linalg import inverse, quad, sherman_morrison
from companion.kernels.ucb import widest
from companion.private_glm import joint_glm as joint
from companion.private_glm.joint_glm import joint_glm
from companion.simulate import need_seeds, parallel_map, stream, trace

means = np.vectorize(mean)
slopes = np.vectorize(slope)


class FitCounts(NamedTuple):
    """Several runs of one Joint-DP GLM."""

    regret: np.ndarray  # (n,) after the last round
    fits: np.ndarray  # (n, 2) of theta_o and theta_tau
    explored: np.ndarray  # (n,) rounds in which Criterion I fired
    # (n,) at most 50 rounds before the first fit of theta_tau, or T + 1
    first_fit: np.ndarray


def fit_counts(env, policy, T: int, seeds, executor=None) -> FitCounts:
    """`FitCounts` of a Joint-DP GLM, on the streams of `simulate`, one run per seed.

    Raises AssertionError if a run makes more fits than its ledger pays for.
    """
    jobs = [(env, policy, T, s) for s in need_seeds(seeds)]
    regrets, fits, explored, firsts = zip(
        *parallel_map(_fit_counts, jobs, executor), strict=True
    )
    runs = FitCounts(
        regret=np.array(regrets),
        fits=np.array(fits),
        explored=np.array(explored),
        first_fit=np.array(firsts),
    )
    paid = [policy.params.fit_o.cutoff, policy.params.fit_tau.cutoff]
    assert (runs.fits <= paid).all(), "more fits than were paid for"
    return runs


def _fit_counts(env, policy, T, seed):
    """One run, in pieces of 50 rounds, after which the number of fits is read."""
    state = policy.init(policy.params)
    rng = stream(seed, policy.name)
    gaps = []
    first = T + 1
    rounds = 0
    for X, R, mu in env.blocks(T, stream(seed, "environment")):
        for begin in range(0, len(X), 50):
            piece = slice(begin, begin + 50)
            arms = np.empty(len(X[piece]), np.int64)
            policy.play(policy.params, state, X[piece], R[piece], rng, arms)
            if state.fits[1] > 0:
                first = min(first, rounds + 1)
            means_there = mu[piece]
            played = means_there[np.arange(len(arms)), arms]
            gaps.append(means_there.max(axis=1) - played)
            rounds += len(arms)
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
    """Several runs of a ShuffleGLM up to its last batch, and what it says of fresh
    contexts."""

    # (n, M - 1) arms whose score is within the width of that batch, share
    inside: np.ndarray
    # (n,) arms whose weight exceeds the slope at theta*, share (Lemma F.7)
    too_heavy: np.ndarray
    # (n,) least eigenvalue of H* - H over lambda, batch 2 (nan for M = 2)
    excess: np.ndarray
    alive: np.ndarray  # (n, M - 1) arms left after that batch, mean
    lost: np.ndarray  # (n,) rounds in which the best arm was ruled out, share


def coverage(env, policy, T: int, seeds, fresh=400, executor=None) -> Coverage:
    """`Coverage` of a ShuffleGLM in a `World`, a run per seed, on the streams of
    `simulate`."""
    jobs = [(env, policy, T, s, fresh) for s in need_seeds(seeds)]
    inside, too_heavy, excess, alive, lost = zip(
        *parallel_map(_coverage, jobs, executor), strict=True
    )
    return Coverage(
        inside=np.array(inside),
        too_heavy=np.array(too_heavy),
        excess=np.array(excess),
        alive=np.array(alive),
        lost=np.array(lost),
    )


def _coverage(env, policy, T, seed, fresh):
    p = policy.params
    theta = env.theta(stream(seed, "environment"))  # what `blocks` draws first
    _, s, *_ = next(trace(env, policy, T, seed, int(p.ends[-2])))
    X = env.arms(stream(seed, "fresh"), fresh)
    true = X @ theta
    widths = form_roots(X, s.V_inv[:-1]) * p.widths[:, None, None]
    scores = np.einsum("nki,ji->jnk", X, s.theta[:-1])
    alive = np.ones(true.shape, bool)
    left = []
    for score, width in zip(scores, widths, strict=True):
        low = np.where(alive, score - width, -np.inf).max(axis=1, keepdims=True)
        alive &= score + width >= low
        left.append(alive.sum(axis=1).mean())
    best = true.argmax(axis=1)
    lost = ~alive[np.arange(len(best)), best]
    heavy = capped_slopes(p, scores[0], widths[0]) > slopes(p.link, true) * (1 + 1e-12)
    excess = np.nan
    if len(p.ends) > 2:  # the rows of the last batch that was read are still there
        rows = s.X[: p.ends[-2] - p.ends[-3]]
        doubt = form_roots(rows[:, None], s.V_inv[:1])[0, :, 0] * p.widths[0]
        weights = capped_slopes(p, rows @ s.theta[0], doubt)
        more = slopes(p.link, rows @ theta) - weights
        excess = np.linalg.eigvalsh((rows.T * more) @ rows)[0] / p.ridge[-1]
    inside = (np.abs(scores - true) <= widths).mean(axis=(1, 2))
    return inside, heavy.mean(), excess, np.array(left), lost.mean()


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


# --- the terms into which the proof of Theorem 6.2 splits regret (K.1, M.1, P.1, Q.2) --


def proof_terms(env, policy, T: int, seeds, executor=None):
    """What the proof of Theorem 6.2 adds up, as means over runs of a Joint-DP GLM in a
    `World`.

    Regret in rounds that explore, of the others before the first fit of theta_tau, and
    after it; both elliptical potentials, without noise, beside 2 d log(1 + n L/(d ridge))
    for n rounds and weights up to L; the share of weights above the slope at theta*.
    """
    jobs = [(env, policy, T, s) for s in need_seeds(seeds)]
    runs = parallel_map(_proof_terms, jobs, executor)
    terms = {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}
    for side in "VH":
        assert terms[f"potential of {side}"] <= terms[f"bound {side}"], "Lemma P.1"
    return terms


def _proof_terms(env, policy, T, seed):
    p = policy.params
    theta = env.theta(stream(seed, "environment"))  # what `blocks` draws first
    gaps = np.empty(T)
    fitted = np.empty(T, bool)
    theta_o = np.empty((T, p.d))
    for t, s, _, mu, arms in trace(env, policy, T, seed, 1):
        gaps[t - 1] = mu[0].max() - mu[0, arms[0]]
        fitted[t - 1] = s.fits[1] > 0
        theta_o[t - 1] = s.theta_o
    x = s.X[:T]
    wide = s.explored[:T] == 1
    weights = np.vectorize(joint.leaf_weight)(p.link, (x * theta_o).sum(axis=1))
    above = weights / slopes(p.link, x @ theta) > 1 + 1e-12
    weighted = np.sqrt(weights[~wide])[:, None] * x[~wide]
    top = joint.leaf_weight(p.link, 0.0)
    return {
        "explored": wide.sum(),
        "regret exploring": gaps[wide].sum(),
        "before the first fit": gaps[~wide & ~fitted].sum(),
        "after it": gaps[~wide & fitted].sum(),
        "potential of V": potential(x[wide], p.ridge_v),
        "bound V": potential_bound(wide.sum(), p.d, p.ridge_v, 1.0),
        "potential of H": potential(weighted, p.ridge_h),
        "bound H": potential_bound((~wide).sum(), p.d, p.ridge_h, top),
        "weights above the slope": np.mean(above[~wide]),
    }


def potential_bound(n, d, ridge, weight):
    """Lemma P.1: the largest potential of n rounds of at most this weight."""
    return 2.0 * d * np.log1p(n * weight / (d * ridge))


def potential(rows: np.ndarray, ridge: float) -> float:
    """Sum of x' V^-1 x, at most 1 each, over rows x of (n, d), V growing by x x' from
    ridge I."""
    V_inv = np.eye(rows.shape[1]) / ridge
    work = np.empty(rows.shape[1])
    total = 0.0
    for x in rows:
        total += min(1.0, quad(V_inv, x))
        sherman_morrison(V_inv, x, work)
    return total


# --- Lemma S.1: how far a fit is from theta* if its loss is nu above the least one -----
#
# The loss is L(theta) = sum of b(x'theta) - r x'theta, plus (ridge/2) ||theta||^2, for
# logistic rewards (R = 1), so that g(theta) = sum of mean x + ridge theta and H* its
# Hessian at theta*.


def fits_with_excess(n: int, d: int, norm, ridge: float, excesses, runs, seed: int):
    """(share, moved), each (runs, m), for excess losses nu (m,) in one random direction
    per run.

    n contexts in the unit ball of R^d, ||theta*|| = norm.  share: distance from theta* in
    the norm of H* over the right side of Lemma S.1, (2 + c)(gamma + sqrt(nu)) + sqrt((2 +
    c)(gamma^2/ sqrt(ridge) + gamma)), with its gamma and c = max |x'(theta - theta*)| as
    they are; moved:
    distance from the minimiser in the same norm.
    """
    rng = np.random.default_rng([seed, 7])
    pairs = [_fits(n, d, norm, ridge, excesses, rng) for _ in range(runs)]
    shares, moves = zip(*pairs, strict=True)
    return np.array(shares), np.array(moves)


def _fits(n, d, norm, ridge, excesses, rng):
    X = rng.standard_normal((n, d))
    true = rng.standard_normal(d)
    direction = rng.standard_normal(d)
    # uniform in the ball
    X *= (rng.random(n) ** (1.0 / d) / np.linalg.norm(X, axis=1))[:, None]
    true = norm * true / np.linalg.norm(true)
    direction /= np.linalg.norm(direction)
    r = (rng.random(n) < means(LOGISTIC, X @ true)).astype(float)
    best = np.zeros(d)
    fit(LOGISTIC, X, r, n, 0.5 * ridge, 1e-20, best, work_for(d))

    def loss(s):  # at s from the minimiser
        return objective(LOGISTIC, X, r, n, 0.5 * ridge, best + s * direction)

    H = (X.T * slopes(LOGISTIC, X @ true)) @ X + ridge * np.eye(d)
    difference = means(LOGISTIC, X @ best) - means(LOGISTIC, X @ true)
    gap = X.T @ difference + ridge * (best - true)
    gamma = np.sqrt(gap @ np.linalg.solve(H, gap))
    shares = []
    moves = []
    for nu in excesses:
        s = brentq(lambda s, nu=nu: loss(s) - loss(0.0) - nu, 0.0, 1e4)
        off = best + s * direction - true
        c = 2.0 + np.abs(X @ off).max()
        tail = np.sqrt(c * (gamma**2 / np.sqrt(ridge) + gamma))
        shares.append(np.sqrt(off @ H @ off) / (c * (gamma + np.sqrt(nu)) + tail))
        moves.append(s * np.sqrt(direction @ H @ direction))
    return shares, moves


# --- two parts of Algorithm 2: the printed optimiser, and the switching rule -----------


def mean_loss(X, r, theta):
    """Mean logistic losses (reps,) of rows X (reps, n, d), rewards r (reps, n)."""
    z = np.einsum("knd,kd->kn", X, theta)
    return (np.logaddexp(0.0, z) - r * z).mean(axis=1)


def descent(X, r, sigma: float, steps: int, eta: float, radius: float, rng):
    """(mean, last) iterate, each (reps, d), of steps of length eta from 0 on `mean_loss`,
    projected on a ball; every gradient has noise N(0, sigma^2)."""
    theta = np.zeros((len(X), X.shape[2]))
    total = np.zeros(theta.shape)
    for _ in range(steps):
        total += theta
        chance = 1.0 / (1.0 + np.exp(-np.einsum("knd,kd->kn", X, theta)))
        g = np.einsum("kn,knd->kd", chance - r, X) / X.shape[1]
        theta = theta - eta * (g + sigma * rng.standard_normal(theta.shape))
        size = np.linalg.norm(theta, axis=1, keepdims=True)
        theta *= np.minimum(1.0, radius / np.maximum(size, 1e-300))
    return total / steps, theta


def excess_losses(cases, reps: int, seed: int, failure: float = 0.02) -> np.ndarray:
    """Excess mean loss (reps, m) of Lemma U.4's optimiser, over the least loss in the
    ball, for cases (n, rho): its noise, step and number of steps at zCDP budget rho (L =
    1).

    Logistic rewards, theta of norm 1.87 in R^3, contexts on the unit sphere, radius 2.
    The least loss is that of 500 steps without noise, of the inverse of the largest
    curvature, 1/4.
    """
    rng = np.random.default_rng(seed)
    theta = np.array([1.5, -1.0, 0.5])
    radius = 2.0
    out = []
    for n, rho in cases:
        X = rng.standard_normal((reps, n, 3))
        X /= np.linalg.norm(X, axis=2, keepdims=True)
        chance = 1.0 / (1.0 + np.exp(-X @ theta))
        r = (rng.random((reps, n)) < chance).astype(float)
        steps = max(1, round((n * n * rho + math.log(1.0 / failure)) / 3))
        sigma = math.sqrt(2.0 * steps / (n * n * rho))
        eta = 2.0 * radius / math.sqrt(steps)
        noisy, _ = descent(X, r, sigma, steps, eta, radius, rng)
        _, best = descent(X, r, 0.0, 500, 4.0, radius, rng)
        out.append(mean_loss(X, r, noisy) - mean_loss(X, r, best))
    return np.array(out).T


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
        axis = t * d // T if blocks else t % d
        total[axis] += weight
        if ridge + total[axis] >= growth * last[axis]:
            switches += 1
            last = ridge + total
    return switches


# --- closed forms: (50) to (52) and Section J.1, Lemmas P.4 and U.4, (6) and (122) -----


def printed_ridge(*, d, T, epsilon, delta, failure, kappa_star) -> float:
    """lambda of (50) for rewards in [0, 1] (R = 1)."""
    L_T = math.log(T / failure)
    L_d = math.log(1.0 / delta)
    noise = math.sqrt(d) * L_d * math.log(T) * (math.sqrt(L_T) + math.sqrt(d))
    return 1.25 * d * L_T + 100.0 * noise / (epsilon * kappa_star)


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
    L_T = math.log(T / failure)
    L_d = math.log(1.0 / delta)
    S = theta_bound
    private = d**0.25 * math.sqrt(L_T * L_d) * (d + L_T) ** 0.25
    fits = S**4 * d * math.sqrt(kappa) * L_T * math.sqrt(L_d) / epsilon
    return S * math.sqrt(d * L_T) + S * private / math.sqrt(epsilon * kappa_star) + fits


def switches_bound(d: int, t: int, ridge: float, L: float = 1.0) -> float:
    """Lemma P.4: most switches in t rounds, 1 + d/log(11/8) log(1 + t L^2/(ridge d))."""
    return 1.0 + d / math.log(11.0 / 8.0) * math.log1p(t * L * L / (ridge * d))


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
    S = theta_bound
    base = math.sqrt(kappa) * math.exp(3.0 * S) * d * d * gamma**2 * alpha / S
    return base ** (2.0 / 3.0)


def composed(epsilon: float, delta: float, iterations: int) -> float:
    """Epsilon of Algorithm 7's gradients by its own composition theorem.

    Each is (epsilon_0, delta/(N + 1)) with epsilon_0 = epsilon/(2 sqrt(2 N
    log(1/delta))); N of them leave a slack of delta/(N + 1), and N epsilon_0 (e^epsilon_0
    - 1) + epsilon_0 sqrt(2 N log((N + 1)/delta)) (Dwork and Roth 2014, Theorem 3.20).
    """
    N = iterations
    e0 = epsilon / (2.0 * math.sqrt(2.0 * N * math.log(1.0 / delta)))
    slack = math.log((N + 1) / delta)
    return N * e0 * math.expm1(e0) + e0 * math.sqrt(2.0 * N * slack)


def count2(d: int, T: int) -> float:
    """Lemma J.6 at R = 1: most fits on all other rounds, 4 log2(1 + T/d)."""
    return 4.0 * math.log2(1.0 + T / d)
