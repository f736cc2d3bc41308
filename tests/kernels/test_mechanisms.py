"""Samplers against their exact laws.

Every bound fails a correct sampler with chance below 1e-6: tests of a law are at `ALARM`,
no test makes more than ten, and means are compared at `SIGMAS` standard errors.
"""

import math

import numpy as np
import pytest
from scipy import stats as sps

from companion.kernels import mechanisms

ALARM = 1e-7
SIGMAS = 6.0


def several(n, fill, *shape):
    """n arrays of one shape, each zero before fill(array)."""
    out = np.zeros((n, *shape))
    for row in out:
        fill(row)
    return out


def counts(n, places, choose, *arguments):
    """How often each place came in n choices."""
    found = np.zeros(places, int)
    for _ in range(n):
        found[choose(*arguments)] += 1
    return found


def need_law(z, law):
    """Fail if independent draws have not this law, by Kolmogorov and Smirnov's test."""
    assert sps.kstest(z, law.cdf).pvalue > ALARM


def need_same_law(counted, other):
    """Fail if two rows of counts do not come from one law; places of few are left out."""
    table = np.array([counted, other])
    often = table.sum(axis=0) >= 20
    assert sps.chi2_contingency(table[:, often]).pvalue > ALARM


def need_independent(draws):
    """Fail if columns of draws are correlated."""
    n, d = draws.shape
    off = np.corrcoef(draws.T) - np.eye(d)
    assert np.abs(off).max() < SIGMAS / np.sqrt(n)


def test_laplace_law():
    z = np.full(200_000, 3.0)
    mechanisms.add_laplace(np.random.default_rng(1), 2.5, z)
    need_law(z, sps.laplace(3.0, 2.5))


def test_gaussian_law_and_independence():
    z = np.full(200_000, 3.0)
    mechanisms.add_gaussian(np.random.default_rng(2), 1.5, z)
    need_law(z, sps.norm(3.0, 1.5))
    need_independent(np.stack([z[1:], z[:-1]], axis=1))


def test_symmetric_noise_is_isotropic_in_the_frobenius_geometry():
    """<Z, A> is N(0, sigma^2 ||A||_F^2) for every symmetric A, and orthogonal A are
    independent."""
    rng = np.random.default_rng(3)
    Z = several(
        20_000,
        lambda out: mechanisms.add_symmetric_gaussian(rng, 2.0, out),
        3,
        3,
    )
    assert np.array_equal(Z, Z.transpose(0, 2, 1))
    A = np.random.default_rng(4).standard_normal((3, 3, 3))
    A += A.transpose(0, 2, 1)
    on_the_diagonal = np.diag([1.0, 0.0, 0.0])
    off_the_diagonal = np.zeros((3, 3))
    off_the_diagonal[0, 1] = 1.0
    off_the_diagonal[1, 0] = 1.0
    for a in [*A, on_the_diagonal, off_the_diagonal]:
        along = np.einsum("nij,ij->n", Z, a) / np.linalg.norm(a)
        need_law(along, sps.norm(0.0, 2.0))
    need_independent(Z[:, *np.tril_indices(3)])


@pytest.mark.parametrize("degrees", [4.0, 9.5])
def test_wishart_law(degrees):
    """v' W v / |v|^2 is chi-square times the scale; the difference of two has mean 0."""
    d = 3
    scale = 0.5
    n = 20_000
    rng = np.random.default_rng(14)
    root = np.empty((3, 3))
    W = several(
        n,
        lambda out: mechanisms.add_wishart(rng, degrees, scale, root, out),
        d,
        d,
    )
    assert np.array_equal(W, W.transpose(0, 2, 1))
    for v in ([1.0, 0, 0], [0.3, -1.0, 2.0]):
        along = np.einsum("nij,i,j->n", W, v, v) / np.dot(v, v)
        need_law(along / scale, sps.chi2(degrees))
    spread = SIGMAS * scale * np.sqrt(2.0 * degrees / n)
    assert np.abs(W.mean(0) - scale * degrees * np.eye(d)).max() < spread
    for out in W:
        mechanisms.add_wishart(rng, degrees, -scale, root, out)
    assert np.abs(W.mean(axis=0)).max() < spread * np.sqrt(2.0)
    share = W[:, 0, 0].var() / (4.0 * degrees * scale**2)
    assert abs(share - 1.0) < SIGMAS * np.sqrt(6.0 / n)


