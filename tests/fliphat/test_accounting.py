"""Composition of picks against enumeration, an independent accountant, and a direct attack on the
sensitivity.
"""

from itertools import product

import numpy as np
import pytest

from companion.fliphat import accounting as pp


def test_composition_equals_enumeration_of_all_outcomes():
    k, ratio, epsilon = 3, 0.4, 0.7
    losses = np.array([2 * ratio] * k + [ratio] * k)
    p = np.exp(losses) / (1 + np.exp(losses))
    total = 0.0
    for signs in product((1, -1), repeat=2 * k):
        chance = np.prod(np.where(np.array(signs) > 0, p, 1 - p))
        total += chance * max(0.0, 1 - np.exp(epsilon - losses @ signs))
    assert pp.composition_delta(epsilon, k, ratio) == pytest.approx(total, rel=1e-12)


def test_composition_equals_the_accountant_library():
    accounting = pytest.importorskip("dp_accounting")
    from dp_accounting.pld import privacy_loss_distribution as pld

    del accounting
    for picks, ratio in ((10, 1 / 13.12), (30, 1 / 22.9)):
        picked = pld.from_privacy_parameters(
            pld.common.DifferentialPrivacyParameters(2 * ratio, 0.0),
            value_discretization_interval=1e-4,
        )
        value = pld.from_privacy_parameters(
            pld.common.DifferentialPrivacyParameters(ratio, 0.0), value_discretization_interval=1e-4
        )
        whole = picked.self_compose(picks).compose(value.self_compose(picks))
        ours = pp.composition_epsilon(0.01, picks, ratio)
        assert whole.get_epsilon_for_delta(0.01) == pytest.approx(ours, rel=5e-3)


def test_limits_of_the_composition():
    assert pp.composition_delta(1.0, 0, 0.3) == 0.0
    assert pp.composition_delta(3 * 7 * 0.3, 7, 0.3) == pytest.approx(0.0, abs=1e-15)
    deltas = [pp.composition_delta(e, 7, 0.3) for e in np.linspace(0, 6, 30)]
    assert (np.diff(deltas) <= 0).all()
    assert pp.composition_epsilon(0.01, 7, 0.0) == 0.0
    assert pp.composition_epsilon(0.01, 7, np.inf) == np.inf


@pytest.mark.parametrize("picks", [1, 5, 10, 140])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 10.0])
def test_factor_is_the_smallest_that_keeps_the_promise(picks, epsilon):
    factor = pp.exact_factor(picks, epsilon, 0.01)
    assert pp.composition_delta(epsilon, picks, 1 / factor) <= 0.01
    assert pp.composition_delta(epsilon, picks, 1.001 / factor) > 0.01
    assert pp.composition_epsilon(0.01, picks, 1 / factor) == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.parametrize("delta", [2.5e-12, 0.5])
def test_the_factor_of_a_huge_budget_is_that_of_pure_composition(delta):
    """Randomised responses of huge budgets all but never answer wrongly: 3 k picks add up."""
    assert pp.exact_factor(46, 5980206.140672289, delta) == pytest.approx(
        138 / 5980206.14, rel=1e-3
    )


def test_the_papers_factor_is_safe_for_small_epsilon_only():
    assert pp.paper_factor(10, 1.0, 0.01) == pytest.approx(23.5078, rel=1e-4)
    assert pp.paper_factor(10, 1.0, 0.01, 3) == pytest.approx(78.46, rel=1e-3)
    for s in (1, 5, 10, 20, 60):
        assert pp.paper_factor(s, 1.0, 0.01) > pp.exact_factor(s, 1.0, 0.01)
    assert pp.paper_factor(20, 10.0, 0.01) < pp.exact_factor(20, 10.0, 0.01)
    assert pp.exact_factor(3, np.inf, 0.01) == 0.0


