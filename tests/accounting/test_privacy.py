"""Calibration against published values, independent libraries and many digits."""

import mpmath
import numpy as np
import pytest
from dp_accounting import GaussianDpEvent
from dp_accounting.rdp import RdpAccountant

from companion.accounting import privacy
from companion.accounting.privacy import gaussian_delta, gaussian_epsilon, gaussian_scale


def test_scale_and_delta_have_their_known_values():
    assert gaussian_scale(10.0, 0.1, 2.0) == pytest.approx(0.5636241443, abs=2e-10)
    # total variation
    assert gaussian_delta(0.0, 1.0) == pytest.approx(0.382924922548, abs=1e-12)


def test_extremes():
    assert privacy.laplace_scale(0.5, 3.0) == 6.0
    assert gaussian_scale(np.inf, 0.1) == privacy.laplace_scale(np.inf) == 0.0
    assert gaussian_delta(1.0, 0.0) == 1.0
    assert gaussian_epsilon(0.1, 0.0) == np.inf
    assert gaussian_epsilon(0.5, 1.0) == 0.0  # delta above the total variation distance
    for delta in (1e-100, 1e-10, 0.999):
        for epsilon in (1e-6, 1.0, 200.0):
            assert 0.0 < gaussian_scale(epsilon, delta) < 1e9
    assert gaussian_delta(200.0, 1e-3) == pytest.approx(1.0)
    assert gaussian_delta(700.0, 100.0) == 0.0


def test_classical_formula_is_refused_where_it_is_not_proved():
    sigma = gaussian_scale(0.5, 1e-5, 2.0, "classical")
    assert sigma == pytest.approx(2.0 * np.sqrt(2 * np.log(1.25e5)) / 0.5)
    assert sigma > gaussian_scale(0.5, 1e-5, 2.0)
    with pytest.raises(ValueError, match=r"epsilon=1\.5"):
        gaussian_scale(1.5, 1e-5, method="classical")
    unchecked = gaussian_scale(10.0, 0.1, method="classical-unchecked")
    assert unchecked == pytest.approx(np.sqrt(2 * np.log(12.5)) / 10.0)
    assert gaussian_delta(10.0, unchecked) > 0.1  # it does not give what it was asked for


def test_tree_levels():
    found = [privacy.tree_levels(T) for T in (1, 2, 3, 4, 7, 8, 20_000)]
    assert found == [1, 2, 2, 3, 3, 4, 15]
    with pytest.raises(ValueError, match="T"):
        privacy.tree_levels(0)


def test_amplification_by_shuffling_is_the_published_bound():
    e = np.exp(0.7)
    n = 5000
    delta = 1e-6
    bound = 8 * np.sqrt(e * np.log(4 / delta) / n) + 8 * e / n
    expected = np.log(1 + (e - 1) / (e + 1) * bound)
    assert privacy.shuffle_epsilon(0.7, delta, n) == pytest.approx(expected, rel=1e-12)
    assert privacy.shuffle_epsilon(0.7, delta, n) < 0.5
    # ln(20 / (16 ln 20)) < 0: not covered
    assert privacy.shuffle_epsilon(0.7, 0.1, 20) == 0.7
    limit = np.log(n / (16 * np.log(2 / delta)))
    assert privacy.shuffle_epsilon(limit + 1e-9, delta, n) == limit + 1e-9
    several = [privacy.shuffle_epsilon(e, delta, n) for e in (0.1, 0.3, 1.0, 2.0)]
    assert several == sorted(several)


# --- concentrated and Gaussian privacy
# ----------------------------------------------------------


def test_mu_and_rho_of_the_spec():
    mu = [privacy.gaussian_mu(1.0, delta) for delta in (1e-3, 5e-4, 1e-4)]
    assert mu == pytest.approx([0.388401, 0.361445, 0.313902], abs=1e-6)
    rho = [privacy.zcdp_rho(1.0, delta) for delta in (1e-3, 1e-4)]
    assert rho == pytest.approx([0.059390, 0.040633], abs=1e-6)


def test_zcdp_equals_the_accountant_library():
    accountant = RdpAccountant(list(1 + np.geomspace(0.1, 300, 3000)))
    accountant.compose(GaussianDpEvent(1 / np.sqrt(2 * 0.05)))
    assert privacy.zcdp_epsilon(0.05, 1e-4) == pytest.approx(
        accountant.get_epsilon(1e-4),
        rel=1e-4,
    )


def test_limits_of_zcdp_and_mu():
    assert privacy.gaussian_mu(np.inf, 0.1) == np.inf
    assert privacy.zcdp_rho(np.inf, 0.1) == np.inf
    assert privacy.zcdp_epsilon(np.inf, 0.1) == np.inf
    assert privacy.zcdp_epsilon(0.0, 0.1) == 0.0
    assert privacy.zcdp_delta(0.0, 0.0) == 0.0
    with pytest.raises(ValueError, match="rho must be"):
        privacy.zcdp_epsilon(-1.0, 0.1)


