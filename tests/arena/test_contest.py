"""The arena's contests: comparisons are paired, tuning is fair."""

import numpy as np
import pytest
from arena_settings import WORLDS, run, setting

from companion.arena import contest, recipes
from companion.arena.environments import World
from companion.environments import sphere
from companion.simulate import repetitions, simulate


def test_shares_and_prices_are_ratios_of_paired_regrets():
    s = setting(a=run("local", 40.0), b=run("joint", 20.0), free=run("none", 5.0))
    assert s.share("a").value == pytest.approx(0.4)
    assert s.share("a", "default").value == pytest.approx(0.44)
    prices = {pair: p.value for pair, p in s.prices.items()}
    assert prices == {
        ("local", "joint"): pytest.approx(2.0),
        ("local", "none"): pytest.approx(8.0),
        ("joint", "none"): pytest.approx(4.0),
    }


def test_tuning_and_playing_use_other_seeds_and_pair_the_policies():
    world = World(sphere(3, 2), 2, 3)
    groups = {n: recipes.tunable(n, world, 1.0) for n in ("random", "linucb")}
    runs = contest.tuned_runs(world.env, groups, 400, 4, 2, 7)
    again = contest.tuned_runs(world.env, {"linucb": groups["linucb"]}, 400, 4, 2, 7)
    assert np.array_equal(runs["linucb"].tuned, again["linucb"].tuned)  # company changes nothing
    assert runs["random"].multiple == 1.0
    assert runs["random"].default is runs["random"].tuned
    assert runs["linucb"].tuned.mean() < runs["random"].tuned.mean()
    played = [groups["linucb"].make(400, m).policy().renamed("linucb #x") for m in (0.03, 1.0)]
    assert len({p.params.width for p in played}) == 2
    tuning = simulate(world.env, [groups["random"].make(400, 1.0).policy().renamed("random")], 400,
                      repetitions(7, 4, 1), grid=[400])  # fmt: skip
    assert not np.array_equal(tuning.final[:, 0], runs["random"].tuned)


def test_tuning_has_seeds_that_nothing_else_uses(monkeypatch):
    used = []

    def spied(name, place):
        real = getattr(contest, name)

        def call(*args, **options):
            used.append({str(s) for s in args[place]})
            return real(*args, **options)

        monkeypatch.setattr(contest, name, call)

    spied("tune", 3)
    spied("simulate", 3)
    world = World(sphere(3, 2), 2, 3)
    contest.tuned_runs(world.env, {"linucb": recipes.tunable("linucb", world, 1.0)}, 100, 2, 2, 7)
    tuned, played = used
    assert not tuned & played


def test_a_setting_is_played_again_on_streams_of_its_own():
    world = WORLDS["plain"]
    s = contest.play("plain", world, 400, [8.0], 4, 2, 1)[8.0]
    more = contest.again(world, s, ["random", "linucb"], 6, 1)
    assert {n: x.shape for n, x in more.items()} == {"random": (6,), "linucb": (6,)}
    assert not set(more["random"]) & set(s.runs["random"].tuned)


def test_the_record_of_a_paper_leaves_our_repairs_out():
    s = setting(corrected_ridge=run("local", 1.0), lplr=run("local", 10.0), ssp=run("local", 50.0))
    assert contest.record([s], ["lplr"], "local") == ([s], 0, 1)
    assert contest.record([s], ["ssp"], "local") == ([], 1, 1)
    assert contest.record([setting(lplr=run("local", 10.0))], ["lplr"], "local")[0] == []  # alone
