"""GL1 at the printed width (52): the time of a fit shows who explored, for S > 1."""

import math

import numpy as np

from companion.private_glm.experiments import printed_gamma, printed_ridge

D = 3
S = 3.0
EPSILON = 1.0
DELTA = 0.02
KAPPA = 2 + math.exp(S) + math.exp(-S)  # logistic: one over the slope at S
KAPPA_STAR = 4.0
CLICKS = 0.896  # mean reward that puts the median of the fit at the threshold
CHANCES = 400
T = 203_546_870_860  # 2 gamma^2 kappa: twice the rounds along one axis
KNOWN = {"d": D, "T": T, "epsilon": EPSILON, "delta": DELTA, "failure": DELTA}
KNOWN["kappa_star"] = KAPPA_STAR
RIDGE = printed_ridge(**KNOWN)
GAMMA = printed_gamma(**KNOWN, theta_bound=S, kappa=KAPPA)
# explorers along one axis: between gamma^2 kappa/S^2 and gamma^2 kappa
N = (0.7 / S**2 + 0.3) * GAMMA**2 * KAPPA


def fits(rng):
    """First coordinates (CHANCES,) of the mean iterate of Lemma U.4 on N rows e_1."""
    count1 = 8 * D * KAPPA * GAMMA**2 * math.log(T)
    rho = EPSILON**2 / (144 * count1 * math.log(8 / DELTA))
    lipschitz = 1 + S
    steps = int((N**2 * rho + 6 * math.log(T)) / D)
    eta = 2 * S / (lipschitz * math.sqrt(steps))
    sigma = lipschitz * math.sqrt(2 * steps / rho) / N
    theta = np.zeros((CHANCES, D))
    total = np.zeros((CHANCES, D))
    for _ in range(steps):
        total += theta
        gradient = RIDGE / N * theta + sigma * rng.standard_normal(theta.shape)
        gradient[:, 0] += 1 / (1 + np.exp(-theta[:, 0])) - CLICKS
        theta = theta - eta * gradient
        length = np.linalg.norm(theta, axis=1, keepdims=True)
        theta *= np.minimum(1, S / np.maximum(length, 1e-300))
    return total[:, 0] / steps


def thresholds(rows, rng):
    """gamma sqrt(kappa/V_11) of line 14, every node of the tree drawn anew."""
    m = math.ceil(math.log2(T) + 1)
    node = math.sqrt(72 * m) * math.log(32 / DELTA) / (KAPPA_STAR * EPSILON)
    noise = math.sqrt(m) * node * rng.standard_normal(CHANCES)
    return GAMMA * np.sqrt(KAPPA / (RIDGE + rows + noise))


def test_at_the_printed_width_a_fit_shows_who_explored(rng):
    before = fits(rng)
    after = fits(rng)
    dropped = before > thresholds(N, rng)
    alone = before > thresholds(N, rng)
    joined = after > thresholds(N + 1, rng)
    # 200 of 400 expected, deviation 10: false alarm below 1e-8
    assert np.sum(dropped != joined) > 140
    assert not np.any(dropped != alone)


def test_noise_hardly_moves_the_threshold(rng):
    c = thresholds(N, rng)
    assert np.ptp(c) / c.mean() < RIDGE / (2 * N)
