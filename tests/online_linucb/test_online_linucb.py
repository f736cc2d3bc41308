"""Online LinUCB and Maler against slow twins, published values, bounds, and its
privacy."""

import numpy as np
import pytest
from maler_twin import Twin
from plain import plain
from scipy.spatial.distance import pdist
from streams import THETA, run, stream

from companion.accounting import privacy
from companion.online_linucb.online_linucb import (
    gradient,
    init_experts,
    maler_params,
    online_linucb,
    pair_noise,
    practical_clip,
    practical_width,
    randomize,
    update_experts,
)

# Maler


@pytest.mark.parametrize(
    ("d", "D", "G", "seed"),
    [(2, 1.0, 3.0, 0), (4, 0.5, 1.0, 1), (3, 2, 9, 2)],
)
def test_equals_the_slow_twin_over_noisy_steps(d, D, G, seed):
    rng = np.random.default_rng(seed)
    T = 400
    p = maler_params("maler", d, T, ball=D, gradient=G)
    s = init_experts(p)
    twin = Twin(d, T, D, G)
    left = 0
    for _ in range(T):
        g = 2.0 * (s.theta - D) + 2.0 * G * rng.standard_normal(d)
        g *= min(1.0, G / np.linalg.norm(g))
        sizes = np.linalg.norm(s.newton, axis=1)
        left += sizes.max() > D * (1 - 1e-9)
        update_experts(p, s, g)
        twin.update(g)
        np.testing.assert_allclose(s.theta, twin.theta, rtol=0, atol=1e-12)
        np.testing.assert_allclose(np.exp(s.log_w), twin.w, rtol=0, atol=1e-12)
        everyone = np.vstack([s.convex, s.strong, s.newton, s.theta])
        sizes = np.linalg.norm(everyone, axis=1)
        assert sizes.max() <= D * (1 + 1e-12)
    assert left > 10  # the projection in the Newton norm was really used
    np.testing.assert_allclose(s.S[0] @ s.S_inv[0], np.eye(d), atol=1e-9)


# Algorithm 1


@pytest.mark.parametrize(("epsilon", "clip"), [(20.0, 5.0), (20.0, 1.0), (np.inf, 5.0)])
def test_plays_the_plain_version_of_the_chapter(epsilon, clip):
    X, R, _ = stream()
    policy = online_linucb(
        3,
        400,
        epsilon=epsilon,
        delta=0.1,
        learner="ogd",
        width=1.0,
        clip=clip,
    )
    chapter = plain("online_linucb")
    sigma = policy.params.sigma
    assert chapter["noise_scale"](epsilon, 0.1) == pytest.approx(sigma)
    slow = chapter["plain_online_linucb"]
    rng = np.random.default_rng(1)
    told = slow(X, R, rng, sigma=sigma, width=1.0, clip=clip)
    arms = run(policy, X, R)[0]
    assert np.array_equal(arms, told)
    best = (X @ THETA).argmax(axis=1)
    assert (arms == best)[200:].mean() > 0.5  # of four arms: it has learned


# the loss

ARMS = np.array([[0.9, 0.1, 0.0], [-0.2, 0.7, 0.3], [0.1, -0.4, 0.8]])


@pytest.mark.parametrize("jitter", [0.0, 0.4])
def test_mean_gradient_has_no_errors_in_variables_bias(jitter):
    """Mean over the noise: 2 S (theta - theta*) + 2 jitter theta.  False alarms: 3 in
    10^7."""
    policy = online_linucb(3, 100, epsilon=8.0, delta=0.1, jitter=jitter, clip=1e6)
    p = policy.params
    rng = np.random.default_rng(5)
    out = np.empty(4)
    g = np.empty(3)
    theta = np.array([-0.3, 0.5, 0.4])
    draws = []
    for i in range(45_000):
        x = ARMS[i % 3]
        y = 1.0 if rng.random() < 0.5 + 0.5 * (x @ THETA) else -1.0
        randomize(p, x, y, rng, out)
        gradient(p, out[:3], out[3], theta, g)
        draws.append(g.copy())
    draws = np.array(draws)
    S = ARMS.T @ ARMS / 3
    expected = 2 * S @ (theta - THETA) + 2 * jitter * theta
    error = 5.3 * draws.std(0) / np.sqrt(len(draws))
    off = draws.mean(0) - expected
    assert (np.abs(off) < error).all()
    bias = 2 * p.sigma**2 * theta  # of the loss that is not corrected
    assert (np.abs(off - bias) > 3 * error).any()  # the test has power


