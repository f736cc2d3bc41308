"""Algorithms 1, 2 and 4: the kernels against the paper's recursion, and the noise against
other routes to it."""

import math

import numpy as np
import pytest
from plain import plain
from scipy import stats as sps
from scipy.linalg import toeplitz
from sco_streams import OPTIONS, unclipped
from streams import learn

from companion.accounting import privacy as pr
from companion.kernels import tree
from companion.kernels.geometry import vertex
from companion.streaming_sco import streaming as sf
from companion.streaming_sco.environments import (
    flat,
    regression,
)
from companion.streaming_sco.streaming import (
    streaming_fw,
    vertex_fw,
)

# The algorithm.


@pytest.mark.parametrize(
    ("p", "epsilon", "clip"),
    [
        (1.0, np.inf, np.inf),
        (2.0, 8.0, np.inf),
        (np.inf, 8.0, np.inf),
        (1.5, 1.0, 2.0),  # where a leaf may move by all of 2 C
    ],
)
def test_the_plain_version_of_the_chapter_is_the_kernel(p, epsilon, clip):
    """Without noise it has learned, and rounding near d_t = 0 is magnified."""
    X, Y = regression(p, flat(3, p)).records(2_000, np.random.default_rng(1))
    o = unclipped(3, 2_000, p, epsilon, clip=clip)
    cell = plain("streaming_sco")
    if clip < np.inf:
        sigma = cell["noise_scale"](2_000, epsilon, 1e-3, clip)
        assert sigma == pytest.approx(o.params.sigma, rel=1e-9)
    rng = np.random.default_rng(1)
    slow = cell["streaming_frank_wolfe"](X, Y, p, 2.0, clip, o.params.sigma, rng)
    out = learn(o, X, Y, seed=1)[0]
    assert np.allclose(out[:20], slow[:20], atol=1e-9)
    assert np.allclose(out, slow, atol=1e-3 if epsilon == np.inf else 1e-9)
    if epsilon == np.inf:
        assert np.linalg.norm(out[-1] - flat(3, p)) < 0.1


def test_the_plain_version_makes_the_three_steps_by_hand(rng):
    slow = plain("streaming_sco")["streaming_frank_wolfe"]
    labels = np.array([0.8, 0.4, 0.6])
    steps = slow(np.ones((3, 1)), labels, 2, 1.0, np.inf, 0.0, rng)
    assert steps[:, 0] == pytest.approx([0.5, 0.0, 0.25])


def test_the_sum_is_the_recursion():
    """Of equal records only the bias of d_0 = 0 is left: minus the first gradient over t
    + 1."""
    x = np.array([0.3, -0.2, 0.1, 0.0])
    y = 0.7
    out, state = learn(
        unclipped(4, 7, 2.0),
        np.tile(x, (7, 1)),
        np.full(7, y),
    )
    at_last = 2 * (x @ out[-2] - y) * x
    assert state.gradient - at_last == pytest.approx(2 * y * x / 8, abs=1e-12)


def test_a_clipped_leaf_is_as_long_as_allowed_and_others_are_untouched():
    rng = np.random.default_rng(6)
    loose = unclipped(4, 100, 1.5).params
    tight = unclipped(4, 100, 1.5, clip=3.0).params
    sizes = []
    for t in [1, 2, 30] * 200:
        x, theta, old = rng.standard_normal((3, 4))
        y = rng.standard_normal()
        free = sf.leaf(loose, t, x, y, theta, old)
        cut = sf.leaf(tight, t, x, y, theta, old)
        size = abs(free) * np.linalg.norm(x)
        sizes.append(size)
        assert cut == pytest.approx(free * min(1.0, 3.0 / size), rel=1e-12)
    assert min(sizes) < 3.0 < max(sizes)


def test_labels_are_clipped_and_records_counted():
    X = np.array([[0.6, -0.3], [0.2, 0.5], [-0.4, 0.1]])
    Y = np.array([9.0, -9.0, 0.3])
    o = unclipped(2, 3, 2.0, label_bound=1.0)
    inside = learn(o, X, np.clip(Y, -1.0, 1.0))[0]
    out, state = learn(o, X, Y)
    assert np.array_equal(out, inside)
    assert (state.clipped[0], state.t[0]) == (2, 3)


