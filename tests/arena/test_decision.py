"""The arena's decisions follow from what was played."""

import numpy as np
import pytest
from arena_settings import every_world, flat, run, setting

from companion import policies
from companion.arena import decision, worlds
from companion.arena.worlds import Refusal


@every_world
def test_what_is_printed_to_copy_runs_alone_and_makes_the_policy(world):
    for name in policies.TABLE:
        for multiple in (1.0, 0.3):
            c = worlds.call(name, world, 2_000, 1.0, multiple)
            if isinstance(c, Refusal):
                continue
            copied, made = {}, c.policy()
            exec(decision.runnable(c), copied)  # what a reader copies, in a fresh namespace
            said = copied["policy"]
            assert said.name == made.name
            assert said.guarantee.model == made.guarantee.model
            for a, b in zip(flat(said.params), flat(made.params), strict=True):
                np.testing.assert_allclose(a, b, rtol=2e-3)  # numbers are said with four digits


def test_the_decision_takes_any_private_guarantee_that_is_enough():
    s = setting(
        a=run("local", 40.0), b=run("shuffle", 20.0), c=run("joint", 30.0), free=run("none", 1.0)
    )
    found = decision.answers([s])
    assert {one.trust: one.factory for one in found} == {
        "local": "a", "shuffle": "b", "joint": "b"
    }  # fmt: skip
    assert decision.find(found, "joint", "w", 100, 1.0).share.value == pytest.approx(0.22)
    with pytest.raises(ValueError, match="setting that was played"):
        decision.find(found, "joint", "w", 100, 2.0)
    assert decision.answer(setting(free=run("none", 1.0)), "joint") is None


def test_the_decision_compares_constants_that_nobody_tuned():
    a, b = run("local", 20.0), run("local", 30.0)
    one = decision.answer(setting(a=a, b=b._replace(default=np.full(20, 15.0))), "local")
    assert one.factory == "b"
    assert one.share.value == pytest.approx(0.15)
    assert (
        one.words == "b: 15% [15%, 15%] of random play's regret. All others are shown to be worse."
    )
    alone = decision.answer(setting(a=a), "joint").words
    assert alone.endswith("No other policy with this guarantee plays here.")


def test_the_decision_says_when_nothing_beats_random_play():
    found = decision.answers([setting(a=run("local", 91.0, 40.0))])
    assert not found[0].learns
    assert found[0].code == ""
    assert found[0].words.startswith(decision.NOTHING)
    assert decision.NOTHING.lower() in decision.shown(found)._repr_html_()
    assert "policy =" not in decision.shown(found)._repr_html_()
