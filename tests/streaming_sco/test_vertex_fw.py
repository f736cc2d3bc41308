"""Algorithm 2: the law of a choice, what it loses, and its noise."""

import numpy as np
import pytest
from scipy import stats as sps
from sco_streams import OPTIONS, golden, plain
from streams import learn

from companion.accounting import privacy as pr
from companion.streaming_sco import learner as le
from companion.streaming_sco import vertex_fw


def picks(o, total, n=40_000):
    """Frequencies of the 2 d vertices (+e_1, ..., -e_d) at the first step."""
    rng, v, counts = np.random.default_rng(9), np.empty(len(total)), np.zeros(2 * len(total))
    gradient = np.empty(len(total))
    for _ in range(n):
        le.choose(o.params, 1, total, gradient, v, rng)
        j = int(np.abs(v).argmax())
        counts[j if v[j] > 0 else j + len(total)] += 1
    return counts


def laplace_cdf(x):
    """Of scale 1."""
    tail = 0.5 * np.exp(-np.abs(x))
    return np.where(x < 0.0, tail, 1.0 - tail)


def law(o, total):
    """Exact probabilities of the vertices: softmax, or one-dimensional quadrature."""
    b, scores = le.noise_scale(o.params, 1), -o.params.radius * total / 2
    both = np.concatenate([scores, -scores])
    if o.params.method == le.GUMBEL:
        e = np.exp(both / b)
        return e / e.sum()
    z = np.linspace(-40 * b, 40 * b, 80_001)  # exact to 1e-6
    density = np.exp(-np.abs(z - both[:, None]) / b) / (2.0 * b)
    if o.params.method == le.ARGMIN:
        below = laplace_cdf((z - both[:, None]) / b)
    else:  # the noisy value of largest size, with its sign: both signs share a draw
        density *= z > 0
        inside = laplace_cdf((z - scores[:, None]) / b) - laplace_cdf((-z - scores[:, None]) / b)
        below = np.concatenate([inside, inside])
    d, result = len(total), []
    for j in range(2 * d):
        others = [k for k in range(2 * d) if k != j]
        if o.params.method == le.COORDINATES:
            others = [k for k in range(d) if k != j % d]
        result.append(np.trapezoid(density[j] * np.prod(below[others], axis=0), z))
    return np.array(result)


@pytest.mark.parametrize("selector", ["argmin", "coordinates", "gumbel"])
def test_selectors_have_their_law(selector):
    o = vertex_fw(3, 50, epsilon=8.0, delta=1e-2, radius=1.5, selector=selector)
    total = np.array([6.0, -9.0, 2.0])
    p = law(o, total)
    assert p.sum() == pytest.approx(1.0, abs=1e-6)
    assert p.max() > 1.3 * p.min()  # the data matter
    assert sps.chisquare(picks(o, total), 40_000 * p / p.sum()).pvalue > 1e-7


@pytest.mark.parametrize("selector", ["argmin", "coordinates", "gumbel"])
def test_a_choice_loses_at_most_range_over_scale(selector):
    o = vertex_fw(2, 50, epsilon=8.0, delta=1e-2, radius=1.5, selector=selector)
    rng, s, worst = np.random.default_rng(0), 2 * o.params.clip, 0.0
    bound = 2 * o.params.radius * s / 2 / le.noise_scale(o.params, 1)
    for k in range(40):
        total = rng.uniform(-20, 20, 2) if k else np.zeros(2)
        shift = rng.choice([-s, s], 2)
        a, b = law(o, total), law(o, total + shift)
        loss = np.abs(np.log(a / b)).max()
        worst = max(worst, loss)
        assert loss <= bound * (1 + 1e-4)
        cost = 8 if selector == "gumbel" else 2  # concentrated privacy: rho = bound^2 / cost
        for order in (1.5, 2.0, 8.0):
            renyi = np.log((a**order * b ** (1 - order)).sum()) / (order - 1)
            assert renyi <= order * bound**2 / cost * (1 + 1e-4)
    assert worst > 0.5 * bound


def test_without_noise_selectors_are_the_oracle_and_equal_algorithm_1():
    X, Y = golden(1.0)
    for selector in ("argmin", "coordinates", "gumbel"):
        o = vertex_fw(
            3, 8, epsilon=np.inf, radius=2.0, label_bound=50.0, clip=np.inf, selector=selector
        )
        assert learn(o, X, Y)[0] == pytest.approx(learn(plain(3, 8, 1.0), X, Y)[0], abs=1e-15)


@pytest.mark.parametrize("selector", ["argmin", "coordinates", "gumbel"])
@pytest.mark.parametrize("schedule", ["falling", "constant"])
def test_losses_of_all_choices_add_up_to_the_budget(selector, schedule):
    n, delta = 300, 1e-3
    o = vertex_fw(3, n, epsilon=1.0, delta=delta, selector=selector, schedule=schedule, **OPTIONS)
    rho = 0.0
    for t in range(1, n + 1):
        spread = 2 * o.params.radius * 2 * o.params.clip / (t + 1)
        loss = spread / le.noise_scale(o.params, t)
        rho += loss**2 / (8 if selector == "gumbel" else 2)
    assert pr.zcdp_epsilon(rho, delta) == pytest.approx(1.0, rel=1e-9)
    assert o.guarantee.epsilon == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize(
    ("n", "epsilon", "multiple"),
    [(100, 1, 0.36), (2000, 1, 0.47), (100_000, 1, 0.54), (2000, 8, 0.67), (2000, 16, 0.81)],
)
def test_theorem_3_11_with_the_range_argument(n, epsilon, multiple):
    o = vertex_fw(3, n, epsilon=epsilon, calibration="paper", selector="argmin", **OPTIONS)
    assert o.guarantee.epsilon / epsilon == pytest.approx(multiple, abs=0.006)