def test_the_classical_formula_is_proved_up_to_epsilon_1():
    found = gaussian_scale(1.0, 0.1, method="classical")
    assert found == pytest.approx(np.sqrt(2.0 * np.log(12.5)))


# --- small budgets, and the private side
# ---------------------------------------------------------


def true_delta(epsilon, sigma):
    """The delta of a Gaussian at sensitivity 1, in 150 digits."""
    with mpmath.workdps(150):
        e = mpmath.mpf(epsilon)
        a = 1 / mpmath.mpf(sigma)
        x = e / a - a / 2
        y = e / a + a / 2
        root = mpmath.sqrt(2)
        below = mpmath.erfc(x / root)
        above = mpmath.exp(e) * mpmath.erfc(y / root)
        return (below - above) / 2


def budgets_at_random(n, lowest, highest):
    """n budgets, uniform in logarithms: epsilon between the two, delta in [1e-100,
    0.9]."""
    rng = np.random.default_rng(5)
    epsilons = 10.0 ** rng.uniform(np.log10(lowest), np.log10(highest), n)
    deltas = 10.0 ** rng.uniform(-100.0, -0.05, n)
    return zip(epsilons.tolist(), deltas.tolist(), strict=True)


SMALL = [(1e-9, 1e-100), (1e-9, 1e-17), (1e-9, 1e-9), (1e-8, 1e-30), (1e-100, 1e-100)]


def test_gaussian_noise_never_spends_more_than_was_asked():
    several = [
        *SMALL,
        *budgets_at_random(60, 1e-9, 1e-4),
        *budgets_at_random(40, 1e-4, 20.0),
    ]
    for epsilon, delta in several:
        sigma = gaussian_scale(epsilon, delta)
        exact = true_delta(epsilon, sigma)
        assert 1.0 - 1e-10 < exact / delta <= 1.0
        assert exact <= gaussian_delta(epsilon, sigma) <= exact * (1 + 1e-10)
        assert gaussian_epsilon(delta, sigma) == pytest.approx(epsilon, rel=1e-12)


def stable_log_delta(rho, epsilon, order):
    """log of the delta of rho-zCDP at one order: exact up to rounding errors of its
    terms."""
    a = np.asarray(order) + 1.0
    factor = order * np.log1p(1.0 / order) + np.log1p(order)
    return order * (a * rho - epsilon) - factor


def test_rho_of_small_budgets_never_overspends():
    """Upper bounds on the delta of an order hold for every order, and one is found by a
    grid."""
    for epsilon, delta in [*SMALL, (1e-6, 1e-30), *budgets_at_random(150, 1e-9, 1e-4)]:
        rho = privacy.zcdp_rho(epsilon, delta)
        centre = max((epsilon - rho) / (2.0 * rho), 1e-3)
        orders = centre * np.exp(np.linspace(-12.0, 12.0, 20_001))
        least = stable_log_delta(rho, epsilon, orders).min()
        assert least <= np.log(delta) + 1e-4  # as good as the grid
        assert least >= np.log(delta) - 1e-4  # and not smaller than it needs to be
        assert privacy.zcdp_delta(rho, epsilon) <= delta
        larger = privacy.zcdp_delta(rho * (1 + 1e-9), epsilon)
        assert larger > delta * (1 - 1e-11)


def test_an_epsilon_is_found_at_any_size():
    for rho, delta in [(5e-17, 1e-9), (1e-30, 1e-17), (1e-3, 1e-3), (1e-25, 1e-14)]:
        epsilon = privacy.zcdp_epsilon(rho, delta)
        assert privacy.zcdp_delta(rho, epsilon) <= delta
        assert privacy.zcdp_delta(rho, epsilon * (1 - 1e-9)) > delta


def test_an_edge_is_found_from_both_sides_and_on_the_right_one():
    for root in (1e-200, 3.0, 1e50):
        below = privacy.edge(lambda x, root=root: x <= root, 1e-220, 1e60)
        above = privacy.edge(lambda x, root=root: x >= root, 1e60, 1e-220)
        assert root * (1 - 1e-13) < below <= root <= above < root * (1 + 1e-13)


def test_an_edge_is_as_soon_found_at_any_size():
    """Halving 645 powers of e down to 1e-14 of one takes 56 steps."""
    tried = []

    def holds(x):
        tried.append(x)
        return x <= 1e-200

    privacy.edge(holds, 1e-220, 1e60)
    assert len(tried) <= 57
