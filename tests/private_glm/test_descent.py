"""Noisy descent, without noise."""

import numpy as np
from scipy import stats as sps

from companion.kernels.glm import LOGISTIC, mean
from companion.private_glm.descent import Descent, Rows, descend, release_gradient


def mean_of(z):
    return np.array([mean(LOGISTIC, v) for v in z])


def test_descent_without_noise_finds_the_minimum_of_its_side():
    rng = np.random.default_rng(1)
    X, side = rng.standard_normal((200, 2)) / 2, rng.integers(0, 2, 200)
    y = (rng.random(200) < mean_of(X @ [1.0, -1.0])).astype(float)
    q, theta = Descent(LOGISTIC, 5.0, 400, 1, 0.0, 1.0, 0.25), np.zeros(2)
    P = np.linalg.inv(0.25 * X[side == 1].T @ X[side == 1] + np.eye(2))
    descend(q, Rows(X, y, side), 1, 150, P, rng, theta, np.zeros((3, 2)))
    use = (side == 1) & (np.arange(200) < 150)
    gradient = X[use].T @ (mean_of(X[use] @ theta) - y[use]) + theta
    assert np.abs(gradient).max() < 1e-8


def test_every_gradient_has_its_noise():
    """Without rows it is all that a gradient shows; false alarms 1e-7 (chi-square)."""
    q, rng = Descent(LOGISTIC, 5.0, 1, 1, 3.0, 1.0, 0.25), np.random.default_rng(2)
    rows, g = Rows(np.zeros((1, 5)), np.zeros(1), np.zeros(1, np.int64)), np.zeros((80, 5))
    for out in g:
        release_gradient(q, rows, 0, 0, np.zeros(5), rng, out)
    assert 1e-7 < sps.chi2(400).cdf((g**2).sum() / 9.0) < 1 - 1e-7
