"""The arena's decisions follow from what was played."""

import re

import numpy as np
import pandas as pd
import pytest
from arena_settings import every_world, flat, run, setting
from browser import CHROMIUM, needs_chromium
from playwright.sync_api import sync_playwright
from real_book import ROOT

from companion.core import Universe
from companion.stats import Interval
from companion.tabular import bounds, contexts_of
from evidence.arena import choose, decision, recipes

SCRIPT = ROOT / "book" / "_static" / "explorer.js"
SMALL = {"d": 2, "K": 3, "T": 400, "epsilon": 50.0, "n_reps": 6}


@every_world
def test_what_is_printed_to_copy_makes_the_policy(world):
    calls, _ = recipes.lineup(world, 2_000, 1.0)
    for name in (c.factory for c in calls):
        for c in (recipes.call(name, world, 2_000, 1.0, m) for m in (1.0, 0.3)):
            copied = {}
            made = c.policy()
            exec(decision.snippet(c, world).partition("\nlive")[0], copied)
            said = copied["policy"]
            assert said.name == made.name
            assert said.guarantee.model == made.guarantee.model
            for a, b in zip(flat(said.params), flat(made.params), strict=True):
                # numbers are said with four digits
                np.testing.assert_allclose(a, b, rtol=2e-3)


@every_world
def test_the_printed_contexts_reach_the_edge_of_the_universe_and_no_further(world):
    """All numbers are 1: the corner that is farthest out."""
    for c in recipes.lineup(world, 2_000, 1.0)[0]:
        text = decision.snippet(c, world)
        records = c.policy().universe or Universe(np.inf)
        assert ("base rate" in text) == (world.link == "logistic")
        offset = world.universe == "offset_sphere"
        assert ('universe="cube"' in text) == (not offset and records.norm == np.inf)
        size, made = re.search(
            r"z = rng.uniform\(-1, 1, (.*)\)  [^$]*    X = (.*)",
            text,
        ).groups()
        one = np.ones(eval(size))
        x = eval(made, {"np": np, "z": one})[0]
        z = one.reshape(-1, one.shape[-1])[0]
        assert not records.outside(x, 0.5)[0]
        far = np.sqrt(0.5) if offset else records.radius
        there = np.linalg.norm(x[:-1] if offset else x, records.norm)
        assert there == pytest.approx(min(far, np.linalg.norm(z, records.norm)), rel=1e-5)


def test_the_decision_takes_any_private_guarantee_that_is_enough():
    s = setting(
        a=run("local", 40.0),
        b=run("shuffle", 20.0),
        c=run("joint", 30.0),
        free=run("none", 1.0),
    )
    found = {trust: decision.answer(s, trust) for trust in decision.TRUSTED}
    assert {trust: one.factory for trust, one in found.items()} == {
        "local": "a",
        "shuffle": "b",
        "joint": "b",
    }
    assert found["joint"].share.value == pytest.approx(0.22)
    assert "That is 22 times (22 to 22) the regret of free, the b" in found["joint"].words
    assert decision.answer(setting(free=run("none", 1.0)), "joint") is None


def test_the_decision_compares_constants_that_nobody_tuned():
    a = run("local", 20.0)
    b = run("local", 30.0)
    s = setting(a=a, b=b._replace(default=b._replace(tuned=np.full(20, 15.0))))
    one = decision.answer(s, "local")
    assert one.factory == "b"
    assert one.words == (
        "Use b. In the simulated world it has 15% of random play's regret (95 % interval "
        "15% to 15%), which is 0.15 a round where rewards lie in [0, 1]. In your world "
        "its regret may be several times as large. Users need to trust nobody. All other "
        "private policies for such users are shown to be worse."
    )
    alone = decision.answer(setting(a=a), "joint").words
    assert alone.endswith("Not shown to be worse: no other policy plays here.")


def test_the_decision_says_when_nothing_beats_random_play():
    one = decision.answer(setting(a=run("local", 91.0, 40.0)), "local")
    assert not one.learns
    assert one.words.startswith(decision.NOTHING)
    assert "policy = random()" in one.code
    assert "reads no data" in one.code
    assert f"interval {100 * one.share.low:.3g}% to" in one.words


def test_the_decision_names_all_that_are_not_shown_to_be_worse():
    one = decision.answer(
        setting(**{n: run("local", 30.0, 20.0) for n in "abc"}),
        "local",
    )
    assert one.words.endswith("Not shown to be worse: b, c.")


