"""Samplers against their exact laws; every bound fails a correct sampler with chance below 1e-6."""

import math

import numpy as np
import pytest
from scipy import stats as sps

from companion.jit import jit
from companion.kernels import mechanisms

ALARM = 1e-7  # false-alarm rate of one comparison; no test makes more than ten
SIGMAS = 6.0  # a mean is further off than this with probability 2e-9


@jit
def roundings(rng, w, out):
    for i in range(out.shape[0]):
        out[i] = mechanisms.round_at_random(rng, w)


@jit
def symmetric_noises(rng, sigma, out):
    for i in range(out.shape[0]):
        mechanisms.add_symmetric_gaussian(rng, sigma, out[i])


@jit
def wisharts(rng, degrees, scale, root, out):
    for i in range(out.shape[0]):
        mechanisms.add_wishart(rng, degrees, scale, root, out[i])


@jit
def by_messages(rng, V, L, g, b, p, bits, out):
    """The sum of the rows of V as the analyser sees it, from every single bit."""
    for r in range(out.shape[0]):
        out[r, :] = 0.0
        for u in range(V.shape[0]):
            mechanisms.shuffle_messages(rng, V[u], L, g, b, p, bits)
            for i in range(V.shape[1]):
                for j in range(bits.shape[1]):
                    out[r, i] += bits[i, j]
        for i in range(V.shape[1]):
            out[r, i] = L / g * (out[r, i] - b * V.shape[0] * p) - V.shape[0] * L


@jit
def by_counts(rng, V, L, g, b, p, counts, out):
    """The same from the aggregated law."""
    for r in range(out.shape[0]):
        counts[:] = 0.0
        for u in range(V.shape[0]):
            mechanisms.shuffle_add(rng, V[u], L, g, counts)
        mechanisms.shuffle_analyse(rng, counts, V.shape[0], L, g, b, p, out[r])


def test_laplace_law():
    z = np.full(200_000, 3.0)
    mechanisms.add_laplace(np.random.default_rng(1), 2.5, z)
    z -= 3.0
    assert sps.kstest(z, sps.laplace(scale=2.5).cdf).pvalue > ALARM
    assert abs(z.mean()) < SIGMAS * 2.5 * np.sqrt(2 / len(z))
    assert abs((z**2).mean() - 2 * 2.5**2) < SIGMAS * 2.5**2 * np.sqrt(20 / len(z))


def test_gaussian_law_and_independence():
    z = np.full(200_000, 3.0)
    mechanisms.add_gaussian(np.random.default_rng(2), 1.5, z)
    assert sps.kstest(z, sps.norm(3.0, 1.5).cdf).pvalue > ALARM
    z = (z - 3.0) / 1.5
    assert abs(z[1:] @ z[:-1]) < SIGMAS * np.sqrt(len(z))


def test_no_noise_at_scale_zero():
    z, G = np.ones(5), np.ones((3, 3))
    mechanisms.add_gaussian(np.random.default_rng(0), 0.0, z)
    mechanisms.add_symmetric_gaussian(np.random.default_rng(0), 0.0, G)
    assert (z == 1.0).all()
    assert (G == 1.0).all()
    assert mechanisms.laplace(np.random.default_rng(0), 0.0) == 0.0


def test_symmetric_noise_is_isotropic_in_the_frobenius_geometry():
    """<Z, A> is N(0, sigma^2 ||A||_F^2) for every symmetric A, and orthogonal A are independent."""
    Z = np.zeros((50_000, 3, 3))
    symmetric_noises(np.random.default_rng(3), 2.0, Z)
    assert np.array_equal(Z, Z.transpose(0, 2, 1))
    A = np.random.default_rng(4).standard_normal((3, 3, 3))
    A += A.transpose(0, 2, 1)
    for a in [*A, np.diag([1.0, 0, 0]), np.array([[0, 1.0, 0], [1, 0, 0], [0, 0, 0]])]:
        along = np.einsum("nij,ij->n", Z, a) / np.linalg.norm(a)
        assert sps.kstest(along, sps.norm(0.0, 2.0).cdf).pvalue > ALARM
    half = np.sqrt(0.5)
    packed = np.column_stack(
        [Z[:, i, j] / (1 if i == j else half) for i in range(3) for j in range(i + 1)]
    )
    correlation = np.corrcoef(packed.T) - np.eye(6)
    assert np.abs(correlation).max() < SIGMAS / np.sqrt(len(Z))


