"""Every sampler of the package in one table: its law, its scale for a budget, its cost.

Noise is calibrated to (epsilon, delta), that of the pure ones to epsilon, at sensitivity
s = 1 in the norm that stands with the sampler.
"""

import time

import numpy as np
import pandas as pd

from companion.accounting import privacy
from companion.accounting.binomial import binomial_bits
from companion.kernels import mechanisms, tree
from companion.kernels.geometry import smooth_exponent

# numbers in a vector, picks of the table
N = 1000
PICKS = 10
# a matrix; rounds of N sums each
SQUARE = (31, 31)
STREAM = (1023, N)
STEP = 40.0  # of the binomial: a query is an integer multiple of 1/STEP
COLUMNS = (
    "sampler",
    "sensitivity s in",
    "scale",
    "tail",
    "1 in 1000 exceeds",
    "ns per number",
)


def everything(epsilon: float, delta: float, rng: np.random.Generator):
    """A tuple (name, norm, scale, tail, shape, draw) for every sampler at this budget.

    draw(a) adds noise to an array, or fills it with that of many streams' sums; what only
    chooses leaves it as it is.
    """
    c = 1.0 / epsilon
    sigma = privacy.gaussian_scale(epsilon, delta)
    bits = bits_for(epsilon, delta)
    rho = privacy.zcdp_rho(epsilon, delta)
    exponent, kappa = smooth_exponent(np.inf, N)

    def symmetric(a):
        mechanisms.add_symmetric_gaussian(rng, sigma, a)

    def binomial(a):
        mechanisms.shuffle_analyse(rng, STEP * a, 1, 1.0, STEP, bits, 0.25, a)

    def wishart(a):
        root = np.zeros_like(a)
        for scale in (c, -c):
            mechanisms.add_wishart(rng, len(a) + 1.0, scale, root, a)

    def general(a):  # kappa/(2 sigma^2)-zCDP, hence the scale
        mechanisms.generalized_gaussian(rng, exponent, np.sqrt(kappa / (2.0 * rho)), a)

    def peeling(a):
        picks = np.zeros(PICKS, np.int64)
        taken = np.zeros(len(a), np.bool_)
        mechanisms.peel(rng, a, PICKS, 3 * PICKS * c, np.zeros_like(a), picks, taken)

    def in_a_tree(a):
        levels = privacy.tree_levels(len(a))
        nodes = np.zeros((levels, a.shape[1]))
        for t in range(1, len(a) + 1):
            a[t - 1] = nodes[tree.advance(nodes, t, np.sqrt(levels) * sigma, rng)]

    def by_the_root(a):
        size = np.linalg.norm(tree.root_coefficients(len(a)))
        a[:] = tree.root_noise(len(a), a.shape[1], size * sigma, rng)

    def choice(name, choose, tail, *top):
        return (
            name,
            "L∞ of scores",
            "2s/ε",
            tail,
            N,
            lambda a: choose(rng, a, 2.0 * c, *top),
        )

    normal = ("exact σ", "exp(-z²/2σ²)")
    T = f"T = {STREAM[0]:,}"
    noisy = "report noisy max"
    exponential = "exponential mechanism"
    return (
        (
            "Laplace",
            "L1",
            "s/ε",
            "exp(-εz/s)",
            N,
            lambda a: mechanisms.add_laplace(rng, c, a),
        ),
        ("Gaussian", "L2", *normal, N, lambda a: mechanisms.add_gaussian(rng, sigma, a)),
        ("symmetric Gaussian", "Frobenius", *normal, SQUARE, symmetric),
        ("symmetrised Wishart", "‖x‖²", "s/ε", "exp(-εz/2s)", SQUARE, wishart),
        ("generalized Gaussian", "L∞", "σ² = κs²/2ρ", "exp(-‖z‖²/2σ²)", N, general),
        choice(noisy, mechanisms.noisy_max, "n exp(-εz/4s)"),
        choice(exponential, mechanisms.exponential_mechanism, "n exp(-εz/2s)"),
        choice(f"{noisy}, ±", mechanisms.signed_noisy_max, "2n exp(-εz/4s)", 0.0),
        choice(f"{exponential}, ±", mechanisms.signed_exponential, "2n exp(-εz/2s)", 0.0),
        (f"peeling, k = {PICKS}", "L∞", "3ks/ε", "n exp(-εz/6ks)", N, peeling),
        ("binomial", "L2 and L∞", "proved bits", "nearly Gaussian", N, binomial),
        (f"tree, {T}", "L2", "σ √levels", "one-bits of t", STREAM, in_a_tree),
        (f"square root, {T}", "L2", "σ √F_T", "F_t", STREAM, by_the_root),
    )


def bits_for(epsilon: float, delta: float) -> int:
    """Bits of the binomial, whose query is an integer multiple of 1/`STEP`."""
    return binomial_bits(epsilon, delta, 1, 0.25, STEP, 1, int(STEP))[0]


def measured(shape, draw):
    """(size that one number in a thousand exceeds, NaN where nothing is shown;
    nanoseconds per number of the array) of a sampler."""
    a = np.zeros(shape)
    seen = []
    seconds = []
    draw(a)  # compiled now
    for _ in range(3 if shape == STREAM else 40):
        a[...] = 0.0
        begin = time.perf_counter()
        draw(a)
        seconds.append(time.perf_counter() - begin)
        last = a[-1] if shape == STREAM else a
        seen.append(np.abs(last - last.mean()).ravel())
    tail = np.quantile(seen, 0.999) or np.nan
    return tail, 1e9 * min(seconds) / a.size  # the least: what else runs here only adds


def samplers(epsilon: float, delta: float, rng: np.random.Generator):
    """(DataFrame with a row per sampler, bits of the binomial over those of its normal
    approximation).

    All are calibrated to the budget at sensitivity 1 in their own norm: the pure ones to
    epsilon.
    """
    rows = [(*s[:4], *measured(*s[4:])) for s in everything(epsilon, delta, rng)]
    normal = privacy.gaussian_scale(epsilon, delta, STEP) ** 2 / (0.25 * 0.75)
    return pd.DataFrame(rows, columns=COLUMNS), bits_for(epsilon, delta) / normal
