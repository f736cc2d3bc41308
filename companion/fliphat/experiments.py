"""Drivers of the chapter's figures, and theory's closed forms.

Source: the FLIPHAT paper, section 6 (settings), Theorem 3.2 (lower bound, appendix C), Theorem 4.1
(N-IHT), Theorem 5.6 (regret), Lemma D.1 (peeling).
"""

from __future__ import annotations

import numpy as np
from scipy.stats import binom, norm

from companion.fliphat.environments import gaussian_statistics
from companion.fliphat.exact_simulation import simulate_one_step
from companion.fliphat.fliphat import (
    Params,
    exact_factor,
    fliphat,
    gradient_sensitivity,
    init,
    residual_fliphat,
    sparse_dot,
    step,
)
from companion.jit import jit
from companion.simulate import need_run, need_seeds, parallel_map, stream
from companion.validate import need_array, need_int, need_positive, need_probability

# Settings


def as_published(
    epsilon: float,
    d: int,
    T: int,
    *,
    signal,
    sparsity: int,
    delta: float,
    calibration: str = "paper",
    clip_contexts: bool | None = None,
    x_max: float | None = None,
    iteration_rate: float = 0.16,
):
    """FLIPHAT with the paper's noise, b_max = |signal|_1, raw contexts; named by epsilon."""
    options = {"calibration": calibration, "clip_contexts": clip_contexts, "x_max": x_max}
    options |= {"iteration_rate": iteration_rate, "b_max": np.abs(signal).sum()}
    policy = fliphat(d, T, sparsity=sparsity, epsilon=epsilon, delta=delta, **options)
    return policy.renamed(f"ε = {epsilon:g}")


def private_variants(epsilon: float, d: int, T: int, *, signal, sparsity: int, delta: float):
    """{name: residual FLIPHAT} with all bounds 1: "one step", "warm start", "three steps".

    Like the published runs, they take the radius |signal|_1 of the l1 ball from the truth.
    """
    options = {"sparsity": sparsity, "epsilon": epsilon, "delta": delta}
    options["l1_radius"] = np.abs(signal).sum()
    return {
        "one step": residual_fliphat(d, T, iterations=1, **options),
        "warm start": residual_fliphat(d, T, iterations=1, warm=True, **options),
        "three steps": residual_fliphat(d, T, iterations=3, **options),
    }


# Drivers


def scaling(worlds, budgets, T: int, seeds, executor=None):
    """{epsilon: regret after T rounds of the published algorithm, (n_reps, len(worlds))}.

    worlds: {name: (environment, options of `as_published`)}; each has streams of its own, named
    after it; budgets: values of epsilon.  Raises ValueError as `simulate_one_step`.
    """
    final = []
    for name, (env, options) in worlds.items():
        policies = [as_published(e, env.d, T, **options) for e in budgets]
        policies = [p.renamed(f"{p.name}, {name}") for p in policies]
        final.append(simulate_one_step(env, policies, T, seeds, executor, grid=[T]).final)
    return {e: np.stack([y[:, i] for y in final], axis=1) for i, e in enumerate(budgets)}


@jit
def niht_statistics(p, s, G, c, n, rng):
    """s.theta_hat <- Algorithm 1 from G = X'X, c = X'y of n rows (no clipping): cost free of n."""
    for m in range(p.iterations[0]):
        for j in range(p.d):
            s.moment[j] = c[j] - sparse_dot(G[j], s.theta_hat, s.picks, s.size[0])
        step(p, s, 0, m, n, rng)


def niht_errors(
    truth,
    ns,
    epsilons,
    seeds,
    executor=None,
    *,
    sparsity: int,
    delta: float,
    iterations: int = 6,
    eta: float = 0.4,
) -> np.ndarray:
    """Squared errors of N-IHT on n > d Gaussian rows with N(0, 1) errors, (n_reps, len(epsilons),
    len(ns)); one data set for all epsilons.

    truth (d,); noise by exact composition, as for contexts clipped to 3 and rewards to 6 (the rows
    themselves are not clipped); radius |truth|_1; epsilons may be inf.  Raises ValueError on
    anything else.
    """
    truth, eta = need_array("truth", truth, ("d",)), need_positive("eta", eta)
    iterations = need_int("iterations", iterations, 1)
    sparsity = need_int("sparsity", sparsity, 1, len(truth))
    ns = [need_int("ns", n, len(truth) + 1) for n in ns]
    factors = [exact_factor(sparsity * iterations, e, delta) for e in epsilons]
    jobs = [(s, truth, ns, factors, sparsity, iterations, eta) for s in need_seeds(seeds)]
    return np.stack(parallel_map(_errors, jobs, executor))