def test_sensitivity_is_attained_and_never_exceeded():
    rng, n, eta, x_max, R, C = np.random.default_rng(1), 7, 0.3, 1.7, 2.0, 1.1
    bound = pp.gradient_sensitivity(n, eta, x_max, R + x_max * C)

    def share(x, y, theta):
        return 2 * eta / n * x * (y - x @ theta)

    for _ in range(3000):
        theta = rng.standard_normal(4)
        theta *= C * rng.random() / np.abs(theta).sum()
        x, z = rng.uniform(-x_max, x_max, (2, 4))
        y, w = rng.uniform(-R, R, 2)
        assert np.abs(share(x, y, theta) - share(z, w, theta)).max() <= bound
    x, z = np.full(4, x_max), np.full(4, x_max)
    z[0], theta = -x_max, np.array([-C, 0, 0, 0])
    moved = np.abs(share(x, R, theta) - share(z, -R, theta))
    assert moved.max() == pytest.approx(bound)
    assert bound / (eta * (R + x_max * C) / n) == pytest.approx(4 * x_max)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: pp.exact_factor(0, 1.0, 0.01), "picks"),
        (lambda: pp.exact_factor(3, 0.0, 0.01), "epsilon"),
        (lambda: pp.exact_factor(3, 1.0, 0.0), "delta"),
        (lambda: pp.paper_factor(3, 1.0, 1.0), "delta"),
        (lambda: pp.composition_delta(np.nan, 3, 0.1), "epsilon"),
        (lambda: pp.composition_epsilon(0.1, 3, -1.0), "ratio"),
        (lambda: pp.gradient_sensitivity(0, 1.0, 1.0, 1.0), "n"),
    ],
)
def test_rejects_bad_input_by_name(call, name):
    with pytest.raises(ValueError, match=name):
        call()


def test_noise_scales_by_hand():
    """Four rows, eta = 1/2, x_max = 3, b_max = 2, R = 10: a row moves the first gradient step by
    4 (1/2) 3 (10)/4 = 15, later ones by 4 (1/2) 3 (16)/4 = 24; printed: (1/2)(16)/4 = 2."""
    rest = {"eta": 0.5, "x_max": 3.0, "b_max": 2.0, "R": np.array([10.0])}
    rest |= {"iterations": np.array([3])}
    (first, later), promised = pp.noise_scales(False, np.array([4]), 2, 1.5, 0.02, **rest)
    factor = pp.exact_factor(6, 1.5, 0.02)
    assert (first[0], later[0]) == pytest.approx((15 * factor, 24 * factor))
    assert promised == 1.5
    delta = 3 * np.exp(-6.0)  # log(M/delta) = 6, so the printed factor is 2 sqrt(3 2 6) 3/1.5 = 24
    (first, later), true = pp.noise_scales(True, np.array([4]), 2, 1.5, delta, **rest)
    assert (first[0], later[0]) == pytest.approx((48.0, 48.0))
    assert true == pytest.approx(pp.composition_epsilon(delta, 6, 24 / 48))
    one = rest | {"iterations": np.array([1])}
    delta = np.exp(-6.0)
    (first, _), true = pp.noise_scales(True, np.array([4]), 2, 1.5, delta, **one)
    assert first[0] == pytest.approx(16.0)
    assert true == pytest.approx(pp.composition_epsilon(delta, 2, 15 / 16))
    fine = one | {"eta": 0.0005}  # a smaller step: noise below 1; a smaller budget: loss below 1
    (first, _), true = pp.noise_scales(True, np.array([4]), 2, 0.1, delta, **fine)
    assert first[0] == pytest.approx(0.24)
    assert true == pytest.approx(pp.composition_epsilon(delta, 2, 0.015 / 0.24))
    assert 0.0 < true < 1.0


def test_one_pick_by_hand():
    """Losses +-2r and +-r at r = log 2: right with probability 4/5 and 2/3, together 8/15 at loss
    log 8; at epsilon = log 4 that leaves 8/15 (1 - 4/8) = 4/15."""
    assert pp.composition_delta(np.log(4.0), 1, np.log(2.0)) == pytest.approx(4 / 15)
    assert pp.exact_factor(1, np.log(4.0), 4 / 15) == pytest.approx(1 / np.log(2.0))
    assert pp.gradient_sensitivity(8, 0.5, 3.0, 4.0) == 3.0
