"""ShuffleGLM: its plain version, batches, bits, designs, eliminations, what the analyser
sees."""

import numpy as np
import pytest
from plain import plain
from scipy import stats as sps

from companion.accounting.binomial import releases_delta
from companion.kernels.mechanisms import add_packed
from companion.private_glm import shuffle_glm as shuffle
from companion.private_glm.environments import world
from companion.private_glm.shuffle_glm import design, init, shuffle_glm
from evidence.attacks.shuffle_glm import own_attacks


def test_without_noise_every_arm_is_that_of_the_plain_version():
    X, R, _ = next(world("ball", 3, 2.0, K=6).blocks(900, np.random.default_rng(4)))
    policy = shuffle_glm(
        3,
        6,
        900,
        epsilon=np.inf,
        delta=0.01,
        theta_bound=2.0,
        kappa=9.0,
        gamma=0.4,
        first=100,
    )
    arms = np.empty(900, np.int64)
    state = init(policy.params)
    ends = policy.params.ends
    policy.play(policy.params, state, X, R, np.random.default_rng(0), arms)
    twin = plain("shuffle_glm", np=np)["shuffle_glm_plain"]
    found, theta = twin(X, R, ends, 9.0, 0.4, 2.0, 20, np.random.default_rng(0))
    assert np.array_equal(arms, found)
    np.testing.assert_allclose(state.theta[:2], theta[:2], atol=1e-9)
    assert state.k[0] == 2
    assert state.alive.sum() < 6  # arms were ruled out


def test_weights_are_capped_whatever_the_estimate_says():
    policy = shuffle_glm(
        2,
        3,
        400,
        epsilon=1.0,
        delta=0.01,
        theta_bound=2.0,
        kappa_star=9.0,
    )
    p = policy.params
    s = init(policy.params)
    assert p.caps.tolist() == [1.0, 1 / 9, 1 / 9]
    s.k[0] = 1
    for theta in ([0.0, 0.0], [2.0, 0.0], [-1.0, 1.0]):
        s.theta[0, :] = theta
        for x in np.eye(2):
            assert (
                shuffle.weight(p.link, x @ theta, 0.0, p.theta_bound, p.caps[1]) <= 1 / 9
            )
    assert (
        shuffle_glm(2, 3, 400, epsilon=1.0, delta=0.01, link="logistic").params.caps[1]
        == 0.25
    )


def test_a_message_has_the_weight_of_the_clipped_context():
    p = shuffle_glm(
        2,
        3,
        400,
        epsilon=np.inf,
        delta=0.01,
        theta_bound=2.0,
        first=50,
    ).params
    sums = []
    for size in (1.0, 30.0):
        s = init(p)
        s.t[0] = 60
        s.k[0] = 1
        s.theta[0, 0], s.V_inv[0] = 1.0, 0.1 * np.eye(2)
        context = size * np.array([0.6, 0.8])
        shuffle.update(p, s, 0, context, 1.0, np.random.default_rng(0))
        sums.append(s.counts.copy())
    assert sums[0] == pytest.approx(sums[1])
    assert sums[0][0] > 0


def test_the_ridge_is_two_deviations_of_the_noise_that_is_drawn():
    """1 + 2 sqrt(d) times that of an entry of the released matrix; 6 standard errors."""
    policy = shuffle_glm(
        3,
        4,
        1000,
        epsilon=1.0,
        delta=0.01,
        theta_bound=2.0,
        kappa_star=9.0,
    )
    p = policy.params
    rng = np.random.default_rng(1)
    users = np.diff(p.ends, prepend=0)[:-1]
    for n, b, cap, k, ridge in zip(
        users,
        p.bits_matrix,
        p.caps,
        p.levels,
        p.ridge,
        strict=False,
    ):
        spread = 2 * cap / k * rng.binomial(n * b, 0.25, 5000).std()
        assert ridge - 1.0 == pytest.approx(2.0 * np.sqrt(3.0) * spread, rel=0.06)
    assert shuffle_glm(3, 4, 1000, epsilon=np.inf, delta=0.01).params.ridge.tolist() == [
        1.0,
        1.0,
    ]


def test_the_guarantee_is_that_of_the_worst_batch():
    policy = shuffle_glm(3, 4, 1000, epsilon=1.0, delta=0.01, first=60)
    users = np.diff(policy.params.ends, prepend=0)[:-1]
    proved = [shuffle.calibrated(int(n), 3, 20, 1.0, 0.01)[2] for n in users]
    assert min(proved) < policy.guarantee.epsilon == max(proved) <= 1.0


def test_the_width_follows_the_budget():
    for epsilon, gamma in ((0.25, 2.0), (4.0, 1.0), (np.inf, 1.0)):
        p = shuffle_glm(3, 4, 400, epsilon=epsilon, delta=0.01, kappa=9.0).params
        assert p.widths == pytest.approx([3.0 * gamma, gamma])
    printed = shuffle_glm(3, 4, 400, epsilon=1.0, delta=0.01, kappa=9.0, widths="paper")
    assert printed.params.widths == pytest.approx([3.0, 3.0])


