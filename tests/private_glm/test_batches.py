"""ShuffleGLM: schedules, bits, and how far one user moves a sum."""

import numpy as np
import pytest

from companion.accounting.binomial import releases_delta
from companion.kernels.mechanisms import add_packed
from companion.private_glm import batches


def tri(x):
    out = np.zeros(6)
    add_packed(1.0, 1.0, x, out)
    return out


def test_schedules():
    assert batches.lengths(10**5, 3, 668).tolist() == [668, 2114, 97218]
    assert batches.lengths(10**4, 4, 200).tolist() == [200, 164, 2104, 7532]
    assert batches.lengths(10**6, 2, 2000).tolist() == [2000, 998000]
    for T, M in ((2, 2), (7, 5), (400, 3), (10**6, 6)):
        for schedule in ("corrected", "paper"):
            n = batches.lengths(T, M, schedule=schedule)
            assert n.sum() == T
            assert n.min() >= 1
            assert len(n) == M


@pytest.mark.parametrize(
    ("n", "entries", "rho", "ratio", "expected"),
    [
        (1000, 3, 0.01, 1.0, (64, 1176)),
        (10**4, 3, 0.0025, 1.0, (200, 4428)),
        (250, 3, 0.05, 1.0, (32, 248)),
        (1000, 6, 0.05, 0.70711, (64, 124)),
        (600, 6, 0.1, 0.70711, (49, 63)),
    ],
)
def test_bits(n, entries, rho, ratio, expected):
    levels = batches.resolution(n, 3)
    assert (levels, batches.bits_for(n, levels, entries, ratio, rho, 1.02)) == expected


def test_printed_bits_are_those_of_the_formula():
    """(122) at g = 64, one coordinate: 24e4 64^2 log^2(800)/1000, of which 78 suffice."""
    assert batches.printed_bits(1000, 64, 1, 1.0, 0.01) == pytest.approx(4.393e7, rel=1e-3)


@pytest.mark.parametrize("n", [60, 668])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_calibration_is_proved_and_not_wasteful(n, epsilon):
    *bits, proved = batches.calibrated(n, 3, 20, epsilon, 0.01)
    assert 0.9 * epsilon < proved <= epsilon
    found = batches.releases(n, 3, 20, *bits)
    assert found[1].times == 20
    assert releases_delta(epsilon, found) <= 0.01
    half = [r._replace(bits=r.bits // 2) for r in found]
    assert releases_delta(epsilon, half) > 0.01


def test_the_bounds_on_movement_hold_for_every_pair_of_users():
    """Integers of message level, with shared randomness in rounding, over random pairs of users."""
    rng, n = np.random.default_rng(2), 100
    levels = batches.resolution(n, 3)
    worst = [0.0, 0.0]
    for _ in range(4000):
        x, y = rng.standard_normal((2, 3))
        x, y = x / np.linalg.norm(x), y / np.linalg.norm(y)
        u = rng.random(6)
        for i, (a, b) in enumerate(((x, y), (tri(x), tri(y)))):
            parts = [np.floor((v + 1) * levels / 2 + u[: len(v)]) for v in (a, b)]
            worst[i] = max(worst[i], np.linalg.norm(parts[0] - parts[1]))
    assert 0.95 * levels < worst[0] <= batches.movement(levels, 3, batches.GRADIENT)
    assert 0.95 * levels * np.sqrt(0.5) < worst[1] <= batches.movement(levels, 6, batches.MATRIX)


def test_the_printed_calibration_splits_both_halves_of_the_budget():
    """d = 1, 4 gradients, (1, 0.02), by hand: the matrix gets (1/2, 0.01), a gradient 1/2 over
    2 sqrt(8 log(2/0.02)) and 0.01/5; (122) at g = 64 of 1000 users, log 800 and log 4000."""
    assert batches.calibrated(1000, 1, 4, 1.0, 0.02, "paper")[:2] == (175_704_771, 39_862_093_574)


def test_the_guarantee_is_that_of_the_worst_batch():
    n = np.array([60, 668])
    proved = [batches.calibrated(int(m), 3, 20, 0.5, 0.01)[2] for m in n]
    assert proved[0] != proved[1]
    said = batches.plan(n, 3, 20, 0.5, 0.01, "corrected", 0.5).guarantee
    assert (said.epsilon, said.delta) == (max(proved), 0.01)
