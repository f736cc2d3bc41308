"""What the chapter measures: every estimator on cases whose answer is known."""

import numpy as np
import pytest
from streams import stream

from companion.baselines.linucb import linucb
from companion.environments import replay
from companion.online_linucb import experiments
from companion.online_linucb.online_linucb import (
    conversion_width,
    maler_params,
    online_linucb,
    regret_bound,
)
from companion.simulate import repetitions, trace


@pytest.mark.parametrize("epsilon", [np.inf, 5.0])
def test_the_needed_width_is_that_of_the_matrices_of_the_run(epsilon):
    """They are made again from its messages and predictions."""
    X = stream(n=80)[0]
    theta = np.array([0.6, 0.3, -0.1])
    policy = online_linucb(
        3,
        80,
        epsilon=epsilon,
        delta=0.1,
        learner="ogd",
        clip=4.0,
        width=1.0,
    )
    env = replay(X, X @ theta, X @ theta)
    (seed,) = repetitions(5, 1)
    V = np.eye(3)
    u = np.zeros(3)
    prediction = np.zeros(3)
    need = 0.0
    for _, s, _, _, _ in trace(env, policy, 80, seed, 1):
        message = s.message[:3]
        V += np.outer(message, message)
        u += (message @ prediction) * message
        off = np.linalg.solve(V, u) - theta
        need = max(need, np.sqrt(off @ V @ off))
        prediction = s.experts.theta.copy()
    found = experiments.needed_width(env, policy, 80, seed)
    assert found == pytest.approx(need, rel=1e-9)


# closed forms

T = 20_000
DELTA = 0.1


@pytest.mark.parametrize(
    ("epsilon", "width", "clip"),
    [(0.2, 14_167, 1.05e5), (1.0, 2_868, 4380.0), (10.0, 329, 68.4)],
)
def test_width_and_clip_as_printed_at_the_papers_noise(epsilon, width, clip):
    """With sigma in the place of sqrt(ln(1/delta))/epsilon it would be 30165, 6049 and
    626."""
    found = experiments.theory_width_and_clip(5, T, epsilon, DELTA)
    assert round(found["width"]) == width
    assert found["clip"] == pytest.approx(clip, rel=5e-3)


def test_closed_forms_by_hand():
    """The displays of the paper at small arguments, computed apart from this package."""
    inner = maler_params("maler", 4, 900, ball=2.0, gradient=5.0)
    small = maler_params("maler", 3, 100, gradient=2.0)
    by_hand = {
        experiments.theory_clip(0.7, 500, 0.05): 77.4499046448,
        regret_bound(inner, 900): 2218.3347464017,
        conversion_width(small, 100): 18.8549574923,
        experiments.display_3_6(3, T, 0.5, DELTA, 0.25): 1488439337.943,
    }
    np.testing.assert_allclose(list(by_hand), list(by_hand.values()), rtol=1e-10)


# drivers


def test_a_policy_with_noise_has_just_that_noise():
    """sigma = 2, d = 3, T = 100: width 2 sqrt(ln 100), clip 3 (2 * 4 sqrt 6 + 2)."""
    policy = experiments.with_noise(2.0, 3, 100, DELTA)
    p = policy.params
    assert p.sigma == pytest.approx(2.0)
    assert p.width == pytest.approx(2.0 * np.sqrt(np.log(100.0)))
    assert p.maler.gradient == pytest.approx(3.0 * (8.0 * np.sqrt(6.0) + 2.0))
    assert policy.name == "σ = 2"


def test_noise_on_contexts_shrinks_least_squares_and_not_the_corrected_one(rng):
    """In one dimension, noise 2: theta^2/5 and theta^2; 6 standard errors of less than
    0.01."""
    theta = np.array([0.5])
    plain, corrected = experiments.minimisers(theta, 2.0, 100_000, rng)
    assert plain == pytest.approx(0.05, abs=0.01)
    assert corrected == pytest.approx(0.25, abs=0.06)


def test_least_eigenvalues_are_those_of_disjoint_groups():
    """One arm in the plane, (1, 1) or (-1, 1) over sqrt 2: alone x x' has eigenvalue 0;
    two that differ give I/2, and of three one third of the runs stands apart: 1/3."""
    found = experiments.least_eigenvalues(linucb(2), 1, (1, 2, 3), 4, 0)
    assert {M: least.shape for M, least in found.items()} == {
        1: (3, 4),
        2: (1, 4),
        3: (1, 4),
    }
    assert found[1] == pytest.approx(np.zeros((3, 4)), abs=1e-12)
    assert found[2] == pytest.approx(np.full((1, 4), 0.5))
    assert found[3] == pytest.approx(np.full((1, 4), 1 / 3))
