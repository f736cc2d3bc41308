"""Closed forms behind the chapter: random play, one step under greedy play, a root of a proof.

Source: the FLIPHAT paper, section 6 (setting) and appendix C (proof of Theorem 3.2); the moments of
one step are our own (the chapter's proposition "One step under greedy play").
"""

import numpy as np
from scipy.stats import norm

from companion.checks import need_int, need_positive, need_probability


def best_moment(K, power=1):
    """E max(z_1, ..., z_K)^power for K >= 1 independent standard normal z."""
    K = need_int("K", K, 1)
    return norm.expect(lambda z: K * z**power * norm.cdf(z) ** (K - 1))


def random_regret(env, T):
    """Expected regret of random play in T rounds of an `Autoregressive` environment."""
    return need_int("T", T, 1) * best_moment(env.K) * env.reward_scale


def one_step_fixed_point(env, sparsity, steps=100):
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


def zcdp_root(epsilon, delta):
    """The positive root z of epsilon - sqrt(z log(1/delta)) - z/4 + 5 z^(1/4) = 0 (appendix C)."""
    epsilon, delta = need_positive("epsilon", epsilon), need_probability("delta", delta)
    t = np.roots([0.25, 0.0, np.sqrt(np.log(1 / delta)), -5.0, -epsilon])
    return float(t[(np.abs(t.imag) < 1e-9) & (t.real > 0)].real.max() ** 4)
