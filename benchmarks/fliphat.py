"""FLIPHAT at d = 400, T = 20000: the four exact paths, peeling and N-IHT against NumPy twins."""

import time

import numpy as np

from benchmarks.core import seconds
from companion.baselines.lasso_bandit import lasso_bandit
from companion.fliphat.environments import autoregressive, pad
from companion.fliphat.policy import fliphat
from companion.fliphat.regression import Regression, niht, peel, work_for
from companion.fliphat.residual import residual_fliphat
from companion.fliphat.shortcuts import simulate_sparse
from companion.simulate import repetitions, simulate

T, K, D, S = 20_000, 3, 400, 10
SIGNAL = [0.7, 0.6, 0.6, 0.7, 0.7]
LIMITS = {
    "aggregated": "at most 0.02 s; reference: full path",
    "scores": "at most 0.01 s; reference: full path",
    "lazy": "reference: full path",
    "full": "at most 0.4 s",
}


def peel_twin(v, s, xi, rng):
    """Algorithm 3, all noise at once."""
    scores, picks = np.abs(v) + rng.laplace(0.0, xi, (s, len(v))), []
    for row in scores:
        row[picks] = -np.inf
        picks.append(int(row.argmax()))
    out = np.zeros(len(v))
    out[picks] = v[picks] + rng.laplace(0.0, xi, s)
    return out


def niht_twin(X, y, s, iterations, eta, xi, rng):
    """Algorithm 1 without clipping and projection."""
    theta = np.zeros(X.shape[1])
    for _ in range(iterations):
        theta = peel_twin(theta + 2 * eta / len(y) * X.T @ (y - X @ theta), s, xi, rng)
    return theta


def kernel_rows():
    """Peeling and N-IHT alone."""
    rng, n = np.random.default_rng(1), 8192
    X = rng.standard_normal((n, D))
    y = X @ pad(SIGNAL, D) + 0.1 * rng.standard_normal(n)
    v, out, w = X[0].copy(), np.empty(D), work_for(D, S)
    picks, theta = np.zeros(S, np.int64), np.zeros(D)

    def ours():
        for _ in range(100):
            peel(rng, v, S, 0.1, out, picks, w.taken)

    ours()
    slow = seconds(lambda: [peel_twin(v, S, 0.1, rng) for _ in range(100)])
    yield f"peeling 100 times, d={D}, s={S}", seconds(ours), slow, ""
    q = Regression(S, 3, 0.2, np.inf, np.inf, np.inf, np.inf, 0.01, 0.01)

    def regression():
        theta[:] = 0.0
        niht(q, X, y, n, rng, theta, picks, 0, w)

    regression()
    slow = seconds(lambda: niht_twin(X, y, S, 3, 0.2, 0.01, rng))
    yield f"N-IHT, 3 iterations, n={n}, d={D}; BLAS on one core", seconds(regression), slow, ""


def rows():
    """The kernels, one run by every path, and one run of the lasso bandit."""
    yield from kernel_rows()
    env, b = autoregressive(K, pad(SIGNAL, D)), sum(SIGNAL)
    paper = fliphat(D, T, sparsity=S, epsilon=1.0, b_max=b, calibration="paper")
    clipped = residual_fliphat(D, T, sparsity=S, epsilon=1.0, l1_radius=b)
    found = {}
    for path, policy in (
        ("full", paper),
        ("lazy", paper),
        ("aggregated", paper),
        ("scores", paper),
        ("lazy", clipped),
    ):
        found[path] = seconds(
            lambda path=path, policy=policy: simulate_sparse(
                env, [policy], T, repetitions(1, 1), path=path
            ),
            repeat=3,
        )
        name = f"{policy.name}, T={T}, d={D}, {path} path"
        limit = LIMITS[path] if policy is paper else "reference: full path"
        yield name, found[path], None if path == "full" else found["full"], limit
    begin = time.process_time()
    simulate(env, [lasso_bandit(D, T, every=200)], T, repetitions(2, 2))
    lasso = (time.process_time() - begin) / 2
    yield f"lasso bandit, T={T}, d={D}, contexts included", lasso, None, "CPU seconds"