@pytest.mark.parametrize("degrees", [4.0, 9.5])
def test_wishart_law(degrees):
    """v' W v / |v|^2 is chi-square times the scale; the difference of two has mean 0."""
    d, scale, n = 3, 0.5, 50_000
    W, root = np.zeros((n, d, d)), np.empty((d, d))
    wisharts(np.random.default_rng(14), degrees, scale, root, W)
    assert np.array_equal(W, W.transpose(0, 2, 1))
    for v in ([1.0, 0, 0], [0.3, -1.0, 2.0]):
        along = np.einsum("nij,i,j->n", W, v, v) / np.dot(v, v)
        assert sps.kstest(along / scale, sps.chi2(degrees).cdf).pvalue > ALARM
    spread = SIGMAS * scale * np.sqrt(2.0 * degrees / n)
    assert np.abs(W.mean(0) - scale * degrees * np.eye(d)).max() < spread
    wisharts(np.random.default_rng(15), degrees, -scale, root, W)
    assert np.abs(W.mean(0)).max() < spread * np.sqrt(2.0)
    assert abs(W[:, 0, 0].var() / (4.0 * degrees * scale**2) - 1.0) < SIGMAS * np.sqrt(6.0 / n)


def test_packing_keeps_norms_and_unpacks():
    rng = np.random.default_rng(5)
    for d in (1, 2, 5):
        x, y = rng.standard_normal(d), rng.standard_normal()
        packed = np.empty(mechanisms.statistics_size(d))
        mechanisms.pack_statistics(x, y, packed)
        assert packed @ packed == pytest.approx((x @ x) ** 2 + y**2 * (x @ x))
        G, b = np.ones((d, d)), np.ones(d)
        mechanisms.add_unpacked(2.0, packed, G, b)
        np.testing.assert_allclose(G, 1.0 + 2.0 * np.outer(x, x))
        np.testing.assert_allclose(b, 1.0 + 2.0 * y * x)


def test_clip_to_ball():
    out = np.empty(2)
    assert mechanisms.clip_to_ball(np.array([0.6, 0.8]), -1.0, out) == (-1.0, 0)
    assert np.array_equal(out, [0.6, 0.8])
    assert mechanisms.clip_to_ball(np.array([3.0, 4.0]), 0.5, out) == (0.5, 1)
    np.testing.assert_allclose(out, [0.6, 0.8])
    assert mechanisms.clip_to_ball(np.array([0.1, 0.0]), 2.0, out) == (1.0, 1)
    assert mechanisms.clip_to_ball(np.array([0.1, 0.0]), -7.0, out) == (-1.0, 1)
    assert mechanisms.clip_to_ball(np.zeros(2), 0.0, out) == (0.0, 0)


def test_clip_to_offset_sphere():
    out, half = np.empty(3), np.sqrt(0.5)
    inside = np.array([0.5, 0.5, half])
    assert mechanisms.clip_to_offset_sphere(inside, 1.0, out) == (1.0, 0)
    np.testing.assert_allclose(out, inside)
    assert mechanisms.clip_to_offset_sphere(np.array([3.0, 4.0, half]), 0.5, out) == (0.5, 1)
    np.testing.assert_allclose(out, [0.6 * half, 0.8 * half, half])
    assert mechanisms.clip_to_offset_sphere(np.array([0.5, 0.5, 0.0]), 0.5, out) == (0.5, 1)
    assert out[2] == half
    assert mechanisms.clip_to_offset_sphere(inside, -0.1, out) == (0.0, 1)


@pytest.mark.parametrize("offset", [False, True])
def test_clip_record_ends_in_the_universe(offset):
    rng, out = np.random.default_rng(6), np.empty(4)
    for _ in range(500):
        y, _ = mechanisms.clip_record(
            offset, 2 * rng.standard_normal(4), 2 * rng.standard_normal(), out
        )
        assert (0.0 if offset else -1.0) <= y <= 1.0
        if offset:
            assert out[3] == np.sqrt(0.5)
        assert np.linalg.norm(out) <= 1.0 + 1e-9
        # what is inside stays: clipping twice is clipping once
        again = np.empty(4)
        assert mechanisms.clip_record(offset, out, y, again) == (y, 0)


