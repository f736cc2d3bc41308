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
