"""What the chapters measure: rates, tables, the released program, filters, drifts,
attacks."""

import threading

import numpy as np
import pytest
from scipy.stats import norm
from sco_streams import OPTIONS
from streams import learn, rounds, run

from companion import simulate
from companion.baselines.noisy_sgd import noisy_sgd
from companion.simulate import repetitions, stream
from companion.streaming_sco import experiments as ex
from companion.streaming_sco.environments import (
    Regression,
    drawn,
    excess_risk,
    first,
    flat,
    one_context,
    regression,
    watch,
)
from companion.streaming_sco.sco_bandit import sco_bandit
from companion.streaming_sco.streaming import (
    make_problem,
    streaming_fw,
    vertex_fw,
)

# Rates.


def test_errors_and_risks_are_of_the_runs_that_excess_risk_makes():
    world = regression(1.5, first(5, 1.5, 5))
    grid = np.array([100, 517, 900])
    seeds = repetitions(3, 2)
    o = streaming_fw(5, 1000, epsilon=1.0, p=1.5, **OPTIONS)
    errors, risks = ex.errors_and_risks(world, o, 1000, seeds, grid, 0.2)
    other = o._replace(params=o.params._replace(sigma=0.0)).renamed("silent")
    again = excess_risk(world, [other, o], 1000, seeds, grid=grid)
    np.testing.assert_array_equal(risks, again.excess[:, 1, :-1])
    for r, seed in enumerate(seeds):  # by hand, from one stream of records for all
        X, Y = world.records(1000, stream(seed, "environment"))
        out, s = learn(o, X[:900], Y[:900], seed=stream(seed, o.name))
        assert (risks[r] == world.excess(out[grid - 1])).all()
        gap = s.gradient - world.gradient(s.old, 0.2)
        assert errors[r, -1] == pytest.approx((np.abs(gap) ** 3).sum() ** (1 / 3))


def test_the_bound_of_the_gradient_error_by_hand():
    """d = 2, n = 4, p = 2, r = Y = 1, t = 3, kappa = 1: beta D + 2 L = 4 + 8 = 12.

    (sqrt(2 e) + 8 sqrt(4 log 40)) 2 * 12/sqrt 4 = 33.06197 * 12 = 396.744; two nodes of
    scale 10:
    2 * 10/4 sqrt(2 + 2 sqrt(2 log 80) + 4 log 80) = 5 * 5.044694 = 25.223.
    """
    c = make_problem(2, 4, 2.0, 1.0, "squares", 1.0)
    free = ex.gradient_error_bound([3], c, 0.0, 1.0)[0]
    noisy = ex.gradient_error_bound([3], c, 10.0, 1.0)[0]
    assert free == pytest.approx(396.7436, abs=1e-3)
    assert noisy - free == pytest.approx(25.2235, abs=1e-3)


# Tables 2 to 4.


def test_rows_of_the_tables_are_what_they_say():
    made = {}
    for row in ex.ROWS[1:]:
        made[row] = ex.candidate("Algorithm 1", row, 5, 100, 1.5, 1.0).params
    sigmas = [p.sigma for p in made.values()]
    assert sigmas == sorted(sigmas, reverse=True)
    assert sigmas[-1] == 0.0
    assert made["clipped at 3"].clip == 3.0
    longest = pytest.approx(6.4 * 5 ** (1 / 6))
    assert made["square root"].clip == made["corrected"].clip == longest
    weak = ex.candidate("NoisySGD", "as run", 5, 100, np.inf, 1.0).params
    fair = ex.candidate("NoisySGD", "as printed", 5, 100, np.inf, 1.0).params
    assert (weak.radius, fair.radius) == (1.0, 2.0)
    assert weak.sigma / fair.sigma == pytest.approx(4.0 / 6.4)


GRIDS = {
    "Algorithm 1, p=1.5": [0.4, 1.0],
    "NoisySFW": [0.1],
}


def test_a_table_has_the_risks_of_its_candidates():
    seeds = repetitions(1, 2)
    rows = ["corrected", "square root"]
    found = ex.table({"NoisySFW": 2}, rows, [(64, 3)], 1.5, seeds, GRIDS)
    assert list(found) == [("NoisySFW", "corrected", (64, 3))]
    o = ex.candidate("NoisySFW", "corrected", 3, 64, 1.5, 0.15)
    o = o.renamed("NoisySFW, corrected, 0.15")
    world = regression(1.5, flat(3, 1.5))
    risk = excess_risk(world, [o], 64, seeds).final
    by_scale = found["NoisySFW", "corrected", (64, 3)]
    assert (by_scale[0.15] == risk[:, 0]).all()


