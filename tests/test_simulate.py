"""Regret is counted correctly, streams are paired, and nothing wrong gets through
quietly."""

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import runs
from streams import same_bits
from streams import stream as make_stream

from companion import simulate as simulation
from companion.environments import replay, sphere
from companion.policies import jdp_linucb, lasso_bandit, ldp_linucb, linucb, random
from companion.simulate import (
    even_grid,
    parallel_map,
    repetitions,
    simulate,
    stream,
    trace,
)

X, R, MU = make_stream(300)
ENV = replay(X, R, MU)


def test_all_policies_meet_the_same_stream():
    twins = [linucb(3), linucb(3).renamed("twin")]
    result = simulate(sphere(4, 3), twins, 300, [1, 2, 3])
    one, twin = result.regret.swapaxes(0, 1)
    assert same_bits(one.copy(), twin.copy())
    assert len(np.unique(result.final[:, 0])) == 3


def test_random_streams_follow_the_name():
    result = simulate(ENV, [random(), random().renamed("other")], 300, [1])
    assert result.final[0, 0] != result.final[0, 1]
    seed = repetitions(3, 1)[0]
    a = stream(seed, "environment").random()
    b = stream(seed, "Random").random()
    assert a != b
    assert a == np.random.default_rng(seed.spawn(1)[0]).random()
    keyed = [
        stream(repetitions(3, 1, *key)[0], "Random").random() for key in ([], [1], [2])
    ]
    assert len({*keyed, b}) == 3


def test_a_grid_must_rise_within_the_rounds():
    assert even_grid(3).tolist() == [1, 2, 3]
    for T in (511, 20_000, 10**9 + 7):
        grid = even_grid(T)
        assert (grid[0] >= 1, grid[-1]) == (True, T)
        assert (np.diff(grid) > 0).all()
        assert (len(grid), len(even_grid(T, 50))) == (200, 50)
    for bad in ([0, 5], [5, 5], [5, 3], [301], [], [[1, 2]]):
        with pytest.raises(ValueError, match="grid"):
            simulate(ENV, [random()], 300, [1], grid=bad)


class Untouchable:
    """An environment that must not be asked."""

    def blocks(self, T, rng):
        raise AssertionError("asked for rounds")


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("T must", {"T": 0}),
        ("seeds", {"seeds": []}),
        ("seeds", {"seeds": [-1]}),
        ("policies must hold at least one policy", {"policies": []}),
        ("distinct", {"policies": [random(), random()]}),
        ("keep must be the path", {"keep": 3}),
        ("T=50, the horizon", {"policies": [random(), lasso_bandit(3, 50)], "T": 51}),
    ],
)
def test_refused_before_anything_runs(text, change):
    keys = {"env": Untouchable(), "policies": [random()], "T": 100, "seeds": [1]} | change
    with pytest.raises(ValueError, match=text):
        simulate(**keys)


def test_rounds_past_the_horizon_never_reach_a_kernel():
    """A stream that is longer than promised would write beyond the rows that a policy
    keeps."""

    def played(*arguments):
        pytest.fail("was played")

    policy = lasso_bandit(3, 10)._replace(play=played)
    with pytest.raises(ValueError, match="got 1 more"):
        simulate(Fixed(block(n=11)), [policy], 10, [1])


class Fixed:
    """Yields the given blocks, whatever T is."""

    def __init__(self, *blocks):
        self.list = blocks

    def blocks(self, T, rng):
        yield from self.list


def block(n=10, K=4, d=3, **changes):
    parts = {
        "X": np.ones((n, K, d)),
        "R": np.ones((n, K)),
        "mu": np.ones((n, K)),
    } | changes
    return tuple(parts.values())


