"""LocalMD: its phases, its noise and its guarantee."""

import math

import numpy as np
import pytest
from sco_streams import OPTIONS, records
from streams import learn

from companion.accounting import privacy as pr
from companion.baselines import local_md as md


def test_local_md_without_noise_learns():
    n = 1000
    X, Y = records(n)
    o = md.local_md(3, n, epsilon=np.inf, step_scale=100.0, calibration="paper", **OPTIONS)
    assert ((learn(o, X, Y, seed=0)[0][-1] - 0.8) ** 2).sum() < 0.02


@pytest.mark.parametrize(
    ("calibration", "scale"), [("paper", 1.0), ("corrected", 1.0), ("corrected", 100.0)]
)
def test_local_md_guarantee_is_rebuilt_from_counted_uses(calibration, scale):
    o = md.local_md(3, 1000, epsilon=1.0, **OPTIONS, calibration=calibration, step_scale=scale)
    p, rng, reach, ratios = o.params, np.random.default_rng(0), 0.0, []
    for n, b, steps, radius, sigma in zip(
        p.records, p.batch, p.steps, p.radius, p.sigma, strict=True
    ):
        order, uses, at = np.arange(n), np.zeros(n, int), n
        for _ in range(steps):
            if at + b > n:
                md.shuffle(rng, order)
                at = 0
            uses[order[at : at + b]] += 1
            at += b
        reach += radius  # of theta, at most
        longest = 2 * (reach + 1.2) * 3 ** (1 / 6)
        if calibration == "corrected":
            longest = min(longest, 6.4 * 3 ** (1 / 6))
        ratios.append(2 * longest * math.sqrt(uses.max()) / (b * sigma))
    assert len(ratios) > 3
    rebuilt = pr.gaussian_epsilon(o.guarantee.delta, 1.0, max(ratios))
    assert o.guarantee.epsilon == pytest.approx(rebuilt, rel=1e-9)
    if calibration == "corrected":  # every phase spends the whole budget, and no more
        assert rebuilt == pytest.approx(1.0, rel=1e-9)
        assert ratios == pytest.approx([max(ratios)] * len(ratios), rel=1e-9)


def test_exact_noise_by_hand():
    """d = 3, n = 1000, delta = 1/1000, L = 6.4, scale 100: phase 1 has n = 500, b = 21, T = 566,
    so 25 passes of 23 batches; mu(1, 1/1000) = 0.388401: sigma = 2 L 3^(1/6) 5/(21 mu).
    """
    p = md.local_md(3, 1000, epsilon=1.0, **OPTIONS, step_scale=100.0).params
    assert (p.batch[0], p.steps[0]) == (21, 566)
    assert p.sigma[0] == pytest.approx(12.8 * 3 ** (1 / 6) * 5 / (21 * 0.388401), rel=1e-5)


def test_gradients_are_clipped_by_the_corrected_noise_alone():
    """At theta = (50, 0), x = e_1: 2 (50 - 0.5) = 99 against L = 6.4; the mean with a small one."""
    X, Y, far = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.5, -0.5]), np.array([50.0, 0.0])
    rows = np.arange(2)
    for calibration, first in (("paper", 99.0), ("corrected", 6.4)):
        p = md.local_md(2, 400, epsilon=np.inf, **OPTIONS, calibration=calibration).params
        out = np.empty(2)
        md.release(p, 0, far, X, Y, rows, np.random.default_rng(0), out)
        assert out == pytest.approx([first / 2, 1.0 / 2], rel=1e-12)
        md.release(p, 0, -far, X, Y, rows, np.random.default_rng(0), out)
        assert out[0] == pytest.approx(-(101.0 if calibration == "paper" else 6.4) / 2, rel=1e-12)


BAD = {"n": 1, "epsilon": 0.0, "delta": 0.0, "radius": -1.0, "label_bound": 0.0, "step_scale": 0.0}
BAD["calibration"] = "exact"


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_are_named(name):
    options = {"d": 3, "n": 50, "epsilon": 1.0, "delta": 1e-2} | {name: BAD[name]}
    with pytest.raises(ValueError, match=f"{name} must be .*got"):
        md.local_md(**options)


def test_what_is_outside_its_range_is_refused():
    with pytest.raises(ValueError, match="p must be in"):
        md.local_md(3, 50, epsilon=1.0, p=1.0)


def test_printed_constants_by_hand():
    """d = 7, n = 400, p = 1.5, epsilon = 2, delta = 0.01, r = 2, L = 6.4.

    eta = 4/6.4 min(1/sqrt 200, 2/sqrt(7 log 100 (1 + log 7))) = 0.0441942; phase 1: epsilon 1,
    n = 200, b = floor sqrt(200/log 7) = 10, T = 400, sigma = 640 sqrt(7^(1/3) log 100)/10; phase 2:
    epsilon 1/2, n = 100, b = 7, T = 204; steps fall by 16, radii are 2 L eta n/2.
    """
    p = md.local_md(7, 400, epsilon=2.0, delta=0.01, **OPTIONS, calibration="paper").params
    assert p.records[:2].tolist() == [200, 100]
    assert p.batch[:2].tolist() == [10, 7]
    assert p.steps[:2].tolist() == [400, 204]
    assert p.eta[:2] == pytest.approx([0.0441942 / 16, 0.0441942 / 256], rel=1e-5)
    assert p.radius[:2] == pytest.approx([6.4 * p.eta[0] * 200, 6.4 * p.eta[1] * 100], rel=1e-12)
    assert p.sigma[:2] == pytest.approx([189.9558, 542.7308], rel=1e-5)
    scarce = md.local_md(
        7, 400, epsilon=0.1, delta=0.01, **OPTIONS
    ).params  # the second term: 0.1/9.745008
    assert scarce.eta[0] == pytest.approx(0.625 * 0.1 / 9.745008 / 16, rel=1e-5)
    assert scarce.batch[0] == 11  # sqrt(7/0.05) = 11.8
    # at n = 12, d = 60: sqrt(d/epsilon_1) = 7.7 is above n_1 = 6, so that T = 1: no phase
    with pytest.raises(ValueError, match="n must leave a phase with two steps"):
        md.local_md(60, 12, epsilon=2.0, delta=0.01)


def test_every_phase_has_records_of_its_own():
    """The first record of every phase is read, and the first one that is left over is not."""
    n = 60
    X, Y = records(n)
    o = md.local_md(3, n, epsilon=np.inf, step_scale=100.0, **OPTIONS)
    ends = np.cumsum(o.params.records)
    assert len(ends) > 1
    assert ends[-1] < n
    out = learn(o, X, Y, seed=0)[0][-1]
    for at, read in [(0, True), *((end, True) for end in ends[:-1]), (ends[-1], False)]:
        other = Y.copy()
        other[at] = -1.0 if Y[at] > 0.0 else 1.0
        assert np.array_equal(learn(o, X, other, seed=0)[0][-1], out) is not read
