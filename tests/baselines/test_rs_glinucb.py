"""RS-GLinUCB against a twin written from the paper, and its printed constants by hand."""

import numpy as np
import pytest
from scipy import optimize
from scipy.special import expit
from streams import first_block, forms, run

from companion.baselines.rs_glinucb import rs_glinucb
from companion.private_glm.environments import world


def test_printed_constants_by_hand():
    """gamma sqrt(kappa), beta and the threshold at d = 3, T = 500, S = 1.5, kappa = 6."""
    p = rs_glinucb(3, 500, theta_bound=1.5, kappa=6.0).params
    assert p.elimination == pytest.approx(20.9332515515, 1e-10)
    assert p.width == pytest.approx(22.7892377593, 1e-10)
    assert p.threshold == pytest.approx(2.4691358025, 1e-10)
    assert p.ridge == 0.5


@pytest.mark.parametrize(("kappa", "warm_up"), [(6.0, False), (60.0, True)])
def test_rs_glinucb_against_a_twin(kappa, warm_up):
    """Warm-up, both fits, elimination and index; fits by SciPy."""
    S = 1.5
    n = 300
    policy = rs_glinucb(3, n, theta_bound=S, kappa=kappa)
    policy = policy._replace(params=policy.params._replace(tolerance=1e-14))
    X, R = first_block(world("ball", 3, S, K=6), n)
    arms, state = run(policy, X, R)

    def fit(rounds):
        x = X[rounds, arms[rounds]]
        y = R[rounds, arms[rounds]]

        def objective(v):
            z = x @ v
            return np.logaddexp(0, z).sum() - y @ z + 0.25 * v @ v

        start = np.zeros(3)
        return optimize.minimize(objective, start, options={"gtol": 1e-9}).x

    root = np.sqrt(3 * np.log(n / 0.01))
    V = 0.5 * np.eye(3)
    H = 0.5 * np.eye(3)
    last = None
    warm = []
    theta_w = np.zeros(3)
    theta_h = np.zeros(3)
    for t in range(n):
        arm = arms[t]
        x = X[t, arm]
        squares = forms(X[t], V)
        if squares.max() > 100 / (kappa * S**2 * 3):
            assert squares[arm] >= squares.max() - 1e-12
            warm.append(t)
            V = V + np.outer(x, x)
            theta_w = fit(warm)
            continue
        if last is None or np.linalg.det(H) >= 1.5 * np.linalg.det(last):
            last = H
            theta_h = fit(np.arange(t))
        score = X[t] @ theta_w
        half = S * root * np.sqrt(kappa * squares)
        keep = score + half >= (score - half).max()
        squares = forms(X[t], last)
        index = X[t] @ (theta_w + theta_h) / 2 + 4 * root * np.sqrt(squares)
        assert keep[arm]
        assert index[arm] >= index[keep].max() - 1e-4
        m = expit(x @ theta_w)
        H = H + m * (1 - m) * np.outer(x, x)
    assert state.n_warm == len(warm)
    assert (len(warm) > 5) == warm_up
    assert n > len(warm) + 5
    np.testing.assert_allclose(state.H, H, atol=1e-4)
    np.testing.assert_allclose(state.theta_hat, theta_h, atol=1e-4)
