"""LPLR's experiments: grouped sums have the law of messages; bandit runs; closed forms by
hand."""

import math
from functools import partial
from importlib import import_module

import numpy as np
import pytest
from scipy import stats as sps

from companion.lplr import environments, experiments
from companion.lplr.lplr import fit_users, lplr, lplr_params
from companion.lplr.ssp import allocate_model, ssp_params, suffstats
from companion.simulate import repetitions, simulate, stream
from evidence.attacks import lplr as attacks

alg = import_module("companion.lplr.lplr")  # the package gives its name to the factory

ALARM = 1e-7  # false-alarm rate of every statistical test below


def test_a_whole_fit_from_sums_has_the_law_of_the_message_level_fit():
    design = environments.split(0.3, (0.6, -0.6))
    users = 400
    slow = np.empty((600, 2))
    oracle = lplr_params(2, users, 20.0, M=3, threshold=5.0)
    rng = np.random.default_rng([8])
    fast = experiments.estimate_lplr(design, oracle, users, repetitions(8, 600))
    law = experiments.drawn(design, 1, True)
    for row in slow:
        pick = rng.integers(0, 2, users)
        liked = rng.random(users) < 0.5 + 0.5 * design.means[pick]
        labels = np.where(liked, 1.0, -1.0)
        tree = fit_users(oracle, design.points[pick], labels, rng)
        own = experiments.score(oracle, tree, law, np.empty(2))
        row[0] = own.mad
        row[1] = own.width
    assert sps.ks_2samp(fast.mad, slow[:, 0]).pvalue > ALARM
    assert sps.ks_2samp(fast.width, slow[:, 1]).pvalue > ALARM


def test_least_squares_in_the_ball_fulfil_the_conditions_of_optimality(rng):
    """Inside the ball the gradient is 0, on its edge it points inwards."""
    norms = []
    for m in (1, 2, 3, 5):
        A = rng.standard_normal((m, m))
        b = rng.standard_normal(m) * 3
        for c in (-1.0, 0.0, 0.5, 20.0):
            square = A @ A.T + c * np.eye(m)
            out = experiments.ball_least_squares(square, b)
            values, basis = np.linalg.eigh(square)
            positive = (basis * np.maximum(values, 0.0)) @ basis.T
            gradient = positive @ out - b
            length = np.linalg.norm(out)
            norms.append(length)
            multiplier = -(gradient @ out) / (out @ out)
            assert multiplier >= -1e-9
            assert abs(multiplier) < 1e-9 or length == pytest.approx(1)
            np.testing.assert_allclose(gradient, -multiplier * out, atol=1e-7)
    assert min(norms) < 0.9
    assert 1 - 1e-9 < max(norms) < 1 + 1e-9


@pytest.mark.parametrize(
    ("A", "b", "found"),
    [
        ([[-3.0]], [-1e-3], [-1.0]),  # A is set to 0
        (np.diag([2.0, 0.0]), [1.0, 0.0], [0.5, 0.0]),
    ],
)
def test_least_squares_of_matrices_that_are_not_positive(A, b, found):
    assert experiments.ball_least_squares(A, b) == pytest.approx(found)


def law_of(points, means, prob):
    """A law whose points all go to one oracle."""
    return environments.Law(
        points=np.array(points),
        means=np.array(means),
        prob=np.array(prob),
        owner=np.zeros(len(points), dtype=np.int64),
        signs=True,
    )


def test_errors_of_an_estimate_by_hand():
    """theta = (1/2, 0) misses 0.7 by 0.2 and 0.1 by 0.1, with chances 1/4 and 3/4."""
    model = allocate_model(2)
    model.mat[:] = 2 * np.eye(2)
    model.vec[:] = [1.0, 0.0]
    law = law_of(np.eye(2), [0.7, 0.1], [0.25, 0.75])
    assert experiments.theta_error(model, law) == pytest.approx((0.125, 0.0175))


