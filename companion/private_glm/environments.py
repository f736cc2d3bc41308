"""Worlds of generalized linear rewards: the paper's own stream, and three families of
ours.

Rewards are Bernoulli with mean mean(x'theta).
Source: Section 8 of the paper; its numbers for kappa come out with the stream of the
public program of Sawarni et al. (2024) (`paper_world`). Its direction of theta is a
normalised point of the cube, not uniform on the sphere as the paper says.
"""

from typing import NamedTuple

import numpy as np

from companion.baselines.arguments import need_bernoulli_link
from companion.environments import block_lengths, recorded_rows, sphere_point
from companion.jit import jit
from companion.kernels.glm import mean, slope
from companion.kernels.linalg import dot, norm
from companion.validate import need_choice, need_float, need_int, need_positive, need_seed

PAPER_SEED = 109832  # of the public program
KINDS = ("ball", "spiked", "rotating")


@jit
def ball_arms(rng, X):
    """X (n, K, d) <- uniform in the unit ball: a normal direction, then a radius
    u^(1/d)."""
    for t in range(X.shape[0]):
        for k in range(X.shape[1]):
            x = X[t, k]
            for i in range(x.shape[0]):
                x[i] = rng.standard_normal()
            size = rng.random() ** (1.0 / x.shape[0])
            # in this order: the program multiplies first and divides then
            length = norm(x)
            for i in range(x.shape[0]):
                x[i] = x[i] * size / length


@jit
def spiked_arms(rng, X):
    """X (n, K, d) <- arms within 0.05 of 0.9 e_1; with chance 0.05 one of them is 0.9
    e_j."""
    K = X.shape[1]
    d = X.shape[2]
    for t in range(X.shape[0]):
        for k in range(K):
            for i in range(d):
                X[t, k, i] = (0.9 if i == 0 else 0.0) + 0.05 * (2.0 * rng.random() - 1.0)
        if rng.random() < 0.05:
            k = rng.integers(0, K)
            j = rng.integers(1, d)
            for i in range(d):
                X[t, k, i] = 0.9 if i == j else 0.0


@jit
def rotating_arms(start, X):
    """X (n, 2, d) <- plus and minus the unit vector number (start + t) mod d."""
    d = X.shape[2]
    for t in range(X.shape[0]):
        for i in range(d):
            e = 1.0 if i == (start + t) % d else 0.0
            X[t, 0, i] = e
            X[t, 1, i] = -e


@jit
def means(link, theta, X, mu):
    """mu (n, K) <- mean rewards of contexts X."""
    for t in range(X.shape[0]):
        for k in range(X.shape[1]):
            mu[t, k] = mean(link, dot(X[t, k], theta))


@jit
def draw(rng, mu, R):
    """R (n, K) <- a Bernoulli reward of every mean."""
    for t in range(R.shape[0]):
        for k in range(R.shape[1]):
            R[t, k] = 1.0 if rng.random() < mu[t, k] else 0.0


class Fixed(NamedTuple):
    """One theta and one sequence of contexts in every repetition; only the rewards are
    new."""

    X: np.ndarray
    theta: np.ndarray
    link: int
    mu: np.ndarray  # (T, K) means of all rewards

    def blocks(self, T: int, rng: np.random.Generator):
        """Yield (X, R, mu) of the first T rounds; ValueError if there are fewer."""
        for rows in recorded_rows(T, self.X):
            X = self.X[rows]
            mu = self.mu[rows]
            R = np.empty(mu.shape)
            draw(rng, mu, R)
            yield X, R, mu

    @property
    def kappa(self):
        """(kappa, kappa*): largest and least 1/slope over the arms of all rounds."""
        return curvature(self.link, self.X, self.theta)


def curvature(link: int, X: np.ndarray, theta: np.ndarray):
    """(kappa, kappa*): largest and least 1/slope(x'theta) over contexts X (..., d)."""
    far = np.abs(X.reshape(-1, X.shape[-1]) @ theta)
    return 1.0 / slope(link, far.max()), 1.0 / slope(link, far.min())


def fixed(X: np.ndarray, theta: np.ndarray, link: int) -> Fixed:
    """`Fixed` from contexts X (T, K, d) in the unit ball and theta (d,)."""
    mu = np.empty(X.shape[:2])
    means(link, theta, X, mu)
    return Fixed(X=X, theta=theta, link=link, mu=mu)


