"""LDP-LinUCB: the noise of a message is what the guarantee says."""

import numpy as np
import pytest
from noisy_statistics import looks_standard, one_arm, packed
from streams import run

from companion.accounting import privacy
from companion.baselines import ldp_linucb as ldp
from companion.baselines.private_linucb import ldp_linucb
from companion.kernels.mechanisms import pack_statistics, statistics_size


@pytest.mark.parametrize("universe", privacy.UNIVERSES)
def test_statistics_of_clipped_records_stay_within_the_sensitivity(universe):
    rng, rows = np.random.default_rng(0), []
    p = ldp_linucb(3, 10, epsilon=1.0, delta=0.1, universe=universe).params._replace(sigma=0.0)
    x, message = np.empty(3), np.empty(statistics_size(3))
    worst = [[0.5, np.sqrt(0.75), 0.0], [1.0, 0.0, 0.0], [-0.7, 0.1, 0.7], [0.7, -0.1, 0.7]]
    for v in [*np.array(worst), *(rng.standard_normal((400, 3)) * rng.random((400, 1)) * 3)]:
        for r in (-2.0, 0.0, 2.0):
            ldp.randomize(p, v, r, rng, x, message)
            rows.append(message.copy())
    rows = np.array(rows)
    squares = (rows**2).sum(1)
    furthest = np.sqrt((squares[:, None] + squares[None] - 2 * rows @ rows.T).max())
    limit = privacy.STATISTICS_SENSITIVITY[universe]
    assert 0.98 * limit < furthest <= limit * (1 + 1e-8)


def test_packing_keeps_the_joint_norm():
    x, out = np.array([0.3, -0.5, 0.2]), np.empty(9)
    pack_statistics(x, 0.7, out)
    assert out @ out == pytest.approx((x @ x) ** 2 + 0.49 * x @ x)


@pytest.mark.parametrize("calibration", ["paper", "corrected"])
def test_local_noise_energy(calibration):
    """False alarms: 2 in 10^7."""
    X, R, G, b = one_arm(25)
    policy = ldp_linucb(3, 25, epsilon=1.0, delta=0.1, calibration=calibration)
    z = []
    for seed in range(300):
        _, s = run(policy, X, R, seed=seed)
        z.append(packed(s.G - G, s.b - b) / (policy.params.sigma * np.sqrt(25)))
    z = np.array(z)
    assert looks_standard(z)
    assert all(looks_standard(z[:, i]) for i in range(9))  # on and off the diagonal alike
    assert np.allclose(s.G, s.G.T)