@pytest.mark.parametrize(
    ("make", "oracle", "options"),
    [
        (lplr, "lplr", {"gamma": 4.0}),
        (lplr, "lplr", {"gamma": 4.0, "per_action": True}),
        (suffstats, "ssp", {}),
    ],
)
def test_fast_path_has_the_law_of_rounds_played_where_something_was_learned(
    make,
    oracle,
    options,
):
    """Rewards 0.9 and -0.9: a coin decides, until an epoch ends that tells the two arms
    apart.

    Two runs of uniform play would agree whatever the code does, so what was learned is
    checked.
    """
    T = 4000
    bandit = environments.contexts([[[0.9, 0.0], [-0.9, 0.0]]], [1.0, 0.0])
    policy = make(2, T, 2, epsilon=1000.0, **options)
    result = simulate(bandit, [policy], T, repetitions(5, 60), grid=[128, 2000, T])
    early, middle, final = result.regret[:, 0].T
    uniform = 0.9 * result.rounds  # regret of random play
    assert (np.abs(early / uniform[0] - 1) < 0.5).all()
    assert (final < 0.5 * uniform[-1]).all()
    assert (middle == final).mean() > 0.9
    fast = experiments.eliminate_with(
        oracle,
        bandit,
        T,
        repetitions(20, 2000),
        epsilon=1000.0,
        **options,
    )
    assert sps.ks_2samp(final, fast.regret).pvalue > ALARM


def test_theorem_1_by_hand():
    """Where e^epsilon = 2: c = 1/(4 sqrt 2), share c/100, bound 3c/1600."""
    share, bound = experiments.theorem_1(10**4, math.log(2))
    assert share == pytest.approx(0.001767767, rel=1e-5)
    assert bound == pytest.approx(0.000331456, rel=1e-5)


def test_theorem_1_needs_a_share_below_1():
    """1/(32 (e^0.01 - 1)^2) = 309.4 users."""
    with pytest.raises(ValueError, match="n=309"):
        experiments.theorem_1(309, 0.01)
    assert experiments.theorem_1(310, 0.01)[0] == pytest.approx(0.999, abs=1e-3)


def test_chance_of_an_impossible_matrix_by_hand():
    """With c = 4.5/epsilon, |v|^2/2c = epsilon |v|^2/9."""
    assert experiments.support_violation(1.0) == pytest.approx(0.1051607, rel=1e-6)
    assert experiments.support_violation(9.0, 0.5) == pytest.approx(1 - math.exp(-0.25))


def _message_by_message(m, epsilon, n, second, runs, rng):
    """Sums of the log-likelihood ratio (runs,), every user's message drawn as the theorem
    says."""
    s = m * rng.choice([-1.0, 1.0], (runs, n))
    v = s + rng.laplace(0, 1 / epsilon, (runs, n))
    w = rng.laplace(0, 1 / epsilon, (runs, n))
    if second:
        w += s / 2
    near = -epsilon * abs(v - m)
    far = -epsilon * abs(v + m)
    first = np.logaddexp(near, far) - epsilon * abs(w)
    near -= epsilon * abs(w - m / 2)
    far -= epsilon * abs(w + m / 2)
    return (np.logaddexp(near, far) - first).sum(axis=1)


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize(
    ("m", "epsilon", "n"),
    [(0.7, 1.3, 20), (2.5, 0.5, 6), (0.08, 1.0, 300)],
)
def test_counted_users_have_the_law_of_drawn_ones(m, epsilon, n, second):
    """10,000 sums each; a false alarm has chance 2e-4 in each of six settings."""
    rng = np.random.default_rng(5)
    slow = _message_by_message(m, epsilon, n, second, 10_000, rng)
    fast = np.empty(10_000)
    for i in range(10_000):
        fast[i] = experiments._sum_of_ratios(m, epsilon, n, second, rng)
    assert sps.ks_2samp(slow, fast).pvalue > 1e-4
    assert sps.ttest_ind(slow, fast).pvalue > 1e-4


