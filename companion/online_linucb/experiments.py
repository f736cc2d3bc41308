"""What the chapter measures besides regret, and the paper's closed forms.

Source: "Improved rate for locally differentially private linear bandits", Section 3.1,
Lemmas 3.3 and H.6, Corollaries 3.6 and C.1, Table 1.
"""

import numpy as np

from companion.accounting.privacy import gaussian_scale
from companion.core import Policy
from companion.online_linucb import online_linucb as online
from companion.simulate import play_block, trace


def with_noise(sigma: float, d: int, T: int, delta: float) -> Policy:
    """Online LinUCB with OGD whose messages carry noise sigma, for the rates in T, d and
    the noise.

    The budget is the one for which the paper's formula gives sigma.
    """
    policy = online.online_linucb(
        d,
        T,
        epsilon=2.0 * np.sqrt(2.0 * np.log(1.25 / delta)) / sigma,
        delta=delta,
        calibration="paper",
        learner="ogd",
        width=online.practical_width(sigma, T, 1.0),
        clip=online.practical_clip(sigma, 0.0, d, 3.0),
    )
    return policy.renamed(f"σ = {sigma:g}")


def minimisers(
    theta: np.ndarray,
    sigma: float,
    n: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Minimisers of the squared and of the corrected loss over n noisy pairs, times
    theta.

    Contexts are uniform on the unit sphere; every coordinate and the reward have noise
    sigma.
    """
    d = len(theta)
    x = rng.standard_normal((n, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = x @ theta
    y += sigma * rng.standard_normal(n)
    x += sigma * rng.standard_normal(x.shape)
    gram = x.T @ x / n
    moment = x.T @ y / n
    squared = np.linalg.solve(gram, moment)
    energy = sigma**2 * np.eye(d)
    corrected = np.linalg.solve(gram - energy, moment)
    return squared @ theta, corrected @ theta


def needed_width(env, policy, T: int, seed: int) -> float:
    """Largest distance of theta* from the centre in the norm of V, over 200 rounds of one
    run."""
    need = 0.0
    every = max(1, T // 200)
    for _, s, X, mu, _ in trace(env, policy, T, seed, every):
        theta = np.linalg.lstsq(X[-1], mu[-1], rcond=None)[0]
        gap = theta - s.centre
        squared = gap @ np.linalg.solve(s.V_inv, gap)
        need = max(need, np.sqrt(squared))
    return need


def figure_one_arms(K: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """K arms (K, d) of Figure 1: (u, 1/sqrt2) with u uniform of norm 1/sqrt2."""
    u = rng.standard_normal((K, d - 1))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    one = np.ones((K, 1))
    return np.hstack([u, one]) / np.sqrt(2.0)


def least_eigenvalues(policy, K: int, sizes, T: int, seed: int):
    """Table 1: {M: least eigenvalues, per round, of the mean of x x' over M runs,
    (groups, T)}.

    max(sizes) runs share theta but not the action set, rewards are Bernoulli; they are
    cut into as many disjoint groups of M as there are, for every M in sizes.
    """
    rng = np.random.default_rng(seed)
    d = policy.params.d
    theta = figure_one_arms(1, d, rng)[0]
    runs = []
    for _ in range(max(sizes)):
        arms = figure_one_arms(K, d, rng)
        played = _played(policy, arms, theta, T, rng)
        runs.append(arms[played])
    least = {}
    for M in sizes:
        values = []
        for start in range(0, len(runs) - M + 1, M):
            group = runs[start : start + M]
            x = np.stack(group, axis=1)  # (T, M, d)
            second = np.swapaxes(x, 1, 2) @ x / M  # (T, d, d)
            values.append(np.linalg.eigvalsh(second)[:, 0])
        least[M] = np.array(values)
    return least


def _played(policy, arms, theta, T, rng):
    """The arms (T,) of one run on fixed contexts (K, d) with Bernoulli rewards."""
    state = policy.init(policy.params)
    played = np.empty(T, dtype=np.int64)
    K = len(arms)
    for start in range(0, T, 1000):
        block = played[start : start + 1000]
        n = len(block)
        hits = rng.random((n, K)) < arms @ theta
        X = np.repeat(arms[None], n, axis=0)
        play_block(policy, state, X, hits.astype(float), rng, block)
    return played


# Closed forms of the paper, at D = 1 and Delta = 0

NOISE = 0.5  # R of rewards in [0, 1]


def theory_clip(sigma: float, T: int, failure: float) -> float:
    """Corollary C.1 with its universal constant set to 1: a bound on every gradient of
    the run."""
    log = np.log(2.0 * T / failure)
    linear = 8.0 * np.sqrt(2.0 * log) * sigma
    return linear + 10.0 * log * sigma**2 + 4.0


def theory_width_and_clip(
    d: int,
    T: int,
    epsilon: float,
    delta: float,
):
    """Algorithm 1 with OGD as the theory has it: {"width": Lemma 3.3's, "clip": Corollary
    C.1's}.

    With the paper's noise, failure 1/T, gamma = 1, M_T from Lemma H.6 and the trivial Q_T
    <= 4 T. What the lemma prints for the noise is sqrt(ln(1/delta))/epsilon, not sigma.

    >>> round(theory_width_and_clip(5, 20_000, 0.2, 0.1)["width"])
    14167
    """
    sigma = gaussian_scale(epsilon, delta, 2.0, "classical-unchecked")  # line 2
    clip = theory_clip(sigma, T, 1.0 / T)
    log = np.log(T * T)
    scale = np.sqrt(np.log(1.0 / delta)) / epsilon
    learner = online.maler_params("ogd", d, T, gradient=clip)
    M = online.regret_bound(learner, T)
    K = (NOISE + scale) ** 2 * log
    K += scale**2 * log * 4.0 * T
    return {"width": float(np.sqrt(M + K)), "clip": clip}


def display_3_6(d, T, epsilon, delta, lambda_min, clip=None) -> float:
    """Corollary 3.6 before its last inequality, failure 1/T, its O at constant 1.

    H contains the bound G on gradients, clip(sigma) at the paper's noise (None: Corollary
    C.1's).
    """
    sigma = gaussian_scale(epsilon, delta, 2.0, "classical-unchecked")  # line 2
    G = theory_clip(sigma, T, 1.0 / T) if clip is None else clip(sigma)
    ratio = G / lambda_min
    H = ratio**2 + ratio
    scale = np.sqrt(np.log(1.0 / delta)) / epsilon
    log = np.log(T)
    width = (NOISE + scale) * np.sqrt(2.0 * log)
    width += log * np.sqrt(H) * scale
    return width * np.sqrt(d * T * np.log(T / d))