@pytest.mark.parametrize("w", [0.0, 0.3, 2.0, 5.75])
def test_rounding_is_unbiased_and_to_a_neighbour(w):
    z = np.empty(100_000)
    roundings(np.random.default_rng(7), w, z)
    assert set(np.unique(z)) <= {np.floor(w), np.floor(w) + 1}
    up = round((w % 1) * len(z))
    assert abs((z - np.floor(w)).sum() - up) <= SIGMAS * np.sqrt(len(z) * (w % 1) * (1 - w % 1))


V = np.array([[0.3, -1.0], [1.0, 0.02], [-0.7, 0.5]])  # three users, L = 1


def test_messages_are_bits_and_carry_the_rounded_value():
    bits, rng = np.empty((2, 2 * 4 + 5)), np.random.default_rng(8)
    for _ in range(200):
        mechanisms.shuffle_messages(rng, V[0], 1.0, 3.5, 5, 0.25, bits)
        assert set(np.unique(bits)) <= {0.0, 1.0}
        assert bits[0, :8].sum() in (4, 5)  # (0.3 + 1) 3.5 = 4.55
        assert bits[1, :8].sum() == 0


def test_shuffled_sum_aggregated_law_is_the_message_level_law():
    """Means, variances, and a chi-square comparison of the two histograms, entry by entry."""
    g, b, p, n = 3.5, 6, 0.25, 40_000
    slow, fast = np.empty((n, 2)), np.empty((n, 2))
    by_messages(np.random.default_rng(9), V, 1.0, g, b, p, np.empty((2, 8 + b)), slow)
    by_counts(np.random.default_rng(10), V, 1.0, g, b, p, np.empty(2), fast)
    w = (V + 1.0) * g
    variance = (1 / g) ** 2 * (((w % 1) * (1 - w % 1)).sum(0) + 3 * b * p * (1 - p))
    for z in (slow, fast):
        assert (np.abs(z.mean(0) - V.sum(0)) < SIGMAS * np.sqrt(variance / n)).all()  # unbiased
        assert (np.abs(z.var(0) / variance - 1) < SIGMAS * np.sqrt(3 / n)).all()
    for i in range(2):
        values = np.unique(np.round(np.concatenate([slow[:, i], fast[:, i]]), 9))
        table = np.array(
            [[(np.round(z[:, i], 9) == v).sum() for v in values] for z in (slow, fast)]
        )
        table = table[:, table.sum(0) >= 20]
        assert sps.chi2_contingency(table).pvalue > ALARM


VARIANCES = [
    (2, 3.0, 1.13209336), (5, 3.0, 1.4151167), (10, 3.0, 1.72839506), (10, 4.0, 2.24651294),
    (50, 3.0, 2.87956368), (7, 2.0, 1.0), (1, 3.7, 1.0),
]  # fmt: skip


@pytest.mark.parametrize(("d", "r", "variance"), VARIANCES)
def test_generalized_gaussian_law(d, r, variance):
    """False alarms below 1e-6 each: thresholds at 5 standard errors, Kolmogorov-Smirnov at 1e-7."""
    rng, n, sigma = np.random.default_rng(11), 20_000, 1.3
    Z = np.empty((n, d))
    for z in Z:
        mechanisms.generalized_gaussian(rng, r, sigma, z)
    squares = (Z**2).mean(axis=1) / sigma**2
    assert abs(squares.mean() - variance) < 5 * squares.std() / math.sqrt(n)
    radii = np.linalg.norm(Z, r, axis=1)
    assert sps.kstest(radii**2, sps.gamma(d / 2, scale=2 * sigma**2).cdf).pvalue > 1e-7
    assert abs(Z.mean(axis=0)).max() < 5.5 * sigma * math.sqrt(variance / n)
    if d > 1:
        share = np.abs(Z[:, 0]) / radii
        assert abs(sps.spearmanr(share, radii).statistic) < 5 / math.sqrt(n)
        half = np.abs(Z) ** r / radii[:, None] ** r  # Dirichlet(1/r, ..., 1/r): Beta margins
        assert sps.kstest(half[:, 0], sps.beta(1 / r, (d - 1) / r).cdf).pvalue > 1e-7


def test_gumbel_law():
    rng = np.random.default_rng(1)
    draws = np.array([mechanisms.gumbel(rng, 2.0) for _ in range(20_000)])
    assert sps.kstest(draws, sps.gumbel_r(scale=2.0).cdf).pvalue > 1e-7


