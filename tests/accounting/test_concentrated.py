"""Concentrated and Gaussian privacy against the paper's numbers and an independent accountant."""

import numpy as np
import pytest

from companion.accounting import privacy as pr


@pytest.mark.parametrize(("delta", "mu"), [(1e-3, 0.388401), (5e-4, 0.361445), (1e-4, 0.313902)])
def test_mu_of_the_spec(delta, mu):
    assert pr.gaussian_mu(1.0, delta) == pytest.approx(mu, abs=1e-6)
    assert pr.gaussian_epsilon(delta, 1.0, pr.gaussian_mu(1.0, delta)) == pytest.approx(1.0)


@pytest.mark.parametrize(("delta", "rho"), [(1e-3, 0.059390), (1e-4, 0.040633)])
def test_rho_of_the_spec(delta, rho):
    assert pr.zcdp_rho(1.0, delta) == pytest.approx(rho, abs=1e-6)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("delta", [0.1, 1e-3, 1e-8])
def test_conversions_invert_each_other(epsilon, delta):
    rho = pr.zcdp_rho(epsilon, delta)
    assert pr.zcdp_delta(rho, epsilon) == pytest.approx(delta, rel=1e-6)
    assert pr.zcdp_epsilon(rho, delta) == pytest.approx(epsilon, rel=1e-6)
    # a Gaussian of that rho loses no more than the conversion says
    assert pr.gaussian_epsilon(delta, 1.0, np.sqrt(2 * rho)) <= epsilon


def test_the_minimum_over_orders_is_found():
    rho, epsilon = 0.06, 1.0
    a = 1 + np.geomspace(1e-3, 1e3, 200_001)
    grid = np.exp((a - 1) * (a * rho - epsilon)) / (a - 1) * (1 - 1 / a) ** a
    assert pr.zcdp_delta(rho, epsilon) == pytest.approx(grid.min(), rel=1e-6)


def test_conversion_equals_the_accountant_library():
    accounting = pytest.importorskip("dp_accounting")
    rdp = pytest.importorskip("dp_accounting.rdp")
    orders = 1 + np.geomspace(0.1, 300, 3000)
    accountant = rdp.RdpAccountant(list(orders))
    accountant.compose(accounting.ZCDpEvent(0.05) if hasattr(accounting, "ZCDpEvent")
                       else accounting.GaussianDpEvent(1 / np.sqrt(2 * 0.05)))  # fmt: skip
    assert pr.zcdp_epsilon(0.05, 1e-4) == pytest.approx(accountant.get_epsilon(1e-4), rel=1e-4)


def test_limits():
    assert pr.gaussian_mu(np.inf, 0.1) == np.inf
    assert pr.zcdp_rho(np.inf, 0.1) == np.inf
    assert pr.zcdp_epsilon(np.inf, 0.1) == np.inf
    assert pr.zcdp_epsilon(0.0, 0.1) == 0.0
    assert pr.zcdp_delta(0.0, 0.0) == 0.0
    for bad in (-1.0, np.nan):
        with pytest.raises(ValueError, match="rho must be"):
            pr.zcdp_delta(bad, 1.0)


@pytest.mark.parametrize("rho", [1e3, 1e6])
def test_a_large_loss_leads_back_to_its_delta(rho):
    """Above 1e12 a bound stands in for the search."""
    assert pr.zcdp_delta(rho, pr.zcdp_epsilon(rho, 1e-3)) == pytest.approx(1e-3, rel=1e-3)


def test_a_large_delta_allows_more_than_epsilon_and_one():
    rho = pr.zcdp_rho(0.1, 0.99)
    assert rho > 1.1
    assert pr.zcdp_delta(rho, 0.1) == pytest.approx(0.99, rel=1e-6)