def test_gradients_of_all_losses_are_those_of_differences():
    logistic = sps.logistic.cdf(0.7) - 0.4
    probit = sps.norm.cdf(0.7) - 0.4
    assert sf.loss_slope(sf.LOGISTIC, 0.7, 0.4) == pytest.approx(logistic, abs=1e-14)
    assert sf.loss_slope(sf.PROBIT, 0.7, 0.4) == pytest.approx(probit, abs=1e-14)
    assert sf.loss_slope(sf.SQUARES, 0.7, 0.4) == pytest.approx(0.6)
    assert sf.loss_slope(sf.INNER, 0.3, 0.9) == 1.0


# How far a record moves a leaf.


@pytest.mark.parametrize("p", [1.0, 1.2, 1.5, 2.0, 4.0, np.inf])
@pytest.mark.parametrize("loss", sf.LOSSES)
def test_an_unclipped_leaf_moves_by_at_most_the_sensitivity(p, loss):
    """Vertex steps and records on vertices, at rounds 2 and 50."""
    rng = np.random.default_rng(1)
    c = sf.make_problem(3, 100, p, 2.0, loss, 1.2)
    q = streaming_fw(
        3, 100, epsilon=np.inf, p=p, loss=loss, clip=np.inf, **OPTIONS
    ).params
    farthest = 0.0
    old = np.empty(3)
    v = np.empty(3)
    x = np.empty(3)
    for t in [2, 50] * 500:
        other, towards, along = rng.standard_normal((3, 3))
        vertex(other, p, 2.0 * rng.choice([0.1, 1.0]), old)
        vertex(
            old if rng.random() < 0.7 else towards,
            p,
            2.0,
            v,
        )
        vertex(
            v if rng.random() < 0.5 else along,
            c.q,
            rng.random(),
            x,
        )
        theta = old + (v - old) / t
        low, high = rng.choice([c.low, c.high], 2)
        z = x * rng.choice([-1.0, 1.0])
        g = sf.leaf(q, t, x, low, theta, old) * x
        h = sf.leaf(q, t, z, high, theta, old) * z
        farthest = max(farthest, np.linalg.norm(g - h, c.q))
    assert 0.1 * c.sensitivity <= farthest <= c.sensitivity * (1 + 1e-9)


LOSSES = [  # loss, Y, beta, L, least label, s = 2 (beta D + L) at r = 2
    ("squares", 1.0, 2.0, 6.0, -1.0, 28.0),
    ("logistic", 1.0, 0.25, 1.0, 0.0, 4.0),
    ("logistic", 3.0, 0.25, 3.0, 0.0, 8.0),
    ("probit", 1.0, 0.3989423, 1.0, 0.0, 5.1915382),
    ("inner product", 1.0, 0.0, 1.0, -1.0, 2.0),
]


@pytest.mark.parametrize(
    (
        "loss",
        "label_bound",
        "beta",
        "lipschitz",
        "low",
        "s",
    ),
    LOSSES,
)
def test_constants_of_losses_by_hand(loss, label_bound, beta, lipschitz, low, s):
    """r = 2: D = 4, L = 2 (2 + Y) for squares; beta of a link is its largest slope."""
    c = sf.make_problem(3, 9, 2.0, 2.0, loss, label_bound)
    assert (c.lipschitz, c.low) == (lipschitz, low)
    assert c.beta == pytest.approx(beta, abs=1e-7)
    assert c.sensitivity == pytest.approx(s, abs=1e-6)
    clip = sf.leaf_clip(c, None, "corrected")
    assert clip == pytest.approx(6.0 if loss == "squares" else s / 2, abs=1e-6)
    assert sf.leaf_clip(c, None, "paper") == sf.leaf_clip(c, None, "zcdp") == np.inf


def nodes_of_leaves(n):
    """How many nodes hold each of n leaves: node t covers (t - 2^level, t]."""
    held = np.zeros(n, dtype=int)
    for t in range(1, n + 1):
        held[t - (t & -t) : t] += 1
    return held


def leaves(p, X, labels, theta):
    """Leaves (n, d) of the second round, after theta_1 = 0."""
    pairs = zip(X, labels, strict=True)
    slopes = [sf.leaf(p, 2, x, y, theta, np.zeros(3)) for x, y in pairs]
    return np.array(slopes)[:, None] * X


