"""The arena's contests: comparisons are paired, tuning is fair."""

import numpy as np
import pytest
from arena_settings import WORLDS, run, setting

from companion.accounting.privacy import NO_PRIVACY
from companion.arena import contest, figures, recipes
from companion.arena.environments import World
from companion.environments import sphere
from companion.simulate import Result


def test_shares_and_prices_are_ratios_of_paired_regrets():
    s = setting(a=run("local", 40.0), b=run("joint", 20.0), free=run("none", 5.0))
    assert s.share("a").value == pytest.approx(0.4)
    assert s.untuned.share("a").value == pytest.approx(0.44)
    prices = {pair: p.value for pair, p in s.prices.items()}
    assert prices == {
        ("local", "joint"): pytest.approx(2.0),
        ("local", "none"): pytest.approx(8.0),
        ("joint", "none"): pytest.approx(4.0),
    }


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


def test_a_slope_is_that_of_the_last_decade():
    rounds = np.unique(np.geomspace(10, 1000, 13).round().astype(int))
    regret = np.array([rounds**0.5, np.minimum(rounds, 100.0), rounds**1.0])
    regret = np.stack([regret, 1.1 * regret])
    names = ("LinUCB", "flat", "Random")
    game = Result(names, rounds, regret, (NO_PRIVACY,) * 3, np.ones((2, 3)))
    rows = contest.slopes({"w": game})
    assert [row["slope"].value for row in rows] == pytest.approx([0.5, 0.0, 1.0])
    assert [row["of random play's"] for row in rows] == pytest.approx([1000**-0.5, 0.1, 1.0])
    fig, data = figures.growth(dict.fromkeys("ab", game))
    assert [len(ax.get_lines()) for ax in fig.axes] == [3, 3]
    assert len(data) == 2 * 3 * len(rounds)


def test_the_price_of_trust_is_a_mark_for_every_model_that_plays():
    runs = {
        "linucb": run("none", 5.0),
        "ldp_linucb": run("local", 80.0),
        "fliphat": run("joint", 10),
    }
    _, data = figures.trust([setting(**runs), setting(**runs, d=run("shuffle", 20.0))])
    found = [(row["model"], row["value"]) for row in data]
    first = [("local", 16.0), ("joint", 2.0)]
    assert found == [*first, first[0], ("shuffle", 4.0), first[1]]
