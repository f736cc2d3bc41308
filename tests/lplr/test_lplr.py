"""LPLR: calibration, noise, bins, messages, fits and the policy, against values made by
hand."""

import math
from functools import partial
from importlib import import_module

import numpy as np
import pytest
from plain import plain
from scipy import stats as sps

from companion.lplr.experiments import support_violation
from companion.lplr.ssp import suffstats
from evidence.attacks.lplr import public_state

alg = import_module("companion.lplr.lplr")  # the package gives its name to the factory
lplr = alg.lplr

ALARM = 1e-7  # false-alarm rate of every statistical test below
E = math.e
ORACLE = alg.lplr_params(2, 10**4, M=2)  # epsilon = 1


def at(kernel, tree, phi):
    """What `predict` or `interval` says of phi."""
    return kernel(ORACLE, tree, np.array(phi), np.empty(2))


@pytest.mark.parametrize(
    ("calibration", "scales", "vector", "rest"),
    [
        ("paper", (1.5, 2.25, 0.5), [3.0, 3.0, 3.0, 3.0], (True, False, 1.0)),
        ("corrected", (3.0, 1.5, 2.0), [6.0, 12.0, 12.0, 12.0], (False, True, 2.0)),
    ],
)
def test_scales(calibration, scales, vector, rest):
    """At d = 4, epsilon = 2.  Printed: 3/epsilon, 3 sqrt(d)/epsilon, 4.5/epsilon,
    1/epsilon, cap 1. Corrected: 6/epsilon, 6 sqrt(d) Y/epsilon, 3/epsilon, 4/epsilon, cap
    2; Y = 1 on layer 1 and 2 below.
    """
    p = alg.lplr_params(4, 100, 2.0, calibration=calibration)
    assert (p.count_scale, p.matrix_scale, p.error_scale) == scales
    assert p.vector_scale.tolist() == vector
    assert (p.one_sided, p.clip, p.cap) == rest


def test_constants_of_the_theory_where_the_logarithm_is_7():
    """d = 2, T = e^10, gamma = e: 48 d ln T/(ln gamma failure) = 960/failure = e^7, over
    0.5."""
    failure = 960 * math.exp(-7)
    found = alg.width_constants(2, E**10, 0.5, E, constants="theory", failure=failure)
    assert found.threshold == pytest.approx(16_254 * E**2)
    assert found.flat == pytest.approx(340_200 * E**2)
    assert found.tilt == pytest.approx(1652 * E * math.sqrt(8))


def test_guarantee_is_the_larger_of_both_stages():
    """Counts 2/4, vectors 2 sqrt(2)/(4 sqrt 2), matrices 2/2: 2.5; intervals 2 *
    2/b_e."""
    oracle = ORACLE._replace(
        count_scale=4.0,
        vector_scale=math.sqrt(2) * np.array([4.0, 4.0]),
        matrix_scale=1.0,
        error_scale=8.0,
    )
    assert alg.guarantee(oracle, 1.0).epsilon == pytest.approx(2.5)
    wider = oracle._replace(error_scale=1.0)
    assert alg.guarantee(wider, 1.0).epsilon == pytest.approx(4.0)


PRINTED = alg.lplr_params(1, 10**4, 0.5, calibration="paper")


@pytest.mark.parametrize(
    "oracle",
    [ORACLE._replace(clip=False), PRINTED, PRINTED._replace(clip=True)],
)
def test_the_printed_message_promises_nothing(oracle):
    promise = alg.guarantee(oracle, 0.5)
    assert promise.epsilon == math.inf
    assert promise.claimed == (0.5, 0.0)


@pytest.mark.parametrize(
    "make",
    [alg.lplr_params, partial(lplr, K=3), partial(suffstats, K=3)],
)
@pytest.mark.parametrize(
    ("name", "value"),
    [("epsilon", 5e-324), ("epsilon", -1.0), ("T", 2e18), ("d", 65), ("z", -1)],
)
def test_budgets_of_infinite_noise_are_refused(make, name, value):
    with pytest.raises(ValueError, match=f"{name} "):
        make(**{"d": 2, "T": 1000, name: value})


