"""One look for a policy, and one colour for a trust model, through the whole book."""

import matplotlib as mpl
import pytest

from companion.arena.recipes import RECIPES
from companion.policies import TABLE, example
from companion.report import looks, plots


def test_styles_tell_curves_apart_without_colour():
    assert len(set(plots.COLOURS[:8])) == len(set(plots.DASHES)) == len(set(plots.MARKERS)) == 8


def test_no_two_policies_look_alike():
    assert len(set(plots.POLICIES.values())) == len(plots.POLICIES)


@pytest.mark.parametrize("name", sorted(RECIPES.keys() & TABLE.keys()))
def test_every_policy_of_the_arena_has_a_look_of_its_own(name):
    assert plots.look(example(name).name)["color"] in plots.COLOURS


def test_a_trust_model_has_the_colour_of_the_linucb_that_keeps_it():
    kept = {"local": "LDP-LinUCB", "shuffle": "SDP-LinUCB", "joint": "JDP-LinUCB"}
    for model, name in kept.items():
        assert plots.COLOURS[plots.MODELS[model]] == plots.look(name)["color"]
    assert plots.MODELS.keys() == kept.keys()


def test_the_style_is_seaborns():
    """What is written out here is what Seaborn would set, but for colours that we set ourselves."""
    import seaborn

    ours = dict(mpl.rcParamsDefault) | looks.STYLE
    theirs = seaborn.plotting_context("notebook") | seaborn.axes_style("ticks")
    theirs.pop("image.cmap")  # no page has a picture in false colours
    assert {k: ours[k] for k in theirs} == theirs
    assert seaborn.color_palette("colorblind").as_hex()[:6] == [*looks.COLOURS[:6]]