@pytest.mark.parametrize(
    ("width", "alive", "bound"),
    [(0.2, [1, 0], 0.0), (0.4, [1, 1], 0.8)],
)
def test_an_arm_leaves_where_its_upper_end_is_below_a_lower_one(width, alive, bound):
    """Means 0.3 and -0.3, half-widths 0.2: ends 0.1 and -0.1; half-widths of 0.4
    overlap."""
    game = experiments.game_of(environments.contexts([[[0.3], [-0.3]]], [1.0]))
    log = np.zeros(5)
    game.alive[:] = 1
    game.f[:] = [[0.3, -0.3]]
    game.width[:] = width
    experiments.eliminate_and_log(game, log)
    assert game.alive.tolist() == [alive]
    assert log[experiments.LOST] == 0.0
    assert log[experiments.MISSED] == 0.0
    assert log[experiments.BOUND] == pytest.approx(bound)


BANDIT = environments.hard_bandit(1, 0.5)
DESIGN = environments.constant(0.5)
ORACLE = lplr_params(1, 10**4)


PER_ACTION = partial(experiments.eliminate_with, per_action=True)


@pytest.mark.parametrize(
    ("name", "make", "arguments"),
    [
        ("per_action", PER_ACTION, ("ssp", BANDIT, 100, [0])),
        ("T must be", experiments.eliminate_with, ("lplr", BANDIT, 3, [0])),
        ("oracle", experiments.eliminate_with, ("x", BANDIT, 1000, [0])),
        ("n must be", experiments.estimate_lplr, (DESIGN, ORACLE, 1, [0])),
        ("n must be", experiments.estimate_lplr, (DESIGN, ORACLE, 10**18 + 10**3, [0])),
        ("r ", environments.hard_bandit, (3, 0.61)),
        ("d ", environments.family, ("ball", 1e30, 100)),
        ("points", environments.split, (0.9,)),
        ("theta", environments.design, ([[1, 0]], [1, 1])),
        ("prob", environments.rare, (1.1,)),
    ],
)
def test_runs_estimates_and_designs_refuse_by_name(name, make, arguments):
    with pytest.raises(ValueError, match=name):
        make(*arguments)


# --- what is counted and logged
# -----------------------------------------------------------------


def test_powers_end_at_the_last_one_that_is_no_larger():
    assert experiments.powers(2, 10, 2000) == [2, 20, 200, 2000]
    assert experiments.powers(2, 10, 1999) == [2, 20, 200]


@pytest.fixture
def game():
    """Two contexts with two arms each, all alive, the second three times as likely."""
    X = [[[0.5], [-0.5]], [[0.3], [-0.3]]]
    made = experiments.game_of(environments.contexts(X, [1.0], [0.25, 0.75]))
    made.alive[:] = 1
    return made


def test_uniform_play_shares_a_context_among_the_arms_alive(game):
    game.alive[0, 1] = 0
    experiments.play_uniformly(game)
    assert game.law.prob == pytest.approx([0.25, 0.0, 0.375, 0.375])


def test_regret_is_counted_by_plays_and_plays_are_counted_once(game):
    """Gaps of 1 and 0.6, played 3 times and 5 times."""
    game.users.plays[:] = [7, 3, 9, 5]
    assert experiments.count_regret(game) == pytest.approx(3 * 1.0 + 5 * 0.6)
    assert experiments.count_regret(game) == 0.0


def test_the_bound_of_a_round_is_the_mean_over_contexts_of_the_arms_left(game):
    """Both arms are left in both: 2 (w + w*) of one arm of two, 0.8 and 1.2; one interval
    of four misses its mean, none in which the best arm is lost."""
    log = np.zeros(5)
    game.f[:] = [[0.5, -0.1], [0.3, -0.3]]
    game.width[:] = [[0.5, 0.3], [0.7, 0.5]]
    experiments.eliminate_and_log(game, log)
    assert game.alive.all()
    assert log[experiments.BOUND] == pytest.approx(0.25 * 1.6 / 2 + 0.75 * 2.4 / 2)
    assert log[experiments.MISSED] == 1.0
    assert log[experiments.LOST] == 0.0