@pytest.mark.parametrize("n", [1, 1000])
def test_the_noise_drawn_has_the_scales_of_the_parameters(n):
    """Count, vector, matrix (diagonal, off) and interval statistic in bins 0 and 1 of
    layer 2."""
    oracle = alg.lplr_params(2, 10**4, 0.5, M=2)
    oracle = oracle._replace(threshold=-1e18)
    rng = np.random.default_rng([1, n])
    seen = np.empty((1500, 2, 5))
    for row in seen:
        tree = public_state(oracle)
        nodes = slice(tree.start[1], tree.start[2])
        alg.add_noise(oracle, tree, 2, n, rng)
        alg.add_noise(oracle, tree, 3, n, rng)
        row[:, 0] = tree.stat[nodes, alg.COUNT]
        row[:, 1] = tree.vec[nodes, 1]
        row[:, 2:4] = tree.mat[nodes, 0]
        row[:, 4] = tree.stat[nodes, alg.ERROR]
    edge = oracle.edge[:2]
    variances = np.empty((2, 5))
    variances[:, 0] = 2 * 12.0**2
    variances[:, 1] = 2 * (edge * 6 * math.sqrt(2) * 4.0) ** 2
    variances[:, 2] = 12 * (edge**2 * 6.0) ** 2
    variances[:, 3] = 6 * (edge**2 * 6.0) ** 2
    variances[:, 4] = 128
    seen /= np.sqrt(n * variances)
    ratio = seen.var(axis=0)  # a halved scale gives 1/4, heavy tails included
    assert 0.6 < ratio.min() < ratio.max() < 1.6
    for z in seen.reshape(1500, -1).T:
        assert sps.ks_2samp(z, -z).pvalue > ALARM  # both sides alike
    if n == 1:
        for j in (0, 1, 4):
            z = math.sqrt(2) * seen[:, :, j].ravel()
            assert sps.kstest(z, "laplace").pvalue > ALARM


DRAWS = 20_000  # a variance below is known up to 8 %: 5.6 standard errors


@pytest.mark.parametrize("n", [10**3, 10**9, 10**18])
def test_moments_of_summed_noise(n):
    """n Laplace variables of scale 2 have the variance 8n."""
    rng = np.random.default_rng([4])
    sums = [alg.laplace_sum(rng, n, 2.0) for _ in range(DRAWS)]
    assert np.var(sums) / n == pytest.approx(8.0, rel=0.08)


@pytest.mark.parametrize("n", [10**3, 10**9, 10**18])
@pytest.mark.parametrize(
    ("one_sided", "off", "diagonal"),
    [(False, 54.0, 108.0), (True, 27.0, 54.0)],
)
def test_moments_of_summed_matrices(n, one_sided, off, diagonal):
    rng = np.random.default_rng([4, n % 1000])
    root = np.zeros((2, 2))
    N = np.zeros((DRAWS, 2, 2))
    for noise in N:
        alg.add_matrix_noise(rng, n, 3.0, one_sided, root, noise)
    N /= math.sqrt(n)
    variances = N.var(axis=0)
    assert variances[0, 1] == pytest.approx(off, rel=0.08)
    assert variances[0, 0] == pytest.approx(diagonal, rel=0.08)
    middle = np.abs(N.mean(axis=0))
    assert middle.max() < 6 * math.sqrt(diagonal / DRAWS)
    assert np.array_equal(N, N.transpose(0, 2, 1))


@pytest.mark.parametrize("d", [1, 2, 3])
def test_impossible_messages_of_the_printed_noise_have_the_predicted_chance(d):
    oracle = alg.lplr_params(d, 10**4, M=1, calibration="paper")
    rng = np.random.default_rng([6, d])
    scale = oracle.matrix_scale
    v = np.full(d, 0.8 / math.sqrt(d))
    root = np.zeros((d, d))
    hits = 0
    for _ in range(DRAWS):
        W = np.eye(d) * scale * (d + 1) - np.outer(v, v)
        alg.add_matrix_noise(rng, 1, scale, True, root, W)
        hits += np.linalg.eigvalsh(W)[0] < 0
    chance = support_violation(1.0, 0.8)
    assert sps.binomtest(hits, DRAWS, chance).pvalue > ALARM


