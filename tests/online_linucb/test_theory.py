"""Closed forms against the paper's displays, written out again term by term."""

import numpy as np
import pytest

from companion.online_linucb import maler, theory

T, DELTA = 20_000, 0.1
SIGMA = 2 * np.sqrt(2 * np.log(1.25 / DELTA))  # at epsilon = 1


def test_clip_with_every_term_of_corollary_c_1():
    s, D, Delta, failure = 0.7, 3.0, 0.4, 0.05
    log = np.log(2 * 500 / failure)
    terms = [2 * D * s, 2 * s, D * Delta, Delta]
    by_hand = 2 * np.sqrt(2 * log) * sum(terms)
    terms = [2 * D * Delta**2, 4 * D * Delta * s, 2 * Delta * s, 2 * D * s**2, 2 * s**2, D * s**2]
    by_hand += 2 * log * sum(terms) + 2 * D + 2
    clip = theory.theory_clip(s, Delta**2, 500, failure, ball=D)
    assert clip == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize(
    ("epsilon", "width", "clip"),
    [(0.2, 14_167, 1.05e5), (1.0, 2_868, 4380.0), (10.0, 329, 68.4)],
)
def test_width_and_clip_as_printed_at_the_papers_noise(epsilon, width, clip):
    """With sigma in the place of sqrt(ln(1/delta))/epsilon it would be 30165, 6049 and 626."""
    found = theory.literal(5, T, epsilon, DELTA)
    assert round(found["width"]) == width
    assert found["clip"] == pytest.approx(clip, rel=5e-3)


def test_width_with_every_term_of_lemma_3_3():
    inner = maler.learner("maler", 4, 900, ball=2.0, gradient=5.0)
    D, Delta, R, epsilon, delta, failure = 2.0, 0.6, 0.3, 1.5, 0.02, 0.1
    log, Q, noise = np.log(900 / failure), 4 * D**2 * 900, np.log(1 / delta)
    M = (2 * np.log(3) + 1.5) * 5.0 * 2 * D * np.sqrt(900)
    K = D * Delta**2 * log * np.sqrt(900 * Q)
    K += (R + D * np.sqrt(noise) / epsilon + D * Delta) ** 2 * log
    K += (noise / epsilon**2 + Delta**2) * log * Q
    width = theory.theory_width(inner, epsilon, delta, Delta**2, 900, failure, noise=R)
    assert width == pytest.approx(np.sqrt(M + K), rel=1e-12)


def test_bounds_of_theorem_c_2():
    inner = maler.learner("maler", 4, 900, ball=2.0, gradient=5.0)
    G, D, mu = 5.0, 2.0, 0.7
    A = 2 * np.log(np.sqrt(3) * (np.log2(900) / 2 + 3)) + 1 + np.log(900)
    last = 32 * G**2 * np.log(20) / mu
    squares = (80 * G * D / mu + 36 * G**2 / mu**2) * A + 64 * G**2 * np.log(20) / mu**2
    regret, Q = theory.strong_bounds(inner, mu, 900, 0.05)
    assert regret == pytest.approx((40 * G * D + 18 * G**2 / mu) * A + last, rel=1e-12)
    assert pytest.approx(squares, rel=1e-12) == Q


def test_bound_of_lemma_h_6_for_strongly_convex_losses():
    inner = maler.learner("maler", 4, 900, ball=2.0, gradient=5.0)
    A = 2 * np.log(np.sqrt(3) * (np.log2(900) / 2 + 3)) + 1 + np.log(900)
    by_hand = (10 * 5.0 * 4.0 + 9 * 25.0 / (2 * 0.7)) * A
    assert maler.regret_bound(inner, 900, 0.7) == pytest.approx(by_hand, rel=1e-12)


def test_display_of_corollary_3_6_by_hand_and_its_power():
    d, lam, epsilon = 3, 0.25, 0.5
    G = theory.theory_clip(SIGMA / epsilon, 0.0, T, 1 / T)
    H, noise = G**2 / lam**2 + G / lam, np.sqrt(np.log(10)) / epsilon
    by_hand = (0.5 + noise) * np.sqrt(np.log(T / (1 / T))) + np.log(T) * np.sqrt(H) * noise
    by_hand *= np.sqrt(d * T * np.log(T / d))
    assert theory.display_3_6(d, T, epsilon, DELTA, lam) == pytest.approx(by_hand, rel=1e-12)
    ends = [theory.display_3_6(d, T, e, DELTA, lam) for e in (1e-4, 1e-5)]
    assert np.log10(ends[1] / ends[0]) == pytest.approx(3.0, abs=1e-4)


