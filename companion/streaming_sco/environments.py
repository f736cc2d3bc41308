"""Worlds to learn in: objects with `records(n, rng)` and the exact excess risk of a parameter.

Source: section C of the paper (normal contexts divided by their l_q norm, linear labels); the other
designs are ours.
"""

from typing import NamedTuple

import numpy as np

from companion.environments import block_lengths
from companion.jit import jit
from companion.kernels import glm
from companion.kernels.geometry import dual_exponent, lq_norm, need_exponent
from companion.kernels.linalg import dot
from companion.validate import need_array, need_choice, need_float, need_int

DESIGNS = ("sphere", "signs")


@jit
def fill(rng, signs, q, theta, link, noise, X, Y):
    """X (n, d) <- contexts with ||x||_q = 1, Y (n,) <- labels; records are drawn one by one.

    signs: entries are +1 or -1 instead of normals divided by their norm.  link linear: Y = x'theta
    plus N(0, noise^2); any other: Bernoulli with the mean of the link.
    """
    for t in range(X.shape[0]):
        x = X[t]
        for i in range(x.shape[0]):
            if signs:
                x[i] = 1.0 if rng.random() < 0.5 else -1.0
            else:
                x[i] = rng.standard_normal()
        size = lq_norm(x, q)
        for i in range(x.shape[0]):
            x[i] /= size
        z = glm.mean(link, dot(x, theta))
        if link == glm.LINEAR:
            Y[t] = z + noise * rng.standard_normal()
        else:
            Y[t] = 1.0 if rng.random() < z else 0.0