@pytest.mark.parametrize("gamma", [1.25, 2.0, math.e, 8.0])
def test_bin_edges_belong_to_their_own_bin(gamma):
    oracle = alg.lplr_params(1, 10**8, gamma=gamma)
    assert alg.bin_index(oracle, 1.0) == 0
    assert alg.bin_index(oracle, 0.0) == oracle.M
    for k, edge in enumerate(oracle.edge[: oracle.M + 1]):
        above = edge * (1 + 1e-6)
        assert alg.bin_index(oracle, edge) == k
        assert alg.bin_index(oracle, above) == max(k - 1, 0)
    assert alg.bin_index(oracle, edge / 2) == oracle.M


@pytest.fixture
def tree():
    """Layer 1: coefficient 0.3, half-width 0.1 + 0.05 |u'phi|; bin 0 of layer 2: 0.4 and
    0.02 + 0.1 |u'phi|."""
    made = public_state(ORACLE, 0.3, width=0.1)
    b = made.start[1]
    made.stat[0, alg.SLOPE] = 0.05
    made.stat[b, alg.COEF] = 0.4
    made.stat[b, alg.FLAT] = 0.02
    made.stat[b, alg.SLOPE] = 0.1
    return made


PHI = [0.6, 0.5]  # the residual has length 0.5: bin 0


def test_half_widths_add_up_along_the_walk(tree):
    f, width = at(alg.predict, tree, PHI)
    assert f == pytest.approx(0.3 * 0.6 + 0.4 * 0.5)
    assert width == pytest.approx(0.1 + 0.05 * 0.6 + 0.02 + 0.1 * 0.5)


def test_all_that_is_left_may_be_missed_where_the_walk_stops(tree):
    tree.link[tree.start[1], alg.ACTIVE] = 0
    assert at(alg.predict, tree, PHI) == pytest.approx((0.18, 0.13 + 0.5))
    assert at(alg.interval, tree, PHI) == pytest.approx((0.18, 0.63))


def test_a_half_width_is_capped_and_that_of_the_dummy_is_0(tree):
    tree.stat[0, alg.FLAT] = 9.0
    assert at(alg.predict, tree, PHI)[1] == ORACLE.cap
    assert at(alg.predict, tree, [0.0, 0.0]) == (0.0, 0.0)


def test_calibrated_half_widths_are_z_standard_deviations_of_the_known_noise():
    oracle = alg.lplr_params(2, 10**4, 0.5, M=2, z=2.0)
    n = 10**6
    tree = public_state(oracle)
    b = tree.start[1] + 1
    g = oracle.edge[1]
    count = 3e5
    s = 0.8 * g**2
    spread = 6e4
    tree.stat[b, alg.COUNT] = count
    tree.stat[b, alg.VALUE] = s
    tree.stat[b, alg.ERROR] = spread
    alg.fit_width(oracle, tree, 1, b, n)
    # b_v with Y = 2, and c
    vector = 6 * math.sqrt(2) * 2 / 0.5
    matrix = 3 / 0.5
    variance = 2 * vector**2 + 4 * 3 * matrix**2 * g**2
    own = g * math.sqrt(n * variance) / count
    sampling = g / math.sqrt(count)
    error = math.sqrt(2 * n) * (4 / 0.5) * g / math.sqrt(s)
    inherited = (spread + 2.0 * error) / count
    expected = 2.0 * (own + sampling) / s + inherited / math.sqrt(s)
    assert tree.stat[b, alg.SLOPE] == pytest.approx(expected)
    assert tree.stat[b, alg.FLAT] == 0.0


def test_a_message_hides_every_node_however_empty(rng):
    """Vectors and matrices below the threshold: nobody reads them in sums; messages show
    them."""
    oracle = alg.lplr_params(2, 10**4, M=2, threshold=1e9)
    for n in (1, 50):
        tree = alg.allocate_tree(oracle)
        alg.open_layer(oracle, tree, 0)
        alg.add_noise(oracle, tree, 0, n, rng)
        shown = n == 1
        assert tree.stat[:2, alg.COUNT].all()
        assert (tree.vec[:2].astype(bool) == shown).all()
        assert (tree.mat[:2].astype(bool) == shown).all()


