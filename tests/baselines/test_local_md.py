"""LocalMD: its mirror step, its phases, its noise and its guarantee."""

import math

import numpy as np
import pytest
from sco_streams import OPTIONS, records
from streams import learn

from companion.accounting import privacy as pr
from companion.baselines import local_md as md


@pytest.mark.parametrize("p", [1.2, 1.5, 2.0])
@pytest.mark.parametrize("radius", [0.5, 1e6])
def test_the_mirror_step_is_the_minimiser(p, radius):
    """No point of the ball is better, near it or far."""
    rng = np.random.default_rng(4)
    q = p / (p - 1)
    z = np.empty(3)
    up = np.empty(3)

    def objective(v):
        return 0.3 * g @ v + np.linalg.norm(v, p) ** 2 / (2 * (p - 1)) - up @ v

    for u, g in rng.standard_normal((30, 2, 3)):
        md.mirror(u, p, 1 / (p - 1), up)  # the gradient at u
        size = md.mirror(up, q, p - 1, z)
        assert size == pytest.approx(np.linalg.norm(u, p), rel=1e-9)
        assert z == pytest.approx(u, rel=1e-9)
        md.mirror_step(u, 0.3, g, p, q, radius, z)
        assert np.linalg.norm(u, p) <= radius * (1 + 1e-12)
        for _ in range(40):
            w = u + rng.standard_normal(3) * 10.0 ** rng.uniform(-6, 0)
            w *= min(1.0, radius / np.linalg.norm(w, p))
            assert objective(u) <= objective(w) + 1e-12


@pytest.mark.parametrize("scale", [1.0, 100.0])
@pytest.mark.parametrize("calibration", ["paper", "corrected"])
def test_the_guarantee_is_rebuilt_from_counted_uses(calibration, scale, rng):
    o = md.local_md(
        3, 1000, epsilon=1.0, calibration=calibration, step_scale=scale, **OPTIONS
    )
    p = o.params
    ratios = []
    longest = 2 * (np.cumsum(p.radius) + 1.2)  # theta reaches as far as all balls so far
    if calibration == "corrected":
        longest = np.minimum(longest, 6.4)
    for i, (n, b) in enumerate(zip(p.records, p.batch, strict=True)):
        order = np.arange(n)
        uses = np.zeros(n, int)
        at = n
        for _ in range(p.steps[i]):
            if at + b > n:
                md.shuffle(rng, order)
                at = 0
            uses[order[at : at + b]] += 1
            at += b
        moved = 2 * longest[i] * 3 ** (1 / 6) * math.sqrt(uses.max()) / b
        ratios.append(moved / p.sigma[i])
    assert len(ratios) > 3
    rebuilt = pr.gaussian_epsilon(o.guarantee.delta, 1.0, max(ratios))
    assert o.guarantee.epsilon == pytest.approx(rebuilt, rel=1e-9)
    if calibration == "corrected":  # every phase spends the whole budget, and no more
        assert rebuilt == pytest.approx(1.0, rel=1e-9)
        assert ratios == pytest.approx([max(ratios)] * len(ratios), rel=1e-9)


def test_gradients_are_clipped_by_the_corrected_noise_alone(rng):
    """At theta = (50, 0), x = e_1: 2 (50 - 0.5) = 99 against L = 6.4; the mean with a
    small one."""
    X = np.eye(2)
    Y = np.array([0.5, -0.5])
    rows = np.arange(2)
    for calibration, at, first in (
        ("paper", 50.0, 99.0),
        ("paper", -50.0, -101.0),
        ("corrected", 50.0, 6.4),
        ("corrected", -50.0, -6.4),
    ):
        p = md.local_md(
            2,
            400,
            epsilon=np.inf,
            calibration=calibration,
            **OPTIONS,
        ).params
        out = np.empty(2)
        md.release(p, 0, np.array([at, 0.0]), X, Y, rows, rng, out)
        assert out == pytest.approx([first / 2, 1.0 / 2], rel=1e-12)


def test_every_phase_has_records_of_its_own():
    """The first record of every phase is read, and the first one that is left over is
    not."""
    n = 60
    X, Y = records(n)
    o = md.local_md(3, n, epsilon=np.inf, step_scale=100.0, **OPTIONS)
    ends = np.cumsum(o.params.records)
    assert len(ends) > 1
    assert ends[-1] < n
    out = learn(o, X, Y, seed=0)[0][-1]
    for at in (0, *ends):
        other = Y.copy()
        other[at] = -1.0 if Y[at] > 0.0 else 1.0
        unread = at == ends[-1]
        again = learn(o, X, other, seed=0)[0][-1]
        assert np.array_equal(again, out) == unread


def test_constants_by_hand():
    """d = 7, n = 400, p = 1.5, epsilon = 2, delta = 0.01, r = 2, L = 6.4.

    eta = 4/6.4 min(1/sqrt 200, 2/sqrt(7 log 100 (1 + log 7))) = 0.0441942; phase 1:
    epsilon 1, n = 200, b = floor sqrt(200/log 7) = 10, T = 400, sigma = 640 sqrt(7^(1/3)
    log 100)/10; phase 2:
    epsilon 1/2, n = 100, b = 7, T = 204; steps fall by 16, radii are 2 L eta n/2.
    """
    two = slice(0, 2)
    p = md.local_md(
        7, 400, epsilon=2.0, calibration="paper", delta=0.01, **OPTIONS
    ).params
    assert p.records[two].tolist() == [200, 100]
    assert p.batch[two].tolist() == [10, 7]
    assert p.steps[two].tolist() == [400, 204]
    eta = np.array([0.0441942 / 16, 0.0441942 / 256])
    assert p.eta[two] == pytest.approx(eta, rel=1e-5)
    assert p.radius[two] == pytest.approx(6.4 * eta * [200, 100], rel=1e-5)
    assert p.sigma[two] == pytest.approx([189.9558, 542.7308], rel=1e-5)


def test_a_small_budget_has_smaller_steps_and_larger_batches():
    """The second term of the minimum; sqrt(7/0.05) = 11.8."""
    p = md.local_md(7, 400, epsilon=0.1, delta=0.01, **OPTIONS).params
    assert p.eta[0] == pytest.approx(0.625 * 0.1 / 9.745008 / 16, rel=1e-5)
    assert p.batch[0] == 11


def test_one_phase_at_least_must_have_two_steps():
    """n = 12, d = 60: sqrt(d/epsilon_1) = 7.7 is above n_1 = 6, so that T = 1."""
    with pytest.raises(
        ValueError,
        match="n must leave a phase with two steps",
    ):
        md.local_md(60, 12, epsilon=2.0, delta=0.01)