class Regression(NamedTuple):
    """Linear labels and an isotropic design; make one with `regression`."""

    p: float
    theta: np.ndarray
    noise: float
    design: str

    def records(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """(X (n, d), Y (n,))."""
        X, Y = np.empty((n, len(self.theta))), np.empty(n)
        signs, q = self.design == "signs", dual_exponent(self.p)
        fill(rng, signs, q, self.theta, glm.LINEAR, self.noise, X, Y)
        return X, Y

    def blocks(self, n: int, rng: np.random.Generator):
        """Yield the same records in blocks (X, Y), arrays that the next block overwrites."""
        lengths = block_lengths(n, 1, len(self.theta))
        X, Y = np.empty((lengths[0], len(self.theta))), np.empty(lengths[0])
        signs, q = self.design == "signs", dual_exponent(self.p)
        for k in lengths:
            fill(rng, signs, q, self.theta, glm.LINEAR, self.noise, X[:k], Y[:k])
            yield X[:k], Y[:k]

    def excess(self, theta: np.ndarray) -> np.ndarray:
        """SubOpt of theta (..., d): ||theta - theta*||_2^2 / ||theta*||_2^2, exactly.

        The design is symmetric under signs and permutations of coordinates, so E x x' = c I, and c
        cancels from (F(theta) - F(theta*)) / (F(0) - F(theta*)).
        """
        return ((theta - self.theta) ** 2).sum(axis=-1) / (self.theta**2).sum()

    def second_moment(self, n: int = 200_000) -> tuple[float, float]:
        """(c, standard error): the c of E x x' = c I, from n draws with a fixed seed."""
        X, _ = self.records(n, np.random.default_rng(0))
        squares = (X**2).mean(axis=1)
        return float(squares.mean()), float(squares.std(ddof=1) / np.sqrt(n))

    def gradient(self, theta: np.ndarray, c: float) -> np.ndarray:
        """Exact gradient 2 c (theta - theta*) of the population loss at theta (..., d)."""
        return 2.0 * c * (theta - self.theta)


def flat(d: int, p: float) -> np.ndarray:
    """The paper's parameter: all ones, divided by its l_p norm."""
    return np.full(d, 1.0 / d ** (0.0 if p == np.inf else 1.0 / p))


def first(d: int, p: float, s: int) -> np.ndarray:
    """s equal entries, then zeros, of l_p norm 1: what the released program draws with s = 5."""
    return np.concatenate([flat(s, p), np.zeros(d - s)])


def regression(
    p: float, theta: np.ndarray, *, noise: float = 0.05, design: str = "sphere"
) -> Regression:
    """The paper's linear regression in the geometry of l_p.

    p in [1, inf]; theta (d,) the parameter; noise >= 0, standard deviation of the labels; design:
    "sphere" (normals divided by their l_q norm) or "signs" (+-1 divided by it).  Raises ValueError
    on anything else.
    """
    theta = need_array("theta", theta, ("d",))
    if not (theta != 0).any():
        raise ValueError(f"theta must not be zero (SubOpt is relative to it); got {theta}")
    need_choice("design", design, DESIGNS)
    return Regression(need_exponent("p", p), theta, need_float("noise", noise, 0.0), design)


class Functional(NamedTuple):
    """The loss <x, theta> of signs x of l_q norm 1 whose mean is -slope times the size of x_1."""

    d: int
    slope: float
    p: float = 1.0  # of the ball, whose radius is 1

    @property
    def size(self) -> float:
        """d^(-1/q): the entries of a record."""
        return self.d ** (-1.0 / dual_exponent(self.p))

    def records(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """(X (n, d), labels that nothing reads)."""
        X = np.where(rng.random((n, self.d)) < 0.5, 1.0, -1.0)
        X[:, 0] = np.where(rng.random(n) < 0.5 * (1.0 + self.slope), -1.0, 1.0)
        return self.size * X, np.zeros(n)

    def excess(self, theta: np.ndarray) -> np.ndarray:
        """slope (1 - theta_1) times the size: the minimiser over the ball is e_1."""
        return self.size * self.slope * (1.0 - theta[..., 0])


class CommonContext(NamedTuple):
    """One context per round for K arms with a parameter each; make one with `one_context`."""

    K: int
    d: int
    s: int
    link: int
    noise: float

    def blocks(self, T: int, rng: np.random.Generator):
        """Yield (X, R, mu) for T rounds; the context of a round is repeated in its K rows."""
        theta = np.zeros((self.K, self.d))
        for k in range(self.K):
            theta[k, rng.permutation(self.d)[: self.s]] = rng.uniform(-1.0, 1.0, self.s)
            theta[k] /= np.abs(theta[k]).sum()
        for n in block_lengths(T, self.K, self.d):
            X, R, mu = np.empty((n, self.K, self.d)), np.empty((n, self.K)), np.empty((n, self.K))
            fill_rounds(rng, theta, self.link, self.noise, X, R, mu)
            yield X, R, mu


@jit
def fill_rounds(rng, theta, link, noise, X, R, mu):
    """One block: contexts N(0, I) divided by their largest entry, and the rewards of all arms."""
    for t in range(R.shape[0]):
        x = X[t, 0]
        for i in range(x.shape[0]):
            x[i] = rng.standard_normal()
        size = lq_norm(x, np.inf)
        for i in range(x.shape[0]):
            x[i] /= size
            for k in range(1, X.shape[1]):
                X[t, k, i] = x[i]
        for k in range(R.shape[1]):
            m = glm.mean(link, dot(x, theta[k]))
            mu[t, k] = m
            if link == glm.LINEAR:
                R[t, k] = m + noise * rng.standard_normal()
            else:
                R[t, k] = 1.0 if rng.random() < m else 0.0


def one_context(
    K: int, d: int, s: int, *, link: str = "linear", noise: float = 0.05
) -> CommonContext:
    """K arms with s-sparse parameters of l_1 norm 1, new in every repetition, on one context.

    K >= 2, 1 <= s <= d; link "linear" (rewards with normal noise) or "logistic", "probit"
    (Bernoulli rewards); noise >= 0.  Raises ValueError on anything else.
    """
    K, d = need_int("K", K, 2), need_int("d", d, 1)
    s, number = need_int("s", s, 1, d), glm.need_link("link", link)
    return CommonContext(K, d, s, number, need_float("noise", noise, 0.0))
