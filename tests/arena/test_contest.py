"""The arena's contests: comparisons are paired, tuning is fair."""

import pytest
from arena_settings import run, setting

from companion.environments import sphere
from evidence.arena import contest, figures
from evidence.arena.environments import World


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

    def spied(name):
        real = getattr(contest, name)

        def call(*args, **options):
            used.append((name, {str(s) for s in args[3]}))
            return real(*args, **options)

        monkeypatch.setattr(contest, name, call)

    spied("tune")
    spied("simulate")
    world = World(sphere(3, 2), 2, 3)
    run = contest.tuned("linucb", world, 100, 1.0, 2, 2, 7, "linucb")
    first = dict(used)
    contest.played(run.call, "linucb", world.env, 100, 2, 7, key=3)
    assert len(first["tune"] | first["simulate"] | used[-1][1]) == 2 * 3


def test_the_record_of_a_paper_leaves_our_repairs_out():
    s = setting(corrected_ridge=run("local", 1.0), lplr=run("local", 10.0), ssp=run("local", 50.0))
    assert contest.record([s], ["lplr"], "local") == ([s], 0, 1)
    assert contest.record([s], ["ssp"], "local") == ([], 1, 1)
    assert contest.record([setting(lplr=run("local", 10.0))], ["lplr"], "local")[0] == []  # alone


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