def test_best_arms_that_leave_are_lost(game):
    log = np.zeros(5)
    game.width[:] = 0.01
    game.f[:] = [[-0.5, 0.5], [-0.3, 0.3]]
    experiments.eliminate_and_log(game, log)
    assert log[experiments.LOST] == 2.0


def test_lplr_asks_the_users_of_all_stages_but_the_second(game, rng):
    """d = 1, 43 rounds: two stages of 21 users, of which the first is asked."""
    oracle = lplr_params(1, 100, math.inf, M=2, threshold=0.0)
    experiments.play_uniformly(game)
    forest = alg.allocate_tree(oracle, 1)
    assert experiments.learn_lplr(oracle, forest, game, 43, rng) == 21
    assert game.users.plays.sum() == 21


def test_sufficient_statistics_ask_everybody(game, rng):
    experiments.play_uniformly(game)
    oracle = ssp_params(1, math.inf)
    model = allocate_model(1)
    assert experiments.learn_ssp(oracle, model, game, 43, rng) == 43
    assert game.users.plays.sum() == 43


# --- what a fitted tree says
# --------------------------------------------------------------------


def small_tree():
    """d = 2: bin 0 of layer 1 with half-width 0.1 and coefficient 0.3, below it two bins
    with half-width 0 and a quarter."""
    oracle = lplr_params(2, 10**4, 1.0, M=2)
    tree = attacks.public_state(oracle, 0.3, 0.1)
    tree.stat[tree.start[1] + 1, alg.FLAT] = 0.25
    return oracle, tree


POINTS = [[0.6, 0.5], [0.9, 0.3]]  # what is left falls into bins 0 and 1 of layer 2


def test_a_summary_names_bins_after_their_parents():
    oracle, tree = small_tree()
    tree.stat[tree.start[1], alg.COUNT] = 30.0
    rows = experiments.tree_summary(oracle, tree, 60)
    assert [row["bin"] for row in rows] == ["B0", "B1", "B00", "B01"]
    assert [row["parent"] for row in rows] == ["root", "root", "B0", "B0"]
    assert [row["layer"] for row in rows] == [1, 1, 2, 2]
    assert [row["active"] for row in rows] == [True, False, True, True]
    assert rows[2]["noisy_share"] == 0.5


def scored(points, means, prob):
    """The `Trials` of `small_tree` on these points."""
    oracle, tree = small_tree()
    law = law_of(points, means, prob)
    return experiments.score(oracle, tree, law, np.empty(2))


def test_a_score_by_hand():
    """Estimates 0.18 and 0.27 with half-widths 0.1 and 0.35, means 0.2 and 0.5."""
    found = scored(POINTS, [0.2, 0.5], [0.25, 0.75])
    assert found.mad == pytest.approx(0.25 * 0.02 + 0.75 * 0.23)
    assert found.mse == pytest.approx(0.25 * 0.0004 + 0.75 * 0.0529)
    assert found.width == pytest.approx(0.25 * 0.1 + 0.75 * 0.35)
    assert (found.covered, found.informed) == (1.0, 1.0)


def test_one_mean_outside_its_interval_is_not_covered():
    assert scored(POINTS, [0.3, 0.5], [0.25, 0.75]).covered == 0.0


def test_an_interval_as_long_as_the_vector_says_nothing():
    """(0.05, 0) is too short for any bin: half-width 0.05, its length."""
    found = scored([[0.05, 0.0], [0.6, 0.5]], [0.05, 0.2], [0.4, 0.6])
    assert found.informed == pytest.approx(0.6)
    assert found.width == pytest.approx(0.4 * 0.05 + 0.6 * 0.1)
    assert found.covered == 1.0


def test_two_hypotheses_far_apart_are_never_confused(rng):
    assert experiments.likelihood_ratio_errors(20.0, 5.0, 50, 10, rng) == 0


@pytest.fixture
def made():
    """A design that a function draws, a repetition, and its law."""

    def draw(rng):
        return environments.constant(0.5 + 0.4 * rng.random())

    (seed,) = repetitions(3, 1)
    return draw, seed, experiments.drawn(draw, seed, True)


