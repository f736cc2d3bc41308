"""ShuffleGLM: its plain version, batches, bits, designs, eliminations, what the analyser
sees."""

import numpy as np
import pytest
from plain import plain
from streams import first_block, forms, run

from companion.accounting.binomial import releases_delta, releases_epsilon
from companion.kernels.mechanisms import add_packed
from companion.private_glm import shuffle_glm as shuffle
from companion.private_glm.environments import world
from companion.private_glm.shuffle_glm import design, init, shuffle_glm


def exact(**options):
    """(Params, State) of ShuffleGLM for two arms in the plane, with exact sums."""
    policy = shuffle_glm(2, 2, 400, epsilon=np.inf, delta=0.01, first=50, **options)
    return policy.params, init(policy.params)


def noisy(T=1000, epsilon=1.0, **options):
    """ShuffleGLM for four arms in three dimensions, with noise."""
    return shuffle_glm(3, 4, T, epsilon=epsilon, delta=0.01, **options)


# --- the plain version of the chapter


@pytest.mark.parametrize("epsilon", [np.inf, 4.0])
def test_every_arm_is_that_of_the_plain_version(epsilon, rng):
    """With noise, too: both draw the same numbers in the same order."""
    X, R = first_block(world("ball", 3, 2.0, K=6), 900)
    model = {"theta_bound": 2.0, "kappa": 9.0, "gamma": 0.4, "first": 100}
    policy = shuffle_glm(3, 6, 900, epsilon=epsilon, delta=0.01, **model)
    p = policy.params
    arms, s = run(policy, X, R, seed=0)
    bits = zip(p.bits_matrix.tolist(), p.bits_gradient.tolist(), strict=True)
    twin = plain("shuffle_glm")["shuffle_glm_plain"]
    expected, estimates = twin(X, R, p.ends, bits, 9.0, 0.4, 2.0, 20, rng)
    assert np.array_equal(arms, expected)
    for k in range(2):
        slow, _ = estimates[k]
        np.testing.assert_allclose(s.theta[k], slow, atol=1e-9)
    assert s.k[0] == 2
    assert s.alive.sum() < 6  # arms were ruled out


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize("n", [176, 274])
def test_the_noise_of_the_plain_version_is_proved_enough(epsilon, n):
    bits = plain("shuffle_glm")["noise_bits"](n, 3, 20, epsilon, 0.01)
    proved = releases_epsilon(0.01, shuffle.releases(n, 3, 20, *bits))
    assert 0.9 * epsilon < proved <= epsilon


# --- weights, ridge, widths


@pytest.mark.parametrize("theta", [[0.0, 0.0], [2.0, 0.0], [-1.0, 1.0]])
@pytest.mark.parametrize("x", [[1.0, 0.0], [0.0, 1.0]])
def test_weights_are_capped_whatever_the_estimate_says(theta, x):
    p, _ = exact(theta_bound=2.0, kappa_star=9.0)
    assert p.caps.tolist() == [1.0, 1 / 9, 1 / 9]
    assert shuffle.weight(p.link, np.dot(x, theta), 0.0, 2.0, p.caps[1]) <= 1 / 9


def test_the_cap_is_the_largest_slope_where_nothing_is_known():
    assert exact()[0].caps[1] == 0.25


def test_a_message_has_the_weight_of_the_clipped_context(rng):
    sums = []
    for size in (1.0, 30.0):
        p, s = exact(theta_bound=2.0)
        s.t[0] = 60
        s.k[0] = 1
        s.theta[0, 0] = 1.0
        s.V_inv[0] = 0.1 * np.eye(2)
        context = size * np.array([0.6, 0.8])
        shuffle.update(p, s, 0, context, 1.0, rng)
        sums.append(s.counts)
    assert sums[0] == pytest.approx(sums[1])
    assert sums[0][0] > 0


def test_the_ridge_is_two_deviations_of_the_noise_that_is_drawn(rng):
    """1 + 2 sqrt(d) times that of an entry of the released matrix; 6 standard errors."""
    p = noisy(theta_bound=2.0, kappa_star=9.0).params
    users = np.diff(p.ends, prepend=0)
    for k in range(2):
        coins = users[k] * p.bits_matrix[k]
        ones = rng.binomial(coins, 0.25, 5000)
        spread = 2 * p.caps[k] / p.levels[k] * ones.std()
        wanted = 1.0 + 2.0 * np.sqrt(3.0) * spread
        assert p.ridge[k] == pytest.approx(wanted, rel=0.06)


