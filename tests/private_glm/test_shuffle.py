"""ShuffleGLM: batches, bit sums, designs, calibration; what its guarantee rests on."""

import numpy as np
import pytest
from scipy import stats as sps

from companion.binomial import releases_delta
from companion.mechanisms import shuffle_messages
from companion.private_glm import batches
from companion.private_glm.continual import Scratch
from companion.private_glm.design import design, draw, optimal, work_for
from companion.private_glm.environments import world
from companion.private_glm.experiments import covered
from companion.private_glm.learning import (
    analyse,
    batch_for,
    release_gradient,
    release_matrix,
    send,
    triangle,
)
from companion.private_glm.shuffle import eliminate, init, shuffle_glm, update, weight
from companion.simulate import repetitions, simulate


def test_schedules():
    assert batches.lengths(10**5, 3, 668).tolist() == [668, 2114, 97218]
    assert batches.lengths(10**4, 4, 200).tolist() == [200, 164, 2104, 7532]
    assert batches.lengths(10**6, 2, 2000).tolist() == [2000, 998000]
    for T, M in ((2, 2), (7, 5), (400, 3), (10**6, 6)):
        for schedule in ("corrected", "paper"):
            n = batches.lengths(T, M, schedule=schedule)
            assert n.sum() == T
            assert n.min() >= 1
            assert len(n) == M


@pytest.mark.parametrize(
    ("n", "entries", "rho", "ratio", "expected"),
    [
        (1000, 3, 0.01, 1.0, (64, 1176)),
        (10**4, 3, 0.0025, 1.0, (200, 4428)),
        (250, 3, 0.05, 1.0, (32, 248)),
        (1000, 6, 0.05, 0.70711, (64, 124)),
        (600, 6, 0.1, 0.70711, (49, 63)),
    ],
)
def test_bits(n, entries, rho, ratio, expected):
    levels = batches.resolution(n, 3)
    assert (levels, batches.bits_for(n, levels, entries, ratio, rho, 1.02)) == expected


def test_printed_bits_are_those_of_the_formula():
    """(122) at g = 64, one coordinate: 24e4 64^2 log^2(800)/1000, of which 78 suffice."""
    assert batches.printed_bits(1000, 64, 1, 1.0, 0.01) == pytest.approx(4.393e7, rel=1e-3)


