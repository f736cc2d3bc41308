"""Every sampler of the package under attack: what stands under all the guarantees.

Each is calibrated to epsilon, delta (the pure ones to epsilon) for two inputs that are as far apart
as its sensitivity allows, or nearly so.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular, toeplitz

from companion import audit, mechanisms, privacy, selection, tree
from companion.binomial import binomial_bits
from companion.geometry import smooth_exponent
from companion.privacy import Guarantee
from companion.report.audits import Target

EPSILON, DELTA = 1.0, 0.1
SHAPES, CANDIDATES, ROUNDS, STEP = 20, 20, 8, 40  # entries, scores, rounds, units of the binomial
PURE = {"Laplace", "symmetrised Wishart", "report noisy max", "exponential mechanism", "peeling"}
RARE = "one of 20 scores is 1 and all others 0, or the reverse; which is picked"
PAIRS = {
    "Laplace": "0 or 1; the output", "Gaussian": "0 or 1; the output",
    "symmetric Gaussian": "e_1 e_1' or e_2 e_2'; the output along their difference",
    "symmetrised Wishart": "e_1 e_1' or e_2 e_2'; difference of the nuclear distances to both",
    "generalized Gaussian": "0 or 1 in 20 entries; log-likelihood ratio",
    "report noisy max": RARE, "exponential mechanism": RARE,
    "peeling": "(3, 1) or (1, 3), one picked; log-likelihood ratio of pick and value",
    "binomial": "0 or 1 in units of 1/40; the output",
    "tree": "0 or 1 in the first of 8 rounds; sum of the nodes that hold it",
    "square root": "the same; log-likelihood ratio of all prefix sums",
}  # fmt: skip


class Sampler(NamedTuple):
    """A sampler with the guarantee that it is calibrated to."""

    name: str
    guarantee: Guarantee


def targets():
    """A `Target` for every sampler."""
    found = []
    for name, attack in attacks().items():
        delta = 0.0 if name in PURE else DELTA
        promise = Guarantee("mechanism", EPSILON, delta, PAIRS[name], "input")
        made = Sampler(name, promise)
        found.append(Target(name, "", made, lambda _, a=attack: (a,), ""))
    return found


def attacks():
    """{name: `audit.Attack`}."""
    sigma, c = privacy.gaussian_scale(EPSILON, DELTA), 1.0 / EPSILON
    far = audit.along([1.0])
    rare = np.where(np.arange(CANDIDATES) == 0, 1.0, 0.0)  # against 1 - rare: all scores move by 1
    choices = {"report noisy max": selection.noisy_max,
               "exponential mechanism": selection.exponential_mechanism}  # fmt: skip

    def one(mechanism, a, b, statistic, sees="output"):
        return audit.Attack(mechanism, a, b, statistic, sees, runs=False)

    found = {
        "Laplace": one(partial(added, mechanisms.add_laplace, c), 0.0, 1.0, first),
        "Gaussian": one(partial(added, mechanisms.add_gaussian, sigma), 0.0, 1.0, far, "releases"),
        "symmetric Gaussian": symmetric(np.sqrt(2.0) * sigma),
        "symmetrised Wishart": wishart(c),
        "generalized Gaussian": general(),
    }  # fmt: skip
    for name, choose in choices.items():
        pick = audit.repeated(lambda scores, rng, f=choose: f(rng, scores, 2.0 * c))
        found[name] = one(pick, rare, 1.0 - rare, first)
    return found | {"peeling": peeling(6.0 * c), "binomial": binomial(),
                    "tree": in_a_tree(sigma), "square root": by_the_root(sigma)}  # fmt: skip


def first(outputs):
    """The outputs, which are numbers."""
    return outputs


def added(add, scale, x, rng, n):
    """n outputs x + noise."""
    out = np.full(n, x)
    add(rng, scale, out)
    return out


def symmetric(sigma):
    """e_1 e_1' against e_2 e_2', at Frobenius distance sqrt 2."""

    def once(a, rng):
        out = np.diag(a)
        mechanisms.add_symmetric_gaussian(rng, sigma, out)
        return out

    a, b = np.eye(2)
    far = audit.along(np.diag(a - b))
    return audit.Attack(audit.repeated(once), a, b, far, "releases", runs=False)


def wishart(c):
    """The same for the difference of two Wishart_d(d + 1, c I) matrices; pure privacy."""
    root = np.zeros((2, 2))

    def once(a, rng):
        out = np.diag(a)
        for sign in (1.0, -1.0):
            mechanisms.add_wishart(rng, 3.0, sign * c, root, out)
        return out

    def loss(seen):  # far from both, the density is exp(-(nuclear norm)/(2 c))
        far = [abs(np.linalg.eigvalsh(seen - np.diag(x))).sum(axis=1) for x in (b, a)]
        return far[0] - far[1]

    a, b = np.eye(2)
    return audit.Attack(audit.repeated(once), a, b, loss, "output", runs=False)


def general():
    """0 against 1 in every entry, at distance 1 in the largest entry."""
    exponent, kappa = smooth_exponent(np.inf, SHAPES)
    scale = np.sqrt(kappa / (2.0 * privacy.zcdp_rho(EPSILON, DELTA)))

    def once(x, rng):
        out = np.empty(SHAPES)
        mechanisms.generalized_gaussian(rng, exponent, scale, out)
        return out + x

    def loss(seen):
        size = [(abs(seen - x) ** exponent).sum(axis=1) ** (2.0 / exponent) for x in (0.0, 1.0)]
        return size[1] - size[0]

    return audit.Attack(audit.repeated(once), 0.0, 1.0, loss, "output", runs=False)


def peeling(xi):
    """(3, 1) against (1, 3), of which one is picked and shown: entries move by 2."""
    picks, taken = np.zeros(1, np.int64), np.zeros(2, np.bool_)

    def once(v, rng):
        out = np.zeros(2)
        selection.peel(rng, v.copy(), 1, xi, out, picks, taken)
        return out

    wrong = 0.5 * np.exp(-2.0 / xi) * (1.0 + 1.0 / xi)  # that noise turns the order of two entries

    def loss(seen):
        z = seen.sum(axis=1)
        picked = np.log((1.0 - wrong) / wrong) + (abs(z - 1.0) - abs(z - 3.0)) / xi
        return np.where(seen[:, 0] != 0.0, picked, -picked)

    pair = np.array([3.0, 1.0]), np.array([1.0, 3.0])
    return audit.Attack(audit.repeated(once), *pair, loss, "output", runs=False)


def binomial():
    """0 against 1, in bits."""
    bits, _ = binomial_bits(EPSILON, DELTA, 1, 0.25, float(STEP), 1, STEP)

    def mechanism(x, rng, n):
        out = np.empty(n)
        mechanisms.shuffle_analyse(rng, np.full(n, x * STEP), 1, 1.0, STEP, bits, 0.25, out)
        return out

    far = audit.along([1.0])
    return audit.Attack(mechanism, 0.0, 1.0, far, "releases", runs=False)


def in_a_tree(sigma):
    """The first of `ROUNDS` numbers is 0 or 1: sums after 1, 2, 4, ... rounds, all others 0."""
    levels = privacy.tree_levels(ROUNDS)

    def mechanism(x, rng, n):
        nodes, out = np.zeros((levels, n)), np.empty((levels, n))
        for t in range(1, ROUNDS + 1):
            tree.advance(nodes, t, np.sqrt(levels) * sigma, rng)
            if t & (t - 1) == 0:
                tree.noise(nodes, out[tree.trailing_zeros(t)])
        return (out + x).T

    far = audit.along(np.ones(levels))
    return audit.Attack(mechanism, 0.0, 1.0, far, "releases", runs=False)


def by_the_root(sigma):
    """The same by the square root B: all sums y; the noise is B z, so B^-1 y is independent."""
    f = tree.root_coefficients(ROUNDS)

    def mechanism(x, rng, n):
        return x + tree.root_noise(ROUNDS, n, np.linalg.norm(f) * sigma, rng).T

    told = solve_triangular(toeplitz(f, np.zeros(ROUNDS)), f, lower=True, trans="T")
    return audit.Attack(mechanism, 0.0, 1.0, audit.along(told), "releases", runs=False)
