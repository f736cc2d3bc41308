"""Designs and bandits on which LPLR and its rivals are compared: finite laws, so that any
number of users is drawn at once.

A `Design` is a law of feature vectors with a linear model; a `Contexts` is a bandit with
finitely many contexts and actions.  Labels are +1 or -1 with the right mean.
Source: Theorems 1 and 2 and Equation (4) of the LPLR paper for the cases named after
them; the others are ours.
"""

import math
from typing import NamedTuple

import numpy as np

from companion.environments import block_lengths
from companion.jit import jit
from companion.lplr.lplr import MAX_DIMENSION, MAX_USERS, SLACK, need_ball
from companion.validate import (
    need_array,
    need_choice,
    need_float,
    need_generator,
    need_int,
)

MAX_POINTS = 10_000


class Design(NamedTuple):
    """A law of feature vectors with a linear model."""

    points: np.ndarray  # (K, d)
    prob: np.ndarray  # (K,), chances; the rest of the mass is the dummy
    theta: np.ndarray  # (d,)
    means: np.ndarray  # (K,), points theta


def design(points, theta, prob=None) -> Design:
    """A design: points (K, d) and theta (d,) in unit balls, prob (K,) >= 0 with sum <= 1.

    prob None is uniform.  Raises ValueError on anything else.
    """
    points = need_array("points", points, ("K", "d"))
    K, d = points.shape
    theta = need_array("theta", theta, (d,))
    if prob is None:
        prob = np.full(K, 1.0 / K)
    prob = need_array("prob", prob, (K,))
    need_ball("points", points)
    need_ball("theta", theta)
    if not ((prob >= 0).all() and prob.sum() <= 1 + SLACK):
        raise ValueError(
            f"prob must be at least 0 with sum at most 1; got min {prob.min():.6g}, sum "
            f"{prob.sum():.12g}"
        )
    return Design(
        points=points,
        prob=prob,
        theta=theta,
        means=points @ theta,
    )


def constant(r: float, theta: float = 0.7) -> Design:
    """d = 1: every user has phi = r."""
    return design([[r]], [theta])


def split(r: float, theta=(0.5, 0.5)) -> Design:
    """d = 2: (1/2, r) or (1/2, -r), equal chances: Case II of Equation (4), Theorem 2,
    scaled."""
    return design([[0.5, r], [0.5, -r]], theta)


def rare(share, theta=(0.0, 1.0)) -> Design:
    """d = 2: e1, or e2 with chance `share`: Case I of Equation (4), and Theorem 1."""
    return design(np.eye(2), theta, [1 - share, share])


DESIGNS = (  # of `family`: those on which errors and coverage are measured
    ("log-scale", 1),
    ("case II", 2),
    ("theorem 1", 2),
    ("ball", 2),
    ("log-scale", 2),
    ("case II", 3),
    ("ball", 3),
)


def family(name: str, d: int, n: int, seed: int = 0, K: int = 500) -> Design:
    """A design for n users: "case II", "theorem 1", "ball" or "log-scale".

    "case II": (1/2, +-n^(-1/4)/2), and for d = 3 (1/2, +-n^(-1/8)/2, +-n^(-1/4)/2);
    "theorem 1":
    e1, others with chance n^(-1/2) each; "ball": K points uniform in the unit ball;
    "log-scale":
    every coordinate is +-exp(-U ln(n)/2)/sqrt(d), U uniform.  theta = 0.9 (1, ..,
    1)/sqrt(d): with norm 1, estimates from the unit ball would be exactly right by
    chance.  Raises ValueError if there is no such design.
    """
    d = need_int("d", d, 1, MAX_DIMENSION)
    n = need_int("n", n, 2, MAX_USERS)
    need_choice("name", name, ("case II", "theorem 1", "ball", "log-scale"))
    K = need_int("K", K, 1, MAX_POINTS)
    rng = need_generator("seed", seed)
    theta = np.full(d, 0.9 / math.sqrt(d))
    if name == "case II":
        need_int("d", d, 2, 3)
        return design(_case_ii(d, n), theta)
    if name == "theorem 1":
        prob = [1 - (d - 1) * n**-0.5] + [n**-0.5] * (d - 1)
        return design(np.eye(d), theta, prob)
    if name == "ball":
        points = rng.standard_normal((K, d))
        radius = rng.random(K) ** (1 / d)
        points *= (radius / np.linalg.norm(points, axis=1))[:, None]
        return design(points, theta)
    points = np.exp(-rng.random((K, d)) * math.log(n) / 2) / math.sqrt(d)
    points *= rng.choice([-1.0, 1.0], (K, d))
    return design(points, theta)


def _case_ii(d, n):
    """Points of "case II", d = 2 or 3: all signs of the entries behind the first."""
    if d == 2:
        r = n**-0.25 / 2
        return [[0.5, r], [0.5, -r]]
    middle = n**-0.125 / 2
    r = n**-0.25 / 2
    return [[0.5, a * middle, b * r] for b in (1, -1) for a in (1, -1)]