def paper_world(
    T: int,
    d: int,
    theta_bound: float,
    link: int,
    K: int = 20,
    seed: int = PAPER_SEED,
) -> Fixed:
    """The paper's stream, `Fixed`: arms uniform in the ball, theta of norm theta_bound >
    0.

    T, d, K >= 1; link "logistic" or "probit"; seed of the public program's generator.
    Raises ValueError on anything else.
    """
    T = need_int("T", T, 1)
    d = need_int("d", d, 1)
    K = need_int("K", K, 1)
    bound = need_positive("theta_bound", theta_bound)
    link = need_bernoulli_link(link)
    rng = np.random.default_rng(need_seed("seed", seed))
    cube = rng.uniform(-1.0, 1.0, size=d)
    X = np.empty((T, K, d))
    ball_arms(rng, X)
    return fixed(X, bound * cube / np.sqrt(np.sum(cube * cube)), link)


def idle_regret(fixed: Fixed, T: int, rule: str) -> np.ndarray:
    """Exact cumulative regret (T,) of one who never learns in a `Fixed` world.

    T: rounds, at most those of the world; rule: "random", an arm at random (in
    expectation), or "longest", the longest arm.  Raises ValueError on anything else.
    """
    T = need_int("T", T, 1, len(fixed.X))
    need_choice("rule", rule, ("random", "longest"))
    mu = fixed.mu[:T]
    if rule == "random":
        played = mu.mean(axis=1)
    else:
        longest = np.linalg.norm(fixed.X[:T], axis=2).argmax(axis=1)
        played = mu[np.arange(T), longest]
    return np.cumsum(mu.max(axis=1) - played)


class World(NamedTuple):
    """A family of `KINDS`; theta (and the arms, but for "rotating") are new in every
    repetition."""

    kind: str
    K: int
    d: int
    link: int
    theta_bound: float  # norm of theta; of each coordinate for "rotating"

    def theta(self, rng: np.random.Generator):
        """Uniform on the sphere; for "rotating" plus or minus theta_bound in every
        coordinate."""
        theta = np.empty(self.d)
        if self.kind == "rotating":
            return self.theta_bound * (2.0 * rng.integers(0, 2, self.d) - 1.0)
        sphere_point(rng, self.theta_bound, theta)
        return theta

    def blocks(self, T: int, rng: np.random.Generator):
        """Yield (X, R, mu) for T rounds."""
        theta = self.theta(rng)
        start = 0
        for n in block_lengths(T, self.K, self.d):
            X = np.empty((n, self.K, self.d))
            R = np.empty((n, self.K))
            mu = np.empty((n, self.K))
            self.fill(rng, start, X)
            means(self.link, theta, X, mu)
            draw(rng, mu, R)
            yield X, R, mu
            start += n

    def arms(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Contexts (n, K, d) of n rounds."""
        X = np.empty((n, self.K, self.d))
        self.fill(rng, 0, X)
        return X

    def fill(self, rng: np.random.Generator, start: float, X: np.ndarray) -> None:
        """X (n, K, d) <- contexts of n rounds from round `start` (counted from 0) on."""
        if self.kind == "rotating":
            rotating_arms(start, X)
        elif self.kind == "ball":
            ball_arms(rng, X)
        else:
            spiked_arms(rng, X)


def world(
    kind: str,
    d: int,
    theta_bound: float,
    link: str = "logistic",
    K: int = 10,
) -> World:
    """A `World`: kind "ball", "spiked" or "rotating" (two arms, whatever K says).

    d >= 1 (spiked: 2 to 40); theta_bound > 0; link "logistic" or "probit"; K >= 1.
    Raises ValueError on anything else.
    """
    kind = need_choice("kind", kind, KINDS)
    least = 1
    most = None
    if kind == "spiked":
        least = 2
        most = 40  # one coordinate up to 0.95, others up to 0.05: 0.95^2 + 39 0.05^2 <= 1
    d = need_int("d", d, least, most)
    theta_bound = need_float("theta_bound", theta_bound, 0.0, open_low=True)
    link = need_bernoulli_link(link)
    K = need_int("K", K, 1)
    if kind == "rotating":
        K = 2
    return World(kind=kind, K=K, d=d, link=link, theta_bound=theta_bound)
