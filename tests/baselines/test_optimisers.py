"""NoisySFW, NoisySGD and LocalMD against their definitions, and the accountant of random draws."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from companion import privacy as pr
from companion.baselines import local_md as md
from companion.baselines import noisy_sfw as sfw
from companion.baselines import noisy_sgd as sgd
from companion.baselines import sampled_steps
from companion.geometry import vertex

OPTIONS = {"radius": 2.0, "label_bound": 1.2}


def records(n, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X /= np.abs(X).sum(axis=1, keepdims=True)
    return X, np.clip(X @ np.full(d, 0.8) + 0.1 * rng.standard_normal(n), -1.2, 1.2)


def learned(o, X, Y, seed=0):
    rng, out = np.random.default_rng(seed), np.zeros(X.shape)
    o.run(o.params, o.init(o.params, rng), X, Y, rng, out)
    return out


def test_noisy_sfw_is_its_definition():
    n, d, p = 90, 3, 1.5
    X, Y = records(n)
    o = sfw.noisy_sfw(d, n, np.inf, p=p, **OPTIONS)
    eta, b = math.log(n) / (2 * math.sqrt(n)), int(math.sqrt(n) / 2)
    assert (o.params.eta, o.params.batch, o.params.steps) == (pytest.approx(eta), b, 8)
    v, old = np.empty(d), np.zeros(d)
    gradient = (-2 * Y[:45, None] * X[:45]).mean(axis=0)
    vertex(gradient, p, 2.0, v)
    theta, at, out = eta * v, 45, learned(o, X, Y)
    assert (out[:44] == 0).all()
    assert out[44] == pytest.approx(theta)
    for _ in range(8):
        rows = slice(at, at + b)
        gradient = gradient + (2 * (X[rows] @ (theta - old))[:, None] * X[rows]).mean(axis=0)
        vertex(gradient, p, 2.0, v)
        old, theta, at = theta, (1 - eta) * theta + eta * v, at + b
        assert out[at - 1] == pytest.approx(theta, abs=1e-12)
    assert (out[at:] == out[-1]).all()


def test_noisy_sfw_guarantee_is_rebuilt_from_its_releases():
    """One record moves the first mean by 2 L/(n/2) and a later one by 2 beta eta D/b."""
    n = 400
    for calibration in ("paper", "corrected"):
        o = sfw.noisy_sfw(10, n, 1.0, 1e-2, calibration=calibration, step_scale=0.3, **OPTIONS)
        p = o.params
        first, later = 2 * 6.4 / 200, 2 * 2 * p.eta * 4 / p.batch
        ratio = max(first / p.sigma_first, later / p.sigma)
        if calibration == "paper":
            assert (p.exponent, o.guarantee.claimed) == (3.0, (1.0, 1e-2))
            kappa, spread = 2.0, 32 * math.log(100)
            assert p.sigma_first == pytest.approx(math.sqrt(spread * kappa) * 6.4 / n)
            assert p.sigma == pytest.approx(math.sqrt(spread * kappa / n) * 2 * 4 * p.eta)
            rebuilt = pr.zcdp_epsilon(kappa * ratio**2 / 2, 1e-2)
        else:
            rebuilt = pr.gaussian_epsilon(1e-2, 1.0, ratio * 10 ** (1 / 6))
        assert o.guarantee.epsilon == pytest.approx(rebuilt, rel=1e-9)


def test_noise_of_the_running_kernels():
    """Without data the released gradient is the noise alone; 5 standard errors."""
    runs, n, d = 400, 16, 50
    o = sfw.noisy_sfw(d, n, 1.0, 1e-2, step_scale=0.5, **OPTIONS)
    rng, found = np.random.default_rng(0), []
    for _ in range(runs):
        s = o.init(o.params, rng)
        for _ in range(o.params.half):
            s = o.step(o.params, s, np.zeros(d), 0.0, rng)
        found.append(s.gradient.copy())
    assert np.std(found) == pytest.approx(o.params.sigma_first, rel=5 / math.sqrt(2 * runs * d))
    o = sgd.noisy_sgd(d, 2, 1.0, 1e-2, radius=1e6, label_bound=1.0)
    ends = [learned(o, np.zeros((2, d)), np.zeros(2), s)[-1] for s in range(runs)]
    expected = math.sqrt(4) * o.params.eta * o.params.sigma
    assert np.std(ends) == pytest.approx(expected, rel=5 / math.sqrt(2 * runs * d))


def test_noisy_sgd_is_its_definition():
    n, d = 12, 3
    X, Y = records(n)
    for average in (True, False):
        o = sgd.noisy_sgd(d, n, np.inf, p=np.inf, radius=0.4, step_scale=20.0, average=average)
        rng, theta, iterates = np.random.default_rng(0), np.zeros(d), []
        for _ in range(n * n):
            j = rng.integers(0, n)
            rng.standard_normal(d)
            theta = np.clip(theta - o.params.eta * 2 * (X[j] @ theta - Y[j]) * X[j], -0.4, 0.4)
            iterates.append(theta)
        expected = np.mean(iterates, axis=0) if average else theta
        assert learned(o, X, Y)[-1] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n", [100, 1000, 2000])
def test_the_accountant_lies_between_two_others(n):
    """Above the central limit of random draws, below the library's bound for the same sampling."""
    accounting = pytest.importorskip("dp_accounting")
    rdp = pytest.importorskip("dp_accounting.rdp")
    noise, delta = math.sqrt(8 * math.log(n)) / 2, 1 / n
    ours = sampled_steps.composed(delta, n, noise, n * n)
    s = 1 / noise
    mu = math.sqrt(math.expm1(s * s))  # of n^2 draws with probability 1/n: one-sided
    assert ours > pr.gaussian_epsilon(delta, 1.0, mu)
    accountant = rdp.RdpAccountant(neighboring_relation=accounting.NeighboringRelation.REPLACE_ONE)
    event = accounting.SampledWithoutReplacementDpEvent(n, 1, accounting.GaussianDpEvent(noise))
    accountant.compose(accounting.SelfComposedDpEvent(event, n * n))
    assert ours < accountant.get_epsilon(delta)