def test_ssp_draws_its_users_from_a_stream_of_its_own(made):
    draw, seed, law = made
    model = allocate_model(1)
    users = environments.no_users(1, 1)
    rng = stream(seed, "SSP")
    experiments.ssp_sums(ssp_params(1), model, law, 40, rng, users)
    mad, _ = experiments.estimate_ssp(draw, 40, [seed], 1.0, True)
    assert mad[0] == experiments.theta_error(model, law)[0]


def test_lplr_draws_its_users_from_a_stream_of_its_own(made):
    draw, seed, law = made
    oracle = lplr_params(1, 40, 50.0, M=2)
    forest = alg.allocate_tree(oracle, 1)
    users = environments.no_users(1, 1)
    rng = stream(seed, "LPLR")
    experiments.fit_sums(oracle, forest, law, 20, rng, users)
    tree = experiments.fit_design(draw, oracle, 40, seed)
    np.testing.assert_array_equal(tree.stat, forest.stat[0])


def test_both_methods_meet_the_same_designs_at_the_same_budget():
    design = environments.constant(0.5)
    n = 4000
    seeds = [1, 2]
    ours, theirs = experiments.lplr_and_ssp(design, 1, n, seeds, 20.0)
    alone = experiments.estimate_lplr(design, lplr_params(1, n, 20.0), n, seeds)
    np.testing.assert_array_equal(ours.mad, alone.mad)
    rival = experiments.estimate_ssp(design, n, seeds, 20.0, True)
    np.testing.assert_array_equal(theirs, rival)
    weaker = experiments.estimate_ssp(design, n, seeds, 1.0, True)
    assert (theirs[0] != weaker[0]).all()


# --- designs and bandits
# ------------------------------------------------------------------------


def test_the_rare_points_of_theorem_1_have_one_chance_in_the_root_of_n():
    assert environments.family("theorem 1", 3, 100).prob == pytest.approx([0.8, 0.1, 0.1])


def test_the_second_entry_of_case_ii_by_hand():
    """16^(-1/4)/2 = 1/4."""
    points = environments.family("case II", 2, 16).points
    assert sorted(points[:, 1]) == pytest.approx([-0.25, 0.25])


def test_entries_on_a_log_scale_reach_down_to_the_root_of_n():
    """n = 10^4: from 1/100 of the largest one, and close to it among 1000."""
    points = environments.family("log-scale", 2, 10**4).points
    sizes = np.abs(points) * math.sqrt(2.0)
    assert 0.01 <= sizes.min() < 0.0105
    assert 0.95 < sizes.max() <= 1.0


def test_points_of_the_ball_are_uniform():
    """||x||^d is; 5000 points."""
    points = environments.family("ball", 3, 100, K=5000).points
    sizes = np.linalg.norm(points, axis=1)
    assert sps.kstest(sizes**3, "uniform").pvalue > ALARM


def test_the_middle_entry_of_the_hard_bandit_by_hand():
    """r = 0.5: sqrt(0.25)."""
    X = environments.hard_bandit(3, 0.5).X
    assert np.abs(X[:, :, 1]) == pytest.approx(np.full((4, 4), 0.5))


def test_arms_of_the_spread_bandit_are_opposite():
    bandit = environments.spread_bandit(2, 10**4, 1)
    assert bandit.X.shape == (250, 2, 2)
    np.testing.assert_array_equal(bandit.X[:, 1], -bandit.X[:, 0])


@pytest.mark.parametrize(("mean", "total"), [(1.0, 10.0), (-1.0, -10.0)])
def test_labels_that_are_certain_add_up(mean, total, rng):
    assert environments.label_sum(rng, 10, mean, True) == total


def test_users_fall_on_points_by_their_chances_and_the_rest_on_none(rng):
    """10^6 users; 6 standard deviations each."""
    out = np.zeros(3, np.int64)
    prob = np.array([0.2, 0.0, 0.3])
    environments.multinomial(rng, 10**6, prob, out)
    off = np.abs(out - 1e6 * prob)
    assert off.max() < 6 * 500
    assert out[1] == 0