@pytest.mark.parametrize(
    ("phi", "y", "label"),
    [
        ([-0.7, 0.7], 1.0, 2.0),  # less clip(-35)
        ([0.7, 0.7], -1.0, -2.0),  # less clip(35)
        ([0.1, 0.99], 0.2, -0.8),  # less clip(5)
    ],
)
def test_labels_are_clipped_in_messages_and_in_sums(phi, y, label, rng):
    """A coefficient of 50 in the past: labels lie in [-2, 2] on both paths, and agree."""
    oracle = alg.lplr_params(2, 10**4, math.inf, M=2)
    phi = np.array(phi)
    sums = public_state(oracle, 50.0)
    sent = public_state(oracle, 50.0)
    residual = np.empty(2)
    b, prediction, _ = alg.walk(oracle, sums, 1, phi, residual)
    alg.add_statistics(oracle, sums, b, residual, 5, 5 * y, prediction)
    for _ in range(5):
        alg.send(oracle, sent, 2, phi, y, rng, np.empty(2))
    np.testing.assert_allclose(sums.vec, sent.vec, atol=1e-12)
    np.testing.assert_allclose(sums.mat, sent.mat, atol=1e-12)
    assert sums.vec[b, 1] == pytest.approx(5 * label * phi[1])


def test_an_epoch_that_learned_nothing_eliminates_nobody():
    """The shortcut of `select` against its slow twin, which asks every epoch: with a
    threshold that some epochs reach and others do not, all arms stay wherever it is
    taken.
    """
    policy = lplr(2, 3000, 6, epsilon=20.0, n0=16, gamma=4.0)
    p = policy.params
    rng = np.random.default_rng(4)
    seen = set()
    state = policy.init(p)
    arms = np.empty(50, dtype=np.int64)
    for _ in range(60):
        X = rng.uniform(-0.7, 0.7, (50, 6, 2))
        means = X @ [0.8, -0.4]
        R = np.sign(0.5 + 0.5 * means - rng.random((50, 6)))
        for i in range(state.epoch[0]):
            tree = alg.tree_of(state.forest, i)
            f, width = alg.intervals(p.oracle, tree, X[0])
            alive = np.ones(6, dtype=np.int64)
            alg.eliminate(f, width, alive)
            known = alg.is_fitted(tree)
            assert known or (alive.all() and not f.any())
            seen.add(bool(known))
        policy.play(p, state, X, R, rng, arms)
    assert seen == {False, True}


def test_the_oracle_of_the_arm_played_is_fed_whatever_was_advised():
    policy = lplr(1, 100, 3, epsilon=math.inf, per_action=True, n0=8, threshold=0.0)
    live = policy.start(0)
    X = np.array([[0.9], [0.8], [0.7]])
    advised = []
    for _ in range(8):  # the users of the first stage
        advised.append(live.select(X))
        live.update(2, 1.0)
    assert set(advised) != {2}
    counts = live.state.forest.stat[:3, :, alg.COUNT].sum(axis=1)
    assert counts.tolist() == [0, 0, 8]  # without noise a dummy leaves no trace


@pytest.mark.parametrize("make", [lplr, suffstats])
def test_records_outside_the_universe_are_clipped_before_they_are_sent(make):
    live = make(2, 100, 2, epsilon=math.inf, n0=8).start(0)
    live.select([[3.0, 4.0], [0.1, 0.0]])
    live.update(0, -7.0)
    s = live.state
    sent = s.forest.vec[0, 0] if make is lplr else s.models.vec[0]
    assert sent == pytest.approx([-0.6, -0.8])


@pytest.mark.parametrize(("d", "gamma"), [(1, 2.0), (2, 2.0), (3, 4.0)])
def test_a_fit_is_the_plain_numpy_version_of_the_chapter(d, gamma):
    """Noise-free, M = 6, labels of both signs, several users per bin and bins on every
    layer."""
    rng = np.random.default_rng(d)
    N = 600
    chapter = plain("lplr")
    phi = rng.uniform(-0.5, 0.5, (N, d))
    phi *= np.exp(-2 * rng.random((N, 1)))
    mean = phi.sum(axis=1) * 0.8 / math.sqrt(d)
    y = np.sign(0.5 + 0.5 * mean - rng.random(N))
    oracle = alg.lplr_params(d, N, math.inf, gamma=gamma, M=6)
    tree = alg.fit_users(oracle, phi, y, rng)
    models = chapter["plain_lplr"](phi, y, math.inf, gamma, 6, rng)
    bins = len(models) - 1  # the root has no model
    assert bins == tree.link[: tree.start[d], alg.ACTIVE].sum() > 3 * d
    for x in phi:
        estimate, _ = alg.predict(oracle, tree, x, np.empty(d))
        own = chapter["plain_predict"](models, x, gamma, 6)
        assert estimate == pytest.approx(own, abs=1e-9)


