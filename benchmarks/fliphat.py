"""FLIPHAT at d = 400, T = 20000: exact paths beside the full one; kernels beside NumPy twins."""

import numpy as np

from benchmarks.measure import beside
from companion.fliphat.environments import autoregressive, pad
from companion.fliphat.policy import fliphat
from companion.fliphat.regression import Regression, niht, work_for
from companion.fliphat.shortcuts import simulate_sparse
from companion.kernels.mechanisms import lazy_peel
from companion.simulate import repetitions

T, K, D, S = 20_000, 3, 400, 10
SIGNAL = [0.7, 0.6, 0.6, 0.7, 0.7]
PATHS = {"lazy": 2.5, "scores": 47.0}  # times faster, at least


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
            lazy_peel(rng, v, S, 0.1, out, picks, w.taken)

    def peeled_in_numpy():
        for _ in range(100):
            peel_twin(v, S, 0.1, rng)

    yield beside(f"peeling 100 times, d={D}, s={S}", ours, peeled_in_numpy, 4.0)
    q = Regression(S, 3, 0.2, np.inf, np.inf, np.inf, np.inf, 0.01, 0.01)

    def regression():
        theta[:] = 0.0
        niht(q, X, y, n, rng, theta, picks, 0, w)

    yield beside(
        f"N-IHT, 3 iterations, n={n}, d={D}; BLAS on one core",
        regression,
        lambda: niht_twin(X, y, S, 3, 0.2, 0.01, rng),
        2.0,
    )


def rows():
    """The kernels, and one run by every path."""
    yield from kernel_rows()
    env, b = autoregressive(K, pad(SIGNAL, D)), sum(SIGNAL)
    policy = fliphat(D, T, sparsity=S, epsilon=1.0, b_max=b, calibration="paper")

    def run(path):
        return lambda: simulate_sparse(env, [policy], T, repetitions(1, 1), path=path)

    for path, least in PATHS.items():
        yield beside(f"FLIPHAT, T={T}, d={D}, {path} path", run(path), run("full"), least)