def test_the_ridge_is_one_without_noise():
    assert exact()[0].ridge.tolist() == [1.0, 1.0]


def test_the_guarantee_is_that_of_the_worst_batch():
    policy = noisy(first=60)
    users = np.diff(policy.params.ends, prepend=0)
    proved = []
    for n in users[:-1].tolist():
        *_, epsilon = shuffle.calibrated(n, 3, 20, 1.0, 0.01)
        proved.append(epsilon)
    assert min(proved) < policy.guarantee.epsilon == max(proved) <= 1.0


@pytest.mark.parametrize(("epsilon", "gamma"), [(0.25, 2.0), (4.0, 1.0), (np.inf, 1.0)])
def test_the_width_follows_the_budget(epsilon, gamma):
    p = noisy(400, epsilon, kappa=9.0).params
    assert p.widths == pytest.approx([3.0 * gamma, gamma])


def test_the_printed_widths_all_have_the_root_of_kappa():
    p, _ = exact(kappa=9.0, widths="paper")
    assert p.widths == pytest.approx([3.0, 3.0])


# --- batches, bits, calibration


@pytest.mark.parametrize(
    ("T", "first", "expected"),
    [
        (10**5, 668, [668, 2114, 97218]),
        (10**4, 200, [200, 164, 2104, 7532]),
        (10**6, 2000, [2000, 998000]),
    ],
)
def test_lengths_of_batches(T, first, expected):
    assert shuffle.batch_lengths(T, len(expected), first).tolist() == expected


@pytest.mark.parametrize(("T", "M"), [(2, 2), (7, 5), (400, 3), (10**6, 6)])
def test_batches_fill_the_horizon(T, M):
    lengths = shuffle.batch_lengths(T, M)
    assert len(lengths) == M
    assert lengths.sum() == T
    assert lengths.min() >= 1


@pytest.mark.parametrize(
    ("n", "entries", "rho", "ratio", "expected"),
    [
        (1000, 3, 0.01, 1.0, (64, 1176)),
        (250, 3, 0.05, 1.0, (32, 248)),
        (600, 6, 0.1, 0.70711, (49, 63)),
    ],
)
def test_bits(n, entries, rho, ratio, expected):
    levels = shuffle.n_levels(n, 3)
    bits = shuffle.noise_bits(n, levels, entries, ratio, rho, 1.02)
    assert (levels, bits) == expected


def test_levels_follow_the_dimension_where_it_is_largest():
    assert shuffle.n_levels(100, 50) == 50
    assert shuffle.n_levels(1, 2) == 4