def test_default_width_and_clip_by_hand():
    """Without noise Theorem A.2's width, with M of Lemma H.6 at G = 2 and diameter 2."""
    M = (2 * np.log(3) + 1.5) * 2.0 * 2.0 * 10.0
    inner = 0.5 * np.sqrt(8) + np.sqrt(1 + M)
    square = 1 + 1 + 2 * M + 32 / 4 * np.log(inner / 0.01)
    p = online_linucb(3, 100, epsilon=np.inf, delta=0.1, clip=2.0).params
    assert p.width == pytest.approx(np.sqrt(square), rel=1e-12)
    assert practical_clip(1.0, 0.5, 2, 3.0) == pytest.approx(3 * (2 * 1.5 * 2 + 2))
    assert practical_width(0.5, 100, 3.0) == pytest.approx(3 * 0.5 * np.sqrt(np.log(100)))


# privacy

# delta = 0.1, in the ball, then in the environment of Figure 1: the paper's sigma; with
# it the true epsilon at delta and the true delta at the nominal epsilon; sigma of one
# release of the pair.
CALIBRATIONS = {
    0.2: (22.475, ((0.0, 0.0033), (0.0, 0.0001)), (6.5026, 3.9820)),
    1.0: (4.495, ((0.479, 0.0239), (0.139, 0.0009)), (3.0713, 1.8808)),
    10.0: (0.4495, ((26.95, 0.916), (11.51, 0.184)), (0.7971, 0.4881)),
}


@pytest.mark.parametrize("epsilon", CALIBRATIONS)
@pytest.mark.parametrize(("column", "universe"), [(0, "ball"), (1, "offset_sphere")])
def test_guarantee_of_the_papers_noise_and_of_ours(epsilon, column, universe):
    printed, true, corrected = CALIBRATIONS[epsilon]
    sigma, g = pair_noise(epsilon, 0.1, "paper", universe)
    exact = privacy.gaussian_delta(epsilon, sigma, privacy.PAIR_SENSITIVITY[universe])
    assert sigma == pytest.approx(printed, abs=5.1e-4)
    assert (g.epsilon, exact) == pytest.approx(true[column], rel=3e-3, abs=6e-5)
    assert g.claimed == (epsilon, 0.1)
    sigma, g = pair_noise(epsilon, 0.1, "corrected", universe)
    assert sigma == pytest.approx(corrected[column], abs=5.1e-5)
    assert g.epsilon == pytest.approx(epsilon, rel=1e-9)
    assert (g.model, g.neighbours, g.claimed) == ("local", "replace one record", None)


@pytest.mark.parametrize("universe", privacy.UNIVERSES)
def test_no_two_clipped_records_are_further_apart_than_the_sensitivity(universe, rng):
    policy = online_linucb(3, 100, epsilon=5.0, delta=0.1, universe=universe)
    p = policy.params._replace(sigma=0.0)
    records = []
    extreme = [[1.0, 0, 0.7], [-1.0, 0, 0.7], [9.0, 9, 9], [-9.0, -9, -9]]
    for x in np.vstack([extreme, 3 * rng.standard_normal((300, 3))]):
        for y in (-5.0, 5.0, rng.standard_normal()):
            record = np.empty(4)
            clipped = randomize(p, x, y, rng, record)
            moved = np.abs(record - [*x, y])
            assert clipped == (moved.max() > 1e-12)
            records.append(record)
    furthest = pdist(records).max()
    limit = privacy.PAIR_SENSITIVITY[universe]
    assert 0.999 * limit < furthest <= limit * (1 + 1e-8)