@pytest.mark.parametrize("n", [60, 668])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_calibration_is_proved_and_not_wasteful(n, epsilon):
    *bits, proved = batches.calibrated(n, 3, 20, epsilon, 0.01)
    assert 0.9 * epsilon < proved <= epsilon
    found = batches.releases(n, 3, 20, *bits)
    assert found[1].times == 20
    assert releases_delta(epsilon, found) <= 0.01
    half = [r._replace(bits=r.bits // 2) for r in found]
    assert releases_delta(epsilon, half) > 0.01


def test_the_bounds_on_movement_hold_for_every_pair_of_users():
    """Integers of message level, with shared randomness in rounding, over random pairs of users."""
    rng, n = np.random.default_rng(2), 100
    levels = batches.resolution(n, 3)
    worst = [0.0, 0.0]
    for _ in range(4000):
        x, y = rng.standard_normal((2, 3))
        x, y = x / np.linalg.norm(x), y / np.linalg.norm(y)
        u = rng.random(6)
        for i, (a, b) in enumerate(((x, y), (tri(x), tri(y)))):
            parts = [np.floor((v + 1) * levels / 2 + u[: len(v)]) for v in (a, b)]
            worst[i] = max(worst[i], np.linalg.norm(parts[0] - parts[1]))
    assert 0.95 * levels < worst[0] <= batches.movement(levels, 3, batches.GRADIENT)
    assert 0.95 * levels * np.sqrt(0.5) < worst[1] <= batches.movement(levels, 6, batches.MATRIX)


def tri(x):
    out = np.zeros(6)
    triangle(1.0, x, out)
    return out


def test_aggregated_sums_have_the_law_of_messages():
    """n = 20 users, b = 5: integer sums by chi-square, message level against `send`/`analyse`."""
    rng, n, b, g, runs = np.random.default_rng(3), 20, 5, 5.0, 3000
    values, out, bits = np.linspace(-0.9, 0.8, n), np.empty(1), np.empty((1, 10 + b))
    slow, fast = [], []
    for _ in range(runs):
        total, sums = 0.0, np.zeros(1)
        for v in values:
            shuffle_messages(rng, np.array([v]), 1.0, g, b, 0.25, bits)
            total += bits.sum()
            send(rng, np.array([v]), 1.0, g, b, sums)
        analyse(rng, sums, n, 1.0, g, b, out)
        assert sums[0] == 0.0
        slow.append(round(total))
        fast.append(round((out[0] + n) * g + n * b / 4))
    edges = np.quantile(slow, np.linspace(0, 1, 9)[1:-1])
    table = [np.bincount(np.searchsorted(edges, s), minlength=8) for s in (slow, fast)]
    assert sps.chi2_contingency(table).pvalue > 1e-7
    remainder = (values + 1) * g % 1
    variance = 3 / 16 * n * b + (remainder * (1 - remainder)).sum()
    assert np.var(fast) == pytest.approx(variance, rel=0.15)
    assert np.mean(fast) == pytest.approx(((values + 1) * g).sum() + n * b / 4, abs=0.6)


def test_no_bits_are_exact_sums():
    sums, out = np.zeros(2), np.empty(2)
    send(np.random.default_rng(0), np.array([0.3, -0.2]), 1.0, 1.0, 0, sums)
    send(np.random.default_rng(0), np.array([0.1, 0.2]), 1.0, 1.0, 0, sums)
    analyse(np.random.default_rng(0), sums, 2, 1.0, 1.0, 0, out)
    assert out == pytest.approx([0.4, 0.0])


def test_designs():
    pi, g, rank, _ = design(np.vstack([np.eye(3)] + [np.eye(3)[:1]] * 5), tolerance=1.0001)
    assert pi[1:3] == pytest.approx([1 / 3] * 2, abs=2e-3)  # one direction has six copies
    assert (g / rank, rank) == (pytest.approx(1.0, abs=1e-3), pytest.approx(3.0, abs=1e-6))
    assert design(np.array([[1, 0], [0, 1], [0.6, 0.6]]), 1.002, 9999)[0][2] < 0.01
    pi, g, _, _ = design(np.array([[1, 0], [0, 1], [0.8, 0.8]]), 1.0001, 9999)
    assert pi == pytest.approx([0.410, 0.410, 0.180], abs=2e-3)
    assert g == pytest.approx(2.0, abs=1e-3)
    pi, g, rank, _ = design(np.outer([1.0, 2.0, -3.0], [0.6, 0.8]))
    assert rank == pytest.approx(1.0, abs=1e-6)
    assert pi.sum() == pytest.approx(1.0)
    assert design(np.zeros((3, 2)))[0].tolist() == [1.0, 0.0, 0.0]
    assert design(np.ones((1, 2)))[0].tolist() == [1.0]


def test_a_move_is_the_exact_line_search():
    """Five copies of one direction and one of the other: a single move reaches the optimum."""
    pi, g, rank, moves = design(np.eye(2)[[0, 0, 0, 0, 0, 1]], tolerance=1.0001)
    assert moves == 1
    assert pi[-1] == pytest.approx(0.5, abs=1e-6)
    assert g == pytest.approx(rank, rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_a_design_is_certified(seed):
    A = np.random.default_rng(seed).standard_normal((12, 4)) * [3, 1, 1, 0.1]
    pi, g, rank, _ = design(A, tolerance=1.05)
    widths = np.einsum("ki,ij,kj->k", A, np.linalg.inv(A.T @ (pi[:, None] * A)), A)
    assert widths.max() == pytest.approx(g, rel=1e-5)
    assert g <= 1.05 * rank + 1e-9
    assert pi @ widths == pytest.approx(4.0, rel=1e-6)


def test_dead_arms_get_nothing_and_draws_follow_the_design():
    A, alive, pi = np.eye(3), np.array([1, 0, 1]), np.zeros(3)
    optimal(A, alive, 2.0, 100, pi, work_for(3, 3))
    assert pi.tolist() == [0.5, 0.0, 0.5]
    rng = np.random.default_rng(0)
    drawn = np.bincount([draw(np.array([0.2, 0.5, 0.3]), rng) for _ in range(20_000)], minlength=3)
    assert sps.chisquare(drawn, [4000, 10_000, 6000]).pvalue > 1e-7


def test_weights_are_capped_whatever_the_estimate_says():
    policy = shuffle_glm(2, 3, 400, 1.0, theta_bound=2.0, kappa_star=9.0)
    p, s = policy.params, init(policy.params)
    assert p.caps.tolist() == [1.0, 1 / 9, 1 / 9]
    s = s._replace(k=1)
    for theta in ([0.0, 0.0], [2.0, 0.0], [-1.0, 1.0]):
        s.theta[0, :] = theta
        for x in np.eye(2):
            assert weight(p.link, x @ theta, 0.0, p.theta_bound, p.caps[1]) <= 1 / 9
    assert shuffle_glm(2, 3, 400, 1.0, link="logistic").params.caps[1] == 0.25


def test_a_message_has_the_weight_of_the_clipped_context():
    p, sums = shuffle_glm(2, 3, 400, np.inf, theta_bound=2.0, first=50).params, []
    for size in (1.0, 30.0):
        s = init(p)._replace(t=60, k=1)
        s.theta[0, 0], s.V_inv[0] = 1.0, 0.1 * np.eye(2)
        context = size * np.array([0.6, 0.8])
        update.py_func(p, s, 0, context, 1.0, np.random.default_rng(0))
        sums.append(s.batch.counts.copy())
    assert sums[0] == pytest.approx(sums[1])
    assert sums[0][0] > 0


def test_the_ridge_is_two_deviations_of_the_noise_that_is_drawn():
    """1 + 2 sqrt(d) times that of an entry of the released matrix; 6 standard errors."""
    p, rng = (
        shuffle_glm(3, 4, 1000, 1.0, theta_bound=2.0, kappa_star=9.0).params,
        np.random.default_rng(1),
    )
    users = np.diff(p.ends, prepend=0)[:-1]
    for n, b, cap, g, ridge in zip(users, p.bits_matrix, p.caps, p.g, p.ridge, strict=False):
        spread = cap / g * rng.binomial(n * b, 0.25, 5000).std()
        assert ridge - 1.0 == pytest.approx(2.0 * np.sqrt(3.0) * spread, rel=0.06)
    assert shuffle_glm(3, 4, 1000, np.inf).params.ridge.tolist() == [1.0, 1.0]


def test_the_guarantee_is_that_of_the_worst_batch():
    policy = shuffle_glm(3, 4, 1000, 1.0, first=60)
    users = np.diff(policy.params.ends, prepend=0)[:-1]
    proved = [batches.calibrated(int(n), 3, 20, 1.0, 0.01)[2] for n in users]
    assert min(proved) < policy.guarantee.epsilon == max(proved) <= 1.0


def test_the_width_follows_the_budget():
    for epsilon, gamma in ((0.25, 2.0), (4.0, 1.0), (np.inf, 1.0)):
        p = shuffle_glm(3, 4, 400, epsilon, kappa=9.0).params
        assert p.widths == pytest.approx([3.0 * gamma, gamma])


def test_elimination_keeps_an_arm_and_uses_the_first_width_once():
    policy = shuffle_glm(2, 4, 400, 1.0, theta_bound=2.0, kappa=9.0, gamma=0.5)
    p, s = policy.params, init(policy.params)._replace(k=2)
    assert p.widths == pytest.approx([1.5, 0.5])
    assert shuffle_glm(2, 4, 400, 1.0, kappa=9.0, gamma=0.5, widths="paper").params.widths[1] == 1.5
    s.V_inv[:] = 1e-8 * np.eye(2)
    s.theta[:] = 1.0, 0.0
    X = np.array([[0.9, 0.0], [0.1, 0.0], [-0.9, 0.0], [0.9, 0.0]])
    eliminate(p, s, X)
    assert s.alive.tolist() == [1, 0, 0, 1]


def test_a_released_matrix_has_eigenvalues_of_half_the_ridge():
    p, w = (
        shuffle_glm(2, 2, 400, np.inf, first=50).params,
        Scratch(np.zeros((2, 2)), np.zeros((2, 2))),
    )
    b, V, V_inv = batch_for(p), np.zeros((2, 2)), np.zeros((2, 2))
    b.counts[:] = -3.0, 0.0, 3.0  # exact sums that noise might have made: rows (11), (21, 22)
    release_matrix.py_func(p, b, 0, np.random.default_rng(0), V, V_inv, w)
    np.testing.assert_allclose(V, np.diag([0.5, 4.0]), atol=1e-12)
    np.testing.assert_allclose(V_inv, np.diag([2.0, 0.25]), atol=1e-12)


def test_gradients_are_released_for_the_batch_alone():
    policy = shuffle_glm(2, 2, 400, np.inf, first=50)
    p, b = policy.params, batch_for(policy.params)
    b.X[:] = 0.5
    b.y[:] = 1.0
    b.size[0] = 7
    release_gradient(p, b, 0, np.zeros(2), np.random.default_rng(0))
    assert b.u == pytest.approx([-0.25 * 7] * 2)


def test_it_learns_and_noise_costs():
    env = world("ball", 3, 2.0)
    policies = [
        shuffle_glm(3, 10, 6000, e, theta_bound=2.0, gamma=1.0).renamed(str(e))
        for e in (np.inf, 0.1)
    ]
    found = simulate(env, policies, 6000, repetitions(5, 4), grid=[1000, 6000])
    first, second = found.regret[:, :, 0].mean(axis=0), found.final.mean(axis=0)
    assert second[0] - first[0] < 2.5 * first[0]  # five times as many rounds
    assert second[1] > 2 * second[0]


def test_paper_calibration_says_what_it_gives():
    policy = shuffle_glm(3, 4, 1000, 1.0, calibration="paper")
    assert policy.guarantee.claimed == (1.0, 0.01)
    assert 0 <= policy.guarantee.epsilon < 0.1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("d", 0),
        ("K", 0),
        ("T", 2),
        ("epsilon", -1.0),
        ("delta", 0.0),
        ("theta_bound", np.inf),
        ("kappa", 2.0),
        ("kappa_star", 99.0),
        ("M", 1),
        ("first", 399),
        ("schedule", "even"),
        ("gamma", 0.0),
        ("widths", "all"),
        ("steps", 0),
        ("penalty", 0.0),
        ("tolerance", 1.0),
        ("calibration", "exact"),
        ("share", 0.0),
        ("link", "cloglog"),
    ],
)
def test_bad_input_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=name):
        shuffle_glm(**({"d": 3, "K": 4, "T": 400, "epsilon": 1.0} | {name: value}))