HALF = np.sqrt(0.5)


@pytest.mark.parametrize(
    ("offset", "x", "y", "clipped", "expected"),
    [
        (False, [0.6, 0.8], -1.0, (-1.0, 0), [0.6, 0.8]),
        (False, [3.0, 4.0], 0.5, (0.5, 1), [0.6, 0.8]),
        (False, [0.1, 0.0], 2.0, (1.0, 1), [0.1, 0.0]),
        (True, [0.5, 0.5, HALF], 1.0, (1.0, 0), [0.5, 0.5, HALF]),
        (True, [3.0, 4.0, HALF], 0.5, (0.5, 1), [0.6 * HALF, 0.8 * HALF, HALF]),
        (True, [0.5, 0.5, 0.0], 0.5, (0.5, 1), [0.5, 0.5, HALF]),
        (True, [0.5, 0.5, HALF], -0.1, (0.0, 1), [0.5, 0.5, HALF]),
        (True, [0.1, 0.7], 0.5, (0.5, 1), [0.1, HALF]),  # 0.7 is not the constant
        (True, [0.708, HALF], 0.5, (0.5, 1), [HALF, HALF]),  # just outside
    ],
)
def test_clip_record_ends_in_the_universe(offset, x, y, clipped, expected):
    """In the unit ball, or on the offset sphere; what is inside stays."""
    out = np.empty(len(x))
    again = np.empty(len(x))
    assert mechanisms.clip_record(offset, np.array(x), y, out) == clipped
    np.testing.assert_allclose(out, expected)
    assert mechanisms.clip_record(offset, out, clipped[0], again) == (clipped[0], 0)


@pytest.mark.parametrize("w", [0.0, 0.3, 2.0, 5.75])
def test_rounding_is_unbiased_and_to_a_neighbour(w):
    rng = np.random.default_rng(7)
    z = np.array([mechanisms.round_at_random(rng, w) for _ in range(20_000)])
    assert set(z) <= {np.floor(w), np.floor(w) + 1}
    chance = w % 1
    raised = (z - np.floor(w)).sum()
    spread = np.sqrt(len(z) * chance * (1 - chance))
    assert abs(raised - chance * len(z)) <= SIGMAS * spread + 1e-6


V = np.array([[0.3, -1.0], [1.0, 0.02], [-0.7, 0.5]])  # three users, L = 1
G = 3.5
NOISE_BITS = 6
P = 0.25


def test_shuffled_sum_aggregated_law_is_the_message_level_law():
    """A chi-square comparison of the two histograms, entry by entry."""
    n = 10_000
    rng = np.random.default_rng(9)
    sums = np.empty(2)

    def by_messages(out):
        for v in V:
            for i in range(2):
                out[i] += mechanisms.round_at_random(rng, (v[i] + 1.0) * G)
                out[i] += (rng.random(NOISE_BITS) < P).sum()
        out[:] = (out - NOISE_BITS * len(V) * P) / G - len(V)

    def aggregated(out):
        sums[:] = 0.0
        for v in V:
            mechanisms.shuffle_add(rng, v, 1.0, G, sums)
        mechanisms.shuffle_analyse(rng, sums, len(V), 1.0, G, NOISE_BITS, P, out)

    slow = several(n, by_messages, 2)
    fast = several(n, aggregated, 2)
    for i in range(2):
        both = np.round([slow[:, i], fast[:, i]], 9)
        values, place = np.unique(both, return_inverse=True)
        ours, theirs = place.reshape(2, n)
        size = len(values)
        need_same_law(np.bincount(ours, None, size), np.bincount(theirs, None, size))


@pytest.mark.parametrize(
    ("d", "r", "variance"),
    [(2, 3.0, 1.13209336), (10, 4.0, 2.24651294), (50, 3.0, 2.87956368), (1, 3.7, 1.0)],
)
def test_generalized_gaussian_law(d, r, variance):
    """False alarms below 1e-6 each: thresholds at 5 standard errors, Kolmogorov-Smirnov
    at 1e-7."""
    rng = np.random.default_rng(11)
    n = 20_000
    sigma = 1.3
    Z = several(n, lambda out: mechanisms.generalized_gaussian(rng, r, sigma, out), d)
    squares = (Z**2).mean(axis=1) / sigma**2
    assert abs(squares.mean() - variance) < 5 * squares.std() / math.sqrt(n)
    radii = np.linalg.norm(Z, r, axis=1)
    need_law(radii**2, sps.gamma(d / 2, scale=2 * sigma**2))
    assert abs(Z.mean(axis=0)).max() < 5.5 * sigma * math.sqrt(variance / n)
    if d > 1:
        # Dirichlet(1/r, ..., 1/r) to the power r: Beta margins
        share = np.abs(Z[:, 0]) / radii
        assert abs(sps.spearmanr(share, radii).statistic) < 5 / math.sqrt(n)
        need_law(share**r, sps.beta(1 / r, (d - 1) / r))


