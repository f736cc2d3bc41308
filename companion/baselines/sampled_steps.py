"""What noisy steps, each on one record of n drawn at random, lose together: the accountant of
`noisy_sgd`.

`log_profile` is the loss of one step, `composed` that of all, in Renyi divergences.
Source: Balle, Barthe and Gaboardi (2018), Theorem 9; Canonne, Kamath and Steinke (2020).
"""

import functools
import math

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import log_ndtr


def log_profile(epsilon: np.ndarray, g: float, noise: float) -> np.ndarray:
    """log delta(epsilon) of one step, epsilon >= 0: g times that of N(0, noise^2) at sensitivity 1
    and log(1 + (e^epsilon - 1)/g).

    Sampling one record of n = 1/g without replacement, replace-one neighbours: Balle, Barthe and
    Gaboardi (2018), Theorem 9; neighbours are symmetric, so the bound holds in both directions.
    """
    inner = np.log1p(np.expm1(epsilon) / g)
    a = 1.0 / noise
    above, below = log_ndtr(a / 2 - inner / a), inner + log_ndtr(-a / 2 - inner / a)
    with np.errstate(divide="ignore"):
        return math.log(g) + above + np.log(-np.expm1(np.minimum(below - above, 0.0)))


def renyi(order: float, g: float, noise: float, points: int = 4000) -> float:
    """Renyi divergence of one step at `order` > 1, bounded through its profile h:

    exp((a - 1) D_a) <= 1 + a (a - 1) int_0^inf (e^((a - 1) e) + e^(-a e)) h(e) de.
    On each cell the weight is at most its larger end (it is convex), h at most its left end.
    """
    top = math.log1p(g * math.expm1(min(0.5 / noise**2 + 40.0 / noise, 700.0)))  # where h ends
    e = top * np.linspace(0.0, 1.0, points) ** 3  # dense near 0
    weight = np.logaddexp((order - 1.0) * e, -order * e)
    cells = np.maximum(weight[1:], weight[:-1]) + log_profile(e[:-1], g, noise)
    total = float(np.exp(np.minimum(cells, 700.0)) @ np.diff(e))
    return math.log1p(order * (order - 1.0) * total) / (order - 1.0)


def composed(delta: float, n: int, noise: float, steps: int) -> float:
    """epsilon at delta of `steps` steps on n records; noise is sigma over the sensitivity 2 L.

    Renyi divergences add up; conversion by Canonne, Kamath and Steinke (2020), Proposition 12.
    """

    def at(u):
        a = 1.0 + math.exp(u)
        return (
            steps * renyi(a, 1.0 / n, noise)
            + math.log1p(-1.0 / a)
            - (math.log(delta) + math.log(a)) / (a - 1.0)
        )

    orders = np.exp(np.linspace(-1.0, 6.0, 30))  # minus 1
    start = min(range(30), key=lambda i: at(math.log(orders[i])))
    near = np.log(orders[[max(start - 1, 0), min(start + 1, 29)]])
    return max(0.0, float(minimize_scalar(at, bounds=near, method="bounded").fun))


@functools.cache
def smallest_noise(epsilon: float, delta: float, n: int, steps: int) -> float:
    """The noise at which `composed` gives epsilon."""
    low, high = 0.5, 8.0
    while composed(delta, n, high, steps) > epsilon:
        high *= 2.0
    if composed(delta, n, low, steps) < epsilon:
        return low  # a smaller noise would need orders below those tried
    return float(brentq(lambda z: composed(delta, n, z, steps) - epsilon, low, high, xtol=1e-6))