@pytest.mark.parametrize("d", [1, 2])
def test_the_noise_of_the_plain_version_is_that_of_the_messages(d):
    """Estimates at one point from the same users, with fresh noise in every run."""
    epsilon = 40.0
    rng = np.random.default_rng([9, d])
    chapter = plain("lplr")
    phi = rng.uniform(-0.6, 0.6, (120 * d, d))
    y = np.sign(rng.random(120 * d) - 0.5 + 0.4 * phi[:, 0])
    oracle = alg.lplr_params(d, 120, epsilon, gamma=4.0, M=2)
    slow = np.empty(400)
    fast = np.empty(400)
    residual = np.empty(d)
    for i in range(400):
        models = chapter["plain_lplr"](phi, y, epsilon, 4.0, 2, rng)
        slow[i] = chapter["plain_predict"](models, phi[0], 4.0, 2)
        tree = alg.fit_users(oracle, phi, y, rng)
        fast[i], _ = alg.predict(oracle, tree, phi[0], residual)
    assert len(np.unique(fast)) > 100  # coefficients are not all clipped
    assert sps.ks_2samp(slow, fast).pvalue > ALARM


@pytest.mark.parametrize(
    ("length", "y", "name"),
    [(1.0, 1.0, "phi"), (np.nan, 1.0, "phi"), (0.5, 1.1, "y")],
)
def test_users_are_checked(length, y, name):
    phi = np.full((8, 2), length)
    labels = np.full(8, y)
    with pytest.raises(ValueError, match=name):
        alg.fit_users(ORACLE, phi, labels, None)


def test_a_tree_of_too_many_bins_is_refused():
    with pytest.raises(ValueError, match="M"):
        alg.lplr_params(4, 10**6, M=60)


def test_a_half_width_is_capped_on_the_walk_that_a_message_takes():
    """A flat half-width of 9 above: the interval statistic of a user is made from 2."""
    tree = public_state(ORACLE, width=9.0)
    phi = np.array(PHI)
    _, _, eta = alg.walk(ORACLE, tree, 1, phi, np.empty(2))
    assert eta == ORACLE.cap


def test_what_a_user_says_of_errors_above_by_hand():
    """Half-width 0.5 above, residual 0.5 along the direction, eigenvalue 1: five users of
    0.25."""
    tree = public_state(ORACLE, width=0.5)
    b = tree.start[1]
    alg.add_error(tree, 1, b, np.array([0.0, 0.5]), 5, 0.5)
    assert tree.stat[b, alg.ERROR] == pytest.approx(1.25)


def test_an_interval_as_long_as_the_vector_has_its_centre_at_zero():
    tree = public_state(ORACLE, 0.3, width=0.6)
    assert at(alg.interval, tree, [0.6, 0.0]) == (0.0, 0.6)


def test_an_arm_whose_upper_end_meets_the_lower_one_stays():
    alive = np.ones(2, np.int64)
    f = np.array([1.0, 0.0])
    alg.eliminate(f, np.full(2, 0.5), alive)
    assert alive.all()


@pytest.mark.parametrize(("T", "asked"), [(12, False), (13, True)])
def test_an_epoch_that_ends_with_the_run_is_not_asked(T, asked):
    """n0 = 2: epochs of 4 and 8 rounds; nobody would use the last 8 of 12, but those of
    13."""
    policy = lplr(1, T, 1, epsilon=math.inf, n0=2, threshold=0.0, M=2)
    live = policy.start(0)
    for _ in range(12):
        live.select([[0.9]])
        live.update(0, 1.0)
    assert bool(live.state.forest.stat[1, :, alg.COUNT].any()) is asked


def test_the_first_epoch_has_twice_n0_rounds():
    assert [alg.epoch_length(8, k) for k in range(3)] == [16, 32, 64]


def test_the_threshold_by_default_by_hand():
    """d = 2, epsilon = 0.5: 5 d gamma^2/epsilon at gamma = 3, which is kept between e and
    4."""
    found = [alg.width_constants(2, 100, 0.5, g).threshold for g in (2.0, 3.0, 8.0)]
    assert found == pytest.approx([20.0 * E**2, 180.0, 320.0])