SCORES = np.array([0.3, -1.0, 1.1, 0.9])


def test_the_noisy_max_is_that_of_scores_with_laplace_noise():
    """A difference of two exponentials of the same draws."""
    scale = 0.7
    fast = np.random.default_rng(13)
    slow = np.random.default_rng(13)
    for _ in range(100):
        e = slow.standard_exponential((4, 2))
        twin = np.argmax(SCORES + scale * (e[:, 0] - e[:, 1]))
        assert mechanisms.noisy_max(fast, SCORES, scale) == twin


SIGNED = {  # scores and scale: some stand out of the noise, one does
    "some": (np.array([0.3, -1.0, 1.1, 0.9, 0.0, -0.2]), 0.5),
    "one": (np.array([0.3, -1.0, 4.0, 0.9, 0.0, -0.2]), 0.6),
    "alone": (np.array([0.4]), 0.7),
}


@pytest.fixture(params=SIGNED)
def signed(request):
    """(x, scale, max |x|, both signs of every entry of x)."""
    x, scale = SIGNED[request.param]
    return x, scale, np.abs(x).max(), np.stack([x, -x], axis=1).ravel()


def test_exponential_mechanism_laws(signed):
    """Chances in proportion to exp(score/scale), of all scores and by rejection."""
    x, scale, top, scores = signed
    n = 20_000
    rng = np.random.default_rng(14)
    law = np.exp(scores / scale)
    for choose, told in (
        (mechanisms.exponential_mechanism, (scores, scale)),
        (mechanisms.signed_exponential, (x, scale, top)),
    ):
        seen = counts(n, len(scores), choose, rng, *told)
        assert sps.chisquare(seen, n * law / law.sum()).pvalue > ALARM


def test_the_signed_noisy_max_has_the_law_of_noise_on_every_score(signed):
    x, scale, top, scores = signed
    n = 20_000
    rng = np.random.default_rng(15)
    places = len(scores)
    fast = counts(n, places, mechanisms.signed_noisy_max, rng, x, scale, top)
    slow = counts(n, places, mechanisms.noisy_max, rng, scores, scale)
    need_same_law(fast, slow)


def peeled(size, xi, n, seed):
    """(picks, values) of n calls on five entries."""
    v = np.array([2.0, -1.9, 1.5, 0.2, -0.1])
    taken = np.zeros(5, bool)
    rng = np.random.default_rng(seed)
    out = np.empty((n, 5))
    picks = np.empty((n, size), np.int64)
    for i in range(n):
        mechanisms.peel(rng, v, size, xi, out[i], picks[i], taken)
    assert (np.count_nonzero(out, axis=1) == size).all()  # nobody is picked twice
    return v, picks, np.take_along_axis(out, picks, axis=1)


def test_peeling_picks_the_noisily_largest_entry():
    """Chances of the first pick by quadrature over its noise."""
    v, picks, _ = peeled(3, 0.7, 20_000, 1)
    z = np.linspace(-30, 30, 60_001)
    laws = [sps.laplace(abs(w), 0.7) for w in v]
    below = np.prod([law.cdf(z) for law in laws], axis=0)
    chances = np.array([(law.pdf(z) / law.cdf(z) * below).sum() for law in laws])
    seen = np.bincount(picks[:, 0], minlength=5)
    assert sps.chisquare(seen, chances / chances.sum() * len(picks)).pvalue > ALARM


def test_peeling_releases_values_with_laplace_noise_of_their_own():
    v, picks, values = peeled(3, 0.5, 20_000, 2)
    noise = values - v[picks]
    need_law(noise.ravel(), sps.laplace(scale=0.5))
    need_independent(noise)
    _, picks, values = peeled(2, 0.0, 1, 0)  # without noise: the largest entries
    assert picks.tolist() == [[0, 1]]
    assert values.tolist() == [[2.0, -1.9]]
