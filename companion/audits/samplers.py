"""Every sampler of the package, described once: its law, its scale for a budget, a call, an attack.

Noise is calibrated to (epsilon, delta), that of the pure ones to epsilon, at sensitivity s in the
norm that stands with the sampler.  `samplers` draws from them and times them, `targets` attacks
them.
"""

import time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.linalg import solve_triangular, toeplitz

from companion.accounting import audit, privacy
from companion.accounting.binomial import binomial_bits
from companion.accounting.privacy import Guarantee
from companion.audits.table import Target
from companion.jit import jit
from companion.kernels import mechanisms, tree
from companion.kernels.geometry import smooth_exponent

N, D, T, PICKS = 1000, 31, 1023, 10  # numbers in a vector, matrix size, rounds, picks of the table
FEW, ROUNDS = 20, 8  # entries or scores, and rounds, that are attacked
HIGH = 4, 5  # least of the scores attacked with their opposites, which are rare then; how many
STEP = 40.0  # of the binomial: a query is an integer multiple of 1/STEP
COLUMNS = ("sampler", "sensitivity s in", "scale", "tail", "1 in 1000 exceeds", "ns per number")


def attack(mechanism, a, b: np.ndarray, statistic, sees: str = "output"):
    """`audit.Attack` by outputs that take no run."""
    return audit.Attack(mechanism, a, b, statistic, sees, runs=False)


def at_once(draw):
    """Each number is an output."""

    def mechanism(x, rng, n):
        out = np.full(n, x)
        draw(1.0, out, rng)
        return out

    return mechanism


def one_by_one(draw, s=1.0):
    """Each array, or pick, is an output."""

    def once(x, rng):
        out = x.copy()
        pick = draw(s, out, rng)
        return out if pick is None else pick

    return lambda x, rng, n: np.array([once(x, rng) for _ in range(n)], dtype=float)


@jit
def symmetric_to_all(rng, sigma, out):
    """out (n, d, d) <- out + symmetric noise, `add_symmetric_gaussian` on each in turn."""
    for i in range(out.shape[0]):
        mechanisms.add_symmetric_gaussian(rng, sigma, out[i])


class Budget(NamedTuple):
    """What all scales are made of."""

    c: float  # 1/epsilon
    sigma: float  # of the Gaussian, exact
    rho: float  # zCDP that gives epsilon at delta
    bits: int  # of the binomial


def budget(epsilon: float, delta: float) -> Budget:
    """`Budget` from epsilon > 0 and delta in (0, 1)."""
    bits, _ = binomial_bits(epsilon, delta, 1, 0.25, STEP, 1, int(STEP))
    sigma = privacy.gaussian_scale(epsilon, delta)
    return Budget(1.0 / epsilon, sigma, privacy.zcdp_rho(epsilon, delta), bits)


class Sampler(NamedTuple):
    """One sampler.  draw(s, a, rng) with sensitivity s: a vector or matrix a <- a + noise; scores a
    -> the pick; a (rounds, n) <- the noise of n streams' prefix sums.
    """

    name: str
    norm: str  # of the sensitivity
    scale: str
    tail: str
    draw: Any
    table: np.ndarray  # what the table draws into
    inputs: str  # of the attack, and its statistic, in words
    attack: audit.Attack
    seen: np.ndarray | None = None  # the part of the table's array whose tail is shown
    pure: bool = False
    size: str = ""  # of the table's instance, said after the name
    count: int = N  # of numbers drawn there


def everything(epsilon: float, delta: float):
    """A tuple of all `Sampler`s at this budget."""
    b = budget(epsilon, delta)
    laplace, gaussian, binomial = vectors(b)
    plain = laplace, gaussian, *matrices(b), general(b)
    return (*plain, *choices(b), peeling(b), binomial, *sums(b))


def vectors(b):
    """Independent noise on every number: Laplace, Gaussian, and binomial, that of shuffled bits."""
    z, output = np.zeros(N), "0 or 1; the output"

    def laplace(s, a, rng):
        mechanisms.add_laplace(rng, s * b.c, a)

    def gaussian(s, a, rng):
        mechanisms.add_gaussian(rng, s * b.sigma, a)

    def binomial(s, a, rng):
        mechanisms.shuffle_analyse(rng, STEP / s * a, 1, s, STEP, b.bits, 0.25, a)

    def made(name, law, draw, said, pure=False):
        far = (np.asarray, "output") if pure else (audit.along([1.0]), "releases")
        pair = attack(at_once(draw), 0.0, 1.0, *far)
        return Sampler(name, *law, draw, z, said, pair, z, pure=pure)

    bits = f"0 or 1 in units of 1/{STEP:g}; the output"
    return (
        made("Laplace", ("L1", "s/ε", "exp(-εz/s)"), laplace, output, pure=True),
        made("Gaussian", ("L2", "exact σ", "exp(-z²/2σ²)"), gaussian, output),
        made("binomial", ("L2 and L∞", "proved bits", "nearly Gaussian"), binomial, bits),
    )