@pytest.mark.parametrize(
    ("text", "bad"),
    [
        ("X must be", block(X=np.ones((10, 4, 3), dtype=np.float32))),
        ("X must be", block(X=np.ones((10, 4, 6))[:, :, ::2])),
        ("R must be finite", block(R=np.full((10, 4), np.nan))),
        ("mu must be finite", block(mu=np.full((10, 4), np.inf))),
        ("mu must have shape", block(mu=np.ones((9, 4)))),
        ("X must have shape", block(X=np.ones((10, 3)))),
        ("must have shape", block(n=0)),
        ("dimension d=3", block(d=2)),
        ("T=10 rounds", block(n=9)),
    ],
)
def test_bad_blocks_are_refused(text, bad):
    with pytest.raises(ValueError, match=text):
        simulate(Fixed(bad), [random(), linucb(3)], 10, [1])


@pytest.mark.parametrize("arm", [-1, 4])
def test_an_arm_that_does_not_exist_is_refused(arm):
    def play(p, s, X, R, rng, arms):
        arms[:] = 0
        arms[7] = arm

    with pytest.raises(ValueError, match=r"outside 0\.\.3"):
        simulate(ENV, [random()._replace(play=play)], 300, [1])


def gaps(p, s, X, R, rng, arms):
    """Always the first arm, so that regret is what `mu` says."""
    arms[:] = 0


@pytest.mark.parametrize("cuts", [[], [2], [1, 2], [4]])
def test_regret_by_hand_at_the_ends_of_blocks(cuts):
    """Gaps 1, 2, 3, 4, 5: sums 1, 3, 6, 10, 15, wherever blocks end."""
    mu = np.zeros((5, 2))
    mu[:, 1] = [1.0, 2.0, 3.0, 4.0, 5.0]
    blocks = []
    for part in np.split(mu, cuts):
        blocks.append(block(n=len(part), K=2, mu=part))
    first = random()._replace(play=gaps)
    for grid, sums in (([1, 2, 4], [1.0, 3.0, 10.0, 15.0]), ([3, 5], [6.0, 15.0])):
        found = simulate(Fixed(*blocks), [first], 5, [1], grid=grid)
        assert found.regret[0, 0].tolist() == sums
        assert found.final.tolist() == [[15.0]]


def test_seconds_add_up_over_the_blocks_of_a_repetition(monkeypatch):
    """A clock that shows a second more at every look: three blocks take three seconds."""
    looks = itertools.count()
    monkeypatch.setattr(simulation.time, "thread_time", lambda: float(next(looks)))
    first = random()._replace(play=gaps)
    line_up = [first, first.renamed("other")]
    blocks = [block(n=n, K=2) for n in (2, 3, 1)]
    seed = repetitions(1, 1)[0]
    _, seconds = simulation.repetition(Fixed(*blocks), line_up, 6, seed, np.array([6]))
    assert seconds.tolist() == [3.0, 3.0]


def test_failures_in_a_repetition_arrive_and_cancel_the_rest():
    class Lazy:
        """Runs the first task; the others wait for ever."""

        def __init__(self):
            self.futures = []

        def submit(self, f, *arguments):
            future = Future()
            self.futures.append(future)
            if len(self.futures) == 1:
                future.set_exception(ZeroDivisionError("planted"))
            return future

    lazy = Lazy()
    with pytest.raises(ZeroDivisionError, match="planted"):
        simulate(ENV, [random()], 300, [1, 2, 3], lazy)
    assert [f.cancelled() for f in lazy.futures] == [False, True, True]
    assert threading.active_count() < 20


def test_to_frame_is_tidy():
    result = simulate(ENV, [linucb(3), random()], 300, [1, 2], grid=[100])
    frame = result.to_frame()
    assert list(frame.columns) == ["policy", "repetition", "round", "regret"]
    table = frame.pivot(index="repetition", columns=["policy", "round"], values="regret")
    expected = table[["LinUCB", "Random"]].to_numpy().reshape(2, 2, 2)
    np.testing.assert_array_equal(result.regret, expected)