@pytest.mark.parametrize("size", [0.0, 0.03, 2.0, 3.0])
def test_no_pair_moves_further_than_the_exact_movement_and_one_as_far(
    size,
):
    p = streaming_fw(3, 10, epsilon=1.0, delta=1e-2, **OPTIONS).params
    # w = 3 theta
    rng = np.random.default_rng(1)
    theta = np.array([size / 3.0, 0.0, 0.0])
    Y = 1.2
    X = rng.standard_normal((1500, 3))
    X *= rng.choice([1.0, 1.0, 0.7], 1500)[:, None] / np.linalg.norm(X, axis=1)[:, None]
    g = leaves(p, X, rng.choice([-Y, Y, 0.3], 1500), theta)
    squares = (g * g).sum(axis=1)
    far = math.sqrt((squares[:, None] + squares - 2 * g @ g.T).max())
    most = sf.leaf_movement(size, Y)
    assert 0.98 * most < far <= most
    angles = np.linspace(0.0, math.pi, 20_001)
    pair = np.array([np.cos(angles), np.sin(angles), 0 * angles]).T
    up = leaves(p, pair, np.full(len(pair), -Y), theta)
    assert 2 * up[:, 1].max() == pytest.approx(most, rel=1e-6)  # x and its mirror image


@pytest.mark.parametrize("kind", ["tree", "sqrt"])
@pytest.mark.parametrize("radius", [2.0, 0.02])
def test_squared_shifts_of_every_leaf_are_covered_by_the_noise(kind, radius):
    """Every leaf's own releases, counted by brute force, times its own movement.  In a
    small ball the first leaf counts: w = 0 there, but it lies in one block more than any
    other."""
    n = 11
    Y = 1.2
    o = streaming_fw(
        2, n, epsilon=1.0, delta=1e-2, radius=radius, label_bound=Y, factorisation=kind
    )
    held = nodes_of_leaves(n)
    if kind == "sqrt":
        f = np.array([math.comb(2 * k, k) / 4**k for k in range(n)])
        held = np.cumsum(f**2)[::-1]
    sizes = [0.0, 1.5, 1.5] + [1 + 2 / t for t in range(4, n + 1)]
    shifts = np.array([sf.leaf_movement(radius * size, Y) for size in sizes])
    moves = np.minimum(2 * o.params.clip, shifts) * np.sqrt(held)
    assert moves.max() == pytest.approx(
        o.params.sigma * pr.gaussian_mu(1.0, 1e-2),
        rel=1e-9,
    )
    assert moves.argmax() == 0 or radius == 2.0
    assert o.guarantee.epsilon == pytest.approx(1.0, rel=1e-9)


# Noise of sums.


def test_a_record_enters_as_many_nodes_as_the_guarantee_counts():
    """Brute force over all leaves and all nodes that are ever used, and all columns of
    the root."""
    for n, m in (
        (7, 3),
        (8, 4),
        (1000, 10),
        (1024, 11),
        (2000, 11),
    ):
        held = nodes_of_leaves(n)
        assert held.max() == held[0] == m == sf.leaf_growth(n, sf.TREE)
    f = tree.root_coefficients(64)
    B = toeplitz(f, np.zeros(64))
    assert pytest.approx(np.tri(64), abs=1e-12) == B @ B
    columns = (B**2).sum(axis=0)
    assert sf.leaf_growth(64, sf.SQRT) == pytest.approx(columns.max(), rel=1e-12)


PRINTED = math.sqrt(8 * 16 * math.log(4000)) * 8  # 8 m'^2 log(m'/delta) 8^2, m' = 4
ZCDP = math.sqrt(3 / (2 * 0.059390)) * 16
FREE = 16 * math.sqrt(3)
ROOT = {"factorisation": "sqrt"}
# n, options, how far a record moves all sums, sigma where it is not that over mu
NOISES = [
    (7, {"calibration": "zcdp"}, FREE, ZCDP),
    (7, {}, 6.097786 * math.sqrt(2), None),
    (7, {"clip": 0.5}, math.sqrt(3), None),
    (7, {"clip": np.inf}, FREE, None),
    (7, {"calibration": "paper"}, FREE, PRINTED),
    (
        7,
        {"calibration": "paper", "p": np.inf},
        FREE,
        PRINTED,
    ),  # kappa = d cancels
    # sum f^2 = 1 + 1/4 + 9/64 at n = 3, for later leaves 1 + 1/4
    (3, ROOT, 6.097786 * math.sqrt(1.25), None),
    (
        3,
        {"p": 1.5, "clip": 4.0, **ROOT},
        8 * math.sqrt(1.390625),
        None,
    ),
]