def matrices(b) -> tuple[Sampler, Sampler]:
    """Symmetric noise on a matrix; attacked at e_1 e_1' against e_2 e_2', Frobenius sqrt 2."""
    z, entries = np.zeros((D, D)), D * (D + 1) // 2
    first, second = (np.diag(e) for e in np.eye(2))

    def symmetric(s, a, rng):
        mechanisms.add_symmetric_gaussian(rng, s * b.sigma, a)

    def many(x, rng, n):
        out = np.tile(x, (n, 1, 1))
        symmetric_to_all(rng, np.sqrt(2.0) * b.sigma, out)
        return out

    def wishart(s, a, rng):
        root = np.zeros_like(a)
        for c in (s * b.c, -s * b.c):
            mechanisms.add_wishart(rng, len(a) + 1.0, c, root, a)

    def loss(seen):  # far from both, the density is exp(-(nuclear norm)/(2 c))
        far = [abs(np.linalg.eigvalsh(seen - x)).sum(axis=1) for x in (second, first)]
        return far[0] - far[1]

    apart, said = audit.along(first - second), "e_1 e_1' or e_2 e_2'; "
    normal = attack(many, first, second, apart, "releases")
    pure = attack(one_by_one(wishart), first, second, loss)
    return (
        Sampler("symmetric Gaussian", "Frobenius", "exact σ", "exp(-z²/2σ²)", symmetric, z,
                said + "the output along their difference", normal, z, count=entries),
        Sampler("symmetrised Wishart", "‖x‖²", "s/ε", "exp(-εz/2s)", wishart, z,
                said + "difference of the nuclear distances to both", pure, z, True, "", entries),
    )  # fmt: skip


def general(b) -> Sampler:
    """Generalized Gaussian noise, whose exponent follows the number of entries."""
    z, exponents = np.zeros(N), {n: smooth_exponent(np.inf, n) for n in (N, FEW)}

    def draw(s, a, rng):  # kappa s^2/(2 sigma^2)-zCDP, hence the scale
        exponent, kappa = exponents[len(a)]
        noise = np.empty_like(a)
        mechanisms.generalized_gaussian(rng, exponent, s * np.sqrt(kappa / (2.0 * b.rho)), noise)
        a += noise

    def loss(seen):
        exponent, _ = exponents[FEW]
        size = [(abs(seen - x) ** exponent).sum(axis=1) ** (2.0 / exponent) for x in (0.0, 1.0)]
        return size[1] - size[0]

    law = "L∞", "σ² = κs²/2ρ", "exp(-‖z‖²/2σ²)", draw, z
    said, pair = f"0 or 1 in {FEW} entries; log-likelihood ratio", (np.zeros(FEW), np.ones(FEW))
    return Sampler("generalized Gaussian", *law, said, attack(one_by_one(draw), *pair, loss), z)


def choices(b):
    """A pick by noisy scores, or by noisy scores and their opposites."""
    scores = np.zeros(N)

    def made(name, choose, tail, least=0, few=FEW):
        def draw(s, a, rng):
            top = (np.abs(a).max(),) if least else ()
            return choose(rng, a, 2.0 * s * b.c, *top)

        rare = np.where(np.arange(few) == 0, 1.0, 0.0)
        a, c = least + rare, least + 1.0 - rare  # all scores move by 1
        said = f"one of {few} scores is {least + 1} and all others {least}, or the reverse"
        told = np.logical_not if least else np.asarray  # of many rare picks, the first alone
        said, pair = f"{said}; which is picked", attack(one_by_one(draw), a, c, told)
        return Sampler(name, "L∞ of scores", "2s/ε", tail, draw, scores, said, pair, pure=True)

    max_tail, law_tail = "n exp(-εz/4s)", "n exp(-εz/2s)"
    return (
        made("report noisy max", mechanisms.noisy_max, max_tail),
        made("exponential mechanism", mechanisms.exponential_mechanism, law_tail),
        made("report noisy max, ±", mechanisms.signed_noisy_max, "2" + max_tail, *HIGH),
        made("exponential mechanism, ±", mechanisms.signed_exponential, "2" + law_tail, *HIGH),
    )