def test_a_step_profile_is_that_of_the_exact_mixture():
    """Quadrature: (1 - g) N(u) + g N(a) against (1 - g) N(u) + g N(b) at the worst a, b, u."""
    g, noise, z = 0.1, 1.5, np.linspace(-20, 20, 200_001)

    def normal(m):
        return np.exp(-((z - m) ** 2) / (2 * noise**2)) / (noise * math.sqrt(2 * math.pi))

    for epsilon in (0.01, 0.05, 0.1):
        bound, worst = math.exp(float(sampled_steps.log_profile(epsilon, g, noise))), 0.0
        for u in (-0.5, 0.0, 0.5):
            p, q = ((1 - g) * normal(u) + g * normal(m) for m in (0.5, -0.5))
            exact = np.trapezoid(np.maximum(p - math.exp(epsilon) * q, 0.0), z)
            worst = max(worst, exact)
        assert worst == pytest.approx(bound, rel=1e-5)  # and it is attained


def test_corrected_noise_spends_the_budget():
    o = sgd.noisy_sgd(3, 200, 1.0, 1e-2, **OPTIONS)
    assert o.guarantee.epsilon == pytest.approx(1.0, rel=1e-4)
    assert sgd.noisy_sgd(3, 200, 1.0, 1e-2, calibration="paper", **OPTIONS).guarantee.epsilon < 1.0
    weak = sgd.noisy_sgd(3, 200, 1.0, 1e-2, calibration="paper", lipschitz=1.0, **OPTIONS)
    assert weak.guarantee.epsilon > 1.0


def test_mirror_maps_invert_each_other_and_the_step_is_the_minimiser():
    rng, worst = np.random.default_rng(4), 0.0
    for trial in range(100):
        p = rng.choice([1.2, 1.5, 2.0])
        q = p / (p - 1)
        u, g, z = rng.standard_normal((3, 3))
        back, up = np.empty(3), np.empty(3)
        md.dual(u, p, up)
        md.mirror(up, p, q, back)
        assert back == pytest.approx(u, rel=1e-9)
        radius, start, step = rng.choice([0.5, 1e6]), u.copy(), u.copy()
        md.mirror_step(step, g, p, q, radius, z)

        def h(v, p=p):
            return np.linalg.norm(v, p) ** 2 / (2 * (p - 1))

        def objective(v, up=up, g=g, start=start, h=h):
            return g @ v + h(v) - h(start) - up @ (v - start)

        value = objective(step)
        for _ in range(40):
            w = step + rng.standard_normal(3) * 10.0 ** rng.uniform(-6, 0)
            w *= min(1.0, radius / np.linalg.norm(w, p))
            worst = max(worst, value - objective(w))
        if trial < 10 and radius > 1e5:
            found = minimize(objective, np.full(3, 0.3), tol=1e-12)
            assert step == pytest.approx(found.x, abs=1e-4)
    assert worst <= 1e-12


def test_local_md_without_noise_learns():
    n = 1000
    X, Y = records(n)
    o = md.local_md(3, n, np.inf, step_scale=100.0, **OPTIONS)
    assert ((learned(o, X, Y)[-1] - 0.8) ** 2).sum() < 0.02


def test_local_md_guarantee_is_rebuilt_from_counted_uses():
    o = md.local_md(3, 1000, 1.0, **OPTIONS)
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
        ratios.append(2 * longest * math.sqrt(uses.max()) / (b * sigma))
    assert len(ratios) > 3
    rebuilt = pr.gaussian_epsilon(o.guarantee.delta, 1.0, max(ratios))
    assert o.guarantee.epsilon == pytest.approx(rebuilt, rel=1e-9)


BAD = {"n": 1, "epsilon": 0.0, "delta": 0.0, "radius": -1.0, "label_bound": 0.0, "step_scale": 0.0}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("make", [sfw.noisy_sfw, sgd.noisy_sgd, md.local_md])
def test_bad_arguments_are_named(make, name):
    options = {"d": 3, "n": 50, "epsilon": 1.0, "delta": 1e-2} | {name: BAD[name]}
    with pytest.raises(ValueError, match=f"{name} must be .*got"):
        make(**options)


def test_exponents_outside_their_range_are_refused():
    for make, p in ((sfw.noisy_sfw, 2.5), (sgd.noisy_sgd, 1.5), (md.local_md, 1.0)):
        with pytest.raises(ValueError, match="p must be in"):
            make(3, 50, 1.0, p=p)
    with pytest.raises(ValueError, match=r"lipschitz must be .*got"):
        sgd.noisy_sgd(3, 50, 1.0, lipschitz=0.0)
    with pytest.raises(ValueError, match="step_scale must keep the step at most 1"):
        sfw.noisy_sfw(3, 50, 1.0, step_scale=10.0)
    with pytest.raises(ValueError, match="epsilon must be at most 2"):
        sfw.noisy_sfw(3, 50, 3.0, calibration="paper")
