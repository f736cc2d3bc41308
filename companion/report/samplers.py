"""Every sampler of the package in one table: calibrated, drawn from, and timed where it runs."""

import time
from typing import NamedTuple

import numpy as np
import pandas as pd

from companion import mechanisms, privacy, selection, tree
from companion.binomial import binomial_bits
from companion.geometry import smooth_exponent

N, D, T, PICKS = 1000, 31, 1023, 10  # numbers in a vector, matrix size, rounds, picks of peeling
STEP = 40.0  # of the binomial: a query is an integer multiple of 1/STEP
COLUMNS = ("sampler", "sensitivity s in", "scale", "tail", "1 in 1000 exceeds", "ns per number")


class Work(NamedTuple):
    """What is drawn into, and the scales for the budget at sensitivity 1."""

    z: np.ndarray  # (N,)
    scores: np.ndarray  # (N,) all equal
    square: np.ndarray  # (D, D)
    root: np.ndarray  # (D, D)
    nodes: np.ndarray  # (levels, N)
    taken: np.ndarray  # (N,) bool
    picks: np.ndarray  # (PICKS,)
    sigma: float
    c: float  # 1/epsilon
    bits: int
    general: tuple  # exponent and scale of the generalized Gaussian


def calibrated(epsilon, delta):
    """`Work` for this budget.

    Laplace-like noise has scale 1/epsilon, Gaussian noise the exact sigma; the generalized Gaussian
    for L-infinity has sigma^2 = kappa/(2 rho), as it is kappa/(2 sigma^2)-zCDP.
    """
    exponent, kappa = smooth_exponent(np.inf, N)
    general = exponent, np.sqrt(kappa / (2.0 * privacy.zcdp_rho(epsilon, delta)))
    sigma = privacy.gaussian_scale(epsilon, delta)
    bits, _ = binomial_bits(epsilon, delta, 1, 0.25, STEP, 1, int(STEP))
    square = np.zeros((D, D)), np.zeros((D, D))
    nodes = np.zeros((privacy.tree_levels(T), N))
    choice = np.zeros(N, np.bool_), np.zeros(PICKS, np.int64)
    vectors = np.zeros(N), np.zeros(N)
    return Work(*vectors, *square, nodes, *choice, sigma, 1.0 / epsilon, bits, general)


def wishart(w, rng):
    """A symmetrised Wishart matrix of scale c."""
    mechanisms.add_wishart(rng, D + 1.0, w.c, w.root, w.square)
    mechanisms.add_wishart(rng, D + 1.0, -w.c, w.root, w.square)


def whole_tree(w, rng):
    """All prefix sums of T rounds; z keeps the last, whose noise is the largest."""
    for t in range(1, T + 1):
        tree.advance(w.nodes, t, np.sqrt(len(w.nodes)) * w.sigma, rng)
        tree.noise(w.nodes, w.z)


def whole_root(w, rng):
    """The same by the square root."""
    sigma = np.linalg.norm(tree.root_coefficients(T)) * w.sigma
    w.z[:] = tree.root_noise(T, N, sigma, rng)[-1]


def rows(w, rng):
    """(name, norm of s, scale, tail, what draws, how many numbers, where they are or None)."""
    m, choose, entries = mechanisms, selection, D * (D + 1) // 2
    normal = "L2", "exact σ", "exp(-z²/2σ²)"
    return [
        ("Laplace", "L1", "s/ε", "exp(-εz/s)", lambda: m.add_laplace(rng, w.c, w.z), N, w.z),
        ("Gaussian", *normal, lambda: m.add_gaussian(rng, w.sigma, w.z), N, w.z),
        ("symmetric Gaussian", "Frobenius", *normal[1:],
         lambda: m.add_symmetric_gaussian(rng, w.sigma, w.square), entries, w.square),
        ("symmetrised Wishart", "‖x‖²", "s/ε", "exp(-εz/2s)",
         lambda: wishart(w, rng), entries, w.square),
        ("generalized Gaussian", "L∞", "σ² = κs²/2ρ", "exp(-‖z‖²/2σ²)",
         lambda: m.generalized_gaussian(rng, *w.general, w.z), N, w.z),
        ("report noisy max", "L∞ of scores", "2s/ε", "n exp(-εz/4s)",
         lambda: choose.noisy_max(rng, w.scores, 2 * w.c), N, None),
        ("exponential mechanism", "L∞ of scores", "2s/ε", "n exp(-εz/2s)",
         lambda: choose.exponential_mechanism(rng, w.scores, 2 * w.c), N, None),
        (f"peeling, k = {PICKS}", "L∞", "3ks/ε", "n exp(-εz/6ks)",
         lambda: choose.peel(rng, w.scores, PICKS, 3 * PICKS * w.c, w.z, w.picks, w.taken),
         N * PICKS, None),
        ("binomial", "L2 and L∞", "proved bits", "nearly Gaussian",
         lambda: m.shuffle_analyse(rng, w.scores, 1, 1.0, STEP, w.bits, 0.25, w.z), N, w.z),
        (f"tree, T = {T:,}", "L2", "σ √levels", "one-bits of t", lambda: whole_tree(w, rng),
         N * T, w.z),
        (f"square root, T = {T:,}", "L2", "σ √F_T", "F_t", lambda: whole_root(w, rng),
         N * T, w.z),
    ]  # fmt: skip


def measured(draw, size, out, square):
    """(size that one number in a thousand exceeds, nanoseconds per number) of a sampler."""
    draw()  # compiled now
    seen, seconds = [], []
    for _ in range(40 if size < N * T else 3):
        for array in (out, square):
            if array is not None:
                array[:] = 0.0
        begin = time.perf_counter()
        draw()
        seconds.append(time.perf_counter() - begin)
        if out is not None:
            seen.append(np.abs(out - out.mean()).ravel())
    tail = np.quantile(seen, 0.999) if seen else np.nan
    return tail, 1e9 * min(seconds) / size  # the least: what else runs here only adds


def samplers(epsilon, delta, rng):
    """(DataFrame with a row per sampler, bits of the binomial over those of its normal
    approximation).

    All are calibrated to the budget at sensitivity 1 in their own norm: the pure ones to epsilon.
    """
    w = calibrated(epsilon, delta)
    table = [
        (*words, *measured(draw, size, out, w.square)) for *words, draw, size, out in rows(w, rng)
    ]
    normal = privacy.gaussian_scale(epsilon, delta, STEP) ** 2 / (0.25 * 0.75)
    return pd.DataFrame(table, columns=COLUMNS), w.bits / normal