def test_trace_watches_the_run_of_simulate():
    env = sphere(30, 3)
    policy = ldp_linucb(3, 400, epsilon=1.0, delta=0.1)
    (seed,) = repetitions(3, 1)
    final = simulate(env, [policy], 400, [seed]).final[0, 0]
    lost = 0.0
    for _, _, _, mu, arms in trace(env, policy, 400, seed, 1):
        lost += mu.max() - mu[0, arms[0]]
    assert lost == pytest.approx(final, rel=1e-12)


@pytest.mark.parametrize(
    ("every", "seen"),
    [
        (1, [(t, 1) for t in range(1, 11)]),
        (4, [(4, 4), (8, 4)]),
        (10, [(10, 10)]),
        (11, []),
    ],
)
def test_trace_shows_the_rounds_since_it_showed_the_last_ones(every, seen):
    """Of ten rounds in one block."""
    rounds = trace(Fixed(block(n=10)), random(), 10, 1, every)
    assert [(t, len(arms)) for t, _, _, _, arms in rounds] == seen


FEW = [
    linucb(3),
    *(make(3, 400, epsilon=1.0, delta=0.1) for make in (ldp_linucb, jdp_linucb)),
]
SEEDS = repetitions(11, 4)


def test_every_executor_gives_the_same_bits_and_their_number_does_not_matter():
    play = partial(simulate, sphere(4, 3), FEW, 400)
    result = play(SEEDS)
    assert result.guarantees == tuple(policy.guarantee for policy in FEW)
    reference = result.regret
    with ThreadPoolExecutor(1) as pool:
        assert same_bits(reference, play(SEEDS, pool).regret)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        found = play(SEEDS[:2], pool).regret
    assert same_bits(reference[:2].copy(), found)


PLAYED = []


class Counted(NamedTuple):
    """A world that notes every run."""

    world: object

    def blocks(self, T, rng):
        PLAYED.append(T)
        return self.world.blocks(T, rng)


def test_finished_repetitions_are_kept_and_named_by_all_that_they_depend_on(
    tmp_path,
    monkeypatch,
):
    world = Counted(sphere(3, 3))
    plain = simulate(sphere(3, 3), FEW[:2], 60, [1, 2])
    for expected in (2, 0):
        PLAYED.clear()
        found = simulate(world, FEW[:2], 60, [1, 2], keep=tmp_path)
        assert same_bits(found.regret, plain.regret)
        assert len(PLAYED) == expected
    changes = [
        {"env": Counted(sphere(4, 3))},
        {"env": Counted(replay(X, R, MU))},
        {"env": Counted(replay(X, np.nextafter(R, 2.0), MU))},
        {"policies": FEW[1::-1]},
        {"policies": [linucb(3, ridge=2.0), FEW[1]]},
        {"policies": [linucb(3).renamed("other"), FEW[1]]},
        {"T": 61},
        {"grid": [7]},
        {"seeds": [3]},
    ]
    keys = {"env": world, "policies": FEW[:2], "T": 60, "seeds": [1], "keep": tmp_path}
    for change in changes:
        PLAYED.clear()
        simulate(**keys | change)
        assert len(PLAYED) == 1, change
    PLAYED.clear()
    monkeypatch.setattr(simulation.PACKAGE, "digest", lambda modules: "edited code")
    simulate(**keys)
    assert len(PLAYED) == 1


def test_nothing_is_kept_under_the_name_of_sources_that_were_not_imported(
    tmp_path,
    monkeypatch,
):
    path = str(simulation.PACKAGE.file("companion.stats"))
    monkeypatch.setitem(simulation.PACKAGE._seen, path, None)
    with pytest.raises(ValueError, match=f"written to since: {path}"):
        simulate(sphere(3, 3), FEW[:1], 60, [1], keep=tmp_path)
    monkeypatch.undo()
    with monkeypatch.context() as patch:
        patch.setattr(simulation.PACKAGE, "modules", set)  # as in an archive
        with pytest.raises(
            ValueError,
            match="keep needs the sources of this package as files",
        ):
            simulate(sphere(3, 3), FEW[:1], 60, [1], keep=tmp_path)
    # of a worker
    monkeypatch.setattr(simulation, "imported_code", lambda: "other sources")
    with pytest.raises(ValueError, match="got other sources"):
        simulation.kept_repetition(tmp_path / "sources")
    assert list(tmp_path.iterdir()) == []