@jit
def integers(rng, n, out):
    for i in range(out.shape[0]):
        out[i] = mechanisms.random_integer(rng, n)


def test_random_integers_are_those_of_the_generator():
    for n in (1, 2, 10, 1_500_000_000):
        ours, theirs, out = np.random.default_rng(5), np.random.default_rng(5), np.empty(999, int)
        integers(ours, n, out)
        assert out.tolist() == [int(theirs.integers(0, n)) for _ in out]
        assert ours.bit_generator.state == theirs.bit_generator.state


@jit
def chosen(rng, scores, scale, gumbel, out):
    for i in range(out.shape[0]):
        if gumbel:
            out[i] = mechanisms.exponential_mechanism(rng, scores, scale)
        else:
            out[i] = mechanisms.noisy_max(rng, scores, scale)


SCORES = np.array([0.3, -1.0, 1.1, 0.9])


def test_exponential_mechanism_law():
    """Chi-square against probabilities proportional to exp(score/scale)."""
    n, scale = 200_000, 0.7
    out = np.empty(n, np.int64)
    chosen(np.random.default_rng(11), SCORES, scale, True, out)
    law = np.exp(SCORES / scale)
    assert sps.chisquare(np.bincount(out, minlength=4), n * law / law.sum()).pvalue > ALARM


def test_noisy_max_law():
    """Of two scores a gap g apart, the lower wins with P(Laplace + Laplace > g), and of many the
    argmax of the same draws."""
    n, scale, gap = 200_000, 0.7, 0.8
    out = np.empty(n, np.int64)
    chosen(np.random.default_rng(12), np.array([gap, 0.0]), scale, False, out)
    lower = 0.5 * (1.0 + gap / (2.0 * scale)) * np.exp(-gap / scale)
    assert abs(out.mean() - lower) < SIGMAS * np.sqrt(lower * (1 - lower) / n)
    fast, slow = np.random.default_rng(13), np.random.default_rng(13)
    for _ in range(100):
        e = slow.standard_exponential((4, 2))
        twin = np.argmax(SCORES + scale * (e[:, 0] - e[:, 1]))
        assert mechanisms.noisy_max(fast, SCORES, scale) == twin


@jit
def signed(rng, x, scale, gumbel, out):
    top = np.abs(x).max()
    for i in range(out.shape[0]):
        if gumbel:
            out[i] = mechanisms.signed_exponential(rng, x, scale, top)
        else:
            out[i] = mechanisms.signed_noisy_max(rng, x, scale, top)


SIGNED = {  # scores and scale: noise hides them, some stand out, one does
    "hidden": (np.array([0.3, -1.0, 1.1, 0.9, 0.0, -0.2]), 4.0),
    "some": (np.array([0.3, -1.0, 1.1, 0.9, 0.0, -0.2]), 0.5),
    "one": (np.array([0.3, -1.0, 4.0, 0.9, 0.0, -0.2]), 0.6),
    "late": (np.array([0.0, 0.0, 0.0, 0.0, -2.0]), 0.7),
    "alone": (np.array([0.4]), 0.7),
}


@pytest.mark.parametrize("case", SIGNED)
def test_the_signed_exponential_mechanism_has_its_law(case):
    (x, scale), n = SIGNED[case], 200_000
    out = np.empty(n, np.int64)
    signed(np.random.default_rng(14), x, scale, True, out)
    law = np.exp(np.stack([x, -x], axis=1).ravel() / scale)
    assert sps.chisquare(np.bincount(out, minlength=len(law)), n * law / law.sum()).pvalue > ALARM


@pytest.mark.parametrize("case", SIGNED)
def test_the_signed_noisy_max_has_the_law_of_noise_on_every_score(case):
    (x, scale), n = SIGNED[case], 200_000
    fast, slow = np.empty((2, n), np.int64)
    signed(np.random.default_rng(15), x, scale, False, fast)
    chosen(np.random.default_rng(16), np.stack([x, -x], axis=1).ravel(), scale, False, slow)
    seen = np.array([np.bincount(out, minlength=2 * len(x)) for out in (fast, slow)])
    assert sps.chi2_contingency(seen[:, seen.sum(axis=0) > 20]).pvalue > ALARM


def test_selection_without_noise_is_the_first_maximum():
    for choose in (mechanisms.noisy_max, mechanisms.exponential_mechanism):
        assert choose(np.random.default_rng(0), np.array([1.0, 2.0, 2.0]), 0.0) == 1
