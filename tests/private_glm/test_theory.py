"""The paper's closed forms against values that were worked out by hand or with another program."""

import math

import pytest

from companion.private_glm import ledger, theory


def test_printed_constants_of_table_2():
    """Its first column: d = 3, S = 2, epsilon = 4, universal constants 1."""
    q = theory.printed(3, 5000, 4.0, 0.02, 0.02, 2.0, 18.4, 2.51)
    assert q.ridge == pytest.approx(3069, rel=2e-3)
    assert q.width == pytest.approx(24.3, rel=2e-2)
    assert q.gamma == pytest.approx(1289, rel=2e-3)
    assert q.threshold == pytest.approx(3.3e-8, rel=0.05)
    assert q.cutoff_o == pytest.approx(6.2e9, rel=0.05)
    assert q.cutoff_tau == pytest.approx(43, rel=1e-2)
    assert theory.exploration_rounds(3, 10.0, 0.01) == 3 * (100 - 10)
    assert theory.exploration_rounds(3, 10.0, 0.2) == 0.0
    assert q.sigma == pytest.approx(math.sqrt(72 * 14) * math.log(1600) / (2.51 * 4))


def test_true_epsilon_of_the_printed_tree():
    for star, true in ((2.5, 0.36), (8.0, 1.62), (16.0, 4.05), (32.0, 10.6)):
        rho = theory.printed_tree_rho(4.0, 0.02, star)
        assert ledger.gdp(rho, 0.02 / 3) == pytest.approx(true, rel=0.02)


def test_composition_of_algorithm_7():
    for N, total in ((10**3, 3.84), (10**4, 4.18), (10**6, 4.77)):
        assert theory.composed(4.0, 0.02, N) == pytest.approx(total, abs=6e-3)
    assert theory.composed(1.0, 0.01, 10**6) == pytest.approx(1.03, abs=6e-3)


def test_bounds():
    assert theory.switches(8, 30_000, 20.0, L=math.sqrt(0.1)) == pytest.approx(76, abs=1)
    for d, e, delta in ((4, 2.0, 1e-6), (7, 0.5, 1e-9)):  # without delta: d/epsilon
        assert theory.lower_bound(d, e, delta) == pytest.approx(d / e, rel=1e-3)
    e = math.sqrt(0.02 * math.log(50))
    assert theory.lower_bound(4, e, 0.02) == pytest.approx(2 / e)
    assert theory.first_batch(4.0, 1.0, 2, 3.0, 5.0) == pytest.approx(
        (2 * math.exp(3) * 4 * 9 * 5) ** (2 / 3)
    )


@pytest.mark.parametrize(
    ("name", "value"), [("d", 0), ("T", 1), ("epsilon", 0.0), ("delta", 1.0), ("failure", 0.0),
                        ("theta_bound", 0.0), ("kappa", -1.0), ("kappa_star", 99.0), ("R", 0.0)],
)  # fmt: skip
def test_bad_input_is_refused_by_name(name, value):
    good = {"d": 3, "T": 5000, "epsilon": 4.0, "delta": 0.02, "failure": 0.02, "theta_bound": 2.0,
            "kappa": 18.4, "kappa_star": 2.5}  # fmt: skip
    with pytest.raises(ValueError, match=name):
        theory.printed(**(good | {name: value}))
