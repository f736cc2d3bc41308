"""What the chapter measures besides regret, and the paper's closed forms.

Source: "Improved rate for locally differentially private linear bandits", Section 3.1, Lemmas 3.3
and H.6, Theorems 3.4 and C.2, Corollaries 3.6 and C.1, Table 1; `oracle_loss` is a comparison of
ours.
"""

import numpy as np

from companion.accounting.privacy import gaussian_scale
from companion.jit import jit
from companion.kernels.linalg import dot
from companion.online_linucb.online_linucb import (
    Params,
    gradient,
    init_learner,
    learn,
    make_learner,
    regret_bound,
)
from companion.simulate import trace
from companion.stats import Interval


def minimisers(
    theta: np.ndarray, sigma: float, n: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Minimisers of the squared and of the corrected loss over n noisy pairs, times theta.

    Contexts are uniform on the unit sphere; every coordinate and the reward have noise sigma.
    """
    x = rng.standard_normal((n, len(theta)))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = x @ theta + sigma * rng.standard_normal(n)
    x += sigma * rng.standard_normal(x.shape)
    A, b = x.T @ x / n, x.T @ y / n
    corrected = A - sigma**2 * np.eye(len(theta))
    return np.linalg.solve(A, b) @ theta, np.linalg.solve(corrected, b) @ theta


def family_weights(env, policy, T: int, seed: int) -> np.ndarray:
    """Rows (round, convex, strongly convex, exp-concave): weight of Maler's families in one run."""
    rows = []
    for t, s, *_ in trace(env, policy, T, seed, max(1, T // 100)):
        w, n = np.exp(s.learner.log_w), policy.params.learner.n
        rows.append((t, w[0], w[1 : n + 1].sum(), w[n + 1 :].sum()))
    return np.array(rows)


def needed_width(env, policy, T: int, seed: int) -> np.ndarray:
    """Largest distances of theta*, and of -theta*, from the centre in the norm of V: a pair.

    Over 200 rounds of one run; the second is a control, for no set should hold the opposite.
    """
    need = np.zeros(2)
    for _, s, X, mu, _ in trace(env, policy, T, seed, max(1, T // 200)):
        theta = np.linalg.lstsq(X[-1], mu[-1], rcond=None)[0]
        for i, gap in enumerate((theta - s.centre, -theta - s.centre)):
            need[i] = max(need[i], np.sqrt(gap @ np.linalg.solve(s.V_inv, gap)))
    return need


def proof_terms(env, policy, T: int, seed: int) -> np.ndarray:
    """What the proof of Theorem 3.4 adds up, over one run: regret, signal, noise, Q_T, potential.

    With gap = theta_t - theta*, u the clean action and x the noisy one: signal, sum of <u, gap>^2;
    noise, sum of <x - u, gap>^2; Q_T, sum of ||gap||^2; potential, sum of min(1, u'V^-1 u) with V
    as it was before the round.
    """
    s, total = policy.init(policy.params), np.zeros(5)
    before = s.learner.theta.copy(), s.V_inv.copy()
    for _, s, X, mu, arms in trace(env, policy, T, seed, 1):
        theta, u = np.linalg.lstsq(X[0], mu[0], rcond=None)[0], X[0, arms[0]]
        gap, V_inv = before[0] - theta, before[1]
        parts = (
            (u @ gap) ** 2,
            ((s.message[:-1] - u) @ gap) ** 2,
            gap @ gap,
            min(1.0, u @ V_inv @ u),
        )
        total += (mu[0].max() - mu[0, arms[0]], *parts)
        before = s.learner.theta.copy(), s.V_inv.copy()
    return total


def learner_regret(
    learner, sigma: float, T: int, rng: np.random.Generator, uphill: bool = False
) -> np.ndarray:
    """Cumulative (realised regret, linearised regret, squared distance to theta*), (T, 3).

    The learner sees noisy pairs: contexts uniform on the unit sphere, rewards signs with mean <x,
    theta*>, theta* = 1/sqrt(d) in every coordinate; so S = I/d and mu = 2/d.  uphill: it is told
    the gradients with the wrong sign, a planted fault.
    """
    d, s = learner.d, init_learner(learner)
    theta, total = np.ones(d) / np.sqrt(d), np.zeros((T, 3))
    p = Params(d, T, sigma, 0.0, False, 0.0, learner)
    X = rng.standard_normal((T, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    Y = np.where(rng.random(T) < 0.5 + 0.5 * X @ theta, 1.0, -1.0)
    Y += sigma * rng.standard_normal(T)
    X = X + sigma * rng.standard_normal(X.shape)
    follow(p, s, X, Y, theta, -1.0 if uphill else 1.0, total)
    return total.cumsum(axis=0)


@jit
def follow(p, s, X, Y, theta, sign, out):
    """out (T, 3) <- in every round what a prediction loses more than theta, <g, gap> and ||gap||^2
    with gap = prediction - theta; the learner is told sign times the gradient g."""
    g, gap = np.empty(p.d), np.empty(p.d)
    for t in range(X.shape[0]):
        said = gradient(p, X[t], Y[t], s.theta, g) - Y[t]
        right = dot(X[t], theta) - Y[t]
        length = dot(s.theta, s.theta) - dot(theta, theta)
        out[t, 0] = said * said - right * right - p.sigma * p.sigma * length
        for i in range(p.d):
            gap[i] = s.theta[i] - theta[i]
        out[t, 1], out[t, 2] = dot(g, gap), dot(gap, gap)
        for i in range(p.d):
            g[i] *= sign
        learn(p.learner, s, g)


def oracle_loss(env, T: int, sigmas, rng: np.random.Generator) -> np.ndarray:
    """T times what the arm that an oracle prefers loses, for every noise in sigmas.

    It explores T rounds uniformly for free and knows the second moment S of the contexts; from the
    noisy pairs it estimates theta by S^-1 mean(x y).  One action set of env (fixed, Bernoulli).
    """
    X, _, mu = next(env.blocks(1, rng))
    K, d = X[0].shape
    S = X[0].T @ X[0] / K
    picks = rng.integers(0, K, T)
    y = (rng.random(T) < mu[0, picks]).astype(float)
    noise_x, noise_y = rng.standard_normal((T, d)), rng.standard_normal(T)
    loss = np.empty(len(sigmas))
    for i, sigma in enumerate(sigmas):
        estimate = np.linalg.solve(S, (X[0, picks] + sigma * noise_x).T @ (y + sigma * noise_y) / T)
        loss[i] = T * (mu[0].max() - mu[0, np.argmax(X[0] @ estimate)])
    return loss


def figure_one_arms(K: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """K arms (K, d) of Figure 1: (u, 1/sqrt2) with u uniform of norm 1/sqrt2."""
    u = rng.standard_normal((K, d - 1))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    return np.hstack([u, np.ones((K, 1))]) / np.sqrt(2.0)


def least_eigenvalues(policy, K: int, sizes, T: int, seed: int):
    """Table 1: {M: least eigenvalues, per round, of the mean of x x' over M runs, (groups, T)}.

    max(sizes) runs share theta but not the action set, rewards are Bernoulli; they are cut into as
    many disjoint groups of M as there are, for every M in sizes.
    """
    rng, d = np.random.default_rng(seed), policy.params.d
    theta, runs = figure_one_arms(1, d, rng)[0], []
    for _ in range(max(sizes)):
        arms = figure_one_arms(K, d, rng)
        s, played = policy.init(policy.params), np.empty(T, dtype=np.int64)
        for start in range(0, T, 1000):
            n = min(1000, T - start)
            R = (rng.random((n, K)) < arms @ theta).astype(float)
            X = np.repeat(arms[None], n, axis=0)
            policy.loop(policy.params, s, X, R, rng, played[start : start + n])
        runs.append(arms[played])
    groups = {M: [runs[i : i + M] for i in range(0, len(runs) - M + 1, M)] for M in sizes}
    return {M: np.array([_least(group) for group in gs]) for M, gs in groups.items()}


def _least(group):
    """Least eigenvalue, per round, of the mean of x x' over runs (T, d)."""
    x = np.stack(group, axis=1)
    return np.linalg.eigvalsh(np.swapaxes(x, 1, 2) @ x / len(group))[:, 0]


def price_of_combining(finals, rng: np.random.Generator, draws: int = 4000) -> Interval:
    """A combiner's worst ratio to the best base learner, over that of the safest base learner.

    finals: per world, final regrets (n_reps, learners): the base learners, then the combiner.  The
    worst is over the worlds; the interval is the bootstrap's over the repetitions of each world.
    """

    def price(means):  # (draws, worlds, learners)
        worst = (means / means[:, :, :-1].min(axis=2, keepdims=True)).max(axis=1)
        return worst[:, -1] / worst[:, :-1].min(axis=1)

    drawn = []
    for final in finals:
        n = len(final)
        drawn.append(rng.multinomial(n, np.full(n, 1.0 / n), draws) @ final / n)
    value = price(np.array([[f.mean(axis=0) for f in finals]]))[0]
    return Interval(float(value), *np.quantile(price(np.stack(drawn, axis=1)), [0.025, 0.975]))


# --- closed forms of the paper -------------------------------------------------------------------


def theory_clip(sigma: float, jitter, T: int, failure: float, ball: float = 1.0) -> float:
    """Corollary C.1 with its universal constant set to 1: a bound on every gradient of the run."""
    log, D, Delta = np.log(2.0 * T / failure), ball, np.sqrt(jitter)
    first = 2.0 * np.sqrt(2.0 * log) * (2.0 * D * sigma + 2.0 * sigma + D * Delta + Delta)
    noise = 2.0 * D * jitter + 4.0 * D * Delta * sigma + 2.0 * Delta * sigma
    square = (2.0 * D + 2.0 + D) * sigma**2
    return first + 2.0 * log * (noise + square) + 2.0 * D + 2.0


def theory_width(
    learner,
    epsilon: float,
    delta: float,
    jitter,
    T: int,
    failure: float,
    noise: float = 0.5,
) -> float:
    """Lemma 3.3 with gamma = 1, M_T from Lemma H.6 and the trivial Q_T <= 4 D^2 T: sqrt(M_T + K_T).

    What the lemma prints for the noise is sqrt(ln(1/delta))/epsilon, not sigma.

    >>> inner = make_learner("ogd", 5, 20_000, gradient=theory_clip(22.4754, 0.0, 20_000, 5e-5))
    >>> round(theory_width(inner, 0.2, 0.1, 0.0, 20_000, 5e-5))
    14167
    """
    D, log, Q = learner.ball, np.log(T / failure), 4.0 * learner.ball**2 * T
    scale = np.sqrt(np.log(1.0 / delta)) / epsilon
    K = D * jitter * log * np.sqrt(T * Q) + (noise + D * scale + D * np.sqrt(jitter)) ** 2 * log
    K += (scale**2 + jitter) * log * Q
    return float(np.sqrt(regret_bound(learner, T) + K))


def strong_bounds(learner, mu: np.ndarray, T: int, failure: float) -> tuple[np.ndarray, np.ndarray]:
    """Theorem C.2 for a mu-strongly convex expected loss: bounds on its regret and on Q_T.

    The second, on Q_T = sum ||theta_t - theta*||^2, is 2/mu times the first.
    """
    G, D = learner.gradient, learner.ball
    A = 2.0 * np.log(np.sqrt(3.0) * (0.5 * np.log2(T) + 3.0)) + 1.0 + np.log(T)
    regret = (40.0 * G * D + 18.0 * G**2 / mu) * A + 32.0 * G**2 * np.log(1.0 / failure) / mu
    return regret, 2.0 / mu * regret


def display_3_6(
    d: int,
    T: int,
    epsilon: float,
    delta: float,
    lambda_min: float,
    noise: float = 0.5,
    clip=None,
) -> float:
    """Corollary 3.6 before its last inequality, Delta = 0, D = 1, failure 1/T, its O at constant 1.

    H contains the bound G on gradients, clip(sigma) at the paper's noise (None: Corollary C.1's).
    """
    sigma = gaussian_scale(epsilon, delta, 2.0, "classical-unchecked")  # line 2
    G = theory_clip(sigma, 0.0, T, 1.0 / T) if clip is None else clip(sigma)
    H = (G / lambda_min) ** 2 + G / lambda_min
    scale = np.sqrt(np.log(1.0 / delta)) / epsilon
    width = (noise + scale) * np.sqrt(2.0 * np.log(T)) + np.log(T) * np.sqrt(H) * scale
    return width * np.sqrt(d * T * np.log(T / d))


def literal(d: int, T: int, epsilon: float, delta: float):
    """Algorithm 1 with OGD as the theory has it: {"width": Lemma 3.3's, "clip": Corollary C.1's}.

    With the paper's noise, failure 1/T and no extra perturbation.
    """
    sigma = gaussian_scale(epsilon, delta, 2.0, "classical-unchecked")  # line 2
    clip = theory_clip(sigma, 0.0, T, 1.0 / T)
    inner = make_learner("ogd", d, T, gradient=clip)
    return {"width": theory_width(inner, epsilon, delta, 0.0, T, 1.0 / T), "clip": clip}
