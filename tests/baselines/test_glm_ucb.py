"""GLM-UCB against a slow twin written from the paper, and its width by hand."""

import math

import numpy as np
import pytest
from scipy import optimize
from streams import run

from companion.baselines.glm_ucb import glm_ucb
from companion.private_glm.environments import world


@pytest.mark.parametrize(
    ("link", "kappa", "width"),
    [("logistic", None, 46.7378089976), ("probit", 18.4, 269.8150081349)],
)
def test_width_by_hand(link, kappa, width):
    """2 L kappa sqrt(3 + 2 ln(1 + 2/3)) sqrt(6 ln(6 2000/0.01)) at d = 3, T = 2000, S = 1."""
    assert glm_ucb(3, 2000, link=link, kappa=kappa).params.width == pytest.approx(width, 1e-10)


LINKS = {  # mean, and minus the logarithm of the likelihood of rewards y at scores z
    "logistic": (lambda z: 1 / (1 + np.exp(-z)), lambda z, y: np.logaddexp(0, z).sum() - y @ z),
    "probit": (
        np.vectorize(lambda z: 0.5 * math.erfc(-z / math.sqrt(2))),
        lambda z, y: (
            -sum(math.log(0.5 * math.erfc(-s / math.sqrt(2))) for s in np.where(y > 0.5, z, -z))
        ),
    ),
}


@pytest.mark.parametrize("link", LINKS)
def test_against_a_twin(link):
    """Refit from zero in every round by SciPy; lambda = d as ridge and as penalty; small width."""
    n, (mean, loss) = 120, LINKS[link]
    policy = glm_ucb(3, n, link=link, theta_bound=2.0, tolerance=1e-14)
    width = 0.01 * policy.params.width
    policy = policy._replace(params=policy.params._replace(width=width))
    X, R, _ = next(world("ball", 3, 2.0, link, K=6).blocks(n, np.random.default_rng(4)))
    arms, state = run(policy, X, R)
    V, theta = 3 * np.eye(3), None
    for t, arm in enumerate(arms):
        if theta is not None:  # the first estimate is drawn
            factor = math.sqrt(math.log(t + 1)) if link == "probit" else 1.0
            norms = np.sqrt(np.einsum("ki,ij,kj->k", X[t], np.linalg.inv(V), X[t]))
            index = mean(X[t] @ theta) + width * factor * norms
            assert index[arm] >= index.max() - 1e-5
        V = V + np.outer(X[t, arm], X[t, arm])
        x, y = X[np.arange(t + 1), arms[: t + 1]], R[np.arange(t + 1), arms[: t + 1]]
        options = {"method": "BFGS", "options": {"gtol": 1e-8}}
        found = optimize.minimize(
            lambda v, x=x, y=y: loss(x @ v, y) + 3 * v @ v, np.zeros(3), **options
        )
        theta = found.x
    np.testing.assert_allclose(state.theta_hat, theta, atol=1e-5)
    assert len(set(arms)) > 3
    assert np.linalg.norm(theta) > 0.3
