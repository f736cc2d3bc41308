"""Every sampler of the package in one table: its law, its scale for a budget, its cost.

Noise is calibrated to (epsilon, delta), that of the pure ones to epsilon, at sensitivity s in the
norm that stands with the sampler.
"""

import time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from companion.accounting import privacy
from companion.accounting.binomial import binomial_bits
from companion.kernels import mechanisms, tree
from companion.kernels.geometry import smooth_exponent

N, D, T, PICKS = 1000, 31, 1023, 10  # numbers in a vector, matrix size, rounds, picks of the table
STEP = 40.0  # of the binomial: a query is an integer multiple of 1/STEP
COLUMNS = ("sampler", "sensitivity s in", "scale", "tail", "1 in 1000 exceeds", "ns per number")


class Sampler(NamedTuple):
    """One sampler.  draw(s, a, rng) with sensitivity s: a vector or matrix a <- a + noise; scores a
    -> the pick; a (rounds, n) <- the noise of n streams' prefix sums.
    """

    name: str
    norm: str  # of the sensitivity
    scale: str
    tail: str
    draw: Any
    shape: Any = N  # of the array that the table draws into
    seen: Any = ...  # where it shows the tail; None: nowhere
    count: int = N  # of numbers drawn there


def everything(epsilon: float, delta: float):
    """A tuple of all `Sampler`s at this budget."""
    c, sigma = 1.0 / epsilon, privacy.gaussian_scale(epsilon, delta)
    bits, rho = bits_for(epsilon, delta), privacy.zcdp_rho(epsilon, delta)
    exponent, kappa = smooth_exponent(np.inf, N)

    def laplace(s, a, rng):
        mechanisms.add_laplace(rng, s * c, a)

    def gaussian(s, a, rng):
        mechanisms.add_gaussian(rng, s * sigma, a)

    def symmetric(s, a, rng):
        mechanisms.add_symmetric_gaussian(rng, s * sigma, a)

    def wishart(s, a, rng):
        root = np.zeros_like(a)
        for scale in (s * c, -s * c):
            mechanisms.add_wishart(rng, len(a) + 1.0, scale, root, a)

    def general(s, a, rng):  # kappa s^2/(2 sigma^2)-zCDP, hence the scale
        noise = np.empty_like(a)
        mechanisms.generalized_gaussian(rng, exponent, s * np.sqrt(kappa / (2.0 * rho)), noise)
        a += noise

    def peeling(s, a, rng):
        picks, taken = np.zeros(PICKS, np.int64), np.zeros(len(a), np.bool_)
        mechanisms.peel(rng, a.copy(), PICKS, 3 * PICKS * s * c, a, picks, taken)

    def binomial(s, a, rng):
        mechanisms.shuffle_analyse(rng, STEP / s * a, 1, s, STEP, bits, 0.25, a)

    def in_a_tree(s, a, rng):
        levels = privacy.tree_levels(len(a))
        nodes = np.zeros((levels, a.shape[1]))
        for t in range(1, len(a) + 1):
            a[t - 1] = nodes[tree.advance(nodes, t, np.sqrt(levels) * s * sigma, rng)]

    def by_the_root(s, a, rng):
        size = np.linalg.norm(tree.root_coefficients(len(a)))
        a[:] = tree.root_noise(len(a), a.shape[1], size * s * sigma, rng)

    def choice(name, choose, tail, signed):
        def draw(s, a, rng):
            top = (np.abs(a).max(),) if signed else ()
            return choose(rng, a, 2.0 * s * c, *top)

        tail = f"{'2' * signed}n exp(-εz/{tail}s)"
        return Sampler(name + ", ±" * signed, "L∞ of scores", "2s/ε", tail, draw, seen=None)

    normal, square, stream = ("exact σ", "exp(-z²/2σ²)"), ((D, D), ..., D * (D + 1) // 2), (T, N)
    peeled, sums = f"peeling, k = {PICKS}", (stream, -1, T * N)
    return (
        Sampler("Laplace", "L1", "s/ε", "exp(-εz/s)", laplace),
        Sampler("Gaussian", "L2", *normal, gaussian),
        Sampler("symmetric Gaussian", "Frobenius", *normal, symmetric, *square),
        Sampler("symmetrised Wishart", "‖x‖²", "s/ε", "exp(-εz/2s)", wishart, *square),
        Sampler("generalized Gaussian", "L∞", "σ² = κs²/2ρ", "exp(-‖z‖²/2σ²)", general),
        choice("report noisy max", mechanisms.noisy_max, "4", False),
        choice("exponential mechanism", mechanisms.exponential_mechanism, "2", False),
        choice("report noisy max", mechanisms.signed_noisy_max, "4", True),
        choice("exponential mechanism", mechanisms.signed_exponential, "2", True),
        Sampler(peeled, "L∞", "3ks/ε", "n exp(-εz/6ks)", peeling, seen=None, count=N * PICKS),
        Sampler("binomial", "L2 and L∞", "proved bits", "nearly Gaussian", binomial),
        Sampler(f"tree, T = {T:,}", "L2", "σ √levels", "one-bits of t", in_a_tree, *sums),
        Sampler(f"square root, T = {T:,}", "L2", "σ √F_T", "F_t", by_the_root, *sums),
    )


def bits_for(epsilon: float, delta: float) -> int:
    """Bits of the binomial, whose query is an integer multiple of 1/`STEP`."""
    return binomial_bits(epsilon, delta, 1, 0.25, STEP, 1, int(STEP))[0]


def measured(sampler, rng: np.random.Generator):
    """(size that one number in a thousand exceeds, nanoseconds per number) of a `Sampler`."""
    a, seen, seconds = np.zeros(sampler.shape), [], []
    sampler.draw(1.0, a, rng)  # compiled now
    for _ in range(40 if sampler.count < 1e6 else 3):
        a[...] = 0.0
        begin = time.perf_counter()
        sampler.draw(1.0, a, rng)
        seconds.append(time.perf_counter() - begin)
        if sampler.seen is not None:
            seen.append(np.abs(a[sampler.seen] - a[sampler.seen].mean()).ravel())
    tail = np.quantile(seen, 0.999) if seen else np.nan
    return tail, 1e9 * min(seconds) / sampler.count  # the least: what else runs here only adds


def samplers(epsilon: float, delta: float, rng: np.random.Generator):
    """(DataFrame with a row per sampler, bits of the binomial over those of its normal
    approximation).

    All are calibrated to the budget at sensitivity 1 in their own norm: the pure ones to epsilon.
    """
    rows = [(*s[:4], *measured(s, rng)) for s in everything(epsilon, delta)]
    normal = privacy.gaussian_scale(epsilon, delta, STEP) ** 2 / (0.25 * 0.75)
    return pd.DataFrame(rows, columns=COLUMNS), bits_for(epsilon, delta) / normal