def twin_design(A, tolerance=2.0):
    """Wynn's algorithm with matrix inverses, on the arms that are not ruled out."""
    pi, ridge = np.full(len(A), 1 / len(A)), 1e-8 * (A**2).sum(axis=1).max()
    while True:
        M = A.T @ (pi[:, None] * A)
        g = np.einsum("ki,ij,kj->k", A, np.linalg.inv(M + ridge * np.eye(A.shape[1])), A)
        k, rank = int(g.argmax()), pi @ g
        if len(A) == 1 or g[k] <= tolerance * rank or g[k] <= 1.0:
            return pi
        s = (g[k] / rank - 1) / (g[k] - 1)
        pi = pi * (1 - s)
        pi[k] += s


def twin_arms(X, R, ends, S, kappa, gamma, steps):
    """Algorithm 1 with exact sums in NumPy (logistic, ridge 1, penalty 1)."""
    rng, start, arms, theta, V_inv = np.random.default_rng(0), 0, [], [], []
    for k, end in enumerate(ends):
        rows, seen = [], []
        for t in range(start, end):
            alive, doubt = np.arange(X.shape[1]), np.zeros(X.shape[1])
            for j in range(k):
                norm = np.sqrt(np.einsum("ki,ij,kj->k", X[t], V_inv[j], X[t]))
                half = gamma * norm * (np.sqrt(kappa) if j == 0 else 1)
                doubt = half if j == 0 else doubt
                score = X[t] @ theta[j]
                low = (score - half)[alive].max()
                alive = alive[(score + half)[alive] >= low]
            w = np.ones(X.shape[1])
            if k > 0:
                m = 1 / (1 + np.exp(-X[t] @ theta[0]))
                w = np.minimum(m * (1 - m) * np.exp(-np.minimum(2 * S, doubt)), 0.25)
            pi = twin_design(np.sqrt(w)[alive, None] * X[t][alive])
            u = rng.random() if len(alive) > 1 else 0.0
            arm = alive[min(np.searchsorted(np.cumsum(pi), u, side="right"), len(alive) - 1)]
            arms.append(arm)
            rows.append(w[arm] * np.outer(X[t, arm], X[t, arm]))
            seen.append((X[t, arm], R[t, arm]))
        start = end
        V = np.eye(X.shape[2]) + sum(rows)
        V_inv.append(np.linalg.inv(V))
        v, kept = theta[-1].copy() if theta else np.zeros(X.shape[2]), []
        P = np.linalg.inv((0.25 if k == 0 else 1.5) * V + np.eye(X.shape[2]))
        x, y = np.array([s[0] for s in seen]), np.array([s[1] for s in seen])
        for _ in range(steps):
            v = v - P @ (x.T @ (1 / (1 + np.exp(-x @ v)) - y) + v)
            v = v * min(1.0, S / np.linalg.norm(v))
            kept.append(v)
        theta.append(np.mean(kept[steps // 2 :], axis=0))
    return np.array(arms)


def test_without_noise_every_arm_is_the_twin_s():
    X, R, _ = next(world("ball", 3, 2.0, K=6).blocks(900, np.random.default_rng(4)))
    policy = shuffle_glm(3, 6, 900, np.inf, theta_bound=2.0, kappa=9.0, gamma=0.4, first=100)
    arms, ends = np.empty(900, np.int64), policy.params.ends
    state = policy.play(policy.params, init(policy.params), X, R, np.random.default_rng(0), arms)
    twin = twin_arms(X, R, ends, 2.0, 9.0, 0.4, 20)
    assert np.array_equal(arms, twin)
    assert state.k == 2
    assert state.alive.sum() < 6  # arms were ruled out


def test_what_widths_cover():
    """`covered` plays the run of `simulate`, and counts what a wide width covers."""
    env, seeds = world("ball", 2, 1.5, K=5), repetitions(3, 4)
    wide = covered(env, shuffle_glm(2, 5, 600, 4.0, theta_bound=1.5, gamma=50.0), 600, seeds)
    assert wide.inside.min() == 1.0
    assert wide.too_heavy.max() == wide.lost.max() == 0.0
    assert wide.alive.min() == 5.0
    assert wide.excess.min() > 0.0
    narrow = covered(env, shuffle_glm(2, 5, 600, 4.0, theta_bound=1.5, gamma=0.05), 600, seeds)
    assert narrow.inside.mean() < 0.5
    assert narrow.alive.max() < 3.0
    assert narrow.too_heavy.mean() > 0.05
    assert narrow.lost.mean() > 0.0
    mixed = shuffle_glm(2, 5, 600, 4.0, theta_bound=1.5, kappa=1e6, gamma=0.05)
    found = covered(env, mixed, 600, seeds)  # a wide first batch and a narrow second one
    assert found.inside[:, 0].min() == 1.0
    assert found.inside[:, 1].mean() < 0.5


class Watched:
    """A world that notes in which state it finds the streams that it is handed."""

    def __init__(self, world):
        self.world, self.seen = world, []

    def __getattr__(self, name):
        def call(*args):
            (rng,) = (a for a in args if isinstance(a, np.random.Generator))
            self.seen.append((name, rng.bit_generator.state["state"]["state"]))
            return getattr(self.world, name)(*args)

        return call


def test_coverage_is_measured_on_fresh_contexts_of_the_world_that_was_played():
    env = Watched(world("ball", 2, 1.5, K=5))
    covered(env, shuffle_glm(2, 5, 600, 4.0, theta_bound=1.5), 600, repetitions(3, 1))
    seen = dict(env.seen)
    assert seen["theta"] == seen["blocks"] != seen["arms"]
