"""Worlds of the arena, of any size: an environment with what a user would know of it; and
people.

A classification is a bandit: a person is a row of columns and a label, an arm is a guess
at the label, which pays 1 if it is right.  The regret of a policy is then its number of
wrong answers.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from companion.environments import block_lengths, replay, sphere
from companion.fliphat.environments import autoregressive, pad
from companion.private_glm.environments import world as glm_world
from companion.stats import band
from companion.streaming_sco.environments import one_context
from companion.tabular import in_blocks

SPARSE = (0.2, -0.2, 0.2, -0.2, 0.2)  # the coordinates that matter


class World(NamedTuple):
    """A world and what a user would know of it; all contexts and rewards lie in the
    universe."""

    env: Any  # contexts (K, d)
    d: int
    K: int
    universe: str = "offset_sphere"  # or "ball"
    link: str = "linear"  # or "logistic"
    theta_bound: float = 1.0  # S, norm of theta
    l1_bound: float = math.sqrt(2.0)  # of theta
    largest: float = 1.0  # coordinate of a context
    noise: float = 0.5  # sub-Gaussian scale of rewards
    sparsity: int | None = None  # None: dense
    # the same stream as one context (p,) per round, a theta for each arm
    common: object = None
    p: int = 0  # dimension of that context


class Expanded(NamedTuple):
    """A stream of one context per round as contexts of arms: row k holds it in block k,
    scaled."""

    env: Any
    scale: float

    def blocks(self, T: int, rng: np.random.Generator):
        """Yield (X (n, K, K p), R, mu) for T rounds."""
        for X, R, mu in self.env.blocks(T, rng):
            yield in_blocks(self.scale * X[:, 0], X.shape[1]), R, mu


def dense(d: int, K: int, **options) -> World:
    """Clicks with mean <x, theta>, d >= 2; options of `sphere`."""
    return World(sphere(K, d, **options), d, K, l1_bound=math.sqrt(d))


def sparse(d: int, K: int) -> World:
    """Gaussian contexts of dimension d >= 5, of which five coordinates matter."""
    theta = np.array(SPARSE)
    return World(
        env=autoregressive(K, pad(theta, d)),
        d=d,
        K=K,
        universe="ball",
        theta_bound=5.0,
        l1_bound=1.0,
        largest=3.0,
        noise=0.1,
        sparsity=len(theta),
    )


def clicks(d: int, K: int) -> World:
    """Clicks with a logistic mean; the parameter has norm at most 3."""
    bound = 3.0
    return World(
        env=glm_world("ball", d, bound, K=K),
        d=d,
        K=K,
        universe="ball",
        link="logistic",
        theta_bound=bound,
        l1_bound=bound * math.sqrt(d),
    )


def common(d: int, K: int) -> World:
    """One context in R^d, d >= 2, that all K >= 2 arms share, each with a parameter of
    its own."""
    env = one_context(K, d, 2)
    scale = 1.0 / math.sqrt(d)
    return World(
        env=Expanded(env, scale),
        d=K * d,
        K=K,
        universe="ball",
        theta_bound=math.sqrt(K) / scale,
        l1_bound=K / scale,
        noise=0.1,
        common=env,
        p=d,
    )


KINDS = {"dense": dense, "sparse": sparse, "clicks": clicks, "one context": common}


class Classification(NamedTuple):
    """Real people, each met once, in a new order in every repetition."""

    X: np.ndarray  # (n, K, d) contexts, a row per person
    labels: np.ndarray  # (n,) in 0..K-1

    def blocks(self, T: int, rng: np.random.Generator):
        """Yield T <= n people without replacement; ValueError beyond those that there
        are."""
        order = rng.permutation(len(self.labels))
        R = np.eye(self.X.shape[1])[self.labels[order]]
        yield from replay(self.X[order], R).blocks(T, rng)


class Fitted(NamedTuple):
    """People drawn from a law: a label, then columns that are normal given it, cut to
    [-1, 1].

    Make one with `fitted_to` or `separated`.
    """

    shares: np.ndarray  # (K,) of the labels
    means: np.ndarray  # (K, m)
    # (K, m, m): a column vector of standard normals becomes a deviation
    factors: np.ndarray

    def blocks(self, T: int, rng: np.random.Generator):
        """Yield as many people as are asked for."""
        K, m = self.means.shape
        for n in block_lengths(T, K, K * (m + 1)):
            labels = rng.choice(K, n, p=self.shares)
            normals = rng.standard_normal((n, m))
            z = np.einsum("nij,nj->ni", self.factors[labels], normals)
            z = np.clip(self.means[labels] + z, -1.0, 1.0)
            R = np.eye(K)[labels]
            # the map of `tabular.contexts_of` with form "blocks"
            x = np.column_stack([z, np.ones(n)]) / np.sqrt(m + 1.0)
            yield in_blocks(x, K), R, R


def fitted_to(z: np.ndarray, labels) -> Fitted:
    """`Fitted` to people with columns z (n, m) in [-1, 1] and labels (n,) in 0..K-1.

    Shares, means and covariances are those of each label's people (a millionth is added
    to each variance); every label needs two people at least.  This is not private: a
    world for planning, at the owner's desk.
    """
    counts = np.bincount(labels)
    if counts.min() < 2:
        raise ValueError(
            f"labels must have two people each at least; got counts {counts}"
        )
    m = z.shape[1]
    people = pd.DataFrame(z).groupby(labels)
    covariances = people.cov().to_numpy().reshape(-1, m, m) + 1e-6 * np.eye(m)
    return Fitted(
        shares=counts / len(z),
        means=people.mean().to_numpy(),
        factors=np.linalg.cholesky(covariances),
    )


def separated(m: int, K: int, rng: np.random.Generator) -> Fitted:
    """`Fitted` with K >= 2 equally frequent labels of random means, and m >= 1 columns.

    Every column has standard deviation 0.2; the means of two labels are twice that apart,
    on average, in all columns together.
    """
    spread = 0.2
    size = spread * 2.0 / np.sqrt(2.0)
    directions = rng.standard_normal((K, m))
    means = size * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    factors = np.tile(spread * np.eye(m), (K, 1, 1))
    return Fitted(shares=np.full(K, 1.0 / K), means=means, factors=factors)


def needed(reward, rounds: np.ndarray, guess: float) -> float:
    """From how many people on a policy is shown to earn more than `guess`; infinity if
    never.

    reward (n_reps, n_grid): mean reward so far in each repetition, at the grid's rounds
    (n_grid,): the first of them from which the lower end of the 95 % interval of the mean
    stays above the guess, over the last tenth of the rounds at least.
    """
    _, low, _ = band(reward)
    behind = np.flatnonzero(low <= guess)
    start = behind[-1] + 1 if len(behind) else 0
    if start < len(rounds) and rounds[start] <= 0.9 * rounds[-1]:
        return float(rounds[start])
    return np.inf
