"""GLM-UCB against a twin written from the paper, and its width by hand."""

import math

import numpy as np
import pytest
from scipy import optimize
from scipy.special import expit, log_expit, log_ndtr, ndtr
from streams import first_block, forms, run

from companion.baselines.glm_ucb import glm_ucb
from companion.private_glm.environments import world


@pytest.mark.parametrize(
    ("link", "kappa", "width"),
    [("logistic", None, 46.7378089976), ("probit", 18.4, 269.8150081349)],
)
def test_width_by_hand(link, kappa, width):
    """2 L kappa sqrt(3 + 2 ln(1 + 2/3)) sqrt(6 ln(6 2000/0.01)) at d = 3, T = 2000, S =
    1."""
    p = glm_ucb(3, 2000, link=link, kappa=kappa).params
    assert p.width == pytest.approx(width, 1e-10)


LINKS = {  # mean, and its logarithm
    "logistic": (expit, log_expit),
    "probit": (ndtr, log_ndtr),
}


@pytest.mark.parametrize("link", LINKS)
def test_against_a_twin(link):
    """Refit from zero in every round by SciPy; lambda = d as ridge and as penalty; small
    width."""
    n = 120
    mean, log_mean = LINKS[link]
    policy = glm_ucb(3, n, link=link, theta_bound=2.0)
    width = 0.01 * policy.params.width
    policy = policy._replace(params=policy.params._replace(width=width, tolerance=1e-14))
    X, R = first_block(world("ball", 3, 2.0, link, K=6), n)
    arms, state = run(policy, X, R)
    V = 3 * np.eye(3)
    theta = None
    for t, arm in enumerate(arms):
        if theta is not None:  # the first estimate is drawn
            factor = math.sqrt(math.log(t + 1)) if link == "probit" else 1.0
            squares = forms(X[t], V)
            index = mean(X[t] @ theta) + width * factor * np.sqrt(squares)
            assert index[arm] >= index.max() - 1e-5
        V = V + np.outer(X[t, arm], X[t, arm])
        rounds = range(t + 1)
        x = X[rounds, arms[: t + 1]]
        sign = 2.0 * R[rounds, arms[: t + 1]] - 1.0  # rewards are 0 or 1
        signed = sign[:, None] * x

        def loss(v, x=signed):
            return -log_mean(x @ v).sum() + 3 * v @ v

        theta = optimize.minimize(loss, np.zeros(3), options={"gtol": 1e-8}).x
    np.testing.assert_allclose(state.theta_hat, theta, atol=1e-5)
    assert len(set(arms)) > 3
    assert np.linalg.norm(theta) > 0.3