def test_the_best_scale_and_who_wins():
    by_scale = {
        0.5: np.array([1.0, 3.0, 2.0]),
        1.0: np.array([1.0, 1.5, 1.2]),
    }
    found = {}
    for row in ex.ROWS:
        found["A", row, (9, 1)] = by_scale
        found["B", row, (9, 1)] = {1.0: np.array([4.0, 4.2])}
    assert ex.best(by_scale)[0] == 1.0
    gap = ex.gaps(found, "A", "B", [(9, 1)], 0.95)["square root"][0]
    assert gap.value == pytest.approx(1.25 - 4.1)


def test_noisy_sgd_on_shared_draws_is_every_run_bit_for_bit(monkeypatch):
    """Boxes bind, noise matters: the variants end apart, each where a single run ends.
    Of the 144 steps the kernel makes 100, then 44."""
    monkeypatch.setattr(ex, "STRETCH", 100)
    n = 12
    world = regression(np.inf, flat(3, np.inf))
    seeds = repetitions(3, 2)
    kinds = (
        {"radius": 0.3, "step_scale": 6.0},
        {"radius": 2.0, "step_scale": 90.0},
        {
            "step_scale": 9.0,
            "lipschitz": 4.0,
            "calibration": "paper",
        },
        {"step_scale": 9.0, "epsilon": np.inf},
    )
    keys = {
        "epsilon": 2.0,
        "delta": 1e-2,
        "label_bound": 1.2,
    }
    made = [noisy_sgd(3, n, **keys | kind) for kind in kinds]
    together = ex.noisy_sgds(world, made, n, seeds)
    assert len(np.unique(together)) == together.size
    for seed, row in zip(seeds, together, strict=True):
        X, Y = drawn(world, n, seed)
        for o, excess in zip(made, row, strict=True):
            out, _ = learn(o, X, Y, seed=stream(seed, "NoisySGD"))
            assert world.excess(out[-1]) == excess


# The released program.


def test_what_the_program_drew():
    """Mean of R^2 is d sigma, not d sigma^2; the sign of a vertex is that of the exact
    score."""
    runs = 20_000
    d = 5
    sigma = 50.0
    made = ex.program_tree(d, 1, 1.0, 0.1, p=1.5, radius=2.0).params
    assert made.exponent == pytest.approx(0.61, abs=0.005)
    rng = np.random.default_rng(1)
    seen = np.empty((runs, d))
    for exponent in (made.exponent, 3.0):
        for draw in seen:
            ex.program_noise(rng, exponent, sigma, draw)
        squares = (np.abs(seen) ** exponent).sum(axis=1) ** (2 / exponent)
        assert abs(squares.mean() - d * sigma) < 5 * squares.std() / np.sqrt(runs)
    score = np.array([1.0, -2.0, 0.5])
    chosen = np.empty((2000, 3))
    ex.clean_sign(rng, score, 5.0, chosen)
    assert (chosen.sum(axis=1) == -np.sign(score[np.abs(chosen).argmax(axis=1)])).all()
    assert (chosen != 0).sum(axis=0).min() > 400


def test_the_programs_constants_by_hand():
    """beta = 1, L = 4, r = 2: beta D + L = 8; kappa = 2 and 12 nodes at d = 10, n = 2000.

    sqrt(8 * 2 log 24000) 12 * 8 = 1219.51; NoisySFW: sqrt(64 log 2000) = 22.05567 times
    4/2000 and times 4 eta/sqrt 2000, eta = log 2000/(2 sqrt 2000) = 0.0849806.
    """
    keys = {
        "epsilon": 1.0,
        "delta": 1 / 2000,
        "p": 1.5,
        "radius": 2.0,
    }
    assert ex.misprinted(1.5, 10) == (
        pytest.approx(1.302585, abs=1e-6),
        2.0,
    )
    assert ex.misprinted(1.5, 2)[1] == pytest.approx(-2.267353, abs=1e-6)
    assert ex.misprinted(np.inf, 10) == (2.0, 1.0)
    made = ex.program_tree(10, 2000, **keys).params
    assert made.sigma == pytest.approx(1219.51, abs=0.01)
    made = ex.program_sfw(10, 2000, step_scale=1.0, **keys).params
    assert made.sigma_first == pytest.approx(0.0441113, rel=1e-5)
    assert made.sigma == pytest.approx(0.1676439, rel=1e-5)


