"""The arena's figures and slopes say what the settings say."""

import matplotlib as mpl
import numpy as np
import pytest
from arena_settings import run, setting

from companion.accounting.privacy import NO_PRIVACY
from companion.arena import contest, figures
from companion.simulate import Result


def played(world, epsilon):
    return setting(
        world,
        epsilon=epsilon,
        linucb=run("none", 5.0, 0.3, title="LinUCB"),
        ldp_linucb=run("local", 80.0 / epsilon, 0.3, title="LDP-LinUCB"),
        online_linucb=run("local", 80.0 / epsilon + 1e-3, 30.0, title="OnlineLinUCB"),
        jdp_linucb=run("joint", 10.0, 0.3, title="JDP-LinUCB"),
        joint_glm=run("joint", 40.0, 0.3, title="Joint-DP GLM"),
        sdp_linucb=run("shuffle", 20.0, 0.3, title="SDP-LinUCB"),
    )


@pytest.fixture(autouse=True)
def agg():
    mpl.use("Agg")
    yield
    mpl.pyplot.close("all")


def test_leaders_say_whom_they_are_not_shown_to_beat():
    rows = contest.leaders([played(w, e) for w in ("a", "b") for e in (1.0, 4.0)])
    first = {(r["trust model"], r["ε"], r["world"]): r for r in rows}
    assert len(first) == 12
    assert first["local", 1.0, "a"]["not shown to be worse"].endswith("_linucb")
    assert first["joint", 4.0, "b"]["not shown to be worse"] == ""
    assert first["shuffle", 4.0, "b"]["rivals"] == 0


def test_the_price_of_trust_is_a_mark_for_every_model_that_plays():
    poorer = played("b", 1.0)
    poorer = poorer._replace(runs={k: v for k, v in poorer.runs.items() if k != "sdp_linucb"})
    _, data = figures.trust([played("a", 1.0), poorer])
    found = {(r["world"], r["model"]): r["value"] for r in data}
    assert found["a", "joint"] == pytest.approx(2.0, rel=0.05)
    assert found["a", "local"] == pytest.approx(16.0, rel=0.05)
    assert found.keys() == {("a", m) for m in figures.PRIVATE} | {("b", "local"), ("b", "joint")}


def planted(powers, n=4, T=1000):
    """A `Result` in which policy i has regret like rounds to the power i, up to a factor."""
    rounds = np.unique(np.geomspace(10, T, 13).round().astype(int))
    factor = 1.0 + 0.1 * np.arange(n)[:, None, None]
    regret = factor * np.stack([rounds**a for a in powers.values()])[None]
    seconds = np.full((n, len(powers)), 1e-6 * T)
    return Result(tuple(powers), rounds, regret, (NO_PRIVACY,) * len(powers), seconds)


def test_slopes_and_shares_are_those_of_the_curves():
    game = planted({"LinUCB": 0.5, "Random": 1.0})
    rows = contest.slopes({"w": game})
    assert [row["slope"].value for row in rows] == pytest.approx([0.5, 1.0])
    assert [row["of random play's"] for row in rows] == pytest.approx([1000**-0.5, 1.0])
    assert [row["ns a round"] for row in rows] == pytest.approx([1000.0] * 2)
    fig, data = figures.growth(dict.fromkeys("ab", game))
    assert [len(ax.get_lines()) for ax in fig.axes] == [2, 2]
    assert len(data) == 2 * 2 * len(game.rounds)
    assert data["mean"][0] == pytest.approx(1.15 * 10**0.5)


def test_a_slope_is_that_of_the_last_decade():
    game = planted({"LinUCB": 1.0, "Random": 1.0})
    flat = np.minimum(game.regret, game.regret[:, :, game.rounds.searchsorted(100)][:, :, None])
    rows = contest.slopes({"w": game._replace(regret=flat)})
    assert rows[0]["slope"].value == pytest.approx(0.0)