@pytest.mark.parametrize("n", [60, 668])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_calibration_is_proved_and_not_wasteful(n, epsilon):
    *bits, proved = shuffle.calibrated(n, 3, 20, epsilon, 0.01)
    assert 0.9 * epsilon < proved <= epsilon
    entered = shuffle.releases(n, 3, 20, *bits)
    assert entered[1].times == 20
    assert releases_delta(epsilon, entered) <= 0.01
    half = [r._replace(bits=r.bits // 2) for r in entered]
    assert releases_delta(epsilon, half) > 0.01


def test_the_printed_calibration_splits_both_halves_of_the_budget():
    """Algorithm 7: epsilon/2 over 2 sqrt(2 N log(2/delta)) a gradient, delta/2 over N +
    1."""
    delta = 0.01
    b_matrix, b_gradient, _ = shuffle.calibrated(500, 3, 20, 1.0, delta, "paper")
    unit = 24e4 * 45**2 / 500  # 2 sqrt(500) is 45, rounded up
    log_term = np.log(40 / (delta / 2))
    wanted = unit * (log_term / 0.5) ** 2
    assert b_matrix == np.ceil(wanted)
    step = 0.5 / (2 * np.sqrt(2 * 20 * np.log(2 / delta)))
    log_term = np.log(40 / (delta / 2 / 21))
    wanted = unit * (log_term / step) ** 2
    assert b_gradient == pytest.approx(wanted, rel=1e-9)


def test_the_printed_calibration_claims_what_is_asked():
    policy = noisy(calibration="paper")
    assert policy.guarantee.claimed == (1.0, 0.01)
    assert 0 <= policy.guarantee.epsilon < 0.1


@pytest.mark.parametrize(
    ("entries", "ratio"), [(3, shuffle.GRADIENT_RATIO), (6, shuffle.MATRIX_RATIO)]
)
def test_the_bounds_on_movement_hold_for_every_pair_of_users(entries, ratio):
    """Integers of message level, with shared randomness in rounding, over random pairs of
    users: gradients of norm 1, and triangles of x x'."""
    draws = np.random.default_rng(2)
    levels = shuffle.n_levels(100, 3)
    worst = 0.0
    for _ in range(4000):
        u = draws.random(entries)
        parts = []
        for x in draws.standard_normal((2, 3)):
            v = x / np.linalg.norm(x)
            if entries == 6:
                unit = v
                v = np.zeros(6)
                add_packed(1.0, 1.0, unit, v)
            rounded = np.floor((v + 1) * levels / 2 + u)
            parts.append(rounded)
        moved = np.linalg.norm(parts[0] - parts[1])
        worst = max(worst, moved)
    assert 0.95 * levels * ratio < worst
    assert worst <= shuffle.sensitivity(levels, entries, ratio)


def test_no_entry_moves_further_than_the_proof_allows():
    """n = 100, d = 3: 20 levels; rounding adds below one."""
    entered = shuffle.releases(100, 3, 20, 5, 5)
    assert [r.largest for r in entered] == [21, 21]


# --- what the analyser sees


def test_no_bits_are_exact_sums(rng):
    sums = np.zeros(2)
    out = np.empty(2)
    for v in np.array([[0.3, -0.2], [0.1, 0.2]]):
        shuffle.send(rng, v, 1.0, 4, 0, sums)
    shuffle.analyse(rng, sums, 2, 1.0, 4, 0, out)
    assert out == pytest.approx([0.4, 0.0])
    assert not sums.any()  # for the next batch


def test_a_released_matrix_has_eigenvalues_of_half_the_ridge(rng):
    p, s = exact()
    # exact sums that noise might have made: rows (11), (21, 22)
    s.counts[:] = -3.0, 0.0, 3.0
    shuffle.release_matrix(p, s, 0, rng)
    V = np.diag([0.5, 4.0])
    np.testing.assert_allclose(s.V[0], V, atol=1e-12)
    np.testing.assert_allclose(s.V_inv[0] @ V, np.eye(2), atol=1e-12)


# --- designs


@pytest.mark.parametrize(
    ("middle", "expected"),
    [(0.6, [0.5, 0.5, 0.0]), (0.8, [0.410, 0.410, 0.180])],
)
def test_a_design_by_hand(middle, expected):
    """An arm between two unit vectors is left out if it is too short."""
    arms = np.array([[1, 0], [0, 1], [middle, middle]])
    pi, *_ = design(arms, 1.0001, 9999)
    assert pi == pytest.approx(expected, abs=2e-3)


def test_the_rank_of_arms_on_a_line_is_one():
    _, _, rank, _ = design(np.outer([1.0, 2.0, -3.0], [0.6, 0.8]))
    assert rank == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    "arms", [np.zeros((3, 2)), np.full((3, 2), 1e-156), np.ones((1, 2))]
)
def test_of_arms_that_are_zero_or_alone_the_first_gets_everything(arms):
    pi, *_ = design(arms)
    assert pi.tolist() == [1.0] + [0.0] * (len(arms) - 1)


@pytest.mark.parametrize("seed", range(4))
def test_a_design_is_certified(seed):
    A = np.random.default_rng(seed).standard_normal((12, 4))
    A *= [3, 1, 1, 0.1]
    pi, largest, rank, _ = design(A, tolerance=1.05)
    squares = forms(A, A.T @ (pi[:, None] * A))
    assert squares.max() == pytest.approx(largest, rel=1e-5)
    assert largest <= 1.05 * rank + 1e-9
    assert pi @ squares == pytest.approx(4.0, rel=1e-6)


def test_arms_of_a_design_are_scaled_by_the_roots_of_their_weights():
    """After the first batch, score 0 and no doubt: weight 1/4, the root is 1/2; before it
    1."""
    p, s = exact()
    s.alive[:] = 1
    for k, root in ((0, 1.0), (1, 0.5)):
        s.k[0] = k
        shuffle.scale_arms(p, s, np.eye(2))
        np.testing.assert_allclose(s.A, root * np.eye(2))


def test_an_arm_whose_upper_end_meets_the_lower_one_stays():
    """Scores 0 and -1, half-widths 1/2 each."""
    p, s = exact()
    s.k[0] = 1
    s.V_inv[0] = (0.5 / p.widths[0]) ** 2 * np.eye(2)
    s.theta[0] = [0.0, -1.0]
    assert shuffle.eliminate(p, s, np.eye(2)) == (2, 1)
