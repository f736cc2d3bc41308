"""The arena: nobody is forgotten, everybody has the same guarantee, and comparisons are fair."""

import math

import numpy as np
import pytest

from companion import catalogue
from companion.environments import sphere
from companion.privacy import NO_PRIVACY, Guarantee
from companion.report import arena, contest, decision, recipes, roster
from companion.report.arena import Call, Expanded, Refusal, World
from companion.simulate import repetitions, simulate
from companion.streaming_sco.environments import one_context

COMMON = one_context(3, 4, 2)
WORLDS = {
    "plain": World(sphere(5, 2), 2, 5),
    "dense": World(sphere(5, 5), 5, 5, l1_bound=2.3),
    "wide": World(None, 100, 5, "ball", sparsity=5, l1_bound=1.0),
    "clicks": World(None, 3, 5, "ball", "logistic", theta_bound=3.0),
    "common": World(Expanded(COMMON, 0.5), 12, 3, "ball", theta_bound=3.5, common=COMMON, p=4),
}
every_world = pytest.mark.parametrize("world", WORLDS.values(), ids=list(WORLDS))


def test_every_policy_of_the_package_has_a_recipe_and_plays_somewhere():
    assert set(recipes.RECIPES) == set(catalogue.policies())
    played = {c.factory for w in WORLDS.values() for c in arena.lineup(w, 2_000, 1.0)[0]}
    assert played == set(catalogue.policies())
    with pytest.raises(ValueError, match="policy with a recipe"):
        arena.call("unheard_of", WORLDS["plain"], 2_000, 1.0)


@every_world
@pytest.mark.parametrize("epsilon", [0.25, 8.0])
def test_everybody_has_the_same_true_guarantee(world, epsilon):
    calls, refusals = arena.lineup(world, 2_000, epsilon)
    assert len(calls) + len(refusals) == len(catalogue.policies())
    assert all(r.reason for r in refusals)
    for c in calls:
        for multiple in arena.tunable(c.factory, world, epsilon).grid:
            g = arena.call(c.factory, world, 2_000, epsilon, multiple).policy().guarantee
            assert g == NO_PRIVACY or (0 < g.epsilon <= epsilon * (1 + 1e-9) and g.claimed is None)
            assert g == NO_PRIVACY or g.delta in (0.0, 1 / 2_000)


@pytest.mark.parametrize("change", [{"calibration": "paper"}, {"epsilon": 20.2}, {"delta": 0.01}])
def test_a_weaker_guarantee_is_refused(change):
    honest = arena.call("online_linucb", WORLDS["clicks"], 2_000, 20.0)
    arena.need_guarantee(honest.policy(), 2_000, 20.0)
    weaker = honest._replace(arguments=honest.arguments | change)
    with pytest.raises(ValueError, match="private"):
        arena.need_guarantee(weaker.policy(), 2_000, 20.0)


@every_world
def test_the_text_of_a_call_makes_the_policy(world):
    known = {n: e.factory for n, e in catalogue.policies().items()} | {"math": math}
    for name in catalogue.policies():
        for multiple in (1.0, 0.3):
            c = arena.call(name, world, 2_000, 1.0, multiple)
            if isinstance(c, Refusal):
                continue
            said, made = eval(str(c), known), c.policy()  # what a reader would copy
            assert said.name == made.name
            assert said.guarantee.model == made.guarantee.model
            for a, b in zip(flat(said.params), flat(made.params), strict=True):
                np.testing.assert_allclose(a, b, rtol=2e-3)  # numbers are said with four digits


def flat(value):
    if isinstance(value, tuple):
        return [x for part in value for x in flat(part)]
    return [np.asarray(value, float)]


