"""The lasso bandit from a few rows a fit; `test_shortcuts` compares its law with the full run's."""

import numpy as np
import pytest

from companion.baselines.lasso_bandit import lasso_bandit
from companion.fliphat.environments import autoregressive, pad
from companion.fliphat.lasso_rows import draw, fewer, run_segments, watched
from companion.fliphat.two_scores import scored

SIGNAL = (1.0, 0.0, 0.8, 0.0, 0.6)


def lasso_rows(penalty, phi, T=300):
    """(regret, numbers that `run_segments` counts, state) of the lasso bandit."""
    policy = lasso_bandit(30, T, penalty=penalty, every=20)
    env, n = autoregressive(3, pad(SIGNAL, 30), phi=phi, noise=0.3), np.zeros(3, int)
    state, regret = policy.init(policy.params), np.zeros(1)
    run_segments(
        policy.params, state, scored(env), np.random.default_rng(4), np.array([T]), regret, n
    )
    return regret[0], n, state


def test_a_fit_of_the_lasso_takes_few_rows_until_it_looks_beyond():
    """Of 15 fits each draws 4 rows where no other coordinate becomes active, else all of them."""
    _, (active, rows, left), state = lasso_rows(1.0, 0.0)
    assert active <= 3
    assert (rows, left) == (15 * 4, 15 * 16)
    assert not state.X[rows:].any()
    _, (active, rows, left), state = lasso_rows(0.05, 0.6)
    assert active > 6
    assert rows + left == 300
    index = state.index[:active]
    assert sorted(index) == np.flatnonzero(state.place >= 0).tolist()
    for row, j, seen in zip(state.G, index, state.seen, strict=False):
        X = state.X[:seen]
        np.testing.assert_allclose(row, X[:, j] @ X, atol=1e-9)
    assert 0 < state.seen[:active].max() <= rows


@pytest.mark.parametrize("n", [3, 5, 40])
def test_fewer_rows_have_the_same_products(n):
    V = np.random.default_rng(n).standard_normal((n, 5))
    few = fewer(V)
    assert few.shape == (min(n, 5), 5)
    np.testing.assert_allclose(few.T @ few, V.T @ V, atol=1e-12)
    V[:, 4] = V[:, 0] - 2.0 * V[:, 2]  # a reward without error
    np.testing.assert_allclose(fewer(V).T @ fewer(V), V.T @ V, atol=1e-11)


def test_a_row_is_drawn_given_what_is_known_of_it():
    """Mean and covariance of 20,000 rows against the formulas of a normal vector; z at 5.5."""
    env, rng = autoregressive(3, [0.0, 0.5, 0.0, 0.0, -0.7, 0.0], phi=0.8), np.random.default_rng(1)
    w, known, rows = scored(env), np.array([1.5, -0.5]), np.empty((20_000, 6))
    state = lasso_bandit(6, 10).init(lasso_bandit(6, 10).params)
    state.index[0] = 4  # active, and no new coordinate
    B, L = watched(state, 1, w)
    assert B.tolist() == [1, 4]
    for x in rows:
        draw(w, B, L, known, rng, x)
    S = 0.8 ** np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    weights = S[:, B] @ np.linalg.inv(S[np.ix_(B, B)])
    assert (rows[:, B] == known).all()
    left = S - weights @ S[B]
    error = np.sqrt(np.diag(left) / len(rows)) + 1e-12
    assert (np.abs(rows.mean(axis=0) - weights @ known) < 5.5 * error).all()
    assert np.abs(np.cov(rows.T) - left).max() < 5.5 * np.sqrt(2 / len(rows))
