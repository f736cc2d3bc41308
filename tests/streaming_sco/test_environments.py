"""Exact excess risk, moments, and the bandit with one context."""

import numpy as np
import pytest
from streams import rounds

from companion.streaming_sco.environments import (
    Functional,
    flat,
    one_context,
    regression,
)

MOMENTS = {
    (1.5, 5): 0.27685,
    (1.5, 10): 0.16705,
    (np.inf, 5): 0.05860,
    (np.inf, 10): 0.01523,
}


@pytest.mark.parametrize("p", [1.5, np.inf])
def test_the_exact_excess_is_that_of_many_test_rows(p):
    """And E x x' = c I with the c of the specification; 5 standard errors each."""
    for d in (5, 10):
        c, error = regression(p, flat(d, p)).second_moment(20_000)
        assert c == pytest.approx(MOMENTS[p, d], abs=5 * error + 5e-6)
    world = regression(p, flat(5, p))
    n = 100_000
    X, Y = world.records(n, np.random.default_rng(3))
    guess = np.array([0.9, 0.2, 0.5, -0.1, 0.4]) * world.theta[0]
    loss, least, zero = ((Y - X @ th) ** 2 for th in (guess, world.theta, np.zeros(5)))
    excess = loss - least
    span = (zero - least).mean()
    ratio = excess.mean() / span
    error = (excess - ratio * (zero - least)).std() / span / np.sqrt(n)
    assert abs(ratio - world.excess(guess)) < 5 * error < 0.03


def test_means_and_contexts_of_the_environment():
    X, R, mu = rounds(one_context(3, 6, 2), 500, 0)
    assert (X[:, :1] == X).all()
    assert np.abs(X).max() == 1.0
    theta = [np.linalg.lstsq(X[:, 0], mu[:, k], rcond=None)[0] for k in range(3)]
    assert np.abs(theta).sum(axis=1) == pytest.approx(np.ones(3))
    assert [(np.abs(t) > 1e-9).sum() for t in theta] == [
        2,
        2,
        2,
    ]
    assert (R - mu).std() == pytest.approx(0.05, rel=0.2)
    _, R, mu = rounds(one_context(3, 6, 2, link="probit"), 500, 0)
    assert set(np.unique(R)) == {0.0, 1.0}


def test_linear_losses_have_records_of_norm_one_and_the_excess_of_their_mean():
    for p, q in ((1.0, np.inf), (2.0, 2.0)):
        world = Functional(4, 0.3, p)
        X, _ = world.records(40_000, np.random.default_rng(0))
        size = 1.0 if p == 1.0 else 0.5
        assert np.linalg.norm(X, q, axis=1) == pytest.approx(np.ones(40_000))
        assert X.mean(axis=0) == pytest.approx([-0.3 * size, 0, 0, 0], abs=5 * size / 200)
        theta = np.array([0.2, 0.1, 0.0, 0.0])
        # <mean, theta - e_1>
        assert world.excess(theta) == pytest.approx(0.3 * size * 0.8)