@every_world
def test_the_tuned_number_changes_the_policy_and_one_is_the_default(world):
    for name in recipes.NUMBERS:
        group = arena.tunable(name, world, 1.0)
        assert 1.0 in group.grid
        calls = [group.make(2_000, m) for m in group.grid]
        if not isinstance(calls[0], Refusal):
            first, *others = ([v.tolist() for v in flat(c.policy().params)] for c in calls)
            assert all(other != first for other in others), name


def test_expanded_contexts_have_the_same_rewards():
    seen = [
        next(env.blocks(50, np.random.default_rng(1))) for env in (COMMON, WORLDS["common"].env)
    ]
    (X, R, mu), (Z, R2, mu2) = seen
    assert np.array_equal(R, R2)
    assert np.array_equal(mu, mu2)
    for k in range(3):
        assert np.array_equal(Z[:, k, 4 * k : 4 * k + 4], 0.5 * X[:, k])
    assert np.count_nonzero(Z) == np.count_nonzero(X)
    assert (np.linalg.norm(Z, axis=2) <= 1).all()


def run(model, mean, spread=0.0, n=20):
    """A `Run` with final regrets around a mean."""
    finals = mean + spread * np.sin(np.arange(n) * (1 + mean))
    g = NO_PRIVACY if model == "none" else Guarantee(model, 1.0, 0.0, "x", "user")
    return contest.Run(Call("random", {}), model, g, 1.0, False, 1.1 * finals, finals)


def setting(**runs):
    return contest.Setting("w", 100, 1.0, {"random": run("none", 100.0)} | runs, {"lplr": "slow"})


def test_a_leader_is_decided_only_where_paired_intervals_are():
    s = setting(a=run("local", 20.0), b=run("local", 30.0, 1.0), c=run("local", 20.5, 9.0))
    assert s.leader(["a", "b", "c"]) == ("a", ["c"])
    assert s.leader(["a", "b"]) == ("a", [])
    assert s.leader(["b"]) == ("b", [])
    d = setting(a=run("local", 20.0), b=run("local", 20.5, 1.0))
    assert d.leader(["a", "b"])[1] == []  # about 3 standard errors
    assert d.leader(["a", "b"], looks=1000)[1] == ["b"]


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


def test_the_decision_takes_any_guarantee_that_is_enough():
    s = setting(a=run("local", 40.0), b=run("shuffle", 20.0), c=run("joint", 30.0))
    found = decision.leaves([s])
    assert {leaf.trust: leaf.factory for leaf in found} == {
        "local": "a", "shuffle": "b", "joint": "b"
    }  # fmt: skip
    assert decision.find(found, "joint", "w", 100, 1.0).share.value == pytest.approx(0.2)
    with pytest.raises(ValueError, match="setting that was played"):
        decision.find(found, "joint", "w", 100, 2.0)


def test_the_decision_says_when_nothing_beats_random_play():
    found = decision.leaves([setting(a=run("local", 95.0, 40.0))])
    assert not found[0].learns
    assert "none is surely better than random play" in decision.shown(found)._repr_html_()
    assert "random()" not in decision.shown(found)._repr_html_()


def test_the_record_of_a_paper_leaves_our_repairs_out():
    s = setting(corrected_ridge=run("local", 1.0), lplr=run("local", 10.0), ssp=run("local", 50.0))
    assert roster.record([s], ["lplr"], "local") == ([s], 0, 1)
    assert roster.record([s], ["ssp"], "local") == ([], 1, 1)
    assert roster.record([setting(lplr=run("local", 10.0))], ["lplr"], "local")[0] == []  # alone


def test_tuning_and_playing_use_other_seeds_and_pair_the_policies():
    world = World(sphere(3, 2), 2, 3)
    groups = {n: arena.tunable(n, world, 1.0) for n in ("random", "linucb")}
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


def test_long_games_are_tuned_on_a_fifth_of_their_rounds():
    assert [contest.tuning_rounds(T) for T in (400, 2_000, 5_000, 20_000)] == [
        400, 2_000, 2_000, 4_000
    ]  # fmt: skip