@pytest.mark.parametrize(("high", "learns"), [(0.999, True), (1.0, False), (1.1, False)])
def test_learning_is_shown_by_the_upper_end_of_the_interval(high, learns):
    """The estimate and the lower end are below random play's regret in each case."""
    one = decision.Answer(
        factory="a",
        model="local",
        close=(),
        share=Interval(0.9, 0.8, high),
        call=None,
        world=None,
        rivals=0,
        loss=0.9,
    )
    assert one.learns is learns


def from_a_table(text, K, d):
    """Contexts of 20 rows by the map that the program names."""
    form, universe = re.search('form="(.*)", universe="(.*)"', text).groups()
    width = d // K if form == "blocks" else d
    arms = [f"arm {k}" for k in range(K)]
    names = [f"{i} of {{arm}}" if form == "rows" else f"{i}" for i in range(width - 1)]
    made = contexts_of(
        dict.fromkeys(names, bounds(0, 1)),
        arms=arms,
        form=form,
        universe=universe,
    )
    assert (made.K, made.d) == (K, d)
    columns = {name.replace("{arm}", arm) for name in names for arm in arms}
    numbers = np.random.default_rng(0).integers(0, 2, (20, len(columns)))  # the corners
    return made.contexts(pd.DataFrame(numbers, columns=list(columns)))


@pytest.mark.slow
@pytest.mark.parametrize("world", ["dense", "sparse", "clicks", "one context"])
def test_the_code_takes_what_is_chosen_to_a_reader_s_numbers_and_clips_nothing(
    world,
    capsys,
):
    for trust, enough in (("local", ["local"]), ("joint", ["local", "shuffle", "joint"])):
        one = choose(trust, world=world, **SMALL | {"d": 5})
        guarantee = one.call.policy().guarantee
        assert guarantee.model in enough
        assert guarantee.epsilon <= 50.0 * (1 + 1e-9)
        for call in (one.call, recipes.Call("random", {})):
            copied = {}
            text = decision.snippet(call, one.world)
            exec(text.replace("range(3)", "range(40)"), copied)
            for x in from_a_table(text, *copied["X"].shape):
                copied["live"].select(x)
                copied["live"].update(0, 0.5)
            report = copied["live"].report()
            assert report.rounds == 60
            assert report.clipped is None or report.clipped["contexts"] == 0
        assert str(guarantee) in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("trust", "nobody"),
        ("d", 1),
        ("K", 1),
        ("T", 99),
        ("epsilon", 0.0),
        ("world", "flat"),
        ("n_reps", 3),
    ],
)
def test_bad_input_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"{name}.*{value}"):
        choose(**{"trust": "local", **SMALL, name: value})


@pytest.mark.slow
@pytest.mark.browser
@needs_chromium
def test_menus_offer_what_was_played_and_show_one_answer_with_one_share_of_a_policy(
    tmp_path,
):
    settings = [
        setting("flat", 2_000, 0.25, a=run("local", 95.0, 9.0), b=run("joint", 60.0)),
        setting("flat", 10_000, 1.0, a=run("local", 30.0)),
        setting("steep", 2_000, 1.0, c=run("shuffle", 50.0)),
    ]
    page = decision.explorer(
        settings, settings[0], {"flat": "", "steep": ""}
    )._repr_html_()
    assert page.count(decision.NOBODY) == 1  # steep, and nobody is trusted
    assert "Use b. In the simulated world it has 66% of random" in page
    assert re.search(r"b</th>.*?>66\.00% \[66\.00%, 66\.00%\]</td>", page)
    page = (
        "<!doctype html><meta "
        f"charset=utf-8>{page}<script>{SCRIPT.read_text('utf8')}</script>"
    )
    (tmp_path / "page.html").write_text(page)
    with sync_playwright() as driver:
        page = driver.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox"],
        ).new_page()
        page.goto((tmp_path / "page.html").as_uri())
        world, trust, _, rounds = page.locator("select").all()
        world.select_option("steep")  # was played at 2,000 rounds alone
        said = page.locator("output").inner_text()
        assert said.startswith("Budget ε: 0.25 was not played")
        assert "it has 55%" in page.locator("[data-choice]:visible").inner_text()
        assert rounds.locator("option:disabled").all_inner_texts() == ["10,000"]
        trust.select_option("nobody")
        assert decision.NOBODY in page.locator("[data-choice]:visible").inner_text()