def peeling(b) -> Sampler:
    """The noisily largest entries, with their values."""

    def of(k):
        picks = np.zeros(k, np.int64)

        def draw(s, a, rng):
            taken = np.zeros(len(a), np.bool_)
            mechanisms.peel(rng, a.copy(), k, 3 * k * s * b.c, a, picks, taken)

        return draw

    xi = 6.0 * b.c  # (3, 1) against (1, 3), of which one is picked and shown: entries move by 2
    wrong = 0.5 * np.exp(-2.0 / xi) * (1.0 + 1.0 / xi)  # that noise turns the order of two entries

    def loss(seen):
        z = seen.sum(axis=1)
        picked = np.log((1.0 - wrong) / wrong) + (abs(z - 1.0) - abs(z - 3.0)) / xi
        return np.where(seen[:, 0] != 0.0, picked, -picked)

    law = "L∞", "3ks/ε", "n exp(-εz/6ks)", of(PICKS), np.zeros(N)
    said = "(3, 1) or (1, 3), one picked; log-likelihood ratio of pick and value"
    pair = attack(one_by_one(of(1), 2.0), np.array([3.0, 1.0]), np.array([1.0, 3.0]), loss)
    size = f", k = {PICKS}"
    return Sampler("peeling", *law, said, pair, pure=True, size=size, count=N * PICKS)


def sums(b) -> tuple[Sampler, Sampler]:
    """All prefix sums of a stream, whose first number alone may be 1."""

    def in_a_tree(s, a, rng):
        levels = privacy.tree_levels(len(a))
        nodes = np.zeros((levels, a.shape[1]))
        for t in range(1, len(a) + 1):
            a[t - 1] = nodes[tree.advance(nodes, t, np.sqrt(levels) * s * b.sigma, rng)]

    def by_the_root(s, a, rng):
        size = np.linalg.norm(tree.root_coefficients(len(a)))
        a[:] = tree.root_noise(len(a), a.shape[1], size * s * b.sigma, rng)

    def attacked(draw, rounds, told):  # by <told, sums after these rounds>
        def mechanism(x, rng, n):
            out = np.empty((ROUNDS, n))
            draw(1.0, out, rng)
            return (out[np.array(rounds) - 1] + x).T

        return attack(mechanism, 0.0, 1.0, audit.along(told), "releases")

    f = tree.root_coefficients(ROUNDS)  # the noise is B z, so B^-1 of all sums is independent
    ratio = solve_triangular(toeplitz(f, np.zeros(ROUNDS)), f, lower=True, trans="T")
    nodes = [t for t in range(1, ROUNDS + 1) if t & (t - 1) == 0]  # rounds whose sum is one node
    a, large = np.zeros((T, N)), {"size": f", T = {T:,}", "count": N * T}
    held = f"0 or 1 in the first of {ROUNDS} rounds; sum of the nodes that hold it"
    same = "the same; log-likelihood ratio of all prefix sums"
    by_nodes = attacked(in_a_tree, nodes, np.ones(len(nodes)))
    by_all = attacked(by_the_root, range(1, ROUNDS + 1), ratio)
    return (
        Sampler("tree", "L2", "σ √levels", "one-bits of t", in_a_tree, a, held, by_nodes, a[-1],
                **large),
        Sampler("square root", "L2", "σ √F_T", "F_t", by_the_root, a, same, by_all, a[-1], **large),
    )  # fmt: skip


def measured(sampler, rng: np.random.Generator):
    """(size that one number in a thousand exceeds, nanoseconds per number) of a `Sampler`."""
    sampler.draw(1.0, sampler.table, rng)  # compiled now
    seen, seconds = [], []
    for _ in range(40 if sampler.count < 1e6 else 3):
        sampler.table[:] = 0.0
        begin = time.perf_counter()
        sampler.draw(1.0, sampler.table, rng)
        seconds.append(time.perf_counter() - begin)
        if sampler.seen is not None:
            seen.append(np.abs(sampler.seen - sampler.seen.mean()).ravel())
    tail = np.quantile(seen, 0.999) if seen else np.nan
    return tail, 1e9 * min(seconds) / sampler.count  # the least: what else runs here only adds


def samplers(epsilon: float, delta: float, rng: np.random.Generator):
    """(DataFrame with a row per sampler, bits of the binomial over those of its normal
    approximation).

    All are calibrated to the budget at sensitivity 1 in their own norm: the pure ones to epsilon.
    """
    rows = [
        (s.name + s.size, s.norm, s.scale, s.tail, *measured(s, rng))
        for s in everything(epsilon, delta)
    ]
    normal = privacy.gaussian_scale(epsilon, delta, STEP) ** 2 / (0.25 * 0.75)
    return pd.DataFrame(rows, columns=COLUMNS), budget(epsilon, delta).bits / normal


class Promised(NamedTuple):
    """A sampler with the guarantee that it is calibrated to."""

    name: str
    guarantee: Guarantee


def targets(epsilon: float = 1.0, delta: float = 0.1):
    """A `Target` for every sampler: what stands under all the guarantees, under attack."""
    found = []
    for s in everything(epsilon, delta):
        promise = Guarantee("mechanism", epsilon, 0.0 if s.pure else delta, s.inputs, "input")
        made = Promised(s.name, promise)
        found.append(Target(s.name, "", made, lambda _, a=s.attack: (a,), ""))
    return found
