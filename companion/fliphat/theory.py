"""Closed forms behind the chapter: random play, one step under greedy play, a root of a proof.

Source: the FLIPHAT paper, section 6 (setting) and appendix C (proof of Theorem 3.2); the moments of
one step are our own (the chapter's proposition "One step under greedy play").
"""

import numpy as np
from scipy.stats import norm

from companion.validate import need_int, need_positive, need_probability


def best_moment(K: int, power: float = 1) -> float:
    """E max(z_1, ..., z_K)^power for K >= 1 independent standard normal z."""
    K = need_int("K", K, 1)
    return norm.expect(lambda z: K * z**power * norm.cdf(z) ** (K - 1))


def random_regret(env, T: int) -> float:
    """Expected regret of random play in T rounds of an `Autoregressive` environment."""
    return need_int("T", T, 1) * best_moment(env.K) * env.reward_scale


def one_step_fixed_point(env, sparsity: int, steps: int = 100):
    """(theta, last change, regret per round there) of one step from zero per episode, without noise
    and with ever more rows.

    The map sends theta to the `sparsity` largest entries of E[x x'beta] under greedy play for
    theta; it is iterated from beta.
    """
    sparsity = need_int("sparsity", sparsity, 1, env.d)
    cov = env.phi ** np.abs(np.subtract.outer(np.arange(env.d), np.arange(env.d)))
    first, second = best_moment(env.K), best_moment(env.K, 2)
    theta = env.beta.copy()
    for _ in range(need_int("steps", steps, 1)):
        along = theta @ cov @ env.beta / (theta @ cov @ theta)
        step = cov @ env.beta + (second - 1) * along * (cov @ theta)
        kept = np.argsort(-np.abs(step))[:sparsity]
        before, theta = theta, np.zeros(env.d)
        theta[kept] = step[kept]
    best = np.sqrt(env.beta @ cov @ env.beta)
    change = np.abs(theta - before).max()
    return theta, change, first * (best - theta @ cov @ env.beta / np.sqrt(theta @ cov @ theta))


def zcdp_root(epsilon: float, delta: float) -> float:
    """The positive root z of epsilon - sqrt(z log(1/delta)) - z/4 + 5 z^(1/4) = 0 (appendix C)."""
    epsilon, delta = need_positive("epsilon", epsilon), need_probability("delta", delta)
    t = np.roots([0.25, 0.0, np.sqrt(np.log(1 / delta)), -5.0, -epsilon])
    return float(t[(np.abs(t.imag) < 1e-9) & (t.real > 0)].real.max() ** 4)


def regret_bound(alpha: float, T: int, sparsity: int, log_d: float, epsilon: float, delta: float):
    """(I, J) of Theorem 5.6 at Delta_* = 1 for alpha in [0, inf), its hidden constants left out;
    sparsity is s + s*.
    """
    share = (T ** ((1 - alpha) / 2) - 1) / (1 - alpha) if alpha != 1 else np.log(T) / 2
    n = np.arange(int(np.log(T)) + 2)
    psi = (n ** (2 * alpha + 2) * 2.0 ** (-n * alpha)).sum()
    free = share * (sparsity**2 * log_d) ** ((1 + alpha) / 2)
    private = sparsity**3 * log_d**2 * np.log(1 / delta) / epsilon**2
    return free, psi * private ** ((1 + alpha) / 2)


def lower_bound(
    T: int, sparsity: int, log_ratio: float, epsilon: float, delta: float
) -> tuple[float, float]:
    """(private, other) term of Theorem 3.2 without its hidden constant, log_ratio = log(d/s*);
    delta = 0 is pure privacy.
    """
    other = np.sqrt(sparsity * T * log_ratio)
    if delta == 0.0:
        return sparsity * log_ratio**1.5 / epsilon, other
    return np.sqrt(sparsity * log_ratio**2 * np.log(1 / delta)) / epsilon, other


def peeling_error(rng: np.random.Generator, d: int) -> float:
    """Error of peeling in Lemma D.1, as a share of its bound at the c that makes it smallest, for
    one random vector v, rival and noise in dimension d >= 3.
    """
    size = rng.integers(2, d + 1)
    sparsity = rng.integers(1, size)
    rival_size = rng.integers(1, sparsity + 1)
    v, rival = np.zeros(d), np.zeros(d)
    v[rng.choice(d, size, replace=False)] = rng.standard_normal(size)
    largest = np.argsort(-np.abs(v))[:rival_size]
    rival[largest] = v[largest] + rng.exponential(0.3) * rng.standard_normal(rival_size)
    noise, picks = rng.laplace(0, rng.exponential(0.5), (sparsity, d)), []
    for row in noise:
        scores = np.abs(v) + row
        scores[picks] = -np.inf
        picks.append(int(scores.argmax()))
    kept = np.zeros(d)
    kept[picks] = v[picks]
    a = (size - sparsity) / (size - rival_size) * ((rival - v) ** 2).sum()
    b = 4 * (np.abs(noise).max(axis=1) ** 2).sum()
    return ((kept - v) ** 2).sum() / (np.sqrt(a) + np.sqrt(b)) ** 2  # min over c of (1+1/c)a+(1+c)b
