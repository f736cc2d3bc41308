"""The arena's contests: comparisons are paired, tuning is fair."""

import numpy as np
import pytest
from arena_settings import run, setting

from companion.environments import sphere
from evidence.arena import contest, figures, recipes
from evidence.arena.environments import World
from evidence.claims.tuning import Tuned


def test_shares_and_prices_are_ratios_of_paired_regrets():
    s = setting(a=run("local", 40.0), b=run("joint", 20.0), free=run("none", 5.0))
    assert s.judged("a").value == pytest.approx(0.4)
    assert s.untuned.judged("a").value == pytest.approx(0.44)
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
    call = recipes.call("linucb", world, 100, 1.0)
    run = contest.tuned(call, world, 100, 1.0, 2, 2, 7, "linucb")
    first = dict(used)
    contest.played(run.call, "linucb", world.env, 100, 2, 7, key=3)
    assert len(first["tune"] | first["simulate"] | used[-1][1]) == 2 * 3


def record(who, *settings):
    """The record of this policy for users who trust nobody."""
    return contest.record(settings, [who], "local")


def test_the_record_of_a_paper_leaves_our_repairs_out():
    s = setting(
        corrected_ridge=run("local", 1.0),
        lplr=run("local", 10.0),
        ssp=run("local", 50.0),
    )
    assert record("lplr", s) == ([s], 0, 1)
    assert record("ssp", s) == ([], 1, 1)
    assert record("lplr", setting(lplr=run("local", 10.0)))[0] == []  # alone


def test_the_price_of_trust_is_a_mark_for_every_model_that_plays():
    runs = {
        "linucb": run("none", 5.0),
        "ldp_linucb": run("local", 80.0),
        "fliphat": run("joint", 10),
    }
    _, data = figures.trust([setting(**runs), setting(**runs, d=run("shuffle", 20.0))])
    found = list(zip(data.place, data.model, data.value, strict=True))
    first = [(0, "local", 16.0), (0, "joint", 2.0)]
    assert found == [*first, (1, "local", 16.0), (1, "shuffle", 4.0), (1, "joint", 2.0)]


def close_race(mean=10.0):
    """(finals of a leader, finals of a rival): the difference is three standard errors.

    In ten repetitions it is -1 in the mean, with deviations of 1: 1 / sqrt(10 / 9 / 10) =
    3.
    """
    return np.full(20, mean), np.full(20, mean + 1.0) + np.tile([1.0, -1.0], 10)


def race():
    """A setting with that race between `lplr` and `ssp`."""
    first, rival = close_race()
    a = run("local", 1.0)
    b = run("local", 1.0)
    return setting(lplr=a._replace(tuned=first), ssp=b._replace(tuned=rival))


def test_a_win_is_shown_in_one_setting_and_not_among_a_hundred_that_are_looked_at():
    """t with 9 degrees: 2.3 at 5 % and 4.8 at 0.05 %; settings without the paper count as
    looks."""
    s = race()
    others = [setting(ssp=run("local", 5.0))] * 99
    assert record("lplr", s) == ([s], 0, 1)
    assert record("lplr", s, *others) == ([], 0, 1)


def test_who_is_not_shown_to_be_worse_has_not_lost():
    s = race()
    others = [setting(lplr=run("local", 5.0))] * 99
    assert record("ssp", s) == ([], 1, 1)
    assert record("ssp", s, *others) == ([], 0, 1)


def test_numbers_are_chosen_over_a_fifth_of_the_rounds_or_two_thousand():
    rounds = (100, 2_000, 5_000, 10_000, 15_000, 100_000)
    assert [contest.tuning_rounds(T) for T in rounds] == [
        100,
        2_000,
        2_000,
        2_000,
        3_000,
        20_000,
    ]


def test_there_is_no_price_over_a_regret_of_zero():
    s = setting(a=run("local", 0.0), b=run("joint", 5.0), free=run("none", 0.0))
    assert {pair: p.value for pair, p in s.prices.items()} == {("local", "joint"): 0.0}


@pytest.mark.parametrize(("index", "edge"), [(0, True), (2, False), (5, True)])
def test_a_run_says_whether_its_number_is_the_least_or_the_largest(
    monkeypatch,
    index,
    edge,
):
    def chosen(groups, *_):
        (label,) = groups
        return {
            label: Tuned(
                policy=groups[label][index],
                index=index,
                spread=1.0,
                edge=edge,
            )
        }

    monkeypatch.setattr(contest, "tune", chosen)
    world = World(sphere(3, 2), 2, 3)
    call = recipes.call("linucb", world, 20, 1.0)
    tuned = contest.tuned(call, world, 20, 1.0, 2, 2, 7, "linucb")
    assert tuned.edge is edge
    width = {0: "width=0.03", 2: "width=0.3", 5: "width=10"}
    assert width[index] in str(tuned.call)