class Contexts(NamedTuple):
    """A bandit: context c comes with chance prob[c] and offers X[c] (A, d), with means X
    theta."""

    X: np.ndarray  # (C, A, d)
    prob: np.ndarray  # (C,)
    theta: np.ndarray  # (d,)
    mu: np.ndarray  # (C, A)

    def blocks(self, T: int, rng: np.random.Generator):
        """Yield (X, R, mu) for `simulate`; rewards are +1 or -1."""
        _, A, d = self.X.shape
        for n in block_lengths(T, A, d):
            c = rng.choice(len(self.prob), size=n, p=self.prob)
            mu = np.ascontiguousarray(self.mu[c])
            R = np.where(rng.random((n, A)) < 0.5 + 0.5 * mu, 1.0, -1.0)
            yield np.ascontiguousarray(self.X[c]), R, mu


def contexts(
    X: np.ndarray,
    theta: np.ndarray,
    prob: np.ndarray | None = None,
) -> Contexts:
    """A bandit: X (C, A, d) and theta (d,) in unit balls, prob (C,) with sum 1 (None:
    uniform)."""
    X = need_array("X", X, ("C", "A", "d"))
    C, A, d = X.shape
    if prob is None:
        prob = np.full(C, 1.0 / C)
    prob = need_array("prob", prob, (C,))
    checked = design(X.reshape(C * A, d), theta)
    if not ((prob >= 0).all() and abs(prob.sum() - 1) <= SLACK):
        raise ValueError(f"prob must be at least 0 with sum 1; got sum {prob.sum():.12g}")
    return Contexts(
        X=X,
        prob=prob / prob.sum(),
        theta=checked.theta,
        mu=checked.means.reshape(C, A),
    )


def hard_bandit(d: int, r: float) -> Contexts:
    """The worst-case family: actions differ only along directions of size r.

    d = 1: one context, actions (r) and (-r), r in (0, 1], theta = 0.5.  d = 2: actions
    (1/2, r) and (1/2, -r), r in (0, 0.8], roles swapped in the second context, theta =
    (.5, .5).  d = 3: (1/2, +-sqrt(r/2), +-r), r in (0, 0.6], all four sign pairs, rotated
    by the context.  Raises ValueError on anything else.
    """
    d = need_int("d", d, 1, 3)
    largest = {1: 1.0, 2: 0.8, 3: 0.6}[d]  # so that the arms lie in the unit ball
    r = need_float("r", r, 0.0, largest, open_low=True)
    if d == 1:
        arms = [[r], [-r]]
        rotations = [0]
    elif d == 2:
        arms = [[0.5, r], [0.5, -r]]
        rotations = [0, 1]
    else:
        middle = math.sqrt(r / 2)
        arms = [[0.5, a * middle, b * r] for a in (1, -1) for b in (1, -1)]
        rotations = [0, 1, 2, 3]
    X = np.array([np.roll(arms, c, axis=0) for c in rotations])
    return contexts(X, np.full(d, 0.5))


def spread_bandit(d: int, T: int, seed: int) -> Contexts:
    """250 contexts with actions (x, -x), x as in `family`("log-scale") at n = T: all
    scales."""
    x = family("log-scale", d, T, seed, K=250).points
    return contexts(np.stack([x, -x], axis=1), np.full(d, 0.5))


# Users of a finite law drawn at once: who falls on which point, and the sum of their
# labels.


class Law(NamedTuple):
    """Where users come from, as kernels see it."""

    points: np.ndarray  # (K, d)
    means: np.ndarray  # (K,) of the labels
    prob: np.ndarray  # (K,) chances with sum at most 1; the rest are dummies
    # (K,) number of the oracle that receives a point; others get the dummy
    owner: np.ndarray
    signs: bool  # labels are +1 or -1 with these means (True), or the means themselves


class Users(NamedTuple):
    """How many users a law has sent, point by point, and scratch for one of them."""

    seen: np.ndarray  # (K,) in the last draw
    plays: np.ndarray  # (K,) in all draws since they were set to 0
    residual: np.ndarray  # (d,) scratch: what is left of a vector


def no_users(K: int, d: int) -> Users:
    """Nobody yet, on K points in R^d."""
    return Users(
        seen=np.zeros(K, dtype=np.int64),
        plays=np.zeros(K, dtype=np.int64),
        residual=np.zeros(d),
    )


@jit
def draw_users(law, n, rng, users):
    """n users from a law -> users.seen, and added to users.plays."""
    multinomial(rng, n, law.prob, users.seen)
    for j in range(users.seen.shape[0]):
        users.plays[j] += users.seen[j]


@jit
def multinomial(rng, n, prob, out):
    """out (K,) <- how many of n users fall on each of K points with chances prob, drawn
    one by one.

    The rest fall on none; the chance of that, 1 - sum(prob), is 0 where it can be
    rounding.
    """
    # chance of a point or a later one, or of none
    tail = np.empty(len(prob))
    rest = 1.0 - prob.sum()
    if rest < 1e-12:
        rest = 0.0
    for j in range(prob.shape[0] - 1, -1, -1):
        rest += prob[j]
        tail[j] = rest
    left = n
    for j in range(prob.shape[0]):
        out[j] = 0
        if left > 0 and prob[j] > 0.0:
            share = prob[j] / tail[j]
            out[j] = left if share >= 1.0 else rng.binomial(left, share)
            left -= out[j]


@jit
def label_sum(rng, n, mean, signs):
    """Sum of n labels that are +1 or -1 with this mean, or without signs the mean
    itself."""
    if not signs:
        return n * mean
    chance = min(max(0.5 + 0.5 * mean, 0.0), 1.0)
    return 2.0 * float(rng.binomial(n, chance)) - float(n)