def tri(x):
    out = np.zeros(6)
    add_packed(1.0, 1.0, x, out)
    return out


def test_schedules():
    assert shuffle.batch_lengths(10**5, 3, 668).tolist() == [668, 2114, 97218]
    assert shuffle.batch_lengths(10**4, 4, 200).tolist() == [200, 164, 2104, 7532]
    assert shuffle.batch_lengths(10**6, 2, 2000).tolist() == [2000, 998000]
    for T, M in ((2, 2), (7, 5), (400, 3), (10**6, 6)):
        n = shuffle.batch_lengths(T, M)
        assert (n.sum(), len(n)) == (T, M)
        assert n.min() >= 1


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
    assert (levels, shuffle.noise_bits(n, levels, entries, ratio, rho, 1.02)) == expected


@pytest.mark.parametrize("n", [60, 668])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_calibration_is_proved_and_not_wasteful(n, epsilon):
    *bits, proved = shuffle.calibrated(n, 3, 20, epsilon, 0.01)
    assert 0.9 * epsilon < proved <= epsilon
    found = shuffle.releases(n, 3, 20, *bits)
    assert found[1].times == 20
    assert releases_delta(epsilon, found) <= 0.01
    half = [r._replace(bits=r.bits // 2) for r in found]
    assert releases_delta(epsilon, half) > 0.01


def test_the_bounds_on_movement_hold_for_every_pair_of_users():
    """Integers of message level, with shared randomness in rounding, over random pairs of
    users."""
    rng = np.random.default_rng(2)
    n = 100
    levels = shuffle.n_levels(n, 3)
    worst = [0.0, 0.0]
    for _ in range(4000):
        x, y = rng.standard_normal((2, 3))
        x = x / np.linalg.norm(x)
        y = y / np.linalg.norm(y)
        u = rng.random(6)
        for i, (a, b) in enumerate(((x, y), (tri(x), tri(y)))):
            parts = [np.floor((v + 1) * levels / 2 + u[: len(v)]) for v in (a, b)]
            worst[i] = max(worst[i], np.linalg.norm(parts[0] - parts[1]))
    assert (
        0.95 * levels < worst[0] <= shuffle.sensitivity(levels, 3, shuffle.GRADIENT_RATIO)
    )
    assert (
        0.95 * levels * np.sqrt(0.5)
        < worst[1]
        <= shuffle.sensitivity(levels, 6, shuffle.MATRIX_RATIO)
    )


def test_the_printed_calibration_splits_both_halves_of_the_budget():
    """Algorithm 7: epsilon/2 over 2 sqrt(2 N log(2/delta)) a gradient, delta/2 over N +
    1."""
    n = 500
    d = 3
    N = 20
    e = 1.0
    delta = 0.01
    *bits, _ = shuffle.calibrated(n, d, N, e, delta, "paper")
    g = 45  # 2 sqrt(500), rounded up
    assert bits[0] == np.ceil(24e4 * (g * np.log(40 / (delta / 2)) / (e / 2)) ** 2 / n)
    step = e / 2 / (2 * np.sqrt(2 * N * np.log(2 / delta)))
    wanted = 24e4 * (g * np.log(40 / (delta / 2 / (N + 1))) / step) ** 2 / n
    assert bits[1] == pytest.approx(wanted, rel=1e-9)
    said = shuffle_glm(3, 4, 1000, epsilon=1.0, delta=0.01, calibration="paper").guarantee
    assert said.claimed == (1.0, 0.01)
    assert 0 <= said.epsilon < 0.1


def test_no_bits_are_exact_sums():
    sums = np.zeros(2)
    out = np.empty(2)
    shuffle.send(np.random.default_rng(0), np.array([0.3, -0.2]), 1.0, 4, 0, sums)
    shuffle.send(np.random.default_rng(0), np.array([0.1, 0.2]), 1.0, 4, 0, sums)
    shuffle.analyse(np.random.default_rng(0), sums, 2, 1.0, 4, 0, out)
    assert out == pytest.approx([0.4, 0.0])
    assert not sums.any()  # for the next batch


def test_a_released_matrix_has_eigenvalues_of_half_the_ridge():
    p = shuffle_glm(2, 2, 400, epsilon=np.inf, delta=0.01, first=50).params
    s = init(p)
    # exact sums that noise might have made: rows (11), (21, 22)
    s.counts[:] = -3.0, 0.0, 3.0
    shuffle.release_matrix(p, s, 0, np.random.default_rng(0))
    np.testing.assert_allclose(s.V[0], np.diag([0.5, 4.0]), atol=1e-12)
    np.testing.assert_allclose(s.V_inv[0], np.diag([2.0, 0.25]), atol=1e-12)


def test_designs():
    pi, largest, rank, _ = design(
        np.vstack([np.eye(3)] + [np.eye(3)[:1]] * 5),
        tolerance=1.0001,
    )
    assert pi[1:3] == pytest.approx([1 / 3] * 2, abs=2e-3)  # one direction has six copies
    assert (largest / rank, rank) == (
        pytest.approx(1.0, abs=1e-3),
        pytest.approx(3.0, abs=1e-6),
    )
    assert design(np.array([[1, 0], [0, 1], [0.6, 0.6]]), 1.002, 9999)[0][2] < 0.01
    pi, *_ = design(np.array([[1, 0], [0, 1], [0.8, 0.8]]), 1.0001, 9999)
    assert pi == pytest.approx([0.410, 0.410, 0.180], abs=2e-3)
    _, _, rank, _ = design(np.outer([1.0, 2.0, -3.0], [0.6, 0.8]))
    assert rank == pytest.approx(1.0, abs=1e-6)
    for size in (0.0, 1e-156):
        assert design(np.full((3, 2), size))[0].tolist() == [1.0, 0.0, 0.0]
    assert design(np.ones((1, 2)))[0].tolist() == [1.0]


@pytest.mark.parametrize("seed", range(4))
def test_a_design_is_certified(seed):
    A = np.random.default_rng(seed).standard_normal((12, 4)) * [3, 1, 1, 0.1]
    pi, g, rank, _ = design(A, tolerance=1.05)
    widths = np.einsum("ki,ij,kj->k", A, np.linalg.inv(A.T @ (pi[:, None] * A)), A)
    assert widths.max() == pytest.approx(g, rel=1e-5)
    assert g <= 1.05 * rank + 1e-9
    assert pi @ widths == pytest.approx(4.0, rel=1e-6)


def test_dead_arms_get_nothing_and_draws_follow_the_design():
    A = np.eye(3)
    alive = np.array([1, 0, 1])
    pi = np.zeros(3)
    shuffle.g_optimal(A, alive, 2.0, 100, pi, shuffle.work_for(3, 3))
    assert pi.tolist() == [0.5, 0.0, 0.5]
    rng = np.random.default_rng(0)
    drawn = np.bincount(
        [shuffle.draw(np.array([0.2, 0.5, 0.3]), rng) for _ in range(20_000)],
        minlength=3,
    )
    assert sps.chisquare(drawn, [4000, 10_000, 6000]).pvalue > 1e-7


def test_without_noise_the_analyser_sees_the_matrix_of_the_last_user():
    """e_1 e_1' and e_2 e_2' packed as (11, 21, 22), and a context of length 2 is
    clipped."""
    (attack,) = own_attacks(shuffle_glm(2, 3, 400, epsilon=np.inf, delta=0.01))
    rng = np.random.default_rng(0)
    seen = [attack.mechanism(x, rng, 2) for x in (attack.a, attack.b, 2.0 * attack.a)]
    assert [rows.tolist() for rows in seen] == [
        [[1.0, 0.0, 0.0]] * 2,
        [[0.0, 0.0, 1.0]] * 2,
        [[1.0, 0.0, 0.0]] * 2,
    ]
    assert (attack.statistic(seen[0]) - attack.statistic(seen[1])).tolist() == [2.0, 2.0]


def test_arms_of_a_design_are_scaled_by_the_roots_of_their_weights():
    """After the first batch, score 0 and no doubt: weight 1/4, the root is 1/2; before it
    1."""
    p = shuffle_glm(2, 2, 400, epsilon=np.inf, delta=0.01, first=50).params
    s = init(p)
    X = np.eye(2)
    s.alive[:] = 1
    shuffle.scale_arms(p, s, X)
    np.testing.assert_array_equal(s.A, X)
    s.k[0] = 1
    shuffle.scale_arms(p, s, X)
    np.testing.assert_allclose(s.A, 0.5 * X)


def test_no_entry_moves_further_than_the_proof_allows():
    """n = 100, d = 3: 20 levels; rounding adds below one."""
    found = shuffle.releases(100, 3, 20, 5, 5)
    assert [r.largest for r in found] == [21, 21]


def test_levels_follow_the_dimension_where_it_is_largest():
    assert shuffle.n_levels(100, 50) == 50
    assert shuffle.n_levels(1, 2) == 4


def test_an_arm_whose_upper_end_meets_the_lower_one_stays():
    """Scores 0 and -1, half-widths 1/2 each."""
    p = shuffle_glm(2, 2, 400, epsilon=np.inf, delta=0.01, first=50).params
    s = init(p)
    s.k[0], s.V_inv[0] = 1, (0.5 / p.widths[0]) ** 2 * np.eye(2)
    s.theta[0] = 0.0, -1.0
    assert shuffle.eliminate(p, s, np.eye(2)) == (2, 1)


def test_a_single_arm_that_is_left_gets_everything():
    """Not the first one, and with zeros before and after it."""
    pi = np.zeros(3)
    shuffle.g_optimal(
        np.eye(3),
        np.array([0, 1, 0]),
        2.0,
        100,
        pi,
        shuffle.work_for(3, 3),
    )
    assert pi.tolist() == [0.0, 1.0, 0.0]