def test_constants_of_the_anytime_learner_by_hand():
    d, epsilon, failure = 5, 0.7, 0.1
    c = theory.theory_constants(d, T, epsilon, failure)
    M, log, root = 3, np.log(T) ** 1.5, epsilon * T**0.125
    eta = [root / (np.sqrt(d * T) * (log * root + 1)), *[epsilon / (log * np.sqrt(d * T))] * 2]
    np.testing.assert_allclose(c.eta, eta, rtol=1e-12)
    L = log * np.sqrt(d) * (root + 1) / root
    factor = 0.25 ** (1 / 3) * 1.75 ** (4 / 3) / 0.75 ** (1 / 3)
    R = L * T**0.75 + factor * L ** (4 / 3) * T * eta[0] ** (1 / 3)
    R += 288 * np.log(T**3 * M / failure) * T * eta[0] + 2 / eta[1]
    assert c.L[0] == pytest.approx(L, rel=1e-12)
    assert c.R[0] == pytest.approx(R, rel=1e-12)


@pytest.mark.parametrize(("name", "value"), [("d", 0), ("T", 1), ("epsilon", 0.0), ("failure", 1)])
def test_constants_reject_bad_input_by_name(name, value):
    arguments = {"d": 5, "T": 100, "epsilon": 1.0, "failure": 0.1, name: value}
    with pytest.raises(ValueError, match=f"{name}={value}"):
        theory.theory_constants(**arguments)


# --- numbers from a pocket calculator -----------------------------------------------------------


def test_closed_forms_by_hand():
    """The displays of the paper at small arguments, computed apart from this package."""
    close = lambda value: pytest.approx(value, rel=1e-10)  # noqa: E731
    assert theory.theory_clip(0.7, 0.16, 500, 0.05, ball=3.0) == close(275.5048745395)
    inner = maler.learner("maler", 4, 900, ball=2.0, gradient=5.0)
    assert maler.regret_bound(inner, 900) == close(2218.3347464017)
    assert maler.regret_bound(inner, 900, 0.7) == close(4702.4432242272)
    width = theory.theory_width(inner, 1.5, 0.02, 0.36, 900, 0.1, noise=0.3)
    assert width == close(548.7580535888)
    assert theory.strong_bounds(inner, 0.7, 900, 0.05)[0] == close(17018.8764177541)
    small = maler.learner("maler", 3, 100, gradient=2.0)
    assert theory.conversion_width(small, 100) == close(18.8549574923)
    assert theory.display_3_6(3, T, 0.5, DELTA, 0.25) == close(1488439337.943)


def test_the_power_of_the_display_is_that_of_the_gradients_plus_one():
    """G of order 1, sigma, and Corollary C.1's sigma^2."""
    for clip, power in ((lambda s: 1.0, 1.0), (lambda s: s, 2.0), (None, 3.0)):
        ends = [theory.display_3_6(3, T, e, DELTA, 0.25, clip=clip) for e in (1e-4, 1e-5)]
        assert np.log10(ends[1] / ends[0]) == pytest.approx(power, abs=1e-3)


def test_constants_of_theorem_4_1_by_hand():
    c = theory.theory_constants(5, T, 0.7, 0.1)
    np.testing.assert_allclose(c.guess, [0.289982140011, 0.579964280022, 1.159928560044], 1e-10)
    np.testing.assert_allclose(c.L, [98.559062074995, 171.659544600617, 85.829772300309], 1e-10)
    np.testing.assert_allclose(c.eta, [1.00134362593e-4, *[7.10257453468e-5] * 2], 1e-10)
    np.testing.assert_allclose(c.R, [831261.690824, 156069.765132, 73295.701332], 1e-10)
    assert list(c.alpha) == [0.75, 0.5, 0.5]