KILLED = """
import sys
from companion.environments import sphere
from companion.policies import linucb
from companion.simulate import simulate
simulate(sphere(5, 3), [linucb(3)], 200_000, range(40), keep=sys.argv[1])
"""


def test_a_killed_run_loses_at_most_the_repetitions_under_way(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)])
    while len(list(tmp_path.rglob("output.pkl"))) < 3:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    play = partial(simulate, sphere(5, 3), [linucb(3)], 200_000, range(4))
    assert same_bits(play(keep=tmp_path).regret, play().regret)


class Endless(NamedTuple):
    """A world of short blocks, whose rounds take a minute."""

    def blocks(self, T, rng):
        for _ in range(T):
            time.sleep(0.02)
            yield block(n=1)


def test_a_disk_without_room_keeps_nothing_and_changes_no_result(tmp_path):
    play = partial(simulate, ENV, [linucb(3)], 300, range(3), grid=range(1, 301))
    plain = play()
    with runs.no_file_beyond(1_000), pytest.warns(UserWarning, match="not kept in"):
        full = play(keep=tmp_path)
    for result in (full, play(keep=tmp_path)):
        assert same_bits(result.regret, plain.regret)


def watched(seed):
    """What other experiments do: a run of a minute, watched round by round."""
    for _ in trace(Endless(), linucb(3), 3_000, seed, 1):
        pass


def need_soon_ended(run):
    """Ctrl-C after 0.3 s ends a run of a minute at once, and its threads soon after."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    main = threading.main_thread().ident
    timer = threading.Timer(0.3, signal.pthread_kill, [main, signal.SIGINT])
    timer.start()
    begin = time.perf_counter()
    try:
        with pytest.raises(KeyboardInterrupt):
            run()
    finally:
        timer.join()
        signal.signal(signal.SIGINT, usual)
    assert time.perf_counter() - begin < 30.0
    for _ in range(600):
        under_way = [t for t in threading.enumerate() if t.name.startswith("repetitions")]
        if not under_way:
            break
        time.sleep(0.05)
    assert under_way == []


@pytest.mark.parametrize("n", [1, 3])
def test_ctrl_c_ends_a_run_soon_and_keeps_what_is_finished(n, tmp_path):
    """Of several repetitions and of one; those under way end at their next block of
    rounds."""
    simulate(Endless(), [linucb(3)], 2, range(n), keep=tmp_path)
    need_soon_ended(
        lambda: simulate(Endless(), [linucb(3)], 3_000, range(n), keep=tmp_path)
    )
    assert len(list(tmp_path.rglob("output.pkl"))) == n


def test_ctrl_c_ends_every_experiment_that_plays_blocks():
    need_soon_ended(lambda: parallel_map(watched, [(seed,) for seed in range(3)]))


class Deadly(NamedTuple):
    """A world whose twentieth run in a process kills it, in the first one that comes so
    far."""

    world: object
    killed: Path

    def blocks(self, T, rng):
        PLAYED.append(T)
        if len(PLAYED) == 20 and not self.killed.exists():
            self.killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.world.blocks(T, rng)


@pytest.mark.slow
def test_a_dask_cluster_that_loses_a_worker_gives_the_same_bits(tmp_path):
    from distributed import Client, LocalCluster

    seeds = repetitions(12, 400)
    world = sphere(4, 3)
    deadly = Deadly(world, tmp_path / "killed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        result = simulate(deadly, FEW, 400, seeds, client)
    assert deadly.killed.exists()
    assert same_bits(simulate(world, FEW, 400, seeds).regret, result.regret)


def test_who_runs_several_sets_the_number_of_threads(monkeypatch):
    monkeypatch.setenv("COMPANION_THREADS", "3")
    assert simulation.threads() == 3
