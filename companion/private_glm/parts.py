"""Two parts of Algorithm 2 on their own: the printed optimiser, and both switching rules."""

import math

import numpy as np

from companion import tree
from companion._jit import jit
from companion.glm import LOGISTIC, mean
from companion.likelihood import canonical
from companion.linalg import axpy, cholesky, dot, project_ball
from companion.mechanisms import add_gaussian
from companion.privacy import tree_levels
from companion.private_glm.continual import Scratch, above, add_leaf, raise_floor, unpack
from companion.private_glm.environments import ball_arms, bernoulli


@jit
def printed_descent(link, X, y, radius, sigma, steps, eta, rng, theta, g, average):
    """average (d,) <- mean iterate of Lemma U.4: `steps` noisy gradients of the mean loss, step
    eta, projection on the ball; sigma is the noise of the mean gradient."""
    n, d = X.shape
    for i in range(d):
        theta[i], average[i] = 0.0, 0.0
    for _ in range(steps):
        axpy(1.0 / steps, theta, average)
        for i in range(d):
            g[i] = 0.0
        for s in range(n):
            axpy((mean(link, dot(X[s], theta)) - y[s]) / n, X[s], g)
        add_gaussian(rng, sigma, g)
        axpy(-eta, g, theta)
        project_ball(theta, radius)


def excess_loss(link, X, y, radius, rho, failure, rng):
    """Excess mean loss of `printed_descent` at zCDP budget rho, with the lemma's noise, step and
    number of steps (L = 1, diameter 2 radius), over the least loss in the ball.

    The least loss is that of 1000 steps without noise from 0, each at most 4 (the inverse of
    the largest curvature of either link) long: it differs from the minimum by rounding only.
    """
    n, d = X.shape
    steps = max(1, round((n * n * rho + math.log(1.0 / failure)) / d))
    sigma = math.sqrt(2.0 * steps / (n * n * rho))
    theta, g, average = np.zeros(d), np.zeros(d), np.zeros(d)
    eta = 2.0 * radius / math.sqrt(steps)
    printed_descent(link, X, y, radius, sigma, steps, eta, rng, theta, g, average)
    found = mean_loss(link, X, y, average)
    best = np.zeros(d)
    printed_descent(link, X, y, radius, 0.0, 1000, 2.0, rng, theta, g, best)
    return found - mean_loss(link, X, y, theta)  # the last iterate, not the mean one


@jit
def mean_loss(link, X, y, theta):
    """Mean canonical loss of rows X (n, d), y (n,)."""
    total = 0.0
    for s in range(X.shape[0]):
        total += canonical(link, dot(X[s], theta), y[s])
    return total / X.shape[0]


@jit
def count_switches(X, weight, ridge, sigma, levels, rng, exact, nodes, noise, w, now, last, out):
    """out (4,) <- switches and worst lambda_max(H_last^-1 H) between them, directional rule, then
    determinant doubling, for the sum of weight x x' over rows X (T, d) released with tree noise.

    Ratios are bounded by doubling from 1 in steps of 5 %; all other arrays are overwritten.
    """
    for rule in range(2):
        exact[:] = 0.0
        nodes[:] = 0.0
        reset(last, ridge)
        last_log_det = X.shape[1] * math.log(ridge)
        out[2 * rule], out[2 * rule + 1] = 0.0, 1.0
        for t in range(X.shape[0]):
            add_leaf(weight, X[t], exact)
            tree.advance(nodes, t + 1, sigma, rng)
            tree.noise(nodes, noise)
            for i in range(noise.shape[0]):
                noise[i] += exact[i]
            unpack(noise, ridge, now)
            raise_floor(now, 0.25 * ridge, w)
            value = log_det(now, w.B)
            switch = value >= last_log_det + math.log(2.0)
            if rule == 0:
                switch = not above(last, now, 2.0, 0.0, w)
            if switch:
                out[2 * rule] += 1.0
                last_log_det = value
                for i in range(now.shape[0]):
                    for j in range(now.shape[0]):
                        last[i, j] = now[i, j]
            else:
                while not above(last, now, out[2 * rule + 1], 0.0, w):
                    out[2 * rule + 1] *= 1.05


@jit
def reset(A, ridge):
    """A <- ridge I."""
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            A[i, j] = ridge if i == j else 0.0


@jit
def log_det(A, L):
    """log det A of a positive definite A; L is overwritten."""
    cholesky(A, L)
    s = 0.0
    for i in range(A.shape[0]):
        s += 2.0 * math.log(L[i, i])
    return s


def switches(X, weight, ridge, sigma, seed):
    """(4,): switches and worst ratio of the directional rule and of determinant doubling."""
    T, d = X.shape
    n, levels = d * (d + 1) // 2, tree_levels(T)
    out, square = np.zeros(4), [np.zeros((d, d)) for _ in range(4)]
    count_switches(
        X, weight, ridge, sigma, levels, np.random.default_rng(seed), np.zeros(n),
        np.zeros((levels, n)), np.zeros(n), Scratch(*square[:2]), *square[2:], out,
    )  # fmt: skip
    return out


def excess_losses(cases, reps, seed, failure=0.02):
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


def switch_counts(d, T, ridge, noise, seed):
    """`switches` by name for T contexts uniform in the unit ball of R^d, of weight 0.1; noise: the
    size of the tree's noise relative to the ridge."""
    X = np.empty((T, 1, d))
    ball_arms(np.random.default_rng([seed, d]), X)
    unit = ridge / (2.0 * math.sqrt(d * math.log2(T)))  # this sigma makes prefixes about the ridge
    found = switches(X[:, 0].copy(), 0.1, ridge, noise * unit, seed)
    names = "directional", "its worst ratio", "determinant", "worst ratio of this"
    return {"d": d, "T": T, "noise / ridge": noise} | dict(zip(names, found, strict=True))