@pytest.mark.parametrize(("n", "options", "moved", "sigma"), NOISES)
def test_noise_of_sums_by_hand(n, options, moved, sigma):
    """r = Y = 1: s = 16, a clip of 4 gives 8; n = 7: 3 blocks.  epsilon = 1, delta =
    1/1000: mu = 0.388401, rho = 0.059390 (two other programs)."""
    o = streaming_fw(4, n, epsilon=1.0, delta=1e-3, **options)
    sigma = sigma or moved / 0.388401
    assert o.params.sigma == pytest.approx(sigma, rel=2e-5)
    said = o.guarantee.epsilon
    if "zcdp" not in options.values():
        assert said == pytest.approx(
            pr.gaussian_epsilon(1e-3, sigma, moved),
            rel=1e-4,
        )
    assert said < 1.0 + 1e-9
    assert o.guarantee.claimed == ((1.0, 1e-3) if "paper" in options.values() else None)


# Noise of choices.


def drawn(selector, score, n, rng):
    """Places of n vertices e_1, ..., -e_d that are chosen with noise on every score."""
    both = np.concatenate([-score, score])
    if selector == "coordinates":  # one noise for both signs
        noisy = score + rng.laplace(size=(n, len(score)))
        return np.hstack([-noisy, noisy]).argmax(axis=1)
    noise = rng.gumbel if selector == "gumbel" else rng.laplace
    return (both + noise(size=(n, len(both)))).argmax(axis=1)


@pytest.mark.parametrize("selector", sf.SELECTORS)
def test_selectors_have_their_law(selector):
    o = vertex_fw(
        3,
        50,
        epsilon=8.0,
        delta=1e-2,
        radius=1.5,
        selector=selector,
    )
    total = np.array([6.0, -9.0, 2.0])
    rng = np.random.default_rng(9)
    counts = np.zeros(6)
    v = np.empty(3)
    gradient = np.empty(3)
    for _ in range(20_000):
        sf.choose(o.params, 1, total, gradient, v, rng)
        j = int(np.abs(v).argmax())
        counts[j if v[j] > 0 else j + 3] += 1
    assert counts.max() > 1.3 * counts.min()  # the data matter
    score = 1.5 * total / 2 / sf.noise_scale(o.params, 1)
    expected = np.bincount(drawn(selector, score, 100_000, rng), minlength=6)
    assert sps.chi2_contingency([counts, expected]).pvalue > 1e-7


@pytest.mark.parametrize("schedule", [sf.PAPER, sf.FALLING, sf.CONSTANT])
def test_sums_of_losses_beyond_a_million_are_bounded_closely(
    schedule,
):
    n = 3_000_000
    t = np.arange(1.0, 3_000_001.0)
    a = {
        sf.PAPER: np.sqrt(t) / (t + 1),
        sf.FALLING: 1 / np.sqrt(t),
        sf.CONSTANT: np.ones(n),
    }
    exact = a[schedule].sum(), (a[schedule] ** 2).sum()
    for ours, true in zip(sf.schedule_sums(schedule, n), exact, strict=True):
        assert true * (1 - 1e-12) <= ours < true * (1 + 1e-5)


RHO = 0.059390
PRINTED_CHOICE = {
    "calibration": "paper",
    "selector": "argmin",
    "delta": 1e-2,
}
FALLS = {"selector": "coordinates", "schedule": "falling"}
CHOICES = [  # options, scale, b_4 / scale
    (PRINTED_CHOICE, 271.647, 0.5),
    (
        {"selector": "gumbel"},
        16 / math.sqrt(8 * RHO / 50),
        0.2,
    ),
    (
        {"selector": "argmin"},
        16 / math.sqrt(2 * RHO / 50),
        0.2,
    ),
    (FALLS, 16 / math.sqrt(2 * RHO / 4.499205), 0.4),
    ({"clip": 1.0}, 4 / math.sqrt(8 * RHO / 50), 0.2),
]


