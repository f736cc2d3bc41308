"""Noisy descent, without noise."""

import numpy as np

from companion.kernels.glm import LOGISTIC, mean
from companion.private_glm.descent import Descent, Rows, descend


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
