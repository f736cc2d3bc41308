"""Contexts drawn on the coordinates that decide first: filled rows and summed episodes have the law
of rows drawn in full.
"""

import numpy as np
import pytest
from scipy import stats as sps

from companion.fliphat.environments import autoregressive
from companion.fliphat.lazy_contexts import episode_moment, fill, plan, world


@pytest.mark.parametrize("bound", [np.inf, 0.8])
def test_an_episode_adds_up_to_the_sum_of_its_rows(bound):
    """Its moment on every coordinate against rows drawn in full; Kolmogorov-Smirnov at 1e-7."""
    env, theta, n = autoregressive(2, [1.0, 0, 0, -0.5], phi=0.6, noise=0.4), np.zeros(4), 8
    theta[[0, 2]] = 0.7, 0.4
    w, grid, curve, moments = world(env), np.array([20]), np.zeros(1), []
    rng = np.random.default_rng(7)
    for _ in range(8000):
        moment = np.zeros(4)
        episode_moment(w, theta, False, 8, 8 + n - 1, bound, True, rng, 0.0, grid, curve, moment)
        moments.append(moment)
    X, R, _ = (np.concatenate(a) for a in zip(*env.blocks(8000 * n, rng), strict=True))
    arm, t = (X @ theta).argmax(axis=1), np.arange(len(X))
    rows = np.clip(R[t, arm], -bound, bound)[:, None] * X[t, arm]
    slow = rows.reshape(8000, n, 4).sum(axis=1)
    assert sps.ks_2samp(np.array(moments), slow, axis=0).pvalue.min() > 1e-7
    mixed = [a @ [1.0, 1.0, 1.0, -2.0] for a in (np.array(moments), slow)]
    assert sps.ks_2samp(*mixed).pvalue > 1e-7


@pytest.mark.parametrize("phi", [0.0, 0.7, -0.4])
def test_filled_rows_have_the_autoregressive_covariance(phi):
    env = autoregressive(2, [0, 1.0, 0, 0, 0.5, 0, 0], phi=phi)
    w, theta, n = world(env), np.array([0, 0, 0, 0, 0, 1.0, 0]), 40_000
    m = plan(w, theta)
    assert w.revealed[:m].tolist() == [1, 4, 5]
    cov = (
        phi ** np.abs(np.subtract.outer(np.arange(7), np.arange(7)).astype(float))
        if phi
        else np.eye(7)
    )
    rng, rows = np.random.default_rng(5), np.empty((n, 7))
    rows[:, [1, 4, 5]] = rng.multivariate_normal(np.zeros(3), cov[np.ix_([1, 4, 5], [1, 4, 5])], n)
    for x in rows:
        fill(w, m, 1.0, rng, x)
    assert np.abs(rows.T @ rows / n - cov).max() < 6.5 * np.sqrt(2 / n)


def test_rows_without_anything_revealed():
    env = autoregressive(1, np.zeros(4), phi=0.5)
    w = world(env)
    assert plan(w, np.zeros(4)) == 0
    rng, rows = np.random.default_rng(6), np.empty((20_000, 4))
    for x in rows:
        fill(w, 0, 1.0, rng, x)
    cov = 0.5 ** np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    assert np.abs(rows.T @ rows / len(rows) - cov).max() < 6.5 * np.sqrt(2 / len(rows))