@pytest.mark.parametrize(("options", "scale", "at_4"), CHOICES)
def test_noise_of_choices_by_hand(options, scale, at_4):
    """r = Y = 1, n = 50: D (beta D + L) = 16, 4 * 16 sqrt(log 50 log 100) = 271.647; H_50
    = 4.4992.

    At t = 4 the schedules give 1/sqrt 4, sqrt 4/5 and 1/5 of the scale.
    """
    p = vertex_fw(3, 50, **{"epsilon": 1.0, "delta": 1e-3} | options).params
    assert p.scale == pytest.approx(scale, rel=2e-5)
    assert sf.noise_scale(p, 4) == pytest.approx(at_4 * p.scale, rel=1e-12)


# What is refused.


PAPER = {"calibration": "paper"}
PAIRS = "must go with one of .'tree', 'argmin'. and clip=None"
REFUSED = [
    (
        streaming_fw,
        {"epsilon": 22.1, "n": 1000, **PAPER},
        "most 22 .2 per node",
    ),
    (
        streaming_fw,
        {"clip": 3.0, **PAPER},
        f"{PAIRS}; got 'tree', clip=3.0",
    ),
    (
        streaming_fw,
        {"calibration": "zcdp", **ROOT},
        "needs calibration='correc",
    ),
    (vertex_fw, PAPER, f"{PAIRS}; got 'gumbel'"),
    (
        streaming_fw,
        {"n": 1, "delta": None},
        "n must be at least 2 where delta is None",
    ),
]


@pytest.mark.parametrize(("factory", "options", "message"), REFUSED)
def test_combinations_that_mean_nothing_are_refused(factory, options, message):
    with pytest.raises(ValueError, match=message):
        factory(
            **{
                "d": 3,
                "n": 50,
                "epsilon": 1.0,
                "delta": 1e-2,
            }
            | options
        )


# What is right at the border, and which norm.


@pytest.mark.parametrize(
    ("factory", "options", "slope"),
    [
        (
            vertex_fw,
            {},
            -1.0,
        ),  # for vertices: the largest entry is 1
        (
            streaming_fw,
            {"p": 1.0},
            -0.5,
        ),  # for sums: the l_2 norm is 2
        (
            streaming_fw,
            {"p": 1.0, "calibration": "zcdp"},
            -1.0,
        ),  # the dual norm is 1
    ],
)
def test_leaves_are_clipped_in_the_norm_of_their_noise(factory, options, slope):
    """At theta = 0 the leaf of (1, 1, 1, 1), y = 1 is -2 (1, 1, 1, 1), clipped at 1."""
    p = factory(4, 10, epsilon=1.0, delta=1e-2, clip=1.0, **options).params
    none = np.zeros(4)
    assert sf.leaf(p, 1, np.ones(4), 1.0, none, none) == pytest.approx(slope)


def test_the_printed_noise_is_proved_at_two_per_node_itself():
    """n = 1000: 11 nodes, epsilon = 22."""
    o = streaming_fw(
        3,
        1000,
        epsilon=22.0,
        delta=1e-2,
        p=1.5,
        calibration="paper",
    )
    assert o.guarantee.claimed == (22.0, 1e-2)


def test_few_choices_lose_no_more_than_the_sum_of_their_losses():
    """One choice at delta = 1e-12: concentrated privacy says more than the loss
    itself."""
    o = vertex_fw(2, 1, epsilon=1.0, delta=1e-12)
    p = o.params
    assert o.guarantee.epsilon == pytest.approx(16.0 / p.scale)
    assert o.guarantee.epsilon < 1.0


def test_a_path_of_just_a_hundred_million_numbers_is_taken():
    """n d = 10^8; nothing is drawn before the run starts."""
    o = streaming_fw(
        10**6,
        100,
        epsilon=1.0,
        delta=1e-2,
        factorisation="sqrt",
    )
    assert o.params.n == 100
    with pytest.raises(ValueError, match="n must be an integer in"):
        streaming_fw(
            10**6,
            101,
            epsilon=1.0,
            delta=1e-2,
            factorisation="sqrt",
        )


def test_steps_follow_the_scale_from_the_first_record_on():
    """c = 1/2: half of the way that c = 1 goes."""
    steps = []
    for c in (0.5, 1.0):
        live = streaming_fw(2, 9, epsilon=np.inf, step_scale=c).start(seed=1)
        steps.append(live.update([0.6, 0.8], 1.0))
    assert steps[0] == pytest.approx(0.5 * steps[1])
