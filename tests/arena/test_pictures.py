"""The arena's pictures say what the settings say."""

import matplotlib as mpl
import numpy as np
import pytest

from companion.accounting.privacy import NO_PRIVACY, Guarantee
from companion.arena import pictures as arena_pictures
from companion.arena.contest import Run, Setting
from companion.arena.worlds import Call


def run(model, mean, title, spread=0.3):
    """A `Run` with final regrets around a mean."""
    finals = mean + spread * np.sin(np.arange(20) * (1 + mean))
    g = NO_PRIVACY if model == "none" else Guarantee(model, 1.0, 0.0, "x", "user")
    return Run(Call("linucb", {}), title, g, 1.0, False, finals, finals)


def setting(world, epsilon):
    runs = {
        "random": run("none", 100.0, "Random"),
        "linucb": run("none", 5.0, "LinUCB"),
        "ldp_linucb": run("local", 80.0 / epsilon, "LDP-LinUCB"),
        "online_linucb": run("local", 80.0 / epsilon + 1e-3, "OnlineLinUCB", 30.0),
        "jdp_linucb": run("joint", 10.0, "JDP-LinUCB"),
        "joint_glm": run("joint", 40.0, "Joint-DP GLM"),
        "sdp_linucb": run("shuffle", 20.0, "SDP-LinUCB"),
    }
    return Setting(world, 100, epsilon, runs, {})


@pytest.fixture(autouse=True)
def agg():
    mpl.use("Agg")


def test_winners_are_full_where_decided_and_small_without_a_rival():
    fig, data = arena_pictures.winners([setting(w, e) for w in ("a", "b") for e in (1.0, 4.0)])
    first = {(r["model"], r["epsilon"], r["world"]): r for r in data}
    assert len(first) == 12
    assert first["local", 1.0, "a"]["undecided with"].endswith("_linucb")
    assert first["joint", 4.0, "b"]["undecided with"] == ""
    assert first["shuffle", 4.0, "b"]["rivals"] == 0
    local, shuffle, joint = ({(ln.get_markersize(), ln.get_markerfacecolor())
                              for ln in ax.get_lines()} for ax in fig.axes)  # fmt: skip
    assert local == {(9.0, "none")}
    assert {size for size, _ in shuffle} == {4.0}
    assert {size for size, _ in joint} == {9.0}
    assert "none" not in {colour for _, colour in joint}


def test_the_price_of_trust_is_a_mark_for_every_model_that_plays():
    poorer = setting("b", 1.0)
    poorer = poorer._replace(runs={k: v for k, v in poorer.runs.items() if k != "sdp_linucb"})
    _, data = arena_pictures.trust([setting("a", 1.0), poorer])
    found = {(r["world"], r["model"]): r["value"] for r in data}
    assert found["a", "joint"] == pytest.approx(2.0, rel=0.05)
    assert found["a", "local"] == pytest.approx(16.0, rel=0.05)
    assert set(found) == {("a", m) for m in arena_pictures.PRIVATE} | {
        ("b", "local"), ("b", "joint")
    }  # fmt: skip


def test_shares_against_the_budget():
    fig, data = arena_pictures.budget([setting("a", e) for e in (1.0, 4.0)])
    rows = {(r["policy"], r["epsilon"]): r["value"] for r in data}
    assert rows["ldp_linucb", 4.0] == pytest.approx(0.2, rel=0.05)
    assert ("linucb", 1.0) not in rows  # the dotted line
    labels = [{ln.get_label() for ln in ax.get_lines()} for ax in fig.axes]
    assert "LDP-LinUCB" in labels[0]
    assert {"SDP-LinUCB", "JDP-LinUCB"} <= labels[1]
