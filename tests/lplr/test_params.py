"""LPLR: scales, widths and bins against values computed by hand from Algorithms 3 to 5."""

import itertools
import math

import numpy as np
import pytest

from companion.lplr.params import guarantee, lplr_params, scales, widths
from companion.lplr.sufficient_statistics import ssp_guarantee, ssp_params

E = math.e


def test_printed_scales():
    """3/epsilon, 3 sqrt(d)/epsilon, 4.5/epsilon, 1/epsilon at d = 4, epsilon = 2; cap 1."""
    count, vector, matrix, spread, one_sided, clip, cap = scales(4, 2.0, "paper")
    assert (count, matrix, spread, one_sided, clip, cap) == (1.5, 2.25, 0.5, True, False, 1.0)
    assert vector.tolist() == [3.0] * 4


def test_corrected_scales():
    """6/epsilon, 6 sqrt(d) Y/epsilon, 3/epsilon, 4/epsilon; Y = 1 on layer 1 and 2 below; cap 2."""
    count, vector, matrix, spread, one_sided, clip, cap = scales(4, 2.0, "corrected")
    assert (count, matrix, spread, one_sided, clip, cap) == (3.0, 1.5, 2.0, False, True, 2.0)
    assert vector.tolist() == [6.0, 12.0, 12.0, 12.0]


@pytest.mark.parametrize("rho", [1.0, 0.01])
def test_constants_of_the_theory_where_the_logarithm_is_7(rho):
    """d = 2, T = e^10, gamma = e: 48 d ln T/(ln gamma failure) = 960/failure = e^7; L = 7/0.5."""
    name = "theory" if rho == 1.0 else "scaled"
    found = widths(2, E**10, 0.5, E, constants=name, rho=rho, failure=960 * math.exp(-7))
    needed, flat, tilt = 16_254 * E**2, 340_200 * E**2, 1652 * E * math.sqrt(8)
    assert found[:3] == pytest.approx((rho * needed, rho * flat, rho * tilt))
    assert found[3] is False


@pytest.mark.parametrize(("gamma", "square"), [(2.0, E**2), (3.0, 9.0), (8.0, 16.0)])
def test_calibrated_constants(gamma, square):
    """A threshold of 5 d gamma^2/epsilon, gamma kept in [e, 4]; nothing flat; three deviations."""
    found = widths(2, 10**6, 0.5, gamma)
    assert found == (pytest.approx(20 * square), 0.0, 0.0, True, 3.0)


def test_bins():
    """ln(2^20)/(2 ln 4) = 5 exactly; ln(10^8)/2 = 9.21; edges 4^-k; least eigenvalue 1/16."""
    p = lplr_params(2, 2**20, gamma=4.0)
    assert (p.M, p.smallest_value) == (5, 1 / 16)
    assert p.edge.tolist() == [4.0**-k for k in range(6)]
    assert lplr_params(2, 10**8).M == 10


def test_guarantee_is_the_larger_of_both_stages():
    """Counts 2/4, vectors 2 sqrt(2)/(4 sqrt 2), matrices 2/2: 2.5; intervals 2 * 2/b_e."""
    p = lplr_params(2, 100)._replace(count_scale=4.0, matrix_scale=1.0, spread_scale=8.0)
    p = p._replace(vector_scale=math.sqrt(2) * np.array([4.0, 4.0]))
    assert guarantee(p, 1.0).epsilon == pytest.approx(2.5)
    assert guarantee(p._replace(spread_scale=1.0), 1.0).epsilon == pytest.approx(4.0)
    assert guarantee(p._replace(clip=False), 1.0).epsilon == math.inf


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("d", 0),
        ("d", 1.5),
        ("T", 1),
        ("T", 2 * 10**18),
        ("epsilon", 0.0),
        ("epsilon", -1.0),
        ("epsilon", np.nan),
        ("gamma", 1.0),
        ("gamma", np.inf),
        ("M", 0),
        ("rho", 0.0),
        ("failure", 1.0),
        ("z", -1.0),
        ("threshold", -1.0),
        ("calibration", "x"),
        ("constants", "x"),
        ("project", 2),
    ],
)
def test_parameters_reject_bad_input_by_name(name, value):
    with pytest.raises(ValueError, match=f"{name}.*"):
        lplr_params(**{"d": 2, "T": 1000, name: value})


def test_theory_half_widths_have_the_printed_constants():
    epsilon, failure, d, T = 0.5, 1e-3, 2, 10**6
    p = lplr_params(d, T, epsilon, constants="theory", failure=failure)
    L = math.log(48 * d * math.log(T) / failure) / epsilon
    assert p.threshold == pytest.approx(43 * L * math.e**2 * 27)
    assert p.flat == pytest.approx(300 * L * math.e**2 * 81)
    assert p.tilt == pytest.approx(118 * L * math.e * d**1.5)
    assert lplr_params(1, T).threshold == pytest.approx(5 * math.e**2)
    assert math.ceil(math.log(T) / 2) == p.M


def _worst_loss(p):
    """Largest log-density ratio, d = 1, of the whole corrected message over pairs of users in two
    bins, one, or none.
    """
    users = [None] + [(k, x, y) for k in (0, 1) for x in (1.0, 0.5) for y in (-1.0, 0.0, 1.0)]
    scale = np.array([p.count_scale, p.vector_scale[0], 2 * p.matrix_scale])

    def centre(user):
        out = np.zeros((2, 3))
        if user is not None:
            out[user[0]] = 1.0, user[1] * user[2], user[1] ** 2
        return out

    worst = 0.0
    for a, b in itertools.product(users, users):
        # Laplace densities: the largest ratio is reached beyond both centres
        worst = max(worst, (np.abs(centre(a) - centre(b)) / scale).sum())
    return worst


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_corrected_message_loses_epsilon_and_no_more(epsilon):
    p = lplr_params(1, 10**4, epsilon)
    assert _worst_loss(p) == pytest.approx(epsilon, abs=1e-9)
    assert guarantee(p, epsilon).epsilon == pytest.approx(epsilon, abs=1e-9)
    printed = lplr_params(1, 10**4, epsilon, calibration="paper")
    assert _worst_loss(printed) > 1.3 * epsilon
    g = guarantee(printed, epsilon)
    assert g.epsilon == math.inf
    assert g.claimed == (epsilon, 0.0)
    assert ssp_guarantee(ssp_params(2, epsilon)).epsilon == pytest.approx(epsilon, abs=1e-9)
