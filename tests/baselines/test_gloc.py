"""GLOC against a twin written from the paper, and its width by hand."""

import numpy as np
import pytest
from scipy.special import ndtr
from streams import first_block, forms, run

from companion.baselines.gloc import gloc, radius
from companion.private_glm.environments import world

POLICY = gloc(3, link="probit", theta_bound=2.0, kappa=18.4)


def test_width_before_any_data_by_hand():
    width = radius(POLICY.params, POLICY.init(POLICY.params))
    assert width == pytest.approx(31.1677976586, 1e-10)


def test_gloc_against_a_twin():
    X, R = first_block(world("ball", 3, 2.0, "probit", K=6), 300)
    arms, _ = run(POLICY, X, R)
    V = 3 * np.eye(3)
    theta = np.zeros(3)
    k = 1 / 18.4
    L = 1 / np.sqrt(2 * np.pi)
    q = L**2 / k
    B = 2 * k * 4 * 3
    for t in range(300):
        inside = 1 + 2 * B / k + 4 * q**4 / 0.01**2
        log_term = np.log(2 / 0.01 * np.sqrt(inside))
        width = np.sqrt(1 + 4 / k * B + 8 * q**2 * log_term)
        squares = forms(X[t], V)
        index = ndtr(X[t] @ theta) + width * np.sqrt(squares)
        assert index[arms[t]] >= index.max() - 1e-9
        x = X[t, arms[t]]
        V = V + np.outer(x, x)
        g = (ndtr(x @ theta) - R[t, arms[t]]) * x
        step = np.linalg.solve(V, g)
        B += g @ step / (2 * k)
        theta = theta - step / k
        theta *= 2 / np.linalg.norm(theta)
