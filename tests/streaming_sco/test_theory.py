"""Closed forms of the paper: bounds and laws."""

import numpy as np
import pytest

from companion.streaming_sco import calibration as ca
from companion.streaming_sco import streaming_fw
from companion.streaming_sco import theory as th


def test_the_bound_of_the_gradient_error_covers_the_noise():
    """Zero records: the error is the noise alone, below the bound in 1 - failure of all runs."""
    n, t = 64, np.arange(1, 65)
    o = streaming_fw(
        9, n, epsilon=1.0, delta=1e-2, p=1.5, calibration="paper", radius=1e-3, label_bound=1e-3
    )
    c = ca.problem(9, n, 1.5, 1e-3, "squares", 1e-3)
    bound = th.gradient_error_bound(t, c, o.params.sigma, 2.0, failure=0.5)
    rng, inside, largest = np.random.default_rng(0), 0, 0.0
    for _ in range(200):
        state, errors = o.init(o.params, rng), []
        for _ in t:
            state = o.step(o.params, state, np.zeros(9), 0.0, rng)
            errors.append(np.linalg.norm(state.memory.gradient, 3))
        inside += (errors <= bound).all()
        largest = max(largest, (errors / bound).max())
    assert inside >= 100
    assert largest > 0.05


@pytest.mark.parametrize(
    ("n", "tree_rms", "sqrt_rms"), [(2000, 7.73, 3.32), (100_000, 11.77, 4.57)]
)
def test_root_mean_square_of_prefix_noise(n, tree_rms, sqrt_rms):
    assert th.prefix_noise(n, "tree") == pytest.approx(tree_rms, abs=0.01)
    assert th.prefix_noise(n, "sqrt") == pytest.approx(sqrt_rms, abs=0.01)


def test_the_bound_of_the_gradient_error_by_hand():
    """d = 2, n = 4, p = 2, r = Y = 1, t = 3, kappa = 1: beta D + 2 L = 4 + 8 = 12.

    (sqrt(2 e) + 8 sqrt(4 log 40)) 2 * 12/sqrt 4 = 33.06197 * 12 = 396.744; two nodes of scale 10:
    2 * 10/4 sqrt(2 + 2 sqrt(2 log 80) + 4 log 80) = 5 * 5.044694 = 25.223.
    """
    c = ca.problem(2, 4, 2.0, 1.0, "squares", 1.0)
    free, noisy = (th.gradient_error_bound([3], c, sigma, 1.0)[0] for sigma in (0.0, 10.0))
    assert free == pytest.approx(396.7436, abs=1e-3)
    assert noisy - free == pytest.approx(25.2235, abs=1e-3)
    wider = th.gradient_error_bound([3], c, 0.0, 4.0)[0]  # sqrt(2 e kappa) doubles
    assert wider - free == pytest.approx(2.331644 * 12, abs=1e-4)


def test_prefix_noise_by_hand():
    """n = 3: one-bits 1, 1, 2 and m = 2; f = 1, 1/2, 3/8, squares sum to 1, 1.25, 1.390625."""
    assert th.prefix_noise(3, "tree") == pytest.approx((2 * 4 / 3) ** 0.5, rel=1e-12)
    root = (1.390625 * (1 + 1.25 + 1.390625) / 3) ** 0.5
    assert th.prefix_noise(3, "sqrt") == pytest.approx(root, rel=1e-12)