@pytest.mark.parametrize("method", ["Algorithm 1", "NoisySFW"])
def test_without_noise_the_program_is_the_algorithm(method):
    """And with it the drawn noise, of the printed scale, is in what it publishes."""
    world = regression(1.5, flat(4, 1.5))
    name = f"{method} as run"
    loud = ex.candidate(method, "as run", 4, 256, 1.5, 0.5)
    free = ex.candidate(method, "no privacy", 4, 256, 1.5, 0.5)
    silent = {k: 0.0 for k in ("sigma", "sigma_first") if hasattr(loud.params, k)}
    quiet = loud._replace(params=loud.params._replace(**silent))
    if method == "Algorithm 1":
        free = free._replace(params=free.params._replace(clip=np.inf))
    risk = [
        excess_risk(world, [o.renamed(name)], 256, [1]).final for o in (loud, quiet, free)
    ]
    assert risk[1] == pytest.approx(risk[2], rel=1e-6)
    assert abs(risk[0] - risk[2]) > 1e-3


# Algorithm 3.


def test_estimates_and_drifts_are_those_of_the_definition(
    monkeypatch,
):
    monkeypatch.setattr(ex, "SAMPLE", 4000)
    world = one_context(2, 3, 2)
    policy = sco_bandit(
        3, 2, 3000, epsilon=np.inf, t0=20, gap=40.0, label_bound=1.2, radius=2.0
    )
    seeds = repetitions(1, 2)
    seed = seeds[0]
    found = ex.estimates(world, policy, 3000, seeds, [50, 400])
    error, dropped = ex.drifts(world, policy, 3000, seeds, [50, 400])
    X, R, mu = rounds(world, 3000, stream(seed, "environment"))
    true = np.linalg.lstsq(X[:, 0], mu, rcond=None)[0].T
    _, s = run(policy, X[:400], R[:400], seed=stream(seed, policy.name))
    now = s.arms.theta
    met = s.arms.old
    assert found[0, 1] == pytest.approx((np.abs(now - true).sum(axis=1) ** 2).max())
    fresh = rounds(world, 4000, stream(seed, "fresh contexts"))[0][:, 0]
    before = (fresh @ met.T).argmax(axis=1)
    turned = fresh[before != (fresh @ now.T).argmax(axis=1)]
    assert 0 < len(turned) < len(fresh) / 2
    worst = []
    for i in range(2):
        hers = fresh[before == i]
        mean = 2 * hers.T @ (hers @ (met[i] - true[i])) / len(fresh)
        worst.append(np.abs(s.arms.gradient[i] - mean).max())
    lost = ((turned @ (now - true).T) ** 2).sum(axis=0) / len(fresh)
    assert error[0, 1] == pytest.approx(max(worst), rel=1e-9)
    assert dropped[0, 1] == pytest.approx(lost.max(), rel=1e-9)


@pytest.mark.parametrize(
    ("synthetic", "still"),
    [(False, [0, 30]), (True, [0, 0])],
)
def test_without_synthetic_updates_arms_tell_what_one_asked(synthetic, still):
    policy = sco_bandit(
        2, 2, 40, delta=1e-2, t0=2, epsilon=1.0, gap=10.0, clip=1.0, synthetic=synthetic
    )
    assert [ex.stands_still(policy, s, 30, 1) for s in (1.0, -1.0)] == still


# Drivers whose numbers the chapters use.


