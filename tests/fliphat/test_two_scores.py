"""Rounds drawn as two numbers an arm have the law of rows drawn in full.

False alarms: every Kolmogorov-Smirnov test is at 1e-7; seeds are fixed.
"""

import numpy as np
import pytest
from scipy import stats as sps

from companion.fliphat.environments import autoregressive, draw_rows
from companion.fliphat.episodes import init
from companion.fliphat.policy import fliphat
from companion.fliphat.two_scores import covariance, factor, move, play_episode, scored

BETA = [1.0, 0, 0, -0.5]
ESTIMATES = {
    "apart": [0.7, 0, 0.4, 0],
    "parallel": [2.0, 0, 0, -1.0],
    "opposite": [-1.0, 0, 0, 0.5],
}


@pytest.mark.parametrize("phi", [0.0, 0.7, -0.4])
def test_the_factor_is_that_of_the_covariance(phi):
    """Of (z, mu), and Cov(x, e), against matrices; a part without variance has weight 0."""
    gaps = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    sigma, out = np.where(gaps == 0, 1.0, float(phi) ** gaps), np.empty(4)
    for theta in (*ESTIMATES.values(), [0.0] * 4):
        for beta in (BETA, [0.0] * 4):
            w, both = scored(autoregressive(2, beta, phi=phi)), np.array([theta, beta], float)
            covariance(phi, both[0], out)
            np.testing.assert_allclose(out, sigma @ both[0], atol=1e-14)
            a, b, c = factor(w, both[0])
            L = np.array([[a, 0.0], [b, c]])
            np.testing.assert_allclose(L @ L.T, both @ sigma @ both.T, atol=1e-12)
            H = np.array([w.first, w.second])
            np.testing.assert_allclose(L @ H, both @ sigma, atol=1e-6)
            for weight, row in zip((a, c), H, strict=True):
                assert (row @ np.linalg.solve(sigma, row)) == pytest.approx(float(weight > 0))


@pytest.mark.parametrize("bound", [np.inf, 0.8])
@pytest.mark.parametrize("name", [*ESTIMATES, "none"])
def test_an_episode_has_the_regret_and_the_moment_of_its_rows(name, bound):
    """On every coordinate and along a mixture, against rows drawn in full; and together: the
    moment along beta times the regret, which depend on the same arms."""
    env, n = autoregressive(2, BETA, phi=0.6, noise=0.4), 8
    theta, rng = np.array(ESTIMATES.get(name, [0.0] * 4)), np.random.default_rng(7)
    with pytest.warns(UserWarning, match="cannot learn"):  # which nothing here asks of it
        policy = fliphat(4, 20, sparsity=2, epsilon=1.0, delta=0.01, b_max=2.0, calibration="paper")
    p = policy.params._replace(reward_clip=np.full(4, bound))
    w, s, grid, regret, found = scored(env), init(p), np.array([15, 20]), np.zeros(2), []
    s.theta_hat[:], s.picks[: np.count_nonzero(theta)] = theta, np.flatnonzero(theta)
    for _ in range(8000):
        w.sums[3] = 0.0
        play_episode(p, s, w, 3, 0 if name == "none" else 2, rng, grid, regret)
        found.append([*s.work.moment, regret[0]])
    X, R, mu = (np.concatenate(a) for a in zip(*env.blocks(8000 * n, rng), strict=True))
    t = np.arange(len(X))
    arm = rng.integers(0, 2, len(X)) if name == "none" else (X @ theta).argmax(axis=1)
    rows = np.clip(R[t, arm], -bound, bound)[:, None] * X[t, arm]
    lost = (mu.max(axis=1) - mu[t, arm]).reshape(8000, n).sum(axis=1)
    fast, slow = np.array(found), np.column_stack([rows.reshape(8000, n, 4).sum(axis=1), lost])
    for a in (fast, slow):
        a[:, 4] = np.where(a[:, 4] < 1e-6, 0.0, a[:, 4])  # of a parallel estimate
    mixed = [np.column_stack([a, a @ [1.0, 1.0, 1.0, -2.0, 0.0], (a[:, :4] @ BETA) * a[:, 4]])
             for a in (fast, slow)]  # fmt: skip
    assert sps.ks_2samp(*mixed, axis=0).pvalue.min() > 1e-7


@pytest.mark.parametrize("phi", [0.0, 0.7, -0.4])
@pytest.mark.parametrize("name", [*ESTIMATES, "none"])
def test_a_moved_row_has_the_law_of_rows_with_its_scores(name, phi):
    """It has the scores that it was moved to; moved to fresh ones, its covariance is Sigma, and
    that with the row that it was made from is what the scores leave over."""
    env, theta = autoregressive(2, BETA, phi=phi), np.array(ESTIMATES.get(name, [0.0] * 4))
    w, rng, n = scored(env), np.random.default_rng(8), 40_000
    f = factor(w, theta)
    Z, E, rows = np.empty((n, 4)), rng.standard_normal((n, 2)), np.empty((n, 4))
    draw_rows(phi, rng, Z)
    for z, e, x in zip(Z, E, rows, strict=True):
        move(w, f, theta, np.flatnonzero(theta), (e[0], e[1]), 1.0, z, x)
    np.testing.assert_allclose(rows @ theta, f.a * E[:, 0], atol=1e-12)
    np.testing.assert_allclose(rows @ BETA, E @ [f.b, f.c], atol=1e-9)
    sigma = np.eye(4) if phi == 0.0 else phi ** np.abs(np.subtract.outer(range(4), range(4)))
    shown = np.outer(w.first, w.first) + np.outer(w.second, w.second)
    error = 6.5 * np.sqrt(2 / n)  # six and a half standard errors of an entry, at the largest
    assert np.abs(rows.T @ rows / n - sigma).max() < error
    assert np.abs(rows.T @ Z / n - (sigma - shown)).max() < error
