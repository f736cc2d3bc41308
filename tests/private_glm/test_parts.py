"""The printed optimiser and the switching rules on their own; line-ups of the paper."""

import numpy as np

from companion.private_glm import parts


def test_excess_loss_falls_with_rows_and_budget():
    lost = parts.excess_losses([(100, 0.01), (400, 0.01), (400, 1.0)], 6, 1).mean(axis=0)
    assert (lost > 0).all()
    assert lost[0] > 2 * lost[1] > 10 * lost[2]


def test_the_directional_rule_switches_less_and_bounds_the_ratio():
    quiet = parts.switch_counts(4, 3000, 20.0, 0.0, 1)
    assert 1 <= quiet["directional"] < quiet["determinant"]
    assert quiet["its worst ratio"] <= 2.1
    noisy = parts.switch_counts(4, 3000, 20.0, 1.0, 1)
    assert noisy["its worst ratio"] <= 2.1
    assert noisy["worst ratio of this"] > quiet["worst ratio of this"]


def test_without_noise_switches_are_those_of_numpy():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((400, 3)) / 2
    switches, _, doublings, _ = parts.switches(X, 0.3, 2.0, 0.0, 1)
    counts, last, last_det, H = [0, 0], 2 * np.eye(3), 2 * np.eye(3), 2 * np.eye(3)
    for x in X:
        H = H + 0.3 * np.outer(x, x)
        if np.linalg.eigvalsh(2 * last - H)[0] <= 0:
            counts[0], last = counts[0] + 1, H
        if np.linalg.det(H) >= 2 * np.linalg.det(last_det):
            counts[1], last_det = counts[1] + 1, H
    assert [switches, doublings] == counts
