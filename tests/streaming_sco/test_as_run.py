"""What the released program drew."""

import numpy as np
import pytest

from companion.streaming_sco import as_run


def test_what_the_program_drew():
    """Mean of R^2 is d sigma, not d sigma^2; the printed exponents; signs without noise."""
    runs, d, sigma = 20_000, 5, 50.0
    made = as_run.algorithm1(d, 1, 1.0, 0.1, p=1.5, radius=2.0, step_scale=1.0).params
    assert made.exponent == pytest.approx(0.61, abs=0.005)
    wide = as_run.algorithm1(10, 1, 1.0, 0.1, p=1.5, radius=2.0, step_scale=1.0).params
    assert wide.exponent == pytest.approx(1.30, abs=0.005)
    rng, drawn_at = np.random.default_rng(1), np.empty((runs, 1, d))
    for exponent_of in (made.exponent, 3.0):
        p = made._replace(exponent=exponent_of, sigma=sigma)
        as_run.node_outputs(rng, p, np.zeros(d), drawn_at)
        squares = (np.abs(drawn_at[:, 0]) ** exponent_of).sum(axis=1) ** (2 / exponent_of)
        assert abs(squares.mean() - d * sigma) < 5 * squares.std() / np.sqrt(runs)
    score, chosen = np.array([1.0, -2.0, 0.5]), np.empty((2000, 3))
    as_run.clean_sign(rng, score, 5.0, chosen)
    assert (np.abs(chosen).sum(axis=1) == 1.0).all()
    at = np.abs(chosen).argmax(axis=1)
    assert (chosen.sum(axis=1) == -np.sign(score[at])).all()
    assert np.bincount(at, minlength=3).min() > 400


def test_the_programs_constants_by_hand():
    """beta = 1, L = 4, r = 2: beta D + L = 8; kappa = 2 and 12 nodes at d = 10, n = 2000.

    sqrt(8 * 2 log 24000) 12 * 8 = 1219.51; NoisySFW: sqrt(64 log 2000) = 22.05567 times 4/2000 and
    times 4 eta/sqrt 2000, eta = log 2000/(2 sqrt 2000) = 0.0849806.
    """
    keys = {"p": 1.5, "radius": 2.0, "step_scale": 1.0}
    assert as_run.misprinted(1.5, 10) == (pytest.approx(1.302585, abs=1e-6), 2.0)
    assert as_run.misprinted(1.5, 2)[1] == pytest.approx(-2.267353, abs=1e-6)
    assert as_run.misprinted(np.inf, 10) == (2.0, 1.0)
    made = as_run.algorithm1(10, 2000, 1.0, 1 / 2000, **keys).params
    assert made.sigma == pytest.approx(1219.51, abs=0.01)
    assert as_run.algorithm1(10, 2000, 2.0, 1 / 2000, **keys).params.sigma == made.sigma / 2
    made = as_run.noisy_sfw(10, 2000, epsilon=1.0, delta=1 / 2000, **keys).params
    assert made.sigma_first == pytest.approx(0.0441113, rel=1e-5)
    assert made.sigma == pytest.approx(0.1676439, rel=1e-5)
