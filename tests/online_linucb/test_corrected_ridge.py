"""Errors-in-variables ridge: unbiased statistics, a slow twin, and LinUCB without noise."""

import numpy as np
from streams import THETA, run, stream

from companion.baselines.linucb import linucb, theorem_radius
from companion.online_linucb.corrected_ridge import corrected_ridge
from companion.online_linucb.online_linucb import online_linucb, randomize


def test_without_privacy_it_is_linucb():
    X, R, _ = stream()
    arms, s = run(corrected_ridge(3, 400, epsilon=np.inf, delta=0.1), X, R)
    own, reference = run(linucb(3, noise=0.5, failure=1 / 401), X, R)
    assert np.array_equal(arms, own)
    np.testing.assert_allclose(s.theta, reference.theta_hat, atol=1e-10)


def test_plays_the_formula():
    X, R, _ = stream()
    policy = corrected_ridge(3, 400, epsilon=30.0, delta=0.1, shift=0.5, width=0.7)
    arms, s = run(policy, X, R)
    p, rng, message = policy.params, np.random.default_rng(1), np.empty(4)
    A, b, inverse, radius = np.zeros((3, 3)), np.zeros(3), np.eye(3), None
    for t, a in enumerate(arms):
        ridge = 1 + 0.5 * (p.sigma**2 + p.sigma) * np.sqrt(3 * t)
        inverse = np.linalg.inv(A + ridge * np.eye(3))
        radius = 0.7 * theorem_radius(3, t, ridge, 0.5, 1.0, 1 / 401)
        width = np.sqrt(np.maximum(np.einsum("ki,ij,kj->k", X[t], inverse, X[t]), 0))
        index = X[t] @ inverse @ b + radius * width
        assert index[a] >= index.max() - 1e-9
        randomize(p, X[t, a], R[t, a], rng, message)
        x, y = message[:3], message[3]
        A, b = A + np.outer(x, x) - p.sigma**2 * np.eye(3), b + y * x
    np.testing.assert_allclose(s.A, A, atol=1e-9)
    np.testing.assert_allclose(s.b, b, atol=1e-9)


def test_estimate_has_no_attenuation():
    """5.5 standard errors of the mean over 300 runs (4e-8 for each of nine entries)."""
    n = 100
    X, _, _ = stream(n, K=1)
    R = X @ THETA
    policy = corrected_ridge(3, n, epsilon=10.0, delta=0.1)
    A = np.array([run(policy, X, R, seed=i)[1].A for i in range(300)])
    b = np.array([run(policy, X, R, seed=i)[1].b for i in range(300)])
    S = np.einsum("ti,tj->ij", X[:, 0], X[:, 0])
    assert (np.abs(A.mean(0) - S) < 5.5 * A.std(0) / np.sqrt(300)).all()
    assert (np.abs(b.mean(0) - S @ THETA) < 5.5 * b.std(0) / np.sqrt(300)).all()
    attenuated = S + n * policy.params.sigma**2 * np.eye(3)  # what no correction would give
    assert np.abs(A.mean(0) - attenuated).max() > 5.5 * A.std(0).max() / np.sqrt(300)


def test_message_and_guarantee_are_those_of_online_linucb():
    X, R, _ = stream(K=1)
    ours, theirs = (
        corrected_ridge(3, 400, epsilon=5.0, delta=0.1),
        online_linucb(3, 400, epsilon=5.0, delta=0.1),
    )
    assert ours.guarantee == theirs.guarantee
    assert ours.params.sigma == theirs.params.sigma
    np.testing.assert_array_equal(run(ours, X, R)[1].message, run(theirs, X, R)[1].message)
