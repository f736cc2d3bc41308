"""Two parts of Algorithm 2 on their own: the printed optimiser, and both switching rules."""

import math
from typing import NamedTuple

import numpy as np

from companion.accounting.privacy import tree_levels
from companion.jit import jit
from companion.kernels.glm import LOGISTIC, canonical, mean
from companion.kernels.linalg import axpy, cholesky, dot, project_ball
from companion.kernels.mechanisms import add_gaussian
from companion.private_glm.calibrate import GROWTH
from companion.private_glm.continual import (
    Scratch,
    above,
    add_leaf,
    outgrown,
    publish,
    remember,
    start,
)
from companion.private_glm.environments import ball_arms, bernoulli


class Printed(NamedTuple):
    """The optimiser of Lemma U.4."""

    link: int
    radius: float  # of the ball
    sigma: float  # noise of the mean gradient
    steps: int
    eta: float  # length of a step


@jit
def printed_descent(q, X, y, rng, work):
    """work[1] <- mean iterate of `Printed` q on the mean loss of rows X (n, d), y (n,); work[0] the
    last one; work (3, d) is overwritten."""
    theta, average, g = work[0], work[1], work[2]
    n = X.shape[0]
    theta[:], average[:] = 0.0, 0.0
    for _ in range(q.steps):
        axpy(1.0 / q.steps, theta, average)
        g[:] = 0.0
        for s in range(n):
            axpy((mean(q.link, dot(X[s], theta)) - y[s]) / n, X[s], g)
        add_gaussian(rng, q.sigma, g)
        axpy(-q.eta, g, theta)
        project_ball(theta, q.radius)


def excess_loss(
    link: int,
    X: np.ndarray,
    y: np.ndarray,
    radius: float,
    rho: float,
    failure: float,
    rng: np.random.Generator,
) -> float:
    """Excess mean loss of `printed_descent` at zCDP budget rho, with the lemma's noise, step and
    number of steps (L = 1, diameter 2 radius), over the least loss in the ball.

    The least loss is that of 1000 steps without noise from 0, each at most 4 (the inverse of
    the largest curvature of either link) long: it differs from the minimum by rounding only.
    """
    n, d = X.shape
    steps, work = max(1, round((n * n * rho + math.log(1.0 / failure)) / d)), np.zeros((3, d))
    sigma, eta = math.sqrt(2.0 * steps / (n * n * rho)), 2.0 * radius / math.sqrt(steps)
    printed_descent(Printed(link, radius, sigma, steps, eta), X, y, rng, work)
    found = mean_loss(link, X, y, work[1])
    printed_descent(Printed(link, radius, 0.0, 1000, 2.0), X, y, rng, work)
    return found - mean_loss(link, X, y, work[0])  # the last iterate, not the mean one


@jit
def mean_loss(link, X, y, theta):
    """Mean canonical loss of rows X (n, d), y (n,)."""
    total = 0.0
    for s in range(X.shape[0]):
        total += canonical(link, dot(X[s], theta), y[s])
    return total / X.shape[0]


@jit
def count_switches(
    X,
    weight,
    sigma,
    growth,
    directional,
    c,
    rng,
    w,
):
    """(switches, worst lambda_max(H_last^-1 H) between them) of the sum of weight x x' over rows X
    (T, d) released with tree noise: when it has grown by this factor in some direction if
    directional, else in its determinant.

    The ratio is bounded by growing from 1 in steps of 5 %.  c: a new `Continual`.
    """
    made, worst, ridge = 0, 1.0, c.value[0, 0]
    last = X.shape[1] * math.log(ridge)
    for t in range(X.shape[0]):
        add_leaf(weight, X[t], c.exact)
        publish(c, t + 1, ridge, 0.25 * ridge, sigma, rng, w)
        value = log_det(c.value, w.B)
        switch = outgrown(c, growth, w) if directional else value >= last + math.log(growth)
        if switch:
            made, last = made + 1, value
            remember(c)
        else:
            while not above(c.last, c.value, worst, w):
                worst *= 1.05
    return made, worst


@jit
def log_det(A, L):
    """log det A of a positive definite A; L is overwritten."""
    cholesky(A, L)
    s = 0.0
    for i in range(A.shape[0]):
        s += 2.0 * math.log(L[i, i])
    return s


def switches(X: np.ndarray, weight: float, ridge: float, sigma: float, seed: int) -> np.ndarray:
    """(4,): switches and worst ratio of the directional rule and of determinant doubling."""
    rng = np.random.default_rng(seed)
    rules = (rule(X, weight, ridge, sigma, directional, rng) for directional in (True, False))
    return np.array([number for found in rules for number in found])


def rule(
    X: np.ndarray,
    weight: float,
    ridge: float,
    sigma: float,
    directional: bool,
    rng: np.random.Generator,
    growth: float = GROWTH,
):
    """`count_switches` of one rule, from ridge I on."""
    T, d = X.shape
    w, c = Scratch(np.zeros((d, d)), np.zeros((d, d))), start(d, tree_levels(T), ridge)
    return count_switches(X, weight, sigma, growth, directional, c, rng, w)


def axis_switches(
    d: int, T: int, weight: float, ridge: float, blocks, growth: float = GROWTH
) -> tuple[int, float]:
    """Noise-free switches of the directional rule where contexts are unit vectors: each axis for
    T/d rounds on end if blocks, else all in turn."""
    axes = np.arange(T) * d // T if blocks else np.arange(T) % d
    return rule(np.eye(d)[axes], weight, ridge, 0.0, True, np.random.default_rng(0), growth)[0]


def excess_losses(cases, reps: int, seed: int, failure: float = 0.02) -> np.ndarray:
    """`excess_loss` (reps, m) for cases (n, rho): logistic rewards, theta of norm 1.87 in R^3,
    contexts on the unit sphere, radius 2; all fresh in every repetition."""
    theta, out = np.array([1.5, -1.0, 0.5]), np.empty((reps, len(cases)))
    rng = np.random.default_rng(seed)
    for row in out:
        for i, (n, rho) in enumerate(cases):
            X, R, mu = np.empty((n, 1, 3)), np.empty((n, 1)), np.empty((n, 1))
            ball_arms(rng, X)
            X /= np.linalg.norm(X, axis=2, keepdims=True)
            bernoulli(rng, LOGISTIC, theta, X, R, mu)
            row[i] = excess_loss(LOGISTIC, X[:, 0].copy(), R[:, 0].copy(), 2.0, rho, failure, rng)
    return out


def switch_counts(d: int, T: int, ridge: float, noise: float, seed: int) -> dict[str, float]:
    """`switches` by name for T contexts uniform in the unit ball of R^d, of weight 0.1; noise: the
    size of the tree's noise relative to the ridge."""
    X = np.empty((T, 1, d))
    ball_arms(np.random.default_rng([seed, d]), X)
    unit = ridge / (2.0 * math.sqrt(d * math.log2(T)))  # this sigma makes prefixes about the ridge
    found = switches(X[:, 0].copy(), 0.1, ridge, noise * unit, seed)
    names = "directional", "its worst ratio", "determinant", "worst ratio of this"
    return {"d": d, "T": T, "noise / ridge": noise} | dict(zip(names, found, strict=True))