def test_checkpoints_have_a_one_bit_in_the_middle_and_at_the_end():
    """Odd numbers below n, and n - 1, whatever its bits are."""
    grid = ex.checkpoints(5000)
    bits = np.array([int(t).bit_length() for t in grid[:-1]])
    assert (grid[:-1] & 1 == 1).all()
    assert (grid[:-1] >> (bits // 2) & 1 == 1).all()
    assert grid[-1] == 4999
    assert (np.diff(grid) > 0).all()
    assert grid[0] >= 64


def test_an_envelope_takes_the_worst_slope_at_every_checkpoint():
    o = streaming_fw(2, 64, epsilon=1.0, loss="inner product")
    seeds = [1, 2, 3]
    grid = [5, 33]
    slopes = (0.05, 0.9)
    means, samples = ex.envelope(o, slopes, 64, seeds, np.array(grid))
    risks = []
    for slope in slopes:
        world = ex.Functional(2, slope, 2.0)
        risks.append(excess_risk(world, [o], 64, seeds, grid=grid).excess[:, 0, :2])
    assert means == pytest.approx(np.mean(risks, axis=1))
    for j, worst in enumerate(means.argmax(axis=0)):
        np.testing.assert_array_equal(samples[:, j], risks[worst][:, j])


def test_what_stands_beside_a_printed_number(monkeypatch):
    """A spread of 0.3 of three runs is a standard error of 0.3/sqrt 3; raw is the test
    risk, noise 0.05^2 and c ||theta||^2 = 0.4 * 2 times the share."""
    monkeypatch.setattr(
        Regression,
        "second_moment",
        lambda world: (0.4, 0.0),
    )
    found = {("A", "as run", (9, 2)): {1.0: np.array([0.5, 0.7])}}
    line = ex.beside_printed(found, [(0.6, 0.3)], "A", "as run", [(9, 2)])[0]
    assert line[:3] == (
        "A, T = 9, d = 2",
        0.6,
        pytest.approx(0.3 / np.sqrt(3.0)),
    )
    np.testing.assert_array_equal(line[3], [0.5, 0.7])
    raw = ex.beside_printed(
        found,
        [(0.6, 0.3)],
        "A",
        "as run",
        [(9, 2)],
        raw=True,
    )[0][3]
    assert raw == pytest.approx([0.0025 + 0.8 * 0.5, 0.0025 + 0.8 * 0.7])


def test_what_the_filter_removes_is_counted_round_by_round():
    """Means and contexts of the later rounds, one by one, at half of the gap."""
    world = one_context(3, 4, 2)
    seeds = repetitions(7, 1)
    policy = sco_bandit(4, 3, 400, epsilon=np.inf, t0=5, gap=0.5, radius=2.0)
    found = ex.removed(world, policy, 200, seeds)[0]
    X, R, mu = rounds(world, 215, stream(seeds[0], "environment"))
    _, s = run(policy, X[:15], R[:15], seed=stream(seeds[0], policy.name))
    best = 0
    some = 0
    for t in range(15, 215):
        scores = [s.forced[k] @ X[t, 0] for k in range(3)]
        gone = [score <= max(scores) - 0.25 for score in scores]
        best += gone[mu[t].argmax()]
        some += any(gone)
    assert found == pytest.approx([best / 200, some / 200])
    assert 0 < best < some < 200


def test_the_first_vertices_lose_what_theorem_3_11_promises_at_very_large_budgets():
    """The noise by hand, b_t = 8 r sqrt(log n log(1/delta))/(epsilon sqrt t) (L = 1, D =
    2 r)."""
    n = 2000
    made = vertex_fw(
        1,
        n,
        epsilon=800.0,
        delta=0.1,
        radius=3.0,
        loss="inner product",
        calibration="paper",
        selector="argmin",
    )
    found = ex.lost_by_first_vertices(made, 0.1)
    t = np.arange(1, n + 1)
    unit = np.sqrt(np.log(2000) * np.log(10))
    shift = 800.0 * np.sqrt(t) / (4 * (t + 1) * unit)
    wrong = 0.5 * (1 + 0.5 * shift) * np.exp(-shift)
    likely = np.cumprod(1 - wrong) > 0.1
    losses = (
        np.log(np.cumprod(1 - wrong)[likely] - 0.1) - np.cumsum(np.log(wrong))[likely]
    )
    assert found == pytest.approx(losses.max())
    assert found > 1.2 * 800.0


def test_signs_of_parameters_lose_more_than_theorem_3_1_promises_at_very_large_budgets():
    """Three signs by hand; the printed noise at n = 2000 from its formula."""
    wrong = norm.sf(0.5 / 0.4)
    by_hand = np.log(((1 - wrong) ** 3 - 0.1) / wrong**3)
    assert ex.lost_by_signs(0.4, 3, 0.1) == pytest.approx(by_hand)
    assert ex.lost_by_signs(100.0, 3, 0.5) == 0.0
    nodes = np.ceil(np.log2(2000)) + 1
    printed = nodes * np.sqrt(2 * np.log(nodes * 2000)) / 3000.0
    assert ex.lost_by_signs(printed, 11, 1 / 2000) > 1.2 * 3000.0


def test_drivers_end_between_two_kernels_when_the_run_has_ended(monkeypatch):
    """As after Ctrl-C; a policy is played by `play_block`, which asks as well."""
    over = threading.Event()
    over.set()
    monkeypatch.setattr(simulate.WORKER, "stop", over, raising=False)
    world = regression(np.inf, flat(3, np.inf))
    (seed,) = repetitions(1, 1)
    sgd = noisy_sgd(3, 12, epsilon=2.0)
    o = streaming_fw(3, 12, epsilon=1.0)
    X, Y = drawn(world, 12, seed)
    with pytest.raises(RuntimeError, match="this repetition ends"):
        ex._noisy_sgds(world, [sgd.params], 12, seed)
    with pytest.raises(RuntimeError, match="this repetition ends"):
        next(watch(o, X, Y, seed, [12]))
