"""Accounting: conversions against printed values and the accountant library; the joint bound."""

import itertools

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent
from dp_accounting.rdp import rdp_privacy_accountant as rdp_library

from companion.accounting.privacy import gaussian_delta, tree_levels
from companion.private_glm import calibrate, ledger
from companion.private_glm.joint import joint_glm


def test_the_gaussian_curve_at_known_points():
    for mu, epsilon, delta in ((1, 1, 0.1269367375), (0.5, 1, 0.0068295950), (2, 3, 0.1838130766)):
        assert gaussian_delta(epsilon, 1.0, mu) == pytest.approx(delta, abs=1e-9)
        assert ledger.gdp(0.5 * mu * mu, delta) == pytest.approx(epsilon, abs=1e-6)


@pytest.mark.parametrize(
    ("epsilon", "gdp", "rdp", "simple", "paper", "true"),
    [
        (2.0, 0.4928, 0.3651, 0.2057, 0.0102, 0.106),
        (4.0, 1.3103, 1.0169, 0.6971, 0.0407, 0.334),
        (6.0, 2.2931, 1.8270, 1.3700, 0.0916, 0.608),
        (8.0, 3.3847, 2.7458, 2.1712, 0.1629, 0.918),
    ],
)
def test_what_a_budget_buys(epsilon, gdp, rdp, simple, paper, true):
    """Sums of both parts at delta = 0.02; the exact total is divided by what `together` saves."""
    spent = {c: sum(ledger.budget(epsilon, 0.02, c)) for c in ledger.CALIBRATIONS}
    assert spent["rdp"] == pytest.approx(rdp, abs=1e-4)
    assert spent["simple"] == pytest.approx(simple, abs=1e-4)
    assert spent["paper"] == pytest.approx(paper, abs=1e-4)
    assert ledger.together(*ledger.budget(epsilon, 0.02, "corrected")) == pytest.approx(
        gdp, abs=1e-4
    )
    assert ledger.gdp(spent["paper"], 0.02) == pytest.approx(true, abs=1e-3)
    assert spent["corrected"] > spent["rdp"] > spent["simple"] > spent["thirds"] > spent["paper"]


@pytest.mark.parametrize("rho", [0.01, 0.3, 2.0])
def test_rdp_is_the_library_s(rho):
    accountant = rdp_library.RdpAccountant(orders=np.geomspace(1.01, 2000, 4000))
    accountant.compose(GaussianDpEvent(1 / np.sqrt(2 * rho)))
    assert ledger.rdp(rho, 0.01) == pytest.approx(accountant.get_epsilon(0.01), rel=1e-4)
    assert ledger.gdp(rho, 0.01) <= ledger.rdp(rho, 0.01)
    assert ledger.simple_rho(ledger.rdp(rho, 0.01), 0.01) <= rho


def worst_pair(rho_tree, rho_fits, n=60):
    """Grid search over two contexts, weights and residuals."""
    best = 0.0
    for c in np.linspace(-1, 1, n):
        for A, B in itertools.product((0.0, 0.5, 1.0), repeat=2):
            for a, b in itertools.product((-1.0, 0.0, 1.0), repeat=2):
                tree = rho_tree * (A * A + B * B - 2 * A * B * c * c) / 2
                best = max(best, tree + rho_fits * (a * a + b * b - 2 * a * b * c) / 4)
    return best


@pytest.mark.parametrize("parts", [(1.0, 1.0), (1.0, 0.1), (0.1, 1.0), (1.0, 3.9), (0.0, 1.0)])
def test_together_is_the_worst_pair_of_contexts(parts):
    assert worst_pair(*parts) == pytest.approx(ledger.together(*parts), rel=2e-3)
    assert worst_pair(*parts) <= ledger.together(*parts) + 1e-12


@pytest.mark.parametrize("calibration", ledger.CALIBRATIONS)
@pytest.mark.parametrize("preset", ["tight", "explore"])
def test_the_ledger_is_the_budget(calibration, preset):
    """Sensitivities, counts and noise of the running parameters give back what was bought."""
    policy = joint_glm(4, 1000, epsilon=3.0, delta=0.01, preset=preset, calibration=calibration)
    p, bought = policy.params, ledger.budget(3.0, 0.01, calibration)
    found = calibrate.ledgers(p)
    for who in ("explores", "exploits"):
        assert [r.rho for r in found[who]] == pytest.approx(bought)
        assert found[who][0].times == tree_levels(1000) == 10
        assert found[who][1].sensitivity == 2.0
    assert found["explores"][0].sensitivity == pytest.approx(np.sqrt(2))
    assert found["exploits"][0].sensitivity == pytest.approx(np.sqrt(2) * 0.25 / np.e)
    assert found["exploits"][1].times == p.fit_tau.steps * p.fit_tau.cutoff
    assert ledger.total(found["changes sides"]) <= ledger.together(*bought)
    assert policy.guarantee.epsilon == pytest.approx(ledger.gdp(calibrate.spent(p), 0.01))
    if calibration == "corrected":
        assert policy.guarantee.epsilon == pytest.approx(3.0)
    else:
        assert policy.guarantee.epsilon < 3.0
        assert policy.guarantee.claimed == (3.0, 0.01)


def test_the_printed_rule_has_no_guarantee():
    assert joint_glm(3, 100, epsilon=1.0, delta=0.02, rule="paper").guarantee.epsilon == np.inf
    assert joint_glm(3, 100, epsilon=np.inf, delta=0.02, rule="paper").guarantee.model == "none"
