"""Norms, oracles and projections against their definitions."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from companion.kernels import geometry as ge

RNG = np.random.default_rng(0)
P = (1.0, 1.05, 1.2, 1.5, 2.0, 3.0, 4.0, np.inf)
every_p = pytest.mark.parametrize("p", P)


def best(g, p, radius):
    out = np.empty(len(g))
    ge.vertex(np.asarray(g, dtype=float), p, radius, out)
    return out


@every_p
def test_the_vertex_attains_the_dual_norm_and_is_feasible(p):
    q = ge.dual_exponent(p)
    for d in (1, 2, 7):
        for _ in range(30):
            g = RNG.standard_normal(d) * 10.0 ** RNG.integers(-3, 4)
            v = best(g, p, 1.7)
            size = np.linalg.norm(g, q)
            assert g @ v == pytest.approx(-1.7 * size, rel=1e-12)
            assert np.linalg.norm(v, p) <= 1.7 * (1 + 1e-12)
    assert best([0, 0], p, 1.0).tolist() == [0, 0]
    assert best([1, -2, 2], 1.0, 3).tolist() == [0, 3, 0]  # the lowest index wins
    assert best([1, 0, -2], np.inf, 3).tolist() == [-3, 0, 3]


@pytest.mark.parametrize("d", [1, 2, 7, 8, 10, 50, 1000])
@pytest.mark.parametrize("q", [2.0, 3.0, 6.0, 21.0])
def test_the_smooth_exponent_minimises_the_regularity(q, d):
    r, kappa = ge.smooth_exponent(q, d)
    found = minimize_scalar(
        lambda x: ge.regularity(x, q, d),
        bounds=(2, q),
        method="bounded",
    )
    first = ge.regularity(2.0, q, d)
    last = ge.regularity(q, q, d)
    assert 2.0 <= r <= q
    assert kappa == pytest.approx(min(found.fun, first, last), rel=1e-6)
    assert kappa <= max(q - 1.0, 1.0) + 1e-12


@pytest.mark.parametrize("p", [2.0, np.inf])
def test_projections_are_closest_points(p):
    for d in (1, 3, 6):
        for _ in range(5):
            x = 3.0 * RNG.standard_normal(d)
            v = x.copy()
            ge.project(v, p, 0.8)
            assert np.linalg.norm(v, p) <= 0.8 * (1 + 1e-12)
            if np.linalg.norm(x, p) <= 0.8:
                assert (v == x).all()
                continue
            # x - v is normal to the ball at v: <x - v, w - v> <= 0 for all w inside
            q = ge.dual_exponent(p)
            away = x - v
            size = np.linalg.norm(away, q)
            assert away @ v == pytest.approx(0.8 * size, rel=1e-7)


@every_p
def test_a_record_outside_is_scaled_to_the_ball_and_its_label_clipped(p):
    q = ge.dual_exponent(p)
    out = np.empty(4)
    for scale in (0.3, 5.0):
        x = RNG.standard_normal(4)
        x *= scale / np.linalg.norm(x, q)
        for y in (2.0 * scale, -2.0 * scale):
            found = ge.admit(x, y, q, -1.0, 1.0, out)
            assert found == (np.clip(y, -1.0, 1.0), scale > 1)
            assert out == pytest.approx(x / max(1.0, scale), rel=1e-12)


def test_euclidean_factors_by_hand():
    found = [ge.euclidean_factor(p, 9) for p in (1.0, 3.0, np.inf)]
    assert found == pytest.approx([1.0, 9 ** (1 / 6), 3.0])


def test_records_outside_are_counted_all_of_them():
    """A long context, a large label and one of each sign: three of four; p = 1, so q =
    inf."""
    X = np.array([[2.0, 0.0], [0.5, 0.5], [1.0, 1.0], [0.0, 0.0]])
    Y = np.array([0.0, 3.0, 0.5, -3.0])
    A = np.empty((4, 2))
    b = np.empty(4)
    assert ge.admit_all(X, Y, np.inf, 2.0, A, b) == 3
    assert A.tolist() == [[1.0, 0.0], [0.5, 0.5], [1.0, 1.0], [0.0, 0.0]]
    assert b.tolist() == [0.0, 2.0, 0.5, -2.0]
