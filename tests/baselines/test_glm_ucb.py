"""GLM-UCB against a twin written from the paper, its width by hand; the GLM bandits
together."""

import math

import numpy as np
import pytest
from scipy import optimize
from scipy.special import expit, log_expit, log_ndtr, ndtr
from streams import run

from companion.baselines import rs_glinucb as rs_module
from companion.baselines.glm_ucb import glm_ucb
from companion.baselines.gloc import gloc
from companion.baselines.rs_glinucb import rs_glinucb
from companion.kernels import glm, ucb
from companion.kernels.linalg import dot, quad
from companion.private_glm.environments import world


@pytest.mark.parametrize(
    ("link", "kappa", "width"),
    [("logistic", None, 46.7378089976), ("probit", 18.4, 269.8150081349)],
)
def test_width_by_hand(link, kappa, width):
    """2 L kappa sqrt(3 + 2 ln(1 + 2/3)) sqrt(6 ln(6 2000/0.01)) at d = 3, T = 2000, S =
    1."""
    assert glm_ucb(3, 2000, link=link, kappa=kappa).params.width == pytest.approx(
        width,
        1e-10,
    )


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
    X, R, _ = next(world("ball", 3, 2.0, link, K=6).blocks(n, np.random.default_rng(4)))
    arms, state = run(policy, X, R)
    V = 3 * np.eye(3)
    theta = None
    for t, arm in enumerate(arms):
        if theta is not None:  # the first estimate is drawn
            factor = math.sqrt(math.log(t + 1)) if link == "probit" else 1.0
            squares = np.einsum("ki,ij,kj->k", X[t], np.linalg.inv(V), X[t])
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


# --- what holds for every bandit for generalized linear rewards


def test_clipped_rewards_are_counted():
    live = gloc(2).start(0)
    for r in (0.5, 3.0, -1.0):
        live.select(np.eye(2))
        live.update(0, r)
    assert live.state.clipped == 2


def test_a_form_that_rounding_made_negative_counts_as_zero():
    """Of long contexts (1e8) most are: a root of one is no number, and no number is never
    best."""
    X = 1e8 * np.eye(2)[::-1]
    theta = np.array([2.0, 1.0])
    wrong = -np.eye(2)
    assert ucb.optimistic_mean(1, 1e-8 * theta, wrong, 1.0, X) == 1
    policy = rs_glinucb(2, 9)
    forms = np.empty(2)
    state = policy.init(policy.params)
    state = state._replace(
        V_inv=wrong,
        H_inv=wrong,
        theta_warm=theta,
    )
    ucb.widest(X, wrong, forms)
    assert rs_module.choose(policy.params, state, X, forms) == 1
    policy = gloc(2)
    state = policy.init(policy.params)._replace(V_inv=wrong)
    before = state.regret.copy()
    policy.update(policy.params, state, 0, 5e-9 * X[0], 1.0, np.random.default_rng(0))
    assert state.regret == before


def index_by_index(link, theta, A_inv, width, X):
    """The arm of `optimistic_mean` from the index of every arm."""
    index = [
        glm.mean(link, dot(x, theta)) + width * np.sqrt(max(quad(A_inv, x), 0.0))
        for x in X
    ]
    return int(np.argmax(index))


@pytest.mark.parametrize("link", range(3))
@pytest.mark.parametrize("size", [1e-9, 0.3, 1.0, 8.0])
def test_means_and_forms_that_are_left_out_never_change_the_arm(link, size):
    """Scores from the middle of the link to its flat ends, widths from none to far above
    it."""
    rng = np.random.default_rng(5)
    kernel = ucb.optimistic_mean
    for i in range(150):
        d = 1 + i % 6
        K = 1 + i % 50
        X = rng.standard_normal((K, d)) / np.sqrt(d)
        theta = size * rng.standard_normal(d)
        X[i % K] = X[0]  # a tie
        B = rng.standard_normal((d, d))
        A = B @ B.T - (0.3 * np.eye(d) if i % 4 == 0 else 0.0)
        for width in (0.0, 1e-4, 0.05, 0.5, 5.0):
            wanted = index_by_index(link, theta, A, width, X)
            assert kernel(link, theta, A, width, X) == wanted, (i, width)