def _errors(seed, truth, ns, factors, sparsity, iterations, eta):
    """Errors of one repetition, (len(factors), len(ns))."""
    rng, d, radius = np.random.default_rng(seed), len(truth), np.abs(truth).sum()
    found, free, wide = np.empty((len(factors), len(ns))), (np.inf,) * 3, np.array([np.inf])
    for i, n in enumerate(ns):
        G, c = gaussian_statistics(rng, n, truth, 1.0)
        for j, factor in enumerate(factors):
            xi = np.array([gradient_sensitivity(n, eta, 3.0, 6.0 + 3.0 * radius) * factor])
            steps = np.array([iterations])
            p = Params(d, 2, sparsity, eta, radius, *free, False, True, steps, wide, xi, xi)
            s = init(p, 0)
            niht_statistics(p, s, G, c, n, rng)
            found[j, i] = ((s.theta_hat - truth) ** 2).sum()
    return found


def regret_terms(env, policy, T: int, seeds, executor=None) -> np.ndarray:
    """Terms in the proof of Theorem 5.6, means over the rounds of an episode (n_reps, episodes, 4):
    regret, 2 phi, 2 phi in rounds whose gap is at most 2 phi, share of such rounds.

    phi = max_k |x_k'(estimate - beta)| in a round; in each, regret is at most 2 phi, and 0 if the
    gap is larger.  T, seeds, executor as in `simulate`; the last episode may be cut short.
    """
    (policy,), T, seeds, _ = need_run((policy,), T, seeds, None)
    return np.stack(parallel_map(_terms, [(env, policy, T, seed) for seed in seeds], executor))


def _terms(env, policy, T, seed):
    """`regret_terms` of one repetition."""
    p, s, found = policy.params, policy.init(policy.params), []
    blocks = env.blocks(T, stream(seed, "environment"))
    X, R, mu = (np.concatenate(part) for part in zip(*blocks, strict=True))
    noise = stream(seed, policy.name)
    for episode in range(int(T).bit_length()):
        rows = slice(2**episode - 1, min(2 ** (episode + 1) - 1, T))
        off = 2 * np.abs(X[rows] @ (s.theta_hat - env.beta)).max(axis=1)
        arms = np.empty(len(off), np.int64)
        policy.play(p, s, X[rows], R[rows], noise, arms)
        ranked = np.sort(mu[rows], axis=1)
        lost = ranked[:, -1] - mu[rows][np.arange(len(arms)), arms]
        close = ranked[:, -1] - ranked[:, -2] <= off
        found.append([lost.mean(), off.mean(), (off * close).mean(), close.mean()])
    return np.array(found)


def doubling_budget(epsilons, regret: np.ndarray) -> float:
    """Logarithm of the epsilon at which mean regret (n_reps, len(epsilons) + 1) comes down to twice
    its last column, that without noise: linear in the logarithms, within the range of epsilons.
    """
    y, at = np.log(regret.mean(axis=0)), np.log(epsilons)
    excess = np.minimum.accumulate(y[:-1] - y[-1] - np.log(2.0))
    return float(np.interp(0.0, excess[::-1], at[::-1]))


# Exact loss of the sign attack (`fliphat.sign_attack`)


def sign_loss(u: float, count: int, delta: float) -> float:
    """Exact epsilon at delta of `count` independent signs of u or -u plus unit Laplace noise."""
    k = np.arange(count + 1)
    loss = (2 * k - count) * (u + np.log(2 - np.exp(-u)))  # log(right / wrong) for each sign
    chance = binom.pmf(k, count, 1 - 0.5 * np.exp(-u))
    low, high = 0.0, float(loss[-1])
    while high - low > 1e-9 * max(high, 1.0):
        e = (low + high) / 2
        excess = (chance * np.maximum(0, -np.expm1(np.minimum(e - loss, 0)))).sum()
        low, high = (e, high) if excess > delta else (low, e)
    return high


def sign_epsilon(policy, delta: float) -> float:
    """Exact epsilon at delta of the signs that `sign_attack` counts: those of `sparsity`
    independent values +-Delta/2 with Laplace(xi) noise, Delta the sensitivity; one step only.
    """
    p, delta = policy.params, need_probability("delta", delta)
    if p.iterations[-1] != 1:
        raise ValueError(f"policy must take one step; got {p.iterations[-1]}")
    n = 1 << (len(p.iterations) - 1) if p.forget else (1 << len(p.iterations)) - 1
    bounds = min(p.row_clip, p.gradient_clip) * min(p.reward_clip[-1], p.residual_clip)
    return sign_loss(2 * p.eta * bounds / (n * p.xi_first[-1]), p.sparsity, delta)


# Closed forms


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
    theta; it is iterated from beta.  The moments are our own (the chapter's proposition).
    """
    sparsity = need_int("sparsity", sparsity, 1, env.d)
    cov = env.phi ** np.abs(np.subtract.outer(np.arange(env.d), np.arange(env.d)))
    first, second = best_moment(env.K), best_moment(env.K, 2)
    theta = env.beta.copy()
    for _ in range(need_int("steps", steps, 1)):
        along = theta @ cov @ env.beta / (theta @ cov @ theta)
        moment = cov @ env.beta + (second - 1) * along * (cov @ theta)
        kept = np.argsort(-np.abs(moment))[:sparsity]
        before, theta = theta, np.zeros(env.d)
        theta[kept] = moment[kept]
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


def lower_bound(T: int, sparsity: int, log_ratio: float, epsilon: float, delta: float):
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
